"""The connection to NATS: servers, credentials and certificates, and the meaning of the errors of the bus."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from nats.errors import Error as NatsError
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError, ServiceUnavailableError
from pydantic import SecretStr

from contracts import subjects
from contracts.errors import Unavailable
from services.shared.bus.nats_patches import EncryptedClient, NotAllowed, NotEncrypted, PatchedNatsClient
from services.shared.redaction import redact_address
from services.shared.settings import Settings, UnusableAccess

log = logging.getLogger(__name__)

NO_MEMORYBUS = "this bus has no memorybus on it: start one with `memorybus up`"
UNANSWERED = (NatsError, TimeoutError, OSError)
"""Errors after which it is not known whether the bus has done what it was asked."""

_KNOCK_EVERY = 0.25
_SCHEMES = ("nats", "tls", "ws", "wss")
_CLOSE_PATIENCE = 0.5


class NotPermitted(Unavailable):
    """The bus does not let this user ask that; the text names the user and the subject."""


@contextmanager
def asking_for(what: str) -> Iterator[None]:
    """Raise `Unavailable`, in one line that says what to do, for every error of the NATS client."""
    try:
        yield
    except NotFoundError as error:
        raise Unavailable(NO_MEMORYBUS) from error
    except (ServiceUnavailableError, NoStreamResponseError) as error:
        raise Unavailable("the bus keeps no streams now: is JetStream on, and do enough of its servers run?") from error
    except APIError as error:
        raise Unavailable(f"the bus refused {what}: {error.description}") from error
    except NotAllowed as error:
        raise NotPermitted(str(error)) from error
    except UNANSWERED as error:
        raise Unavailable(
            f"the bus did not answer for {what} ({error!r}): try again, nothing is lost or done twice"
        ) from error


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and certificates; the default joins a bus that asks for neither."""

    user: str | None = None
    password: SecretStr | None = None
    creds: Path | None = None
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @classmethod
    def of(cls, settings: Settings, url: str = "") -> Access:
        """The access that the settings MEMORYBUS_NATS_* describe; a user named in the address goes before theirs."""
        named = next(filter(None, map(_login, url.split(","))), None)
        user, password = named or (settings.nats_user, settings.nats_password)
        return cls(
            user=user,
            password=password,
            creds=None if named else settings.nats_creds,
            ca=settings.nats_ca,
            cert=settings.nats_cert,
            key=settings.nats_key,
        )

    @property
    def wants_tls(self) -> bool:
        """Whether nothing may be said before the connection is encrypted."""
        return self.ca is not None or self.cert is not None

    def options(self) -> dict[str, Any]:
        """Options of the NATS client.

        Raises:
            UnusableAccess: a file that the settings name cannot be used, or half of a pair is missing.
        """
        options: dict[str, Any] = {"inbox_prefix": subjects.inbox(self.user)}
        if self.user is not None:
            options |= {"user": self.user, "password": _given(self.password)}
        if self.creds is not None:
            options["user_credentials"] = str(_readable(self.creds))
        if self.wants_tls:
            options["tls"] = self._tls()
        return options

    def _tls(self) -> ssl.SSLContext:
        for setting, file in (("CA", self.ca), ("CERT", self.cert), ("KEY", self.key)):
            if file is not None and not file.is_file():
                raise UnusableAccess(f"there is no file {file}, which MEMORYBUS_NATS_{setting} names")
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except OSError as error:  # ssl raises it too, for a file that is no certificate
            raise UnusableAccess(
                f"the certificates of MEMORYBUS_NATS_CA, MEMORYBUS_NATS_CERT and MEMORYBUS_NATS_KEY "
                f"cannot be used: {error}"
            ) from error
        return context


NOBODY = Access()


def servers_of(url: str) -> list[str]:
    """The servers in a list separated by commas.

    Raises:
        UnusableAccess: there is none, or one is no address.
    """
    servers = [part.strip() for part in url.split(",") if part.strip()]
    for server in servers:
        _check_address(server)
    if not servers:
        hint = "give its servers, separated by commas, with --nats or MEMORYBUS_NATS_URL"
        raise UnusableAccess(f"no bus is named: {hint}")
    return servers


def _login(server: str) -> tuple[str | None, SecretStr | None] | None:
    """User and password in an address, both None where it holds a token, which the client finds by itself."""
    found = re.match(r"\s*(?:\w+://)?([^/@:]*)(:[^/]*)?@", server)
    if not found:
        return None
    user, password = found[1], found[2]
    return (None, None) if password is None else (unquote(user), SecretStr(unquote(password[1:])))


