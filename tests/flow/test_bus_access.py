"""Joining a bus that asks who one is, or that is encrypted, or of which a server is down."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from contracts.ports import Unavailable
from services.shared.bus.connection import NOBODY, Access, connect, servers_of
from services.shared.bus.server import free_port
from services.shared.client import memory_client
from services.shared.settings import Settings
from tests.servers.nats_cluster import nats_server

ONE_USER = "authorization { users = [ { user: ann, password: $TEST_PASSWORD } ] }"
PASSWORD = "S3cretOfAnn"
ANN = Access(user="ann", password=SecretStr(PASSWORD))


async def joins(url: str, access: Access) -> bool:
    client = await connect(url, name="test", access=access)
    try:
        await client.flush(timeout=5)
        return client.is_connected
    finally:
        await client.close()


async def refusal(url: str, access: Access) -> str:
    with pytest.raises(Unavailable) as caught:
        await connect(url, name="test", access=access, patience=1.0)
    return str(caught.value)


async def test_the_right_password_lets_in_and_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = Access(user="ann", password=SecretStr("S3cretOfSomebody"))
    async with nats_server(tmp_path, ONE_USER, {"TEST_PASSWORD": PASSWORD}) as server:
        assert await joins(server.url, ANN)
        assert await joins(server.url.replace("//", f"//ann:{PASSWORD}@"), NOBODY)
        said = [await refusal(server.url, wrong), await refusal(server.url, NOBODY)]
        said.append(await refusal(server.url.replace("//", "//ann:S3cretInUrl@"), NOBODY))
    assert "does not let user 'ann' in: check MEMORYBUS_NATS_USER" in said[0]
    assert "S3cret" not in "".join([*said, repr(wrong), caplog.text])


async def test_a_client_joins_as_whom_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_NATS_USER", "ann")
    monkeypatch.setenv("MEMORYBUS_NATS_PASSWORD", PASSWORD)
    asked = {"TEST_PASSWORD": PASSWORD}
    async with nats_server(tmp_path, ONE_USER, asked) as server, memory_client(server.url) as client:
        assert client.nats.is_connected


async def test_a_server_that_is_down_does_not_matter_while_another_is_up(tmp_path: Path) -> None:
    down = f"nats://127.0.0.1:{free_port()}"
    async with nats_server(tmp_path) as server:
        assert await joins(f"{down}, {server.url}", NOBODY)
        assert await joins(f"{server.url},{down}", NOBODY)
        assert f"no bus answers at {down}" in await refusal(down, NOBODY)


async def test_half_of_a_pair_and_files_that_are_no_good_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("nothing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    url = "nats://127.0.0.1:1"
    assert "without MEMORYBUS_NATS_PASSWORD" in await refusal(url, Access(user="ann"))
    assert "MEMORYBUS_NATS_CREDS cannot be read" in await refusal(url, Access(creds=tmp_path / "none"))
    assert "MEMORYBUS_NATS_CREDS cannot be read" in await refusal(url, Access(creds=tmp_path / "binary"))
    assert "no NATS credentials file" in await refusal(url, Access(creds=tmp_path / "bad"))
    for setting, access in (
        ("CA", Access(ca=tmp_path / "none")),
        ("CERT", Access(cert=tmp_path / "none")),
        ("KEY", Access(cert=tmp_path / "bad", key=tmp_path / "none")),
    ):
        assert f"no file {tmp_path / 'none'}, which MEMORYBUS_NATS_{setting} names" in await refusal(url, access)
    assert "MEMORYBUS_NATS_CA" in await refusal(url, Access(ca=tmp_path / "bad"))


@pytest.mark.parametrize(
    "url", ["", " , ", "nats://", "nats://host:port", "nats://[::1", "nats://host:99999", "http://host"]
)
def test_what_is_no_address_is_said_before_anything_is_tried(url: str) -> None:
    with pytest.raises(Unavailable, match=r"no address|no bus is named"):
        servers_of(url)


def test_access_is_made_of_the_settings() -> None:
    given = {"nats_user": "ann", "nats_password": PASSWORD, "nats_creds": "c", "nats_ca": "a", "nats_cert": "b"}
    access = Access.of(Settings.model_validate({**given, "nats_key": "k"}))
    assert access == Access("ann", SecretStr(PASSWORD), Path("c"), Path("a"), Path("b"), Path("k"))
    assert PASSWORD not in repr(access)
    assert Access.of(Settings()) == NOBODY


def test_an_address_that_names_somebody_counts_more_than_the_settings() -> None:
    others = Settings.model_validate({"nats_user": "ann", "nats_password": PASSWORD, "nats_creds": "c", "nats_ca": "a"})
    named = Access.of(others, "nats://one:4222, nats://bob:p%40ss@word@two:4222")
    assert named == Access("bob", SecretStr("p@ss@word"), ca=Path("a"))
    assert Access.of(others, "tls://t0ken@one:4222") == Access(ca=Path("a"))
    assert Access.of(others, "one:4222,nats://two") == Access.of(others)


@dataclass(frozen=True)
class Certificates:
    ca: Path
    cert: Path
    key: Path


def certificates(folder: Path, name: str) -> Certificates:
    """A certificate for 127.0.0.1 that is its own authority."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    return Certificates(cert, cert, key)


