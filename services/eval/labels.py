"""Chats with what a reader noted of them: a folder of files, or a file of chats and one of labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, Field, model_validator

from contracts.v1.turns import Turn
from services.eval.datasets import Document, check_distinct, documents, turns_of
from services.shared.commands.formats import FormatError
from services.shared.commands.formats.source import checked


class Claim(BaseModel):
    """Something worth knowing: `value` is copied from the turn, `until` the turn that ended it, `replaces` the turn
    whose value it changes."""

    turn: str
    about: str
    slot: str
    value: str = Field(min_length=1)
    says: str = ""
    until: str | None = None
    replaces: str | None = None

    @property
    def of_user(self) -> bool:
        """Whether it is about the user."""
        return self.about.casefold() == "user"


class Task(BaseModel):
    """Something that the user still has to do; where the value is not noted, what it says stands for it."""

    turn: str
    says: str
    value: str = ""

    @property
    def words(self) -> str:
        """What a to-do is held against."""
        return self.value or self.says


class NotClaim(BaseModel):
    """What could be mistaken for a claim, and why it is none; without a value the whole turn is meant."""

    turn: str
    value: str = ""
    why: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_turn(cls, given: Any) -> Any:
        return {"turn": given} if isinstance(given, str) else given


class Labels(BaseModel):
    """What a reader noted of a chat."""

    claims: list[Claim]
    tasks: list[Task] = []
    not_claims: list[NotClaim] = []

    def named_turns(self) -> Iterator[tuple[str, str]]:
        """Every turn that is named, and where."""
        for kind in ("claims", "tasks", "not_claims"):
            for number, label in enumerate(getattr(self, kind), start=1):
                yield f"{kind}: label {number}", label.turn
        for number, claim in enumerate(self.claims, start=1):
            yield from ((f"claims: label {number}", turn) for turn in (claim.until, claim.replaces) if turn)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A chat with its labels; `turns` name the chat as their user, and have their id in it as their source."""

    id: str
    turns: Sequence[Turn]
    labels: Labels

    @classmethod
    def of(cls, chat: Document, labels: Document) -> Self:
        """A chat whose labels name turns that it has.

        Raises:
            FormatError: they name others, or either is malformed.
        """
        turns = turns_of(chat)
        read = checked(Labels, labels.data, labels.where)
        known = {source for turn in turns for source in turn.source_ids}
        for where, turn in read.named_turns():
            if turn not in known:
                raise FormatError(f"{labels.where}: {where}: {turn!r} is no turn of {chat.where}: correct its id")
        return cls(turns[0].user_id, turns, read)


def labelled(path: Path, claims: Path | None = None) -> list[Labelled]:
    """The chats of a folder or file, with the labels that they have or that the file `claims` lists in their order.

    Raises:
        FormatError: there are no chats, or no labels to each of them.
    """
    chats = documents(path)
    noted = chats if claims is None else documents(claims)
    if len(noted) != len(chats):
        raise FormatError(
            f"{path} and {claims} differ in length, {len(chats)} and {len(noted)}: "
            "labels of every chat are needed, in the same order"
        )
    for one in noted:
        if not isinstance(one.data, dict) or "claims" not in one.data:
            raise FormatError(f"{one.where}: has no labels: a list `claims` in it, or a file of them with --claims")
    read = [Labelled.of(*pair) for pair in zip(chats, noted, strict=True)]
    check_distinct([one.id for one in read], str(path), "chat")
    return read
