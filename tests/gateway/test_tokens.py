"""JSON Web Tokens: what proves nothing opens nothing, however it was made."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from contracts.v1.commands import StatusReply
from services.gateway.api import Edge, application, paths
from services.gateway.callers import GuardedDoor
from services.gateway.keys import KeyRing
from services.gateway.limits import RateLimits
from services.gateway.settings import GatewaySettings
from services.gateway.tokens import KeySet, TokenVerifier
from services.shared.client import MemoryClient
from services.shared.redaction import redact_text
from services.shared.settings import UnusableSetting
from tests.polling import eventually

SECRET = "a secret of the issuer, long enough to be one"
PRIVATE, OTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
PEM = PRIVATE.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)  # fmt: skip
Json = dict[str, Any]


class Asked:
    """A memory that notes for whom it was asked."""

    def __init__(self) -> None:
        self.users: list[str] = []

    async def ask(self, answer: Any, body: Any, **_: Any) -> bytes:
        self.users.append(body.user_id)
        counts = StatusReply(turns=0, entries=0, inactive=0, merged=0, refused=0, vectors=0, pending=0)
        return counts.model_dump_json().encode()


@asynccontextmanager
async def edge(**settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Asked]]:
    chosen = GatewaySettings(auth=True, requests_per_minute=0, queries_per_minute=0, **settings)
    memory = Asked()
    door = GuardedDoor(cast(KeyRing, None), TokenVerifier(chosen), chosen)
    limits = RateLimits(cast(Any, None), chosen)
    app = application(Edge(cast(MemoryClient, memory), door, limits, chosen, longest=100), paths("test"))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost/v1/memory") as http:
        yield http, memory


def claims(**changed: Any) -> Json:
    made = {"sub": "ann", "aud": "memorybus", "iss": "them", "exp": int(time.time()) + 60} | changed
    return {name: value for name, value in made.items() if value is not None}


def hs256(secret: str = SECRET, /, **changed: Any) -> str:
    return jwt.encode(claims(**changed), secret, "HS256")


def rs256(key: rsa.RSAPrivateKey = PRIVATE, /, kid: str | None = None, **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, "RS256", {"kid": kid} if kid else None)


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def confused(head: Json | None = None) -> str:
    """Signed with HS256, and the public key taken for a secret."""
    signed = ".".join(encoded(json.dumps(part).encode()) for part in (head or {"alg": "HS256", "typ": "JWT"}, claims()))
    return f"{signed}.{encoded(hmac.digest(PEM, signed.encode(), sha256))}"


def unsigned(alg: str = "none") -> str:
    return f"{encoded(json.dumps({'alg': alg, 'typ': 'JWT'}).encode())}.{encoded(json.dumps(claims()).encode())}."


def tampered(token: str) -> str:
    head, _, signature = token.split(".")
    return f"{head}.{encoded(json.dumps(claims(sub='bob')).encode())}.{signature}"


async def status(http: httpx.AsyncClient, token: str | None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = await http.get("/status", headers=headers)
    if answer.status_code == 401:
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code


BAD = {
    "none": None,
    "empty": "",
    "no token": "xyz",
    "expired": hs256(exp=int(time.time()) - 5),
    "not yet": hs256(nbf=int(time.time()) + 60),
    "without an end": hs256(exp=None),
    "wrong algorithm": jwt.encode(claims(), SECRET * 2, "HS512"),
    "RS256 where HS256 is meant": rs256(),
    "alg none": unsigned(),
    "alg nOnE": unsigned("nOnE"),
    "wrong key": hs256("another secret, also long enough to be one"),
    "empty key": jwt.encode(claims(), "x" * 32, "HS256").rpartition(".")[0] + ".",
    "wrong audience": hs256(aud="another"),
    "no audience": hs256(aud=None),
    "wrong issuer": hs256(iss="another"),
    "no issuer": hs256(iss=None),
    "tampered": tampered(hs256()),
    "no user": hs256(sub=None),
    "a user of another kind": hs256(sub=""),
    "spaces of another kind": hs256(spaces={"work": 1}),
    "every space as if it were one": hs256(spaces=["work", "*"]),
    "no list of spaces": jwt.encode(claims() | {"spaces": None}, SECRET, "HS256"),
    "another scheme": "x",
}


@pytest.mark.parametrize("name", BAD)
async def test_a_token_that_proves_nothing_is_401(name: str) -> None:
    async with edge(jwt_secret=SECRET, jwt_issuer="them") as (http, memory):
        assert await status(http, BAD[name]) == 401
        assert await status(http, hs256()) == 200
    assert memory.users == ["ann"]


async def test_a_public_key_is_no_secret_and_no_other_key_is_taken(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(PEM)
    header = {"alg": "HS256", "typ": "JWT", "jwk": {"kty": "oct", "k": encoded(b"x" * 32)}}
    async with edge(jwt_public_key=tmp_path / "key.pem") as (http, memory):
        for token in (confused(), confused(header), unsigned(), rs256(OTHER), hs256(), tampered(rs256())):
            assert await status(http, token) == 401
        assert await status(http, rs256(exp=int(time.time()) - 5)) == 401
        assert await status(http, rs256()) == 200
    assert memory.users == ["ann"]


async def test_keys_of_an_issuer_are_found_by_their_id(tmp_path: Path) -> None:
    place, algorithm = tmp_path / "jwks.json", jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)
    known = algorithm.to_jwk(PRIVATE.public_key(), as_dict=True) | {
        "kid": "a",
        "use": "sig",
        "alg": "RS256",
    }
    secret = {"kty": "oct", "k": encoded(SECRET.encode()), "kid": "s", "alg": "HS256"}
    others: list[Json] = [{"use": "enc"}, {"use": None}, {"key_ops": ["encrypt"]}, {"key_ops": []}, {"alg": "RS512"}]
    unfit = [known | changed | {"kid": f"unfit {n}"} for n, changed in enumerate(others)]
    place.write_text(json.dumps({"keys": [known, known | {"kid": "v", "key_ops": ["verify"]}, secret, "x", *unfit]}))
    async with edge(jwt_jwks=str(place)) as (http, memory):
        for one in unfit:
            assert await status(http, rs256(kid=one["kid"])) == 401, one
        assert await status(http, rs256(kid="v")) == 200
        assert await status(http, rs256(kid="a")) == 200
        assert await status(http, rs256(OTHER, kid="a")) == 401
        assert await status(http, rs256(kid="b")) == 401
        assert await status(http, rs256()) == 401
        assert await status(http, jwt.encode(claims(), SECRET, "HS256", {"kid": "s"})) == 401
        assert await status(http, jwt.encode(claims(), PEM_LIKE, "HS256", {"kid": "a"})) == 401
    assert memory.users == ["ann", "ann"]


PEM_LIKE = encoded(PEM)


async def test_who_may_not_be_asked_for_keys_lets_nobody_in_and_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    async with edge(jwt_jwks="http://127.0.0.1:1/keys") as (http, memory):
        assert await status(http, rs256(kid="a")) == 503
    assert memory.users == []
    monkeypatch.setattr("services.gateway.tokens._AT_MOST_EVERY", 0)
    keys = KeySet("http://127.0.0.1:1/keys")
    assert keys.trouble is None
    reading = asyncio.create_task(keys.run())
    said = await eventually(lambda: asyncio.sleep(0, keys.trouble), bool)
    assert "MEMORYBUS_GATEWAY_JWT_JWKS" in str(said)
    known = jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True) | {"kid": "a"}
    monkeypatch.setattr(keys, "_text", lambda: asyncio.sleep(0, json.dumps({"keys": [known]})))
    await reading
    assert keys.trouble is None


def test_a_file_of_keys_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text('{"no": "keys"}')
    for name, why in (("missing", "No such file"), ("keys", "no key set")):
        with pytest.raises(UnusableSetting, match=f"MEMORYBUS_GATEWAY_JWT_JWKS: {why}"):
            TokenVerifier(GatewaySettings(jwt_jwks=str(tmp_path / name)))


async def test_a_token_for_no_space_opens_none() -> None:
    async with edge(jwt_secret=SECRET) as (http, memory):
        headers = {"Authorization": f"Bearer {hs256(spaces=[])}"}
        answer = await http.get("/entries", headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (403, "This credential is for no space.")
    assert memory.users == []


async def test_the_claim_of_the_user_is_chosen_by_the_settings() -> None:
    async with edge(jwt_secret=SECRET, jwt_user_claim="email") as (http, memory):
        assert await status(http, hs256(email="ann@example.org")) == 200
        assert await status(http, hs256()) == 401
    assert memory.users == ["ann@example.org"]


async def test_the_header_that_names_a_user_is_refused_beside_a_credential() -> None:
    async with edge(jwt_secret=SECRET) as (http, memory):
        headers = {"Authorization": f"Bearer {hs256()}", "Memory-User": "bob"}
        assert (await http.get("/status", headers=headers)).status_code == 400
        assert (await http.get("/status", headers={"Memory-User": "bob"})).status_code in (400, 401)
        assert (await http.get("/status", headers={"Authorization": f"Basic {hs256()}"})).status_code == 401
    assert memory.users == []


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(UnusableSetting) as refused:
        TokenVerifier(GatewaySettings(jwt_secret="short"))
    assert "32 bytes" in redact_text(str(refused.value))
