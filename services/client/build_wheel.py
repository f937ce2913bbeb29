"""Builds the wheel of memorybus-client (PEP 517), with nothing but Python.

The messages are those of `contracts`, the one place where they are written. The wheel takes in the modules below as
`memorybus_client.contracts`, and every import of them is renamed: `contracts` is a name that others use, too.
"""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "memorybus_client"
CONTRACTS = HERE.parent.parent / "contracts"
TAKEN = ("__init__.py", "envelope.py", "flow.py", "paths.py", "sizes.py", "subjects.py", "v1/*.py")
"""What a client needs of the contract; ports and values are for services."""

_IMPORT = re.compile(r"^(\s*(?:from|import) )contracts\b", re.MULTILINE)


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Write the wheel into a folder; its name. The same sources make the same bytes."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{name}.dist-info"
    files = {
        **dict(sources()),
        f"{info}/METADATA": metadata(project),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: memorybus\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in files.items())
    wheel = f"{name}-py3-none-any.whl"
    with ZipFile(Path(wheel_directory) / wheel, "w", ZIP_DEFLATED) as archive:
        for path, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(_entry(path), text)
    return wheel


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """Refuse: the sources are this folder and `contracts`, so a wheel is built from the whole tree."""
    raise NotImplementedError("memorybus-client has no source distribution: build the wheel from the tree of memorybus")


def sources() -> Iterator[tuple[str, str]]:
    """Every file of the package, by its path in the wheel."""
    for path in sorted(PACKAGE.iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            yield f"memorybus_client/{path.name}", _renamed(path.read_text())
    for pattern in TAKEN:
        for path in sorted(CONTRACTS.glob(pattern)):
            yield f"memorybus_client/contracts/{path.relative_to(CONTRACTS).as_posix()}", _renamed(path.read_text())


def metadata(project: dict[str, Any]) -> str:
    """What installers and indexes read."""
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {requirement}" for requirement in project["dependencies"]),
        *extras(project.get("optional-dependencies", {})),
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join([*lines, "", (HERE / str(project["readme"])).read_text()])


def extras(needs: dict[str, list[str]]) -> Iterator[str]:
    """What each extra brings besides."""
    for extra, requirements in needs.items():
        yield f"Provides-Extra: {extra}"
        yield from (f"Requires-Dist: {requirement}; extra == '{extra}'" for requirement in requirements)


def _renamed(source: str) -> str:
    return _IMPORT.sub(r"\1memorybus_client.contracts", source)


def _digest(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(sha256(text.encode()).digest()).decode().rstrip("=")


def _entry(path: str) -> ZipInfo:
    entry = ZipInfo(path, (1980, 1, 1, 0, 0, 0))
    entry.external_attr, entry.compress_type = 0o644 << 16, ZIP_DEFLATED
    return entry
