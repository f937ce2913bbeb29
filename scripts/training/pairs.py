"""Two texts of one person, and what the later one is to the earlier: of labelled rows, and of labelled chats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from chats import place_of

from services.shared.reading.claims import sentence_around

_TIMES = {"plain": 3}
"""So often come pairs in plain words, which chats and writers of hard ones have few of."""


class Pair(NamedTuple):
    """What was said earlier, what was said later, and what that is to it: one of `RELATIONS`."""

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


def _pairs_of(chat: dict[str, Any]) -> Iterator[Pair]:
    said = {turn["id"]: turn["text"] for turn in chat["turns"] if turn["role"] == "user"}
    claims = [claim for claim in chat["claims"] if claim["turn"] in said]
    changed = set()
    for new in claims:
        for old in claims:
            if old["turn"] == new["replaces"] != new["turn"] and _slot(old) == _slot(new):
                changed.add((_sentence(old, said), _sentence(new, said)))
    for label in [*claims, *chat["tasks"]]:
        for after in (label.get("until"), label.get("done"), label.get("dropped")):
            if after in said and label["turn"] in said and after != label["turn"]:
                changed.add((_sentence(label, said), said[after]))
    yield from (Pair(old, new, "update") for old, new in sorted(changed))
    order = list(said)
    for slot in sorted({_slot(claim) for claim in claims}):
        of_it = [claim for claim in claims if _slot(claim) == slot]
        for old, new in pairwise(sorted(of_it, key=lambda claim: order.index(claim["turn"]))):
            if old["turn"] not in (new["turn"], new["replaces"]) and old["until"] is None:
                yield Pair(_sentence(old, said), _sentence(new, said), "compatible")


def _slot(claim: dict[str, Any]) -> tuple[str, str]:
    return claim["slot"], claim["about"]


def _sentence(label: dict[str, Any], said: dict[str, str]) -> str:
    text = said[label["turn"]]
    begin, end = sentence_around(text, place_of(text, label["value"]) or (0, len(text)))
    return text[begin:end]
