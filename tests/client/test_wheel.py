"""The wheel of the client: small, complete, alone in an empty environment, and typed for its users."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from services.runtime import Running

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "services" / "client"
BUILDER = CLIENT / "build_wheel.py"
USER = """
from datetime import datetime
from memorybus_client import AsyncMemory, Memory, RequestFailed

def program(url: str) -> list[str]:
    with Memory(url, user="wheel") as memory:
        entry = memory.remember("I prefer uv over pip")
        created: datetime = entry.created_at
        return [item.text for item in memory.recall("uv").items]

async def awaited(url: str) -> str:
    async with AsyncMemory(url, user="wheel") as memory:
        return (await memory.recall("uv")).context
"""
WRONG = """
from memorybus_client import Memory
memory = Memory()
memory.recall("uv", types=["no such type"])
memory.recall(1)
memory.get("e1").no_such_field
memory.list(no_such_filter=True)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*build, "--wheel-dir", folder, CLIENT], check=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel, what the wheel says that it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in needed("httpx", "nats-py", "pydantic"):
        link(name, site)
    installed = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(installed), "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return installed


def needed(*names: str) -> Iterator[str]:
    """These distributions and all that they need."""
    found: list[str] = list(names)
    for name in found:
        yield name
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found += [requirement.name] if requirement.name not in found else []


def link(name: str, site: Path) -> None:
    """Have what is installed here also there."""
    for file in distribution(name).files or ():
        top = site / file.parts[0]
        if file.parts[0] != ".." and not top.exists():
            top.symlink_to(Path(str(distribution(name).locate_file(file.parts[0]))))


def run(python: Path, code: str, *arguments: str) -> str:
    """What a program prints that is run where nothing of memorybus is."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, cwd=python.parent, env=outside, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_small_and_has_all_that_its_metadata_says(wheel: Path) -> None:
    assert wheel.stat().st_size < 200_000
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read("memorybus_client-0.1.0.dist-info/METADATA").decode()
    assert {name.split("/")[0] for name in names} == {"memorybus_client", "memorybus_client-0.1.0.dist-info"}
    assert "memorybus_client/py.typed" in names
    requires = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert requires == ["httpx", "nats-py", "pydantic"]
    extras = set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))
    assert extras == set(re.findall(r"^Requires-Dist: .*; extra == '(\S+)'$", metadata, re.MULTILINE))
    assert "openai-agents" in extras


def test_the_same_sources_make_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("build_wheel", BUILDER)
    assert spec is not None
    assert spec.loader is not None
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    again = tmp_path / builder.build_wheel(str(tmp_path))
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes()


def test_in_an_empty_environment_it_remembers_and_recalls(python: Path, up: Running) -> None:
    code = f"{USER}\nimport sys\nprint(program(sys.argv[1]))"
    for url in (up.nats, up.http):
        assert run(python, code, url) == "['I prefer uv over pip']\n"


def test_the_environment_has_nothing_of_memorybus(python: Path) -> None:
    code = "from importlib.util import find_spec\nprint([find_spec(name) for name in ('services', 'contracts')])"
    assert run(python, code) == "[None, None]\n"


def test_its_models_are_those_of_the_contract(python: Path) -> None:
    code = """
import json
from memorybus_client.contracts.flow import FLOW
models = {model for step in FLOW for answer in step.answers for model in (answer.request, answer.reply)}
print(json.dumps({model.__name__: model.model_json_schema() for model in models}, sort_keys=True))
"""
    here = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code.replace('memorybus_client.', '')}"
    assert run(python, code) == run(Path(sys.executable), here)


def test_it_imports_its_models_and_no_way_to_send_them(python: Path) -> None:
    code = """
import sys, time
here, began = set(sys.modules), time.process_time()
import memorybus_client
print(f"{time.process_time() - began:.2f} s", file=sys.stderr)
names = {name.partition(".")[0] for name in set(sys.modules) - here} - set(sys.stdlib_module_names)
print(*sorted(name for name in names if not name.startswith("_")))
"""
    models = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
    assert set(run(python, code).split()) <= {"memorybus_client", *models}


def test_a_way_that_is_not_taken_is_not_imported(python: Path) -> None:
    code = "import sys, memorybus_client as m\nm.Memory('http://127.0.0.1:9').close()\nprint('nats' in sys.modules)"
    assert run(python, code) == "False\n"


def test_its_users_are_typed_strictly(python: Path, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--python-executable", str(python)]
    done = subprocess.run([*mypy, "user.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert [line.partition(":")[0] for line in done.stdout.splitlines()[:-1] if "error" in line] == ["wrong.py"] * 4, (
        done.stdout
    )
