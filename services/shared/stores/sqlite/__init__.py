"""The embedded text store: one SQLite file, no server."""

from services.shared.stores.sqlite.connection import Synchronous, UnusableFile
from services.shared.stores.sqlite.store import SqliteTextStore

__all__ = ["SqliteTextStore", "Synchronous", "UnusableFile"]
