"""A load that is the same for the same seed: new statements, repeats of all kinds, conflicts, bad input, commands."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from uuid import UUID

from contracts.v1.commands import CreateRequest
from contracts.v1.turns import Turn, derived_turn_id
from services.curate.commands import turn_of
from tests.faults.journal import KINDS, UNKEPT, Kind

USERS = (
    "ann",
    "Bob_2-x",
    "żółw",
    "a.b.c",
    "x y",
    "~tilde",
    "*",
    ">",
    "../../etc/passwd",
    "$SYS.REQ",
    "😀",
    "'; DROP TABLE turns;--",
    "u" * 128,
    "ü" * 256,
)
"""Ids of every shape that a publisher may choose."""

_THINGS = ("locker", "bicycle lock", "garden gate", "front door", "office safe", "letter box")
_OPENINGS = ("", "Oh, ", "Well, ", "um ")
_ENDS = ("", ".", "!", " ...")
_LETTERS = "bcdfghjklmnpqrstvwxz"
_LONGEST = 65_536
_ROUNDS = 3
"""After so many a user is erased."""


@dataclass(slots=True)
class Statement:
    """One thing that a user states; `siblings`: another statement differs from it in a number only."""

    user_id: str
    space: str
    thing: str
    marker: str
    number: int
    siblings: bool = False

    @property
    def key(self) -> str:
        """What tells it from every other statement."""
        return f"{self.marker}-{self.number}"

    @property
    def text(self) -> str:
        return f"My {self.thing} called {self.marker} has the code {self.number}"

    @property
    def corrected(self) -> str:
        """What it is corrected to, which nobody says."""
        return f"The {self.thing} called {self.marker} with the code {self.number} was sold"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a client does. `message_id` differs where the bus is not to notice that it was said before."""

    kind: Kind
    user_id: str
    statement: Statement | None = None
    turn: Turn | None = None
    create: CreateRequest | None = None
    body: bytes = b""
    message_id: str = ""


@dataclass(slots=True)
class _Person:
    user_id: str
    statements: list[Statement] = field(default_factory=list)
    turns: list[tuple[Turn, Statement]] = field(default_factory=list)
    rounds: int = 0


class Load:
    """An endless load of these kinds of steps; turns are said in any case."""

    def __init__(self, seed: int, *, users: Sequence[str] = USERS, kinds: Collection[Kind] = KINDS) -> None:
        self._random = Random(seed)
        self._people = [_Person(user) for user in users]
        self._made = 0
        self._kinds = kinds

    def __iter__(self) -> Iterator[Step]:
        while True:
            person = self._random.choice(self._people)
            yield from self._round(person)

    def _round(self, person: _Person) -> Iterator[Step]:
        for _ in range(3):
            yield self._say(person, self._new(person))
        known = self._random.choice(person.statements)
        yield self._say(person, known)
        yield self._say(person, known, near=True)
        yield self._say(person, self._conflict_of(person, self._random.choice(person.statements)))
        yield self._again(person)
        if "spoil" in self._kinds:
            yield self._spoil(person)
        if "create" in self._kinds:
            yield self._create(person)
        person.rounds += 1
        yield from self._commanded(person)

    def _commanded(self, person: _Person) -> Iterator[Step]:
        if "pin" in self._kinds:
            yield Step("pin", person.user_id, self._random.choice(person.statements))
        if "update" in self._kinds and (statement := self._forgettable(person)) is not None:
            yield Step("update", person.user_id, statement)
        if "forget" in self._kinds and (statement := self._forgettable(person)) is not None:
            yield Step("forget", person.user_id, statement)
            yield self._say(person, statement, near=True)
        for kind in UNKEPT:
            if kind in self._kinds and person.rounds % _ROUNDS == 1:
                yield self._unkept(kind)
        if "erase" in self._kinds and person.rounds % _ROUNDS == 0:
            self._people[self._people.index(person)] = _Person(f"{person.user_id[:240]}+{self._made}")
            yield Step("erase", person.user_id)

    def _unkept(self, kind: Kind) -> Step:
        """What somebody says, once, who has decided that it is not kept."""
        person = _Person(f"{kind} {self._made}")
        said = self._say(person, self._new(person))
        return replace(said, kind=kind)

    def _new(self, person: _Person) -> Statement:
        self._made += 1
        word = "".join(self._random.choices(_LETTERS, k=7))
        space = self._random.choice(("default", "default", "work"))
        number = self._random.randrange(1000, 9000)
        statement = Statement(person.user_id, space, self._random.choice(_THINGS), f"qq{word}", number)
        person.statements.append(statement)
        return statement

    def _conflict_of(self, person: _Person, other: Statement) -> Statement:
        other.siblings = True
        number = other.number + self._random.choice((1, 10, 9000))
        found = next((one for one in person.statements if one.marker == other.marker and one.number == number), None)
        if found is None:
            found = Statement(other.user_id, other.space, other.thing, other.marker, number, siblings=True)
            person.statements.append(found)
        return found

    def _forgettable(self, person: _Person) -> Statement | None:
        old = [one for one in person.statements[:-3] if not one.siblings]
        if not old:
            return None
        chosen = self._random.choice(old)
        person.statements.remove(chosen)
        person.turns = [(turn, said) for turn, said in person.turns if said is not chosen]
        return chosen

    def _say(self, person: _Person, statement: Statement, *, near: bool = False) -> Step:
        text = self._reworded(statement.text) if near else statement.text
        turn = Turn(user_id=person.user_id, role="user", text=text, space=statement.space, turn_id=self._turn_id())
        turn = turn.model_copy(update={"turn_id": turn.turn_id or derived_turn_id(turn)})
        person.turns.append((turn, statement))
        return Step("say", person.user_id, statement, turn, message_id=self._message_id())

    def _again(self, person: _Person) -> Step:
        turn, statement = self._random.choice(person.turns)
        return Step("say", person.user_id, statement, turn, message_id=self._message_id())

    def _create(self, person: _Person) -> Step:
        statement = self._new(person)
        request = CreateRequest(
            user_id=person.user_id,
            text=statement.text,
            space=statement.space,
            correlation_id=self._message_id(),
            manually_saved=False,
        )
        return Step("create", person.user_id, statement, turn_of(request, _LONGEST), request)

    def _spoil(self, person: _Person) -> Step:
        mark = self._message_id()
        bodies: tuple[object, ...] = (
            {"user_id": person.user_id, "role": "user"},
            {"user_id": f"not {person.user_id[:64]}", "role": "user", "text": "whose is this"},
            {"user_id": person.user_id, "role": "nobody", "text": "who says this"},
        )
        body = json.dumps([mark, self._random.choice(bodies)]).encode()[: self._random.choice((20, 4000))]
        return Step("spoil", person.user_id, body=body + mark.encode(), message_id=mark)

    def _reworded(self, text: str) -> str:
        changed = self._random.choice((str, str.lower, str.upper))(text)
        return self._random.choice(_OPENINGS) + changed + self._random.choice(_ENDS)

    def _turn_id(self) -> str | None:
        shapes = (None, str(UUID(int=self._random.getrandbits(128))), f"t/{self._made} ü {self._random.random()}")
        return self._random.choice(shapes)

    def _message_id(self) -> str:
        return f"m{self._random.getrandbits(64):016x}"
