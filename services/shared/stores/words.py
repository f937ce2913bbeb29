"""The words an entry is found by, the same in every engine."""

from __future__ import annotations

from collections.abc import Sequence

from contracts.v1.entries import Entry
from services.shared.core.analysis import analyze


def words_of(entry: Entry) -> tuple[str, ...]:
    """The words an active entry is found by: those of its text, and those that only its tags have, once each."""
    return _with_tags(analyze(entry.text), entry.tags) if entry.status == "active" else ()


def words_after(words: tuple[str, ...], old: Entry, new: Entry) -> tuple[str, ...]:
    """The words of `new`, when those of `old` are known: most changes leave the text alone and only add tags."""
    if (old.text, old.status) != (new.text, new.status) or not set(old.tags).issubset(new.tags):
        return words_of(new)
    return _with_tags(words, [tag for tag in new.tags if tag not in old.tags]) if new.status == "active" else ()


def _with_tags(words: Sequence[str], tags: Sequence[str]) -> tuple[str, ...]:
    more = set(analyze(" ".join(tags))).difference(words) if tags else None
    return (*words, *sorted(more)) if more else tuple(words)
