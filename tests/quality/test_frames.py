"""What is said in a role play, a text to be written or a supposition is not so; like wordings of what is, are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from contracts.ports import Selection
from contracts.v1.conflicts import ConflictsRequest
from contracts.v1.entries import EntryAccepted
from contracts.v1.profile import ProfileRequest
from contracts.v1.turns import DatedTurn
from services.curate.conflicts import list_conflicts
from services.curate.profile import profile
from services.dedupe.handler import judge_proposals
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.ingest.handler import Arrived, log_turns
from services.shared.context.block import assemble
from services.shared.privacy.frames import stated
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeReader, FakeVectors
from tests.unit.context.test_context_block import Characters

_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
_ASSISTANT = "assistant> "


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteTextStore]:
    opened = await SqliteTextStore.open(tmp_path / "memory.sqlite3", synchronous="normal")
    yield opened
    await opened.close()


class Row(NamedTuple):
    """A chat, and what it makes of what was said in another one before: a value of the profile, or nothing."""

    label: str
    kind: str
    before: str
    expected: str
    turns: tuple[str, ...]


def rows(name: str) -> list[Row]:
    """The rows of a table."""
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    read = [line.split("\t") for line in lines if not line.startswith("# ")]
    return [
        Row(label, kind, before, expected, tuple(turns.split(" | "))) for label, kind, before, expected, turns in read
    ]


class Known(NamedTuple):
    """What is believed after a chat."""

    facts: frozenset[str]
    superseded: int
    conflicts: int


class Chat:
    """A user's conversations, through ingest, dedupe, enrich and embed into a store, with a reader that believes all:
    whatever the last word of a text is, is where its user lives."""

    def __init__(self, store: SqliteTextStore) -> None:
        self.store, self.at, self.number = store, _NOON, 0

    async def say(self, text: str, conversation: str) -> None:
        """Publish a turn; one that begins so is the assistant's."""
        self.at, self.number = self.at + timedelta(minutes=1), self.number + 1
        turn = DatedTurn(
            user_id="ann",
            role="assistant" if text.startswith(_ASSISTANT) else "user",
            text=text.removeprefix(_ASSISTANT),
            turn_id=f"t{self.number}",
            conversation_id=conversation,
            created_at=self.at,
        )
        proposed = await log_turns(
            [Arrived(number=self.number, turn=turn)],
            store=self.store,
            missing_from_stream=_none_is_missing,
            defer=_never,
            gap=timedelta(minutes=30),
        )
        told = await judge_proposals(proposed, store=self.store)
        accepted = [event for event in told if isinstance(event, EntryAccepted)]
        enriched = await enrich_entries(accepted, store=self.store, annotator=None)
        await embed_entries(enriched, store=self.store, vectors=FakeVectors(), embedder=FakeReader())

    async def known(self) -> Known:
        """What is believed now."""
        found = await profile(ProfileRequest(user_id="ann"), store=self.store)
        conflicts = await list_conflicts(ConflictsRequest(user_id="ann"), store=self.store)
        put_away = Selection("ann", status="superseded")
        superseded = (await self.store.page(put_away, limit=100, cursor=None)).total
        facts = frozenset(f"{fact.memory_key.rpartition('|')[2]}={fact.value}" for fact in found.facts)
        return Known(facts, superseded, len(conflicts.items))


async def _none_is_missing(numbers: object) -> set[int]:
    return set()


async def _never(numbers: object) -> None:
    raise AssertionError


async def told(row: Row) -> tuple[Known, Known]:
    """What is believed before a chat, and after it."""
    with TemporaryDirectory() as folder:
        store = await SqliteTextStore.open(Path(folder) / "memory.sqlite3", synchronous="normal")
        try:
            chat = Chat(store)
            await chat.say(row.before, "other")
            before = await chat.known()
            for turn in row.turns:
                await chat.say(turn, "this")
            return before, await chat.known()
        finally:
            await store.close()


async def _is_right(row: Row) -> bool:
    before, after = await told(row)
    return (before == after) == (row.label == "fiction")


@pytest.mark.parametrize(
    ("table", "label", "floor"),
    [
        ("fiction.tsv", "fiction", 0.97),  # the last word of one stands after the play
        ("fiction.tsv", "real", 0.95),  # of two it stands in a draft
        ("fiction_held_out.tsv", "fiction", 0.95),
        ("fiction_held_out.tsv", "real", 0.94),
    ],
)
async def test_what_is_said_in_a_fiction_is_not_believed_and_what_is_real_is(
    table: str, label: str, floor: float
) -> None:
    chosen = [row for row in rows(table) if row.label == label]
    wrong = [row for row in chosen if not await _is_right(row)]
    assert 1 - len(wrong) / len(chosen) >= floor, wrong


def test_a_sentence_opens_a_frame_or_is_said_in_earnest() -> None:
    lines = (Path(__file__).parent / "frames.tsv").read_text("utf-8").splitlines()[1:]
    for label, floor in (("earnest", 0.98), ("framed", 0.95)):
        said = [line.partition("\t")[2] for line in lines if line.startswith(label)]
        wrong = [text for text in said if (stated(text, "user", None) == text) != (label == "earnest")]
        assert 1 - len(wrong) / len(said) >= floor, wrong


async def test_what_is_said_in_a_fiction_stays_in_the_memory_and_is_told_as_such(store: SqliteTextStore) -> None:
    chat = Chat(store)
    for text in ("Let's roleplay a scene.", "assistant> Who are you?", "I have moved to Leeds."):
        await chat.say(text, "play")
    await chat.say("I have moved to Leeds.", "real")
    entries = (await store.page(Selection("ann"), limit=10, cursor=None)).entries
    said = [entry for entry in entries if entry.text == "I have moved to Leeds."]
    assert sorted((entry.conversation_id, entry.frame) for entry in said) == [("play", "fiction"), ("real", None)]
    assert "home=Leeds" in (await chat.known()).facts
    context = assemble(said, token_budget=500, counter=Characters()).context
    assert context.count("role play or draft, no fact") == 1


async def test_a_long_silence_ends_a_fiction(store: SqliteTextStore) -> None:
    chat = Chat(store)
    await chat.say("Let's roleplay a scene.", "play")
    await chat.say("I live in Rome.", "play")
    assert (await chat.known()).facts == frozenset()
    chat.at += timedelta(minutes=31)
    await chat.say("I live in Leeds.", "play")
    assert (await chat.known()).facts == {"home=Leeds"}
