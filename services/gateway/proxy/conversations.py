"""What a process keeps in mind of the chats that pass through: bounded, never written anywhere."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from services.gateway.proxy.dialects import Said
from services.shared.cache import Cache

MOST = 512
"""Conversations that are kept in mind; the one that was quiet longest goes first."""

QUIET_SECONDS = 1800.0
"""After so long without a word a conversation is not in mind any more."""

_LONGEST = 4096  # characters of a recent turn
_MOST_MEMORIES = 64
_MOST_BLOCKS = 4
_MOST_HEARD = 8
_CONFIRMED_WITHIN = 600.0


class Key(NamedTuple):
    """Whose conversation it is, in which space, and which."""

    user_id: str
    space: str
    name: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled for a question: the block, its memories in words and by id, and what stood in the way.

    `is_kept`: the exchange may be remembered, as far as is known; else the user wants nothing kept.
    """

    block: str = ""
    memories: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    is_kept: bool = True


@dataclass(slots=True)
class Conversation:
    """One conversation: its recent turns, the memories that were put in lately, and a command to be confirmed.

    `shown` are the ids of what was put in last or, where it is `listed`, of what the reply to a command listed;
    `choosing` is what shall be done to some of the list, whose texts are the `options`, as soon as the user says to
    which; `spoken` is what was answered last in place of the model, `spoken_id` the id of that; `answered` how the last
    answer of the model begins;
    `decided` the answer that asked for a word, and what was answered to the word.
    """

    recent: deque[Said]
    memories: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_MEMORIES))
    blocks: Cache[str, Recalled] = field(default_factory=lambda: Cache(_MOST_BLOCKS))
    shown: tuple[str, ...] = ()
    listed: bool = False
    choosing: str = ""
    options: tuple[str, ...] = ()
    spoken: str = ""
    spoken_id: str = ""
    answered: str = ""
    decided: tuple[str, str] = ("", "")
    _confirm: tuple[str, str, float] | None = None

    def put_block(self, question: str, recalled: Recalled) -> None:
        """Keep what a prompt was completed with, for the requests that go on with results of tools."""
        self.blocks.put(question, recalled)
        fresh = (memory for memory in recalled.memories if memory not in self.memories)
        self.memories.extend(fresh)
        self.shown = recalled.ids

    def is_spoken(self, answered: str) -> bool:
        """Whether this was answered last in place of the model: a client sends its words or its id."""
        return answered == self.spoken or (answered != "" and answered == self.spoken_id)

    def has_heard(self, text: str) -> bool:
        """Whether the user said this lately."""
        return Said("user", text[:_LONGEST]) in self.recent

    def say(self, turns: Iterable[Said]) -> None:
        """Add what was said."""
        self.recent.extend(Said(said.role, said.text[:_LONGEST]) for said in turns if said.text)

    def said_before(self, question: str) -> str:
        """What the user said last but this: asked again at once it is the same question, said again later it is not."""
        said = (turn.text for turn in reversed(self.recent) if turn.role == "user")
        return next((text for text in said if text != question[:_LONGEST]), "")

    def newest(self, characters: int, *, before: str | None = None) -> Sequence[Said]:
        """The newest turns that fit into so many characters, in order; they begin with the user.

        `before`: those that were said before the user said this last, and all of them where they did not.
        """
        turns, taken = list(self.recent), deque[Said]()
        if before is not None and (asked := Said("user", before[:_LONGEST])) in turns:
            turns = turns[: len(turns) - 1 - turns[::-1].index(asked)]
        for said in reversed(turns):
            characters -= len(said.text)
            if characters < 0:
                break
            taken.appendleft(said)
        while taken and taken[0].role != "user":
            taken.popleft()
        return list(taken)

    def ask_to_confirm(self, text: str, token: str) -> None:
        """Wait for the user's word on a command."""
        self._confirm = text, token, time.monotonic() + _CONFIRMED_WITHIN

    def let_go(self) -> None:
        """Wait for nothing: neither for the user's word, nor for which of a list is meant."""
        self._confirm, self.choosing, self.listed = None, "", False

    def take_to_confirm(self) -> tuple[str, str] | None:
        """The command that waits for a word, with its token; whatever is said next, it waits no longer."""
        waiting, self._confirm = self._confirm, None
        return waiting[:2] if waiting and time.monotonic() < waiting[2] else None


class Conversations:
    """The conversations in mind."""

    def __init__(self, recent_turns: int) -> None:
        self._recent_turns = recent_turns
        self._held: Cache[Key, Conversation] = Cache(MOST, seconds=QUIET_SECONDS)

    def of(self, key: Key) -> Conversation:
        """A conversation, as the one that was heard last."""
        found = self._held.get(key) or Conversation(deque(maxlen=self._recent_turns))
        self._held.put(key, found)
        while (quiet := next(iter(self._held))) not in self._held:
            self._held.pop(quiet)
        return found

    def go_on(self, begun: Key, key: Key) -> None:
        """Have a conversation that got its name by its first answer begin with what was said until then."""
        first = self.of(begun)
        blocks = Cache[str, Recalled](_MOST_BLOCKS)
        self._held.put(key, replace(first, recent=first.recent.copy(), memories=first.memories.copy(), blocks=blocks))

    def heard(self, user_id: str) -> list[str]:
        """What a user said last in each of the conversations heard last, and what was answered, by turns."""
        theirs = (self._held.get(key) for key in reversed([*self._held]) if key.user_id == user_id)
        return [turn.text for held in islice(filter(None, theirs), _MOST_HEARD) for turn in held.recent if turn.text]

    def forget(self, user_id: str) -> None:
        """Keep nothing of a user in mind: something of theirs was removed."""
        for key in self._held:
            if key.user_id == user_id:
                self._held.pop(key)
