"""How each index is to be laid out. A change here needs a higher `SCHEMA`, and `memorybus migrate` where data is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.shared.settings import Settings
from services.shared.stores.opensearch.wire import Json, Kind

SCHEMA = 3
"""Which layout of this program's indices this is; every index says which it has."""

_KEYWORD: Json = {"type": "keyword"}
_KEPT: Json = {"type": "keyword", "index": False, "doc_values": False}
"""Kept as it was written and never searched: only the source has it."""

_NUMBER: Json = {"type": "long"}
_FLAG: Json = {"type": "boolean"}

_TURNS: Json = {
    "kind": _KEYWORD,
    "user_id": _KEYWORD,
    "space": _KEYWORD,
    "scope": _KEYWORD,
    "conversation": _KEYWORD,
    "said_at": _NUMBER,
    "logged_at": _NUMBER,
    "seq": _NUMBER,
    "ordinal": {"type": "integer"},
    "turn": _KEYWORD,
    "turn_id": _KEYWORD,
    "proposed": _FLAG,
    "outcome": _KEYWORD,
    "entry_id": _KEPT,
    "reason": _KEPT,
    "decided_at": _NUMBER,
    "text": _KEPT,
    "body": _KEPT,
}

_ENTRIES: Json = {
    "id": _KEYWORD,
    "user_id": _KEYWORD,
    "owner": _KEYWORD,
    "space": _KEYWORD,
    "persona_id": _KEYWORD,
    "scope": _KEYWORD,
    "session": _KEYWORD,
    "seq": _NUMBER,
    "created_at": _NUMBER,
    "last_said_at": _NUMBER,
    "conversations": _KEYWORD,
    "updated_at": _NUMBER,
    "status": _KEYWORD,
    "type": _KEYWORD,
    "tags": _KEYWORD,
    "themes": _KEYWORD,
    "pinned": _FLAG,
    "manually_saved": _FLAG,
    "enriched": _FLAG,
    "embedding_state": _KEYWORD,
    "version": _NUMBER,
    "importance": {"type": "float"},
    "words": {"type": "text", "analyzer": "whitespace", "similarity": "turn", "norms": False},
    "length": {"type": "integer"},
    "digest": {"type": "keyword", "index": False},
    "text": {"type": "text", "analyzer": "english", "norms": False},
    "merged": _KEPT,
    "stamp": _KEPT,
    "entry_id": _KEYWORD,
    "reason": _KEPT,
    "body": _KEPT,
}

_CLAIMS: Json = {
    "user_id": _KEYWORD,
    "entries": _KEPT,
    "at": {"type": "long", "index": False, "doc_values": False},
    "until": _NUMBER,
    "session_id": _KEPT,
    "said_at": {"type": "long", "index": False, "doc_values": False},
    "seq": {"type": "long", "index": False, "doc_values": False},
}

_META: Json = {"body": _KEPT}

PROPERTIES: Mapping[Kind, Json] = {"turns": _TURNS, "entries": _ENTRIES, "claims": _CLAIMS, "meta": _META}

_SIMILARITY: Json = {"turn": {"type": "BM25", "k1": 1.0, "b": 0.0}}


@dataclass(frozen=True, slots=True)
class Layout:
    """What an operator chooses about new indices, on top of what this version lays down."""

    shards: int = 1
    replicas: int = 0
    refresh_seconds: float = 1.0
    schema: int = SCHEMA
    properties: Mapping[Kind, Json] = field(default_factory=lambda: PROPERTIES)

    @classmethod
    def of(cls, settings: Settings) -> Layout:
        """What the settings choose."""
        return cls(settings.opensearch_shards, settings.opensearch_replicas, settings.opensearch_refresh_seconds)

    def shards_of(self, kind: Kind) -> int:
        """How many shards an index of this kind has."""
        return self.shards if kind != "meta" else 1

    def body(self, kind: Kind) -> Json:
        """The settings and mappings of an index of this kind."""
        return {
            "settings": {
                "number_of_shards": self.shards_of(kind),
                "number_of_replicas": self.replicas,
                "refresh_interval": f"{round(self.refresh_seconds * 1000)}ms",
                "merge.policy.expunge_deletes_allowed": 0,  # a sweep leaves nothing, be it ever so little
                **({"similarity": _SIMILARITY} if kind == "entries" else {}),
            },
            "mappings": {
                "_meta": {"schema": self.schema},
                "_routing": {"required": True},
                "dynamic": "strict",
                "properties": self.properties[kind],
            },
        }