def _check_address(server: str) -> None:
    try:
        parts = urlsplit(server if "://" in server else f"nats://{server}")
        fits = bool(parts.hostname) and (parts.port or 1) > 0 and parts.scheme in _SCHEMES
    except ValueError:
        fits = False
    if not fits:
        raise UnusableAccess(f"{redact_address(server)!r} is no address of a bus: write one like nats://127.0.0.1:4222")


def _given(password: SecretStr | None) -> str:
    if password is None:
        raise UnusableAccess("MEMORYBUS_NATS_USER is set without MEMORYBUS_NATS_PASSWORD")
    return password.get_secret_value()


def _readable(creds: Path) -> Path:
    if find_spec("nkeys") is None:
        raise UnusableAccess("a credentials file needs the package nkeys: install memorybus with its extra `cluster`")
    try:
        text = creds.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableAccess(f"the credentials file {creds} of MEMORYBUS_NATS_CREDS cannot be read: {error}") from error
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise UnusableAccess(f"{creds} of MEMORYBUS_NATS_CREDS is no NATS credentials file")
    return creds


def connection_options(name: str) -> dict[str, Any]:
    """Options of every connection: reconnect for ever, notice a half-open one within seconds."""

    async def on_error(error: Exception) -> None:
        log.warning("bus_error", extra={"connection": name, "cause": repr(error)})

    return {
        "name": name,
        "error_cb": on_error,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": 0.25,
        "ping_interval": 5,
        "max_outstanding_pings": 2,
        "pending_size": 16 * 1024 * 1024,
    }


async def connect(url: str, *, name: str, access: Access = NOBODY, patience: float = 5.0) -> PatchedNatsClient:
    """Connect with `access` to the bus at `url`, one server or several separated by commas.

    Raises:
        UnusableAccess: an address, a file or a password is none.
        Unavailable: nobody answers there within `patience` seconds, or the bus does not let us in.
    """
    servers, options = servers_of(url), access.options()
    kind = EncryptedClient if access.wants_tls else PatchedNatsClient
    try:
        async with asyncio.timeout(patience):
            await _knock(kind, servers, options)
            return await _connected(kind, servers, {**connection_options(name), **options})
    except (TimeoutError, OSError, NatsError) as error:
        raise Unavailable(_why_not(error, url, access)) from None  # the cause may carry the address with a password


async def _knock(kind: type[PatchedNatsClient], servers: Sequence[str], options: dict[str, Any]) -> None:
    """Wait for a server that lets us in: the client only restores a connection that once stood."""
    once = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.01, "error_cb": _quiet}
    while True:
        for server in servers:
            try:
                await (await _connected(kind, [server], {**once, **options})).close()
                return
            except (NatsError, OSError, TimeoutError) as error:
                if _is_refusal(error):
                    raise
        await asyncio.sleep(_KNOCK_EVERY)


async def _connected(kind: type[PatchedNatsClient], servers: list[str], options: dict[str, Any]) -> PatchedNatsClient:
    client = kind()
    try:
        await client.connect(servers, **options)
    except BaseException:
        with suppress(NatsError, OSError, TimeoutError, AssertionError):  # it asserts that it once had a connection
            async with asyncio.timeout(_CLOSE_PATIENCE):  # a broken handshake is waited for without end
                await client.close()
        raise
    return client


def _is_refusal(error: Exception) -> bool:
    """Whether a server is there and will not let us in; anything else may be a server that starts or stops."""
    return isinstance(error, ssl.SSLError | NotEncrypted) or "authorization" in str(error).lower()


def _why_not(error: Exception, url: str, access: Access) -> str:
    where = redact_address(url)
    files = "MEMORYBUS_NATS_CA, MEMORYBUS_NATS_CERT and MEMORYBUS_NATS_KEY"
    if "authorization" in str(error).lower():
        who = f"user {access.user!r}" if access.user else "us"
        return (
            f"the bus at {where} does not let {who} in: check MEMORYBUS_NATS_USER and MEMORYBUS_NATS_PASSWORD, "
            "or MEMORYBUS_NATS_CREDS"
        )
    if _is_refusal(error):
        return f"no secure connection to the bus at {where}: {error}; check {files}"
    hint = f"; if it runs, it may not accept {files}" if access.wants_tls else ""
    remedy = "start its nats-server, or `memorybus up`, which brings one; or name another with --nats"
    return f"no bus answers at {where}: {remedy}{hint}"


async def _quiet(_: Exception) -> None:
    """Keep the client from printing errors that are raised anyway."""
