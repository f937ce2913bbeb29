"""The text stores agree: the same history and the same question give the same answer, whatever the engine."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Accepted, Filters, Key, LexicalHit, Merged, Refused, Scope, Selection, TextStore, Verdict
from contracts.v1.entries import Entry
from contracts.v1.turns import Proposal
from services.shared.stores.opensearch import queries, sessions
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import NOON, a_proposal, a_session, a_turn, a_user, entry_of, minutes, store_entries
from tests.stores.opensearch_openers import open_at

LAWS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
ANY = Filters()
QUERIES = 10_000
AT_ONCE = 16

WORDS = ("tea", "lemon", "zebra", "coffee", "rain", "green", "10:30", "don't", "äpfel", "the")
PERSONAS = (None, "guide", "tutor")
SPACES = ("default", "work")


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


@dataclass(frozen=True)
class Said:
    """A turn, what becomes of it, and how its entry is changed later."""

    text: str
    fate: str
    minute: int
    space: str
    persona: str | None
    session: str
    fields: dict[str, Any]
    change: dict[str, Any] | None


TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join) | st.sampled_from(WORDS).map(
    lambda word: f"{word} " * 70
)
LABELS = {
    "type": st.sampled_from(["fact", "note", "other"]),
    "tags": st.lists(st.sampled_from(["red", "blue", "zebra herd"]), max_size=2, unique=True).map(tuple),
    "themes": st.lists(st.sampled_from(["travel", "tools"]), max_size=2, unique=True).map(tuple),
    "pinned": st.booleans(),
    "manually_saved": st.booleans(),
    "enriched": st.booleans(),
    "embedding_state": st.sampled_from(["pending", "ready", "error"]),
}
CHANGES = st.fixed_dictionaries(
    {}, optional={**LABELS, "text": TEXTS, "status": st.sampled_from(["active", "archived", "superseded"])}
)
HISTORIES = st.lists(
    st.builds(
        Said,
        text=TEXTS,
        fate=st.sampled_from(["store", "store", "store", "store", "merge", "refuse", "wait"]),
        minute=st.integers(0, 9),
        space=st.sampled_from(("default", "default", "work")),
        persona=st.sampled_from((None, None, "guide", "tutor")),
        session=st.sampled_from(("s1", "s2", "s3")),
        fields=st.fixed_dictionaries({}, optional=LABELS),
        change=st.none() | CHANGES,
    ),
    min_size=1,
    max_size=24,
)
FILTERS = st.just(Filters()) | st.builds(
    Filters,
    types=st.none() | st.lists(LABELS["type"], max_size=2).map(tuple),
    tags=st.none() | st.lists(st.sampled_from(["red", "blue", "Red"]), max_size=2).map(tuple),
    theme=st.none() | st.sampled_from(["travel", "tools"]),
    since=st.none() | st.integers(0, 10).map(lambda minute: NOON + minutes(minute)),
)
QUESTIONS = st.lists(
    st.tuples(
        st.lists(st.sampled_from((*WORDS, "unheard")), min_size=1, max_size=4).map(" ".join),
        FILTERS,
        st.sampled_from(SPACES),
        st.sampled_from(PERSONAS),
        st.sampled_from([1, 3, 50]),
    ),
    min_size=1,
    max_size=6,
)


def proposal_of(user: str, number: int, said: Said) -> Proposal:
    """Of one moment are only entries of one persona: order stored means one thing more within a persona than across."""
    moment = NOON + minutes(said.minute + PERSONAS.index(said.persona) / 10)
    where = {"space": said.space, "persona_id": said.persona, "session_id": f"{user}-{said.space}-{said.session}"}
    return a_proposal(a_turn(user, said.text, turn_id=str(number), created_at=moment, **where))


def repeated(entry: Entry) -> Entry:
    return entry.model_copy(update={"repeat_count": entry.repeat_count + 1, "tags": (*entry.tags, "repeated")})


def verdict_on(proposal: Proposal, said: Said, first: Proposal) -> Verdict | None:
    match said.fate:
        case "store":
            return Accepted(entry_of(proposal, **said.fields))
        case "merge":
            return Merged(proposal, first.id, repeated)
        case "refuse":
            return Refused(proposal, "a reason")
    return None


async def carry_out(store: TextStore, user: str, history: Sequence[Said]) -> list[Key]:
    """Log everything, decide, then change; the proposals, decided or not."""
    proposals = [proposal_of(user, number, said) for number, said in enumerate(history)]
    await store.log([proposal.turn for proposal in proposals], proposals)
    verdicts = [verdict_on(p, said, proposals[0]) for p, said in zip(proposals, history, strict=True)]
    await store.settle([verdict for verdict in verdicts if verdict is not None])
    changes = {p.id: said.change for p, said in zip(proposals, history, strict=True) if said.change is not None}
    keys = [Key(user, proposal.id) for proposal in proposals]
    changed = [key for key in keys if key.id in changes]
    await store.modify(changed, lambda entry: entry.model_copy(update=changes[entry.id]))
    return keys


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


SELECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "space": st.sampled_from(SPACES),
        "status": st.sampled_from(["active", "archived", "superseded", "forgotten"]),
        "types": st.lists(LABELS["type"], max_size=2).map(tuple),
        "tags": st.lists(st.sampled_from(["red", "blue", "repeated"]), max_size=2).map(tuple),
        "theme": st.sampled_from(["travel", "tools"]),
        "pinned": st.booleans(),
        "manually_saved": st.booleans(),
    },
)


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
    assert await both.cluster.outcomes(keys) == await both.embedded.outcomes(keys)
    assert await both.cluster.undecided(keys) == await both.embedded.undecided(keys)


async def test_what_the_engine_gives_in_parts_is_the_same(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_MOST_BUCKETS", 7)
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
async def test_ten_thousand_questions_find_nothing_of_anybody_else(both: Both) -> None:
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
