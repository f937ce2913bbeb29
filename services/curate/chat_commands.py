"""Commands said in a chat: what they mean in this conversation, and what is done. What they do are other commands.

Nothing is destroyed at the first word: the reply lists what is meant and carries a token, and the same text with that
token does it to exactly what was listed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal, Protocol

from contracts import flow
from contracts.flow import Answer, Q, R
from contracts.ports import Conversation, Key, Selection, TextStore
from contracts.v1.chat import INCOGNITO_BEGINS, ChatVerb, CommandReply, CommandRequest
from contracts.v1.commands import EraseRequest, ForgetRequest
from contracts.v1.conflicts import Conflict, ConflictsRequest, ResolveRequest
from contracts.v1.control import IncognitoEndRequest, IncognitoStartRequest, SettingsChange, SettingsRequest
from contracts.v1.edits import PinRequest, UpdateRequest
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveRequest
from services.curate.confirmations import Listed, listed_in, token_of
from services.curate.meant import (
    LOOKED_THROUGH,
    MOST_LISTED,
    Said,
    about,
    alike,
    entries_of,
    meant,
    names_meant,
    said_then,
)
from services.shared.entities.mentions import mentions
from services.shared.erasures import is_hidden
from services.shared.errors import Rejected
from services.shared.language.traits import is_mere_question
from services.shared.lifecycle.fitting import cut, size_of
from services.shared.lifecycle.salience import is_small_talk
from services.shared.preferences import PreferenceReader
from services.shared.privacy.chat_commands import asks_in_general, command_in, is_wish
from services.shared.privacy.frames import is_framed
from services.shared.tasks import beside_the_loop
from services.shared.temporal.dates import in_zone, zone_of

_ABOUT_WHAT_WAS_SAID = frozenset[ChatVerb](("correct", "forget", "forget_about", "pin", "recall"))
"""Commands that may mean what was said a moment ago."""

_MOST_RECALLED = 12
_SURE = 0.3
"""Least relevance of what is shown as being about a topic."""

_ALIKE = 0.3
"""Least cosine to the topic of what is shown without any word of it: a dentist is about "my teeth", a canoe is not."""

_SHOWN_CHARS = 120
_NOT_ALL = "What you told last is listed. Ask “What do you remember about …?” for more."
_WHICH = "Which of these do you mean? {} have it shown alone first."
_SAY = "Say “{} the second one”, or"


class Ask(Protocol):
    """Has a request answered by what answers it on the bus: chat commands come down to these."""

    async def __call__(self, answer: Answer[Q, R], request: Q, /) -> R:
        """The reply."""


@dataclass(frozen=True, slots=True)
class Chat(Said):
    """One request and what is needed to do it."""

    ask: Ask

    def reply(self, words: str, items: Sequence[Entry] = (), **more: object) -> CommandReply:
        """What the user is told."""
        told = {"understood": True, "verb": self.command.verb, "reply": words, "items": tuple(items)}
        return CommandReply.model_validate({**told, **more})

    def unless_one(self, entries: Sequence[Entry], none: str) -> CommandReply | None:
        """The answer where "that" may be several of these entries, or where there is `none`; None where it is one."""
        if not entries:
            return self.reply(none)
        if len(entries) == 1 or self.command.of_list:
            return None
        verb = self.command.verb
        which = _WHICH.format("Please" if verb == "explain" else _SAY.format(verb))
        return self.reply(which, entries)

    def to_confirm(self, words: str, items: Sequence[Entry] = (), *, listed: Listed = ()) -> CommandReply:
        """What would be done, and the token that lets it happen to these entries, or to what else is listed."""
        token = token_of(self.request, listed or [(entry.id, entry.version) for entry in items])
        return self.reply(f"{words} Confirm to go on.", items, needs_confirmation=True, token=token)


async def answer(
    request: CommandRequest, *, store: TextStore, ask: Ask, until_heard: Callable[[str], Awaitable[None]]
) -> CommandReply:
    """Understand a text and do what it asks for, or ask for its confirmation.

    Raises:
        Rejected: the token is of another text or too old, or one of the commands behind it was refused.
    """
    command, none = command_in(request.text), CommandReply(understood=False)
    if command is None or (command.of_list and not (request.listed and request.shown)):
        return none
    chat = Chat(request, command, store, ask)
    if request.confirm is not None and command.verb in _CONFIRMED:
        return await _CONFIRMED[command.verb](chat, listed_in(request.confirm, request))
    if command.verb in _ABOUT_WHAT_WAS_SAID:
        await until_heard(request.user_id)
    reply = await _ASKED[command.verb](chat)
    is_general = command.verb != "recall" or asks_in_general(request.text)
    return none if command.or_chat and is_general and not reply.items else reply


async def shorten(request: CommandRequest, reply: CommandReply, room: int) -> CommandReply:
    """The reply in so many bytes: the texts and lists of its entries are not whole."""
    room -= size_of(reply.model_copy(update={"items": ()}))
    items = tuple(cut(entry, room // len(reply.items) - 1) for entry in reply.items)
    return reply.model_copy(update={"items": items})


async def _recall(chat: Chat) -> CommandReply:
    request, topic = chat.request, chat.command.about
    if not topic:
        return await _recall_latest(chat)
    asked = RetrieveRequest(
        user_id=request.user_id,
        query=topic,
        space=request.space,
        persona_id=request.persona_id,
        min_score=_SURE,
        explain=True,
        time_zone=request.time_zone,
        correlation_id=request.correlation_id,
    )
    found = await chat.ask(flow.RETRIEVE, asked)
    alike = {item.id for item in found.items if ((item.explanation or {}).get("cosine") or 0) >= _ALIKE}
    entries = await entries_of(chat, [item.id for item in found.items])
    in_general = chat.command.or_chat and asks_in_general(request.text)
    of_topic = partial(_of_topic, entries, topic, alike, in_general=in_general)
    items = await beside_the_loop(of_topic, sum(len(entry.text) for entry in entries))
    words = f"This is what I remember about {topic}." if items else f"I remember nothing about {topic}."
    if "disabled" in found.degraded:
        words = "Memory is off, so nothing is looked up. What there is stays; turn memory on to be told."
    return chat.reply(words, items)


def _of_topic(entries: Sequence[Entry], topic: str, alike: Collection[str], *, in_general: bool) -> list[Entry]:
    """The entries that mention a topic or are alike, without mere questions unless there is nothing else; of a question
    of general knowledge those that mention it alone."""
    found = [entry for entry in entries if entry.id in alike or mentions(entry.text, topic)]
    items = [entry for entry in found if not is_mere_question(entry.text)] or found
    return [entry for entry in items if mentions(entry.text, topic)] if in_general else items


async def _recall_latest(chat: Chat) -> CommandReply:
    """What the user stated last, and how much there is, without the small talk of late; where they stated nothing, what
    else was said."""
    request = chat.request
    if await is_hidden(chat.store, request.user_id):
        return chat.reply(_counted(0, ""))
    page = await chat.store.page(
        Selection(request.user_id, request.space, chat.persona), limit=LOOKED_THROUGH, cursor=None
    )
    chars = sum(len(entry.text) for entry in page.entries)
    telling, stated = await beside_the_loop(lambda: _telling(page.entries), chars)
    total = page.total - (len(page.entries) - len(telling))
    shown = (stated or telling)[:_MOST_RECALLED]
    return chat.reply(_counted(total, _NOT_ALL if total > len(shown) else ""), shown)


def _telling(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The entries that are no small talk, no wish and no role play, and those of them that state something."""
    telling = [one for one in entries if not (is_framed(one) or is_small_talk(one.text) or is_wish(one.text))]
    return telling, [one for one in telling if one.role != "assistant" and not is_mere_question(one.text)]


