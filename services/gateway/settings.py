"""The knobs of the gateway: MEMORYBUS_GATEWAY_<NAME>."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from pydantic import Field, SecretStr

from services.shared.settings import ServiceSettings, UnusableSetting


class GatewaySettings(ServiceSettings):
    """Who may ask over HTTP, and how often."""

    prefix = "MEMORYBUS_GATEWAY_"

    auth: bool = Field(
        default=False,
        description="true: every request for memory over HTTP needs a credential; false: only on a loopback address",
    )
    cors_origins: str = Field(
        default="",
        description="origins, separated by commas, whose pages may ask; *: any, with credentials; empty: its own page",
    )

    jwt_secret: SecretStr | None = Field(
        default=None, description="JWT signed with HS256: the secret, 32 bytes or more"
    )
    jwt_public_key: Path | None = Field(default=None, description="JWT signed with RS256: the public key, a PEM file")
    jwt_jwks: str | None = Field(
        default=None, description="JWT signed with RS256: the key set of the issuer, an address or a file"
    )
    jwt_audience: str = Field(default="memorybus", min_length=1, description="whom a JWT must be meant for")
    jwt_issuer: str = Field(default="", description="who must have issued a JWT; empty: whoever holds the key")
    jwt_user_claim: str = Field(default="sub", min_length=1, description="claim of a JWT that names the user")
    jwt_spaces_claim: str = Field(
        default="spaces", min_length=1, description="claim that lists the spaces of a JWT; without it: all"
    )
    jwt_leeway_seconds: float = Field(default=0, ge=0, le=300, description="how far the clock of the issuer may be off")

    tool_queries_per_minute: int = Field(
        default=10, ge=0, description="queries of a user a minute with keys of tools; 0: any number"
    )
    queries_per_minute: int = Field(default=120, ge=0, description="the same without a key, or with those of people")
    requests_per_minute: int = Field(default=600, ge=0, description="other requests of a user a minute; 0: any number")

    @property
    def allowed_origins(self) -> frozenset[str]:
        """The origins whose pages may ask."""
        return frozenset(filter(None, (one.strip().rstrip("/") for one in self.cors_origins.split(","))))


def refuse_exposure(host: str) -> None:
    """Refuse to let others than this machine act for any user.

    Raises:
        UnusableSetting: they would.
    """
    settings = GatewaySettings()
    if settings.auth:
        return
    if "*" in settings.allowed_origins:
        raise UnusableSetting(
            "MEMORYBUS_GATEWAY_CORS_ORIGINS is * and would let every page that a browser here opens act for any user: "
            "list the origins, or set MEMORYBUS_GATEWAY_AUTH=true"
        )
    if not is_loopback(host):
        raise UnusableSetting(
            f"HTTP would listen on {host} and let everybody there act for any user: set MEMORYBUS_GATEWAY_AUTH=true, "
            "or listen on 127.0.0.1 (MEMORYBUS_HTTP_HOST, --http-host)"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens on this address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
