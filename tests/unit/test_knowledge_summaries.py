"""What a session and a space amount to: by what was read in their entries, in their own words."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.claims import Claim, Slot
from contracts.v1.entries import Entity, Entry
from services.shared.context.summaries import Sentence, rolling_summary
from services.shared.knowledge.summaries import session_summary, spine_of
from tests.claims import a_claim, a_task, an_end_of
from tests.stores.builders import NOON, a_session, an_entry
from tests.unit.test_knowledge_summaries_many import claims_in

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
