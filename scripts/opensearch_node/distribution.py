"""Puts an OpenSearch distribution together from Maven coordinates, once, in a cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from jdk import OLDEST as OLDEST_JAVA
from machine import Account, MissingError, locked, say

VERSION = "3.4.0"
ROOTS_PLACE = Path("/var/lib/memorybus/opensearch")
"""Where root keeps what another user must reach when the usual place is closed to that user."""

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"


@dataclass(frozen=True, slots=True)
class Artifact:
    """One thing Maven fetches: `group:name` of this version; its own needs come along when it is `transitive`."""

    group: str
    name: str
    type: str = "jar"
    transitive: bool = False


@dataclass(frozen=True, slots=True)
class Module:
    """A module that the official zip leaves out, and the class it is loaded by."""

    name: str
    artifact: Artifact
    plugin_class: str


SERVER = Artifact("org.opensearch.distribution.integ-test-zip", "opensearch", "zip")
MODULES = (
    Module(
        "analysis-common",
        Artifact("org.opensearch.plugin", "analysis-common"),
        "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
    ),
    Module(
        "reindex",
        Artifact("org.opensearch.plugin", "reindex-client", transitive=True),
        "org.opensearch.index.reindex.ReindexModulePlugin",
    ),
    Module(
        "mapper-extras",
        Artifact("org.opensearch.plugin", "mapper-extras-client", transitive=True),
        "org.opensearch.index.mapper.MapperExtrasModulePlugin",
    ),
)


def find_maven() -> str:
    """Maven's command.

    Raises:
        MissingError: there is none on the path.
    """
    if maven := shutil.which("mvn"):
        return maven
    raise MissingError(f"Maven fetches OpenSearch {VERSION}, and there is no `mvn` on the path: install Maven")


def home_in_cache(account: Account) -> Path:
    """Where the server is, or will be, put together: in the cache of memorybus if the account can reach that."""
    named = os.environ.get("MEMORYBUS_CACHE")
    cache = Path(named).absolute() if named else Path.home() / ".cache" / "memorybus"
    return (cache if account.reaches(cache) else ROOTS_PLACE) / f"opensearch-{VERSION}"


def distribution(account: Account) -> Path:
    """The folder of the server; fetched and put together when it is not there yet.

    Raises:
        MissingError: Maven is missing, or cannot fetch.
    """
    home = home_in_cache(account)
    if home.is_dir():
        return home
    with locked(home.parent):
        if not home.is_dir():
            _assemble(home)
    return home


def _assemble(home: Path) -> None:
    """Build beside and rename: a folder of that name is always complete."""
    maven = find_maven()
    for left_behind in home.parent.glob(f"{home.name}.part-*"):
        shutil.rmtree(left_behind, ignore_errors=True)
    say(f"assembling OpenSearch {VERSION} in {home} (once; about 140 MB to fetch) ...")
    with tempfile.TemporaryDirectory(prefix=f"{home.name}.part-", dir=home.parent) as scratch:
        server = _unpack(_fetch(SERVER, Path(scratch) / "zip", maven), Path(scratch))
        for module in MODULES:
            say(f"adding the module {module.name} ...")
            _add(module, _fetch(module.artifact, Path(scratch) / module.name, maven), server)
        server.rename(home)


def _fetch(artifact: Artifact, into: Path, maven: str) -> Path:
    """Let Maven copy an artifact into a folder, its checksums checked."""
    into.mkdir()
    pom = into.with_suffix(".pom.xml")
    pom.write_text(_pom(artifact))
    command = [maven, "-B", "-q", "-C", "-f", str(pom), _COPY, f"-DoutputDirectory={into}", "-DincludeScope=runtime"]
    run = subprocess.run(
        [*command, f"-DexcludeTransitive={str(not artifact.transitive).lower()}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        end = "\n".join((run.stdout + run.stderr).strip().splitlines()[-15:])
        raise MissingError(
            f"Maven could not fetch {artifact.group}:{artifact.name}:{VERSION}. "
            f"It needs the network, or a mirror in ~/.m2/settings.xml; it said:\n{end}"
        )
    return into


def _pom(artifact: Artifact) -> str:
    wanted = {"groupId": artifact.group, "artifactId": artifact.name, "version": VERSION, "type": artifact.type}
    fields = "".join(f"<{key}>{escape(value)}</{key}>" for key, value in wanted.items())
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>local</artifactId>"
        "<version>1</version><packaging>pom</packaging>"
        f"<dependencies><dependency>{fields}</dependency></dependencies></project>\n"
    )


def _unpack(folder: Path, into: Path) -> Path:
    (archive,) = folder.glob("*.zip")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(into)
    server = into / f"opensearch-{VERSION}"
    for program in (server / "bin").iterdir():
        program.chmod(0o755)  # zipfile forgets modes
    return server


def _add(module: Module, jars: Path, server: Path) -> None:
    """Give the server a module: the jars it does not have yet, and a descriptor."""
    target = server / "modules" / module.name
    target.mkdir()
    for jar in jars.glob("*.jar"):
        if not (server / "lib" / jar.name).exists():  # the same class twice is an error to the server
            jar.rename(target / jar.name)
    lines = {
        "name": module.name,
        "description": f"the module {module.name}",
        "version": VERSION,
        "opensearch.version": VERSION,
        "java.version": str(OLDEST_JAVA),
        "classname": module.plugin_class,
        "has.native.controller": "false",
    }
    descriptor = "".join(f"{key}={value}\n" for key, value in lines.items())
    (target / "plugin-descriptor.properties").write_text(descriptor)
