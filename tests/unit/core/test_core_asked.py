"""The fact that a question asks for, and which statements tell it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from contracts.v1.entries import Entry
from services.shared.core.asked import Asked, asked_in, is_of_another, told_in
from services.shared.core.facts import facts_of
from services.shared.core.features import Found, names_unmentioned_kin, of_the_former
from services.shared.core.profile import profile
from services.shared.core.scoring import Candidate
from tests.stores.builders import NOON, an_entry


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Where do I live?", Asked("home")),
        ("Do you remember which city I live in?", None),
        ("which town do we live in now", Asked("home")),
        ("And where does my older sister live these days?", Asked("home", "sister")),
        ("Where is Liam’s flat?", Asked("home", "liam")),
        ("Where did Anna Berg grow up?", Asked("origin", "anna_berg")),
        ("Who do I work for?", Asked("employer")),
        ("What does my wife do for a living?", Asked("occupation", "wife")),
        ("What's Noor's profession?", Asked("occupation", "noor")),
        ("How old is my daughter?", Asked("age", "daughter")),
        ("Am I allergic to anything?", Asked("allergy")),
        ("Do I have any food allergies?", Asked("allergy")),
        ("Am I a vegetarian?", Asked("diet")),
        ("Who is my manager?", Asked("relationship", kin="manager")),
        ("What is my husband's name?", Asked("partner")),
        ("What's my name?", Asked("name")),
        ("Where did I leave my keys?", None),
        ("Where do I live and work?", None),
        ("What do I do if the boiler leaks?", None),
        ("Where do I " + "very " * 100 + "live?", None),
        ("", None),
    ],
)
def test_a_question_asks_for_one_fact_or_none(question: str, asked: Asked | None) -> None:
    assert asked_in(question) == asked


@pytest.mark.parametrize(
    ("question", "text", "told"),
    [
        ("Where do I live?", "I moved from Graz to Linz because I got a job there.", True),
        ("Where do I live?", "My sister Anna lives in Rome.", False),
        ("Where does my sister live?", "My sister Anna lives in Rome.", True),
        ("Where does Anna live?", "My sister Anna lives in Rome.", True),
        ("Where does Anna live?", "I live in Rome.", False),
        ("Who is my manager?", "My boss is called Ingrid.", True),
        ("Who is my dentist?", "My boss is called Ingrid.", False),
        ("What do I do for a living?", "I'm a nurse on the children's ward.", True),
        ("What am I allergic to?", "I'm allergic to cats.", True),
        ("Where do I live?", "Do I live in Rome?", False),
        ("When is my mum's birthday?", "My mother's birthday is on 4 May.", True),
    ],
)
def test_a_statement_tells_the_fact_of_the_one_who_is_asked_about(question: str, text: str, told: bool) -> None:
    asked = asked_in(question)
    assert asked is not None
    entry, echo = an_entry("ann", text), an_entry("ann", text, role="assistant")
    assert (told_in(asked, entry, facts_of(entry)) is not None) == told
    assert told_in(asked, echo, facts_of(echo)) is None


@pytest.mark.parametrize(
    ("question", "text", "of_another"),
    [
        ("When is my birthday?", "My mother's birthday is on 4 May.", True),
        ("When is my father's birthday?", "My mother's birthday is on 4 May.", True),
        ("When is my mum's birthday?", "My mother's birthday is on 4 May.", False),
        ("When is my brother's birthday?", "Tom's birthday is on 4 May.", False),  # he may be the brother
        ("When is Tom's birthday?", "My brother's birthday is on 4 May.", False),
        ("Where does Anna live?", "I live in Rome with Anna.", False),
        ("Where do I live?", "My sister and I live in Rome.", False),
        ("When is my birthday?", "My bike is blue.", False),
        ("Who is my dentist?", "My boss is called Ingrid.", False),
    ],
)
def test_what_states_the_fact_of_others_alone_is_told_from_what_may_answer(
    question: str, text: str, of_another: bool
) -> None:
    asked = asked_in(question)
    assert asked is not None
    entry, of_ben = an_entry("ann", text), an_entry("ann", text, speaker="Ben")
    assert is_of_another(asked, entry, facts_of(entry)) == of_another
    assert not is_of_another(asked, of_ben, facts_of(of_ben))


def unlike(question: str, *texts: str) -> Found:
    """What is found by a little likeness alone."""
    entries: list[Entry] = [an_entry("ann", text) for text in texts]
    return Found(question, [Candidate(entry.id, cosine=0.2, cosine_context=0.2) for entry in entries], entries)


def test_who_states_what_is_asked_for_answers_however_unlike_the_words_are() -> None:
    silent, first = profile(unlike("Where do I live?", "I like the sea.", "I moved to Linz."))
    assert silent < 0.3 < 0.5 < first


def test_who_states_what_is_asked_for_goes_before_what_is_more_like_the_question() -> None:
    told, like = an_entry("ann", "I moved to Linz."), an_entry("ann", "My grandparents live in Rome.")
    cosines = {told.id: 0.2, like.id: 0.8}
    candidates = [Candidate(id_, cosine=cosine, cosine_context=cosine) for id_, cosine in cosines.items()]
    stated, other = profile(Found("Where do I live?", candidates, [told, like]))
    assert stated > 0.8 > other


def alike(question: str, *entries: Entry) -> list[float]:
    """The relevance of entries, each of which is most like the question."""
    return profile(Found(question, [Candidate(one.id, cosine=0.8, cosine_context=0.8) for one in entries], entries))


def test_the_fact_of_others_alone_does_not_answer_however_like_it_is() -> None:
    mothers = an_entry("ann", "My mother's birthday is on 4 May.")
    assert alike("When is my birthday?", mothers, an_entry("ann", "I like the sea."))[0] < 0.2
    assert alike("When is my mother's birthday?", mothers, an_entry("ann", "I like the sea."))[0] > 0.8


@pytest.mark.parametrize("told", ["My sister Dawn is coming for Christmas.", "Dawn is my wife, by the way."])
def test_who_somebody_is_says_who_tells_what_they_are(told: str) -> None:
    later, introduction = an_entry("ann", "Dawn has a cold again."), an_entry("ann", told)
    found = alike("Who is Dawn?", later, introduction)
    assert found[1] > 2 * found[0]


def test_what_is_only_thought_of_does_not_answer_where_somebody_lives() -> None:
    thought = an_entry("ann", "if i won the lottery id move to Cornwall tomorrow")
    lives, sea = an_entry("ann", "I live in Leeds."), an_entry("ann", "I like the sea.")
    assert alike("Where do I live?", thought, sea)[0] < 0.2 < alike("What would I do with a fortune?", thought, sea)[0]
    assert alike("Where do I live?", thought, lives)[1] > 0.8


def test_beside_nothing_but_a_request_the_fact_of_others_is_measured_too() -> None:
    mothers, request = an_entry("ann", "My mother's birthday is on 4 May."), an_entry("ann", "Please write a poem.")
    assert all(0 <= relevance <= 1 for relevance in alike("When is my birthday?", mothers, request))


@pytest.mark.parametrize("newest_is_first", [True, False])
def test_of_statements_of_one_value_the_newest_counts_most(newest_is_first: bool) -> None:
    older = an_entry("ann", "I work at Hellmann Logistics.", created_at=NOON)
    newer = an_entry("ann", "I started at Nordlicht Energy today.", created_at=NOON + timedelta(days=9))
    entries = [newer, older] if newest_is_first else [older, newer]
    relevance = dict(zip((one.id for one in entries), alike("Where do I work?", *entries), strict=True))
    assert relevance[newer.id] > relevance[older.id] > 0.2


@pytest.mark.parametrize(
    ("question", "text", "unmentioned"),
    [
        ("What is my sister's name?", "My brother lives in Rome.", True),
        ("What is my sister's name?", "My siblings live in Rome.", False),
        ("How tall is our daughter?", "The youngest starts school.", False),
        ("How tall is our daughter?", "The cat is asleep.", True),
        ("Where do my mother and my uncle live?", "My mum called.", False),
        ("Who is your sister?", "The cat is asleep.", False),
        ("Which bank do I use?", "The cat is asleep.", False),
    ],
)
def test_of_a_relative_whom_nobody_mentions_nothing_is_known(question: str, text: str, unmentioned: bool) -> None:
    assert names_unmentioned_kin(unlike(question, text)) == unmentioned


@pytest.mark.parametrize(("question", "answers"), [("Where does my sister live?", True), ("How is my brother?", False)])
def test_what_was_superseded_tells_of_whom_the_newer_statement_is(question: str, answers: bool) -> None:
    moved, before = "Ana moved to Valencia last month.", an_entry("ann", "My sister Ana lives in Madrid.")
    alone = unlike(question, moved, "I like the sea.")
    known = replace(alone, former={alone.entries[0].id: [before]})
    assert (names_unmentioned_kin(alone), names_unmentioned_kin(known)) == (True, not answers)
    assert (profile(known)[0] > 0.4) == answers
    assert profile(alone)[0] < 0.3


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who is Petra?", True),
        ("Does Petra like the sea?", True),
        ("Who is Gerda?", False),
    ],
)
def test_who_is_told_of_by_what_was_superseded_alone_is_found_by_name(question: str, answers: bool) -> None:
    found = unlike(question, "My manager is Olaf now.", "We saw a film about whales.")
    before = an_entry("ann", "My manager is Petra Novak.")
    newer, other = profile(replace(found, former={found.entries[0].id: [before]}))
    assert (newer > 0.4) == answers
    assert newer > 2 * other or not answers


@pytest.mark.parametrize(("question", "other"), [("Who is Petra?", "Petra paints."), ("Is it far to Petra?", "Well.")])
def test_a_name_is_not_looked_for_in_what_was_superseded_where_others_mention_it_or_it_is_a_place(
    question: str, other: str
) -> None:
    found = unlike(question, "My manager is Olaf now.", other)
    assert of_the_former(replace(found, former={found.entries[0].id: [an_entry("ann", "My manager is Petra.")]})) == []
