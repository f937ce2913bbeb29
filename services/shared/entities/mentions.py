"""Whether a text mentions what a topic names, by its words and by its names as they are written.

The analysis drops what some language uses as a small word, and Will, May and Ella are names, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from services.shared.language.analysis import analyze, words_asked
from services.shared.language.language import SMALL_WORDS, language_of
from services.shared.language.prefixes import forms
from services.shared.language.text import composed, fold, without_accents

_WORD = re.compile(r"\w+")
_PRONOUNS, _VERBS = (
    frozenset(its.split()) for its in ("i you he she it we they that there who what", "m s re ve ll d")
)
_NO_NAMES = frozenset(
    "i im ive ill my mine me we we're our us you your he his she her it its they their them him the a this that these "
    "those and or not who what when where why how is are was were do does did has have had s t m ve ll re".split()
)


_SCRIPT = re.compile(
    "(?P<hangul>[\uac00-\ud7a3]+)|(?P<kana>[\u3041-\u3096\u30a1-\u30fc]+)|(?P<cyrillic>[\u0400-\u04ff]+)"
)
_GOES_ON = re.compile("[んーっゃゅょ\u3041\u3043\u3045\u3047\u3049]|[\u30a1-\u30fc]")
"""Kana that begin no particle, so that the word before them goes on."""

_LAST_VOWELS = tuple("аяоеиыйь")
_CASES = frozenset(
    " а я ы и е у ю й ь ой ей ою ею ом ем ым им ам ями ями ах ях ых их ыми ими ов ев ого ему ому ого ии ию ией ия ин "
    "ина иной ину ами ям".split(" ")
)
"""What a Russian name ends in instead of its last vowel, or besides."""

_OTHER_ENDS = frozenset(("e", "n", "en"))
_LONG = 7
"""Letters from which on a word with a capital, as all German nouns have one, may be in the plural."""


class Word(NamedTuple):
    """A word of a topic: the terms it may be stored as, and what it is in a text, in any case or as it is written.

    `name`: it is written with a capital, or in a script of its own, and found as a whole: Müll does not mention Müller,
    nor does Kareem mention Reem in Arabic.
    """

    terms: frozenset[str]
    folded: str = ""
    written: str = ""
    name: str = ""


class Words(NamedTuple):
    """The words of a text, as it is compared with topics; `names` in plain letters are those that may be names."""

    terms: frozenset[str]
    folded: frozenset[str]
    written: frozenset[str]
    names: frozenset[str]


def words_of_topic(topic: str) -> tuple[Word, ...]:
    """What a text has that mentions the topic: each of these; nothing has what a topic without words names."""
    topic = composed(topic)
    asked = words_asked(topic)
    telling = {key: its for key, its in asked.items() if not _is_contraction(key)}
    names = {fold(name): name for name in _names_in(topic)}
    capital = {fold(word) for word in _WORD.findall(topic) if word[0].isupper() and not topic.isupper()}
    found: list[Word] = []
    for key, its in telling.items():
        if (key in names and key in capital) or _script_of(key) in ("hangul", "kana") or forms(key):
            found.append(Word(frozenset(chain.from_iterable(its)), folded=key, name=without_accents(key)))
        else:
            found += [Word(frozenset(terms), folded=key) for terms in its]
    return (*found, *(Word(frozenset(), written=name) for key, name in names.items() if key not in asked))


def _is_contraction(word: str) -> bool:
    """Whether it is a pronoun and a verb: "I'm"."""
    before, _, after = word.partition("'")
    return before in _PRONOUNS and after in _VERBS


def is_found_by_terms(words: Iterable[Word]) -> bool:
    """Whether what mentions these is found by its terms: none is a small word in any language, or a name with cases."""
    return all(word.terms and word.folded not in SMALL_WORDS and _script_of(word.name) != "cyrillic" for word in words)


def words_in(text: str, tags: Sequence[str] = ()) -> Words:
    """The words of a text and its tags; what language a text is in its tags do not tell."""
    text = composed(text)
    written, tagged = frozenset(_WORD.findall(text)), _WORD.findall(" ".join(tags))
    folded = frozenset(map(fold, written))
    is_german = not text.islower() and language_of(_WORD.findall(fold(text))) == "german"
    names = (word for word in written if not (is_german and word[0].islower()))  # names have a capital there
    plain = frozenset(without_accents(fold(word)) for word in chain(names, tagged))
    return Words(frozenset((*analyze(text), *analyze(" ".join(tags)))), folded, written, plain)


def has(words: Words, word: Word) -> bool:
    """Whether a text has a word of a topic."""
    if word.name:
        return any(_is_form_of(word.name, other) for other in words.names)
    return not words.terms.isdisjoint(word.terms) or word.folded in words.folded or word.written in words.written


def _is_form_of(name: str, word: str) -> bool:
    """Whether a word is a name, or an inflected form of it."""
    script = _script_of(name)
    if script == "hangul":
        return word.startswith(name)
    if script == "kana":
        return any(not _GOES_ON.match(word, found.end()) for found in re.finditer(name, word))
    if script == "cyrillic":
        stem = name[:-1] if name.endswith(_LAST_VOWELS) else name
        return word == name or (word.startswith(stem) and word[len(stem) :] in _CASES)
    shorter, longer = sorted((name, word), key=len)
    rest = longer.removeprefix(shorter) if longer.startswith(shorter) else None
    if rest == "s":
        return shorter == name or len(name) >= _LONG
    return rest == "" or (rest in _OTHER_ENDS and len(longer) > _LONG)


def _script_of(word: str) -> str | None:
    found = _SCRIPT.fullmatch(word)
    return found and found.lastgroup


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
