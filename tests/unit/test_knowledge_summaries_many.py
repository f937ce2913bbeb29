"""What a session and a space amount to, in their own words; of thousands of generated sessions, within their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from random import Random
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.claims import Change, Claim, Slot
from contracts.v1.entries import Entity, Entry
from services.shared.context.summaries import ROLLING, Sentence, rolling_summary
from services.shared.knowledge.summaries import session_summary, spine_of
from services.shared.knowledge.tasks import tasks_of
from tests.claims import a_claim, a_task, an_end_of
from tests.sizes import LONG
from tests.stores.builders import NOON, a_session, an_entry

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


def any_session(random: Random) -> list[Entry]:
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
        said = any_session(random)
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


CLARA = "My sister Clara moved to Porto."


def texts(sentences: Iterable[Sentence]) -> list[str]:
    return [one.text for one in sentences]


_Stated = tuple[str, str, Slot]


def claiming(*claims: _Stated | str) -> list[Entry]:
    """Entries that each claim a value, or that their text is to be done."""
    said = a_session("ann", [one if isinstance(one, str) else one[0] for one in claims])
    made = [a_task(one) if isinstance(one, str) else a_claim(*one) for one in claims]
    return [
        entry.model_copy(update={"last_said_at": entry.created_at, "claims": (claim,)})
        for entry, claim in zip(said, made, strict=True)
    ]


def of_another(text: str, value: str, whose: str, slot: Slot) -> Claim:
    return a_claim(text, value, slot, whose=whose)


def test_a_session_is_summed_up_in_the_words_of_its_turns() -> None:
    flight = "I need to book a flight to Porto by May."
    said = [*claiming((CLARA, "sister Clara", "family"), flight, ("I see Ben on Friday", "Friday", "appointment"))]
    made = session_summary([*said, *a_session("ann", ["Hi!", "How far is that?"])])
    assert texts(made.what_mattered) == [CLARA, flight, "I see Ben on Friday"]
    assert (texts(made.open_loops), texts(made.commitments)) == ([flight], ["I see Ben on Friday"])
    assert made.one_liner in made.what_mattered


def test_what_was_ended_or_decided_in_a_session_is_no_open_loop_of_it() -> None:
    rent, stamps = claiming("I have to pay the rent", "I have to buy stamps")
    paid = an_entry(
        "ann", "Paid it", created_at=NOON + timedelta(hours=1), changes=an_end_of(rent), supersedes=(rent.id,)
    )
    assert texts(session_summary([rent, stamps, paid]).open_loops) == [stamps.text]
    assert texts(spine_of([rent, stamps, paid]).open_loops) == [stamps.text]
    assert len(session_summary([rent, stamps]).open_loops) == 2


@pytest.mark.parametrize(
    ("claim", "people"),
    [
        (of_another(CLARA, "moved", "Clara", "home"), ["Clara"]),
        (of_another(CLARA, "sister", "Clara", "family"), ["Clara"]),
        (a_claim(CLARA, "sister Clara", "family"), ["Clara"]),
        (a_claim(CLARA, "Porto", "place"), ["Porto"]),
        (a_claim(CLARA, "sister Clara", "family", sure=0.2), []),
        (a_task(CLARA), []),
    ],
)
def test_people_are_who_is_named_in_what_is_claimed(claim: Claim, people: list[str]) -> None:
    named = tuple(Entity(text=name, label="PERSON", confidence=0.9) for name in ("Clara", "Porto"))
    turns = [one.model_copy(update={"claims": (claim,), "entities": named}) for one in a_session("ann", [CLARA])]
    assert texts(session_summary(turns).people) == people


def test_the_spine_has_a_sentence_in_one_section_and_only_what_is_surely_so_now() -> None:
    lisbon: _Stated = ("I live in Lisbon.", "Lisbon", "home")
    porto: _Stated = ("I live in Porto now.", "Porto", "home")
    likely: _Stated = ("Pears again.", "Pears", "like")
    nurse: _Stated = ("My sister Clara is a nurse.", "sister Clara", "family")
    project: _Stated = ("The Rust port is due in June.", "Rust port", "project")
    passport = "I need to renew my passport."
    said = claiming(lisbon, porto, likely, nurse, project, passport)
    said[2] = said[2].model_copy(update={"claims": (a_claim(*likely, sure=0.4),)})
    said[3] = said[3].model_copy(update={"claims": (*said[3].claims, a_claim(nurse[0], "nurse", "work"))})
    made = spine_of(said)
    assert (texts(made.profile), texts(made.people)) == ([porto[0]], [nurse[0]])
    assert (texts(made.projects), texts(made.open_loops)) == ([project[0]], [passport])


def test_what_another_does_is_of_people_whatever_it_is() -> None:
    text = "Clara plays the cello."
    (entry,) = a_session("ann", [text])
    made = spine_of([entry.model_copy(update={"claims": (of_another(text, "plays the cello", "Clara", "hobby"),)})])
    assert (texts(made.people), made.profile) == ([text], ())


def test_of_many_the_weightiest_and_surest_are_in_the_spine() -> None:
    likes: list[_Stated] = [(f"I like game number{n}", f"game number{n}", "like") for n in range(9)]
    said = claiming(*likes, ("I am allergic to nuts", "nuts", "allergy"))
    said[0] = said[0].model_copy(update={"claims": (a_claim(*likes[0], sure=0.99),)})
    profile = texts(spine_of(said).profile)
    assert len(profile) == 8
    assert {likes[0][0], "I am allergic to nuts"} <= set(profile)


@given(st.lists(st.text(max_size=300), max_size=10), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_a_session_of_any_words_amounts_to_what_it_says_in_whatever_order(texts: list[str], random: Random) -> None:
    said = [an_entry("ann", text, id=f"e{n}", claims=claims_in(text, random)) for n, text in enumerate(texts)]
    shuffled = random.sample(said, len(said))
    for amount in (session_summary, rolling_summary, spine_of):
        assert amount(said) == amount(shuffled)
    whole = {entry.id: entry.text for entry in said}
    for sentence in (*session_summary(said).what_mattered, *spine_of(said).profile, *rolling_summary(said).sentences):
        assert 0 < len(sentence.text) <= 200
        assert sentence.source_ids
        assert all(sentence.text in whole[source] for source in sentence.source_ids)
