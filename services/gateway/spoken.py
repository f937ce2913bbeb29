"""What a command said in a chat does, as the requests of the bus that a credential has to open for it."""

from __future__ import annotations

from typing import Any

from contracts import flow
from contracts.flow import Answer
from contracts.paths import VERB_OF
from contracts.v1.chat import ChatVerb
from services.gateway.callers import Caller
from services.gateway.confined import about_all_spaces
from services.gateway.problems import Problem
from services.shared.privacy.chat_commands import command_in

_DOES: dict[ChatVerb, Answer[Any, Any]] = {
    "recall": flow.RETRIEVE,
    "explain": flow.GET,
    "forget": flow.FORGET,
    "forget_about": flow.FORGET,
    "erase": flow.ERASE,
    "pin": flow.PIN,
    "unpin": flow.UNPIN,
    "memory_off": flow.SETTINGS,
    "memory_on": flow.SETTINGS,
    "incognito_start": flow.INCOGNITO_START,
    "incognito_end": flow.INCOGNITO_END,
    "correct": flow.UPDATE,
    "conflicts": flow.CONFLICTS,
    "settle": flow.RESOLVE,
}
"""By what is said; what is missing does nothing to a memory."""


def changes_nothing(said: ChatVerb) -> bool:
    """Whether a command only tells."""
    return said not in _DOES or VERB_OF[_DOES[said].subject].reads


def refuse_beyond(caller: Caller, text: str) -> None:
    """Refuse a command that does what the credential of its caller does not open by itself.

    Raises:
        Problem: it may not do that, or only within some spaces.
    """
    command = command_in(text)
    if command is None or command.verb not in _DOES:
        return
    verb = VERB_OF[_DOES[command.verb].subject]
    if not caller.may(verb.answer.name, reads=verb.reads):
        raise Problem("forbidden", f"This credential does not open {verb.answer.name}, which that asks for.")
    if caller.spaces is not None and verb.confined_by is None:
        raise about_all_spaces(verb)
