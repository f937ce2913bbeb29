"""Two texts of one person, and what the later one is to the earlier: of labelled rows, and of labelled chats.

In a chat hardly one in fifty of what is compared is a change, so most of what a chat gives is no pair that belongs
together: the same texts that are compared when it is remembered.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from chats import place_of

from contracts.v1.claims import Claim
from services.shared.knowledge.changes import compared_text, words_of
from services.shared.reading.claims import sentence_around

_TIMES = {"plain": 3}
"""So often come pairs in plain words, which chats and writers of hard ones have few of."""


BESIDE = "beside"
"""What a later text of a chat is to an earlier one that it does not change, though they have a slot or a word in
common: unrelated."""


class Pair(NamedTuple):
    """What was said earlier, what was said later, and what that is to it: one of `RELATIONS`, or `BESIDE`."""

    old: str
    new: str
    relation: str


def read_pairs(folder: Path) -> list[Pair]:
    """The labelled rows of `tests/quality`."""
    rows = (line.split("\t") for line in (folder / "changes.tsv").read_text(encoding="utf-8").splitlines()[1:])
    pairs = [Pair(old, new, label) for label, _, old, new in rows]
    for file in sorted((folder / "pairs").glob("*.jsonl")):
        read = map(json.loads, file.read_text(encoding="utf-8").splitlines())
        told = [Pair(row["old"], row["new"], row["label"]) for row in read]
        pairs += told * _TIMES.get(file.stem, 1)
    return pairs


def pairs_in(folder: Path, kept_apart: set[str]) -> list[Pair]:
    """Those of the chats in a folder: what was replaced or ended, what was done, and what went on beside it."""
    read = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    return [pair for chat in read if chat["id"] not in kept_apart for pair in _pairs_of(chat)]


class _Said:
    """What the user says in a labelled chat, and the labels of it."""

    def __init__(self, chat: dict[str, Any]) -> None:
        self.texts = {turn["id"]: turn["text"] for turn in chat["turns"] if turn["role"] == "user"}
        self.place = {turn: place for place, turn in enumerate(self.texts)}
        self.claims = [label for label in chat["claims"] if label["turn"] in self.texts]
        self.labels = [*self.claims, *(label for label in chat["tasks"] if label["turn"] in self.texts)]
        self.asked = {pair for one in chat["questions"] for pair in product(one["stale"], one["evidence"])}
        """Turns of which a question says that the first is out of date where the second is not."""

    def sentence(self, label: dict[str, Any]) -> str:
        text = self.texts[label["turn"]]
        begin, end = sentence_around(text, place_of(text, label["value"]) or (0, len(text)))
        return text[begin:end]

    def compared(self, turn: str) -> str:
        """As much of a turn as is compared when it is remembered."""
        text = self.texts[turn]
        places = [at for one in self.claims if one["turn"] == turn and (at := place_of(text, one["value"]))]
        claims = [Claim(value=at, sentence=sentence_around(text, at), confidence=1) for at in places]
        return compared_text(text, claims)


def _pairs_of(chat: dict[str, Any]) -> Iterator[Pair]:
    said = _Said(chat)
    replaced = [
        (old, new)
        for new in said.claims
        for old in said.claims
        if old["turn"] == new["replaces"] != new["turn"] and _slot(old) == _slot(new)
    ]
    over = [
        (label, after)
        for label in said.labels
        for after in (label.get("until"), label.get("done"), label.get("dropped"))
        if after in said.texts and after != label["turn"]
    ]
    changed = {(said.sentence(old), said.sentence(new)) for old, new in replaced}
    changed |= {(said.sentence(old), said.compared(new["turn"])) for old, new in replaced}
    changed |= {(said.sentence(label), said.compared(after)) for label, after in over}
    yield from (Pair(old, new, "update") for old, new in sorted(changed))
    yield from _goes_on(said)
    linked = {(new["replaces"], new["turn"]) for new in said.claims} | {(one["turn"], after) for one, after in over}
    yield from sorted(set(_beside(said, linked | said.asked)))


def _goes_on(said: _Said) -> Iterator[Pair]:
    """Of each slot what follows each other and changes nothing."""
    for slot in sorted({_slot(claim) for claim in said.claims}):
        of_it = sorted((one for one in said.claims if _slot(one) == slot), key=lambda one: said.place[one["turn"]])
        for old, new in pairwise(of_it):
            if old["turn"] not in (new["turn"], new["replaces"]) and old["until"] is None:
                yield Pair(said.sentence(old), said.sentence(new), "compatible")


def _beside(said: _Said, linked: Collection[tuple[str, str]]) -> Iterator[Pair]:
    """What is compared because of a kind of slot or a word in common, and changes nothing."""
    for turn, place in said.place.items():
        here = [label for label in said.labels if label["turn"] == turn]
        slots, named = {label.get("slot") for label in here}, {_slot(label) for label in here if "slot" in label}
        text = said.compared(turn)
        words = words_of(text)
        for old in said.labels:
            is_of_another = said.place[old["turn"]] < place and _slot(old) not in named
            is_near = old.get("slot") in slots or not words.isdisjoint(words_of(old["value"]))
            if is_of_another and is_near and (old["turn"], turn) not in linked:
                yield Pair(said.sentence(old), text, BESIDE)


def _slot(label: dict[str, Any]) -> tuple[str | None, str | None]:
    return label.get("slot"), label.get("about")
