"""JSON Web Tokens of an identity provider: who signed them is settled by the settings, never by the token."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import jwt

from contracts.errors import Unavailable
from services.gateway.problems import BadToken
from services.gateway.settings import GatewaySettings
from services.shared.bounded import UNCOMPRESSED, bounded
from services.shared.errors import MissingExtra
from services.shared.settings import UnusableSetting

Json = dict[str, Any]

_SHORTEST_SECRET = 32
_REFRESH = 300.0  # seconds
_AT_MOST_EVERY = 10.0  # seconds, for keys that are not known
_PATIENCE = 5.0


class TokenVerifier:
    """Checks tokens: signed by the one key or key set of the settings, in its one way, for this audience, now."""

    def __init__(self, settings: GatewaySettings) -> None:
        """Read the keys.

        Raises:
            UnusableSetting: they cannot be used.
            MissingExtra: RSA needs a library that is not installed.
        """
        self._settings = settings
        self._secret = settings.jwt_secret.get_secret_value() if settings.jwt_secret else None
        self._pem: str | None = None
        self.published = KeySet(settings.jwt_jwks) if settings.jwt_jwks else None
        if self._secret is not None and len(self._secret.encode()) < _SHORTEST_SECRET:
            raise UnusableSetting(
                f"MEMORYBUS_GATEWAY_JWT_SECRET is too short: it takes {_SHORTEST_SECRET} bytes or more"
            )
        if settings.jwt_public_key is not None:
            self._pem = _public_key(settings.jwt_public_key)
        if self._secret is None and find_spec("cryptography") is None:
            raise MissingExtra(
                "JWT with RS256 needs cryptography: `scripts/setup cluster`, or install memorybus[cluster]"
            )

    async def claims(self, token: str) -> Json:
        """What a token says that is valid now.

        Raises:
            BadToken: it proves nothing.
            Unavailable: the keys cannot be had now.
        """
        try:
            key: Any = self._secret or self._pem or await self._key_of(token)
            return jwt.decode(
                token,
                key,
                algorithms=["HS256" if self._secret else "RS256"],
                audience=self._settings.jwt_audience,
                issuer=self._settings.jwt_issuer or None,
                leeway=self._settings.jwt_leeway_seconds,
                options={"require": ["exp", "aud", *(["iss"] if self._settings.jwt_issuer else [])]},
            )
        except jwt.PyJWTError as error:
            raise BadToken(f"the token is not valid: {error}") from None
        except (ValueError, TypeError):
            raise BadToken("the token is not valid") from None

    async def _key_of(self, token: str) -> Any:
        assert self.published is not None
        return await self.published.key(str(jwt.get_unverified_header(token).get("kid", "")))


class KeySet:
    """The keys that an identity provider publishes (JWKS), from an address or a file, read anew now and then."""

    def __init__(self, place: str) -> None:
        """Note where they are; a file is to be there.

        Raises:
            UnusableSetting: the file cannot be read, or is no key set.
        """
        self._place = place
        self._keys: dict[str, Any] = {}
        self._read_at = -_REFRESH
        self._reading = asyncio.Lock()
        self._trouble: str | None = None
        if "://" not in place:
            _check_file(Path(place))

    @property
    def trouble(self) -> str | None:
        """Why no token can be checked, where the keys could not be read."""
        return None if self._keys else self._trouble

    async def run(self) -> None:
        """Read the keys, again and again until they can be read."""
        while True:
            with suppress(Unavailable):
                return await self._read()
            await asyncio.sleep(_AT_MOST_EVERY)

    async def key(self, kid: str) -> Any:
        """The RSA key of this id.

        Raises:
            BadToken: there is none.
            Unavailable: the keys cannot be read.
        """
        age = time.monotonic() - self._read_at
        if age > _REFRESH or (kid not in self._keys and age > _AT_MOST_EVERY):
            async with self._reading:
                if time.monotonic() - self._read_at >= age:  # nobody did meanwhile
                    await self._read()
        if kid not in self._keys:
            raise BadToken("the token is signed with a key that is not known")
        return self._keys[kid]

    async def _read(self) -> None:
        try:
            self._keys = _verifying(await self._text())
        except (httpx.HTTPError, OSError, ValueError) as error:
            if self._keys:  # those that were good stay good until others can be had
                self._read_at = time.monotonic() - _REFRESH + _AT_MOST_EVERY
                return
            self._trouble = f"the keys of MEMORYBUS_GATEWAY_JWT_JWKS cannot be read ({type(error).__name__})"
            raise Unavailable(self._trouble) from None
        self._trouble = None
        self._read_at = time.monotonic()

    async def _text(self) -> str:
        if "://" not in self._place:
            return await asyncio.to_thread(Path(self._place).read_text)
        async with httpx.AsyncClient(timeout=_PATIENCE, event_hooks=bounded(), headers=UNCOMPRESSED) as http:
            answer = await http.get(self._place)
            return answer.raise_for_status().text


def _verifying(text: str) -> dict[str, Any]:
    """The keys of a key set that are there to check RS256 with, by id.

    Raises:
        ValueError: it is no key set.
    """
    published = json.loads(text)
    if not (isinstance(published, dict) and isinstance(published.get("keys"), list)):
        raise ValueError("no key set")
    keys: dict[str, Any] = {}
    for one in published["keys"]:
        with suppress(jwt.PyJWTError):
            if isinstance(one, dict) and _verifies(one):
                keys[str(one.get("kid", ""))] = jwt.PyJWK(one).key
    return keys


def _verifies(key: Mapping[str, Any]) -> bool:
    """Whether its issuer means tokens to be checked with this key: one for encryption proves nothing (RFC 7517)."""
    operations = key.get("key_ops", ["verify"])
    meant = key.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
    return meant and key.get("kty") == "RSA" and key.get("alg", "RS256") == "RS256"


def _check_file(path: Path) -> None:
    try:
        _verifying(path.read_text())
    except OSError as error:
        raise UnusableSetting(f"MEMORYBUS_GATEWAY_JWT_JWKS: {error.strerror}") from None
    except ValueError:
        raise UnusableSetting("MEMORYBUS_GATEWAY_JWT_JWKS: no key set in JSON") from None


def _public_key(path: Path) -> str:
    try:
        text = path.read_text()
    except OSError as error:
        raise UnusableSetting(f"MEMORYBUS_GATEWAY_JWT_PUBLIC_KEY: {error.strerror}") from None
    if "PUBLIC KEY" not in text:
        raise UnusableSetting("MEMORYBUS_GATEWAY_JWT_PUBLIC_KEY: no public key in PEM")
    return text
