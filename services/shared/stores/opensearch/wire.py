"""What goes over the wire to OpenSearch: documents, what asks for them, and what writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

Kind = Literal["turns", "entries", "claims", "meta"]

Json = dict[str, Any]

LONGEST_ID = 512
"""Bytes of a document's id, a limit of the engine."""


class Version(NamedTuple):
    """Which write of a document was seen; a conditional write names it."""

    seq_no: int
    primary_term: int


class Document(NamedTuple):
    """A stored document, or those fields of it that were asked for, with the version it was read in."""

    id: str
    source: Json
    version: Version


class Get(NamedTuple):
    """Asks for one document of a user, whole or some fields of it."""

    kind: Kind
    routing: str
    id: str
    fields: tuple[str, ...] | None = None

    @property
    def possible(self) -> bool:
        """Whether a document can have this id."""
        return 0 < len(self.id.encode()) <= LONGEST_ID


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a bulk request, of a document of a user.

    `create` is refused when the document exists, `index` replaces it, `update` merges fields into an existing one,
    `delete` needs no body. With `seen`, it is refused when the document has been written since; a `delete` always says
    what was seen.
    """

    operation: Literal["create", "index", "update", "delete"]
    kind: Kind
    routing: str
    id: str
    body: Json = field(default_factory=dict)
    seen: Version | None = None


def routed(user_id: str) -> str:
    """The routing value of a user: without the characters that mean something in a list of them."""
    return blake2b(user_id.encode(), digest_size=8).hexdigest()


def document(found: Json) -> Document | None:
    """A document of an answer, or None when it says that there is none."""
    if not found.get("found", True):
        return None
    return Document(found["_id"], found["_source"], Version(found["_seq_no"], found["_primary_term"]))


def lines(parts: Iterable[bytes]) -> bytes:
    """A body of one JSON text a line."""
    return b"".join(part + b"\n" for part in parts)
