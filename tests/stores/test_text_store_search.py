"""Search by words: the right entries, with what was said around them, and nobody else's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Filters, Key, LexicalHit, Scope, Selection, TextStore
from contracts.v1.entries import Entry, Saying
from contracts.v1.turns import EVERY_PERSONA
from tests.sizes import sized
from tests.stores.builders import NOON, a_session, a_user, an_entry, minutes, store_entries
from tests.stores.changing import modify

ANY = Filters()


async def hits(store: TextStore, user: str, query: str, filters: Filters = ANY, limit: int = 50) -> list[LexicalHit]:
    return await store.search(Scope(user), query, limit=limit, filters=filters)


async def found(store: TextStore, user: str, query: str, filters: Filters = ANY, limit: int = 50) -> list[str]:
    """The texts that are found, best first."""
    ids = [hit.id for hit in await hits(store, user, query, filters, limit)]
    return [entry.text for entry in (await store.get([Key(user, i) for i in ids])).values()]


@pytest.mark.parametrize(
    ("said", "queries"),
    [
        ("Packages are my thing", ["Packages!", "PACKAGING?", "which package is it?"]),
        ("Unsere Häuser sind alt, das Haus am See ist das älteste", ["Wo ist mein Haus?", "Die Häuser, alt und älter"]),
        ("我喜欢绿茶", ["绿茶"]),
    ],
)
async def test_words_are_found_in_the_forms_of_their_language(
    text_store: TextStore, user: str, said: str, queries: list[str]
) -> None:
    others = ("the house is not of Haus & Co", "I like tea")
    await store_entries(text_store, [an_entry(user, text) for text in (said, *others)])
    for query in queries:
        assert (await found(text_store, user, query))[0] == said
    assert (await hits(text_store, user, queries[0]))[0].coverage == pytest.approx(1)


async def test_a_query_without_known_words_finds_nothing(text_store: TextStore, user: str) -> None:
    queries = ("", "the", "?!", "unheard", "\x00", '"NEAR( * ^ -- %', "🦉", "a" * 70_000)
    for said in ([], [an_entry(user, "the tea is not for them")]):
        await store_entries(text_store, said)
        for query in queries:
            assert await found(text_store, user, query) == [], query


def many_forms(ending: str) -> str:
    """Words with as many stems as any, more than an engine takes clauses."""
    return " ".join(
        f"l'{a}{b}{c}{ending}" for a in "éàöü" for b in "bdfgk" for c in ("lis", "rén", "tar", "nom", "gul")
    )


@pytest.mark.parametrize("ending", ["issements", "amenti", "lichkeiten"])
async def test_a_query_of_very_many_forms_is_answered(text_store: TextStore, user: str, ending: str) -> None:
    said = an_entry(user, "Der Zahnarzt kommt am Dienstag.", tags=("teeth",))
    await store_entries(text_store, [said, an_entry(user, "I like tea")])
    for filters in (ANY, Filters(tags=("teeth",))):
        assert await found(text_store, user, f"Zahnarzt {many_forms(ending)}", filters) == [said.text]


@pytest.mark.parametrize("script", ["我喜欢绿茶一二三四五六七八九十", "แมวของฉันชื่อมะลิ", "שלום לכולם ובבית"])
async def test_a_long_query_in_any_script_is_answered(text_store: TextStore, user: str, script: str) -> None:
    await store_entries(text_store, [an_entry(user, script), an_entry(user, "I like tea")])
    query = " ".join(script[i:] + script[:i] for i in range(len(script))) * 20
    assert await found(text_store, user, query) == [script]


@pytest.mark.parametrize(
    ("said", "asked", "other"),
    [
        ("ฉันเลี้ยงแมวสองตัว", "แมว", "แม่อยู่บ้าน"),
        ("המפתח בבית", "לבית", "המפתח במשרד"),
        ("المفتاح في البيت", "بيت", "المفتاح في المكتب"),
        ("Anna studies psychology", "psychological", "Anna studies law"),
    ],
)
async def test_lists_are_of_what_has_the_words(
    text_store: TextStore, user: str, said: str, asked: str, other: str
) -> None:
    entries = [an_entry(user, said), an_entry(user, other)]
    await store_entries(text_store, entries)
    page = await text_store.page(Selection(user, words=asked), limit=9, cursor=None)
    assert [entry.text for entry in page.entries] == [said]


@pytest.mark.parametrize(
    ("asked", "exact", "alike"),
    [
        ("ريم", "ريم تسكن في عمان", "كريم يسكن في عمان"),
        ("الكتاب", "الكتاب على الطاولة", "كتاب على طاولة"),
        ("הבית", "הבית ישן מאוד", "בית ישן מאוד"),
        ("ברלין", "ברלין יפה מאוד", "רלין יפה מאוד"),
    ],
)
async def test_the_very_word_goes_before_one_that_only_ends_so(
    text_store: TextStore, user: str, asked: str, exact: str, alike: str
) -> None:
    newer = an_entry(user, alike, created_at=NOON + minutes(9))
    await store_entries(text_store, [an_entry(user, exact, created_at=NOON), newer])
    assert await found(text_store, user, asked) == [exact, alike]


async def test_a_list_of_very_many_words_is_answered(text_store: TextStore, user: str) -> None:
    said = " ".join(f"word{i}" for i in range(1200))
    await store_entries(text_store, [an_entry(user, said), an_entry(user, "word1")])
    page = await text_store.page(Selection(user, words=said), limit=9, cursor=None)
    assert [entry.text for entry in page.entries] == [said]


async def test_an_entry_is_found_by_its_tags(text_store: TextStore, user: str) -> None:
    await store_entries(text_store, [an_entry(user, "I prefer uv", tags=("Python packaging",)), an_entry(user, "tea")])
    assert await found(text_store, user, "packaging") == ["I prefer uv"]


async def test_equal_entries_rank_newest_first(text_store: TextStore, user: str) -> None:
    entries = [an_entry(user, "tea", id=f"{user}-{i}", created_at=NOON + minutes(i % 3)) for i in range(9)]
    await store_entries(text_store, entries)
    expected = sorted(entries, key=lambda entry: (-entry.created_at.timestamp(), entry.id))
    assert [hit.id for hit in await hits(text_store, user, "tea")] == [entry.id for entry in expected]
    assert [hit.id for hit in await hits(text_store, user, "tea", limit=4)] == [entry.id for entry in expected[:4]]


async def test_the_best_come_when_the_limit_is_small(text_store: TextStore, user: str) -> None:
    await store_entries(text_store, [an_entry(user, f"tea number {i}") for i in range(300)])
    await store_entries(text_store, [an_entry(user, "tea with lemon")])
    assert await found(text_store, user, "tea lemon", limit=1) == ["tea with lemon"]
    assert len(await found(text_store, user, "tea lemon", limit=40)) == 40
    assert len(await found(text_store, user, "tea lemon", limit=100_000)) == 301
    assert await found(text_store, user, "tea", limit=0) == []


async def test_context_reaches_four_turns_and_no_further(text_store: TextStore, user: str) -> None:
    texts = [f"turn {name}" for name in "abcde"] + ["zebra"] + [f"turn {name}" for name in "fghij"]
    await store_entries(text_store, a_session(user, texts))
    assert (ranking := await found(text_store, user, "zebra"))[0] == "zebra"
    assert set(ranking) == set(texts) - {"turn a", "turn j"}


async def test_only_active_entries_are_found_and_are_context(text_store: TextStore, user: str) -> None:
    _, middle, _ = await store_entries(text_store, a_session(user, ["before", "zebra", "after"]))
    await modify(text_store, [middle], lambda e: e.model_copy(update={"status": "archived"}))
    assert await found(text_store, user, "zebra") == []
    entry, archived = await store_entries(text_store, [an_entry(user, "tea"), an_entry(user, "tea", status="archived")])
    assert [hit.id for hit in await hits(text_store, user, "tea")] == [entry.id]
    await modify(text_store, [entry], lambda e: e.model_copy(update={"status": "superseded"}))
    assert await hits(text_store, user, "tea") == []
    await modify(text_store, [archived], lambda e: e.model_copy(update={"status": "active"}))
    assert [hit.id for hit in await hits(text_store, user, "tea")] == [archived.id]


async def test_search_follows_a_change_of_the_text(text_store: TextStore, user: str) -> None:
    (entry,) = await store_entries(text_store, [an_entry(user, "green tea", tags=("drink",))])
    await modify(text_store, [entry], lambda e: e.model_copy(update={"text": "black tea", "tags": ("hot", "leaf")}))
    for query, expected in (("green", 0), ("drink", 0), ("black", 1), ("tea", 1), ("leaf", 1)):
        assert len(await hits(text_store, user, query)) == expected, query


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), "abcd"),
        (Filters(types=("fact", "note")), "ab"),
        (Filters(tags=("red", "blue")), "bcd"),
        (Filters(theme="travel"), "a"),
        (Filters(since=NOON + minutes(2)), "cd"),
        (Filters(since=NOON + minutes(5)), "d"),
        (Filters(tags=(), types=("fact",)), "a"),
        (Filters(until=NOON + minutes(1)), "ab"),
        (Filters(until=NOON - minutes(1)), ""),
        (Filters(since=NOON + minutes(1), until=NOON + minutes(2)), "bc"),
        (Filters(conversation_id="c0"), "ad"),
        (Filters(conversation_id="c"), ""),
        (Filters(types=("note", "other"), tags=("red",), since=NOON + minutes(1)), "bd"),
    ],
)
async def test_filters_let_through_exactly_what_fulfils_them(
    text_store: TextStore, user: str, filters: Filters, expected: str
) -> None:
    again = Saying(conversation_id="c0", turn_id="t", at=NOON + minutes(5))
    fields: list[dict[str, Any]] = [
        {"type": "fact", "themes": ("travel",)},
        {"type": "note", "tags": ("red",)},
        {"tags": ("blue",)},
        {"tags": ("red", "blue"), "last_said_at": NOON + minutes(5), "repeated_in": (again,)},
    ]
    entries = [
        an_entry(user, f"tea {name}", created_at=NOON + minutes(i), conversation_id=f"c{i}", **more)
        for i, (name, more) in enumerate(zip("abcd", fields, strict=True))
    ]
    await store_entries(text_store, entries)
    assert sorted(await found(text_store, user, "tea", filters)) == [f"tea {name}" for name in expected]


async def test_a_filter_loses_none_of_few_that_pass_and_not_the_best_of_many(text_store: TextStore, user: str) -> None:
    rare = [an_entry(user, "some tea", tags=("rare",)) for _ in range(6)]
    common = [an_entry(user, "tea with honey", tags=("common",)) for _ in range(2994)]
    best = [an_entry(user, text, tags=(tag,)) for text, tag in (("honey", "rare"), ("honey honey tea tea", "common"))]
    await store_entries(text_store, [*rare[:3], *best, *common, *rare[3:]])
    of_rare, of_common = Filters(tags=("rare",)), Filters(tags=("common",))
    assert await found(text_store, user, "tea honey", of_rare) == ["honey"] + ["some tea"] * 6
    assert await found(text_store, user, "tea honey", of_rare, limit=1) == ["honey"]
    assert await found(text_store, user, "tea honey", of_common, limit=2) == ["honey honey tea tea", "tea with honey"]


async def test_what_does_not_pass_a_filter_still_is_context(text_store: TextStore, user: str) -> None:
    before, after = a_session(user, ["zebra", "and what else"])
    await store_entries(text_store, [before, after.model_copy(update={"tags": ("red",)})])
    assert await found(text_store, user, "zebra", Filters(tags=("red",))) == ["and what else"]


async def test_context_that_was_stored_long_before_lets_an_entry_pass_a_filter(
    text_store: TextStore, user: str
) -> None:
    before, after = a_session(user, ["a zebra", "and what else"])
    between = [an_entry(user, "zebra zebra zebra") for _ in range(300)]
    red = [an_entry(user, "unrelated", tags=("red",)) for _ in range(50)]
    await store_entries(text_store, [before, *between, *red, after.model_copy(update={"tags": ("red",)})])
    assert await found(text_store, user, "zebra", Filters(tags=("red",))) == ["and what else"]


async def test_a_persona_finds_its_own_and_the_common(text_store: TextStore, user: str) -> None:
    owners = (None, "guide", "tutor")
    await store_entries(text_store, [an_entry(user, f"tea {owner}", persona_id=owner) for owner in owners])

    async def seen_by(persona_id: str | None) -> set[str]:
        scope = Scope(user, persona_id=persona_id)
        seen = [Key(user, hit.id) for hit in await text_store.search(scope, "tea", limit=9, filters=ANY)]
        return {str(entry.persona_id) for entry in (await text_store.get(seen)).values()}

    assert await seen_by("guide") == {"None", "guide"}
    assert await seen_by("tutor") == {"None", "tutor"}
    assert await seen_by("unheard") == {"None"}
    assert await seen_by(None) == {"None"}
    await store_entries(text_store, [an_entry(user, "tea elsewhere", space="work", persona_id="clerk")])
    assert await seen_by(EVERY_PERSONA) == {"None", "guide", "tutor"}


@pytest.mark.parametrize("texts", [["And what else", "zebra"], ["zebra", "And what else"]])
async def test_what_another_persona_heard_is_no_context(text_store: TextStore, user: str, texts: list[str]) -> None:
    session = a_session(user, texts)
    heard = [e.model_copy(update={"persona_id": "guide" if e.text == "zebra" else None}) for e in session]
    await store_entries(text_store, heard)
    assert await found(text_store, user, "zebra") == []
    with_guide = await text_store.search(Scope(user, persona_id="guide"), "zebra", limit=9, filters=ANY)
    assert {hit.id for hit in with_guide} == {entry.id for entry in heard}


async def test_what_another_persona_heard_does_not_move_what_is_around(text_store: TextStore, user: str) -> None:
    texts = ["before", "private", "zebra", "private", "after"]
    session = a_session(user, texts)
    alone = a_session(user, ["before", "zebra", "after"], space="work")
    await store_entries(text_store, [an_entry(user, "unrelated", persona_id="guide") for _ in range(20)])
    heard = [e.model_copy(update={"persona_id": "guide" if e.text == "private" else None}) for e in session]
    await store_entries(text_store, [*heard, *alone])
    mixed = await hits(text_store, user, "zebra")
    unmixed = await text_store.search(Scope(user, "work"), "zebra", limit=9, filters=ANY)
    assert [hit.score for hit in mixed] == [hit.score for hit in unmixed]


async def test_nobody_elses_words_change_a_score(text_store: TextStore, user: str) -> None:
    await store_entries(text_store, a_session(user, ["green tea", "black tea", "coffee"]))
    before = await hits(text_store, user, "green tea")
    for other in (Scope(a_user()), Scope(user, "work"), Scope(user, persona_id="guide")):
        fields = {"space": other.space, "persona_id": other.persona_id}
        await store_entries(text_store, [an_entry(other.user_id, "green tea " * i, **fields) for i in range(1, 9)])
    assert await hits(text_store, user, "green tea") == before


WORDS = ["tea", "lemon", "zebra", "coffee", "rain"]
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6)


@settings(max_examples=sized(75), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS, query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join))
async def test_scopes_with_the_same_texts_never_see_each_other(
    text_store: TextStore, texts: list[str], query: str
) -> None:
    user, other = a_user(), a_user()
    scopes = [Scope(user), Scope(other), Scope(user, "work"), Scope(other, "work"), Scope(user, "work", "guide")]
    owned: dict[Scope, list[Entry]] = {}
    for scope in scopes:
        entries = a_session(scope.user_id, texts, space=scope.space, persona_id=scope.persona_id)
        owned[scope] = await store_entries(text_store, entries)
    for scope in scopes:
        ids = {hit.id for hit in await text_store.search(scope, query, limit=100, filters=ANY)}
        visible = {entry.id for entry in owned[scope]}
        if scope.persona_id:
            visible |= {entry.id for entry in owned[Scope(scope.user_id, scope.space)]}
        assert ids <= visible
        if set(query.split()) & set(" ".join(texts).split()):
            assert ids & {entry.id for entry in owned[scope]}


async def test_hits_come_with_what_was_said_around_them(text_store: TextStore, user: str) -> None:
    texts = ["good morning", "how are you", "I drink green tea", "really", "every day", "bread", "tea with milk"]
    entries = await store_entries(text_store, [*a_session(user, texts), an_entry(user, "tea alone")])
    hits = await text_store.search(Scope(user), "tea", limit=20, filters=Filters(), reach=2)
    around = {hit.id: dict(hit.neighbours) for hit in hits}
    assert around == await text_store.neighbours([Key(user, hit.id) for hit in hits], reach=2)
    assert around[entries[2].id] == {-2: entries[0].id, -1: entries[1].id, 1: entries[3].id, 2: entries[4].id}
    assert around[entries[6].id] == {-2: entries[4].id, -1: entries[5].id}
    assert around[entries[7].id] == {}
    alone = await text_store.search(Scope(user), "tea", limit=20, filters=Filters())
    assert [hit.neighbours for hit in alone] == [{}] * len(hits)


async def test_the_entries_that_have_a_term_are_counted_by_scope(text_store: TextStore, user: str) -> None:
    said = [an_entry(user, text) for text in ("green tea, tea", "black tea", "red wine")]
    await store_entries(text_store, [*said, an_entry(user, "tea time", persona_id="guide"), an_entry(a_user(), "tea")])
    await store_entries(text_store, [an_entry(user, "tea", space="work")])
    terms = ["tea", "wine", "time", "coffee", "\x1flength", "tea"]
    counted = await text_store.frequencies(Scope(user), terms)
    assert {term: n for term, n in counted.items() if term.isprintable()} == {"tea": 2, "wine": 1}
    assert (await text_store.frequencies(Scope(user, persona_id="guide"), ["tea", "time"])) == {"tea": 3, "time": 1}
    assert await text_store.frequencies(Scope("nobody"), terms) == await text_store.frequencies(Scope(user), []) == {}
    await modify(text_store, said[:1], lambda entry: entry.model_copy(update={"status": "superseded"}))
    assert await text_store.frequencies(Scope(user), ["tea", "green"]) == {"tea": 1}
    assert await text_store.frequencies(Scope(user), [*(f"term{n}" for n in range(2_000)), "tea"]) == {"tea": 1}
