"""Names and key phrases are read in processes that may die, and never outlive their parent."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from contracts.ports import Annotation, Unavailable
from services.shared.annotators import child as child_module
from services.shared.annotators import frames, open_annotator
from services.shared.annotators.reading import MOST_CHARS, MOST_ENTITIES, MOST_PHRASES, Reader
from services.shared.annotators.spacy import SpacyAnnotator

TALK = "Hey Priya! I moved to Lisbon in March 2024 and the apartment cost $1,200 a month."

FAKE_WORKER = '''
"""Stands in for a process with models: a text tells it what to do."""
import os, sys, time
from services.shared.annotators import frames

def found(text):
    if text == "die":
        os._exit(3)
    if text == "sleep":
        time.sleep(60)
    return [[[text, "PERSON", 0.5]], []]

answers = open(1, "wb", buffering=0, closefd=False)
answers.write(frames.encode(frames.READY))
while (texts := frames.read(sys.stdin.buffer)) is not None:
    answers.write(frames.encode([found(text) for text in texts]))
'''


@pytest.fixture
def fake_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that start at once and have no models."""
    script = tmp_path / "fake_worker.py"
    script.write_text(FAKE_WORKER)
    monkeypatch.setattr(child_module, "COMMAND", (sys.executable, str(script)))


@pytest.fixture
async def fake(fake_worker: None) -> AsyncIterator[SpacyAnnotator]:
    annotator = await SpacyAnnotator.open(processes=2)
    yield annotator
    await annotator.close()


def names(annotations: list[Annotation]) -> list[list[str]]:
    return [[entity.text for entity in annotation.entities] for annotation in annotations]


def running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def eventually(condition: Callable[[], bool], within: float = 10.0) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not so within {within} s"
        await asyncio.sleep(0.01)


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader.load()


def test_names_are_found_with_the_precision_of_their_label(reader: Reader) -> None:
    ((entities, _),) = reader.read([TALK])
    found = {text: (label, confidence) for text, label, confidence in entities}
    assert found["Lisbon"] == ("GPE", pytest.approx(0.914, abs=0.01))
    assert found["March 2024"][0] == "DATE"
    assert "Hey Priya" not in found
    assert all(0 < confidence <= 1 for _, confidence in found.values())


def test_key_phrases_come_best_first_with_confidences(reader: Reader) -> None:
    ((_, phrases),) = reader.read(
        ["The adoption agency asked for a letter of reference before the adoption interview."]
    )
    assert phrases[0][0] in ("adoption agency", "adoption interview")
    confidences = [confidence for _, confidence in phrases]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 < confidence <= 1 for confidence in confidences)
    assert len(phrases) <= MOST_PHRASES


def test_key_phrases_are_read_where_nothing_is_named(reader: Reader) -> None:
    """A day or a number names nothing: what happened on it is still to be said."""
    (named, phrases), (figures, more) = reader.read(
        ["My pottery class moved to Lisbon.", "Yesterday my pottery class made two bowls."]
    )
    assert (named[0][0], phrases) == ("Lisbon", [])
    assert {label for _, label, _ in figures} == {"DATE", "CARDINAL"}
    assert "pottery class" in [phrase for phrase, _ in more]


def test_small_talk_has_neither(reader: Reader) -> None:
    assert reader.read(["Wow, cool!", "ok", "haha yeah"]) == [([], [])] * 3


def test_a_repeated_name_is_named_once(reader: Reader) -> None:
    ((entities, _),) = reader.read(["I love Paris. PARIS is great. When I was in Paris, it rained in Paris."])
    assert sum(text.casefold() == "paris" for text, *_ in entities) <= len({label for _, label, _ in entities})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "\n\n\n",
        "!!!",
        "🙂🙂",
        "\x00",
        "\ud800 lonely",
        "1.1." * 500,
        "a" * 65_536,
        "日本語のテキスト",
        "x " * 30_000,
    ],
)
def test_any_text_can_be_read(reader: Reader, text: str) -> None:
    ((entities, phrases),) = reader.read([text])
    assert len(entities) <= MOST_ENTITIES
    assert len(phrases) <= MOST_PHRASES


