"""What users want not kept of what is said, and what answers it: kept in mind by a process, bounded, never written."""

from __future__ import annotations

from collections.abc import Hashable

from contracts.v1.turns import Turn
from services.shared.announced import MOST, QUIET_SECONDS, Announced
from services.shared.cache import Cache
from services.shared.privacy.unwanted import announces, refuses_itself

_MOST_TURNS = 16
"""Turns of a user in a conversation that are in mind, the latest."""


_WISH, _ANNOUNCEMENT = "Please do not remember that.", "Off the record:"


def in_place_of(turn: Turn, turn_id: str) -> Turn:
    """What is published in place of a user's turn that is not to be kept: that there was one, without a word of it.

    Another process that judges what answers it knows by that that it is not to be kept either.
    """
    text = _ANNOUNCEMENT if announces(turn.text) else _WISH
    where = {"user_id": turn.user_id, "space": turn.space, "conversation_id": turn.conversation_id}
    return Turn.model_validate({**where, "role": "user", "text": text, "turn_id": turn_id})


class RefusedTurns:
    """Tells of each turn whether its user wants it not kept, as far as the turn or what was said before it tells.

    What others say after such a turn, up to the next of the user, answers it and may repeat every word: it is not kept
    either. What is after what is told by numbers, as a turn may be judged twice, or late.
    """

    def __init__(self, announced: Announced) -> None:
        self._announced = announced
        self._heard: Cache[Hashable, dict[int, bool]] = Cache(MOST, seconds=QUIET_SECONDS)
        """By conversation and number which turns of its user were refused."""

    def refuse(self, conversation: Hashable, turn: Turn, number: int) -> bool:
        """Whether this turn is not to be kept; what was saved on purpose is."""
        if turn.role != "user":
            return not turn.manually_saved and self.has_answer(conversation, number)
        was_announced = self._announced.hears(conversation, turn.text)
        is_refused = (was_announced and not turn.manually_saved) or refuses_itself(turn) is not None
        self.note(conversation, number, refused=is_refused)
        return is_refused

    def has_answer(self, conversation: Hashable, number: int) -> bool:
        """Whether what others say under this number answers a turn that was refused."""
        turns = self._heard.get(conversation) or {}
        before = max((one for one in turns if one < number), default=None)
        return before is not None and turns[before]

    def note(self, conversation: Hashable, number: int, *, refused: bool) -> None:
        """Keep in mind what became of a turn of a user; of conversations without a refused one nothing is."""
        turns = {**(self._heard.pop(conversation) or {}), number: refused}
        if any((latest := dict(sorted(turns.items())[-_MOST_TURNS:])).values()):
            self._heard.put(conversation, latest)
