"""How commands are answered in a chat: who may give them, what a word means, and how a reply reads. Pure."""

from __future__ import annotations

from contracts import flow
from contracts.v1.chat import CommandReply
from contracts.v1.entries import Entry
from services.gateway.callers import Caller
from services.gateway.confined import refuse_beyond
from services.gateway.problems import Problem
from services.gateway.proxy.conversations import Conversation
from services.gateway.proxy.exchanges import Exchange, flat
from services.shared.context.passages import snippet
from services.shared.entities.mentions import mentions
from services.shared.language.traits import is_mere_question
from services.shared.privacy.assent import is_no, is_yes
from services.shared.privacy.chat_commands import command_in

NOT_CONFIRMED = "Then nothing was changed."
NOT_CHANGED = "Nothing was changed."
CONFIRM = "Say yes to do it, or anything else to leave it."

_NOT_WAITING = "Nothing waits for your word any more: say again what is to be done."
_LONGEST_SHOWN = 200
_MARKS = {"superseded": " (no longer so)", "archived": " (archived)"}


def why_not(caller: Caller, text: str) -> str:
    """Why a caller may not have a command obeyed; empty where they may."""
    if not caller.may(flow.COMMANDS.name, reads=False):
        return f"The credential of this chat does not open {flow.COMMANDS.name}."
    try:
        refuse_beyond(caller, text)
    except Problem as problem:
        return problem.detail
    return ""


def agrees(question: str, text: str) -> bool:
    """Whether what is said lets happen what a command announced."""
    command = command_in(text)
    return is_yes(question, to_change=command is not None and command.verb == "correct")


def tells_of(entry: Entry, topic: str) -> bool:
    """Whether an entry has every telling word of a topic, and is no mere question."""
    return not is_mere_question(entry.text) and mentions(entry.text, topic)


def worded(reply: CommandReply, space: str) -> str:
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


def repeated(question: str, answered: str, decided: tuple[str, str]) -> str | None:
    """The answer to a word that was heard before, as when a client has the last answer made again; None where it is
    another.

    `answered` is what the word is behind, `decided` what a word was behind that was heard, and what was answered to it.
    """
    is_same = bool(answered) and answered == decided[0]
    if not (is_same or answered.endswith(flat(CONFIRM))):
        return None
    agreed = is_yes(question) or is_yes(question, to_change=True)
    if is_same and (is_no(question) or (agreed and decided[1] != NOT_CONFIRMED)):
        return decided[1]
    return _NOT_WAITING if agreed or is_no(question) else None


def is_beside(exchange: Exchange, conversation: Conversation) -> bool:
    """Whether what a client says beside a conversation, as an agent of its own does, is not about what waits there."""
    question = exchange.question or ""
    if repeated(question, exchange.answered, conversation.decided) is not None:
        return False
    return not (exchange.wishes_incognito or command_in(question))
