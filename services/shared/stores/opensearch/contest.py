"""Whether an entry may be accepted, or another one that states the same came in meanwhile."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.ports import Accepted
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import claims
from services.shared.stores.opensearch.claims import ABANDONED, Claim
from services.shared.stores.opensearch.documents import (
    BODY,
    OWNER,
    STATUS,
    USER,
    claim_ids,
    fence,
    is_fence,
    now,
    owner,
)
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.transport import Client, Document, Write, backoff

_PATIENCE = 1.0  # seconds
_PAUSE = 0.03  # seconds


@dataclass(frozen=True, slots=True)
class Lost:
    """The entries that must be judged again.

    `awaited` has a group (user by id) for each that stands back only behind others that are about to be stored;
    `fenced` are those (user by id) whose way was barred because they seem to have given up.
    """

    ids: frozenset[str] = frozenset()
    awaited: tuple[Mapping[str, str], ...] = ()
    fenced: Mapping[str, str] = field(default_factory=dict)


async def lost(engine: Engine, accepted: Sequence[Accepted]) -> Lost:
    """List the entries as claiming their keys, and find those that have to stand back behind another one.

    That is one with a common key, not among those that the decision knew of, which is stored and active, or listed
    before and about to be stored.
    """
    staked = await claims.stake(engine, [decision.entry for decision in accepted])
    together = {decision.entry.id for decision in accepted}
    unknown = {
        decision.entry.id: _unknown(decision, staked, together)
        for decision in accepted
        if decision.known_similar is not None
    }
    asked = {id_: decision.entry.user_id for decision in accepted for id_ in unknown.get(decision.entry.id, ())}
    if not asked:
        return Lost()
    standing = await _standing(engine.client, asked)
    held = {id_: _active(document) for id_, document in standing.items() if not is_fence(document.source)}
    behind = _behind(accepted, unknown, staked, held)
    silent = _silent(unknown, {*behind, *held})
    alive = await _fence(engine.client, {id_: asked[id_] for id_ in silent}, standing)
    behind |= {id_: alive & others.keys() for id_, others in unknown.items() if not alive.isdisjoint(others)}
    awaited = [ahead for ahead in behind.values() if ahead.isdisjoint(held)]
    groups = tuple({id_: asked[id_] for id_ in ahead} for ahead in awaited)
    return Lost(frozenset(behind), groups, {id_: asked[id_] for id_ in silent - alive})


def _unknown(decision: Accepted, staked: Mapping[str, Claim], together: set[str]) -> dict[str, int]:
    """Who claims the same keys without the decision having known: id and time listed."""
    expected = together | (decision.known_similar or frozenset())
    return {id_: at for id_, at in claims.others(decision.entry, staked).items() if id_ not in expected}


async def _standing(client: Client, users: Mapping[str, str]) -> dict[str, Document]:
    """What there is under these ids, given as user by id."""
    documents = await client.mget("entries", users.items(), fields=(USER, OWNER, STATUS, BODY))
    return {
        document.id: document
        for document, user_id in zip(documents, users.values(), strict=True)
        if document is not None and owner(document.source) == user_id
    }


def _active(document: Document) -> Entry | None:
    """The entry; None in place of one out of use, or of a marker."""
    return Entry.model_validate_json(document.source[BODY]) if document.source[STATUS] == "active" else None


def _behind(
    accepted: Sequence[Accepted],
    unknown: Mapping[str, Mapping[str, int]],
    staked: Mapping[str, Claim],
    held: Mapping[str, Entry | None],
) -> dict[str, set[str]]:
    """Behind whom each of the entries has to stand back, of those that have to."""
    behind: dict[str, set[str]] = {}
    for decision in accepted:
        others = unknown.get(decision.entry.id, {})
        ahead = {id_ for id_, listed_at in others.items() if _is_ahead(decision.entry, id_, listed_at, staked, held)}
        if ahead:
            behind[decision.entry.id] = ahead
    return behind


def _silent(unknown: Mapping[str, Mapping[str, int]], known: Collection[str]) -> set[str]:
    """Who seems to have given up, of those beside whom an entry is about to be stored."""
    contested = (others.items() for id_, others in unknown.items() if id_ not in known)
    return {id_ for others in contested for id_, listed_at in others if id_ not in known and _is_given_up(listed_at)}


def _is_ahead(
    entry: Entry, other: str, listed_at: int, staked: Mapping[str, Claim], held: Mapping[str, Entry | None]
) -> bool:
    if other in held:
        stored = held[other]
        return stored is not None and not set(claim_ids(stored)).isdisjoint(claim_ids(entry))
    return not _is_given_up(listed_at) and not claims.comes_first(entry, other, staked)


def _is_given_up(listed_at: int) -> bool:
    return now() - listed_at > ABANDONED


async def _fence(client: Client, users: Mapping[str, str], standing: Mapping[str, Document]) -> set[str]:
    """Bar the way of those who seem to have given up; the ids of those who have not.

    Who was only held up finds the fence where it wants to store its entry, and has to look again who claims its keys.
    A fence that stands is built anew, as somebody may be about to take the place of the old one.
    """
    seen = {id_: standing[id_].version if id_ in standing else None for id_ in users}
    writes = [
        Write("index" if seen[id_] else "create", "entries", user_id, id_, fence(user_id), seen[id_])
        for id_, user_id in users.items()
    ]
    made = await client.bulk(writes)
    return {write.id for write, version in zip(writes, made, strict=True) if version is None}


async def wait_for(client: Client, groups: Sequence[Mapping[str, str]]) -> None:
    """Wait a little until one of each group is stored, so that judging again comes to something."""
    deadline = time.monotonic() + _PATIENCE
    left = list(groups)
    while left and time.monotonic() < deadline:
        await backoff(_PAUSE)
        users = {id_: user_id for group in left for id_, user_id in group.items()}
        documents = await client.mget("entries", users.items(), fields=(STATUS,))
        there = {document.id for document in documents if document is not None}
        left = [group for group in left if there.isdisjoint(group)]
