"""Sessions and what they amount to, read from a store: pages, personas, and that forgetting reaches all of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contracts.ports import TextStore
from contracts.v1.overview import SummaryRequest
from contracts.v1.sessions import SessionsReply, SessionsRequest
from services.curate import overview, sessions
from services.shared.errors import Rejected
from tests.claims import a_claim, a_task
from tests.stores.builders import NOON, a_session, an_entry, store_entries

SAID = ["My sister Clara moved to Porto.", "I'll send her the marmalade by Friday.", "How far is Porto?"]


async def asked(store: TextStore, user: str = "ann", **fields: object) -> SessionsReply:
    request = SessionsRequest.model_validate({"user_id": user, **fields})
    return await sessions.list_sessions(request, store=store, now=NOON + timedelta(days=2))


async def test_sessions_are_listed_page_by_page_the_latest_first(store: TextStore) -> None:
    days = [an_entry("ann", session_id=f"s{n}", created_at=NOON + timedelta(hours=n)) for n in range(5)]
    await store_entries(store, [*days, an_entry("bob"), an_entry("ann", space="work")])
    pages, cursor = list[str](), None
    while True:
        reply = await asked(store, space="default", limit=2, cursor=cursor)
        pages += [one.id for one in reply.items]
        cursor = reply.next_cursor
        if cursor is None:
            break
    assert pages == ["s4", "s3", "s2", "s1", "s0"]
    assert (reply.total_count, reply.states[0].sessions, reply.states[0].present) == (5, 5, None)
    assert (await asked(store)).total_count == 6
    with pytest.raises(Rejected, match="cursor"):
        await asked(store, cursor="none of ours")


async def test_a_persona_sees_its_own_sessions_and_those_of_none(store: TextStore) -> None:
    given = [an_entry("ann", f"{name}", session_id=f"s {name}", persona_id=name) for name in ("coach", "chef", None)]
    await store_entries(store, given)
    assert {one.persona_id for one in (await asked(store, persona_id="coach")).items} == {"coach", None}
    assert (await asked(store, persona_id="*")).total_count == 3


async def test_what_is_forgotten_is_in_no_summary(store: TextStore) -> None:
    said = a_session("ann", SAID, conversation_id="c1")
    claims = (a_task(SAID[1], "send her the marmalade"), a_claim(SAID[1], "Friday", "deadline"))
    said[1] = said[1].model_copy(update={"claims": claims})
    await store_entries(store, said)
    reply = await asked(store, id="s1", rolling="c1")
    assert reply.summary is not None
    assert reply.entry_ids == tuple(entry.id for entry in said)
    (promise,) = reply.summary.commitments
    assert (promise.text, promise.source_ids) == (SAID[1], (said[1].id,))
    whole = await overview.summarize(SummaryRequest(user_id="ann"), store=store)
    assert [one.text for one in whole.spine.open_loops] == [SAID[1]]
    await store.forget([said[1]], until=None)
    whole = await overview.summarize(SummaryRequest(user_id="ann"), store=store)
    assert "marmalade" not in whole.model_dump_json() + (await asked(store, id="s1", rolling="c1")).model_dump_json()


async def test_a_rolling_summary_is_of_a_conversation(store: TextStore) -> None:
    said = a_session("ann", [*SAID, "Porto is near Lisbon"], conversation_id="c1")
    await store_entries(store, [*said, an_entry("ann", "I like walks", conversation_id="c2")])
    rolling = (await asked(store, rolling="c1")).rolling
    assert rolling is not None
    assert rolling.turns == 4
    assert "Clara" in rolling.text
    assert "walks" not in rolling.text
    alone = await asked(store, rolling="c1", rolling_length=40, limit=0)
    assert (alone.items, alone.total_count) == ((), 0)
    assert alone.rolling is not None
    assert 0 < len(alone.rolling.text) <= 40
    assert alone.rolling.characters == sum(len(entry.text) for entry in said)
    none = await asked(store, limit=0)
    assert (none.items, none.total_count, none.next_cursor) == ((), 1, None)


async def test_nobody_has_the_session_of_another_user(store: TextStore) -> None:
    await store_entries(store, a_session("ann", SAID))
    with pytest.raises(Rejected, match="there is no session 's1'"):
        await asked(store, "bob", id="s1")
