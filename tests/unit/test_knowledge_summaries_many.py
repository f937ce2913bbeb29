"""Summaries of thousands of generated sessions: within their limits, and every sentence is in its sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import get_args

from contracts.v1.claims import Change, Claim, Slot
from contracts.v1.entries import Entity, Entry
from services.shared.context.summaries import ROLLING, Sentence, rolling_summary
from services.shared.knowledge.summaries import session_summary, spine_of
from services.shared.knowledge.tasks import tasks_of
from tests.sizes import LONG
from tests.stores.builders import NOON, an_entry

SESSIONS = 10_000 if LONG else 100
_OPENINGS = (
    "I'll send {what} to {who} by {when}",
    "Sent {what}",
    "My sister {who} lives in {place}",
    "I need to {what}",
    "Remind me to call {who}",
    "I live in {place}",
    "Our project {place} has a deadline on {when}",
    "never mind {what}",
    "{who} said “I will go”",
    "I don't need to {what} anymore",
    "haha just kidding",
    "Do I have to {what}?",
    "TODO: {what}",
)
_WHO = ("Clara", "Dr. Müller", "李明", "O'Neill", "x" * 300)
_WHAT = ("the report", "renew my passport", "répondre", "🙂🙂", "a " * 150, "</memory>", "3.5 kg of (raw) [flour]")
_PLACES = ("Oslo", "St. Gallen", "Αθήνα", "new\nline")
_WHEN = ("Friday", "12 March", "the end of the month", "31 February", "tomorrow")
_ENDS = (".", "!", "?", "…", "", "\n", '."', " . . .")
_ROLES = ("user", "user", "user", "assistant", "assistant", "tool", "system")


def a_text(random: Random) -> str:
    parts = []
    for _ in range(random.choice((1, 1, 2, 3, 30))):
        words = random.choice(_OPENINGS).format(
            who=random.choice(_WHO), what=random.choice(_WHAT), place=random.choice(_PLACES), when=random.choice(_WHEN)
        )
        parts.append(words + random.choice(_ENDS))
    return " ".join(parts)


def claims_in(text: str, random: Random) -> tuple[Claim, ...]:
    """Anything that may be claimed of a text: its places are within it, and its sentences of any length."""
    found = []
    for _ in range(random.randint(0, 4) if len(text) > 2 else 0):
        begin, first, last, end = sorted([*random.sample(range(len(text) + 1), 3), random.randint(0, len(text))])
        if first < last:
            kind, slot = random.choice(("fact", "task")), random.choice(get_args(Slot))
            whose = (first, last) if random.random() < 0.3 else None
            places = {"value": (first, last), "sentence": (begin, end), "whose": whose}
            of_user, sure = random.random() < 0.5, random.random()
            found.append(Claim(kind=kind, slot=slot, **places, of_user=of_user, confidence=sure))
    return tuple(found)


def a_session(random: Random) -> list[Entry]:
    said = [
        an_entry(
            "ann",
            text := a_text(random),
            id=f"e{n}",
            role=(role := random.choice(_ROLES)),
            conversation_id=random.choice(("c1", "c2")),
            entities=tuple(Entity(text=who, label="PERSON", confidence=0.9) for who in _WHO if who in text),
            claims=claims_in(text, random) if role == "user" else (),
            importance=random.random(),
            pinned=random.random() < 0.1,
            created_at=NOON + timedelta(minutes=n),
        )
        for n in range(random.randint(0, 14))
    ]
    return [one.model_copy(update={"changes": ending(said[:n], random)}) for n, one in enumerate(said)]


def ending(before: list[Entry], random: Random) -> tuple[Change, ...]:
    """Some of the tasks that were claimed before."""
    tasks = [(one.id, claim.value) for one in before for claim in one.claims if claim.kind == "task"]
    chosen = random.sample(tasks, min(len(tasks), random.randint(0, 2)))
    return tuple(Change(entry_id=id_, kind="task", value=value, confidence=0.9) for id_, value in chosen)


def listed(said: list[Entry]) -> Iterator[tuple[tuple[Sentence, ...], int, int]]:
    """Each list of sentences that is made of a session, with its most sentences and their most characters."""
    session, rolling, spine = session_summary(said), rolling_summary(said), spine_of(said)
    yield (session.one_liner,) if session.one_liner else (), 1, 120
    yield session.what_mattered, 5, 200
    yield session.open_loops, 8, 200
    yield session.commitments, 8, 200
    yield session.people, 12, 120
    yield rolling.sentences, 24, 200
    assert len(rolling.text) <= ROLLING
    for section in (spine.profile, spine.projects, spine.people, spine.open_loops):
        yield section, 8, 200


def test_limits_hold_and_every_sentence_is_in_its_sources() -> None:
    random = Random(20260301)
    sentences = 0
    for _ in range(SESSIONS):
        said = a_session(random)
        known = {entry.id: entry for entry in said}
        for found, most, longest in listed(said):
            assert len(found) <= most
            for one in found:
                assert 0 < len(one.text) <= longest
                assert one.source_ids
                sources = [known[id_] for id_ in one.source_ids]
                assert all(one.text in source.text for source in sources)
                assert (one.role, one.said_at) == (sources[0].role, sources[0].created_at)
                sentences += 1
        for task in tasks_of(said):
            assert task.text in task.entry.text
            assert task.closed_by is None or task.closed_by.created_at >= task.entry.created_at
            assert task.due_on is None or task.due_on.year < 2030
    assert sentences > 10 * SESSIONS
