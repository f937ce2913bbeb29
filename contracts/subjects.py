"""The map of the bus: every subject, stream and consumer, written once."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Literal

TURNS = "memory.v1.turns"  # .<user>, published by assistants
PARTITION = (
    "memory.v1.partition"  # .<number>.<user>, where a bus that splits the turns keeps them; nobody publishes here
)
INCOGNITO = "memory.v1.incognito"  # .<user>, published by assistants: no stream keeps it, and no service hears it
RETRIEVE = "memory.v1.retrieve"  # .<user>, request
ENTRIES = "memory.v1.entries"  # .<verb>.<user>, request
MEMORY = "memory.v1.memory"  # .<verb>.<user>, request
STATUS = "memory.v1.ops.status"  # request, operators: counts over all users
RECONCILE = "memory.v1.ops.reconcile"  # request, operators: compares the stores, all users
AUDIT = "memory.v1.ops.audit"  # request, operators: what was done, all users
AUDIT_NOTE = "memory.v1.ops.audit-note"  # request, operators: keep account of what was done beside memorybus

ENTRY_PROPOSED = "memory.v1.entry.proposed"
ENTRY_ACCEPTED = "memory.v1.entry.accepted"
ENTRY_REPEATED = "memory.v1.entry.repeated"  # leaf
ENTRY_REFUSED = "memory.v1.entry.refused"  # leaf
ENTRY_ENRICHED = "memory.v1.entry.enriched"
ENTRY_EMBEDDED = "memory.v1.entry.embedded"  # leaf

EXTRACT_WANTED = "memory.v1.extract.wanted"  # published by dedupe where there is a language model

DEAD = "memory.v1.dead"  # .<stage>.<share>, what a worker could not digest; see `dead`

KEYS = "memory.v1.key"  # .<id>, published by operators: what an API key opens
LIMITS = "memory.v1.limit"  # .<kind>.<share>.<minute>, published by the gateway: how often somebody asked

INBOX = "_INBOX"  # .<user of the bus>.<…>, where replies come

MSG_ID_HEADER = "Nats-Msg-Id"
DEADLINE_HEADER = "Memory-Deadline"
CREDENTIAL_HEADER = "Memory-Credential"  # by what the gateway let the caller in, for the audit
INCREMENT_HEADER = "Nats-Incr"

_BUS_USER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PLAIN_USER = re.compile(r"[A-Za-z0-9_-]{1,128}")


def user_token(user_id: str) -> str:
    """The subject token of a user: the id itself where it is plain, else `~` and unpadded base64url."""
    if _PLAIN_USER.fullmatch(user_id):
        return user_id
    return "~" + base64.urlsafe_b64encode(user_id.encode()).decode().rstrip("=")


def user_of(token: str) -> str:
    """The user behind a subject token.

    Raises:
        ValueError: the token is not one that `user_token` makes.
    """
    if not token.startswith("~"):
        if not _PLAIN_USER.fullmatch(token):
            raise ValueError(f"{token!r} is no user token")
        return token
    raw = token[1:]
    user_id = base64.urlsafe_b64decode(raw + "=" * (-len(raw) % 4)).decode()
    if not user_id or user_token(user_id) != token:
        raise ValueError(f"{token!r} is not the canonical token of {user_id!r}")
    return user_id


def inbox(bus_user: str | None) -> str:
    """What the reply subjects of a user of the bus begin with: nobody may listen to the replies of another."""
    return f"{INBOX}.{bus_user}" if bus_user and _BUS_USER.fullmatch(bus_user) else INBOX


def turns(user_id: str) -> str:
    """Where a turn of this user is published."""
    return f"{TURNS}.{user_token(user_id)}"


def incognito(user_id: str) -> str:
    """Where a turn of this user is published that nobody may keep."""
    return f"{INCOGNITO}.{user_token(user_id)}"


@dataclass(frozen=True, slots=True)
class Stream:
    """A JetStream stream as it must be.

    `until_done`: messages stay until the service that reads them drops what is done, many at a time; removing each
    on its acknowledgement would cost a write to disk apiece. `interest`: a message goes once it is acknowledged.
    `log`: messages stay until they are too old, and under one subject as many as the `share` says; -1: any number.
    `latest`: as many as fit. `counts`: every subject is a number in memory, which messages add to. `most_bytes`: how
    much a stream of few messages may hold, unlike others.
    """

    name: str
    subjects: tuple[str, ...]
    keeps: Literal["until_done", "interest", "log", "latest", "counts"]
    max_age_seconds: int = 0
    share: int = -1
    most_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Consumer:
    """A durable pull consumer.

    Without a `group` it is called as the service that reads it, or names it (`reader`), and the replicas of that
    service share its messages. With one it is a part of the work of the service that the group is called as: one
    replica at a time reads it.
    """

    name: str
    stream: str
    subject: str
    group: str | None = None
    reader: str | None = None

    @property
    def service(self) -> str:
        """Who reads it."""
        return self.group or self.reader or self.name


TURNS_STREAM = Stream("MEMORY_TURNS", (f"{TURNS}.*",), keeps="until_done")
EVENTS_STREAM = Stream("MEMORY_EVENTS", ("memory.v1.entry.*",), keeps="interest")
DEAD_STREAM = Stream("MEMORY_DEAD", (f"{DEAD}.>",), keeps="log", max_age_seconds=30 * 24 * 3600, share=32)
KEYS_STREAM = Stream("MEMORY_KEYS", (f"{KEYS}.*",), keeps="latest", share=1, most_bytes=16 * 1024**2)
LIMITS_STREAM = Stream(
    "MEMORY_LIMITS", (f"{LIMITS}.>",), keeps="counts", max_age_seconds=120, share=1, most_bytes=16 * 1024**2
)
EXTRACT_STREAM = Stream("MEMORY_EXTRACT", ("memory.v1.extract.*",), keeps="interest", most_bytes=16 * 1024**2)
STREAMS = (TURNS_STREAM, EVENTS_STREAM, DEAD_STREAM, KEYS_STREAM, LIMITS_STREAM, EXTRACT_STREAM)

INGEST = Consumer("ingest", TURNS_STREAM.name, f"{TURNS}.*")
DEDUPE = Consumer("dedupe", EVENTS_STREAM.name, ENTRY_PROPOSED)
ENRICH = Consumer("enrich", EVENTS_STREAM.name, ENTRY_ACCEPTED)
EMBED = Consumer("embed", EVENTS_STREAM.name, ENTRY_ENRICHED)
CONSUMERS = (INGEST, DEDUPE, ENRICH, EMBED)

EXTRACT = Consumer("extract", EXTRACT_STREAM.name, EXTRACT_WANTED, reader=ENRICH.name)
"""Entries that a language model is to read. It is no part of the pipeline: nothing waits for it, and its
stream takes no more once it is full."""

_SPLIT = re.compile(re.escape(PARTITION) + r"\.\{\{partition\((\d+),1\)\}\}\.\{\{wildcard\(1\)\}\}")


def partition_transform(partitions: int) -> str:
    """What the bus makes of the subject `memory.v1.turns.*` to keep all turns of a user in one of so many parts."""
    return f"{PARTITION}.{{{{partition({partitions},1)}}}}.{{{{wildcard(1)}}}}"


def partitions_of(transform: str | None) -> int:
    """How many parts a transform makes; without one the turns are whole.

    Raises:
        ValueError: the transform is not one that `partition_transform` makes.
    """
    if transform is None:
        return 1
    if not (found := _SPLIT.fullmatch(transform)):
        raise ValueError(f"{transform!r} does not split turns by user")
    return int(found[1])


def ingest_consumers(partitions: int) -> tuple[Consumer, ...]:
    """Who reads the turns: one consumer, or one for each part."""
    if partitions == 1:
        return (INGEST,)
    parts = range(partitions)
    return tuple(Consumer(f"{INGEST.name}-{n}", INGEST.stream, f"{PARTITION}.{n}.*", INGEST.name) for n in parts)


def consumers(partitions: int) -> tuple[Consumer, ...]:
    """Every consumer of a bus whose turns are split into so many parts."""
    return (*ingest_consumers(partitions), *(one for one in CONSUMERS if one is not INGEST))


def declared_consumers(partitions: int) -> tuple[Consumer, ...]:
    """Every consumer that the bus has: those of the pipeline, and the one beside it."""
    return (*consumers(partitions), EXTRACT)


def published_as(subject: str) -> str:
    """The subject a message was published on: a bus that splits the turns keeps them under others."""
    if subject.startswith(f"{PARTITION}."):
        return f"{TURNS}.{subject.rpartition('.')[2]}"
    return subject


def dead(stage: str, share: str = "none") -> str:
    """Where the messages that `stage` could not digest are kept: each user has a share of the room, named by a hash.

    When a share is full, its oldest letters make room; those of other users stay.
    """
    return f"{DEAD}.{stage}.{share}"


def key(id_: str) -> str:
    """Where the API key of this id is kept."""
    return f"{KEYS}.{id_}"
