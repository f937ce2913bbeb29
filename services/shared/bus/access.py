"""How to join a bus: its servers, who we are there, and what the connection is secured by."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from contracts import subjects
from contracts.ports import Unavailable
from services.shared.redaction import redact_address
from services.shared.settings import Settings


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
        """What the settings MEMORYBUS_NATS_* say; an address that names somebody says better who we are."""
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
            Unavailable: a file that the settings name cannot be used, or half of a pair is missing.
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
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.key)
        except OSError as error:  # also what ssl raises for a file that is no certificate
            raise Unavailable(
                f"the certificates of MEMORYBUS_NATS_CA, MEMORYBUS_NATS_CERT and MEMORYBUS_NATS_KEY "
                f"cannot be used: {error}"
            ) from error
        return context


NOBODY = Access()


def servers_of(url: str) -> list[str]:
    """The servers in a list separated by commas.

    Raises:
        Unavailable: there is none, or one is no address.
    """
    servers = [part.strip() for part in url.split(",") if part.strip()]
    for server in servers:
        _check_address(server)
    if not servers:
        raise Unavailable("no bus is named: give its servers, separated by commas, with --nats or MEMORYBUS_NATS_URL")
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
        fits = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        fits = False
    if not fits:
        raise Unavailable(f"{redact_address(server)!r} is no address of a bus: write one like nats://127.0.0.1:4222")


def _given(password: SecretStr | None) -> str:
    if password is None:
        raise Unavailable("MEMORYBUS_NATS_USER is set without MEMORYBUS_NATS_PASSWORD")
    return password.get_secret_value()


def _readable(creds: Path) -> Path:
    if find_spec("nkeys") is None:
        raise Unavailable("a credentials file needs the package nkeys: install memorybus with its extra `cluster`")
    try:
        text = creds.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"the credentials file {creds} of MEMORYBUS_NATS_CREDS cannot be read: {error}") from error
    if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
        raise Unavailable(f"{creds} of MEMORYBUS_NATS_CREDS is no NATS credentials file")
    return creds