async def _explain(chat: Chat) -> CommandReply:
    if chat.command.about:
        entries = [entry for entry in await about(chat) if entry.status == "active"][:1]
    else:
        entries = await meant(chat, by_answer=True)
    none = "I do not know which memory you mean: nothing was shown or said here yet."
    if unclear := chat.unless_one(entries, none):
        return unclear
    (entry,) = entries
    who = "you" if entry.role == "user" else f"the {entry.role}"
    said = f"On {_day(await _local(chat, entry.created_at))} {who} said: “{_short(entry)}”"
    times = f", {entry.repeat_count + 1} times by now" if entry.repeat_count else ""
    return chat.reply(f"{said}{times}.", entries)


async def _ask_to_forget(chat: Chat) -> CommandReply:
    entries = await meant(chat)
    if unclear := chat.unless_one(entries, _nothing(chat)):
        return unclear
    if len(entries) > 1:
        return chat.to_confirm(f"{_memories(len(entries))} will be forgotten, as listed{_summed_up(entries)}.", entries)
    return chat.to_confirm(f"This will be forgotten: “{_short(entries[0])}”{_summed_up(entries)}.", entries)


async def _ask_to_forget_about(chat: Chat) -> CommandReply:
    command = chat.command
    names = [] if command.when else await names_meant(chat)
    found = await (_said_then(chat) if command.when else about(chat, names))
    entries = _without_roll_ups(found, all_of_them=bool(command.when))
    if not entries:
        mentions = f"of {command.about}" if command.when else f"that mentions {command.about}"
        return chat.reply(f"I remember nothing {mentions}.")
    more = " There may be more: say it again afterwards." if len(entries) == MOST_LISTED else ""
    what = f"{_memories(len(entries))} will be forgotten, as listed{_elsewhere(chat, entries)}{_summed_up(entries)}"
    what += f", with what mentions {' or '.join(names)}" if names else ""
    return chat.to_confirm(f"{what}.{more}", entries)


