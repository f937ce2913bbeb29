"""Forgetting what was said in one conversation, by the verbs that there are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from contracts import flow
from contracts.paths import VERB_OF, TruncateReply
from contracts.v1.commands import ListReply
from contracts.v1.edits import BulkFailure, BulkReply
from contracts.v1.entries import Entry, Status

if TYPE_CHECKING:
    from services.gateway.api import Edge
    from services.gateway.callers import Caller

_STATES: tuple[Status, ...] = ("active", "superseded", "archived")
_PAGE = 200
_MOST = 1000
"""Entries that one request forgets: it has to be answered within its time."""


async def truncate(edge: Edge, caller: Caller, conversation_id: str, space: str | None) -> TruncateReply:
    """Forget the entries of a conversation, but what is pinned or saved, or was said in another one, too.

    What was said last in it is waited for.
    """
    going, kept = list[str](), 0
    for state in _STATES:
        async for entry in _said_in(edge, caller, conversation_id, space, state):
            stays = entry.pinned or entry.manually_saved or _is_said_elsewhere(entry, conversation_id)
            kept += stays
            going += () if stays else (entry.id,)
    done, failed = 0, list[BulkFailure]()
    for start in range(0, min(len(going), _MOST), _PAGE):
        ids = going[start : min(start + _PAGE, _MOST)]
        raw = await edge.ask(
            caller, VERB_OF[flow.BULK.subject], {"ids": ids, "action": "forget", "whole": "conversation"}
        )
        reply = BulkReply.model_validate_json(raw)
        done, failed = done + len(reply.done), [*failed, *reply.failed]
    left = len(going) - done - len(failed)
    return TruncateReply(
        conversation_id=conversation_id, forgotten=done, kept=kept, left=left, failed=tuple(failed[:_PAGE])
    )


async def _said_in(
    edge: Edge, caller: Caller, conversation_id: str, space: str | None, state: Status
) -> AsyncIterator[Entry]:
    values: dict[str, Any] = {"conversation_id": conversation_id, "status": state, "limit": _PAGE}
    values["settled"] = state == _STATES[0]
    values |= {"space": space} if space else {}
    while True:
        page = ListReply.model_validate_json(await edge.ask(caller, VERB_OF[flow.LIST.subject], values))
        for entry in page.items:
            yield entry
        if page.next_cursor is None:
            return
        values |= {"cursor": page.next_cursor, "settled": False}


def _is_said_elsewhere(entry: Entry, conversation_id: str) -> bool:
    told = (entry.conversation_id, *(saying.conversation_id for saying in entry.repeated_in))
    return any(name != conversation_id for name in told)
