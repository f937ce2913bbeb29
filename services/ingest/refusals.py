"""Turns that their user does not want kept: told from the others, and overwritten on the bus before anybody sees them.

They leave no letter, no line in the log, and no count but how many there were.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Literal

from pydantic_core import from_json

from contracts import subjects
from contracts.ports import Conversation
from services.ingest.handler import Arrived, Incoming
from services.shared import telemetry
from services.shared.preferences import PreferenceReader, Reason
from services.shared.privacy.unwanted import is_unwanted
from services.shared.privacy.wrappers import as_spoken
from services.shared.refused import RefusedTurns

Scrub = Callable[[Collection[int]], Awaitable[None]]
"""Deletes messages, by number, and overwrites their bytes; one that is gone is no error."""


async def admit(
    arrived: Sequence[Arrived], *, preferences: PreferenceReader, scrub: Scrub, refused_turns: RefusedTurns
) -> list[Arrived]:
    """The turns that may be kept; the others are overwritten by now: those of a conversation that is incognito or of a
    memory that is off, those that say themselves, or were announced by the one before, as not to be remembered, those
    that answer such a one, and those in which nobody says anything, as a program made all of it.

    Raises:
        Unavailable: it is not known what their users want, or the bus does not answer.
    """
    wanted = await preferences.of({_where(one) for one in arrived})
    refused: dict[int, Reason | Literal["asked", "unsaid"]] = {}
    for one in sorted(arrived, key=_questions_first):
        if decided := wanted[_where(one)].refuse(one.number, one.stored_at):
            refused[one.number] = decided
        elif refused_turns.refuse(_where(one), one.turn, one.number):
            refused[one.number] = "asked"
        elif as_spoken(one.turn) is None:
            refused[one.number] = "unsaid"
    if refused:
        await scrub(refused)
        for reason in refused.values():
            telemetry.REFUSED.labels(reason).inc()
    return [one for one in arrived if one.number not in refused]


async def is_private(
    incoming: Incoming, number: int, *, preferences: PreferenceReader, refused_turns: RefusedTurns
) -> bool:
    """Whether a message that is no turn may be what was said incognito, to a memory that is off, or not to be kept.

    It is judged by the conversation that it claims; without one, by anything that its user wants.
    """
    said = _read(incoming.body)
    text = _text(said, "text", "") or incoming.body.decode(errors="replace").replace('"', ". ")
    users = {_text(said, "user_id", "")} - {""}
    with suppress(ValueError):
        users.add(subjects.user_of(incoming.subject.rpartition(".")[2]))
    conversation, space = _text(said, "conversation_id", "default"), _text(said, "space", "default")
    places = [Conversation(user, space, conversation) for user in users]
    if said.get("role") != "assistant" and is_unwanted(text):
        for place in places:
            refused_turns.note(place, number, refused=True)
        return True
    if said.get("role") != "user" and any(refused_turns.has_answer(place, number) for place in places):
        return True
    if not said:
        private = [await preferences.anything_private(user, number, incoming.stored_at) for user in users]
        return any(private)
    wanted = await preferences.of(places)
    return any(one.refuse(number, incoming.stored_at) is not None for one in wanted.values())


def _questions_first(one: Arrived) -> tuple[bool, int]:
    """What a turn answers is known before it is judged, in whatever order both arrive."""
    return one.turn.role != "user", one.number


def _where(one: Arrived) -> Conversation:
    return Conversation(one.turn.user_id, one.turn.space, one.turn.conversation_id)


def _read(body: bytes) -> dict[str, Any]:
    try:
        said = from_json(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _text(said: dict[str, Any], name: str, default: str) -> str:
    value = said.get(name, default)
    return value if isinstance(value, str) else default
