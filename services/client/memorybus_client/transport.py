"""A way to a running memorybus: what the transports have in common."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from contracts.flow import Answer, R
from contracts.paths import TruncateReply
from contracts.v1.commands import ListRequest
from contracts.v1.turns import Turn
from memorybus_client.errors import RequestFailed

_SEPARATOR = re.compile(r",\s*(?=\w+://)")
"""A comma may be part of a password."""

_ADDRESS = re.compile(r"^(\w+://)?(?:.*@)?([^?]*).*$", re.DOTALL)
"""How, and where; between them may be a login, and behind them what else opens a door."""


class Transport(Protocol):
    """One way. Every method raises `Unavailable` where nothing answers in time, `RequestFailed` on an error."""

    async def ask(self, answer: Answer[Any, R], body: BaseModel, *, patience: float) -> R:
        """Send a request; its reply."""
        ...

    async def publish(self, turn: Turn, *, incognito: bool, patience: float) -> bool | None:
        """Publish a turn, and wait for the promise that it will not be lost; whether it may be kept, None: not told."""
        ...

    async def forget_conversation(self, asked: ListRequest, *, patience: float) -> TruncateReply:
        """Forget what was said in the conversation that is asked for; each request is waited for so long."""
        ...

    def export(self, user_id: str, *, patience: float) -> AsyncIterator[str]:
        """The lines of an export; each part is waited for so long."""
        ...

    async def close(self) -> None:
        """Let go of every connection."""
        ...


def read(model: type[R], raw: bytes, where: str) -> R:
    """The reply in these bytes."""
    try:
        return model.model_validate_json(raw)
    except ValidationError:
        raise RequestFailed("internal", f"what {where} answers is no {model.__name__}: is memorybus there?") from None


def without_login(url: str) -> str:
    """An address, or several separated by commas, as errors may tell it: without what opens a door."""
    return ", ".join(_ADDRESS.sub(r"\1\2", one) for one in _SEPARATOR.split(url))


def invalid(error: ValidationError) -> RequestFailed:
    """The error for values that make no request: its fields, without what was in them."""
    faults = (f"{'.'.join(map(str, e['loc'])) or 'request'}: {e['msg']}" for e in error.errors(include_input=False))
    return RequestFailed("invalid_request", "; ".join(faults).replace("a valid tuple", "a list"))
