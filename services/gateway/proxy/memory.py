"""The memory's side of a chat: what is recalled for it, which commands it holds, and what is remembered of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from uuid import uuid5

from contracts import flow
from contracts.envelope import NAMESPACE
from contracts.errors import Unavailable
from contracts.ports import TokenCounter
from contracts.v1.chat import ChatCommand, ChatVerb, CommandReply, CommandRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Role, Turn
from services.gateway.api import Edge, too_often
from services.gateway.confined import changes_nothing
from services.gateway.problems import EXPECTED, problem_of
from services.gateway.proxy.conversations import Conversation, Conversations, Key, Recalled
from services.gateway.proxy.dialects import Said
from services.gateway.proxy.exchanges import Exchange, flat
from services.gateway.proxy.following import Following
from services.gateway.proxy.overviews import Overviews
from services.gateway.proxy.recollection import MOST_IDS, fresh, telling
from services.gateway.proxy.replies import (
    CONFIRM,
    NOT_CHANGED,
    NOT_CONFIRMED,
    agrees,
    is_beside,
    repeated,
    tells_of,
    why_not,
    worded,
)
from services.gateway.proxy.settings import ProxySettings
from services.gateway.proxy.withheld import (
    LONGEST_SENT,
    MOST_SENT,
    is_announced,
    kept_unanswered,
    learned_from,
    told_in,
)
from services.shared.client import RequestFailed
from services.shared.context.echoes import is_influenced, memories_in, without_blocks
from services.shared.context.overview import Line, with_overview
from services.shared.lifecycle.salience import is_small_talk
from services.shared.privacy.assent import chosen, is_no
from services.shared.privacy.chat_commands import asks_to_forget, command_in
from services.shared.privacy.unwanted import is_unwanted
from services.shared.tasks import beside_the_loop
from services.shared.telemetry import PROXY_LOST, PROXY_MEMORY

log = logging.getLogger(__name__)

_LONGEST_QUERY = 8192
_MOST_UNDER_WAY = 256
_MOST_ASKING = 4
"""Questions that are with the memory at a time: of many that come at once some are answered, not all too late."""
_MOST_LOOKED_UP = 24
"""Things that a user said, the newest of a history, of which it is asked whether they were forgotten since."""

_OVERVIEW_SHARE = 0.3
"""The part of the budget that cards and a summary have at most."""
_MORE_PATIENCE = 0.05
_COMMAND_PATIENCE = 10.0
_ANSWERED_SOON = 0.5
_GO_INCOGNITO = "go incognito"
_CHOOSING = {"forget": "forget", "forget_about": "forget", "pin": "pin", "unpin": "unpin"}
"""By what a list was shown for, what is done to those that are chosen of it."""

_LOOKED_UP_PATIENCE = 5.0
_OF_CONVERSATION = frozenset[ChatVerb](("incognito_start", "incognito_end", "state"))
"""Commands about a conversation itself, not about what was said there."""


@dataclass(slots=True)
class _Answering:
    """An exchange whose answer is under way; unwanted where all of it was removed meanwhile."""

    key: Key
    over: asyncio.Future[None]
    is_unwanted: bool = False


class ChatMemory:
    """Recalls before a model is asked, and remembers after it has answered."""

    def __init__(self, edge: Edge, settings: ProxySettings, counter: Callable[[], TokenCounter]) -> None:
        self._edge = edge
        self._settings = settings
        self.conversations = Conversations(settings.proxy_recent_turns)
        self._under_way: set[asyncio.Task[None]] = set()
        self._answering: dict[int, _Answering] = {}  # by the identity of its exchange
        self._asking = asyncio.Semaphore(_MOST_ASKING)
        self._overviews = Overviews(edge, settings)
        self._counter = cache(counter)
        self.following = Following(edge, self.conversations)
        edge.removals.on_removal(self.conversations.forget)
        edge.removals.on_removal(self.following.chains.forget)
        edge.removals.on_erasure(self._let_go)

    def readable(self, question: str) -> str:
        """As much of a question as is read and kept."""
        return _cut(question, self._edge.longest)

    async def recall(self, exchange: Exchange, top_k: int | None) -> Recalled:
        """What matters for the question, or why nothing could be recalled, within the patience of the settings."""
        if exchange.is_task:
            return Recalled(degraded=("task",), is_kept=False)
        conversation = self.conversations.of(exchange.key)
        conversation.listed = False
        question = exchange.question or ""
        if not question or exchange.incognito:
            return Recalled(degraded=("incognito",) if exchange.incognito else (), is_kept=not exchange.incognito)
        was_announced = exchange.is_named and self._edge.announced.hears(exchange.key, question)
        was_announced = was_announced or (exchange.chain is not None and exchange.chain.is_announced)
        is_private = was_announced or is_announced(exchange.asked.history)
        recalled = await self._recalled_once(exchange, conversation, question, top_k)
        return replace(recalled, is_kept=False) if is_private else recalled

    async def _recalled_once(
        self, exchange: Exchange, conversation: Conversation, question: str, top_k: int | None
    ) -> Recalled:
        """What matters for a question; the same while tools answer."""
        if not exchange.may_recall:
            return Recalled(degraded=("not_allowed_to_retrieve",))
        known = conversation.blocks.get(question)
        if exchange.asked.answering_tools and known is not None:
            return known
        recalled = await self._recalled(exchange, top_k)
        if recalled.is_kept:
            conversation.put_block(question, recalled)
        return recalled

    async def _recalled(self, exchange: Exchange, top_k: int | None) -> Recalled:
        patience, budget = self._settings.proxy_patience_ms / 1000, self._settings.proxy_token_budget
        places = self._places(exchange)
        reading = self._overviews.begin(exchange.caller, places)
        known = self._overviews.known(places)
        room = int(_OVERVIEW_SHARE * budget) if reading or known else 0
        values = {
            "query": "" if is_small_talk(question := exchange.question or "") else question[:_LONGEST_QUERY],
            "space": exchange.key.space,
            "limit": top_k or self._settings.proxy_top_k,
            "token_budget": budget - room,
            "min_score": self._settings.proxy_min_score or None,
            "asked_in": exchange.key.name,
        }
        try:
            async with asyncio.timeout(patience), self._asking:
                reply = await self._edge.reply(exchange.caller, flow.RETRIEVE, values, patience=patience)
        except TimeoutError:
            return Recalled(degraded=("deadline_exceeded",))
        except EXPECTED as error:
            return Recalled(degraded=(problem_of(error).code,))
        if reading:
            await asyncio.wait(reading, timeout=_MORE_PATIENCE)
        known = self._overviews.known(places)
        before = (*exchange.asked.history, *self._in_mind(exchange))
        work = partial(fresh, exchange, reply, known, before)
        recalled, gone, sent = await beside_the_loop(work, exchange.asked.weight)
        if not known or not recalled.is_kept or "rate_limited" in reply.degraded:
            return recalled
        known = [line for line in known if not set(gone).intersection(line.ids)]
        return await self._with_overview(recalled, telling(known, reply, exchange, sent), room)

    def _places(self, exchange: Exchange) -> list[Key]:
        needs_summary = exchange.is_named and not exchange.sends_all
        return self._overviews.places(exchange.caller, exchange.key, is_named=needs_summary)

    async def _with_overview(self, recalled: Recalled, lines: Sequence[Line], room: int) -> Recalled:
        """What was recalled, with these lines at the head of its block."""
        budget = self._settings.proxy_token_budget
        work = partial(with_overview, recalled.block, lines, room=room, token_budget=budget, counter=self._counter())
        block, told = await beside_the_loop(work, len(recalled.block))
        ids = dict.fromkeys((*recalled.ids, *(line.ids[0] for line in told)))
        return replace(recalled, block=block, memories=memories_in(block), ids=tuple(ids)[:MOST_IDS])

    def recent(self, exchange: Exchange) -> Sequence[Said]:
        """What was said before in a conversation of which the client sends the newest message only, and nobody else
        keeps the others."""
        return () if exchange.is_task or exchange.asked.is_kept_there else self._in_mind(exchange)

    def _in_mind(self, exchange: Exchange) -> Sequence[Said]:
        if not exchange.sends_newest_only or exchange.incognito or not exchange.may_recall:
            return ()
        before = exchange.question if exchange.asked.answering_tools else None
        return self.conversations.of(exchange.key).newest(4 * self._settings.proxy_recent_tokens, before=before)

    async def answer(self, exchange: Exchange) -> str | None:
        """The answer to a command, None where a request is none.

        Raises:
            Problem, RequestFailed, Unavailable: it is one, and could not be done.
        """
        question, asked = exchange.question, exchange.asked
        if not self._settings.proxy_commands or not question or asked.answering_tools or exchange.is_task:
            return None
        conversation = self.conversations.of(exchange.key)
        if asked.wants_form:  # which the answer to a command has not; a wish that nothing be kept holds
            if exchange.wishes_incognito:
                await self._spoken(exchange, conversation, _GO_INCOGNITO)
            return None
        if not exchange.is_behind(conversation):
            if exchange.sends_all and is_beside(exchange, conversation):
                return None
            conversation.let_go()  # another one, which began alike
        spoken = await self._spoken(exchange, conversation, question)
        after = self.conversations.of(exchange.key)
        after.spoken, after.spoken_id = flat(spoken or ""), ""
        return spoken

    async def _spoken(self, exchange: Exchange, conversation: Conversation, question: str) -> str | None:
        """The answer to a command, to the word that one waits for, or to the choice of what it means."""
        waiting = conversation.take_to_confirm()
        confirmed = waiting if waiting and agrees(question, waiting[0]) else None
        if waiting and not confirmed and is_no(question):
            conversation.decided = exchange.answered, NOT_CONFIRMED
            return NOT_CONFIRMED
        if not waiting and (again := repeated(question, exchange.answered, conversation.decided)):
            return again
        text, token = confirmed or (question, None)
        choosing, conversation.choosing = conversation.choosing, ""
        if choosing and not confirmed and (places := chosen(question, conversation.options)):
            text = f"{choosing} {', '.join(map(str, places))}"
        command = command_in(text)
        if command is None and exchange.wishes_incognito:
            await self._spoken(exchange, conversation, _GO_INCOGNITO)
        if command is None or (command.of_list and not conversation.listed):
            return None
        if why := why_not(exchange.caller, text):
            return None if command.or_chat or changes_nothing(command.verb) else f"{NOT_CHANGED} {why}"
        spoken = await self._obeyed(exchange, conversation, command, text, token)
        if confirmed and spoken:
            self.conversations.of(exchange.key).decided = exchange.answered, spoken
        return spoken

    async def _obeyed(
        self, exchange: Exchange, conversation: Conversation, command: ChatCommand, text: str, token: str | None
    ) -> str | None:
        """The answer to a command; None where it is for the model after all, as no memory tells of it."""
        caller, may_pass = exchange.caller, command.verb == "recall" and command.or_chat
        key, said = self._meant(exchange, conversation, command)
        request = CommandRequest(
            user_id=caller.user_id,
            text=text,
            conversation_id=key.name,
            space=key.space,
            said=said,
            shown=conversation.shown if conversation.listed or exchange.is_after(conversation) else (),
            listed=conversation.listed,
            confirm=token,
            spaces=None if caller.spaces is None else tuple(sorted(caller.spaces)),
        )
        if (share := await self._edge.count(caller, request)) and share.is_used_up:
            if may_pass:
                return None
            raise too_often(share)
        await self._until_published(key)
        raw = await self._edge.memory.ask(
            flow.COMMANDS, request, patience=_COMMAND_PATIENCE, credential=caller.credential
        )
        reply = CommandReply.model_validate_json(raw)
        if not reply.understood or (may_pass and not any(tells_of(entry, command.about) for entry in reply.items)):
            return None
        conversation.listed = bool(reply.items)
        if reply.verb in _CHOOSING and len(reply.items) > 1 and token is None:
            conversation.choosing = _CHOOSING[reply.verb]
            conversation.options = tuple(entry.text for entry in reply.items)
        if reply.items:
            conversation.shown = tuple(entry.id for entry in reply.items)[:MOST_IDS]
        if reply.needs_confirmation and reply.token:
            conversation.ask_to_confirm(text, reply.token)
            return f"{worded(reply, exchange.key.space)}\n\n{CONFIRM}"
        await self._heed(exchange, reply)
        return worded(reply, exchange.key.space)

    async def _heed(self, exchange: Exchange, reply: CommandReply) -> None:
        """Keep nothing in mind of what a command removed."""
        user_id = exchange.caller.user_id
        if reply.verb in ("forget", "forget_about", "erase", "correct", "settle", "memory_off", "incognito_start"):
            self.conversations.forget(user_id)
            self._overviews.forget(user_id)
        if reply.verb in ("forget", "forget_about", "erase", "correct"):
            self.following.chains.forget(user_id)
        if reply.verb == "erase":
            self._let_go(user_id)
        if reply.verb == "incognito_start":
            await self.following.note_incognito(exchange)

    def _meant(
        self, exchange: Exchange, conversation: Conversation, command: ChatCommand
    ) -> tuple[Key, tuple[str, ...] | None]:
        """The conversation that a command is said in, and what was said there where others may have begun alike."""
        key, chain = exchange.key, exchange.chain
        if exchange.is_named or command.verb in _OF_CONVERSATION or (chain and not chain.begun):
            return key, None
        if chain:
            return key._replace(name=chain.begun), told_in(conversation.recent)
        return key, told_in(exchange.asked.history)

    @contextmanager
    def answering(self, exchange: Exchange) -> Iterator[None]:
        """While this lasts an exchange is answered and then remembered; a command that comes at once waits for it."""
        answering = _Answering(exchange.key, asyncio.get_running_loop().create_future())
        self._answering[id(exchange)] = answering
        try:
            yield
        finally:
            del self._answering[id(exchange)]
            answering.over.set_result(None)

    def _let_go(self, user_id: str, conversation: str | None = None, space: str | None = None) -> None:
        """Remember nothing of what was asked before all of the user, or of the conversation, was removed."""
        for one in self._answering.values():
            if one.key.user_id == user_id and conversation in (None, one.key.name) and space in (None, one.key.space):
                one.is_unwanted = True
        if conversation is None:
            self.following.chains.erase(user_id)

    async def until_begun(self, exchange: Exchange) -> None:
        """Wait until the first exchange of a conversation is over, which its client has the answer of already."""
        if exchange.chain and (begun := exchange.chain.begun):
            key = exchange.key._replace(name=begun)
            if waiting := [one.over for one in self._answering.values() if one.key == key]:
                await asyncio.wait(waiting, timeout=_ANSWERED_SOON)

    async def _until_published(self, key: Key) -> None:
        """Wait until what was said in a conversation is with the bus, for a moment at most."""
        for _ in range(2):  # what is answered has to be published, too
            if waiting := {*self._under_way, *(one.over for one in self._answering.values() if one.key == key)}:
                await asyncio.wait(waiting, timeout=_ANSWERED_SOON)

    def remember(self, exchange: Exchange, recalled: Recalled, answer: str) -> None:
        """Remember what was said, beside everything else; nobody waits for it."""
        if not exchange.may_publish or exchange.is_task or not (recalled.is_kept or exchange.incognito):
            return
        if is_unwanted(exchange.question or ""):  # nor what answers it, which may repeat it
            return
        if (answering := self._answering.get(id(exchange))) and answering.is_unwanted:
            return
        if not exchange.incognito and exchange.may_recall:
            self._overviews.renew(exchange.caller, self._places(exchange))
        if len(self._under_way) >= _MOST_UNDER_WAY:
            PROXY_LOST.inc()
            log.warning("exchange_lost", extra={"why": "too many wait for the bus"})
            return
        conversation = self.conversations.of(exchange.key)
        before = conversation.said_before(exchange.question or "") if exchange.sends_newest_only else ""
        unanswered = [
            (at, _cut(text, self._edge.longest))
            for at, text in kept_unanswered(exchange.asked)
            if not (exchange.is_named and conversation.has_heard(text))
        ]
        injected = () if exchange.incognito else self._keep_in_mind(exchange, unanswered, answer)
        if self._settings.proxy_commands and asks_to_forget(exchange.question or ""):
            return
        task = asyncio.create_task(self._remembered(exchange, recalled, answer, injected, before, unanswered))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _keep_in_mind(self, exchange: Exchange, unanswered: Sequence[tuple[int, str]], answer: str) -> tuple[str, ...]:
        """Add to the conversation what was said; what the model had been told, of which the answer may repeat some."""
        conversation = self.conversations.of(exchange.key)
        told = dict.fromkeys(said.text for said in conversation.recent if said.role == "user")
        sent = [said.text[:LONGEST_SENT] for said in exchange.asked.history if said.role == "user"]
        told |= dict.fromkeys(sent[-MOST_SENT:])
        injected = (*conversation.memories, *told)
        if not exchange.asked.answering_tools:
            conversation.say(
                Said("user", text) for text in (*(text for _, text in unanswered), exchange.question or "")
            )
        conversation.say([Said("assistant", answer)])
        conversation.answered = exchange.beginning_of(answer)
        return injected

    async def _remembered(
        self,
        exchange: Exchange,
        recalled: Recalled,
        answer: str,
        injected: Sequence[str],
        before: str,
        unanswered: Sequence[tuple[int, str]],
    ) -> None:
        question, said = exchange.question or "", _cut(without_blocks(answer), self._edge.longest)
        said = "" if exchange.is_private else said  # of what it may tell nobody here knows all
        size = len(said) + len(question) + sum(map(len, injected))
        gone = await self._forgotten(exchange) if said and not exchange.incognito else ()
        learned = await beside_the_loop(
            partial(learned_from, said, injected, question, exchange.asked.history, gone), size
        )
        if recalled.memories:
            used = await beside_the_loop(partial(is_influenced, said, recalled.memories, question), size)
            PROXY_MEMORY.labels("used" if used else "unused").inc()
        else:
            PROXY_MEMORY.labels("none").inc()
        position = exchange.asked.position
        turns = (
            *(self._turn(exchange, "user", (str(at), ""), text) for at, text in unanswered),
            self._turn(exchange, "user", (str(position), before), question),
            self._turn(exchange, "assistant", (str(position + 1), before), learned),
        )
        try:
            for turn in filter(None, turns):
                await self._edge.memory.publish(turn, incognito=exchange.incognito)
        except Exception as error:
            PROXY_LOST.inc()
            log.warning("exchange_lost", extra={"why": type(error).__name__})

    async def _forgotten(self, exchange: Exchange) -> Sequence[str]:
        """What of the history the user had forgotten, and what may not come back now; nothing where nobody knows."""
        sent = (without_blocks(said.text).strip() for said in reversed(exchange.asked.history) if said.role == "user")
        short = islice((text for text in sent if 0 < len(text) <= LONGEST_SENT), _MOST_LOOKED_UP)
        said = [*dict.fromkeys(short)][::-1]
        if not said or not exchange.may_recall:
            return ()
        user_id, space, _ = exchange.key
        asked = RetrieveRequest(user_id=user_id, space=space, query="", limit=1, token_budget=0, said=tuple(said))
        try:
            raw = await self._edge.memory.ask(
                flow.RETRIEVE, asked, patience=_LOOKED_UP_PATIENCE, credential=exchange.caller.credential
            )
        except (TimeoutError, Unavailable, RequestFailed):
            return ()
        return [said[place] for place in RetrieveReply.model_validate_json(raw).forgotten]

    def _turn(self, exchange: Exchange, role: Role, place: tuple[str, str], text: str) -> Turn | None:
        text = _cut(text, self._edge.longest)
        if not text.strip():
            return None
        user_id, space, conversation = exchange.key
        parts = ("proxy", user_id, space, conversation, role, *place, text)
        return Turn(
            user_id=user_id,
            space=space,
            conversation_id=conversation,
            role=role,
            text=text,
            turn_id=str(uuid5(NAMESPACE, "\x1f".join(parts))),
        )

    async def finish(self) -> None:
        """Wait until what was said is with the bus."""
        await self._overviews.close()
        if self._under_way:
            await asyncio.wait(self._under_way)


def _cut(text: str, most: int) -> str:
    """The beginning of a text that has so many bytes at most."""
    raw = text.encode(errors="replace")
    return text if len(raw) <= most else raw[:most].decode(errors="ignore")
