"""Tags from neighbours: proposed while entries are embedded, within their scope, and gone with what they come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from contracts.ports import SemanticHit, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.edits import BulkRequest
from contracts.v1.entries import Entry
from services.curate import privacy, retention
from tests.apps.fakes import FakeEmbedder, FakeVectors
from tests.apps.settling import settle
from tests.apps.test_edits import Desk
from tests.apps.test_forgetting import places
from tests.stores.builders import NOON, an_entry, store_entries
from tests.stores.changing import modify

HOUR = timedelta(hours=1)


async def embed(entries: Sequence[Entry], store: TextStore, vectors: FakeVectors) -> list[Entry]:
    return await settle(store, entries, FakeEmbedder(), vectors=vectors, proposes_tags=True)


async def three_runs(store: TextStore, vectors: FakeVectors) -> tuple[Entry, Entry]:
    """The first of two entries with a tag, and a later one without; texts of one length have one vector."""
    older = [an_entry("ann", text, tags=("sport",)) for text in ("jogged far", "ran uphill")]
    new = an_entry("ann", "sprinted a", created_at=NOON + HOUR)
    known, other, last = await embed(await store_entries(store, [*older, new]), store, vectors)
    (tag,) = last.neighbour_tags
    assert (tag.tag, set(tag.source_ids)) == ("sport", {known.id, other.id})
    assert (last.tags, known.neighbour_tags, other.neighbour_tags) == ((), (), ())
    return known, last


async def proposed(store: TextStore, entry: Entry) -> tuple[str, ...]:
    return tuple(one.tag for one in (await store.get([entry]))[entry.id].neighbour_tags)


@pytest.mark.parametrize("fields", [{"user_id": "eve"}, {"space": "work"}, {"persona_id": "guide"}])
async def test_neighbours_elsewhere_propose_nothing(store: TextStore, fields: dict[str, str]) -> None:
    vectors = FakeVectors()
    others = [an_entry("ann", text, tags=("sport",)) for text in ("jogged far", "ran uphill")]
    others = await store_entries(store, [one.model_copy(update=fields) for one in others])
    (new,) = await store_entries(store, [an_entry("ann", "sprinted a", created_at=NOON + HOUR)])
    *_, new = await embed([*others, new], store, vectors)
    assert new.neighbour_tags == ()


async def test_where_it_is_switched_off_nothing_is_proposed_or_asked(store: TextStore) -> None:
    class Deaf(FakeVectors):
        async def search(self, *args: Any, **named: Any) -> list[SemanticHit]:
            raise AssertionError("nobody wants to know")

    stored = await store_entries(store, [an_entry("ann", "jogged far")])
    (entry,) = await settle(store, stored, FakeEmbedder(), vectors=Deaf())
    assert entry.embedding_state == "ready"


async def test_forgetting_a_source_takes_the_tag_back(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    known, new = await three_runs(store, vectors)
    await privacy.forget(ForgetRequest(user_id="ann", id=known.id), stores=everywhere, refuse_for=HOUR)
    assert await proposed(store, new) == vectors.points[new.id].entry.neighbour_tags == ()


async def test_what_expires_takes_its_tags_along(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    known, new = await three_runs(store, vectors)
    await modify(store, [new], lambda one: one.model_copy(update={"pinned": True}))
    await retention.expire(stores=everywhere, max_age=HOUR)
    assert (await store.get([known]))[known.id].status == "forgotten"
    assert await proposed(store, new) == ()


@pytest.mark.parametrize(
    "change", [{"text": "bake bread"}, {"tags": ("cake",)}, {"text": "bake bread", "redact": True}]
)
async def test_a_source_that_says_something_else_takes_its_tags_back(
    store: TextStore, change: dict[str, object]
) -> None:
    desk = Desk(store)
    known, new = await three_runs(store, desk.vectors)
    await desk.update(known, **change)
    assert await proposed(store, new) == ()


async def test_what_the_user_takes_away_does_not_come_back(store: TextStore) -> None:
    desk = Desk(store)
    _, new = await three_runs(store, desk.vectors)
    await desk.editor.bulk(BulkRequest(user_id="ann", ids=(new.id,), action="untag", tags=("sport",)))
    await desk.update(new, text="sprinted b")
    (again,) = await embed([new], store, desk.vectors)
    assert (again.embedding_state, again.neighbour_tags) == ("ready", ())


async def test_a_source_that_is_forgotten_while_its_tag_is_proposed_leaves_none(store: TextStore) -> None:
    vectors = FakeVectors()
    known, _ = await three_runs(store, vectors)
    forget = partial(privacy.forget, stores=places(store)[0], refuse_for=HOUR)

    class Late:
        """The store, in which a source is forgotten right before entries are changed."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def replace(self, changes: Sequence[object]) -> set[str]:
            await forget(ForgetRequest(user_id="ann", id=known.id))
            return await store.replace(changes)  # type: ignore[arg-type]

    (late,) = await store_entries(store, [an_entry("ann", "sprinted c", created_at=NOON + 2 * HOUR)])
    (late,) = await embed([late], Late(), vectors)  # type: ignore[arg-type]
    assert (late.embedding_state, late.neighbour_tags) == ("ready", ())
