"""What the user says of the facts that were read in their entries, kept in these. The store is a port."""

from __future__ import annotations

from datetime import UTC, datetime

from contracts.ports import TextStore
from contracts.v1.claims import ClaimId
from contracts.v1.entries import Entry
from contracts.v1.profile import DecideReply, DecideRequest
from services.curate.commands import entry_meant
from services.shared.changes import change_entries
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.lifecycle.decided_claims import claim_at, decided
from services.shared.told import as_told


async def decide(request: DecideRequest, *, store: TextStore, now: datetime | None = None) -> DecideReply:
    """Keep with its entry whether a fact is so.

    Raises:
        Rejected: there is no such fact.
        Unavailable: others keep changing the entry, or the user is being erased.
    """
    asked = ClaimId.read(request.id)
    if asked is None or await is_hidden(store, request.user_id):
        raise _nothing(request.id)
    entry = await entry_meant(request.user_id, asked.entry_id, store)
    told = await as_told(entry, store)
    claim = claim_at(told, asked.value, asked.slot) if told.status in ("active", "superseded") else None
    if claim is None:
        raise _nothing(request.id)
    at = now or datetime.now(UTC)

    def change(one: Entry) -> Entry | None:
        if one.text != told.text:
            raise _nothing(request.id)
        return decided(one, claim, request.is_so, at)

    await change_entries(store, [entry], change)
    named = ClaimId(entry.id, claim.value, claim.slot)
    return DecideReply(id=str(named), is_so=request.is_so, correlation_id=request.correlation_id)


def _nothing(id_: str) -> Rejected:
    return Rejected("not_found", f"there is no fact of the id {id_!r} that can be decided: ask for the profile anew")
