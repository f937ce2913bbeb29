"""Cards of those around a user, with all their names, and what the user decides about names."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.envelope import Message, Moment, Reply, Request


class CardFact(Message):
    """A fact on a card, in the user's own words; `source_ids` are the entries that state it.

    `in_conflict`: one of them is in a conflict that the user has not decided.
    """

    text: str
    importance: int = Field(ge=0, le=3)
    pinned: bool
    since: Moment
    source_ids: tuple[str, ...]
    in_conflict: bool = False


class EntityFacts(Message):
    """A card: at most three facts about somebody or something that are so now, pinned or of importance 2 and more.

    `names` are all spellings that were joined, the one that stands for all of them first. It is a card without facts
    when nothing important is known of somebody who has several.
    """

    entity_ref: str
    label: str
    names: tuple[str, ...]
    facts: tuple[CardFact, ...]


class LikelyOne(Message):
    """Two names that are probably of one person, and why: `vowel`: only one differs; `part`: one is a first name."""

    one: str
    other: str
    why: Literal["written", "sound", "vowel", "nickname", "part"]


class NamesDecided(Message):
    """What the user decided about two names: of one person (`same`) or not."""

    one: str
    other: str
    same: bool


class CardsRequest(Request):
    """Ask for the cards in a space; null: in all. `name`: only that of whom this names, or a reference like
    `person:anna`.

    `persona_id`: as in a list, what a retrieval for this persona sees; null means all of the user's.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)
    name: str | None = Field(default=None, min_length=1, max_length=256)


class CardsReply(Reply):
    """The cards, those of the most important facts first, and what might be decided about names.

    `likely`: names that memorybus would join if it were told to. `decided`: by the user, if both names are known.
    `left_out`: older entries that were not read, there are so many. `truncated`: not all cards fit into a message.
    """

    items: tuple[EntityFacts, ...]
    likely: tuple[LikelyOne, ...] = ()
    decided: tuple[NamesDecided, ...] = ()
    entries_read: int
    left_out: int = 0
    truncated: bool = False


class NamesRequest(Request):
    """Decide whether two names are of one person, in all spaces; `same` null: leave it to memorybus again.

    Only hashes of the names are kept.
    """

    one: str = Field(min_length=1, max_length=256)
    other: str = Field(min_length=1, max_length=256)
    same: bool | None = None


class NamesReply(Reply):
    """What holds now; `same` is null where memorybus decides."""

    one: str
    other: str
    same: bool | None
