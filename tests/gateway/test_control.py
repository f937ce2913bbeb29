"""What people decide about their memory, over HTTP: corrections, pins, themes, settings, incognito, audit, export."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from nats.aio.msg import Msg

from contracts import flow, subjects
from contracts.envelope import ErrorInfo
from contracts.errors import Unavailable
from contracts.paths import EXPORT, VERBS
from services.shared.client import MemoryClient, RequestFailed
from services.shared.errors import AWAY
from services.shared.settings import Settings
from tests.claims import leave_claim
from tests.flow.raw import a_marker, holding
from tests.gateway.test_verbs import BOB, remembered
from tests.polling import digested, eventually


def test_every_request_of_the_bus_about_one_user_has_a_path() -> None:
    offered = {verb.answer for verb in (*VERBS, EXPORT)}
    assert offered == {answer for step in flow.FLOW for answer in step.answers if answer.is_of_one_user}


async def test_the_rest_endpoints_of_theoria_take_what_its_specification_says(ann: httpx.AsyncClient) -> None:
    async def ask(method: str, path: str, body: Any = None, **params: Any) -> dict[str, Any]:
        answer = await ann.request(method, path, json=body, params=params)
        assert answer.is_success, (method, path, answer.text)
        found: dict[str, Any] = answer.json()
        return found

    body = {"text": "I prefer uv over pip.", "space": "work", "tags": ["tools"], "manually_saved": False}
    entry = (await ask("POST", "/entries", body))["entry"]
    assert {name: entry[name] for name in body} == body
    saved = (await ask("POST", "/entries", {"text": "I keep bees.", "space": "work"}))["entry"]
    assert (await ask("POST", f"/entries/{saved['id']}/pin"))["entry"]["pinned"]
    for flag in ("pinned", "manually_saved"):
        for wanted, found in ((True, saved), (False, entry)):
            listed = await ask("GET", "/entries", space="work", **{flag: wanted})
            assert [one["id"] for one in listed["items"]] == [found["id"]]
    assert not (await ask("DELETE", f"/entries/{saved['id']}/pin"))["entry"]["pinned"]
    assert "2" in (await ask("GET", "/summary", space="work"))["text"]
    assert not any((await ask("DELETE", f"/entries/{entry['id']}"))["receipt"]["left"].values())
    again = await ann.post("/entries", json=body)
    assert (again.status_code, again.json()["code"]) == (409, "refused")
    decided = {"memory_enabled": True, "incognito_default": True}
    assert (await ask("POST", "/settings", {"space": "work"} | decided))["settings"].items() >= decided.items()
    assert (await ask("POST", "/incognito/start", {"conversation_id": "c1"}))["incognito"]
    assert not (await ask("POST", "/incognito/end", {"conversation_id": "c1"}))["incognito"]


@pytest.mark.parametrize("decided", [{"memory_enabled": False}, {"incognito_default": True}])
async def test_where_nothing_is_to_be_kept_nothing_is_created_nor_given(
    ann: httpx.AsyncClient, decided: dict[str, bool]
) -> None:
    async def post(path: str, body: dict[str, Any]) -> httpx.Response:
        return await ann.post(path, json=body)

    await post("/settings", {"space": "*"} | decided)
    refused = await post("/entries", {"text": "I keep bees."})
    assert (refused.status_code, refused.json()["code"]) == (409, "refused")
    (seeded,) = (await post("/profile", {"facts": ["I live in Lisbon"]})).json()["items"]
    assert seeded["id"] is None
    assert seeded["refused"]
    assert (await ann.get("/entries")).json()["total_count"] == 0
    await post("/settings", {"space": "*", "memory_enabled": True})
    await post("/incognito/end", {"conversation_id": "notes"})
    assert (await post("/entries", {"text": "I keep bees."})).status_code == 201


async def test_a_theme_is_not_described_while_memory_is_off(ann: httpx.AsyncClient) -> None:
    async def post(path: str, **body: Any) -> int:
        return (await ann.post(path, json=body)).status_code

    theme = {"slug": "divorce", "display_name": "Divorce from Karlotta"}
    await remembered(ann, "The lease ends in May.", space="work")
    await post("/settings", space="default", memory_enabled=False)
    assert await post("/themes", slug="office", display_name="Office") == 200, "the space work is on"
    await post("/settings", space="*", memory_enabled=False)
    assert await post("/themes", **theme) == 409
    assert {one["slug"] for one in (await ann.get("/themes")).json()["items"]} == {"office"}
    await post("/settings", space="work", memory_enabled=True)
    assert await post("/themes", **theme) == 200


async def test_what_was_told_to_one_persona_is_not_told_without_it(ann: httpx.AsyncClient, settings: Settings) -> None:
    async def got(path: str, **params: str) -> str:
        answer = await ann.get(path, params=params)
        assert answer.status_code == 200
        return answer.text

    async def says(text: str, **more: str) -> str:
        answer = await ann.post("/commands", json={"text": text} | more)
        assert answer.status_code == 200
        return answer.text

    told = await remembered(ann, "My sister Calpurnia lives in Rome.", persona_id="therapist")
    await ann.patch(f"/entries/{told['id']}", json={"themes": ["family"]})
    lisbon = await remembered(ann, "I live in Lisbon.")
    for entry, city, whose in ((told, "Rome", "Calpurnia"), (lisbon, "Lisbon", "")):
        await leave_claim(settings.sqlite_path, "ann", entry["id"], city, "home", whose=whose, sure=0.9)
    heard = [await got("/summary"), await got("/summary", persona_id="chef"), await got("/themes", persona_id="")]
    asked = ("What do you remember about Calpurnia?", "What do you know about me?", "pin that my sister is Calpurnia")
    for text in asked:
        heard.append(await says(text))
        heard.append(await says(text, persona_id="chef"))
    assert not [one for one in heard if "Rome" in one or "family" in one]
    assert "Lisbon" in heard[0]
    for persona in ("therapist", "*"):
        assert "Rome" in await got("/summary", persona_id=persona)
        assert "Rome" in await says("What do you remember about Calpurnia?", persona_id=persona)
        assert "family" in await got("/themes", persona_id=persona)
    assert "Rome" in await says("forget everything about Calpurnia"), "what goes is listed, whoever was told"


@pytest.mark.parametrize("on_the_way", [True, False])
async def test_a_caller_is_told_to_try_again_and_no_address(
    ann: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, on_the_way: bool
) -> None:
    why = "OpenSearch cannot be reached at http://127.0.0.1:46103: check that it runs and MEMORYBUS_OPENSEARCH_URL"

    async def away(*_: Any, **__: Any) -> bytes:
        raise Unavailable(why) if on_the_way else RequestFailed(ErrorInfo(code="unavailable", message=why))

    monkeypatch.setattr(MemoryClient, "ask", away)
    for answer in (await ann.get("/entries"), await ann.post("/erase", json={})):
        assert (answer.status_code, answer.json()["detail"]) == (503, AWAY)
        assert "46103" not in answer.text


async def test_a_correction_is_a_new_version_with_its_history(ann: httpx.AsyncClient, http: httpx.AsyncClient) -> None:
    entry = await remembered(ann, "My locker at work has the code 4007.")
    seen = (await ann.get(f"/entries/{entry['id']}")).headers["etag"]
    body = {"text": "My locker at work has the code 4008.", "tags": ["work"]}
    first = await ann.patch(f"/entries/{entry['id']}", json=body, headers={"If-Match": seen})
    assert (first.status_code, first.json()["entry"]["text"]) == (200, body["text"])
    assert first.headers["etag"] != seen
    late = await ann.patch(f"/entries/{entry['id']}", json={"text": "No."}, headers={"If-Match": seen})
    assert (late.status_code, late.json()["code"]) == (412, "changed")
    history = (await ann.get(f"/entries/{entry['id']}/history")).json()["items"]
    assert [one["text"] for one in history] == [body["text"], entry["text"]]
    assert [one["by"] for one in history] == ["user", None]
    for tag in ("W/x", "", '"999"', "9" * 5000):
        strange = await ann.patch(f"/entries/{entry['id']}", json={"text": "x"}, headers={"If-Match": tag})
        assert strange.status_code == 412
    assert (await ann.patch(f"/entries/{entry['id']}", json={"by": "bob"})).status_code == 422
    for method, path in (("DELETE", ""), ("POST", "/pin")):  # which would do it whatever became of the entry
        refused = await ann.request(method, f"/entries/{entry['id']}{path}", headers={"If-Match": seen})
        assert (refused.status_code, "PATCH" in refused.json()["detail"]) == (422, True)
    assert (await http.patch(f"/entries/{entry['id']}", json={"text": "x"}, headers=BOB)).status_code == 404


async def test_settings_may_stand_beside_the_space_and_hold_when_they_are_answered(ann: httpx.AsyncClient) -> None:
    flat = {"space": "work", "memory_enabled": True, "incognito_default": True}
    decided = {"memory_enabled": True, "incognito_default": True}
    own = (await ann.post("/settings", json=flat)).json()["own"]
    assert {name: value for name, value in own.items() if value is not None} == decided
    off = {"space": "work", "memory_enabled": False, "reset": ["incognito_default"]}
    await ann.post("/settings", json=off)
    own = (await ann.get("/settings", params={"space": "work"})).json()["own"]
    assert (own["memory_enabled"], own["incognito_default"]) == (False, None)
    found = (await ann.post("/search", json={"query": "uv or pip?", "space": "work"})).json()
    assert (found["items"], found["degraded"]) == ([], ["disabled"])
    both = {"space": "work", "memory_enabled": True, "change": {"memory_enabled": False}}
    for wrong in (both, {"memory_enabeld": False}, {"memory_enabled": "perhaps"}, {"change": {"soft_cup": 1}}):
        assert (await ann.post("/settings", json=wrong)).status_code == 422


async def test_an_incognito_turn_is_published_where_nobody_keeps_it(
    ann: httpx.AsyncClient, client: MemoryClient, settings: Settings
) -> None:
    word = a_marker()
    turn = {"role": "user", "text": f"My {word} is in the attic.", "conversation_id": "c1"}
    for number in range(20):
        answer = await ann.post("/turns", json=turn | {"turn_id": f"t{number}", "incognito": True})
        assert (answer.status_code, answer.json()["kept"]) == (202, False)
    assert (await client.bus.state(subjects.TURNS_STREAM.name)).last_seq == 0
    await ann.post("/turns", json=turn | {"text": "I keep bees.", "turn_id": "kept"})
    await digested(client, turns=1)
    assert (await client.status()).turns == 1
    assert holding(settings.data, word) == {}
    answer = await ann.post("/turns", json=turn | {"turn_id": "t20"})
    assert answer.json()["kept"] is True
    await digested(client, turns=2)
    assert holding(settings.data, word), "the test could not have failed"


async def test_a_turn_that_says_so_and_what_answers_it_go_where_nobody_keeps_it(
    ann: httpx.AsyncClient, client: MemoryClient
) -> None:
    heard: list[bytes] = []

    async def listen(msg: Msg) -> None:
        heard.append(msg.data)

    await client.nats.subscribe(f"{subjects.TURNS}.*", cb=listen)
    for role, text, kept in (
        ("user", "Off the record, my code is 4477.", False),
        ("assistant", "4477, I see.", False),
        ("user", "What I say next is off the record.", False),
        ("user", "My code is 4477.", False),
        ("assistant", "4477 again.", False),
        ("user", "I keep bees.", True),
        ("assistant", "How many?", True),
    ):
        answer = await ann.post("/turns", json={"role": role, "text": text})
        assert (answer.status_code, answer.json()["kept"]) == (202, kept)
    await digested(client, turns=2)
    assert heard
    assert not any(b"4477" in body for body in heard)


async def test_an_incognito_conversation_leaves_nothing(ann: httpx.AsyncClient, client: MemoryClient) -> None:
    started = (await ann.post("/incognito/start", json={"conversation_id": "c1"})).json()
    assert started["incognito"] is True
    await ann.post("/settings", json={"space": "off", "memory_enabled": False})
    for text, where, kept in (
        ("My s3cretMARKER is here.", {"conversation_id": "c1"}, False),
        ("My s3cretMARKER is here.", {"conversation_id": "c2", "space": "off"}, False),
        ("I keep bees.", {"conversation_id": "c2"}, True),
    ):
        answer = await ann.post("/turns", json={"role": "user", "text": text} | where)
        assert (answer.status_code, answer.json()["kept"]) == (202, kept), where
    await digested(client, turns=1)
    assert (await client.bus.state(subjects.TURNS_STREAM.name)).last_seq == 1
    assert "MARKER" not in (await ann.get("/entries")).text
    ended = (await ann.post("/incognito/end", json={"conversation_id": "c1"})).json()
    assert ended["incognito"] is False


async def test_the_audit_tells_what_was_done_over_http(ann: httpx.AsyncClient) -> None:
    entry = await remembered(ann, "My s3cretMARKER is here.")
    await ann.post("/search", json={"query": "s3cretMARKER"})
    await ann.post(f"/entries/{entry['id']}/pin")

    def verbs(audit: httpx.Response) -> set[str]:
        return {one["verb"] for one in audit.json()["items"]}

    done = {"retrieve", "entries.pin"}
    answer = await eventually(lambda: ann.get("/audit"), lambda audit: done <= verbs(audit))
    assert "MARKER" not in answer.text
    only = (await ann.get("/audit", params={"verb": "retrieve"})).json()["items"]
    assert {one["verb"] for one in only} == {"retrieve"}


async def test_an_export_is_streamed_line_by_line(ann: httpx.AsyncClient, http: httpx.AsyncClient) -> None:
    texts = {f"Drawer {n} holds {n * 13} spoons." for n in range(5)}
    for text in texts:
        await remembered(ann, text)
    answer = await ann.get("/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert "attachment" in answer.headers["content-disposition"]
    assert all(text in answer.text for text in texts)
    assert len([json.loads(line) for line in answer.text.splitlines()]) > len(texts)
    assert "Drawer" not in (await http.get("/export", headers=BOB)).text


async def test_what_a_user_says_in_a_chat_is_done_after_a_confirmation(ann: httpx.AsyncClient) -> None:
    await remembered(ann, "I prefer uv over pip.")
    everything = {"text": "forget everything about uv"}
    reply = (await ann.post("/commands", json=everything)).json()
    assert reply["needs_confirmation"]
    assert (await ann.get("/entries")).json()["total_count"] == 1
    await ann.post("/commands", json=everything | {"confirm": reply["token"]})
    assert (await ann.get("/entries")).json()["total_count"] == 0
