"""The words an entry is found by, the same in every engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from contracts.v1.entries import Entry
from services.shared.language.analysis import analyze


class Rewording(NamedTuple):
    """What a change does to the words of an entry: these come in place of the old ones, or in addition to them."""

    words: tuple[str, ...]
    instead: bool

    def after(self, old: tuple[str, ...]) -> tuple[str, ...]:
        """The words that the entry has then."""
        return self.words if self.instead else _with(old, self.words)


def words_of(entry: Entry) -> tuple[str, ...]:
    """The words an active entry is found by: those of its text, and those that only its tags have, once each."""
    return _with(tuple(analyze(entry.text)), _of_tags(entry.tags)) if entry.status == "active" else ()


def reworded(old: Entry, new: Entry) -> Rewording:
    """What a change does to the words: most leave the text alone and only add tags."""
    if (old.text, old.status) != (new.text, new.status) or not set(old.tags).issubset(new.tags):
        return Rewording(words_of(new), instead=True)
    added = [tag for tag in new.tags if tag not in old.tags] if new.status == "active" else []
    return Rewording(tuple(_of_tags(added)), instead=False)


def _of_tags(tags: Sequence[str]) -> Sequence[str]:
    return analyze(" ".join(tags)) if tags else ()


def _with(words: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return (*words, *sorted(set(more).difference(words)))
