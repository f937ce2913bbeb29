"""What is remembered about the vectors: which model made them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict

from contracts.ports import EmbeddingIdentity

_KEY = "embedding_identity"


def recall_identity(connection: sqlite3.Connection) -> EmbeddingIdentity | None:
    """The identity recorded last, if any."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).fetchone()
    return EmbeddingIdentity(**json.loads(row[0])) if row else None


def remember_identity(connection: sqlite3.Connection, identity: EmbeddingIdentity | None) -> None:
    """Record an identity, or that there is none."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_KEY,))
    if identity is not None:
        connection.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_KEY, json.dumps(asdict(identity))))
