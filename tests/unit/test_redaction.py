"""No password survives where an address is shown, however the address is written."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.shared.redaction import redact_address, redact_text

MARKER = "s3cretMARKER"

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