def _elsewhere(chat: Chat, entries: Sequence[Entry]) -> str:
    """How many of these are in other spaces than the one of the chat, and in which."""
    spaces = [entry.space for entry in entries if entry.space != chat.request.space]
    names = [f"“{space}”" for space in dict.fromkeys(spaces)]
    return f", {len(spaces)} of them in the space{'s' * (len(names) > 1)} {', '.join(names)}" if spaces else ""


def _without_roll_ups(entries: Sequence[Entry], *, all_of_them: bool) -> list[Entry]:
    """These without the roll-ups whose originals are among them: what goes with one says other things, too."""
    ids = {entry.id for entry in entries}
    return [one for one in entries if one.source != "rollup" or not (all_of_them or ids.intersection(one.source_ids))]


def _summed_up(entries: Sequence[Entry]) -> str:
    """What goes with the roll-ups among these."""
    originals = sum(len(entry.source_ids) for entry in entries if entry.source == "rollup")
    return f", and the {_memories(originals)} that are summed up there" if originals else ""


async def _said_then(chat: Chat) -> list[Entry]:
    return await said_then(chat, await _local(chat, datetime.now(UTC)))


async def _forget(chat: Chat, listed: Listed) -> CommandReply:
    gone = []
    for id_, _ in listed:
        try:
            await chat.ask(flow.FORGET, ForgetRequest(user_id=chat.request.user_id, id=id_))
            gone.append(Key(chat.request.user_id, id_))
        except Rejected as error:
            if error.info.code != "not_found":
                raise
    tombstones = (await chat.store.get(gone)).values()
    return chat.reply(f"Forgotten: {_memories(len(gone))}.", list(tombstones))


async def _ask_to_erase(chat: Chat) -> CommandReply:
    (_, total), *_ = held = await _held(chat)
    words = (
        f"Everything I remember of you will be erased, in every space: {_memories(total)} and all conversations. "
        "This cannot be undone."
    )
    return chat.to_confirm(words, listed=held)


async def _held(chat: Chat) -> Listed:
    """What there is to erase: said or erased since, it is something else."""
    newest = await chat.store.page(Selection(chat.request.user_id), limit=1, cursor=None)
    turns = (await chat.store.counts(chat.request.user_id)).turns
    return [(newest.entries[0].id if newest.entries else "none", newest.total), ("turns", turns)]


