"""What a memorybus of its own tells of chats: they are published, digested, and asked for over the bus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from contracts import flow
from contracts.v1.commands import ListRequest
from contracts.v1.entries import Status
from contracts.v1.loops import LoopsReply, LoopsRequest, State
from contracts.v1.profile import ProfileFact, ProfileReply, ProfileRequest
from services.bench.process import measured
from services.eval.knowledge import Told, ToldFact, ToldTask
from services.eval.labels import Labelled
from services.eval.runs import remember
from services.shared.client import MemoryClient
from services.shared.commands.progress import Progress
from services.shared.knowledge.profile import ME

_PATIENCE = 60.0
_MOST_LOOPS = 200
_PAGE = 1000
_TELLING: tuple[Status, ...] = ("active", "superseded")

Turns = Mapping[str, frozenset[str]]
"""By the id of an entry, the turns it stands for, by their ids in the chat."""


async def told_of(
    chats: Sequence[Labelled], folder: Path, progress: Progress, environment: Mapping[str, str] | None = None
) -> list[Told]:
    """Remember these chats in this folder, with these settings besides those inherited, and ask what is known of each.

    Raises:
        Unavailable: memorybus did not start, or did not digest the turns.
    """
    found = []
    async with measured(folder, environment=environment) as (_, client):
        await remember(client, [turn for chat in chats for turn in chat.turns], progress)
        for done, chat in enumerate(chats, start=1):
            found.append(await _told(client, chat))
            progress("asking", done, len(chats))
    return found


async def _told(client: MemoryClient, chat: Labelled) -> Told:
    """What is told when a chat ends, as which it is labelled: an appointment of that time is not over then."""
    turns = await _turns(client, chat.id)
    ended = max((turn.created_at for turn in chat.turns if turn.created_at), default=None)
    profile = await client.request(flow.PROFILE, ProfileRequest(user_id=chat.id, as_of=ended), patience=_PATIENCE)
    loops = [await _loops(client, chat.id, state) for state in get_args(State)]
    return told_by(turns, profile, loops)


async def _turns(client: MemoryClient, user_id: str) -> Turns:
    """Of every entry of a user; what was said again goes with the entry that said it first."""
    turns: dict[str, frozenset[str]] = {}
    for status in _TELLING:
        request: ListRequest | None = ListRequest(user_id=user_id, status=status, limit=_PAGE)
        while request is not None:
            reply = await client.list(request, patience=_PATIENCE)
            turns |= {entry.id: frozenset(entry.source_ids) for entry in reply.items}
            request = request.model_copy(update={"cursor": reply.next_cursor}) if reply.next_cursor else None
    return turns


async def _loops(client: MemoryClient, user_id: str, state: State) -> LoopsReply:
    request = LoopsRequest(user_id=user_id, state=state, limit=_MOST_LOOPS)
    return await client.request(flow.LOOPS, request, patience=_PATIENCE)


def told_by(turns: Turns, profile: ProfileReply, loops: Sequence[LoopsReply]) -> Told:
    """What these replies tell, by turns. A value that held before is told, too, as one that holds no more."""
    facts = [told for fact in profile.facts for told in _facts(fact, turns)]
    tasks = [ToldTask(turns.get(one.entry_id, frozenset()), one.text) for reply in loops for one in reply.items]
    is_whole = not profile.truncated and not profile.left_out
    return Told(facts, tasks, is_whole and all(len(reply.items) == reply.total_count for reply in loops))


def _facts(fact: ProfileFact, turns: Turns) -> Iterator[ToldFact]:
    slot = fact.memory_key.rpartition("|")[2]
    owner = "" if fact.entity_label == ME else fact.entity_label
    yield ToldFact(_of(turns, fact.source_ids), fact.value, slot, owner, fact.until is None, fact.is_likely)
    for former in fact.before:
        yield ToldFact(_of(turns, former.source_ids), former.value, slot, owner, holds=False)


def _of(turns: Turns, entries: Sequence[str]) -> frozenset[str]:
    return frozenset(turn for id_ in entries for turn in turns.get(id_, ()))
