"""Extractive summaries: limits, provenance, order; and what is an open loop, with what only looks like one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.entries import Entity, Entry
from services.shared.core.loops import Said, loop_in, loops_in
from services.shared.core.summaries import (
    ROLLING,
    Sentence,
    rolling_summary,
    session_summary,
    spans,
    spine_of,
)
from tests.stores.builders import NOON, a_session, an_entry


def texts(sentences: Iterable[Sentence]) -> list[str]:
    return [one.text for one in sentences]


@pytest.mark.parametrize(
    "text",
    [
        "I'll send you the report by Friday.",
        "Remind me to water the plants",
        "Can you remind me to call mum tomorrow?",
        "I need to renew my passport by May.",
        "TODO: call the bank",
        "We have to book the ferry.",
        "I'm waiting for the quote from the plumber.",
        "Please don't let me forget to pay the rent.",
    ],
)
def test_what_is_to_be_done_is_an_open_loop(text: str) -> None:
    assert loop_in(Said(text, "e", "user", NOON)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "If I win I'll buy a boat.",
        "I might need to go.",
        "I won't send it.",
        'He said "I will send it".',
        "Do I need to book the ferry?",
        "I don't need to work tomorrow.",
        "I needed to leave early.",
        "My sister needs to renew her passport.",
        "I'll see.",
        "You'll be fine.",
        "I'll eat my hat, just kidding.",
    ],
)
def test_what_is_supposed_asked_denied_past_or_about_others_is_none(text: str) -> None:
    assert loop_in(Said(text, "e", "user", NOON)) is None


@pytest.mark.parametrize(
    ("first", "then", "is_open"),
    [
        ("I'll send the report by Friday.", "Sent it.", False),
        ("I'll send the report by Friday.", "I've sent the report to Anna.", False),
        ("I'll send the report by Friday.", "I sent the invoice to Anna.", True),
        ("I'll send the report by Friday.", "I haven't sent it yet.", True),
        ("I'll send the report by Friday.", "Sent it?", True),
        ("I need to renew my passport.", "My passport is renewed now.", False),
        ("I need to book the ferry.", "I don't need to book the ferry anymore.", False),
        ("I need to book the ferry.", "I should have booked the ferry.", True),
        ("I have to call the plumber.", "Done.", False),
        ("I have to call the plumber.", "I called my sister.", True),
        ("Remind me to pay the rent.", "The rent is paid.", False),
    ],
)
def test_what_is_said_later_closes_a_loop_only_when_it_is_the_same(first: str, then: str, is_open: bool) -> None:
    loop, *_ = loops_in([Said(first, "e1", "user", NOON, "c1"), Said(then, "e2", "user", NOON, "c1")])
    assert loop.is_open == is_open


def test_a_session_is_summed_up_in_the_words_of_its_turns() -> None:
    said = ["Hi!", "My sister Clara moved to Porto. How far is that?", "I need to book a flight to Porto by May."]
    made = session_summary(a_session("ann", said), {})
    assert texts(made.what_mattered) == ["My sister Clara moved to Porto.", "I need to book a flight to Porto by May."]
    assert texts(made.open_loops) == ["I need to book a flight to Porto by May."]
    assert texts(made.people) == ["Clara"]


@pytest.mark.parametrize(
    ("said", "people"),
    [
        ("Porto is lovely in spring.", []),
        ("We live in Porto, Clara moved to Porto first.", ["Clara"]),
        ("The train to Porto was late.", []),
        ("Porto is my cousin.", ["Porto"]),
        ("I gave it to Clara, I believe in Clara.", ["Clara"]),
        ("Clara is lovely.", ["Clara"]),
    ],
)
def test_what_is_spoken_of_as_a_place_is_no_person(said: str, people: list[str]) -> None:
    named = [Entity(text=name, label="PERSON", confidence=0.9) for name in ("Porto", "Clara") if name in said]
    turns = [entry.model_copy(update={"entities": named}) for entry in a_session("ann", [said])]
    assert texts(session_summary(turns, {}).people) == people
    assert bool(spine_of(turns).people) == bool(people)


def test_a_session_is_summed_up_in_the_own_words_of_its_user() -> None:
    mail = '"Dear Ms Holloway, thank you. I am a vegetarian. I need to see your passport by Friday. Kind regards, Paul"'
    said = [
        f"Got this from the agent, what now? {mail}",
        "What do you think of this letter?\n\nI live in Madrid. I have to renew my lease by May.",
        "[12/10/2026, 14:02] Ben: I will send the keys on Monday\n[12/10/2026, 14:03] Me: cool",
        "The flat in Horsforth is above our budget.",
    ]
    made = session_summary(a_session("ann", said), {})
    assert texts(made.what_mattered) == ["The flat in Horsforth is above our budget."]
    assert (made.one_liner, made.open_loops, made.commitments) == (made.what_mattered[0], (), ())
    assert texts(spine_of(a_session("ann", said)).profile) == []


def test_vectors_tell_what_is_central_and_the_user_counts_more_than_the_assistant() -> None:
    said = a_session("ann", ["the kiln reaches cone six", "glazes craze on porcelain", "parking costs five euros"])
    vectors = dict(
        zip([entry.id for entry in said], np.array([[1, 0], [0.8, 0.6], [0, 1]], dtype=np.float32), strict=True)
    )
    first = session_summary(said, vectors).one_liner
    assert first is not None
    assert first.text == "glazes craze on porcelain"
    echoed = [entry.model_copy(update={"role": "assistant"}) if "craze" in entry.text else entry for entry in said]
    first = session_summary(echoed, vectors).one_liner
    assert first is not None
    assert first.role == "user"


def test_a_rolling_summary_changes_with_every_fourth_turn() -> None:
    said = a_session("ann", [f"I planted {plant} in the garden" for plant in "leek kale beet chard dill mint".split()])
    four = rolling_summary(said[:4], {})
    assert four == rolling_summary(said[:5], {}) == rolling_summary(said, {})
    assert four.turns == 4
    assert "leek" in four.text
    assert rolling_summary(said[:3], {}).text == ""


def test_the_spine_has_a_sentence_in_one_section() -> None:
    said = [
        "I live in Lisbon.",
        "My sister Clara is a nurse.",
        "I'm working on a project with Rust and the deadline is in June.",
        "I need to renew my passport.",
        "Would you like to live in Rome?",
    ]
    made = spine_of(a_session("ann", said))
    assert (texts(made.profile), texts(made.people)) == ([said[0]], [said[1]])
    assert (texts(made.projects), texts(made.open_loops)) == ([said[2]], [said[3]])


def test_sentences_are_cut_where_they_end() -> None:
    text = "I met Dr. Huber today. He is 3.5 years older!\nGood."
    assert [text[a:b] for a, b in spans(text)] == ["I met Dr. Huber today.", "He is 3.5 years older!", "Good."]


_WORDS = "i'll my sister need to send the report sent it done passport Porto is 7 «x» \" ? . … \n kidding not if".split(
    " "
)
_TEXT = st.lists(st.sampled_from(_WORDS), max_size=60).map(" ".join) | st.text(max_size=300)


@st.composite
def sessions(draw: st.DrawFn) -> list[Entry]:
    said = draw(st.lists(_TEXT, max_size=10))
    return [
        an_entry(
            "ann",
            text,
            id=f"e{n}",
            role=draw(st.sampled_from(["user", "assistant", "system", "tool"])),
            created_at=NOON + timedelta(minutes=draw(st.integers(0, 9))),
        )
        for n, text in enumerate(said)
    ]


@given(sessions(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_limits_hold_and_every_sentence_is_in_its_sources_in_whatever_order(said: list[Entry], random: Random) -> None:
    shuffled = random.sample(said, len(said))
    session, rolling, spine = session_summary(said, {}), rolling_summary(said, {}), spine_of(said)
    assert (session, rolling, spine) == (
        session_summary(shuffled, {}),
        rolling_summary(shuffled, {}),
        spine_of(shuffled),
    )
    assert len(rolling.text) <= ROLLING
    whole = {entry.id: entry.text for entry in said}
    lists = [session.what_mattered, session.open_loops, session.commitments, session.people, rolling.sentences]
    lists += [spine.profile, spine.projects, spine.people, spine.open_loops]
    one_liner = [session.one_liner] if session.one_liner else []
    for sentence in [*one_liner, *(one for found in lists for one in found)]:
        assert 0 < len(sentence.text) <= 200
        assert sentence.source_ids
        assert all(sentence.text in whole[source] for source in sentence.source_ids)
    assert all(len(found) <= 24 for found in lists)
    assert len(session.what_mattered) <= 5
    assert sum(len(one.text) for one in one_liner) <= 120
