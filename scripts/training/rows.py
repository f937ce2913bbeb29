"""The labelled sentences of `tests/quality`, as chats of one turn each: the easy end of what a reader has to know."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from chats import Chat, Label, Turn

_NONE = "-"
_SLOTS = {
    **{slot: slot for slot in ("allergy", "home", "employer", "pet", "name", "habit", "partner", "diet", "language")},
    **{slot: slot for slot in ("health", "birthday", "origin", "age", "deadline")},
    **{"likes": "like", "prefers": "like", "dislikes": "dislike", "avoids": "diet", "occupation": "work"},
    **{"time": "appointment", "stack": "project_detail", "working_on": "project", "owns": "possession"},
    **{"car": "possession", "studies": "education", "medication": "medicine", "phone_number": "contact"},
}
"""The slots of the rules by their names; of others nothing is learned but that something is stated."""


_TIMES = {"plain": 5, "passing": 3}
"""So often come statements in plain words: in the others these mostly stand in quotations, questions and jokes."""

_SHORT = 200


def read_rows(folder: Path, said: Sequence[str]) -> list[Chat]:
    """Statements and what only looks like one (`facts.tsv`, `sentences`), wishes and what looks like one, which also
    stand before and after what was `said` otherwise."""
    turns = [*_facts(folder / "facts.tsv"), *_wishes(folder / "unwanted.tsv")]
    for file in sorted((folder / "sentences").glob("*.jsonl")):
        read = list(map(_sentence, map(json.loads, file.read_text(encoding="utf-8").splitlines())))
        turns += read * _TIMES.get(file.stem, 1)
    turns += _in_longer_ones([turn for turn in turns if not turn.is_read], said)
    return [Chat("sentences", turns, ())]


def _in_longer_ones(wishes: Sequence[Turn], said: Sequence[str]) -> Iterator[Turn]:
    random = np.random.default_rng(len(wishes))
    short = [text for text in said if len(text) < _SHORT]
    for turn in wishes:
        other = short[random.integers(len(short))]
        before, after = (turn.text, other) if random.random() < 0.5 else (other, turn.text)
        if len(turn.text) < _SHORT and random.random() < 0.5:
            yield replace(turn, text=f"{before} {after}")


def held_rows(folder: Path) -> Chat:
    """Statements in plain words that nothing is learned from: confidence is fitted on them beside whole chats."""
    return Chat("plain", list(_facts(folder / "facts_held_out.tsv")), ())


def _facts(file: Path) -> Iterator[Turn]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[1:]):
        kind, told, text = line.split("\t")
        claims = () if told == _NONE else tuple(map(_claim, told.split(" + ")))
        unreal = () if claims else (Label(text, kind),)
        yield Turn(f"f{number}", by_user=True, text=text, claims=claims, not_claims=unreal)


def _claim(told: str) -> Label:
    key, _, value = told.partition("=")
    whose, _, slot = key.rpartition(".")
    name = "favourite" if slot.startswith("favourite") else _SLOTS.get(slot, "")
    return Label(value, name, of_user=whose == "me", about="" if whose == "me" else whose)


def _wishes(file: Path) -> Iterator[Turn]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[1:]):
        mark, _, text = line.partition("\t")
        yield Turn(f"w{number}", by_user=True, text=text.replace("\\n", "\n"), is_wish=mark == "+", is_read=False)


def _sentence(row: dict[str, Any]) -> Turn:
    if "wish" in row:
        return Turn("", by_user=True, text=row["text"], is_wish=row["wish"], is_read=False)
    claims = tuple(
        Label(
            one["value"],
            one["slot"],
            one["about"] == "user",
            "" if one["about"] == "user" else one["about"],
            one["new"],
        )
        for one in row["claims"]
    )
    tasks = tuple(map(Label, row["tasks"]))
    unreal = (Label(row["text"], row["why"]),) if row["why"] else ()
    return Turn("", by_user=True, text=row["text"], claims=claims, tasks=tasks, not_claims=unreal, ends=row["ends"])
