"""Cursors of lists that are ordered by time and id: where a page ended, as a word that callers only pass back."""

from __future__ import annotations

import base64
from typing import Annotated

from pydantic import Field, TypeAdapter

Position = tuple[Annotated[int, Field(ge=-(1 << 62), le=1 << 62)], str]
"""last_said_at (microseconds since 1970) and id of the last entry of a page."""

_POSITION: TypeAdapter[Position] = TypeAdapter(Position)


def cursor(position: Position) -> str:
    """The cursor that asks for what comes after a position."""
    return base64.urlsafe_b64encode(_POSITION.dump_json(position)).decode().rstrip("=")


def position(cursor: str) -> Position:
    """The position that a cursor stands for.

    Raises:
        ValueError: it is not a cursor.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return _POSITION.validate_json(base64.b64decode(padded, altchars=b"-_", validate=True), strict=True)
    except ValueError as error:
        raise ValueError("not a cursor of this list: use the one of the page before") from error
