"""The memory's side of a chat: what is recalled for it, which commands it holds, and what is remembered of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from uuid import uuid5

from pydantic import ValidationError

from contracts import flow
from contracts.envelope import NAMESPACE
from contracts.errors import Unavailable
from contracts.paths import VERB_OF
from contracts.ports import TokenCounter
from contracts.v1.chat import ChatCommand, CommandReply, CommandRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Role, Turn
from services.gateway.api import Edge, too_often
from services.gateway.callers import Caller
from services.gateway.problems import Problem
from services.gateway.proxy.conversations import Conversation, Conversations, Key, Recalled
from services.gateway.proxy.dialects import Asked, Said
from services.gateway.proxy.overviews import Overviews
from services.gateway.proxy.settings import ProxySettings
from services.gateway.proxy.withheld import LONGEST_SENT, MOST_SENT, is_announced, learned_from, until_incognito
from services.gateway.spoken import changes_nothing, refuse_beyond
from services.shared.client import RequestFailed
from services.shared.core.assent import is_no, is_yes
from services.shared.core.chat_commands import asks_to_forget, command_in, is_choice
from services.shared.core.echoes import (
    is_influenced,
    memories_in,
    without_blocks,
    without_memories,
)
from services.shared.core.front_ends import is_task
from services.shared.core.mentions import mentions
from services.shared.core.overview import Line, telling_lines, with_overview
from services.shared.core.passages import snippet
from services.shared.core.salience import is_small_talk
from services.shared.core.traits import is_mere_question
from services.shared.core.unwanted import is_of_whole_chat, is_unwanted
from services.shared.tasks import beside_the_loop
from services.shared.telemetry import PROXY_LOST, PROXY_MEMORY

log = logging.getLogger(__name__)

_RETRIEVE = VERB_OF[flow.RETRIEVE.subject]
_LONGEST_QUERY = 8192
_MOST_UNDER_WAY = 256
_MOST_ASKING = 4
"""Questions that are with the memory at a time: of many that come at once some are answered, not all too late."""
_MOST_IDS = 64
_MOST_LOOKED_UP = 24
"""Things that a user said, the newest of a history, of which it is asked whether they were forgotten since."""

_LONGEST_SHOWN = 200
_MARKS = {"superseded": " (no longer so)", "archived": " (archived)"}
_UNWANTED = frozenset({"incognito", "disabled"})
_OVERVIEW_SHARE = 0.3
"""The part of the budget that cards and a summary have at most."""
_MORE_PATIENCE = 0.05
_COMMAND_PATIENCE = 10.0
_ANSWERED_SOON = 0.5
_GO_INCOGNITO = "go incognito"
_LOOKED_UP_PATIENCE = 5.0
_NOT_CONFIRMED = "Then nothing was changed."
_NOT_CHANGED = "Nothing was changed."
_CONFIRM = "Say yes to do it, or anything else to leave it."


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a caller: what it says, and in which conversation."""

    caller: Caller
    key: Key
    asked: Asked
    question: str | None
    is_named: bool
    incognito: bool

    @property
    def may_recall(self) -> bool:
        """Whether the credential opens retrieval."""
        return self.caller.may(flow.RETRIEVE.name, reads=True)

    @property
    def may_publish(self) -> bool:
        """Whether the credential opens publishing."""
        return self.caller.may("turns", reads=False)

    @property
    def answered(self) -> str:
        """The last answer that the client sends along, on one line."""
        return next((_flat(said.text) for said in reversed(self.asked.history) if said.role == "assistant"), "")

    @property
    def sends_newest_only(self) -> bool:
        """Whether the client leaves it to others to know what was said before."""
        return self.is_named and not any(said.role in ("user", "assistant") for said in self.asked.history)


