"""Who is asking: the user, and what this caller may do, from the credential alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from starlette.requests import Request

from contracts.paths import PREFIX, USER_HEADER
from contracts.v1.control import EVERY_SPACE
from services.gateway.keys import READ, Client, KeyRing, is_key
from services.gateway.problems import BadToken, Problem
from services.gateway.settings import GatewaySettings

if TYPE_CHECKING:
    from services.gateway.tokens import TokenVerifier

NOBODY = "me"
"""The user of a request that names none, where no credential is asked for."""

_LONGEST = 512
_OWN = ("same-origin", "none")
_UNFILLED = re.compile(
    r"null|none|\(null\)|\[object Object\]|\$[A-Z_]\w*|%[A-Z_]+%|<[\w. -]+>|\[[\w.-]+\]|\{[\w. -]+\}|\W*", re.IGNORECASE
)
_JOINED = re.compile(r"[-_:/]")
_TEMPLATE = re.compile(r"\{\{|\}\}|\[\[|[$#]\{|\$\(|\{%|<%")
_NOT_FILLED_IN = (
    "The header Memory-User names no user: it is empty, or a template that the program did not fill in. "
    "Have it send who asks, or leave the header out."
)
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")
_OPEN = "or start it with MEMORYBUS_GATEWAY_AUTH=true."
_UNREAD = f"This server asks for no credential and reads none: name the user in the header Memory-User instead, {_OPEN}"
_UNREAD_KEY = (
    f"This server asks for no credential: leave out the memorybus key and name the user in Memory-User, {_OPEN}"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in: for whom, and within which spaces and verbs, None meaning all; by which credential.

    A verb is called as its request on the bus: `entries.list`; `read` stands for every one that changes nothing.
    """

    user_id: str
    spaces: frozenset[str] | None = None
    verbs: frozenset[str] | None = None
    client: Client = "person"
    credential: str | None = None

    def space(self, values: Mapping[str, Any], default: str | None) -> str | None:
        """The space that a request of this caller is about: the one it names, else the only one there is.

        Raises:
            Problem: it is another one, or has to be named.
        """
        if self.spaces is None:
            return cast(str | None, values.get("space", default))
        space = values.get("space", next(iter(self.spaces)) if len(self.spaces) == 1 else default)
        if not self.spaces:
            raise Problem("forbidden", "This credential is for no space.")
        if space == EVERY_SPACE:
            raise Problem("forbidden", "This credential is for some spaces; what holds in all needs one for all.")
        if space not in self.spaces:
            raise Problem("forbidden", f"This credential is for the spaces {', '.join(sorted(self.spaces))}: name one.")
        return cast(str, space)

    def may(self, verb: str, *, reads: bool) -> bool:
        """Whether this caller may use a verb."""
        return self.verbs is None or verb in self.verbs or (reads and READ in self.verbs)


def is_unfilled(name: str) -> bool:
    """Whether a name is what a program writes that should have put one there: nothing, "{{USER_ID}}", "undefined"."""
    name = unquote(name)
    is_whole = bool(_UNFILLED.fullmatch(name) and name.isascii())
    is_nobodys = _JOINED.split(name)[-1].lower() == "undefined"
    return is_whole or is_nobodys or not _shown(name) or bool(_TEMPLATE.search(name))


class OpenDoor:
    """Without credentials, for a server that only this machine reaches: the user in the header, else `me`.

    Whoever sends a credential means a user by it: without a header that names one they are refused, not taken for `me`.
    Below `passing_on` it is for somebody else, whom a request is passed on to; a key of ours never is.
    """

    def __init__(self, *, passing_on: str) -> None:
        self._passing_on = passing_on

    async def let_in(self, request: Request) -> Caller:
        """The caller of a request.

        Raises:
            Problem: a credential comes that nobody here reads, or the header names no user.
        """
        self._refuse_credential(request)
        named = request.headers.getlist(USER_HEADER) or [NOBODY]
        if len(named) > 1:  # of a proxy that adds one the first would be what its caller wrote
            raise Problem("bad_request", "The header Memory-User stands there twice: send it once.")
        raw = named[0].encode("latin-1")
        try:
            user_id = raw.decode().strip()
        except UnicodeDecodeError:
            raise Problem("bad_request", "The header Memory-User must be UTF-8.") from None
        if is_unfilled(user_id):
            raise Problem("bad_request", _NOT_FILLED_IN)
        if len(user_id) > _LONGEST:
            raise Problem("bad_request", f"The header Memory-User names a user in 1 to {_LONGEST} characters.")
        return Caller(user_id)

    def _refuse_credential(self, request: Request) -> None:
        shown = (request.headers.get(name, "").split() for name in _KEY_HEADERS)
        if any(is_key(words[-1]) for words in shown if words):
            raise Problem("credential_unread", _UNREAD_KEY)
        path = request.url.path
        is_ours = path.startswith(f"{PREFIX}/") or not path.startswith(self._passing_on)
        is_bearer = request.headers.get("authorization", "").partition(" ")[0].lower() == "bearer"
        if is_ours and is_bearer and USER_HEADER not in request.headers:
            raise Problem("credential_unread", _UNREAD)