def tls(server: Certificates, more: str = "") -> str:
    return f"tls {{ cert_file: {json.dumps(str(server.cert))}, key_file: {json.dumps(str(server.key))}\n{more} }}\n"


async def test_an_encrypted_bus_is_joined_with_its_authority_and_nothing_is_told_to_another(tmp_path: Path) -> None:
    real, fake, mine = (certificates(tmp_path, name) for name in ("real", "fake", "mine"))
    mutual = f"ca_file: {json.dumps(str(mine.ca))}\nverify: true"
    async with nats_server(tmp_path / "bus", tls(real, mutual)) as server:
        assert await joins(server.url, Access(ca=real.ca, cert=mine.cert, key=mine.key))
        assert await joins(server.url.replace("nats:", "tls:"), Access(ca=real.ca, cert=mine.cert, key=mine.key))
        assert "no secure connection" in await refusal(server.url, Access(ca=fake.ca, cert=mine.cert, key=mine.key))
        assert "MEMORYBUS_NATS_C" in await refusal(server.url, Access(ca=real.ca))


async def test_a_password_is_not_told_to_a_server_without_the_encryption_that_is_wanted(tmp_path: Path) -> None:
    mine = certificates(tmp_path, "mine")
    trace = f"trace: true\ntrace_verbose: true\nlogfile: {json.dumps(str(tmp_path / 'trace.log'))}\n"
    async with nats_server(tmp_path / "bus", trace + ONE_USER, {"TEST_PASSWORD": PASSWORD}) as server:
        said = await refusal(server.url, Access(user="ann", password=SecretStr(PASSWORD), ca=mine.ca))
        told = "<<- [CONNECT" in (tmp_path / "trace.log").read_text()
        assert await joins(server.url, ANN)
    assert "offers no TLS" in said
    assert not told
    assert "<<- [CONNECT" in (tmp_path / "trace.log").read_text()


def _token(claims: dict[str, Any], issuer: Any) -> str:
    """A JWT as the bus wants it."""

    def packed(raw: bytes) -> str:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")

    body = {"jti": os.urandom(8).hex(), "iat": int(time.time()), "iss": issuer.public_key.decode(), **claims}
    header = packed(b'{"typ":"JWT","alg":"ed25519-nkey"}')
    signed = f"{header}.{packed(json.dumps(body).encode())}"
    return f"{signed}.{packed(issuer.sign(signed.encode()))}"


async def test_a_credentials_file_lets_in(tmp_path: Path) -> None:
    nkeys: Any = pytest.importorskip("nkeys", reason="credentials files need the package nkeys (extra `cluster`)")
    operator = nkeys.from_seed(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_OPERATOR))
    account = nkeys.from_seed(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_ACCOUNT))
    seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    name, user = account.public_key.decode(), nkeys.from_seed(bytearray(seed)).public_key.decode()
    unlimited = {"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "conn": -1, "leaf": -1}
    operator_claims = {"sub": operator.public_key.decode(), "nats": {"type": "operator", "version": 2}}
    account_claims = {"sub": name, "nats": {"type": "account", "version": 2, "limits": unlimited}}
    user_claims = {"sub": user, "nats": {"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1}}
    creds = tmp_path / "ann.creds"
    creds.write_text(
        f"-----BEGIN NATS USER JWT-----\n{_token(user_claims, account)}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed.decode()}\n------END USER NKEY SEED------\n"
    )
    configuration = (
        f"operator: {_token(operator_claims, operator)}\nsystem_account: {name}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {name}: {_token(account_claims, operator)} }}\n"
    )
    async with nats_server(tmp_path / "bus", configuration) as server:
        assert await joins(server.url, Access(creds=creds))
        assert "MEMORYBUS_NATS_CREDS" in await refusal(server.url, NOBODY)
