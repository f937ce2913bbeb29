"""The AsyncAPI document: what every service is wired to, whole, and nothing that is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from contracts import flow
from contracts.flow import FLOW
from services.gateway.asyncapi import document
from services.shared.app import Service
from services.shared.bus.requests import RequestHandler

DOCUMENT = document("1.2.3", "nats://a:4222,tls://b:4222")


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (value for name, value in node.items() if name == "$ref")
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from references(each)


def test_it_is_json_of_asyncapi_3_and_every_reference_leads_somewhere() -> None:
    assert json.loads(json.dumps(DOCUMENT))["asyncapi"] == "3.0.0"
    for reference in references(DOCUMENT):
        found: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]


def test_it_names_every_request_with_its_reply_and_every_event() -> None:
    operations = DOCUMENT["operations"].values()
    answered = {
        (one["channel"]["$ref"], one["messages"][0]["$ref"], one["reply"]["messages"][0]["$ref"])
        for one in operations
        if "reply" in one
    }
    assert answered == {
        (
            place := f"#/channels/{answer.subject.removesuffix('.<user>')}",
            f"{place}/messages/{answer.request.__name__}",
            f"#/channels/inbox/messages/{answer.reply.__name__}",
        )
        for step in FLOW
        for answer in step.answers
    }
    said = [one["channel"]["$ref"] for one in operations if one["action"] == "send"]
    assert sorted(said) == sorted(f"#/channels/{event.subject}" for step in FLOW for event in step.says)


def test_servers_are_named_as_they_may_be_shown() -> None:
    shown = [(one["host"], one["protocol"]) for one in DOCUMENT["servers"].values()]
    assert shown == [("a:4222", "nats"), ("b:4222", "tls")]


async def nothing(_: Any) -> Any:
    raise AssertionError


@pytest.mark.parametrize(
    ("name", "answers"),
    [("retrieve", ()), ("retrieve", (flow.RETRIEVE, flow.GET)), ("gateway", (flow.STATUS,)), ("dedupe", ())],
)
def test_a_service_that_is_wired_to_anything_else_does_not_start(name: str, answers: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=f"{name} answers or says something else"):
        Service(name, answers=tuple(RequestHandler(answer, nothing, 1) for answer in answers))
