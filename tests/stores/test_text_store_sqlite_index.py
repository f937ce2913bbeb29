"""The embedded index: its scores are the formula's, and it holds exactly what the entries say."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Scope
from contracts.v1.entries import Entry
from services.shared.dedup.fingerprint import MOST_SIMILAR
from services.shared.language.analysis import analyze
from services.shared.stores import moments
from services.shared.stores.sqlite import SqliteTextStore, postings, terms
from services.shared.stores.words import words_of
from tests.stores.builders import NOON, a_user, an_entry, minutes, similar_to, store_entries
from tests.stores.changing import modify


@pytest.fixture
def store(sqlite_store: SqliteTextStore) -> SqliteTextStore:
    return sqlite_store


def naive_scores(sessions: Sequence[Sequence[str]], query: str) -> list[list[tuple[float, float, float]]]:
    """(score, turn score, coverage) of every turn of every session, straight from the definition."""
    counts = [[Counter(analyze(text)) for text in session] for session in sessions]
    turns = [turn for session in counts for turn in session]
    asked = set(analyze(query))
    having = {term: sum(term in turn for turn in turns) for term in asked}
    idf = {term: math.log(1 + (len(turns) + 60 - df + 0.5) / (df + 0.5)) for term, df in having.items()}
    length = sum(turn.total() for turn in turns) / len(turns)
    average = max(1.0, length * (1 + 2 * (0.5 + 0.25 + 0.125 + 0.0625)))

    def around(session: list[Counter[str]], i: int, count: Callable[[Counter[str]], int]) -> float:
        near = range(max(0, i - 4), min(len(session), i + 5))
        return sum(0.5 ** abs(i - j) * count(session[j]) for j in near)

    def scored(session: list[Counter[str]], i: int) -> tuple[float, float, float]:
        saturation = 0.75 + 0.25 * around(session, i, Counter.total) / average
        decayed = {term: around(session, i, itemgetter(term)) for term in asked}
        score = sum(idf[t] * 2 * tf / (tf + saturation) for t, tf in decayed.items())
        turn_score = sum(idf[t] * 2 * session[i][t] / (session[i][t] + 1) for t in asked)
        return score, turn_score, sum(idf[t] for t in asked if decayed[t]) / sum(idf.values())

    return [[scored(session, i) for i in range(len(session))] for session in counts]


WORDS = ["tea", "lemon", "zebra", "coffee", "rain", "green", "Ghent", "the"]
SESSIONS = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=1, max_size=14),
    min_size=1,
    max_size=4,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sessions=SESSIONS, query=st.lists(st.sampled_from(WORDS[:-1]), min_size=1, max_size=4).map(" ".join))
async def test_scores_are_those_of_the_formula(store: SqliteTextStore, sessions: list[list[str]], query: str) -> None:
    user = a_user()
    entries = [
        an_entry(user, text, id=f"{user} {s} {i}", session_id=str(s), created_at=NOON + minutes(i))
        for s, session in enumerate(sessions)
        for i, text in enumerate(session)
    ]
    random.Random(0).shuffle(entries)
    await store_entries(store, entries)
    expected = {
        f"{user} {s} {i}": scores
        for s, session in enumerate(naive_scores(sessions, query))
        for i, scores in enumerate(session)
        if scores[0] > 0
    }
    hits = await store.search(Scope(user), query, limit=100, filters=Filters())
    found = {hit.id: (hit.score, hit.turn_score, hit.coverage) for hit in hits}
    assert found == {id_: pytest.approx(expected[id_], abs=1e-8) for id_ in found}
    assert {id_ for id_, scores in expected.items() if scores[1] > 0} <= found.keys()  # turns with words of their own
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("stored", ["one after the other", "turn by turn"])
async def test_long_conversations_rank_as_the_formula_does(store: SqliteTextStore, user: str, stored: str) -> None:
    """Several blocks of postings, more turns than candidates, conversations that went on side by side."""
    dice = random.Random(7)
    vocabulary = [f"word{i}" for i in range(400)]
    weights = [1 / (i + 1) for i in range(400)]
    sessions = [[" ".join(dice.choices(vocabulary, weights, k=8)) for _ in range(130)] for _ in range(20)]
    entries = [
        an_entry(user, text, id=f"{s} {i}", session_id=str(s), created_at=NOON + minutes(i))
        for s, session in enumerate(sessions)
        for i, text in enumerate(session)
    ]
    if stored == "turn by turn":
        entries.sort(key=lambda entry: entry.created_at)
    await store_entries(store, entries)
    query = "word7 word90 word200 word300"
    scores = {f"{s} {i}": x for s, session in enumerate(naive_scores(sessions, query)) for i, x in enumerate(session)}
    best = sorted((round(score[0], 6) for score in scores.values()), reverse=True)[:10]
    hits = await store.search(Scope(user), query, limit=10, filters=Filters())
    assert [round(hit.score, 6) for hit in hits] == best
    assert all(scores[hit.id] == pytest.approx((hit.score, hit.turn_score, hit.coverage)) for hit in hits)


async def indexed(store: SqliteTextStore) -> dict[tuple[int, str], int]:
    """Every posting: (document, term) → count."""

    def read(db: Any) -> dict[tuple[int, str], int]:
        every = [row[0] for row in db.execute("SELECT DISTINCT term FROM postings")]
        layout = postings.Layout(db.execute("SELECT scope, numbered FROM scopes").fetchall())
        return {
            (doc, term): count
            for term, where in postings.read(db, layout, every).items()
            for doc, count in zip(layout.docs(where.places).tolist(), where.counts.tolist(), strict=True)
        }

    return await store.readers.run(read)


async def described(store: SqliteTextStore) -> dict[tuple[int, str], int]:
    """The same, made from the stored entries."""

    def read(db: Any) -> dict[tuple[int, str], int]:
        found = {}
        for doc, body in db.execute("SELECT doc, body FROM entries"):
            entry = Entry.model_validate_json(body)
            for term, count in terms.terms_of(entry, words_of(entry)).items():
                found[doc, term] = min(count, postings.MOST)
        return found

    return await store.readers.run(read)


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["green tea", "tea tea tea", "", "the", "lemon " * 70]),
        "tags": st.lists(st.sampled_from(["tea", "black tea", "Ghent", "a\x1fb", "é"]), max_size=3).map(tuple),
        "themes": st.lists(st.sampled_from(["travel", "tools"]), max_size=2).map(tuple),
        "status": st.sampled_from(["active", "archived", "forgotten"]),
        "type": st.sampled_from(["fact", "note"]),
        "pinned": st.booleans(),
        "session_id": st.sampled_from(["s1", "s2", None]),
    },
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 3), CHANGES), max_size=12))
async def test_the_index_holds_what_the_entries_say(
    store: SqliteTextStore, changes: list[tuple[int, dict[str, Any]]]
) -> None:
    user = a_user()
    entries = await store_entries(store, [an_entry(user, f"green tea {i}", id=f"{user}-{i}") for i in range(4)])
    for number, update in changes:
        await modify(store, [entries[number]], lambda e, update=update: e.model_copy(update=update))  # type: ignore[misc]
    assert await indexed(store) == await described(store)


async def test_the_nearest_of_many_that_share_a_key_are_similar(store: SqliteTextStore, user: str) -> None:
    entries = [
        an_entry(user, f"{i:03}", statement_hash=f"h{i}", minhash_bands=("shared", f"own{i}")) for i in range(300)
    ]
    await store_entries(store, entries)
    (newest,) = await similar_to(store, an_entry(user, minhash_bands=("shared",)))
    assert newest == entries[-MOST_SIMILAR:]
    (nearest,) = await similar_to(store, an_entry(user, minhash_bands=("shared", "own299", "own290")))
    assert {entry.text for entry in nearest} >= {"299", "290"}


def test_times_are_exact() -> None:
    for moment in (NOON, NOON.replace(microsecond=1), NOON.replace(year=1969, microsecond=999_999)):
        assert moments.moment(moments.microseconds(moment)) == moment
