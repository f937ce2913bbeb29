"""Nothing stays of what was forgotten in a roll-up or its originals, on every text store, whoever was held up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from contracts.ports import Accepted, Change, TextStore
from contracts.v1.edits import UpdateRequest
from contracts.v1.entries import Entry
from services.curate.ageing import Ages
from services.curate.edits import Editor
from services.curate.retention import expire
from services.curate.rollups import RollUps
from services.shared.errors import Rejected
from tests.stores.builders import log_of
from tests.stores.rolling import (
    DAY,
    NEWS,
    NOW,
    Killed,
    aged,
    asked,
    embedded,
    everything_of,
    forget,
    replica,
    say,
    text_of,
    texts,
    the_roll_up,
)
from tests.unit.context.test_context_clusters import BREAD


async def update(made: RollUps, entry: Entry, text: str, *, redact: bool = False) -> None:
    """Say something else instead."""
    editor = Editor(made.stores, lambda *_: nullcontext(), DAY, 10_000)
    await editor.update(UpdateRequest(user_id=entry.user_id, id=entry.id, text=text, redact=redact))


async def test_of_a_forgotten_original_no_byte_stays_in_the_roll_up(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    assert NEWS in (await the_roll_up(text_store, user)).text

    for _ in range(2):
        await forget(made, old[-1])

    assert "Clara" not in await everything_of(text_store, user)
    one = await the_roll_up(text_store, user)
    assert old[-1].id not in one.source_ids
    assert set(one.text.split("\n")) <= set(BREAD)
    assert (one.enriched, one.embedding_state) == (False, "pending")
    assert set(await texts(text_store, user, "archived")) == set(BREAD)


async def test_of_a_forgotten_roll_up_no_byte_stays_in_its_originals(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    other = await say(text_store, user, "My train was late")
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    one = await text_of(text_store, user, old[0])
    for _ in range(2):
        assert (await forget(made, one)).receipt.turns == len(old)
    told = await everything_of(text_store, user)
    assert "Clara" not in told
    assert "ourdough" not in told
    assert {its.status for its in (await text_store.get([*old, one])).values()} == {"forgotten"}
    assert (await text_store.get(other))[other[0].id] == other[0]
    assert {turn.text for turn in (await log_of(text_store, user)).values()} == {"[forgotten]", "My train was late"}


async def test_when_nothing_is_left_to_say_the_roll_up_goes_and_the_others_come_back(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, "Sourdough?", NEWS)
    made = replica(text_store)
    await asked(made, user)
    assert (await the_roll_up(text_store, user)).text == NEWS
    await forget(made, old[1])
    assert await texts(text_store, user) == ["Sourdough?"]
    assert "Clara" not in await everything_of(text_store, user)


async def test_originals_lose_their_words_after_a_while_and_the_roll_up_stays(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    kept = Ages(roll_up_after=90, originals_kept=180)
    assert await aged(made, user, kept) == 1
    one = await the_roll_up(text_store, user)
    assert await aged(made, user, kept, now=NOW + 170 * DAY) == 0
    for expected in (1, 0):
        assert await aged(made, user, kept, now=NOW + (183 - expected) * DAY, days=0.5) == expected
    assert await texts(text_store, user) == [one.text]
    assert {its.text for its in (await text_store.get(old)).values()} == {""}
    assert {turn.text for turn in (await log_of(text_store, user)).values()} == {"[forgotten]"}
    with pytest.raises(Rejected, match="cannot be taken back"):
        await made.undo(user, one.id)
    line = one.text.split("\n")[0]
    await forget(made, next(its for its in old if its.text == line))
    assert line not in await everything_of(text_store, user)
    assert (await the_roll_up(text_store, user)).text == "\n".join(one.text.split("\n")[1:])


async def test_what_is_too_old_goes_with_its_originals(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    vectors = await embedded(old)
    made = replica(text_store, vectors)
    await aged(made, user)
    (size,) = await text_store.spaces(user)
    assert await expire(stores=made.stores, max_age=100 * DAY, of=size) == 1
    assert "ourdough" not in await everything_of(text_store, user)


@pytest.mark.parametrize("forgets", ["whole", "broken off"])
@pytest.mark.parametrize("maker", ["lives", "dies"])
@pytest.mark.parametrize("others", [4, 1])
async def test_an_original_that_is_forgotten_while_its_roll_up_is_made_leaves_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch, forgets: str, maker: str, others: int
) -> None:
    old = await say(text_store, user, *BREAD[:others], NEWS)
    made, other = replica(text_store), replica(text_store)
    apply = text_store.apply

    async def late(decisions: Sequence[Accepted]) -> Any:
        monkeypatch.undo()
        await (forget(other, old[-1]) if forgets == "whole" else text_store.forget([old[-1]], until=None))
        outcomes = await apply(decisions)
        if maker == "dies":
            raise Killed
        return outcomes

    monkeypatch.setattr(text_store, "apply", late)
    await asyncio.gather(asked(made, user), return_exceptions=True)
    if forgets == "broken off":
        await replica(text_store).go_on_with_all(timedelta(0))
    assert "Clara" not in await everything_of(text_store, user)
    if others > 1:
        assert set((await the_roll_up(text_store, user)).source_ids) == {entry.id for entry in old[:-1]}
    else:
        assert await texts(text_store, user) == [BREAD[0]]


async def test_who_was_held_up_while_it_was_taken_back_stores_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await say(text_store, user, *BREAD)
    made, other = replica(text_store), replica(text_store)
    for call in ("replace", "apply"):
        real = getattr(text_store, call)

        async def late(given: Any, real: Any = real) -> Any:
            monkeypatch.undo()
            (record,) = await text_store.records(user, "rollup")
            await other.undo(user, record.name)
            return await real(given)

        monkeypatch.setattr(text_store, call, late)
        await asked(made, user)
        assert sorted(await texts(text_store, user)) == sorted(BREAD)
        assert {one.status for one in (await text_store.get(old)).values()} == {"active"}
        await text_store.remove_records(user, "rollup")


async def test_a_user_who_is_erased_meanwhile_leaves_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(text_store, user, *BREAD)
    apply = text_store.apply

    async def late(decisions: Sequence[Accepted]) -> Any:
        monkeypatch.undo()
        await text_store.erase(user)
        return await apply(decisions)

    monkeypatch.setattr(text_store, "apply", late)
    await asked(replica(text_store), user)
    assert await everything_of(text_store, user) == ""


async def test_an_original_that_is_pinned_all_the_same_keeps_its_words(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    await aged(made, user)
    held = (await text_store.get(old))[old[0].id]
    await text_store.replace([Change(held, held.model_copy(update={"pinned": True}))])
    await aged(made, user, Ages(originals_kept=1), now=NOW + 2 * DAY)
    assert sorted(one.text for one in (await text_store.get(old)).values()) == ["", "", "", BREAD[0]]


async def test_a_roll_up_that_is_redacted_leaves_nothing_of_its_originals(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    await update(made, await the_roll_up(text_store, user), "I gave up baking", redact=True)
    assert await texts(text_store, user) == ["I gave up baking"]
    told = await everything_of(text_store, user)
    assert "Clara" not in told
    assert "ourdough" not in told


async def test_of_a_roll_up_whose_text_was_changed_nothing_stays_when_an_original_is_forgotten(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    await update(made, await the_roll_up(text_store, user), f"Mine now: {NEWS}")
    assert (await the_roll_up(text_store, user)).line_sources == ()
    await forget(made, old[-1])
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    assert "Clara" not in await everything_of(text_store, user)
