"""The text stores agree: the same history and the same question give the same answer, whatever the engine."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Key, LexicalHit, Scope, Selection, TextStore
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import queries, search
from services.shared.stores.sqlite import SqliteTextStore
from tests.sizes import sized
from tests.stores.builders import NOON, a_session, a_user, minutes, store_entries
from tests.stores.histories import HISTORIES, PERSONAS, QUESTIONS, SELECTIONS, SPACES, WORDS, Said, carry_out
from tests.stores.opensearch_openers import open_at

LAWS = settings(max_examples=sized(75), deadline=None, suppress_health_check=list(HealthCheck))
ANY = Filters()
QUERIES = sized(10_000)
AT_ONCE = 16


class Both(NamedTuple):
    """The embedded store, which is the reference, and the one of the cluster."""

    embedded: TextStore
    cluster: TextStore


@pytest.fixture
async def both(opensearch_url: str, opensearch_prefix: str, tmp_path: Path) -> AsyncIterator[Both]:
    embedded = await SqliteTextStore.open(tmp_path / "memory.sqlite3", synchronous="normal")
    cluster = await open_at(opensearch_url, opensearch_prefix)
    yield Both(embedded, cluster)
    await embedded.close()
    await cluster.close()


def assert_same_hits(found: Sequence[LexicalHit], expected: Sequence[LexicalHit]) -> None:
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    for one, other in zip(found, expected, strict=True):
        assert_same_scores(one, other)


def assert_same_scores(one: LexicalHit, other: LexicalHit) -> None:
    close = pytest.approx((other.score, other.turn_score, other.coverage), rel=0, abs=1e-9)
    assert (one.score, one.turn_score, one.coverage) == close


async def walk(store: TextStore, selection: Selection, limit: int) -> list[tuple[list[Entry], int, str | None]]:
    """All pages: entries, total, cursor."""
    pages, cursor = [], None
    while True:
        page = await store.page(selection, limit=limit, cursor=cursor)
        pages.append((list(page.entries), page.total, page.cursor))
        cursor = page.cursor
        if cursor is None:
            return pages


@LAWS
@given(history=HISTORIES, questions=QUESTIONS)
async def test_the_same_question_finds_the_same_in_the_same_order(
    both: Both, history: list[Said], questions: list[tuple[str, Filters, str, str | None, int]]
) -> None:
    user = a_user()
    for store in both:
        await carry_out(store, user, history)
    for query, filters, space, persona, limit in questions:
        scope = Scope(user, space, persona)
        found, expected = [await store.search(scope, query, limit=limit, filters=filters) for store in both[::-1]]
        assert_same_hits(found, expected)


@LAWS
@given(history=HISTORIES, reach=st.integers(0, 5))
async def test_the_same_was_said_around_an_entry(both: Both, history: list[Said], reach: int) -> None:
    user = a_user()
    for store in both:
        keys = [*await carry_out(store, user, history), Key(user, "unknown"), Key("other", "unknown")]
    found, expected = [await store.neighbours(keys, reach=reach) for store in both[::-1]]
    assert found == expected
    assert await both.cluster.neighbours([Key("other", keys[0].id)], reach=reach) == {}


@LAWS
@given(history=HISTORIES, selections=st.lists(SELECTIONS, min_size=1, max_size=4), limit=st.integers(1, 9))
async def test_the_same_pages_and_counts_come_of_the_same_history(
    both: Both, history: list[Said], selections: list[dict[str, Any]], limit: int
) -> None:
    user = a_user()
    for store in both:
        keys = await carry_out(store, user, history)
    for selection in selections:
        found, expected = [await walk(store, Selection(user, **selection), limit) for store in both[::-1]]
        assert found == expected
    assert await both.cluster.counts(user) == await both.embedded.counts(user)
    assert await both.cluster.pending(keys) == await both.embedded.pending(keys)


async def test_what_the_engine_gives_in_parts_is_the_same(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_MOST_BUCKETS", 7)
    monkeypatch.setattr(queries, "MOST_HITS", 6)
    user = a_user()
    said = a_session(user, [f"green tea {WORDS[i % 5]}" for i in range(30)])
    for store in both:
        await store_entries(store, said)
    found, expected = [await store.search(Scope(user), "zebra rain", limit=40, filters=ANY) for store in both[::-1]]
    assert_same_hits(found, expected)
    found_near, expected_near = [await store.neighbours(said, reach=4) for store in both[::-1]]
    assert found_near == expected_near
    found_pages, expected_pages = [await walk(store, Selection(user), 20) for store in both[::-1]]
    assert found_pages == expected_pages


async def test_an_entry_of_very_many_words_is_scored_the_same(both: Both) -> None:
    user = a_user()
    long = " ".join(f"word{i}" for i in range(12_000))
    said = a_session(user, ["green tea", f"{long} {long}", "zebra tea"])
    for store in both:
        await store_entries(store, said)
    for query in ("word1 word11999", "word6000 tea", "zebra"):
        found, expected = [await store.search(Scope(user), query, limit=9, filters=ANY) for store in both[::-1]]
        assert len(found) == 3
        assert_same_hits(found, expected)


async def test_of_many_that_match_nearly_the_same_are_the_best(both: Both) -> None:
    """Which of very many turns are looked at closely is up to the engine; what they score is not."""
    user, dice = a_user(), random.Random(7)
    words = [f"word{i}" for i in range(120)]
    for number in range(60):
        texts = [" ".join(dice.choices(words, range(120, 0, -1), k=8)) for _ in range(20)]
        session = a_session(user, texts, session_id=f"s{number}")
        later = [entry.model_copy(update={"created_at": entry.created_at + minutes(60 * number)}) for entry in session]
        for store in both:
            await store_entries(store, later)
    shared = []
    for _ in range(40):
        query = " ".join(dice.choices(words, k=4))
        found, expected = [
            {hit.id: hit for hit in await store.search(Scope(user), query, limit=10, filters=ANY)}
            for store in both[::-1]
        ]
        assert len(found) == len(expected) == 10
        shared.append(len(found.keys() & expected.keys()))
        for id_ in found.keys() & expected.keys():
            assert_same_scores(found[id_], expected[id_])
    assert mean(shared) >= 9


def tenants() -> list[Scope]:
    """Users whose names would confuse a careless query, with spaces and personas."""
    stem = a_user()
    names = (stem, f"{stem},other", f"{stem}*", f"{stem} or", f'{stem}"', f"{stem}\x1f", f"{stem}/ü", stem.upper())
    return [Scope(name, space, persona) for name, space, persona in product(names, SPACES, PERSONAS)]


@pytest.mark.timeout(180)
async def test_thousands_of_questions_find_nothing_of_anybody_else(both: Both) -> None:
    store, dice, owned = both.cluster, random.Random(11), dict[Scope, set[str]]()
    for scope in tenants():
        texts = [" ".join(dice.choices(WORDS, k=4)) for _ in range(6)]
        said = a_session(scope.user_id, texts, "one", space=scope.space, persona_id=scope.persona_id)
        owned[scope] = {entry.id for entry in await store_entries(store, said)}
    scopes = list(owned)
    visible = {scope: owned[scope] | owned[Scope(scope.user_id, scope.space)] for scope in scopes}
    hits = [0, 0]

    async def ask(count: int) -> None:
        for _ in range(count):
            scope, query = dice.choice(scopes), " ".join(dice.choices(WORDS, k=dice.randint(1, 3)))
            filters = dice.choice((Filters(), Filters(), Filters(types=("other",)), Filters(since=NOON + minutes(3))))
            found = {hit.id for hit in await store.search(scope, query, limit=20, filters=filters)}
            hits[0] += len(found)
            hits[1] += len(found - visible[scope])

    await asyncio.gather(*(ask(QUERIES // AT_ONCE) for _ in range(AT_ONCE)))
    assert hits[0] > QUERIES
    assert hits[1] == 0
