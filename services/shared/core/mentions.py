"""Whether a text mentions what a topic names, by its words and by its names as they are written.

The analysis drops what some language uses as a small word, and Will, May and Ella are names, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from services.shared.core.analysis import analyze, words_asked
from services.shared.core.language import STOP_WORDS
from services.shared.core.text import composed, fold

_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset[str]().union(*STOP_WORDS.values())
_PRONOUN_AND_VERB = re.compile(r"(?:i|you|he|she|it|we|they|that|there|who|what)['\u2019](?:m|s|re|ve|ll|d)")
_NO_NAMES = frozenset(
    "i im ive ill my mine me we we're our us you your he his she her it its they their them him the a this that these "
    "those and or not who what when where why how is are was were do does did has have had s t m ve ll re".split()
)


class Word(NamedTuple):
    """A word of a topic: the terms it may be stored as, and what it is in a text, in any case or as it is written."""

    terms: frozenset[str]
    folded: str = ""
    written: str = ""


class Words(NamedTuple):
    """The words of a text, as it is compared with topics."""

    terms: frozenset[str]
    folded: frozenset[str]
    written: frozenset[str]


def words_of_topic(topic: str) -> tuple[Word, ...]:
    """What a text has that mentions the topic: each of these; nothing has what a topic without words names."""
    topic = composed(topic)
    asked = words_asked(topic)
    telling = {key: its for key, its in asked.items() if not _PRONOUN_AND_VERB.fullmatch(key)}
    found = [Word(frozenset(terms), folded=key) for key, its in telling.items() for terms in its]
    names = (name for name in _names_in(topic) if fold(name) not in asked)
    return (*found, *(Word(frozenset(), written=name) for name in dict.fromkeys(names)))


def is_found_by_terms(words: Iterable[Word]) -> bool:
    """Whether what mentions these is found by its terms: none of them is a small word in any language."""
    return all(word.terms and word.folded not in _STOP_WORDS for word in words)


def words_in(text: str, tags: Sequence[str] = ()) -> Words:
    """The words of a text and its tags; what language a text is in its tags do not tell."""
    written = frozenset(_WORD.findall(text))
    return Words(frozenset((*analyze(text), *analyze(" ".join(tags)))), frozenset(map(fold, written)), written)


def has(words: Words, word: Word) -> bool:
    """Whether a text has a word of a topic."""
    return not words.terms.isdisjoint(word.terms) or word.folded in words.folded or word.written in words.written


def mentions(text: str, topic: str) -> bool:
    """Whether a text has every word of a topic, and the topic has any."""
    asked, words = words_of_topic(topic), words_in(text)
    return bool(asked) and all(has(words, word) for word in asked)


def _names_in(topic: str) -> list[str]:
    """The words of a topic with a capital; a lone small word is a name, as nothing else can be asked for by it."""
    found = _WORD.findall(topic)
    if len(found) == 1:
        return [found[0].title()] if fold(found[0]) not in _NO_NAMES else []
    if topic.isupper():
        return []
    return [one for one in found if one[0].isupper() and (fold(one) not in _NO_NAMES or (one.isupper() and one[1:]))]
