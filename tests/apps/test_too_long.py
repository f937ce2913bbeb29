"""A reply that does not fit into a message has as many whole items as do, and says so."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.ports import TextStore
from contracts.v1.cards import CardsRequest
from contracts.v1.loops import LoopsRequest
from contracts.v1.profile import ProfileRequest
from services.curate import cards, loops, profile
from services.curate.commands import shorten_items
from services.shared.lifecycle.fitting import size_of
from tests.apps.telling import said, to_do
from tests.stores.builders import store_entries


@pytest.mark.parametrize(
    ("request_", "ask", "shorten", "name"),
    [
        (CardsRequest(user_id="ann"), cards.cards, shorten_items, "items"),
        (LoopsRequest(user_id="ann"), loops.list_loops, shorten_items, "items"),
        (ProfileRequest(user_id="ann"), profile.profile, profile.shorten_profile, "facts"),
    ],
    ids=["cards", "loops", "profile"],
)
async def test_a_reply_that_does_not_fit_is_shortened(
    store: TextStore, request_: Any, ask: Any, shorten: Any, name: str
) -> None:
    homes = [said(f"Anna{letter} lives in Oslo", "Oslo", whose=f"Anna{letter}") for letter in "abcdefghi"]
    await store_entries(store, [*homes, *(to_do(f"I have to buy {n} stamps") for n in range(9))])
    whole = await ask(request_, store=store)
    room = size_of(whole) // 2
    short = await shorten(request_, whole, room)
    assert size_of(short) <= room
    assert short.truncated
    items, kept = getattr(whole, name), getattr(short, name)
    assert 0 < len(kept) < len(items) == 9
    assert kept == items[: len(kept)]
