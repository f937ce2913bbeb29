"""Whether an entry may be accepted, or another one that states the same came in meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from contracts.ports import Accepted
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import claims
from services.shared.stores.opensearch.claims import ABANDONED, Claim
from services.shared.stores.opensearch.client import Client
from services.shared.stores.opensearch.documents import BODY, OWNER, STATUS, USER, claim_ids, now, owner
from services.shared.stores.opensearch.pauses import wait
from services.shared.stores.opensearch.writing import Writer

_PATIENCE = 1.0  # seconds
_PAUSE = 0.03  # seconds


@dataclass(frozen=True, slots=True)
class Lost:
    """The entries that must be judged again.

    `awaited` has a group (user by id) for each that stands back only behind others that are about to be stored.
    """

    ids: frozenset[str] = frozenset()
    awaited: tuple[Mapping[str, str], ...] = ()


async def lost(writer: Writer, accepted: Sequence[Accepted]) -> Lost:
    """List the entries as claiming their keys, and find those that have to stand back behind another one.

    That is one with a common key, not among those that the verdict knew of, which is stored and active, or listed
    before and about to be stored.
    """
    staked = await claims.stake(writer, [verdict.entry for verdict in accepted])
    together = {verdict.entry.id for verdict in accepted}
    unknown = {
        verdict.entry.id: _unknown(verdict, staked, together) for verdict in accepted if verdict.besides is not None
    }
    asked = {id_: verdict.entry.user_id for verdict in accepted for id_ in unknown.get(verdict.entry.id, ())}
    if not asked:
        return Lost()
    held = await _held(writer.client, asked)
    behind: dict[str, set[str]] = {}
    for verdict in accepted:
        ahead = {
            id_
            for id_, listed_at in unknown.get(verdict.entry.id, {}).items()
            if _is_ahead(verdict.entry, id_, listed_at, staked, held)
        }
        if ahead:
            behind[verdict.entry.id] = ahead
    awaited = [ahead for ahead in behind.values() if ahead.isdisjoint(held)]
    return Lost(frozenset(behind), tuple({id_: asked[id_] for id_ in ahead} for ahead in awaited))


def _unknown(verdict: Accepted, staked: Mapping[str, Claim], together: set[str]) -> dict[str, int]:
    """Who claims the same keys without the verdict having known: id and time listed."""
    expected = together | (verdict.besides or frozenset())
    return {id_: at for id_, at in claims.others(verdict.entry, staked).items() if id_ not in expected}


async def _held(client: Client, users: Mapping[str, str]) -> dict[str, Entry | None]:
    """What is stored under these ids; None in place of an entry out of use, or of a marker."""
    documents = await client.mget("entries", users.items(), fields=(USER, OWNER, STATUS, BODY))
    found: dict[str, Entry | None] = {}
    for document, user_id in zip(documents, users.values(), strict=True):
        if document is not None and owner(document.source) == user_id:
            active = document.source[STATUS] == "active"
            found[document.id] = Entry.model_validate_json(document.source[BODY]) if active else None
    return found


def _is_ahead(
    entry: Entry, other: str, listed_at: int, staked: Mapping[str, Claim], held: Mapping[str, Entry | None]
) -> bool:
    if other in held:
        stored = held[other]
        return stored is not None and not set(claim_ids(stored)).isdisjoint(claim_ids(entry))
    if now() - listed_at > ABANDONED:
        return False
    return not claims.comes_first(entry, other, staked)


async def wait_for(client: Client, groups: Sequence[Mapping[str, str]]) -> None:
    """Wait a little until one of each group is stored, so that judging again comes to something."""
    deadline = time.monotonic() + _PATIENCE
    left = list(groups)
    while left and time.monotonic() < deadline:
        await wait(_PAUSE)
        users = {id_: user_id for group in left for id_, user_id in group.items()}
        documents = await client.mget("entries", users.items(), fields=(STATUS,))
        there = {document.id for document in documents if document is not None}
        left = [group for group in left if there.isdisjoint(group)]
