"""Chats with what is to be known of them, as the folders of `tests/quality/chats` hold them, a file each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEAR = 2
"""Turns around the evidence that are likeliest to be mistaken for it."""


@dataclass(frozen=True, slots=True)
class Label:
    """A stretch of a turn, copied from it: a claim, a task, or what only looks like one."""

    value: str
    slot: str = ""
    of_user: bool = True
    about: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A message, and what a reader found in it. `ends`: something that was so is so no longer, as it says.

    `is_read`: its claims were noted; of others nothing is known but whether it is a wish not to be kept.
    """

    id: str
    by_user: bool
    text: str
    claims: tuple[Label, ...] = ()
    tasks: tuple[Label, ...] = ()
    not_claims: tuple[Label, ...] = ()
    ends: bool = False
    is_wish: bool = False
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the places of the turns that answer it, and of those that once did."""

    text: str
    kind: str
    evidence: tuple[int, ...]
    stale: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat; one of people among themselves has no labels, and its turns are nobody's."""

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]
    is_labelled: bool = True


def read_folder(folder: Path) -> list[Chat]:
    """The chats of a folder in the order of their names."""
    return [_chat(json.loads(file.read_text(encoding="utf-8"))) for file in sorted(folder.glob("*.json"))]


def read_dialogues(file: Path) -> list[Chat]:
    """Dialogues with questions alone: a list of {id, turns: [{text}], questions: [{q, evidence: [place of turn]}]}."""
    return [
        Chat(
            one["id"],
            [Turn(str(place), by_user=False, text=turn["text"]) for place, turn in enumerate(one["turns"])],
            [Question(asked["q"], "dialogue", tuple(asked["evidence"])) for asked in one["questions"]],
            is_labelled=False,
        )
        for one in json.loads(file.read_text(encoding="utf-8"))
    ]


def _chat(read: dict[str, Any]) -> Chat:
    places = {turn["id"]: place for place, turn in enumerate(read["turns"])}
    ended = {claim["until"] for claim in read["claims"] if claim["until"]}
    wished = {wish["turn"] for wish in read["wishes"]}

    def turn(said: dict[str, Any]) -> Turn:
        def of(kind: str) -> list[dict[str, Any]]:
            return [label for label in read[kind] if label["turn"] == said["id"]]

        return Turn(
            said["id"],
            said["role"] == "user",
            said["text"],
            tuple(map(_claim, of("claims"))),
            tuple(Label(task["value"]) for task in of("tasks")),
            tuple(Label(label["value"], label["why"]) for label in of("not_claims")),
            said["id"] in ended or said.get("ends", False),
            said["id"] in wished,
        )

    questions = [
        Question(
            asked["q"], asked["kind"], *(tuple(places[id_] for id_ in asked[key]) for key in ("evidence", "stale"))
        )
        for asked in read["questions"]
    ]
    return Chat(read["id"], list(map(turn, read["turns"])), questions)


def _claim(label: dict[str, Any]) -> Label:
    of_user = label["about"].casefold() == "user"
    return Label(label["value"], label["slot"], of_user, "" if of_user else label["about"], bool(label["replaces"]))


def place_of(text: str, value: str) -> tuple[int, int] | None:
    """Where a text has a value, whatever the case of its letters."""
    begin = text.casefold().find(value.casefold()) if value.strip() else -1
    if begin < 0 or len(text.casefold()) != len(text):
        begin = text.find(value)
    return (begin, begin + len(value)) if begin >= 0 else None


def near(evidence: Iterable[int], count: int) -> set[int]:
    """The places around those of the evidence."""
    around = {place + step for place in evidence for step in range(-NEAR, NEAR + 1) if step}
    return {place for place in around if 0 <= place < count} - set(evidence)