async def _erase(chat: Chat, listed: Listed) -> CommandReply:
    if list(listed) != await _held(chat):
        asked = await _ask_to_erase(chat)
        return asked.model_copy(update={"reply": f"What I remember has changed since. {asked.reply}"})
    receipt = (await chat.ask(flow.ERASE, EraseRequest(user_id=chat.request.user_id))).receipt
    return chat.reply("Everything was erased." if receipt.state == "done" else "Everything is being erased.")


async def _pin(chat: Chat) -> CommandReply:
    if said := chat.command.about:
        entries = [entry for entry in await about(chat) if entry.status == "active"][:1]
        none = f"I remember nothing that says “{said}”, so nothing was pinned. Say it first."
    else:
        entries, none = await meant(chat), _nothing(chat)
    if unclear := chat.unless_one(entries, none):
        return unclear
    request = PinRequest(user_id=chat.request.user_id, id=entries[0].id)
    await chat.ask(flow.PIN if chat.command.verb == "pin" else flow.UNPIN, request)
    return chat.reply(f"{'Pinned' if chat.command.verb == 'pin' else 'Unpinned'}: “{_short(entries[0])}”.", entries)


async def _ask_to_correct(chat: Chat) -> CommandReply:
    entries = await meant(chat, like=chat.command.about) or await alike(chat)
    if not entries:
        return chat.reply("Nothing like this is found that I could correct. Said without “correct”, it is remembered.")
    return chat.to_confirm(f"“{_short(entries[0])}” will become “{chat.command.about}”.", entries)


async def _correct(chat: Chat, listed: Listed) -> CommandReply:
    ((id_, version),) = listed
    request = UpdateRequest(user_id=chat.request.user_id, id=id_, text=chat.command.about, version=version)
    return chat.reply("Corrected.", [(await chat.ask(flow.UPDATE, request)).entry])


async def _turn_memory(chat: Chat) -> CommandReply:
    is_on = chat.command.verb == "memory_on"
    request = chat.request
    change = SettingsChange(memory_enabled=is_on)
    asked = SettingsRequest(user_id=request.user_id, space=request.space, change=change)
    await chat.ask(flow.SETTINGS, asked)
    where = f"in the space “{request.space}”; other spaces keep what was decided for them"
    if is_on:
        return chat.reply(f"Memory is on {where}.")
    return chat.reply(f"Memory is off {where}. Nothing new is kept there until you turn it on again.")


async def _incognito(chat: Chat) -> CommandReply:
    user_id, conversation_id = chat.request.user_id, chat.request.conversation_id
    if conversation_id is None:
        return chat.reply("I do not know which conversation this is, so nothing was changed.")
    if chat.command.verb == "incognito_end":
        ending = IncognitoEndRequest(user_id=user_id, conversation_id=conversation_id)
        await chat.ask(flow.INCOGNITO_END, ending)
        return chat.reply("This conversation is not incognito any more.")
    request = IncognitoStartRequest(user_id=user_id, conversation_id=conversation_id)
    until = await _local(chat, (await chat.ask(flow.INCOGNITO_START, request)).until)
    return chat.reply(f"{INCOGNITO_BEGINS}{_day(until)}, {until:%H:%M %Z}.")


async def _tell_state(chat: Chat) -> CommandReply:
    request = chat.request
    place = Conversation(request.user_id, request.space, request.conversation_id or "")
    why = (await PreferenceReader(chat.store).of([place]))[place].refuse()
    if why == "incognito":
        return chat.reply("Yes, this conversation is incognito: nothing of it is kept. “End incognito” ends that.")
    if why == "disabled":
        return chat.reply(f"Memory is off in the space “{request.space}”: nothing said here is kept.")
    return chat.reply("No: what is said here is remembered. “Start incognito” has nothing of this conversation kept.")


