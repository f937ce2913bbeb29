"""`memorybus status`: numbers for scripts, and for people what they mean."""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from contracts.v1.commands import StatusReply
from contracts.v1.turns import Turn
from services.cli.status import as_line, counted, show_status
from services.shared.client import Backlog
from tests.cli.fake_memory import FakeMemory, a_status

IDLE = Backlog({"ingest": 0, "dedupe": 0, "enrich": 0, "embed": 0}, 0)
BUSY = Backlog({"ingest": 1200, "dedupe": 0, "enrich": 3, "embed": 17}, 2)
DONE = a_status(turns=10, entries=6, inactive=1, merged=2, refused=1, vectors=6)


def shown(counts: StatusReply, backlog: Backlog, user: str | None = None) -> str:
    console = Console(record=True, width=120, file=StringIO())
    show_status(counts, backlog, console, url="nats://127.0.0.1:4222", user=user)
    return console.export_text()


def rows(text: str) -> dict[str, str]:
    """Name and count of each line of the table."""
    cells = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {name: rest.split()[0] for name, rest in cells}


def test_the_line_for_scripts_has_all_numbers_as_integers() -> None:
    line = as_line(a_status(turns=11, entries=5, inactive=2, merged=3, refused=1, vectors=4, pending=1), BUSY)
    assert "\n" not in line
    assert json.loads(line) == {
        "turns": 11,
        "entries": 5,
        "inactive": 2,
        "merged": 3,
        "refused": 1,
        "vectors": 4,
        "pending": 1,
        "unembeddable": 0,
        "dead_letters": 2,
        "backlog": 1220,
        "backlog_by_stage": {"ingest": 1200, "dedupe": 0, "enrich": 3, "embed": 17},
    }


def test_people_see_stores_stages_and_dead_letters() -> None:
    text = shown(a_status(turns=1234, entries=1000, inactive=234, vectors=990, pending=10), BUSY)
    assert list(rows(text).items()) == [
        *(("turns", "1,234"), ("entries", "1,000"), ("inactive", "234"), ("merged", "0"), ("refused", "0")),
        *(("vectors", "990"), ("pending", "10")),
        *(("→ ingest", "1,200"), ("→ dedupe", "0"), ("→ enrich", "3"), ("→ embed", "17"), ("dead letters", "2")),
    ]
    assert "nats://127.0.0.1:4222" in text
    assert "memorybus dead list" in text


def test_when_all_is_well_nobody_is_warned() -> None:
    text = shown(DONE, IDLE)
    assert text.splitlines()[-1].startswith("dead letters")
    assert "all users' conversation log" in text
    assert "this user's conversation log" in shown(DONE, IDLE, user="me")


def test_counts_that_do_not_add_up_are_told_once_nothing_waits() -> None:
    lost = DONE.model_copy(update={"merged": 1})
    assert "10 turns, but entries + inactive + merged + refused = 9: `memorybus reconcile`" in shown(lost, IDLE)
    assert "but" not in shown(lost, BUSY)
    assert "but" not in shown(lost.model_copy(update={"pending": 1}), IDLE)


def test_missing_vectors_are_told_unless_there_are_none_at_all_or_it_is_known_why() -> None:
    five = DONE.model_copy(update={"vectors": 5})
    assert "6 entries, but 5 vectors: `memorybus reconcile --fix`" in shown(five, IDLE)
    assert "reconcile" not in shown(DONE.model_copy(update={"vectors": 0}), IDLE)
    for why, told in (
        ({"degraded": ("semantic",)}, "vector store does not answer"),
        ({"unembeddable": 1}, "no vector"),
    ):
        text = shown(five.model_copy(update=why), IDLE)
        assert told in text
        assert "reconcile" not in text


async def test_one_user_is_counted_alone_and_the_bus_as_a_whole() -> None:
    memory = FakeMemory(waiting=[{"embed": 4}])
    memory.turns = [Turn(user_id=user, role="user", text=text) for user, text in (("a", "x"), ("a", "x"), ("b", "y"))]
    assert await counted(memory, "a") == (a_status(turns=2, entries=1, merged=1, vectors=1), Backlog({"embed": 4}, 0))
    assert (await counted(memory, None))[0].turns == 3
