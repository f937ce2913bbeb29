"""Pages tell the truth: what they name exists, what is generated in them is fresh, and the example runs."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import get_args

import pytest
from memorybus_client import Memory

from contracts.flow import FLOW
from contracts.v1.retrieval import RetrieveRequest
from scripts.generate import SETTINGS, readmes
from services.bench.process import up_process
from services.shared.client import memory_client
from services.shared.commands.formats import Format
from tests.pages import PageSize, pages, sizes_of_pages, without_code

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 120.0
README = (ROOT / "README.md").read_text()
TEXTS = {path: path.read_text() for path in pages()}
"""Every page of the tree."""


def named(pattern: str) -> list[str]:
    """What matches in any of the pages, each once."""
    return sorted({found for text in TEXTS.values() for found in re.findall(pattern, text)})


def test_generated_tables_are_fresh() -> None:
    assert {path: TEXTS[path] for path in readmes()} == readmes(), "run .venv/bin/python scripts/generate.py"


def test_pages_and_lines_are_short() -> None:
    assert {name: missed for name, (_, missed) in sizes_of_pages().items() if missed} == {}


def test_every_page_is_reached_from_the_readme() -> None:
    reached, found = set(), [ROOT / "README.md"]
    while found:
        page = found.pop()
        reached.add(page)
        links = re.findall(r"\]\((?!https?:)([^)#]+)", without_code(TEXTS[page]))
        found += {(page.parent / link).resolve() for link in links if link.endswith(".md")} - reached
    assert {str(page.relative_to(ROOT)) for page in set(TEXTS) - reached} == set()


def test_decisions_have_a_day_a_reason_and_what_was_not_done() -> None:
    texts = {path: text for path, text in TEXTS.items() if path.name == "DECISIONS.md"}
    assert len(texts) > 8
    for path, text in texts.items():
        made = re.findall(r"^- \*\*\d{4}-\d\d-\d\d\*\* · ", text, flags=re.MULTILINE)
        assert made, path
        assert len(made) == text.count("\n- ") == text.count("\n  - Because: ") == text.count("\n  - Instead of: "), (
            path
        )
        assert [line[4:14] for line in made] == sorted((line[4:14] for line in made), reverse=True), path


def test_every_class_of_settings_is_listed() -> None:
    sources = (path.read_text() for path in (ROOT / "services").rglob("*settings.py"))
    made = {name for text in sources for name in re.findall(r"^class (\w+)\(\w+Settings\):", text, re.MULTILINE)}
    assert made - {"ServiceSettings"} == {settings.__name__ for classes in SETTINGS.values() for settings in classes}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_linked_exists(path: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", re.sub(r"`[^`\n]+`", "", without_code(TEXTS[path]))):
        file, _, heading = link.partition("#")
        target = path.parent / file if file else path
        assert target.exists(), link
        assert not heading or heading in _anchors(target.read_text()), link


def _anchors(text: str) -> set[str]:
    """The headings, as GitHub names them in links."""
    headings = re.findall(r"^#+ (.*)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", named(r"`(scripts/[\w.]+)"))
def test_scripts_that_are_named_exist(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", named(r"`(?:scripts/test )?(tests/[\w/]+\.py(?:::\w+)?)`"))
def test_tests_that_are_named_exist(name: str) -> None:
    path, _, test = name.partition("::")
    assert f"def {test}(" in (ROOT / path).read_text() if test else (ROOT / path).exists()


def test_pictures_are_there_and_small() -> None:
    pictures = [path.parent / picture for path in TEXTS for picture in re.findall(r"!\[.+?\]\((.+?)\)", TEXTS[path])]
    assert len(pictures) == 3
    for picture in pictures:
        drawn = picture.read_bytes()
        assert drawn.startswith(b"\x89PNG")
        assert len(drawn) < 120_000, picture


def test_what_is_read_from_elsewhere_is_told_and_the_calls_beside_those_of_mem0_are_the_clients() -> None:
    folder = ROOT / "services" / "cli"
    section = TEXTS[folder / "README.md"].partition("## Coming from elsewhere\n")[2]
    formats = set(re.findall(r"^\| [\w ]+ \| `(\w+)` \|", section, flags=re.MULTILINE))
    assert formats == set(get_args(Format)) - {"jsonl", "openai", "locomo"}
    ours = re.findall(r"^\| `.*\| (.*) \|$", TEXTS[folder / "FROM_MEM0.md"], flags=re.MULTILINE)
    calls = {name for cell in ours for name in re.findall(r"`memory\.(\w+)\(", cell)}
    assert {"publish", "remember", "recall", "erase"} <= calls
    assert calls <= set(dir(Memory))


@pytest.mark.parametrize("step", FLOW, ids=lambda step: step.service)
def test_every_service_explains_itself(step: object) -> None:
    service = getattr(step, "service")  # noqa: B009 - parametrized over the flow table
    text = TEXTS[ROOT / "services" / service / "README.md"]
    assert text.startswith(f"# {service}\n")


def test_the_sizes_of_a_page_are_what_is_read_in_it() -> None:
    text = "One two three. Four [five](six.md) `seven eight`.\n- Nine?"
    page = f"# A page\n\n{text}\n\n```\nten eleven\n```\n| a b c | d |\n"
    assert PageSize.of(page) == PageSize(9, len(page), 49, 3, 3)
    assert PageSize.of("x" * 401).missed(is_readme=False) == ["longest line 401 > 400"]
    assert PageSize.of("x\n" * 6001).missed(is_readme=False) == ["characters 12,002 > 12,000"]
    long = PageSize.of("word " * 41 + ".").missed(is_readme=True)
    assert long == ["longest sentence 42 > 40", "median sentence 42 > 16"]


async def test_the_python_example_runs_as_it_stands(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (line,) = re.findall(r"`(NATS_URL=.*? example\.py)`", README)
    (tmp_path / "example.py").write_text(code)
    memorybus = f"{sys.executable} -m services.cli"  # what scripts/run starts when all is set up
    line = line.replace(".venv/bin/python", sys.executable).replace("scripts/run", memorybus)
    async with up_process(tmp_path / "data", ("--ner", "none")) as up:
        async with memory_client(up.nats) as client:  # what the first request waits for is not the example's matter
            await client.retrieve(RetrieveRequest(user_id="warm", query="up"), patience=PATIENCE)
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", line),
            cwd=tmp_path,
            env={**os.environ, "MEMORYBUS_DATA": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 0, said.decode()
    assert "kept as number 1" in said.decode()
    assert "My package manager is uv" in said.decode()