async def _tell_what_can_be_undone(chat: Chat) -> CommandReply:
    return chat.reply(
        "Nothing was changed. What was forgotten or erased is gone for good. "
        "A correction can be corrected (“correct: …”), a pin taken off (“unpin that”), memory turned on again "
        "(“turn memory on”), and incognito ended (“end incognito”)."
    )


async def _ask_what_holds(chat: Chat, done: str = "") -> CommandReply:
    open_ = await _open_conflicts(chat)
    if not open_:
        return chat.reply(done or "Nothing that I remember contradicts itself, as far as I can tell.")
    words = f"{done} {open_[0].question} Say “keep the newer memory”, “keep the older memory” or “keep both memories”."
    if len(open_) > 1:
        words += f" Then {'one more' if len(open_) == 2 else f'{len(open_) - 1} more'} to decide."
    return chat.reply(words.strip(), await entries_of(chat, [open_[0].newer.id, open_[0].older.id]))


async def _settle(chat: Chat) -> CommandReply:
    open_ = await _open_conflicts(chat)
    if not open_:
        return chat.reply("There is no open question about what holds.")
    one, keep = open_[0], _SIDES[chat.command.about.lower()]
    ids = {"user_id": chat.request.user_id, "newer": one.newer.id, "older": one.older.id}
    await chat.ask(flow.RESOLVE, ResolveRequest(**ids, keep=keep))
    held = {"new": (one.newer,), "old": (one.older,), "both": (one.newer, one.older)}[keep]
    return await _ask_what_holds(chat, f"Kept: {' and '.join(f'“{side.text[:_SHOWN_CHARS]}”' for side in held)}.")


async def _open_conflicts(chat: Chat) -> list[Conflict]:
    """The conflicts of the space, the one that was shown before all others."""
    request = chat.request
    asked = ConflictsRequest(user_id=request.user_id, space=request.space, persona_id=chat.persona)
    items = (await chat.ask(flow.CONFLICTS, asked)).items
    return sorted(items, key=lambda one: not {one.newer.id, one.older.id} <= {*request.shown})


def _nothing(chat: Chat) -> str:
    """Why nothing can be done to what is meant."""
    if not chat.command.of_list:
        return f"There is nothing here that I could {chat.command.verb}."
    return f"The list has no such place that is still remembered: it ends at {len(chat.request.shown)}."


def _short(entry: Entry) -> str:
    text = " ".join(entry.text.split())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS].rstrip()}…"


async def _local(chat: Chat, moment: datetime) -> datetime:
    """The moment in the zone of the user."""
    request = chat.request
    if (name := request.time_zone) is None:
        asked = SettingsRequest(user_id=request.user_id, space=request.space)
        name = (await chat.ask(flow.SETTINGS, asked)).settings.time_zone
    return in_zone(moment, zone_of(name))


def _day(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def _counted(total: int, more: str) -> str:
    if not total:
        return "I remember nothing yet."
    return f"I remember {'1 thing' if total == 1 else f'{total:,} things'}. {more}".strip()


_SIDES: dict[str, Literal["new", "old", "both"]] = {"the newer": "new", "the older": "old", "both": "both"}
_ASKED: dict[ChatVerb, Callable[[Chat], Awaitable[CommandReply]]] = {
    "recall": _recall,
    "explain": _explain,
    "forget": _ask_to_forget,
    "forget_about": _ask_to_forget_about,
    "erase": _ask_to_erase,
    "correct": _ask_to_correct,
    "pin": _pin,
    "unpin": _pin,
    "memory_on": _turn_memory,
    "memory_off": _turn_memory,
    "incognito_start": _incognito,
    "incognito_end": _incognito,
    "conflicts": _ask_what_holds,
    "settle": _settle,
    "state": _tell_state,
    "undo": _tell_what_can_be_undone,
}
_CONFIRMED: dict[ChatVerb, Callable[[Chat, Listed], Awaitable[CommandReply]]] = {
    "correct": _correct,
    "forget": _forget,
    "forget_about": _forget,
    "erase": _erase,
}
