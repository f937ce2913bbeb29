"""No password survives where an address is shown, and whatever a library puts into an error, no way out shows one."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
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
from services.shared.redaction import redact_address, redact_text
from services.shared.settings import Settings

MARKER = "s3cretMARKER"
ADDRESS = f"http://ann:{MARKER}@127.0.0.1:9/v1?api_key={MARKER}"


SCHEMES = ("", "nats://", "tls://", "http://", "https://", "HTTP://", "redis+tls://")
HOSTS = ("bus", "127.0.0.1", "[::1]", "[fe80::1%25eth0]", "a-b.c_d.example", "xn--bcher-kva.example")

odd = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["@", "/", "?", "#", ":", ",", "%", "%40", "//", "://", "1234", "\\", '"', "'", " ", "\n", "é", "[", "]", "&=", ";"]
)
passwords = st.builds(lambda a, b: a + MARKER + b, odd, odd) | st.builds(lambda a: quote(a + MARKER, safe=""), odd)
schemes, hosts = st.sampled_from(SCHEMES), st.sampled_from(HOSTS)
ports = st.sampled_from(("", ":4222", ":1", ":65535"))
users = st.sampled_from(("u", "", "a.b-c", "%40x"))

one_address = st.one_of(
    st.builds(lambda s, u, p, h, n: f"{s}{u}:{p}@{h}{n}/v1", schemes, users, passwords, hosts, ports),
    st.builds(lambda s, p, h, n: f"{s}{p}@{h}{n}", schemes, passwords, hosts, ports),
    st.builds(lambda s, h, n, p: f"{s}{h}{n}/v1?api_key={p}", schemes, hosts, ports, passwords),
    st.builds(lambda s, h, n, p: f"{s}{h}{n}/{p}/v1#{p}", schemes, hosts, ports, passwords),
)


@given(st.lists(one_address, min_size=1, max_size=3), st.sampled_from([",", ", ", " ,"]))
@example([f"{MARKER}://@bus"], ",")
def test_of_addresses_only_servers_and_ports_are_shown(addresses: list[str], comma: str) -> None:
    assert MARKER not in redact_address(comma.join(addresses))


plain = st.builds(
    lambda s, u, p, h, n: f"{s}{u}:{p}@{h}{n}/v1?key={p}",
    st.sampled_from(SCHEMES[1:]),
    users,
    st.builds(lambda a, b: quote(a + MARKER + b, safe="!$&()*+,;=:@/?#"), odd, odd),
    hosts,
    ports,
)


@given(st.lists(plain, min_size=1, max_size=3), st.sampled_from([" ", "'", '"', ", ", "\n", "): ("]))
def test_in_a_text_no_address_keeps_its_password(addresses: list[str], between: str) -> None:
    text = "cannot reach " + between.join(addresses) + between + "try again"
    assert MARKER not in redact_text(text)
    assert redact_text(text).startswith("cannot reach ")
    assert redact_text(text).endswith("try again")


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    redact_address(text)
    assert redact_text(redact_text(text)) == redact_text(text)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ("nats://ann:pw@one:4222, nats://ann:pw@two:4222", "nats://one:4222,nats://two:4222"),
        ("one:4222,two:4222", "one:4222,two:4222"),
        ("http://u:p@[::1]:9200/prefix", "http://[::1]:9200"),
        ("https://models.example/v1?api_key=x", "https://models.example"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
        ("ann:pw@host", "host"),
        ("", ""),
    ],
)
def test_servers_are_still_recognised(address: str, shown: str) -> None:
    assert redact_address(address) == shown


@pytest.mark.parametrize(
    "address",
    [
        "http://u:12/34@host",  # the password ends the server
        "http://u:12,34@host",
        "http://u:12@34,56@host",
        "http://u:12@34/56@host",
        "http://u:12?34@host",
    ],
)
def test_what_may_be_part_of_a_password_is_hidden(address: str) -> None:
    shown = redact_address(address)
    assert not any(part in shown for part in ("12", "34", "56"))


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Basic dTpNQVJLRVI=",
        "{'authorization': 'Bearer MARKER'}",
        '{"user":"u","pass":"MARKER"}',
        "api-key=MARKER&x=1",
        "MEMORYBUS_QDRANT_API_KEY='MARKER'",
        "b'api-key', b'MARKER'",
        "ann:MARKER@host:4222",
    ],
)
def test_credentials_in_a_text_are_hidden(text: str) -> None:
    assert "MARKER" not in redact_text(text)
    assert "dTpNQVJLRVI" not in redact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "no bus answers at nats://127.0.0.1:4222: start one with `memorybus up`, or name another with --nats",
        "check MEMORYBUS_NATS_USER and MEMORYBUS_NATS_PASSWORD, or MEMORYBUS_NATS_CREDS",
        "OpenSearch cannot be reached at http://127.0.0.1:9200, http://127.0.0.1:9201: check that it runs",
        'permissions violation for publish to "memory.v1.turns.ann"',
        "12:30 at a@b",
    ],
)
def test_our_own_words_stay(text: str) -> None:
    assert redact_text(text) == text


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
