"""Several people behind one user are noticed by what their client tells of them, and told of once."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest

from services.gateway.proxy.people import People, told_of
from tests.gateway.proxy.backend import ModelServer

_WEBUI = {"user-agent": "Python/3.11 aiohttp/3.14.5"}


def of(user: str) -> dict[str, Any]:
    return {"metadata": {"user_id": user}}


def claude(session: str, account: str = "", device: str = "d" * 64) -> dict[str, Any]:
    told = {"device_id": device, "account_uuid": account, "session_id": session}
    return of(json.dumps(told))


def is_told(caplog: pytest.LogCaptureFixture, *requests: tuple[str, dict[str, str], dict[str, Any]]) -> bool:
    """Whether requests of one user are told to be of several people; each a conversation, headers and a body."""
    people = People()
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        for conversation, headers, body in requests:
            people.see("ann", conversation, told_of(headers, body))
    told = [record for record in caplog.records if record.message == "several_people"]
    assert len(told) <= 1, "once"
    return bool(told)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"user": "u-1"}, {"user": "u-2"}),
        ({"user": {"id": "1", "name": "Ida", "role": "user"}}, {"user": {"id": "2", "name": "Ben", "role": "user"}}),
        (of("u-1"), of("u-2")),
        (claude("s-1", "acc-1"), claude("s-2", "acc-2")),
        (
            {"metadata": {"user_id": "user_aa_account_1_session_x1"}},
            {"metadata": {"user_id": "user_bb_account_2_session_x2"}},
        ),
        ({"x-openwebui-user-id": "1"}, {"x-openwebui-user-id": "2"}),
        ({"x-forwarded-user": "ida"}, {"x-forwarded-user": "ben"}),
        ({"tailscale-user-login": "ida@example.org"}, {"tailscale-user-login": "ben@example.org"}),
    ],
)
def test_two_people_in_two_conversations_are_told_of_once(
    caplog: pytest.LogCaptureFixture, one: dict[str, Any], other: dict[str, Any]
) -> None:
    def request(conversation: str, told: dict[str, Any]) -> tuple[str, dict[str, str], dict[str, Any]]:
        is_header = any("-" in name for name in told)
        return conversation, _WEBUI | (told if is_header else {}), {} if is_header else told

    assert is_told(caplog, request("c-1", one), request("c-2", other), request("c-3", one), request("c-4", other))
    assert not is_told(caplog, request("c-1", one), request("c-2", one), request("c-3", one)), "one person"
    assert not is_told(caplog, request("c-1", one), request("c-1", other)), "one conversation"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((_WEBUI, {}), (_WEBUI, {})),
        ((_WEBUI, {"user": ""}), (_WEBUI, {"user": "ann"})),
        ((_WEBUI, {"user": "{{USER_ID}}"}), (_WEBUI, {"user": "ann"})),
        (({"user-agent": "app/1"}, {"user": "ann"}), ({"user-agent": "tool/2"}, {"user": "ann@example.org"})),
        ((_WEBUI, {"user": "ann"}), (_WEBUI, {"safety_identifier": "9f"})),
        ((_WEBUI, claude("s-1")), (_WEBUI, claude("s-2"))),
        ((_WEBUI, claude("s-1", "acc-1")), (_WEBUI, claude("s-2", "acc-1", "e" * 64))),
        (
            (_WEBUI, {"metadata": {"user_id": "user_a_session_1"}}),
            (_WEBUI, {"metadata": {"user_id": "user_a_session_2"}}),
        ),
        (({"x-openwebui-user-role": "admin"}, {}), ({"x-openwebui-user-role": "user"}, {})),
        (({"x-openwebui-chat-id": "1"}, {}), ({"x-openwebui-chat-id": "2"}, {})),
        (({"user-agent": "codex/0.171.0"}, {}), ({"user-agent": "codex/0.172.0"}, {})),
        (({"memory-user": "ann"}, {}), ({"memory-user": "ann "}, {})),
        ((_WEBUI, {"user": 1}), (_WEBUI, {"user": [2]})),
        ((_WEBUI, {"metadata": "x"}), (_WEBUI, {"metadata": {"user_id": None}})),
        ((_WEBUI, of("{" * 3000)), (_WEBUI, of("[" * 3000))),
    ],
)
def test_one_person_is_not_told_of(
    caplog: pytest.LogCaptureFixture,
    one: tuple[dict[str, str], dict[str, Any]],
    other: tuple[dict[str, str], dict[str, Any]],
) -> None:
    assert not is_told(caplog, ("c-1", *one), ("c-2", *other), ("c-3", *one), ("c-4", *other))


def test_what_is_kept_in_mind_is_bounded_and_holds_nothing_that_was_told() -> None:
    people = People(most=10)
    for number in range(100):
        people.see(f"user-{number}", "c-1", told_of({}, {"user": f"secret-{number}"}))
    assert len(people._seen) == 10
    for number in range(100):
        people.see("ann", f"c-{number}", told_of({f"x-{number}-user-id": "1" for number in range(50)}, {}))
    assert "secret" not in repr(vars(people))


async def test_through_the_proxy_it_is_in_the_log_and_counted(
    http: httpx.AsyncClient, model: ModelServer, user: str, caplog: pytest.LogCaptureFixture, place: Any
) -> None:
    async with httpx.AsyncClient(base_url=place.http, trust_env=False, verify=False) as root:
        before = _counted((await root.get("/metrics")).text)
        for text, who in (("I live in Lund.", "1"), ("I live in Split.", "2"), ("I bake bread.", "2")):
            body = {"model": "m-1", "messages": [{"role": "user", "content": text}]}
            answer = await http.post(
                "/chat/completions", json=body, headers={"Memory-User": user, "X-OpenWebUI-User-Id": who}
            )
            assert answer.status_code == 200
        assert _counted((await root.get("/metrics")).text) == before + 1
    (told,) = [record for record in caplog.records if record.message == "several_people"]
    assert "Memory-User" in told.__dict__["remedy"]


def _counted(metrics: str) -> float:
    name = "memorybus_proxy_shared_users_total "
    return next(float(line.removeprefix(name)) for line in metrics.splitlines() if line.startswith(name))
