"""What users said, had forgotten and erased, in dictionaries: enough to know what must be there in the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from contracts.v1.entries import Entry
from contracts.v1.turns import Turn

Place = tuple[str, str]
"""User and space."""
TurnKey = tuple[str, str, str]
"""User, space and turn_id."""
Bar = tuple[str, str, str]
"""User, space and the digest of a statement."""
Group = tuple[str, str, str | None, str, str]
"""User, space, persona and role, and what they said, whatever the wording."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said in several ways. `marker` is a word in all of them, `digest` what they are refused by."""

    name: str
    marker: str
    digest: str
    wordings: tuple[str, ...]


STATEMENTS = (
    Statement(
        "tea", "marjoram", "tea",
        (
            "I drink marjoram tea every morning",
            "i drink marjoram tea every morning!",
            "Well, I really drink the marjoram tea every morning.",
        ),
    ),
    Statement("no tea", "marjoram", "no tea", ("I never drink marjoram tea", "I NEVER drink marjoram tea.")),
    Statement("code 1", "locker", "code 1", ("My locker code is 4711", "my locker   code is 4711.")),
    Statement("code 2", "locker", "code 2", ("My locker code is 4712", "My locker code is 4712!")),
    Statement("asked", "locker", "asked", ("My locker code is 4711?",)),
    Statement("ghent", "walburga", "ghent", ("Walburga moved to Ghent", "Walburga moved to Ghent.")),
)  # fmt: skip
"""Alike enough to be confused, and none of them says what another one says."""

MARKERS = tuple(dict.fromkeys(statement.marker for statement in STATEMENTS))
_BY_WORDING = {wording: statement for statement in STATEMENTS for wording in statement.wordings}


def statement_of(text: str) -> Statement:
    return _BY_WORDING[text]


def group_of(said: Turn | Entry) -> Group:
    return said.user_id, said.space, said.persona_id, said.role, statement_of(said.text).name


@dataclass(slots=True)
class Model:
    """What has happened, as far as the outside knows."""

    turns: dict[TurnKey, list[Turn]] = field(default_factory=dict)
    bars: dict[Bar, timedelta] = field(default_factory=dict)
    """Until when, by a clock that starts at zero, a statement is refused for certain."""
    maybe_barred: set[Bar] = field(default_factory=set)
    """What forgetting was at least begun of: only this may be refused."""
    must_be_refused: set[TurnKey] = field(default_factory=set)
    disturbed: set[Group | Place] = field(default_factory=set)
    """Where entries were, or may have been, taken out of use, so that a statement may be there several times."""
    forgotten: dict[str, str] = field(default_factory=dict)
    """The entries of which a forgetting has come to its end, as user by id."""

    def publish(self, turn: Turn, ahead: timedelta) -> None:
        """Somebody says this; `ahead` is what time it is."""
        key = (turn.user_id, turn.space, turn.turn_id or "")
        if key not in self.turns and self.bars.get(_bar(turn), -timedelta(1)) > ahead:
            self.must_be_refused.add(key)
        known = self.turns.setdefault(key, [])
        if turn not in known:
            known.append(turn)
        if len({statement_of(one.text).digest for one in known}) > 1:
            self.must_be_refused.discard(key)

    def begin_to_forget(self, entry: Entry, refuse_for: timedelta) -> None:
        self.disturbed.add(group_of(entry))
        if refuse_for > timedelta(0):
            self.maybe_barred.add(_bar(entry))

    def have_forgotten(self, entry: Entry, until: timedelta) -> None:
        self.forgotten[entry.id] = entry.user_id
        self.bars[_bar(entry)] = max(until, self.bars.get(_bar(entry), until))

    def let_time_pass(self) -> None:
        """What was not judged in time is not refused for certain any more."""
        self.must_be_refused.clear()

    def have_erased(self, user_id: str) -> None:
        self.turns = {key: turns for key, turns in self.turns.items() if key[0] != user_id}
        self.bars = {bar: until for bar, until in self.bars.items() if bar[0] != user_id}
        self.maybe_barred = {bar for bar in self.maybe_barred if bar[0] != user_id}
        self.must_be_refused = {key for key in self.must_be_refused if key[0] != user_id}
        self.forgotten = {id_: user for id_, user in self.forgotten.items() if user != user_id}
        self.disturbed = {place for place in self.disturbed if place[0] != user_id}

    def is_disturbed(self, said: Turn) -> bool:
        return group_of(said) in self.disturbed or (said.user_id, said.space) in self.disturbed

    def may_be_refused(self, said: Turn) -> bool:
        return _bar(said) in self.maybe_barred


def _bar(said: Turn | Entry) -> Bar:
    return said.user_id, said.space, statement_of(said.text).digest
