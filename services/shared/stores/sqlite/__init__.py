"""The embedded text store: one SQLite file, no server."""

from services.shared.stores.sqlite.schema import NewerSchema
from services.shared.stores.sqlite.store import SqliteTextStore

__all__ = ["NewerSchema", "SqliteTextStore"]
