"""A way to a running memorybus: what the transports have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from contracts.flow import Answer, R
from contracts.v1.turns import Turn
from memorybus_client.errors import RequestFailed


class Transport(Protocol):
    """One way. Every method raises `Unavailable` where nothing answers in time, `RequestFailed` on an error."""

    async def ask(self, answer: Answer[Any, R], body: BaseModel, *, patience: float) -> R:
        """Send a request; its reply."""
        ...

    async def publish(self, turn: Turn, *, incognito: bool, patience: float) -> None:
        """Publish a turn, and wait for the promise that it will not be lost."""
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


def invalid(error: ValidationError) -> RequestFailed:
    """The error for values that make no request: its fields, without what was in them."""
    faults = (f"{'.'.join(map(str, e['loc'])) or 'request'}: {e['msg']}" for e in error.errors(include_input=False))
    return RequestFailed("invalid_request", "; ".join(faults).replace("a valid tuple", "a list"))
