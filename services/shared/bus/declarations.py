"""The streams and consumers as they must be, in the JSON of the bus, and the difference to those it has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from contracts import subjects
from contracts.subjects import Consumer, Stream
from services.shared.settings import Settings

ACK_WAIT = 10.0
PIN_SECONDS = 10.0
"""How long a reader of a part may fail to ask before the bus pins another."""
MAX_ACK_PENDING = 8192
_LETTER_WINDOW = 120.0
"""Seconds for which a letter that is published once more, as its stage died meanwhile, counts as a repetition."""
_SHORTEST_WINDOW = 0.1  # findings/jetstream-duplicate-window.sh
"""The same for turns and events, and as little as the bus takes: it would drop a turn that is published again after it
was erased. The stores know every repetition, for as long as they know the original."""
_SECOND = 1_000_000_000

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a configuration, as the bus holds it and as it is wanted."""

    name: str
    held: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.name} {self.held!r} → {self.wanted!r}"


@dataclass(frozen=True, slots=True)
class Change:
    """The action that makes one stream or consumer as declared. A consumer is named `STREAM/CONSUMER`."""

    kind: Literal["stream", "consumer"]
    name: str
    action: Literal["create", "update", "delete", "keep"]
    fields: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        details = f" ({', '.join(map(str, self.fields))})" if self.action == "update" else ""
        return f"{self.action} {self.kind} {self.name}{details}"


def declared_stream(stream: Stream, settings: Settings) -> Json:
    """How the bus must keep this stream. Full means refused (`discard new`), never silently forgotten."""
    return {
        "name": stream.name,
        "subjects": list(stream.subjects),
        "subject_transform": _split(stream, settings.turns_partitions),
        "retention": "interest" if stream.keeps == "interest" else "limits",
        "storage": "memory" if stream.keeps == "counts" else "file",
        "discard": "old" if stream.keeps in ("log", "counts") else "new",
        "allow_msg_counter": stream.keeps == "counts",
        "max_bytes": stream.most_bytes or settings.turns_max_bytes,
        "max_age": stream.max_age_seconds * _SECOND,
        "max_msgs": -1,
        "max_msgs_per_subject": stream.share,
        "max_msg_size": -1,
        "max_consumers": -1,
        "duplicate_window": int((_LETTER_WINDOW if stream.keeps == "log" else _SHORTEST_WINDOW) * _SECOND),
        "num_replicas": settings.nats_replicas,
        "no_ack": False,
        "sealed": False,
        "deny_delete": False,
        "deny_purge": False,
    }


def declared_consumer(consumer: Consumer) -> Json:
    """How this consumer must read. Redelivery is bounded by the failure policy, not by the bus."""
    config: Json = {
        "name": consumer.name,
        "durable_name": consumer.name,
        "filter_subject": consumer.subject,
        "deliver_policy": "all",
        "ack_policy": "explicit",
        "ack_wait": int(ACK_WAIT * _SECOND),
        "max_deliver": -1,
        "max_ack_pending": MAX_ACK_PENDING,
    }
    if consumer.group is not None:
        config |= {
            "priority_groups": [consumer.group],
            "priority_policy": "pinned_client",
            "priority_timeout": int(PIN_SECONDS * _SECOND),
        }
    return config


def difference(kind: Literal["stream", "consumer"], name: str, wanted: Json, held: Mapping[str, Any] | None) -> Change:
    """The change that makes a configuration as wanted; fields that are not declared are left as they are."""
    if held is None:
        return Change(kind, name, "create")
    pairs = ((field, held.get(field), want) for field, want in wanted.items())
    fields = tuple(FieldChange(*pair) for pair in pairs if (pair[1] or None) != (pair[2] or None))
    return Change(kind, name, "update" if fields else "keep", fields)


def partitions_in(config: Mapping[str, Any]) -> int:
    """How many parts a stream splits its messages into."""
    transform = config.get("subject_transform")
    return subjects.partitions_of(transform["dest"] if transform else None)


def _split(stream: Stream, partitions: int) -> Json | None:
    if stream is not subjects.TURNS_STREAM or partitions == 1:
        return None
    return {"src": stream.subjects[0], "dest": subjects.partition_transform(partitions)}
