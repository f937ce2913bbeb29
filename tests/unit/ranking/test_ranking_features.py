"""What tells of a candidate that it answers, each feature neutral where its data is missing; dates in questions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.ports import EmbeddingIdentity
from contracts.v1.claims import Claim
from contracts.v1.entries import Entity, Entry
from services.retrieve.settings import RetrieveSettings
from services.shared.ranking.features import (
    Found,
    features_of,
    in_first_person,
    named_alone,
    names_strangers,
    names_unmentioned_kin,
    of_the_former,
)
from services.shared.ranking.model import WEIGHTS, profile, shortlist
from services.shared.ranking.scoring import Candidate
from services.shared.temporal.dates import NamedDate, named_dates, nearness
from tests.stores.builders import an_entry

TURNS = ("Where did you row?", "I rowed on the lake in March.", "Nice.")


def found(question: str = "Where did I row?", *, turns: tuple[str, ...] = TURNS, **fields: Any) -> Found:
    """Turns of one session in order, the first shares most words with the question."""
    entries = [
        an_entry("ann", text, session_id="s", **{name: values[i] for name, values in fields.items()})
        for i, text in enumerate(turns)
    ]
    count = len(entries)
    candidates = [
        Candidate(entry.id, bm25=count - i, bm25_turn=count - i, coverage=0.5, cosine=0.6 - i / 10, cosine_context=0.5)
        for i, entry in enumerate(entries)
    ]
    ids = [entry.id for entry in entries]
    around = {ids[i]: {d: ids[i + d] for d in (-1, 1) if 0 <= i + d < count} for i in range(count)}
    return Found(question, candidates, entries, around, {c.id: c.cosine or 0.0 for c in candidates})


def of(feature: str, given: Found) -> list[float]:
    return [round(value, 3) for value in features_of(given)[feature].tolist()]


def test_words_count_by_their_share_of_the_best_and_by_their_rank() -> None:
    assert of("bm_turn", found()) == [1.0, 0.667, 0.333]
    assert of("bm_turn_rank", found()) == [1.0, 0.5, 0.333]
    assert of("bm_prev", found()) == [0.0, 1.0, 0.667]
    assert of("bm_next", found()) == [0.667, 0.333, 0.0]


def test_what_the_search_by_words_did_not_bring_is_told_apart_where_it_brought_any() -> None:
    given = found()
    missed = [candidate._replace(bm25=None, bm25_turn=None, coverage=None) for candidate in given.candidates]
    assert of("bm_none", replace(given, candidates=[*given.candidates[:2], missed[2]])) == [0.0, 0.0, 1.0]
    assert len(set(of("bm_none", replace(given, candidates=missed)))) == 1


def test_words_and_meaning_in_context_count_together() -> None:
    assert of("bmcos_ctx", found()) == [0.5, 0.333, 0.167]
    opposite = [candidate._replace(cosine_context=-0.5) for candidate in found().candidates]
    assert of("bmcos_ctx", replace(found(), candidates=opposite)) == [0.0] * 3


@pytest.mark.parametrize(
    ("feature", "asking", "other", "turns"),
    [
        ("many_num", "How many boats do I have?", "Which boats do I have?", ("I have 3 boats.", "I have boats.")),
        ("when_date", "When did I row?", "Where did I row?", ("I rowed in May.", "I rowed in Graz.")),
    ],
)
def test_what_may_answer_a_question_of_a_kind_counts_for_such_questions_only(
    feature: str, asking: str, other: str, turns: tuple[str, ...]
) -> None:
    assert of(feature, found(asking, turns=turns)) == [1.0, 0.0]
    assert of(feature, found(other, turns=turns)) == [0.0, 0.0]


def test_the_answer_gets_the_credit_of_its_question() -> None:
    assert of("endq", found()) == [1.0, 0.0, 0.0]
    assert of("prevq_bm", found()) == [0.0, 1.0, 0.0]
    assert of("prevq_cos", found()) == [0.0, 0.6, 0.0]


def test_a_session_lends_its_best_to_all_of_its_turns() -> None:
    assert of("cos_sess", found()) == [0.6, 0.6, 0.6]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where did Ada row?", [1.0, 0.0, 0.0]),
        ("Where?", [0.5] * 3),
        ("Do Ada and Ben row?", [1.0, 0.5, 0.0]),
        ("What did Ben say about Ada's boat?", [0.5, 1.0, 0.0]),
    ],
)
def test_the_speaker_whom_the_question_names_first_counts_and_nobody_when_it_names_none(
    question: str, expected: list[float]
) -> None:
    assert of("spk", found(question, speaker=("Ada Byron", "Ben", "Cleo"))) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did you suggest?", [0.0, 1.0, 0.0]),
        ("Where did I row?", [1.0, 0.0, 1.0]),
        ("What did I tell you about the lake?", [1.0, 0.0, 1.0]),
        ("Which lake have I just mentioned to you?", [1.0, 0.0, 1.0]),
        ("I forgot which lake you told me about?", [0.0, 1.0, 0.0]),
        ("Which lake is deep?", [0.5] * 3),
    ],
)
def test_with_an_assistant_the_role_that_is_meant_counts(question: str, expected: list[float]) -> None:
    assert of("spk", found(question, role=("user", "assistant", "user"))) == expected


def test_a_user_tells_of_a_change_and_an_assistant_confirms_in_brief() -> None:
    turns = ("The boat moved to Graz.", "Noted: the boat moved to Graz.", "The boat is in Graz. " * 9)
    new = Claim(slot="place", value=(18, 22), sentence=(0, 23), is_new=True, confidence=0.5)
    talk = found(turns=turns, role=("user", "assistant", "assistant"), claims=((new,), (), ()))
    assert of("news", talk) == [1.0, 0.0, 0.0]
    assert of("brief", talk) == [0.0, 1.0, 0.0]


def test_newer_counts_less_where_a_question_is_of_the_past() -> None:
    days = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3)]
    assert of("pos", found("Where is my boat?", created_at=days)) == [0.0, 0.5, 1.0]
    assert of("pos_past", found("Where is my boat?", created_at=days)) == [0.0] * 3
    assert of("pos_past", found("Where was my boat?", created_at=days)) == [0.0, 0.5, 1.0]


def test_a_memory_of_one_voice_has_no_voices_to_tell_apart() -> None:
    assert of("spk", found("What did you suggest?")) == [0.5] * 3


def test_without_vectors_neighbours_and_words_every_feature_is_there_and_finite() -> None:
    entries = [an_entry("ann", text) for text in TURNS]
    bare = Found("Where?", [Candidate(entry.id) for entry in entries], entries)
    values = features_of(bare)
    assert set(WEIGHTS) <= set(values)
    assert all(np.isfinite(value).all() and len(value) == 3 for value in values.values())
    neutral = ("bm_ctx", "cos", "cos_sess", "cos_next", "prevq_bm", "sprox", "pos")
    assert all(len(set(values[name].tolist())) == 1 for name in neutral)


def test_nothing_found_is_nothing() -> None:
    assert profile(Found("Where?", [], [])) == []


@pytest.mark.parametrize(("others", "answers"), [(0, True), (79, False)])
def test_the_best_of_few_counts_for_more_than_the_best_of_many(others: int, answers: bool) -> None:
    entries = [an_entry("ann", f"said {number}") for number in range(others + 1)]
    candidates = [Candidate(entry.id, cosine=0.25 if entry is entries[0] else 0.2) for entry in entries]
    best = profile(Found("Which one?", candidates, entries))[0]
    assert (best >= RetrieveSettings().min_score) == answers


@pytest.mark.parametrize(("others", "shown"), [(0, True), (78, False)])
def test_of_few_what_is_likely_by_itself_is_shown_beside_the_best(others: int, shown: bool) -> None:
    entries = [an_entry("ann", text) for text in ("I go to the gym a lot.", "I quit the gym.", *("Hm.",) * others)]
    known = [(4.0, 1.0, 0.75), (2.5, 0.6, 0.62), *[(0.0, 0.0, 0.1)] * others]
    candidates = [
        Candidate(entry.id, bm25=bm25, bm25_turn=bm25, coverage=coverage, cosine=cosine, cosine_context=cosine)
        for entry, (bm25, coverage, cosine) in zip(entries, known, strict=True)
    ]
    weights = {name: (4 * people, 4 * chats) for name, (people, chats) in WEIGHTS.items()}
    first, second, *_ = profile(Found("Do I still go to the gym?", candidates, entries), weights)
    assert first > second
    assert (second >= RetrieveSettings().min_score) == shown


@pytest.mark.parametrize(("is_understood", "first"), [(True, "likest"), (False, "said")])
def test_words_go_before_meaning_in_a_language_that_the_model_does_not_know(is_understood: bool, first: str) -> None:
    said, likest = (an_entry("ann", text) for text in ("Der Enkel heißt Emil.", "Großartig!"))
    candidates = [
        Candidate(said.id, bm25=3.0, bm25_turn=3.0, coverage=1.0, cosine=0.4, cosine_context=0.4),
        Candidate(likest.id, cosine=0.9, cosine_context=0.9),
    ]
    relevances = profile(Found("Wie heißt mein Enkel in Ulm?", candidates, [said, likest], is_understood=is_understood))
    assert relevances.index(max(relevances)) == ["said", "likest"].index(first)


@pytest.mark.parametrize(
    ("model", "only"),
    [
        ("all-MiniLM-L6-v2-int8", True),
        ("BAAI/bge-small-en-v1.5", True),
        ("jina-embeddings-v2-base-de", False),
        ("paraphrase-multilingual-MiniLM-L12-v2", False),
        ("text-embedding-3-small", False),
        ("open-model", False),
    ],
)
def test_the_name_of_a_model_may_tell_that_it_reads_english_only(model: str, only: bool) -> None:
    assert EmbeddingIdentity("any", model, 384).reads_english_only == only


numbers = st.one_of(st.none(), st.floats(-1, 1))
many = st.builds(
    Candidate,
    id=st.uuids().map(str),
    bm25=st.one_of(st.none(), st.floats(0, 40)),
    bm25_turn=st.one_of(st.none(), st.floats(0, 40)),
    coverage=st.one_of(st.none(), st.floats(0, 1)),
    cosine=numbers,
    cosine_context=numbers,
)


@given(st.lists(st.tuples(many, st.text(max_size=40)), max_size=6, unique_by=lambda pair: pair[0].id), st.text())
def test_relevance_is_between_zero_and_one(pairs: list[tuple[Candidate, str]], question: str) -> None:
    entries = [an_entry("ann", text or "x").model_copy(update={"id": candidate.id}) for candidate, text in pairs]
    relevances = profile(Found(question, [candidate for candidate, _ in pairs], entries))
    assert len(relevances) == len(pairs)
    assert all(0.0 <= value <= 1.0 for value in relevances)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("When did Ada's sister meet ada?", "When did my sister meet I?"),
        ("Where does Ada Byron live?", "Where does I live?"),
        ("What is Adam's job?", "What is Adam's job?"),
        ("Where do I live?", "Where do I live?"),
        ("Who is Ada?", "Who is Ada?"),
        ("Where did Ada row before she met her husband?", "Where did I row before I met my husband?"),
        ("Who gave Ada his boat, and who told her?", "Who gave I my boat, and who told me?"),
        ("Where did she row?", "Where did she row?"),
        (
            "What does Ada say about Ben's boat, and does he like it?",
            "What does I say about your boat, and does he like it?",
        ),
        ("Does Ben like Ada's boat?", "Does I like your boat?"),
    ],
)
def test_a_question_is_asked_as_the_speaker_would(question: str, asked: str) -> None:
    assert in_first_person(question, {"Ada Byron", "Ben"}) == asked


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("on 7 May 2023?", [NamedDate(5, 7, 2023)]),
        ("on July 2nd, 2022", [NamedDate(7, 2, 2022)]),
        ("in march", []),
        ("in March or december", [NamedDate(3), NamedDate(12)]),
        ("may I go on 2023-05-07?", [NamedDate(5, 7, 2023)]),
        ("on 45 June, 31 Feb 2023", [NamedDate(6), NamedDate(2, 31, 2023)]),
    ],
)
def test_months_and_days_are_read_out_of_a_question(question: str, dates: list[NamedDate]) -> None:
    assert named_dates(question) == dates


def test_nearness_fades_faster_before_a_date_than_after_it() -> None:
    dates = [NamedDate(5, 7, 2023)]
    on, after, before = (nearness(datetime(2023, 5, day, 12, tzinfo=UTC), dates) for day in (7, 12, 2))
    assert 1.0 == on > after > before > 0.0
    assert nearness(datetime(2023, 5, 7, tzinfo=UTC), []) == 0.0
    assert nearness(datetime(1999, 3, 31, tzinfo=UTC), [NamedDate(3)]) == 1.0


@given(st.datetimes(timezones=st.just(UTC)), st.text(max_size=60))
def test_any_moment_and_question_have_a_nearness(moment: datetime, question: str) -> None:
    assert 0.0 <= nearness(moment, named_dates(question)) <= 1.0


def naming(*names: str) -> Entry:
    """An entry in which these names were recognized."""
    entities = tuple(Entity(text=name, label="PERSON", confidence=1) for name in names)
    return an_entry("ann", f"Then {' and '.join(names)} rowed.", entities=entities)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did Caroline row?", True),
        ("When did Ada and Caroline row?", False),
        ("When did Mel row?", False),
        ("Did Robertson row?", False),
        ("Did Bob row?", False),
        ("When did ada row?", False),
        ("Did I row on the NAS in March, on Valentine's day or at Easter?", False),
        ("Which boat do I take in Lisbon?", False),
        ("Does Caroline row in Lisbon?", True),
        ("Caroline?", False),
        ("Hat der Kapitän gestern mit dem Ruder gerudert?", False),
    ],
)
def test_a_question_about_nobody_who_is_mentioned_is_told(question: str, expected: bool) -> None:
    entries = [an_entry("ann", "ADA and melanie rowed."), naming("Melanie", "Robert")]
    assert names_strangers(Found(question, [], entries)) == expected
    assert not names_strangers(Found(question, [], [an_entry("ann", "We rowed.", speaker="Caroline"), *entries]))
    others = [*entries, naming("Aroline"), an_entry("ann", "Join them! Carol goes, as carol goes.")]
    assert not names_strangers(Found(question, [], others, corrections={"caroline": "aroline"}))
    assert names_strangers(Found(question, [], others, corrections={"caroline": "join"})) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did Catherine buy?", False),
        ("What did Kathie buy?", False),
        ("Is Renee allergic to cats?", False),
        ("What did Smith say?", False),
        ("What did Dr Smith say?", False),
        ("What is Mum making?", False),
        ("What did Caroline buy?", True),
    ],
)
def test_a_speaker_goes_by_many_forms_of_a_name(question: str, expected: bool) -> None:
    speakers, entries = {"Katherine", "Renée", "Dr. Smith"}, [an_entry("ann", "I row.", speaker="Ada")]
    assert names_strangers(Found(question, [], entries, speakers=speakers)) == expected


@pytest.mark.parametrize("asked", ["Which dessert could I have in Rome?", "Suggest a dessert for me"])
def test_what_was_asked_for_before_does_not_stand_before_what_answers_it(asked: str) -> None:
    entries = [an_entry("ann", text, role="user") for text in (asked, "I am lactose intolerant.", "We rowed.")]
    likest, answer, other = (
        Candidate(entry.id, bm25=of, bm25_turn=of, coverage=of, cosine=of)
        for entry, of in zip(entries, (1.0, 0.4, 0.1), strict=True)
    )
    relevance = profile(Found("Which dessert can I have?", [likest, answer, other], entries))
    assert relevance[1] == max(relevance)
    assert relevance[1] == pytest.approx(
        profile(Found("Which dessert can I have?", [answer, other], entries[1:]))[0], abs=0.2
    )
    assert profile(Found("Which dessert can I have?", [likest], entries[:1]))[0] > 0.9, "better than nothing"


def test_of_somebody_who_is_never_mentioned_nothing_is_known() -> None:
    entries = [an_entry("ann", text) for text in ("Ada moved to Graz.", "We rowed.")]
    candidates = [Candidate(entry.id, bm25=3, bm25_turn=3, coverage=0.4, cosine=0.3) for entry in entries]
    known, unknown = (profile(Found(f"Where did {name} move to?", candidates, entries)) for name in ("Ada", "Caroline"))
    assert max(known) > RetrieveSettings().min_score > max(unknown)


def test_among_people_with_names_nothing_makes_up_for_a_name_that_nobody_mentions() -> None:
    entries = [an_entry("ann", "I moved to Graz.", speaker=speaker) for speaker in ("Ada", "Ben")]
    candidates = [Candidate(entry.id, bm25=9, bm25_turn=9, coverage=1.0, cosine=1.0) for entry in entries]
    known, unknown = (profile(Found(f"Where did {name} move to?", candidates, entries)) for name in ("Ada", "Caroline"))
    assert max(known) > 0.9
    assert unknown == [0.0, 0.0]


numbers = st.none() | st.floats(0, 1)
told = dict.fromkeys(("bm25", "coverage", "bm25_turn", "cosine", "cosine_context"), numbers)
some = st.builds(Candidate, st.uuids().map(str), **told)


@given(st.lists(some, max_size=12, unique_by=lambda one: one.id), st.integers(1, 12))
def test_a_shortlist_is_some_of_the_candidates_in_their_order(candidates: list[Candidate], most: int) -> None:
    kept = shortlist(candidates, most)
    assert len(kept) == min(most, len(candidates))
    assert kept == [candidate for candidate in candidates if candidate in kept]


def test_what_both_searches_find_near_is_shortlisted_before_what_one_finds_far_away() -> None:
    near = Candidate("near", bm25=4.0, bm25_turn=3.0, coverage=0.9, cosine=0.7, cosine_context=0.6)
    by_words = Candidate("words", bm25=3.0, bm25_turn=3.0, coverage=0.8, cosine=0.1, cosine_context=0.1)
    by_meaning = Candidate("meaning", cosine=0.65, cosine_context=0.6)
    far = Candidate("far", bm25=0.2, bm25_turn=0.2, coverage=0.1, cosine=0.1, cosine_context=0.1)
    assert shortlist([far, by_meaning, near, by_words], 1) == [near]
    assert far not in shortlist([far, by_meaning, near, by_words], 3)


def test_a_code_is_looked_for_in_the_text_itself_however_it_is_joined() -> None:
    given = found("locker ab18 or gate 22?", turns=("Locker AB-18 is 5512.", "Gate 22.", "Locker AB-20 and 18."))
    assert named_alone(given).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("question", ["What is the code of locker AB-20?", "locker ab20"])
def test_of_statements_alike_the_one_with_the_code_asked_for_goes_first(question: str) -> None:
    given = found(question, turns=tuple(f"The code of locker AB-{n} is {n * 291}." for n in range(17, 22)))
    relevance = profile(given)
    assert max(relevance) == relevance[3]


def test_the_others_are_as_relevant_as_without_a_code() -> None:
    turns = ("I want to reach B2 in Spanish.", "I learn twenty Spanish words a day.", "Spanish class is on Mondays.")
    named, unnamed = profile(found("Spanish B2", turns=turns)), profile(found("Spanish", turns=turns))
    assert named[1:] == pytest.approx(unnamed[1:], rel=0.2)


@pytest.mark.parametrize(("others", "first"), [(("Falk is ill again.",), 0), (("Renate rang.", "So did Renate."), 1)])
def test_what_has_the_only_word_of_a_question_goes_first_where_few_have_it(others: tuple[str, ...], first: int) -> None:
    turns = ("Physio is called Renate.", *others)
    entries = [an_entry("ann", text, role="user") for text in turns]
    candidates = [
        Candidate(entry.id, bm25=1.0, bm25_turn=float("Renate" in entry.text), cosine=0.3 + place / 10)
        for place, entry in enumerate(entries)
    ]
    relevance = profile(Found("who is Renate?", candidates, entries))
    assert (relevance.index(max(relevance)) == 0) == (first == 0)


@pytest.mark.parametrize(("code", "goes_first"), [("AB-2019", True), ("12", False)])
def test_a_code_goes_before_likeness_also_while_its_meaning_is_not_known(code: str, goes_first: bool) -> None:
    turns = tuple(f"Remember locker {name}." for name in (code, "AB-2020", "AB-2021", "AB-2022"))
    entries = [an_entry("ann", text) for text in turns]
    new, *others = (Candidate(entry.id, bm25=1.0, bm25_turn=1.0, coverage=1.0) for entry in entries)
    known = [other._replace(bm25_turn=0.0, cosine=0.9, cosine_context=0.9) for other in others]
    weights = {"cos": (9.0, 9.0), "cos_ctx": (9.0, 9.0)}
    unlike = Candidate(an_entry("ann", "Hm.").id, cosine=-0.5, cosine_context=-0.5)
    rest = [unlike] * 5
    given = Found(f"locker {code}?", [new, *known, *rest], [*entries, *[an_entry("ann", "Hm.")] * 5])
    relevance = profile(given, weights)
    assert (max(relevance) == relevance[0]) == goes_first


def unlike(question: str, *texts: str) -> Found:
    """What is found by a little likeness alone."""
    entries = [an_entry("ann", text) for text in texts]
    return Found(question, [Candidate(entry.id, cosine=0.2, cosine_context=0.2) for entry in entries], entries)


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


@pytest.mark.parametrize(
    ("question", "unmentioned"), [("Where does my sister live?", False), ("How is my brother?", True)]
)
def test_what_was_superseded_tells_of_whom_the_newer_statement_is(question: str, unmentioned: bool) -> None:
    before = an_entry("ann", "My sister Ana lives in Madrid.")
    alone = unlike(question, "Ana moved to Valencia last month.", "I like the sea.")
    known = replace(alone, former={alone.entries[0].id: [before]})
    assert (names_unmentioned_kin(alone), names_unmentioned_kin(known)) == (True, unmentioned)


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


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How will Anna get to Rome?", "How will I get to Rome?"),
        ("Will it rain in Porto?", "Will it rain in Porto?"),
        ("When may Tom start?", "When may I start?"),
        ("Where does Will live?", "Where does I live?"),
    ],
)
def test_a_name_that_is_a_word_is_one_only_where_it_is_written_so(question: str, asked: str) -> None:
    assert in_first_person(question, {"Will", "May Chen", "Anna", "Tom"}) == asked


@pytest.mark.parametrize(
    "question", ["Where does  Petra live?", "Where does\nPetra live?", "Who is Łukasz?", "Is Élodie in?"]
)
def test_a_name_is_seen_behind_any_blanks_and_in_any_letters(question: str) -> None:
    assert names_strangers(Found(question, [], [an_entry("ann", "We rowed home.")]))
