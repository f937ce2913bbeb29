"""The last line of defence: whatever a library puts into an error, no way out of the process shows a password."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import BaseModel, ValidationError

from contracts.ports import Unavailable
from contracts.v1.turns import Turn
from services.cli.common import fail
from services.shared.bus.dead_letters import reason_of
from services.shared.bus.nats_patches import known_complaint
from services.shared.bus.requests import error_info
from services.shared.errors import Poison
from services.shared.health import health_routes
from services.shared.logs import JsonFormatter, TextFormatter
from services.shared.settings import Settings

MARKER = "s3cretMARKER"
ADDRESS = f"http://ann:{MARKER}@127.0.0.1:9/v1?api_key={MARKER}"


def a_record(**fields: Any) -> logging.LogRecord:
    """A record with a traceback of two chained errors, as a client library makes it."""
    try:
        try:
            raise httpx.ConnectError(f"cannot connect to {ADDRESS}")
        except httpx.ConnectError as error:
            raise RuntimeError(f"{error} with Authorization: Bearer {MARKER}") from error
    except RuntimeError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "failed at %s", (ADDRESS,), sys.exc_info())
    record.__dict__.update(fields)
    return record


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_a_log_line_shows_no_password(formatter: logging.Formatter) -> None:
    cause = {"url": ADDRESS, "headers": [f"api-key={MARKER}"], "error": httpx.ConnectError(ADDRESS)}
    line = formatter.format(a_record(cause=cause, to=ADDRESS))
    assert MARKER not in line
    assert "127.0.0.1:9" in line
    assert "RuntimeError" in line


def test_a_json_line_stays_json() -> None:
    line = JsonFormatter().format(a_record(cause=f'{{"password": "{MARKER}"}}', attempts=3))
    assert json.loads(line)["attempts"] == 3


def test_no_reply_and_no_dead_letter_shows_a_password() -> None:
    assert MARKER not in error_info(Unavailable(f"nobody at {ADDRESS}")).message
    assert MARKER not in reason_of(Poison(f"refused by {ADDRESS}"))


async def test_no_page_shows_a_password() -> None:
    class Stage:
        name, is_optional = "embed", False

    class Waiting:
        stage, stuck, progress_at, is_busy, is_running = Stage(), f"nobody at {ADDRESS}", 0.0, True, True

    class Client:
        is_connected, is_deaf = True, False

        async def flush(self, **_: Any) -> None:
            raise OSError(ADDRESS)

    class Process:
        waits_for = None
        client: Any = Client()
        workers: Any = (Waiting(),)
        troubles = ()

    sent: list[Any] = []

    async def send(event: Any) -> None:
        sent.append(event)

    async def receive() -> Any:
        return {"type": "http.request"}

    readyz: Any = dict(health_routes(Process()))["/readyz"]
    await readyz({"type": "http", "method": "GET", "path": "/readyz", "headers": []}, receive, send)
    assert "127.0.0.1:9" in str(sent)
    assert MARKER not in str(sent)


def test_the_command_line_shows_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BaseException, match="1"):
        fail(f"nobody at {ADDRESS}")
    assert MARKER not in capsys.readouterr().err


SECRETS = [name for name in Settings.model_fields if name.endswith(("_url", "_password", "_api_key"))]


@pytest.mark.parametrize("name", SECRETS)
def test_settings_show_no_password(name: str, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, **{name: ADDRESS})
    assert MARKER not in repr(settings) + str(settings)
    with pytest.raises(ValidationError) as raised:
        Settings(data=tmp_path, **{name: [ADDRESS]})
    assert MARKER not in str(raised.value) + repr(raised.value)


def test_a_message_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(ValidationError) as raised:
        Turn.model_validate({"user_id": "ann", "role": MARKER, "text": [MARKER]})
    assert MARKER not in str(raised.value)


def test_every_message_keeps_its_input_to_itself() -> None:
    from contracts import envelope

    def below(model: type[BaseModel]) -> list[type[BaseModel]]:
        return [model, *(each for child in model.__subclasses__() for each in below(child))]

    assert all(model.model_config.get("hide_input_in_errors") for model in below(envelope.Message))


@pytest.mark.parametrize(
    "said",
    [
        'permissions violation for publish to "memory.v1.turns.ann"',
        'permissions violation for publish with reply of "memory.v1.turns.ann"',
        "authorization violation",
        "user authentication expired",
    ],
)
def test_what_a_bus_is_known_to_say_is_kept(said: str) -> None:
    assert known_complaint(f"'{said}'") == f"'{said}'"


@pytest.mark.parametrize(
    "said", [f'connect {{"pass":"{MARKER}"}}', f"x authorization {MARKER}", "", f"pub a.b {MARKER}"]
)
def test_what_else_it_says_is_not_repeated(said: str) -> None:
    assert MARKER not in known_complaint(f"'{said}'")
