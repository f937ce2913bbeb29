"""The models behind the proxy: where they are, and what of a request they get to see."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import uuid4

import httpx
from pydantic import SecretStr
from starlette.types import Scope

from services.gateway.proxy.settings import ProxySettings
from services.shared import tracing
from services.shared.settings import UnusableSetting

Header = tuple[bytes, bytes]

OURS = b"memory-"
"""How the headers of memory begin, which no model gets."""

_OF_ONE_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade".split()
)
_NOT_PASSED = _OF_ONE_HOP | {b"host", b"content-length", b"expect", b"cookie"}
_CREDENTIALS = frozenset({b"authorization", b"x-api-key", b"api-key"})
_OF_THE_ACCOUNT = re.compile(
    rb"openai-(?:organization|project)|x-goog-user-project|(?:x-)?forwarded(?:-.*)?|x-(?:original|rewrite|envoy|accel)-.*"
    rb"|x-(?:real-ip|host|http-method|http-method-override|method-override|upstream.*|backend.*|target.*)"
    rb"|.*(?:api-?key|token|secret|authorization|-org(?:anization)?(?:-id)?|-project(?:-id)?|-account(?:-id)?)"
)
"""Headers that name an account or a credential, or have a gateway ask elsewhere: not beside the operator's key."""

_NOT_RETURNED = _OF_ONE_HOP | {b"date"}  # the server dates every answer
_CORS = b"access-control-"
_CONNECT_SECONDS = 15.0
_MOST_IDLE = 64


@dataclass(frozen=True, slots=True)
class Backend:
    """One model server; without a `key` it gets the caller's own."""

    url: httpx.URL
    key: SecretStr | None
    key_setting: str
    is_anthropic: bool

    def address(self, path: bytes, query: bytes) -> httpx.URL:
        """The address of a path below `/v1`, at this server and no other.

        Raises:
            httpx.InvalidURL: path and query make none, or one of another server.
        """
        whole = self.url.raw_path.rstrip(b"/") + path
        address = self.url.copy_with(raw_path=whole + b"?" + query if query else whole or b"/")
        if (address.scheme, address.netloc) != (self.url.scheme, self.url.netloc):
            raise httpx.InvalidURL("it leads to another server")
        return address

    def headers(self, given: Iterable[Header], *, credential: str | None, via: bytes, reads: bool) -> list[Header]:
        """The headers of a request as the model gets them: without ours, with its key where clients have theirs.

        `credential`: the caller's towards memorybus, which is in none of them. What the proxy `reads` along with is
        not asked for compressed.
        """
        given = list(given)
        named = {name.strip().lower() for key, value in given if key == b"connection" for name in value.split(b",")}
        leave = _NOT_PASSED | named | (_CREDENTIALS if self.key or credential else frozenset())
        leave |= {b"accept-encoding"} if reads else frozenset()
        secret = credential.encode("latin-1") if credential else None
        passed = [
            (name, value)
            for name, value in given
            if name not in leave
            and not name.startswith(OURS)
            and not (secret and secret in value)
            and not (self.key and _OF_THE_ACCOUNT.fullmatch(name))
        ]
        passed.append((b"via", via))
        if reads:
            passed.append((b"accept-encoding", b"identity"))
        if self.key:
            key, names = self.key.get_secret_value().encode(), {name for name, _ in given}
            as_own = self.is_anthropic and (b"x-api-key" in names or b"authorization" not in names)
            passed.append((b"x-api-key", key) if as_own else (b"authorization", b"Bearer " + key))
        return passed


def is_anthropic(scope: Scope) -> bool:
    """Whether a client speaks Anthropic's API: it names its version, but for what only that has."""
    named = any(name == b"anthropic-version" for name, _ in scope["headers"])
    return named or scope["path"].startswith("/v1/messages")


def returned(headers: Iterable[Header]) -> list[Header]:
    """The headers of an answer as the client gets them; which pages may read it is not for the model to say."""
    lower = [(name.lower(), value) for name, value in headers]
    return [(name, value) for name, value in lower if name not in _NOT_RETURNED and not name.startswith((_CORS, OURS))]


@dataclass(slots=True)
class Backends:
    """The models as they are set up, and the connections to them."""

    openai: Backend | None
    anthropic: Backend | None
    timeout: httpx.Timeout
    via: bytes = field(default_factory=lambda: b"1.1 memorybus-" + uuid4().hex[:8].encode())
    _client: httpx.AsyncClient | None = None

    @classmethod
    def of(cls, settings: ProxySettings) -> Backends:
        """The models that the settings name.

        Raises:
            UnusableSetting: an address is none.
        """
        openai = _backend(settings.openai_base_url, settings.openai_api_key, "OPENAI", is_anthropic=False)
        anthropic = _backend(settings.anthropic_base_url, settings.anthropic_api_key, "ANTHROPIC", is_anthropic=True)
        if anthropic is None and openai is not None:
            key = settings.anthropic_api_key or openai.key
            anthropic = Backend(openai.url, _set(key), openai.key_setting, is_anthropic=True)
        silent = settings.proxy_timeout_seconds
        return cls(openai, anthropic, httpx.Timeout(silent, connect=min(silent, _CONNECT_SECONDS), pool=None))

    def settings_without_key(self) -> list[str]:
        """The settings that would give a model its key, of those that have none."""
        models = filter(None, (self.openai, self.anthropic))
        return list(dict.fromkeys(model.key_setting for model in models if model.key is None))

    @property
    def share_a_key(self) -> bool:
        """Whether a model is asked with the operator's key."""
        return any(model is not None and model.key is not None for model in (self.openai, self.anthropic))

    def of_request(self, scope: Scope) -> Backend | None:
        """The model that is asked."""
        return self.anthropic if is_anthropic(scope) else self.openai

    async def ask(self, request: httpx.Request) -> httpx.Response:
        """The beginning of an answer, whatever its status; a redirection is an answer like any other.

        Raises:
            httpx.HTTPError: the model was not reached, or did not answer.
        """
        request.extensions["timeout"] = self.timeout.as_dict()
        with tracing.span("ask model"):
            return await self.client.send(request, stream=True, follow_redirects=False)

    @property
    def client(self) -> httpx.AsyncClient:
        """What asks them; the first time it reads the certificates of authorities, which takes a tenth of a second."""
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=_MOST_IDLE, keepalive_expiry=15)
            self._client = httpx.AsyncClient(limits=limits, trust_env=False)
        return self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def _backend(address: str, key: SecretStr | None, name: str, *, is_anthropic: bool) -> Backend | None:
    if not address.strip():
        return None
    try:
        url = httpx.URL(address.strip())
    except (httpx.InvalidURL, ValueError):  # its words may hold a part of a password
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise UnusableSetting(f"MEMORYBUS_{name}_BASE_URL: has to be an address such as http://127.0.0.1:11434/v1")
    base = url.path.rstrip("/")
    if is_anthropic:  # Anthropic's own clients are given the address without it
        base = f"{base.removesuffix('/v1')}/v1"
    return Backend(url.copy_with(path=base), _set(key), f"MEMORYBUS_{name}_API_KEY", is_anthropic)


def _set(key: SecretStr | None) -> SecretStr | None:
    return key if key is not None and key.get_secret_value().strip() else None
