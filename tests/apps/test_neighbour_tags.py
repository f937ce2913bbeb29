"""Tags from neighbours: proposed while entries are embedded, within their scope, and gone with what they come from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from contracts.ports import SemanticHit, TextStore
from contracts.v1.commands import ForgetRequest
from contracts.v1.edits import BulkRequest, UpdateRequest
from contracts.v1.entries import Entry, EntryEnriched, EntryRef
from services.curate import privacy, retention
from services.curate.stores import Stores
from services.embed.handler import embed_entries
from tests.apps.fakes import FakeEmbedder, FakeInFlight, FakeVectors, say_nothing
from tests.apps.test_edits import Desk
from tests.stores.builders import NOON, an_entry, store_entries
from tests.stores.changing import modify

HOUR = timedelta(hours=1)


async def embed(entries: Sequence[Entry], store: TextStore, vectors: FakeVectors) -> list[Entry]:
    refs = [EntryRef(user_id=entry.user_id, id=entry.id) for entry in entries]
    event = EntryEnriched.of(refs, at=datetime.now(UTC))
    await embed_entries([event], store=store, vectors=vectors, embedder=FakeEmbedder(), proposes_tags=True)
    read = await store.get(entries)
    return [read[entry.id] for entry in entries]


async def three_runs(store: TextStore, vectors: FakeVectors, **fields: object) -> tuple[list[Entry], Entry]:
    """Two entries with a tag and a later one without; texts of one length have one vector."""
    older = [an_entry("ann", text, tags=("sport",), **fields) for text in ("jogged far", "ran uphill")]
    new = an_entry("ann", "sprinted a", created_at=NOON + HOUR, **fields)
    stored = await store_entries(store, [*older, new])
    *known, last = await embed(stored, store, vectors)
    return known, last


async def test_a_new_entry_is_proposed_what_its_neighbours_have(store: TextStore) -> None:
    known, new = await three_runs(store, FakeVectors())
    (tag,) = new.neighbour_tags
    assert tag.tag == "sport"
    assert set(tag.source_ids) == {one.id for one in known}
    assert new.tags == ()
    assert [one.neighbour_tags for one in known] == [(), ()]


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

    (entry,) = await store_entries(store, [an_entry("ann", "jogged far")])
    event = EntryEnriched.of([EntryRef(user_id="ann", id=entry.id)], at=NOON)
    await embed_entries([event], store=store, vectors=Deaf(), embedder=FakeEmbedder())
    assert (await store.get([entry]))[entry.id].embedding_state == "ready"


async def test_forgetting_a_source_takes_the_tag_back(store: TextStore) -> None:
    vectors = FakeVectors()
    known, new = await three_runs(store, vectors)
    stores = Stores(store, vectors, FakeInFlight(), say_nothing)
    await privacy.forget(ForgetRequest(user_id="ann", id=known[0].id), stores=stores, refuse_for=HOUR)
    assert (await store.get([new]))[new.id].neighbour_tags == ()
    assert vectors.points[new.id].entry.neighbour_tags == ()


async def test_what_expires_takes_its_tags_along(store: TextStore) -> None:
    vectors = FakeVectors()
    known, new = await three_runs(store, vectors)
    await modify(store, [new], lambda one: one.model_copy(update={"pinned": True}))
    await retention.expire(stores=Stores(store, vectors, FakeInFlight(), say_nothing), max_age=HOUR)
    assert (await store.get(known))[known[0].id].status == "forgotten"
    assert (await store.get([new]))[new.id].neighbour_tags == ()


@pytest.mark.parametrize(
    "change", [{"text": "bake bread"}, {"tags": ("cake",)}, {"text": "bake bread", "redact": True}]
)
async def test_a_source_that_says_something_else_takes_its_tags_back(
    store: TextStore, change: dict[str, object]
) -> None:
    desk = Desk(store)
    known, new = await three_runs(store, desk.vectors)
    await desk.editor.update(UpdateRequest.model_validate({"user_id": "ann", "id": known[0].id, **change}))
    assert (await store.get([new]))[new.id].neighbour_tags == ()


async def test_what_the_user_takes_away_does_not_come_back(store: TextStore) -> None:
    desk = Desk(store)
    _, new = await three_runs(store, desk.vectors)
    await desk.editor.bulk(BulkRequest(user_id="ann", ids=(new.id,), action="untag", tags=("sport",)))
    await desk.editor.update(UpdateRequest(user_id="ann", id=new.id, text="sprinted b"))
    (again,) = await embed([new], store, desk.vectors)
    assert again.embedding_state == "ready"
    assert again.neighbour_tags == ()


async def test_a_source_that_is_forgotten_while_its_tag_is_proposed_leaves_none(store: TextStore) -> None:
    vectors = FakeVectors()
    known, _ = await three_runs(store, vectors)
    stores = Stores(store, FakeVectors(), FakeInFlight(), say_nothing)
    forget = partial(privacy.forget, stores=stores, refuse_for=HOUR)

    class Late:
        """The store, in which a source is forgotten right before entries are changed."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        async def replace(self, changes: Sequence[object]) -> set[str]:
            await forget(ForgetRequest(user_id="ann", id=known[0].id))
            return await store.replace(changes)  # type: ignore[arg-type]

    (late,) = await store_entries(store, [an_entry("ann", "sprinted c", created_at=NOON + 2 * HOUR)])
    (late,) = await embed([late], Late(), vectors)  # type: ignore[arg-type]
    assert late.embedding_state == "ready"
    assert all(known[0].id not in one.source_ids for one in late.neighbour_tags)
    assert late.neighbour_tags == ()