def conversation_of(asked: Asked, named: str | None) -> str:
    """The name of a conversation; without one, a hash of how it began, which each of its requests repeats.

    One that its user made incognito is another from there on: not all that begin alike are meant.
    """
    if name := asked.memory_id or named:
        return name
    said = [one for one in (*asked.history, Said("user", asked.question or "")) if one.role in ("user", "assistant")]
    begun = until_incognito(said) or [next(one for one in said if one.role == "user")]
    text = "\x1f".join(without_blocks(one.text) for one in begun)
    return f"chat-{sha256(text.encode(errors='replace')).hexdigest()[:16]}"


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
        self._conversations = Conversations(settings.proxy_recent_turns)
        self._under_way: set[asyncio.Task[None]] = set()
        self._answering: dict[int, _Answering] = {}  # by the identity of its exchange
        self._asking = asyncio.Semaphore(_MOST_ASKING)
        self._overviews = Overviews(edge, settings)
        self._counter = cache(counter)
        edge.removals.on_removal(self._conversations.forget)
        edge.removals.on_erasure(self._let_go)

    def readable(self, question: str) -> str:
        """As much of a question as is read and kept."""
        return _cut(question, self._edge.longest)

    async def recall(self, exchange: Exchange, top_k: int | None) -> Recalled:
        """What matters for the question, or why nothing could be recalled, within the patience of the settings."""
        conversation = self._conversations.of(exchange.key)
        conversation.listed = False
        question = exchange.question or ""
        is_kept = not (exchange.incognito or is_task(question))
        if not (question and is_kept):
            return Recalled(degraded=("incognito",) if exchange.incognito else (), is_kept=is_kept)
        was_announced = exchange.is_named and self._edge.announced.hears(exchange.key, question)
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
                raw = await self._edge.ask(exchange.caller, _RETRIEVE, values, patience=patience)
        except TimeoutError:
            return Recalled(degraded=("deadline_exceeded",))
        except Unavailable:
            return Recalled(degraded=("unavailable",))
        except RequestFailed as error:
            return Recalled(degraded=(error.info.code,))
        except (Problem, ValidationError) as error:
            log.warning("chat_not_recalled", extra={"error": type(error).__name__})
            return Recalled(degraded=("invalid_request",))
        if reading:
            await asyncio.wait(reading, timeout=_MORE_PATIENCE)
        reply, known = RetrieveReply.model_validate_json(raw), self._overviews.known(places)
        before = (*exchange.asked.history, *self.recent(exchange))
        sent = {_flat(text) for text in (exchange.question or "", *(said.text for said in before))}
        recalled = _as_recalled(reply, sent)
        if not known or not recalled.is_kept or "rate_limited" in reply.degraded:
            return recalled
        return await self._with_overview(recalled, _telling(known, reply, exchange, sent), room)

    def _places(self, exchange: Exchange) -> list[Key]:
        return self._overviews.places(exchange.caller, exchange.key, is_named=exchange.is_named)

    async def _with_overview(self, recalled: Recalled, lines: Sequence[Line], room: int) -> Recalled:
        """What was recalled, with these lines at the head of its block."""
        budget = self._settings.proxy_token_budget
        work = partial(with_overview, recalled.block, lines, room=room, token_budget=budget, counter=self._counter())
        block, told = await beside_the_loop(work, len(recalled.block))
        ids = dict.fromkeys((*recalled.ids, *(line.ids[0] for line in told)))
        return replace(recalled, block=block, memories=memories_in(block), ids=tuple(ids)[:_MOST_IDS])

    def recent(self, exchange: Exchange) -> Sequence[Said]:
        """What was said before in a conversation of which the client sends the newest message only."""
        if not exchange.sends_newest_only or exchange.incognito or not exchange.may_recall:
            return ()
        before = exchange.question if exchange.asked.answering_tools else None
        return self._conversations.of(exchange.key).newest(4 * self._settings.proxy_recent_tokens, before=before)

    async def answer(self, exchange: Exchange) -> str | None:
        """The answer to a command, None where a request is none.

        Raises:
            Problem, RequestFailed, Unavailable: it is one, and could not be done.
        """
        question, asked = exchange.question, exchange.asked
        if not self._settings.proxy_commands or not question or asked.answering_tools or asked.wants_form:
            return None
        conversation = self._conversations.of(exchange.key)
        if not (exchange.is_named or exchange.answered == conversation.spoken):
            conversation.let_go()  # another one, which began alike
        spoken = await self._spoken(exchange, conversation, question)
        conversation.spoken = _flat(spoken or "")
        return spoken

    async def _spoken(self, exchange: Exchange, conversation: Conversation, question: str) -> str | None:
        """The answer to a command, to the word that one waits for, or to the choice of what it means."""
        waiting = conversation.take_to_confirm()
        confirmed = waiting if waiting and _agrees(question, waiting[0]) else None
        if waiting and not confirmed and is_no(question):
            return _NOT_CONFIRMED
        text, token = confirmed or (question, None)
        choosing, conversation.choosing = conversation.choosing, ""
        if choosing and is_choice(text):
            text = f"{choosing} {text}"
        command = command_in(text)
        if command is None and is_of_whole_chat(text):
            await self._spoken(exchange, conversation, _GO_INCOGNITO)
        if command is None or (command.of_list and not conversation.listed):
            return None
        if why := _why_not(exchange.caller, text):
            return None if command.or_chat or changes_nothing(command.verb) else f"{_NOT_CHANGED} {why}"
        return await self._obeyed(exchange, conversation, command, text, token)

    async def _obeyed(
        self, exchange: Exchange, conversation: Conversation, command: ChatCommand, text: str, token: str | None
    ) -> str | None:
        """The answer to a command; None where it is for the model after all, as no memory tells of it."""
        caller, may_pass = exchange.caller, command.verb == "recall" and command.or_chat
        request = CommandRequest(
            user_id=caller.user_id,
            text=text,
            conversation_id=exchange.key.name,
            space=exchange.key.space,
            shown=conversation.shown,
            listed=conversation.listed,
            confirm=token,
            spaces=None if caller.spaces is None else tuple(sorted(caller.spaces)),
        )
        if (share := await self._edge.count(caller, request)) and share.is_used_up:
            if may_pass:
                return None
            raise too_often(share)
        await self._until_published(exchange.key)
        raw = await self._edge.memory.ask(
            flow.COMMANDS, request, patience=_COMMAND_PATIENCE, credential=caller.credential
        )
        reply = CommandReply.model_validate_json(raw)
        if not reply.understood or (may_pass and not any(_tells_of(entry, command.about) for entry in reply.items)):
            return None
        conversation.listed = bool(reply.items)
        if reply.verb in ("forget", "pin", "unpin") and len(reply.items) > 1 and not command.of_list:
            conversation.choosing = reply.verb
        if reply.items:
            conversation.shown = tuple(entry.id for entry in reply.items)[:_MOST_IDS]
        if reply.needs_confirmation and reply.token:
            conversation.ask_to_confirm(text, reply.token)
            return f"{_told(reply, exchange.key.space)}\n\n{_CONFIRM}"
        if reply.verb in ("forget", "forget_about", "erase", "correct", "settle", "memory_off", "incognito_start"):
            self._conversations.forget(caller.user_id)
            self._overviews.forget(caller.user_id)
        if reply.verb == "erase":
            self._let_go(caller.user_id)
        return _told(reply, exchange.key.space)

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

    async def _until_published(self, key: Key) -> None:
        """Wait until what was said in a conversation is with the bus, for a moment at most."""
        for _ in range(2):  # what is answered has to be published, too
            if waiting := {*self._under_way, *(one.over for one in self._answering.values() if one.key == key)}:
                await asyncio.wait(waiting, timeout=_ANSWERED_SOON)

    def remember(self, exchange: Exchange, recalled: Recalled, answer: str) -> None:
        """Remember what was said, beside everything else; nobody waits for it."""
        if not exchange.may_publish or not (recalled.is_kept or exchange.incognito):
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
        conversation = self._conversations.of(exchange.key)
        before = conversation.said_before(exchange.question or "") if exchange.sends_newest_only else ""
        injected = () if exchange.incognito else self._keep_in_mind(exchange, answer)
        if self._settings.proxy_commands and asks_to_forget(exchange.question or ""):
            return
        task = asyncio.create_task(self._remembered(exchange, recalled, answer, injected, before))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _keep_in_mind(self, exchange: Exchange, answer: str) -> tuple[str, ...]:
        """Add to the conversation what was said; what the model had been told, of which the answer may repeat some."""
        conversation = self._conversations.of(exchange.key)
        told = dict.fromkeys(said.text for said in conversation.recent if said.role == "user")
        sent = [said.text[:LONGEST_SENT] for said in exchange.asked.history if said.role == "user"]
        told |= dict.fromkeys(sent[-MOST_SENT:])
        injected = (*conversation.memories, *told)
        if not exchange.asked.answering_tools:
            conversation.say([Said("user", exchange.question or "")])
        conversation.say([Said("assistant", answer)])
        return injected

    async def _remembered(
        self, exchange: Exchange, recalled: Recalled, answer: str, injected: Sequence[str], before: str
    ) -> None:
        question, said = exchange.question or "", _cut(without_blocks(answer), self._edge.longest)
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
        sent = (without_blocks(said.text).strip() for said in exchange.asked.history if said.role == "user")
        said = [text for text in dict.fromkeys(sent) if 0 < len(text) <= LONGEST_SENT][-_MOST_LOOKED_UP:]
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


