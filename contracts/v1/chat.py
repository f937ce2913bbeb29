"""What a user may say in a chat about their memory, and the answer to it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Reply, Request, TimeZone
from contracts.v1.entries import Entry

INCOGNITO_BEGINS = "Nothing of this conversation is kept until "
"""How the answer to a granted wish for it begins."""

ChatVerb = Literal[
    "recall",
    "forget",
    "forget_about",
    "erase",
    "pin",
    "unpin",
    "memory_off",
    "memory_on",
    "incognito_start",
    "incognito_end",
    "explain",
    "correct",
    "conflicts",
    "settle",
    "state",
    "undo",
]


class ChatCommand(Message):
    """What a text asks for; `about` is the topic of recalling and forgetting, the words of a correction, what an answer
    rests on, and which side of a conflict holds; `when` the time of what was said. `in_clause`: `about` is a clause,
    which a memory may tell in part, or in other words. `or_chat`: where nothing is found it is meant for whoever talks.
    `of_list`: it is about what was listed just before, at these `places`, of which -1 is the last, or all of it;
    without a list it is meant for whoever talks, too."""

    verb: ChatVerb
    about: str = ""
    when: str = ""
    in_clause: bool = False
    or_chat: bool = False
    of_list: bool = False
    places: tuple[int, ...] = ()


class CommandRequest(Request):
    """Do what a user says in a chat about their memory: "forget that", "what do you remember about …?".

    "That" and "this" mean what was said last in `conversation_id`, or the first of `shown`: the ids of the entries that
    the assistant's last answer rests on, the best first. With `listed` the reply before listed `shown` to the user:
    "that" is one of these then, of several it is asked which, and "forget the second one" is understood.
    `said`: what was said in the conversation, where others may have its name, too: only that is meant; null: all of it.

    `confirm`: the token of an earlier reply, sent with the same text in the same conversation, lets happen what that
    reply announced, to exactly the entries it listed. `time_zone`, `persona_id`: as in retrieve; what is to be
    forgotten by its topic or its time is looked for among all that the user said, to whichever persona and in whichever
    of these `spaces`; null: in all.
    """

    text: str = Field(min_length=1, max_length=16_384)
    conversation_id: str | None = Field(default=None, min_length=1, max_length=256)
    space: str = Field(default="default", min_length=1, max_length=256)
    shown: tuple[str, ...] = Field(default=(), max_length=64)
    listed: bool = False
    confirm: str | None = Field(default=None, max_length=16_384)
    time_zone: TimeZone | None = None
    persona_id: str | None = Field(default=None, max_length=256)
    spaces: tuple[str, ...] | None = None
    said: tuple[str, ...] | None = None


class CommandReply(Reply):
    """What the text asked for and what was done. `understood` false: it is no command, and nothing was done.

    `reply` is a sentence for the user, `items` are the entries it is about, without
    words where they were forgotten. With
    `needs_confirmation` nothing was done yet: the same request with `token` as `confirm` does it, within ten minutes.
    """

    understood: bool
    verb: ChatVerb | None = None
    reply: str = ""
    items: tuple[Entry, ...] = ()
    needs_confirmation: bool = False
    token: str | None = None
