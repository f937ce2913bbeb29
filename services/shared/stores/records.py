"""Records as rows and documents, whatever the engine."""

from __future__ import annotations

import json
from typing import NamedTuple

from pydantic import TypeAdapter

from contracts.ports import Record, RecordKind
from services.shared.stores import cursors
from services.shared.stores.moments import microseconds, moment

ERASING = "all that is kept of this user is being erased: try again in a moment"


class Row(NamedTuple):
    """The columns of a record, in the order in which engines keep them."""

    user_id: str
    kind: RecordKind
    name: str
    at: int
    version: int
    body: str

    @classmethod
    def of(cls, record: Record, version: int) -> Row:
        """A record as it is stored under a version."""
        body = json.dumps(dict(record.body))
        return cls(record.user_id, record.kind, record.name, microseconds(record.at), version, body)

    @property
    def record(self) -> Record:
        """The record."""
        body = json.loads(self.body)
        return Record(self.user_id, self.kind, self.name, body, moment(self.at), self.version)


_NAMES = TypeAdapter(tuple[str, str])

Position = tuple[int, str, str]
"""When, of whom and under which name: records of one kind are in this order, the newest first."""


def position_of(record: Record) -> Position:
    """Where a record stands among those of its kind."""
    return microseconds(record.at), record.user_id, record.name


def cursor(position: Position) -> str:
    """The cursor that asks for what comes after a position."""
    return cursors.cursor((position[0], json.dumps(position[1:])))


def position(cursor: str) -> Position:
    """The position that a cursor stands for.

    Raises:
        ValueError: it is not a cursor.
    """
    at, names = cursors.position(cursor)
    try:
        return (at, *_NAMES.validate_json(names, strict=True))
    except ValueError as error:
        raise ValueError("not a cursor of this list: use the one of the page before") from error
