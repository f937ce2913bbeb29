"""Which active entries share a fingerprint: the candidates for being the same statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from contracts.ports import SimilarityQuery
from contracts.v1.entries import Entry
from services.shared.stores.opensearch import claims
from services.shared.stores.opensearch.documents import claim_id, claim_ids
from services.shared.stores.opensearch.entries import Stored
from services.shared.stores.opensearch.entries import read as read_entries
from services.shared.stores.opensearch.transport import Client
from services.shared.stores.scopes import scope_key


async def similar(client: Client, probes: Sequence[SimilarityQuery]) -> list[list[Entry]]:
    """For each probe the active entries of the same voice that share one of its keys, in the order stored."""
    asked = [_claim_ids(probe) for probe in probes]
    users = {id_: probe.scope.user_id for probe, ids in zip(probes, asked, strict=True) for id_ in ids}
    found = await claims.read(client, users)
    listed = {id_: claim.user_id for claim in found.values() for id_ in claim.listed}
    holders = _holders(found, await read_entries(client, listed))
    return [_in_order({stored.entry.id: stored for id_ in ids for stored in holders[id_]}) for ids in asked]


def _claim_ids(probe: SimilarityQuery) -> list[str]:
    scope = scope_key(probe.scope.user_id, probe.scope.space, probe.scope.persona_id)
    return [claim_id(scope, probe.role, probe.speaker, key) for key in dict.fromkeys(probe.keys)]


def _holders(found: Mapping[str, claims.Claim], stored: Mapping[str, Stored]) -> dict[str, list[Stored]]:
    """For each claim the entries that are still what it was made for."""
    claimed = {id_: frozenset(claim_ids(one.entry)) for id_, one in stored.items() if one.entry.status == "active"}
    return {
        claim.id: [stored[id_] for id_ in claim.listed if claim.id in claimed.get(id_, ())] for claim in found.values()
    }


def _in_order(found: Mapping[str, Stored]) -> list[Entry]:
    return [one.entry for one in sorted(found.values(), key=attrgetter("seq"))]
