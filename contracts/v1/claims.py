"""What a text states, as it was read once, when its entry was embedded."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from pydantic import AwareDatetime, Field

from contracts.envelope import Message

Slot = Literal[
    "name",
    "home",
    "origin",
    "age",
    "birthday",
    "family",
    "partner",
    "friend",
    "colleague",
    "pet",
    "work",
    "employer",
    "education",
    "language",
    "diet",
    "allergy",
    "health",
    "medicine",
    "like",
    "dislike",
    "favourite",
    "habit",
    "hobby",
    "possession",
    "skill",
    "belief",
    "plan",
    "appointment",
    "deadline",
    "event",
    "project",
    "project_detail",
    "price_or_amount",
    "contact",
    "place",
    "identifier",
    "instruction",
    "decision",
    "other_fact",
]
"""Of what a claim gives a value."""

Place = tuple[int, int]
"""From the first character of a text to after the last."""

MOST_CLAIMS = 64


class Claim(Message):
    """A part of a text that states something worth knowing, or names a task. It has no words but those of its text.

    `value` is where the text has the value, `sentence` where what says so stands, `whose` where it names whom or what
    that is about; null: its author, or nobody by name. `is_new`: it changes what was said before. `confidence`: how
    often what is as sure as this is right.
    """

    kind: Literal["fact", "task"] = "fact"
    slot: Slot = "other_fact"
    value: Place
    sentence: Place
    whose: Place | None = None
    of_user: bool = True
    is_new: bool = False
    confidence: float = Field(ge=0, le=1)

    def overlaps(self, value: Place, slot: Slot) -> bool:
        """Whether it gives a value to the same slot, and shares a part of the text with it."""
        return self.kind == "fact" and self.slot == slot and self.value[0] < value[1] and value[0] < self.value[1]

    def is_within(self, place: Place) -> bool:
        """Whether all that it names stands in a part of the text."""
        places = (self.value, self.sentence, *((self.whose,) if self.whose else ()))
        return all(place[0] <= begin < end <= place[1] for begin, end in places)

    def moved(self, by: int) -> Claim:
        """The same, so many characters further on."""
        places = {"value": self.value, "sentence": self.sentence, "whose": self.whose}
        return self.model_copy(update={name: at and (at[0] + by, at[1] + by) for name, at in places.items()})


class Reading(NamedTuple):
    """What is read in a text: its `claims` in its order, and how likely it is that it says that something is so no
    longer (`ends`), or asks not to be remembered (`wish`)."""

    claims: tuple[Claim, ...] = ()
    ends: float = 0.0
    wish: float = 0.0


class Relation(NamedTuple):
    """What a later text is to an earlier one of the same user, how likely each; together 1.

    `update`: it says, or clearly implies, that what the earlier one said has another value now, is over, or is done.
    `contradiction`: not both can be so, and it does not say that anything changed.
    """

    unrelated: float
    compatible: float
    contradiction: float
    update: float


class Change(Message):
    """A claim of an earlier entry that a text says is so no longer, has another value, or is done.

    It names the claim by its entry and its place there. `confidence`: how often what is as sure is right.
    """

    entry_id: str
    kind: Literal["fact", "task"] = "fact"
    slot: Slot = "other_fact"
    value: Place
    confidence: float = Field(ge=0, le=1)


class DecidedClaim(Message):
    """What the user says of a claim: that it `is_so`, or is not, and since when. It has no words, as a claim has none.

    It holds for whatever is read there: for each claim of its slot whose value shares a part of the text with its own.
    """

    slot: Slot
    value: Place
    sentence: Place
    whose: Place | None = None
    of_user: bool = True
    is_so: bool
    at: AwareDatetime

    @property
    def claim(self) -> Claim:
        """What it is about, as sure as its user is."""
        places = {"value": self.value, "sentence": self.sentence, "whose": self.whose}
        return Claim(slot=self.slot, **places, of_user=self.of_user, confidence=1)


class ClaimId(NamedTuple):
    """Names a claim by its entry, where that has the value, and the slot: `<entry>:<from>-<to>:<slot>`."""

    entry_id: str
    value: Place
    slot: Slot

    def __str__(self) -> str:
        begin, end = self.value
        return f"{self.entry_id}:{begin}-{end}:{self.slot}"

    @classmethod
    def read(cls, written: str) -> ClaimId | None:
        """The one that is written so, if one is."""
        found = _ID.fullmatch(written)
        slot = next((slot for slot in get_args(Slot) if found and slot == found["slot"]), None)
        if found is None or slot is None:
            return None
        return cls(found["entry_id"], (int(found["begin"]), int(found["end"])), slot)


_ID = re.compile(r"(?P<entry_id>.+):(?P<begin>[0-9]{1,9})-(?P<end>[0-9]{1,9}):(?P<slot>[a-z_]+)")
