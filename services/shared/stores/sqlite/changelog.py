"""Which entries of a scope were changed since a state of the file that somebody remembers: triggers write it down."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from services.shared.stores.sqlite.keys import in_one_row

KEPT = 500
"""Changes of a scope that are known: who remembers an older state looks at everything anew."""

_BETWEEN = """
SELECT json_group_array(json_array(change, doc, reworded)) FROM changes
WHERE scope = ? AND change > ? AND change <= ?"""


class Changed(NamedTuple):
    """A change of an entry, by the number that its scope had as `changed` afterwards."""

    change: int
    doc: int
    reworded: int
    """Whether other words find it since."""


def changes_between(connection: sqlite3.Connection, scope: int, since: int, until: int) -> list[Changed] | None:
    """The changes of a scope after one number and up to another; None where not all of them are known."""
    rows = in_one_row(connection, _BETWEEN, (scope, since, until)) if until != since else []
    return [Changed(*row) for row in rows] if len(rows) == until - since else None
