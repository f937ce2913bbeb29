"""What a credential opens beyond its verbs: requests and answers stay in its spaces, and so do commands of a chat."""

from __future__ import annotations

from typing import Any

from contracts import flow
from contracts.flow import Answer
from contracts.paths import VERB_OF, Verb
from contracts.v1.chat import ChatVerb
from contracts.v1.commands import GetRequest
from contracts.v1.control import BETWEEN_SPACES, SettingsRequest
from contracts.v1.overview import ThemesReply
from services.gateway.callers import Caller
from services.gateway.problems import Problem
from services.shared.client import MemoryClient
from services.shared.privacy.chat_commands import command_in

Json = dict[str, Any]

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
"""What a command said in a chat does, as a request of the bus; what is missing does nothing to a memory."""


def about_all_spaces(verb: Verb) -> Problem:
    """That a request is about the user as a whole, and asked by whom only some spaces are open."""
    words = f"{verb.answer.name} is about all spaces; this credential is for some. Use one without spaces."
    return Problem("forbidden", words)


async def confined(caller: Caller, verb: Verb, values: Json, memory: MemoryClient) -> Json:
    """The request of a caller who is let into some spaces only.

    Raises:
        Problem: it is about another space, or about the user as a whole.
        RequestFailed, Unavailable: an entry that it names is not there, or memorybus is away.
    """
    if verb.confined_by is None:
        raise about_all_spaces(verb)
    if verb.confined_by == "space":
        values = values | {"space": caller.space(values, verb.answer.request.model_fields["space"].get_default())}
        if verb.answer is flow.SETTINGS:
            _refuse_between_spaces(SettingsRequest.model_validate(values | {"user_id": caller.user_id}))
        return values
    for id_ in [values["id"]] if verb.confined_by == "id" else values["ids"]:
        entry = (await memory.get(GetRequest(user_id=caller.user_id, id=id_))).entry
        if entry.space not in (caller.spaces or ()):
            raise Problem("not_found", f"there is no entry {id_!r}")
    return values


def _refuse_between_spaces(request: SettingsRequest) -> None:
    changed = {*(request.change.model_dump(exclude_none=True) if request.change else ()), *request.reset}
    if beyond := sorted(changed.intersection(BETWEEN_SPACES)):
        words = f"{' and '.join(beyond)}: what passes between spaces needs a credential for all; this one is for some."
        raise Problem("forbidden", words)


def within(caller: Caller, reply: bytes, verb: Verb) -> bytes:
    """The answer as such a caller may see it: of themes, which are described for all spaces, those in use here."""
    if caller.spaces is None or verb.answer is not flow.THEMES:
        return reply
    told = ThemesReply.model_validate_json(reply)
    return told.model_copy(update={"items": tuple(one for one in told.items if one.count)}).model_dump_json().encode()


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
