"""What the form of a text tells, whoever asks: read once, and known by a hash of the text from then on.

The hash tells nobody the text, so what was forgotten is not kept here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

from services.shared.language import wordlists
from services.shared.language.analysis import analyze, telling_terms, words_asked
from services.shared.language.bounded import as_read

TOKEN = re.compile(r"\w+(?:'\w+)?")
FIRST_PERSON = frozenset("i i'm i've i'd i'll my me mine we we're our".split())

_ASKS, _REQUEST = (wordlists.expression("asked", form, re.IGNORECASE) for form in ("{question}", "{request}"))
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\bMay\b")
_TIMES, _RELATIVE, _SPANS = (wordlists.words("asked", it) for it in ("times", "relative", "spans"))

_MOST_KNOWN = 20_000
_BEGINNING = 2000
"""Characters of a text in which terms are looked for."""

T = TypeVar("T")


class Traits(NamedTuple):
    """The form of a text."""

    ends_in_question: bool
    length: int
    names_time: bool
    has_number: bool


class ByText(Generic[T]):
    """What was read of texts lately, each as the rules get to see it (`view`); it must hold none of their words."""

    def __init__(self, read: Callable[[str], T], view: Callable[[str], str] = as_read) -> None:
        self._read, self._view = read, view
        self._known: dict[int, T] = {}

    def knows(self, text: str) -> bool:
        """Whether it was read of this text lately."""
        return hash(text) in self._known

    def __call__(self, text: str) -> T:
        key = hash(text)
        if (known := self._known.get(key)) is not None:
            return known
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[key] = found = self._read(self._view(text))
        return found


def is_mere_question(text: str) -> bool:
    """Whether a text is a single question, with its mark or in plain words, and says nothing beside it."""
    text = text.strip()
    return (text.endswith("?") or _ASKS.fullmatch(text) is not None) and _is_one_sentence(text)


def _is_one_sentence(text: str) -> bool:
    return frozenset(".!?\n").isdisjoint(text[:-1])


def is_mere_request(text: str) -> bool:
    """Whether a text is a single question, or asks in English for something to be done, and says nothing beside it."""
    return is_mere_question(text) or (_REQUEST.match(text) is not None and _is_one_sentence(text.strip()))


def asks_only_for(text: str, terms: Collection[str]) -> bool:
    """Whether a text is a single question, in which every word that tells something is looked for by one of these.

    Whether one likes, prefers or should take something is how one asks, and tells nothing.
    """
    if not _is_question(text):
        return False
    wanted = frozenset(map(hash, terms))
    its = _asked_in(text.strip())
    return any(one & wanted for one in its) and all(one & wanted or one <= _WAYS_TO_ASK for one in its)


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case."""
    return frozenset(TOKEN.findall(text.lower().replace("\u2019", "'")))


def _read(text: str) -> Traits:
    return Traits(
        ends_in_question=text.rstrip(" !.)\"'").endswith("?"),
        length=text.count(" ") + 1,
        names_time=_names_time(text, words_of(text)),
        has_number=any(map(str.isdecimal, text)),
    )


def _names_time(text: str, words: frozenset[str]) -> bool:
    if not words.isdisjoint(_TIMES) or not (words.isdisjoint(_RELATIVE) or words.isdisjoint(_SPANS)):
        return True
    return any(part in text for part in ("19", "20", "May")) and _YEAR.search(text) is not None


def _terms_asked(text: str) -> tuple[frozenset[int], ...]:
    """By word of a question that tells something, hashes of the terms that it is looked for by."""
    asked = dict.fromkeys(chain.from_iterable(words_asked.__wrapped__(text).values()))
    return tuple(frozenset(map(hash, terms)) for terms in asked)


_WAYS_TO_ASK = frozenset(map(hash, telling_terms(" ".join(wordlists.listed("asked", "ways")))))
_asked_in = ByText(_terms_asked)
_is_question = ByText(is_mere_question)
traits_of = ByText(_read)
"""The form of a text."""

words_in = ByText(lambda text: frozenset(hash(word.removesuffix("'s")) for word in words_of(text)))
"""Hashes of the words of a text, in lower case."""

terms_in = ByText(lambda text: tuple(map(hash, analyze(text[:_BEGINNING]))))
"""Hashes of the index terms of a text, in order."""
