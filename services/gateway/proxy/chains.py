"""Conversations that go on from the id of an answer, as the provider keeps what was said: which is which.

What maps an id to its conversation is in the memory of one process, bounded, and holds no word that was said. Every
id is of one user: nobody joins the conversation of another by its id.
"""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from services.gateway.proxy.dialects import Asked, named_in
from services.shared.cache import Cache

MOST = 8192
"""Answers from which a request may go on; the oldest goes first."""

UNKNOWN = "chats whose beginning is not known"
"""Conversation that is incognito while a chat is that goes on from answers: of those whose beginning a process does
not know, any may be it."""

_LONGEST_ID = 256


class Chain(NamedTuple):
    """What is known of a conversation behind one of its answers.

    `begun` is where its only exchange so far was kept, before it had a `name`. `is_private`: something in it was not to
    be kept or was forgotten, and what the assistant says later may be of that; `is_announced`: what the user says next
    is not to be kept, as they said. `is_known`: this process saw it begin.
    """

    name: str
    begun: str = ""
    is_private: bool = False
    is_announced: bool = False
    is_known: bool = True


class Chains:
    """The conversations behind the answers of late."""

    def __init__(self) -> None:
        self._held: Cache[tuple[str, str], Chain] = Cache(MOST)

    def of(self, user_id: str, asked: Asked) -> Chain | None:
        """The conversation that a request goes on with; None where it names none that the provider keeps."""
        if asked.talk:
            is_name = len(asked.talk) <= _LONGEST_ID and asked.talk.isprintable()
            known = self._known(user_id, asked.talk)
            return known or Chain(asked.talk if is_name else named_after(asked.talk))
        if not asked.behind:
            return None
        name = named_in(asked.behind) or named_after(asked.behind)
        return self._known(user_id, asked.behind) or Chain(name, is_private=True, is_known=False)

    def _known(self, user_id: str, id_: str) -> Chain | None:
        return self._held.get((user_id, id_))

    def put(self, user_id: str, answer_id: str, chain: Chain) -> None:
        """A request that goes on from this answer is of this conversation."""
        if answer_id and len(answer_id) <= 4 * _LONGEST_ID:
            self._held.put((user_id, answer_id), chain)

    def forget(self, user_id: str) -> None:
        """Something of the user was removed, which the provider keeps: answers may tell of it."""
        for key in self._held:
            if key[0] == user_id and (chain := self._held.pop(key)):
                self._held.put(key, chain._replace(is_private=True))

    def erase(self, user_id: str) -> None:
        """Know nothing of a user any more."""
        for key in self._held:
            if key[0] == user_id:
                self._held.pop(key)


def named_after(answer_id: str) -> str:
    """The name of a conversation whose first answer has this id."""
    return f"chat-{sha256(answer_id.encode(errors='replace')).hexdigest()[:16]}"
