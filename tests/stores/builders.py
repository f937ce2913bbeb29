"""Turns, proposals and entries with everything filled in that a test does not care about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from contracts.ports import Accepted, Forgotten, Merged, Outcome, Ref, TextStore
from contracts.v1.entries import Entity, Entry, Scores
from contracts.v1.turns import LoggedTurn, Proposal, entry_id

NOON = datetime(2026, 2, 1, 12, tzinfo=UTC)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


def yesterday() -> datetime:
    return datetime.now(UTC) - timedelta(days=1)


def a_user() -> str:
    return f"user-{uuid4()}"


def a_turn(user_id: str, text: str = "I prefer uv over pip", **fields: Any) -> LoggedTurn:
    defaults: dict[str, Any] = {
        "turn_id": str(uuid4()),
        "role": "user",
        "conversation_id": "c1",
        "created_at": NOON,
        "session_id": f"session-of-{user_id}",
    }
    return LoggedTurn(user_id=user_id, text=text, **(defaults | fields))


def a_proposal(turn: LoggedTurn, *, ordinal: int = 0, text: str | None = None) -> Proposal:
    id_ = entry_id(turn.user_id, turn.space, turn.turn_id, ordinal)
    return Proposal(id=id_, turn=turn, ordinal=ordinal, text=turn.text if text is None else text)


def an_entry(user_id: str, text: str = "I prefer uv over pip", **fields: Any) -> Entry:
    defaults: dict[str, Any] = {"id": str(uuid4()), "created_at": NOON, "updated_at": NOON}
    return Entry(user_id=user_id, text=text, **(defaults | fields))


def a_full_entry(user_id: str) -> Entry:
    """An entry about Zoë of which all is known that may be."""
    return an_entry(
        user_id,
        "Ünïcödé \x00 Zoë drinks tea 🦉",
        space="a space",
        conversation_id="c\x1f1",
        session_id="s1",
        turn_id="t1",
        ordinal=3,
        role="assistant",
        speaker="Zoë",
        persona_id="guide",
        summary="short",
        type="preference",
        subject="people",
        entity_refs=("person:zoe",),
        entity_label="Zoë",
        fact_type="likes",
        memory_key="people:zoe:likes",
        themes=("tools",),
        tags=("uv", "pip"),
        entities=(Entity(text="Zoë", label="PERSON", confidence=0.9),),
        source_ids=("src-1",),
        metadata_confidence=0.7,
        importance=0.4,
        pinned=True,
        manually_saved=True,
        repeat_count=2,
        exact_hash="aa",
        statement_hash="ee",
        simhash="bb",
        minhash_bands=("cc", "dd"),
        enriched=True,
        embedding_state="error",
        embedding_provider="p",
        embedding_model="m",
        embedding_dimensions=384,
        embedding_error="no",
        last_scores=Scores(relevance=0.1, recency=0.2, importance=0.3, total=0.6, computed_at=NOON),
        expires_at=NOON + minutes(1),
        version=7,
    )


def entry_of(proposal: Proposal, **fields: Any) -> Entry:
    """The entry that dedupe would make of a proposal."""
    turn = proposal.turn
    defaults: dict[str, Any] = {
        "id": proposal.id,
        "space": turn.space,
        "conversation_id": turn.conversation_id,
        "session_id": turn.session_id,
        "turn_id": turn.turn_id,
        "ordinal": proposal.ordinal,
        "role": turn.role,
        "speaker": turn.speaker,
        "persona_id": turn.persona_id,
        "created_at": turn.created_at,
        "updated_at": turn.created_at,
        "text": proposal.text,
    }
    return Entry(user_id=turn.user_id, **(defaults | fields))


def a_session(user_id: str, texts: Sequence[str], session_id: str = "s1", **fields: Any) -> list[Entry]:
    """Entries said a minute apart in one session."""
    return [
        an_entry(user_id, text, session_id=session_id, created_at=NOON + minutes(i), **fields)
        for i, text in enumerate(texts)
    ]


def a_repeat(proposal: Ref, canonical_id: str) -> Merged:
    """The decision that counts a proposal as a repeat of an entry."""
    repeat = entry_of(proposal) if isinstance(proposal, Proposal) else an_entry(proposal.user_id, id=proposal.id)
    return Merged(proposal, canonical_id, repeat)


async def similar_to(store: TextStore, *candidates: Entry) -> list[list[Entry]]:
    """The stored entries that each candidate is compared with."""
    found = await store.find_similar(candidates)
    return [sorted(similar.entries, key=lambda entry: (entry.created_at, entry.text, entry.id)) for similar in found]


async def suppressed(store: TextStore, candidates: Sequence[Entry]) -> set[str]:
    """Of these candidates, the ids of those whose statement may not come back now."""
    found = zip(candidates, await store.find_similar(candidates), strict=True)
    return {candidate.id for candidate, similar in found if similar.suppressed}


async def undecided_of(store: TextStore, proposals: Sequence[Ref]) -> list[Proposal]:
    """Of these proposals the logged ones without an outcome, in the order asked."""
    records = (await store.pending(proposals)).values()
    return [record.proposal for record in records if record.outcome is None]


async def outcomes_of(store: TextStore, proposals: Sequence[Ref]) -> dict[str, Outcome]:
    """What became of these proposals; the undecided are missing."""
    records = (await store.pending(proposals)).values()
    return {record.proposal.id: record.outcome for record in records if record.outcome}


def repeated(entry: Entry) -> Entry:
    """A change that counts one repeat more."""
    return entry.model_copy(update={"repeat_count": entry.repeat_count + 1})


async def store_entries(store: TextStore, entries: Sequence[Entry]) -> list[Entry]:
    await store.apply([Accepted(entry) for entry in entries])
    return list(entries)


async def log_proposals(store: TextStore, user_id: str, count: int, **fields: Any) -> list[Proposal]:
    """Log so many turns, each of which proposes itself."""
    turns = [a_turn(user_id, f"statement number {i}", created_at=NOON + minutes(i), **fields) for i in range(count)]
    proposals = [a_proposal(turn) for turn in turns]
    await store.append(turns, proposals)
    return proposals


async def log_texts(store: TextStore, user_id: str, *texts: str, **fields: Any) -> list[Proposal]:
    """Log a turn for each text, a minute apart, each of which proposes itself."""
    turns = [a_turn(user_id, text, created_at=NOON + minutes(i), **fields) for i, text in enumerate(texts)]
    proposals = [a_proposal(turn) for turn in turns]
    await store.append(turns, proposals)
    return proposals


async def texts_logged(store: TextStore, user: str) -> list[str]:
    """What a user said, in the order of the log."""
    return [record.turn.text for record in await store.export_log(user, after=None, limit=100)]


async def log_of(store: TextStore, user: str) -> dict[str, LoggedTurn]:
    """The turns of a user as the log has them, by turn id."""
    return {record.turn.turn_id: record.turn for record in await store.export_log(user, after=None, limit=100)}


async def forget(store: TextStore, entry: Entry | Proposal, until: datetime | None = None) -> Forgotten:
    """Forget one entry."""
    (forgotten,) = await store.forget([entry], until=until)
    return forgotten
