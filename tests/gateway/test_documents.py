"""The documents of both surfaces as tools for them read them: linters, and generators of clients.

Spectral and Redocly are taken from `PATH` (`npm install --global @stoplight/spectral-cli@6 @redocly/cli@2`), where
`.ci/tools` puts them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts import flow, subjects
from services.gateway import asyncapi, openapi
from services.gateway.api import paths

HTTP = openapi.document(paths("1.2.3"))
BUS = asyncapi.document("1.2.3", "nats://127.0.0.1:4222")
RULES = """
extends: ["spectral:oas", "spectral:asyncapi"]
rules:
  asyncapi-latest-version: off  # generators read 3.0.0
  asyncapi-info-contact-properties: off  # there is no address to write to
"""


def schemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from schemas(each)


@pytest.mark.parametrize("document", [HTTP, BUS], ids=["http", "bus"])
def test_every_list_says_what_is_in_it(document: dict[str, Any]) -> None:
    lists = [one for one in schemas(document) if one.get("type") == "array"]
    assert lists
    assert [one for one in lists if "items" not in one] == []


def test_it_is_said_how_a_caller_is_known() -> None:
    schemes = HTTP["components"]["securitySchemes"]
    assert (schemes["credential"]["scheme"], schemes["user"]["name"]) == ("bearer", "Memory-User")
    assert HTTP["security"] == [{"credential": []}, {"user": []}, {}]
    (server,) = BUS["servers"].values()
    assert server["security"] == [{"$ref": "#/components/securitySchemes/user"}]
    assert BUS["components"]["securitySchemes"]["user"]["type"] == "userPassword"


def test_a_client_made_from_a_document_is_not_called_as_ours() -> None:
    for document in (HTTP, BUS):
        package = re.sub(r"\W+", "_", f"{document['info']['title']} client").lower()
        assert package.startswith("memorybus")
        assert package != "memorybus_client"


def test_whoever_knows_the_document_alone_can_publish_a_turn_and_ask() -> None:
    turns = BUS["channels"][subjects.TURNS]
    assert turns["address"] == f"{subjects.TURNS}.{{user}}"
    assert turns["x-jetstream"] == {"stream": subjects.TURNS_STREAM.name, "keeps": "until_done"}
    assert subjects.MSG_ID_HEADER in turns["messages"]["Turn"]["headers"]["properties"]
    assert "PubAck" in BUS["operations"][f"ingest hears {subjects.TURNS}"]["x-acknowledgement"]
    asked = BUS["operations"][f"retrieve answers {flow.RETRIEVE.subject.removesuffix('.<user>')}"]
    assert asked["bindings"]["nats"] == {"queue": "retrieve", "bindingVersion": "0.1.0"}
    assert "reply" in asked
    retrieve = BUS["channels"][flow.RETRIEVE.subject.removesuffix(".<user>")]
    assert subjects.DEADLINE_HEADER in retrieve["messages"]["RetrieveRequest"]["headers"]["properties"]
    assert "x-jetstream" not in retrieve
    kept = {name for name, one in BUS["channels"].items() if "x-jetstream" in one}
    assert kept == {subjects.TURNS, *(event.subject for step in flow.FLOW for event in step.says)}


def _linted(folder: Path, *command: str) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is missing (npm install --global @stoplight/spectral-cli@6 @redocly/cli@2)")
    (folder / ".spectral.yaml").write_text(RULES)
    for name, document in (("http.json", HTTP), ("bus.json", BUS)):
        (folder / name).write_text(json.dumps(document))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", ["http.json", "bus.json"])
def test_spectral_finds_nothing(tmp_path: Path, name: str) -> None:
    _linted(tmp_path, "spectral", "lint", "--fail-severity=hint", name)


@pytest.mark.timeout(240)
def test_redocly_finds_nothing(tmp_path: Path) -> None:
    _linted(tmp_path, "redocly", "lint", "--max-problems=10", "http.json")
