"""Themes proposed from what is alike, and facts given at the start."""

from __future__ import annotations

import numpy as np
import pytest

from contracts.errors import Unavailable
from contracts.ports import Erasure, TextStore, VectorPoint
from contracts.v1.commands import CreateRequest, EntryReply
from contracts.v1.entries import Entry
from contracts.v1.overview import ThemeProposal, ThemeProposalsRequest, ThemeSaveRequest
from contracts.v1.profile import SeedRequest
from services.curate import profile, themes
from services.curate.stores import Stores
from services.shared.errors import Rejected
from tests.apps.fakes import FakeInFlight, FakeVectors, say_nothing
from tests.apps.test_forgetting import places
from tests.stores.builders import NOON, an_entry, store_entries
from tests.unit.context.test_context_clusters import BREAD


async def embedded(store: TextStore, vectors: FakeVectors, **fields: object) -> list[Entry]:
    entries = [an_entry("ann", text, embedding_state="ready", **fields) for text in BREAD]
    await store_entries(store, entries)
    await vectors.upsert([VectorPoint(entry, np.full(4, 0.5, np.float32)) for entry in entries])
    return entries


async def proposed(store: TextStore, vectors: FakeVectors | None, space: str | None = None) -> list[ThemeProposal]:
    request = ThemeProposalsRequest(user_id="ann", space=space)
    stores = Stores(store, vectors, FakeInFlight(), say_nothing)
    return list((await themes.propose_themes(request, stores=stores)).items)


async def test_a_proposed_theme_is_saved_with_its_entries_and_proposed_no_more(store: TextStore) -> None:
    everywhere, vectors, _ = places(store)
    entries = await embedded(store, vectors)
    (theme,) = await proposed(store, vectors)
    assert (theme.count, set(theme.ids)) == (4, {entry.id for entry in entries})
    assert theme.slug.startswith("sourdough")
    save = ThemeSaveRequest(user_id="ann", slug=theme.slug, display_name="Bread", ids=(*theme.ids, "nothing"))
    assert (await themes.save_theme(save, stores=everywhere)).theme.count == 4
    assert (await themes.save_theme(save, stores=everywhere)).theme.count == 4
    assert await proposed(store, vectors) == []


@pytest.mark.parametrize("fields", [{"themes": ("tea",)}, {"role": "assistant"}, {"status": "archived"}])
async def test_what_is_filed_said_by_others_or_out_of_use_suggests_nothing(
    store: TextStore, fields: dict[str, object]
) -> None:
    vectors = FakeVectors()
    await embedded(store, vectors, **fields)
    assert await proposed(store, vectors) == []


async def test_spaces_erasures_and_stores_that_are_away(store: TextStore) -> None:
    vectors = FakeVectors()
    await embedded(store, vectors, space="home")
    assert len(await proposed(store, vectors, "home")) == len(await proposed(store, vectors)) == 1
    assert await proposed(store, vectors, "work") == await proposed(store, None) == []
    vectors.fails = True
    with pytest.raises(Unavailable):
        await proposed(store, vectors)
    vectors.fails = False
    await store.record_erasure("ann", None, Erasure("ann", 7, NOON))
    assert await proposed(store, vectors) == []


async def test_facts_given_at_the_start_are_saved_once_each_and_refusals_told() -> None:
    asked: list[CreateRequest] = []

    async def create(request: CreateRequest) -> EntryReply:
        asked.append(request)
        if "secret" in request.text:
            raise Rejected("refused", "memory is off")
        if "late" in request.text:
            raise Unavailable("it waits behind others")
        return EntryReply(entry=an_entry("ann", request.text, id=f"e{len(asked)}"))

    facts = ("I live in Lisbon", "a secret", "too late", "I live in Lisbon")
    request = SeedRequest(user_id="ann", facts=facts, space="home", persona_id="coach")
    lisbon, secret, late = (await profile.seed(request, create=create)).items
    assert (lisbon.id, secret.refused, late.refused) == ("e1", "memory is off", "it waits behind others")
    first = asked[0]
    assert (first.manually_saved, first.source_ids, first.space, first.persona_id) == (
        True,
        ("seeded_profile",),
        "home",
        "coach",
    )
    assert len({one.correlation_id for one in asked}) == 1