class GuardedDoor:
    """An API key or a JWT as `Authorization: Bearer …`; nothing else names the user."""

    def __init__(self, keys: KeyRing, tokens: TokenVerifier | None, settings: GatewaySettings) -> None:
        self._keys = keys
        self._tokens = tokens
        self._settings = settings

    async def let_in(self, request: Request) -> Caller:
        """The caller of a request.

        Raises:
            Problem: there is no valid credential.
        """
        if USER_HEADER in request.headers:
            raise Problem("bad_request", "The credential names the user: leave out the header Memory-User.")
        if len(request.headers.getlist("authorization")) > 1:  # as where a proxy adds one to its caller's
            raise Problem("bad_request", "The header Authorization stands there twice: send it once.")
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise _stranger("Send an API key or a JWT as `Authorization: Bearer …`.")
        if is_key(token.strip()):
            return await self._with_key(token.strip())
        return await self._with_token(token.strip())

    async def _with_key(self, token: str) -> Caller:
        key = await self._keys.key_of(token)
        if key is None:
            raise _stranger("This key is not known, was revoked, or has expired: `memorybus keys create` makes one.")
        return Caller(key.user_id, key.spaces, key.verbs, key.client, f"key {key.id}")

    async def _with_token(self, token: str) -> Caller:
        if self._tokens is None:
            raise _stranger(
                "This is no API key of memorybus, which begins with mb_: `memorybus keys create` makes one."
            )
        try:
            claims = await self._tokens.claims(token)
        except BadToken as error:
            raise _stranger(f"{str(error).capitalize()}.") from None
        user_id = claims.get(self._settings.jwt_user_claim)
        if not isinstance(user_id, str) or not 0 < len(user_id) <= _LONGEST:
            raise _stranger(f"The claim {self._settings.jwt_user_claim!r} of the token names no user.")
        return Caller(user_id, self._spaces(claims), credential="jwt")

    def _spaces(self, claims: Mapping[str, Any]) -> frozenset[str] | None:
        """The spaces that a token is for, None where it says nothing of them; what lists none is refused."""
        name = self._settings.jwt_spaces_claim
        if name not in claims:
            return None
        spaces = claims[name].split() if isinstance(claims[name], str) else claims[name]
        if not (isinstance(spaces, list) and all(isinstance(one, str) for one in spaces)):
            raise _stranger(f"The claim {name!r} of the token lists no spaces.")
        if EVERY_SPACE in spaces:
            raise _stranger(f"The claim {name!r} of the token lists {EVERY_SPACE!r}: a token for all spaces has none.")
        return frozenset(spaces)


Doorkeeper = OpenDoor | GuardedDoor
"""Decides who is asking."""


def _shown(name: str) -> str:
    """A name without what nobody sees of it."""
    return "".join(filter(str.isprintable, name)).strip()


def _stranger(detail: str) -> Problem:
    return Problem("unauthenticated", detail, headers={"www-authenticate": 'Bearer realm="memorybus"'})


def refuse_other_sites(request: Request, allowed: frozenset[str] = frozenset()) -> None:
    """Refuse what the page of another site makes a browser ask; browsers name the page that asks, programs do not.

    Raises:
        Problem: another site asks, and it is not one of those allowed.
    """
    origin = request.headers.get("origin")
    if origin is None:
        foreign = request.headers.get("sec-fetch-site", "none") not in _OWN
    else:
        foreign = origin not in allowed and origin.partition("://")[2] != request.headers.get("host")
    if foreign:
        raise Problem(
            "forbidden", "A page of another site asks; list its origin in MEMORYBUS_GATEWAY_CORS_ORIGINS if it may."
        )
