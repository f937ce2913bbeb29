"""What was recalled, without what the client sends itself and what was withdrawn meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from contracts.v1.retrieval import RetrieveReply
from services.gateway.proxy.conversations import Recalled
from services.gateway.proxy.dialects import Said
from services.gateway.proxy.exchanges import Exchange, flat
from services.gateway.proxy.withheld import withdrawn
from services.shared.context.echoes import memories_in, without_memories
from services.shared.context.overview import SUMMARY, Line, telling_lines

MOST_IDS = 64
"""Entries of a block that are named."""

_UNWANTED = frozenset({"incognito", "disabled"})


def _own(exchange: Exchange, reply: RetrieveReply, known: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """What is known of the conversation itself, by id."""
    yield from ((item.id, item.text) for item in reply.items if item.conversation_id == exchange.key.name)
    yield from ((line.ids[0], line.words) for line in known if line.heading == SUMMARY)


def fresh(
    exchange: Exchange, reply: RetrieveReply, known: Sequence[Line], before: Sequence[Said]
) -> tuple[Recalled, list[str], Collection[str]]:
    """What was recalled and the client does not send itself; the ids of what was withdrawn, and what is sent."""
    sent = {flat(text): None for text in (*(said.text for said in before), exchange.question or "")}
    gone = [] if exchange.sends_newest_only else withdrawn(_own(exchange, reply, known), [*sent])
    return _as_recalled(reply, sent, gone), gone, sent


def _as_recalled(reply: RetrieveReply, sent: Collection[str], gone: Collection[str]) -> Recalled:
    """What was recalled, without what the model is sent anyway, and what is `gone`."""
    told = {item.id: item.text for item in reply.items} | {item.id: item.snippet for item in reply.foundation}
    block = without_memories(reply.context, [*gone, *(id_ for id_, text in told.items() if flat(text) in sent)])
    return Recalled(
        block,
        memories_in(block),
        tuple(id_ for id_ in told if id_[:8] in block)[:MOST_IDS],
        reply.degraded,
        is_kept=_UNWANTED.isdisjoint(reply.degraded),
    )


def telling(known: Sequence[Line], reply: RetrieveReply, exchange: Exchange, sent: Collection[str]) -> list[Line]:
    """The lines of an overview that add something to what was recalled, and to what the client sends itself."""
    about = "\n".join((exchange.question or "", *(item.text for item in reply.items)))
    with_user = any(item.role == "user" for item in reply.items)
    shown = {item.id for item in reply.items} | {pinned.id for pinned in reply.foundation}
    changed = {former.id for item in reply.items for former in item.before}
    return telling_lines(known, about=about, with_user=with_user, shown=shown, sent=sent, changed=changed)
