"""Summaries of thousands of generated sessions: within their limits, and every sentence is in its sources."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random

from contracts.v1.entries import Entity, Entry
from services.shared.core.loops import loops_in
from services.shared.core.summaries import ROLLING, Sentence, rolling_summary, sayings, session_summary, spine_of
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


def a_session(random: Random) -> list[Entry]:
    return [
        an_entry(
            "ann",
            text := a_text(random),
            id=f"e{n}",
            role=random.choice(_ROLES),
            conversation_id=random.choice(("c1", "c2")),
            entities=tuple(Entity(text=who, label="PERSON", confidence=0.9) for who in _WHO if who in text),
            importance=random.random(),
            pinned=random.random() < 0.1,
            created_at=NOON + timedelta(minutes=n),
        )
        for n in range(random.randint(0, 14))
    ]


def listed(said: list[Entry]) -> Iterator[tuple[tuple[Sentence, ...], int, int]]:
    """Each list of sentences that is made of a session, with its most sentences and their most characters."""
    session, rolling, spine = session_summary(said, {}), rolling_summary(said, {}), spine_of(said)
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
        for loop in loops_in(sayings(said)):
            assert loop.said.text in known[loop.said.entry_id].text
            assert loop.closed_by is None or known[loop.closed_by.entry_id].created_at >= loop.said.at
            assert loop.due_on is None or loop.due_on.year < 2030
    assert sentences > 10 * SESSIONS
