"""A credential for some spaces: its requests stay in them, and so do the answers."""

from __future__ import annotations

from typing import Any

from contracts import flow
from contracts.paths import Verb
from contracts.v1.commands import GetRequest
from contracts.v1.control import BETWEEN_SPACES, SettingsRequest
from contracts.v1.overview import ThemesReply
from services.gateway.callers import Caller
from services.gateway.problems import Problem
from services.shared.client import MemoryClient

Json = dict[str, Any]


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
