"""Cards, open loops and what users decide about them, on every text store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial

from contracts.ports import TextStore
from contracts.v1.cards import CardsRequest, NamesRequest
from contracts.v1.claims import Claim
from contracts.v1.loops import LoopsRequest, SettleRequest
from contracts.v1.profile import DecideRequest, ProfileRequest
from services.curate import cards, loops
from services.curate import profile as profiles
from services.shared.decided import drop_settled, read_decisions, settled_of
from tests.claims import a_claim, a_task, an_end_of
from tests.polling import eventually
from tests.stores.builders import NOON, an_entry, store_entries


def _is(expected: list[tuple[str, bool]], found: list[tuple[str, bool]]) -> bool:
    return found == expected


def _are(kept: list[bool], found: Mapping[frozenset[str], bool]) -> bool:
    return list(found.values()) == kept


async def test_names_are_decided_and_left_open_again(text_store: TextStore, user: str) -> None:
    homes = (("Jose lives in Oslo", "Jose"), ("José lives in Bergen", "José"))
    said = [an_entry(user, text, claims=(a_claim(text, text.split()[-1], whose=name),)) for text, name in homes]
    await store_entries(text_store, said)

    async def names() -> set[tuple[str, ...]]:
        reply = await cards.cards(CardsRequest(user_id=user), store=text_store)
        return {tuple(sorted(card.names)) for card in reply.items}

    async def decisions() -> Mapping[frozenset[str], bool]:
        return await read_decisions(user, text_store)

    together, apart = {("Jose", "José")}, {("Jose",), ("José",)}
    await eventually(names, lambda found: found == together)
    for same, expected in ((False, apart), (True, together), (None, together)):
        request = NamesRequest(user_id=user, one="Jose", other="José", same=same)
        await cards.decide_names(request, store=text_store)
        kept = [] if same is None else [same]
        await eventually(decisions, partial(_are, kept))
        assert await names() == expected


async def test_what_is_so_is_decided_in_its_entry(text_store: TextStore, user: str) -> None:
    text = "Thinking about it, Porto feels right."
    read = Claim(slot="home", value=(19, 24), sentence=(0, 37), confidence=0.4)
    (entry,) = await store_entries(text_store, [an_entry(user, text, claims=(read,))])

    async def told() -> list[tuple[str, bool]]:
        reply = await profiles.profile(ProfileRequest(user_id=user), store=text_store)
        return [(fact.value, fact.is_likely) for fact in reply.facts]

    await eventually(told, lambda found: found == [("Porto", True)])
    for is_so, expected in ((True, [("Porto", False)]), (False, []), (None, [("Porto", True)])):
        request = DecideRequest(user_id=user, id=f"{entry.id}:19-24:home", is_so=is_so)
        await profiles.decide(request, store=text_store)
        held = (await text_store.get([entry]))[entry.id]
        assert [one.is_so for one in held.decided_claims] == ([] if is_so is None else [is_so])
        await eventually(told, partial(_is, expected))


async def test_what_is_to_be_done_is_settled_until_its_entry_is_forgotten(text_store: TextStore, user: str) -> None:
    texts = ("I have to buy stamps", "I need to renew my passport", "Renewed my passport")
    said = [an_entry(user, text, created_at=NOON + timedelta(days=n)) for n, text in enumerate(texts)]
    said[:2] = [one.model_copy(update={"claims": (a_task(one.text),)}) for one in said[:2]]
    said[2] = said[2].model_copy(update={"changes": an_end_of(said[1]), "supersedes": (said[1].id,)})
    await store_entries(text_store, said)

    async def listed() -> dict[str, str]:
        reply = await loops.list_loops(LoopsRequest(user_id=user, state="all"), store=text_store)
        return {loop.text: loop.state for loop in reply.items}

    async def settled() -> Mapping[str, str]:
        return await settled_of(user, text_store)

    await eventually(listed, lambda found: found == {texts[0]: "open", texts[1]: "done"})
    (stamps,) = (await loops.list_loops(LoopsRequest(user_id=user), store=text_store)).items
    await loops.settle(SettleRequest(user_id=user, id=stamps.id, state="dropped"), store=text_store)
    await eventually(listed, lambda found: found == {texts[0]: "dropped", texts[1]: "done"})
    await drop_settled(said, text_store)
    await eventually(settled, lambda found: found == {})
