"""Messages as they were first written are read for ever: each golden file is never edited, only added to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from contracts.envelope import ErrorReply
from contracts.v1.chat import CommandRequest
from contracts.v1.commands import CreateRequest, ListRequest
from contracts.v1.control import SettingsChange
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import Entry, EntryProposed, EntryRefused, EntryRepeated
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn

HERE = Path(__file__).parent / "v1"
MODELS: dict[str, type[BaseModel]] = {
    "turn": Turn,
    "turn_minimal": Turn,
    "entry": Entry,
    "entry_proposed": EntryProposed,
    "entry_repeated": EntryRepeated,
    "entry_refused": EntryRefused,
    "retrieve_request": RetrieveRequest,
    "retrieve_reply": RetrieveReply,
    "create_request": CreateRequest,
    "list_request": ListRequest,
    "error_reply": ErrorReply,
    "dead_letter": DeadLetter,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_first_written_form_is_still_read_as_it_was_meant(name: str) -> None:
    message = MODELS[name].model_validate_json((HERE / f"{name}.json").read_bytes())
    read = json.loads(message.model_dump_json())
    expected_path = HERE / f"{name}.expected.json"
    expected = json.loads(expected_path.read_text()) if expected_path.exists() else None
    if read != expected:
        modified = HERE / f"{name}.modified.json"
        modified.write_text(json.dumps(read, indent=2) + "\n")
        pytest.fail(f"{name} reads differently now: compare {modified.name} with {expected_path.name}")


def test_unknown_fields_are_ignored_so_that_fields_can_be_added() -> None:
    assert Turn.model_validate({"user_id": "a", "role": "user", "text": "x", "mood": "fine"}).text == "x"


@pytest.mark.parametrize("moment", [1769940000, 1769940000.5, 1769940000000, True, "1769940000", "+1.7e9", ""])
def test_a_time_is_written_as_in_iso_8601(moment: object) -> None:
    for model, said, field in (
        (Turn, {"role": "user", "text": "x"}, "created_at"),
        (RetrieveRequest, {"query": "x"}, "now"),
    ):
        with pytest.raises(ValidationError, match="ISO 8601"):
            model.model_validate_json(json.dumps({"user_id": "ann", field: moment, **said}))


@pytest.mark.parametrize("model", [Turn, CreateRequest, RetrieveRequest, ListRequest])
def test_an_empty_space_is_refused_wherever_it_is_given(model: type[BaseModel]) -> None:
    said = {"user_id": "ann", "role": "user", "text": "x", "query": "x"}
    assert model.model_validate(said)
    with pytest.raises(ValidationError, match="space"):
        model.model_validate({**said, "space": ""})


@pytest.mark.parametrize("model", [RetrieveRequest, CommandRequest, SettingsChange])
@pytest.mark.parametrize(
    "zone", ["Vienna", "europe/nowhere", "../../etc/passwd", "Europe", "", "a" * 65, "a\0b", "/etc"]
)
def test_a_time_zone_that_is_none_is_refused_without_repeating_it(model: type[BaseModel], zone: str) -> None:
    said = {"user_id": "ann", "text": "x", "query": "x"} if model is not SettingsChange else {}
    assert model.model_validate({**said, "time_zone": "Europe/Vienna"})
    with pytest.raises(ValidationError, match="time_zone") as error:
        model.model_validate({**said, "time_zone": zone})
    assert "passwd" not in str(error.value)


def test_an_empty_persona_is_none() -> None:
    assert Turn(user_id="ann", role="user", text="x", persona_id="").persona_id is None
    assert CreateRequest(user_id="ann", text="x", persona_id="").persona_id is None


def test_every_schema_file_is_that_of_the_code() -> None:
    from scripts.generate import schema_files

    for path, wanted in schema_files().items():
        assert path.read_text() == wanted, f"{path.name} is stale: run scripts/generate.py"