def test_only_the_beginning_of_a_long_text_is_read(reader: Reader) -> None:
    long = "and so on " * (MOST_CHARS // 10) + " I moved to Lisbon."
    ((entities, phrases),) = reader.read([long])
    assert "Lisbon" not in [text for text, *_ in entities]
    assert "Lisbon" not in [text for text, _ in phrases]


def test_a_text_that_a_model_fails_on_does_not_cost_the_others(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fragile:
        def extract_keywords(self, text: str) -> list[tuple[str, float]]:
            if "bad" in text:
                raise RecursionError("too deep")
            return [("fine", 0.25)]

    monkeypatch.setattr(reader, "_extractor", Fragile())
    assert [phrases for _, phrases in reader.read(["one", "bad", "two"])] == [[("fine", 0.75)], [], [("fine", 0.75)]]


async def test_real_processes_annotate_in_order_and_leave_signals_to_their_parent() -> None:
    annotator = await open_annotator("spacy", processes=1)
    assert isinstance(annotator, SpacyAnnotator)
    assert len(await annotator.annotate([TALK])) == 1
    (pid,) = [child.pid for child in annotator._children]
    assert pid
    for ending in (signal.SIGINT, signal.SIGTERM):  # as Ctrl-C in a terminal reaches the whole group
        os.kill(pid, ending)
    cities = ["Lisbon", "Oslo", "Nairobi", "Toronto", "Hanoi"] * 8
    annotations = await annotator.annotate([f"Last year we moved to {city} with our two children." for city in cities])
    found = [[entity.text for entity in each.entities if entity.label == "GPE"] for each in annotations]
    assert found == [[city] for city in cities]
    assert running(pid)
    await annotator.close()
    assert not running(pid)


async def test_none_opens_nothing() -> None:
    assert await open_annotator("none") is None


async def test_batches_of_any_size_keep_their_order(fake: SpacyAnnotator) -> None:
    for size in (0, 1, 2, 3, 31, 200):
        texts = [f"text {i}" for i in range(size)]
        assert names(await fake.annotate(texts)) == [[text] for text in texts]


async def test_callers_do_not_get_in_each_others_way(fake: SpacyAnnotator) -> None:
    texts = [[f"{caller}-{i}" for i in range(caller)] for caller in range(30)]
    answers = await asyncio.gather(*(fake.annotate(each) for each in texts))
    assert [names(answer) for answer in answers] == [[[text] for text in each] for each in texts]


async def test_a_cancelled_caller_does_not_disturb_the_next(fake: SpacyAnnotator) -> None:
    for attempt in range(20):
        asking = asyncio.create_task(fake.annotate([f"abandoned {i}" for i in range(40)]))
        for _ in range(attempt % 5):
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        assert names(await fake.annotate(["next"])) == [["next"]]


@pytest.mark.parametrize("size", [1, 40])
async def test_a_killed_process_is_replaced_and_asked_again(fake: SpacyAnnotator, size: int) -> None:
    before = [child.pid for child in fake._children]
    for pid in before:
        assert pid
        os.kill(pid, signal.SIGKILL)
    texts = [f"text {i}" for i in range(size)]
    assert names(await fake.annotate(texts)) == [[text] for text in texts]
    assert {child.pid for child in fake._children} != set(before)


async def test_a_text_that_kills_every_process_is_left_out_alone(fake: SpacyAnnotator) -> None:
    texts = ["one", "die", "two"]
    assert names(await fake.annotate(texts)) == [["one"], [], ["two"]]
    assert names(await fake.annotate(["three"])) == [["three"]]


async def test_a_process_that_hangs_is_ended(fake: SpacyAnnotator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "ANSWER_WITHIN", 0.1)
    assert names(await fake.annotate(["sleep"])) == [[]]
    monkeypatch.undo()


async def test_a_process_that_cannot_start_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    # 255 is what asyncio reports for a process whose end somebody else has noticed first.
    monkeypatch.setattr(child_module, "COMMAND", (sys.executable, "-c", "raise SystemExit(7)"))
    with pytest.raises(Unavailable, match=r"exit code (7|255).*MEMORYBUS_NER=none"):
        await SpacyAnnotator.open(processes=2)


async def test_processes_that_cannot_be_replaced_make_it_unavailable(
    fake: SpacyAnnotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = child_module.COMMAND
    monkeypatch.setattr(child_module, "COMMAND", (sys.executable, "-c", "raise SystemExit(7)"))
    with pytest.raises(Unavailable, match="does not start"):
        await fake.annotate(["die", "die", "die"])
    monkeypatch.setattr(child_module, "COMMAND", command)
    assert names(await fake.annotate(["back"])) == [["back"]]


async def test_closing_ends_the_processes_and_tells_who_waits(fake_worker: None) -> None:
    annotator = await SpacyAnnotator.open(processes=2)
    pids = [child.pid for child in annotator._children]
    waiting = [asyncio.create_task(annotator.annotate([f"text {i}"])) for i in range(50)]
    await asyncio.sleep(0)
    await annotator.close()
    await annotator.close()
    assert not any(running(pid) for pid in pids if pid)
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, list | Unavailable) for outcome in outcomes)
    assert any(isinstance(outcome, Unavailable) for outcome in outcomes)
    with pytest.raises(Unavailable, match="closed"):
        await annotator.annotate(["late"])


OPEN_AND_WAIT = """
import asyncio
from services.shared.annotators import open_annotator

async def main():
    annotator = await open_annotator("spacy", processes=2)
    print(*(child.pid for child in annotator._children), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_no_process_outlives_a_killed_parent() -> None:
    root = Path(child_module.services.__path__[0]).parent
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPEN_AND_WAIT, cwd=root, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(pids) == 2
    assert all(running(pid) for pid in pids)
    parent.kill()
    await parent.wait()
    await eventually(lambda: not any(running(pid) for pid in pids))


@pytest.mark.parametrize("message", [[], ["a"], ["\ud800", "\n", "日本"], {"deep": [[1]]}])
def test_messages_come_through_as_they_were(message: object, tmp_path: Path) -> None:
    (tmp_path / "pipe").write_bytes(frames.encode(message) + frames.encode("next")[:-1])
    with (tmp_path / "pipe").open("rb") as stream:
        assert frames.read(stream) == message
        assert frames.read(stream) is None  # cut off, as by a death