def _why_not(caller: Caller, text: str) -> str:
    """Why a caller may not have a command obeyed; empty where they may."""
    if not caller.may(flow.COMMANDS.name, reads=False):
        return f"The credential of this chat does not open {flow.COMMANDS.name}."
    try:
        refuse_beyond(caller, text)
    except Problem as problem:
        return problem.detail
    return ""


def _agrees(question: str, text: str) -> bool:
    """Whether what is said lets happen what a command announced."""
    command = command_in(text)
    return is_yes(question, to_change=command is not None and command.verb == "correct")


def _tells_of(entry: Entry, topic: str) -> bool:
    """Whether an entry has every telling word of a topic, and is no mere question."""
    return not is_mere_question(entry.text) and mentions(entry.text, topic)


def _told(reply: CommandReply, space: str) -> str:
    """The reply to a command with the entries it is about, as a chat shows it: several with their numbers."""
    shown = [
        f"{snippet(entry.text, _LONGEST_SHOWN)}{_mark(entry, space)}" if entry.status != "forgotten" else ""
        for entry in reply.items
    ]
    signs = [f"{number}." for number in range(1, len(shown) + 1)] if len(shown) > 1 else ["-"]
    return "\n".join((reply.reply, *(f"{sign} {text}" for sign, text in zip(signs, shown, strict=False) if text)))


