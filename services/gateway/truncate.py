"""Forgetting what was said in one conversation, by the verbs that there are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from contracts import flow
from contracts.paths import TruncateReply
from contracts.v1.edits import BulkFailure
from contracts.v1.entries import Entry, Status
from services.shared.lifecycle.sayings import is_said_elsewhere

if TYPE_CHECKING:
    from services.gateway.api import Edge
    from services.gateway.callers import Caller

_STATES: tuple[Status, ...] = ("active", "superseded", "archived")
_PAGE = 200
_MOST = 1000
"""Entries that one request forgets: it has to be answered within its time."""


async def truncate(edge: Edge, caller: Caller, conversation_id: str, space: str | None) -> TruncateReply:
    """Forget the entries of a conversation, but what is pinned or saved; of what was said in another one, too, that it
    was said in this. What was said last in it is waited for.
    """
    going, shared, kept = list[str](), list[str](), 0
    for state in _STATES:
        async for entry in _said_in(edge, caller, conversation_id, space, state):
            if entry.pinned or entry.manually_saved:
                kept += 1
            else:
                (shared if is_said_elsewhere(entry, conversation_id) else going).append(entry.id)
    space = caller.space({"space": space} if space else {}, None)
    meant = {"action": "forget", "whole": "conversation", "conversation_id": conversation_id, "space": space}
    done, failed, ids = set[str](), list[BulkFailure](), [*going, *shared]
    for start in range(0, min(max(len(ids), 1), _MOST), _PAGE):  # of none, too, there may be dead letters
        values = {"ids": ids[start : min(start + _PAGE, _MOST)], **meant}
        reply = await edge.reply(caller, flow.BULK, values)
        done, failed = done.union(reply.done), [*failed, *reply.failed]
    return TruncateReply(
        conversation_id=conversation_id,
        forgotten=len(done.intersection(going)),
        kept=kept + len(done.intersection(shared)),
        left=len(ids) - len(done) - len(failed),
        failed=tuple(failed[:_PAGE]),
    )


async def _said_in(
    edge: Edge, caller: Caller, conversation_id: str, space: str | None, state: Status
) -> AsyncIterator[Entry]:
    values: dict[str, Any] = {"conversation_id": conversation_id, "status": state, "limit": _PAGE}
    values |= {"settled": state == _STATES[0]} | ({"space": space} if space else {})
    while True:
        page = await edge.reply(caller, flow.LIST, values)
        for entry in page.items:
            yield entry
        if page.next_cursor is None:
            return
        values |= {"cursor": page.next_cursor, "settled": False}
