"""The audit read and kept: pages of it for users and operators, notes of operators, its age. The store is a port."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from contracts.ports import Record, UserRecords
from contracts.v1.audit import (
    Action,
    AuditNoteReply,
    AuditNoteRequest,
    AuditReply,
    AuditRequest,
    OpsAuditRequest,
)
from services.curate.stores import asked_for
from services.shared.audit import NOBODY, AuditTrail
from services.shared.erasures import erased_at

_MOST_PAGES = 20


async def audit(request: AuditRequest | OpsAuditRequest, *, records: UserRecords) -> AuditReply:
    """One page of what was done, the latest first.

    Raises:
        Rejected: the cursor is not one of ours.
    """
    found, cursor = list[Action](), request.cursor
    for _ in range(_MOST_PAGES):
        wanted = request.limit - len(found)
        page = await asked_for(records.page_records("action", user_id=request.user_id, limit=wanted, cursor=cursor))
        found += [action for record in page.records if _passes(action := _action(record), request)]
        is_past = request.since is not None and any(record.at < request.since for record in page.records)
        cursor = None if is_past else page.cursor
        if cursor is None or len(found) == request.limit:
            break
    return AuditReply(
        items=tuple(found),
        next_cursor=cursor,
        erased_at=(await erased_at(records, [request.user_id])).get(request.user_id) if request.user_id else None,
    )


async def note(request: AuditNoteRequest, *, trail: AuditTrail) -> AuditNoteReply:
    """Keep account of what an operator did; whoever it concerned finds it in their own audit."""
    now = datetime.now(UTC)
    for user_id in request.users or (NOBODY,):
        fields = {"about": request.about, "correlation_id": request.correlation_id, "credential": request.credential}
        trail.note(Action.model_validate({"at": now, "user_id": user_id, "verb": request.verb, **fields}))
    await trail.flush()
    return AuditNoteReply()


async def expire_audit(*, records: UserRecords, days: float) -> int:
    """Remove what was done longer ago than so many days, whole days at a time; 0: nothing."""
    if not days:
        return 0
    before = datetime.now(UTC) - timedelta(days=days)
    return await records.expire_records("action", before=before.replace(hour=0, minute=0, second=0, microsecond=0))


def _action(record: Record) -> Action:
    return Action.model_validate({"user_id": record.user_id, **record.body})


def _passes(action: Action, request: AuditRequest | OpsAuditRequest) -> bool:
    return (request.since is None or action.at >= request.since) and (not request.verbs or action.verb in request.verbs)