def _mark(entry: Entry, space: str) -> str:
    where = f" (in the space “{entry.space}”)" if entry.space != space else ""
    return _MARKS.get(entry.status, " (pinned)" if entry.pinned else "") + where


def _as_recalled(reply: RetrieveReply, sent: Collection[str]) -> Recalled:
    """What was recalled, without what the model is sent anyway."""
    told = {item.id: item.text for item in reply.items} | {item.id: item.snippet for item in reply.foundation}
    block = without_memories(reply.context, [id_ for id_, text in told.items() if _flat(text) in sent])
    return Recalled(
        block,
        memories_in(block),
        tuple(id_ for id_ in told if id_[:8] in block)[:_MOST_IDS],
        reply.degraded,
        is_kept=_UNWANTED.isdisjoint(reply.degraded),
    )


def _telling(known: Sequence[Line], reply: RetrieveReply, exchange: Exchange, sent: Collection[str]) -> list[Line]:
    """The lines of an overview that add something to what was recalled, and to what the client sends itself."""
    about = "\n".join((exchange.question or "", *(item.text for item in reply.items)))
    with_user = any(item.role == "user" for item in reply.items)
    shown = {item.id for item in reply.items} | {pinned.id for pinned in reply.foundation}
    changed = {former.id for item in reply.items for former in item.before}
    return telling_lines(known, about=about, with_user=with_user, shown=shown, sent=sent, changed=changed)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, most: int) -> str:
    """The beginning of a text that has so many bytes at most."""
    raw = text.encode(errors="replace")
    return text if len(raw) <= most else raw[:most].decode(errors="ignore")
