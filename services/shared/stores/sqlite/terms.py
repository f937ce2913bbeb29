"""What the index holds about an entry: its words, its length, and labels that filters ask for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from contracts.ports import Filters, Selection
from contracts.v1.entries import Entry
from services.shared.ranking.neighbour_tags import filed_under
from services.shared.stores import lexical

_NO_WORD = "\x1f"
"""Starts every term that is not a word: no analysed word holds a control character."""

LENGTH = f"{_NO_WORD}length"
"""Every active entry has it; its count is how many words the entry has."""

_PINNED = f"{_NO_WORD}pinned"
_SAVED = f"{_NO_WORD}saved"


def terms_of(entry: Entry, words: Sequence[str]) -> dict[str, int]:
    """All terms of an entry with their counts: labels always, words and length while it is active."""
    terms = dict.fromkeys(labels_of(entry), 1)
    if entry.status == "active":
        terms |= Counter(words)
        terms[LENGTH] = len(words)
    return terms


def labels_of(entry: Entry) -> list[str]:
    """What filters ask for."""
    labels = [_label("type", entry.type)]
    labels += [_label("tag", tag) for tag in filed_under(entry)]
    labels += [_label("theme", theme) for theme in entry.themes]
    if entry.pinned:
        labels.append(_PINNED)
    if entry.manually_saved:
        labels.append(_SAVED)
    return labels


def _label(kind: str, value: str) -> str:
    return f"{_NO_WORD}{kind}{_NO_WORD}{value}"


def required(wanted: Filters | Selection) -> list[list[str]]:
    """Labels and words an entry must have: one of each inner list."""
    groups = []
    if wanted.types:
        groups.append([_label("type", kind) for kind in wanted.types])
    if wanted.tags:
        groups.append([_label("tag", tag) for tag in wanted.tags])
    if wanted.theme is not None:
        groups.append([_label("theme", wanted.theme)])
    if isinstance(wanted, Selection):
        groups += [[label] for label, has in _flags(wanted) if has]
        groups += [] if wanted.words is None else map(list, lexical.every_word(wanted.words))
    return groups


def forbidden(wanted: Selection) -> list[str]:
    """Labels an entry must not have."""
    return [label for label, has in _flags(wanted) if has is False]


def _flags(wanted: Selection) -> list[tuple[str, bool | None]]:
    return [(_PINNED, wanted.pinned), (_SAVED, wanted.manually_saved)]
