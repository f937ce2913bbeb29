"""Forgetting one conversation: all that was said there alone, but what is pinned or saved."""

from __future__ import annotations

import json

import httpx

from contracts import subjects
from contracts.v1.audit import AuditRequest
from contracts.v1.commands import ListRequest
from contracts.v1.turns import Turn
from services.shared.client import MemoryClient
from tests.polling import eventually

ANN = {"Memory-User": "ann"}


async def said(client: MemoryClient, conversation: str, *texts: str, user: str = "ann", **more: bool) -> None:
    for text in texts:
        await client.publish(Turn(user_id=user, role="user", text=text, conversation_id=conversation, **more))


async def test_what_was_said_in_a_conversation_alone_is_forgotten(ann: httpx.AsyncClient, client: MemoryClient) -> None:
    await said(client, "c1", "My locker has the code 4007.", "I own a red kayak.", "The plumber comes on Monday.")
    await said(client, "c1", "Remember the spare key is under the mat.", manually_saved=True)
    await said(client, "c2", "I own a red kayak.", "My aunt lives in Bergen.")
    await said(client, "c1", "I sing in a choir.", user="bob")
    await eventually(lambda: client.status("ann"), lambda s: s.turns == 6 and s.pending == 0)
    await eventually(lambda: client.status("bob"), lambda s: s.turns == 1 and s.pending == 0)
    found = await client.list(ListRequest(user_id="ann", q="plumber"))
    await ann.post(f"/entries/{found.items[0].id}/pin")
    answer = await ann.delete("/conversations/c1")
    assert answer.status_code == 200, answer.text
    receipt = answer.json()
    assert (receipt["forgotten"], receipt["kept"], receipt["left"], receipt["failed"]) == (1, 3, 0, [])
    left = await client.list(ListRequest(user_id="ann"))
    assert {entry.text for entry in left.items} == {
        "I own a red kayak.",
        "The plumber comes on Monday.",
        "Remember the spare key is under the mat.",
        "My aunt lives in Bergen.",
    }
    assert (await client.list(ListRequest(user_id="bob"))).total_count == 1
    asked = AuditRequest(user_id="ann", verbs=("entries.bulk",))
    (told,) = (await eventually(lambda: client.audit(asked), lambda page: bool(page.items))).items
    assert told.about[:2] == ("forget", "conversation")
    again = (await ann.delete("/conversations/c1")).json()
    assert (again["forgotten"], again["kept"]) == (0, 2)
    other = (await ann.delete("/conversations/c2")).json()
    assert (other["forgotten"], other["kept"]) == (2, 0), "the kayak was said there alone by now"
    assert (await client.list(ListRequest(user_id="ann"))).total_count == 2


async def test_what_was_said_just_now_is_forgotten_too(ann: httpx.AsyncClient, client: MemoryClient) -> None:
    for number in range(5):
        await said(client, f"c{number}", f"My locker {number} has the code 40{number}7.", f"I own {number + 2} kayaks.")
        assert (await ann.delete(f"/conversations/c{number}")).json()["forgotten"] == 2
    await eventually(lambda: client.status("ann"), lambda s: s.turns == 10 and s.pending == 0)
    assert (await client.list(ListRequest(user_id="ann"))).total_count == 0


async def test_a_conversation_that_nobody_knows_has_nothing_to_forget(ann: httpx.AsyncClient) -> None:
    for name in ("nothing", "a%2Fb", "chat-%C3%A9"):
        answer = await ann.delete(f"/conversations/{name}")
        assert (answer.status_code, answer.json()["forgotten"]) == (200, 0)
    assert (await ann.delete(f"/conversations/{'x' * 257}")).status_code == 422


async def in_the_bin(client: MemoryClient) -> int:
    return (await client.bus.state(subjects.DEAD_STREAM.name)).messages


async def test_what_the_bus_set_aside_of_a_conversation_goes_with_it(
    ann: httpx.AsyncClient, client: MemoryClient
) -> None:
    said = {"user_id": "ann", "role": "user", "text": "My locker has the code 4007.", "created_at": "yesterday"}
    places: tuple[dict[str, str], ...] = (
        {"conversation_id": "DC"},
        {"conversation_id": "DC", "space": "work"},
        {"conversation_id": "other"},
        {},
    )
    for number, place in enumerate(places):
        body, stream = json.dumps(said | place).encode(), subjects.TURNS_STREAM.name
        await client.bus.publish(subjects.turns("ann"), body, message_id=f"m{number}", stream=stream)
    await eventually(lambda: in_the_bin(client), lambda count: count == 4)
    for asked, left in (("other?space=work", 4), ("DC?space=work", 3), ("DC", 2), ("other", 1)):
        answer = await ann.delete(f"/conversations/{asked}")
        assert (answer.status_code, answer.json()["forgotten"]) == (200, 0)
        assert await in_the_bin(client) == left, asked
    refused = await ann.post("/entries/bulk", json={"ids": [], "action": "forget"})
    assert refused.status_code == 422
