"""Finds a JDK that can run the server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from machine import Account, MissingError

OLDEST = 21
MODULES = frozenset({"jdk.incubator.vector", "jdk.localedata"})
"""Lucene's vectors and the break iterators of the analyzers; trimmed runtimes leave them out."""

_FOLDERS = ("/usr/lib/jvm/*", "/opt/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")


def find_java(account: Account) -> Path:
    """The home of the first full JDK that is new enough and that the account may run.

    A JDK named by OPENSEARCH_JAVA_HOME is the only one looked at.

    Raises:
        MissingError: there is none; says what was found instead.
    """
    named = os.environ.get("OPENSEARCH_JAVA_HOME")
    faults = []
    for home in [Path(named)] if named else _homes():
        fault = _fault(home, account)
        if fault is None:
            return home
        faults.append(f"\n  {home}: {fault}")
    what = "OPENSEARCH_JAVA_HOME names no such JDK" if named else "install one, or name one with OPENSEARCH_JAVA_HOME"
    seen = "".join(faults) or " nothing, there is none"
    raise MissingError(f"OpenSearch needs a full JDK {OLDEST} or newer: {what}; looked at:{seen}")


def _homes() -> list[Path]:
    homes = [Path(named)] if (named := os.environ.get("JAVA_HOME")) else []
    if on_path := shutil.which("java"):
        homes.append(Path(on_path).resolve().parent.parent)
    for pattern in _FOLDERS:
        homes += [folder for folder in sorted(Path("/").glob(pattern[1:])) if (folder / "bin" / "java").is_file()]
    return list(dict.fromkeys(home.resolve() for home in homes))


def _fault(home: Path, account: Account) -> str | None:
    """Why this JDK cannot run the server; None when it can."""
    java = home / "bin" / "java"
    if not java.is_file():
        return "no bin/java in it"
    try:
        listing = account.run(java, "--list-modules")
    except (OSError, subprocess.TimeoutExpired):
        return "its bin/java cannot be run by the user of the server"
    modules = dict(re.findall(r"^([\w.]+)@(\d+)", listing.stdout, re.MULTILINE))
    version = int(modules.get("java.base", "0"))
    if version < OLDEST:
        return f"version {version}" if version else "not a JDK, or older than version 9"
    absent = MODULES - modules.keys()
    return f"version {version} without {', '.join(sorted(absent))}" if absent else None
