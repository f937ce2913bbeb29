"""Names and key phrases are read in processes that may die, and never outlive their parent."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

import services
from contracts.ports import Annotation, Unavailable
from services.shared.annotators import spacy
from services.shared.annotators.reading import MOST_CHARS, MOST_ENTITIES, MOST_PHRASES, Reader
from services.shared.annotators.spacy import SpacyAnnotator
from services.shared.entities.names import FIGURES
from tests.annotators import fakes

TALK = "Hey Priya! I moved to Lisbon in March 2024 and the apartment cost $1,200 a month."


@pytest.fixture
async def fake() -> AsyncIterator[SpacyAnnotator]:
    """An annotator whose processes start at once and have no models."""
    annotator = SpacyAnnotator(processes=2, load=fakes.load)
    await annotator.ready()
    yield annotator
    await annotator.close()


def pids() -> set[int]:
    """The processes that this one has started."""
    return {child.pid for child in multiprocessing.active_children() if child.pid}


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
    label, confidence = found["Lisbon"]
    assert (label, round(confidence, 2)) == ("GPE", 0.91)
    assert found["March 2024"][0] == "DATE"
    assert "Hey Priya" not in found
    assert all(0 < confidence <= 1 for _, confidence in found.values())


@pytest.mark.parametrize(("typed", "least"), [(str, 54), (str.lower, 50)])
def test_who_is_named_in_a_note_that_begins_with_a_verb_is_found(
    reader: Reader, typed: Callable[[str], str], least: int
) -> None:
    lines = (Path(__file__).parent / "notes.tsv").read_text("utf-8").splitlines()
    notes = dict(line.split("\t") for line in lines)
    found = zip(reader.read(list(map(typed, notes))), notes.values(), strict=True)
    assert len(notes) == 60
    assert sum(any(text.casefold() == name for text, *_ in entities) for (entities, _), name in found) >= least


@pytest.mark.parametrize(
    "text",
    [
        "said grace before dinner with the kids",
        "pay max 50 euros for the chair",
        "they want to rob a bank in the film",
        "i will sue the company next month",
        "pat the dog gently",
        "the christmas carol was nice",
        "planted a rose and some heather",
        "we sang till dawn",
        "may i go home now",
        "a robin sat in the garden",
        "the frank answer is that i hate it",
        "met nobody at the station",
        "Bought milk and bread at the market",
        "we drank olive oil",
    ],
)
def test_common_words_name_nobody(reader: Reader, text: str) -> None:
    ((entities, _),) = reader.read([text])
    assert [name for name, label, _ in entities if label not in FIGURES] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("New York City is huge", "New York City"),
        ("Will Smith was there", "Will Smith"),
        ("Queen Elizabeth died", "Queen Elizabeth"),
        ("Lake Victoria is deep", "Lake Victoria"),
        ("Anna Kowalski came", "Anna Kowalski"),
        ("Mark Twain wrote it", "Mark Twain"),
        ("Costa Rica next year", "Costa Rica"),
    ],
)
def test_names_of_several_words_stay_whole_at_the_beginning(reader: Reader, text: str, name: str) -> None:
    ((entities, _),) = reader.read([text])
    assert name in [found for found, *_ in entities]


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


@pytest.mark.parametrize("sign", ['"', "(", "_", "😀"])
def test_a_run_of_signs_holds_nobody_up(reader: Reader, sign: str) -> None:
    started = time.monotonic()
    [(entities, _)] = reader.read([f"{sign * 9000} I met Rosa in Berlin. {sign * 500}"])
    assert {"Rosa", "Berlin"} <= {text for text, _, _ in entities}
    assert time.monotonic() - started < 10


def test_a_text_that_a_model_fails_on_does_not_cost_the_others(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fragile:
        def extract_keywords(self, text: str) -> list[tuple[str, float]]:
            if "bad" in text:
                raise RecursionError("too deep")
            return [("fine", 0.25)]

    monkeypatch.setattr(reader, "_extractor", Fragile())
    assert [phrases for _, phrases in reader.read(["one", "bad", "two"])] == [[("fine", 0.75)], [], [("fine", 0.75)]]


async def test_real_processes_annotate_in_order_and_leave_signals_to_their_parent() -> None:
    annotator = SpacyAnnotator(processes=1)
    assert len(await annotator.annotate([TALK])) == 1
    (pid,) = pids()
    for ending in (signal.SIGINT, signal.SIGTERM):  # as Ctrl-C in a terminal reaches the whole group
        os.kill(pid, ending)
    cities = ["Lisbon", "Oslo", "Nairobi", "Toronto", "Hanoi"] * 8
    annotations = await annotator.annotate([f"Last year we moved to {city} with our two children." for city in cities])
    found = [[entity.text for entity in each.entities if entity.label == "GPE"] for each in annotations]
    assert found == [[city] for city in cities]
    assert running(pid)
    await annotator.close()
    assert not running(pid)


async def test_batches_of_any_size_keep_their_order(fake: SpacyAnnotator) -> None:
    for size in (0, 1, 2, 3, 31, 200):
        texts = [f"text {i}" for i in range(size)]
        assert names(await fake.annotate(texts)) == [[text] for text in texts]


async def test_a_second_process_runs_while_there_is_work_for_it(
    fake: SpacyAnnotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spacy, "REST_AFTER", 0.1)
    first = pids()
    assert len(first) == 1
    for _ in range(2):
        texts = [f"text {i}" for i in range(40)]
        assert names(await fake.annotate(texts)) == [[text] for text in texts]
        assert len(pids()) == 2
        await eventually(lambda: pids() == first)


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
    before = pids()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    texts = [f"text {i}" for i in range(size)]
    assert names(await fake.annotate(texts)) == [[text] for text in texts]
    assert pids() - before


async def test_a_text_that_kills_every_process_is_left_out_alone(fake: SpacyAnnotator) -> None:
    texts = ["one", "die", "two"]
    assert names(await fake.annotate(texts)) == [["one"], [], ["two"]]
    assert names(await fake.annotate(["three"])) == [["three"]]


async def test_a_text_that_kills_costs_no_other_caller_its_names(fake: SpacyAnnotator) -> None:
    answers = await asyncio.gather(*(fake.annotate([text]) for text in ["die", *map(str, range(40)), "die"]))
    assert [names(answer) for answer in answers] == [[[]], *([[str(i)]] for i in range(40)), [[]]]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities are not changed")
async def test_the_processes_leave_the_processor_to_requests(fake: SpacyAnnotator) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in pids()} == {min(19, ours + 10)}


async def test_a_process_that_hangs_is_ended(fake: SpacyAnnotator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy, "ANSWER_WITHIN", 0.1)
    assert names(await fake.annotate(["sleep"])) == [[]]
    monkeypatch.undo()


async def test_a_process_that_does_not_end_is_killed(fake: SpacyAnnotator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy, "END_WITHIN", 0.1)
    asking = asyncio.create_task(fake.annotate(["sleep"]))
    await asyncio.sleep(0.1)
    await fake.close()
    assert not pids()
    with pytest.raises(Unavailable, match="closed"):
        await asking


async def test_what_is_closed_while_it_starts_leaves_no_error_behind(caplog: pytest.LogCaptureFixture) -> None:
    annotator = SpacyAnnotator(processes=2, load=fakes.load_slowly)
    await eventually(lambda: len(pids()) == 1)
    await annotator.close()
    del annotator
    gc.collect()
    assert not caplog.records


async def test_a_process_that_still_starts_is_killed() -> None:
    annotator = SpacyAnnotator(processes=2, load=fakes.load_slowly)
    asking = asyncio.create_task(annotator.annotate(["early"]))
    await eventually(lambda: len(pids()) == 1)
    await annotator.close()
    assert not pids()
    with pytest.raises(Unavailable):
        await asking


@pytest.mark.parametrize(("load", "within"), [(fakes.load_nothing, 60.0), (fakes.load_slowly, 0.1)])
async def test_a_process_that_cannot_start_is_unavailable(
    load: Callable[[], Reader], within: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spacy, "START_WITHIN", within)
    annotator = SpacyAnnotator(processes=2, load=load)
    for asking in (annotator.ready(), annotator.annotate(["one"])):
        with pytest.raises(Unavailable, match=r"does not start.*MEMORYBUS_NER=none"):
            await asking
    await annotator.close()


async def test_processes_that_cannot_be_replaced_make_it_unavailable(fake: SpacyAnnotator) -> None:
    for process in fake._processes:
        process._load = fakes.load_nothing
    with pytest.raises(Unavailable, match="does not start"):
        await fake.annotate(["die", "die", "die"])
    for process in fake._processes:
        process._load = fakes.load
    assert names(await fake.annotate(["back"])) == [["back"]]


async def test_closing_ends_the_processes_and_tells_who_waits(fake: SpacyAnnotator) -> None:
    waiting = [asyncio.create_task(fake.annotate([f"text {i}"])) for i in range(50)]
    await asyncio.sleep(0)
    await fake.close()
    await fake.close()
    assert not pids()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, list | Unavailable) for outcome in outcomes)
    assert any(isinstance(outcome, Unavailable) for outcome in outcomes)
    with pytest.raises(Unavailable, match="closed"):
        await fake.annotate(["late"])


OPEN_AND_WAIT = """
import asyncio, multiprocessing
from services.shared.annotators.spacy import SpacyAnnotator
from services.shared.entities.names import FIGURES
from tests.annotators import fakes

async def main():
    annotator = SpacyAnnotator(processes=2, load=fakes.load)
    await annotator.annotate(["text"] * 40)
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_no_process_outlives_a_killed_parent() -> None:
    root = Path(services.__path__[0]).parent
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPEN_AND_WAIT, cwd=root, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    children = [int(pid) for pid in (await parent.stdout.readline()).split()]
    assert len(children) == 2
    assert all(running(pid) for pid in children)
    parent.kill()
    await parent.wait()
    await eventually(lambda: not any(running(pid) for pid in children))
