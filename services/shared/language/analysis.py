"""The terms of the lexical index, the same for what is stored and for what is asked."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TypeVar, get_args

import Stemmer

from services.shared.language import wordlists
from services.shared.language.language import SMALL_WORDS, STOP_WORDS, Language, language_of
from services.shared.language.prefixes import forms
from services.shared.language.text import WORD, fold, separate, unfolded, without_accents
from services.shared.language.unspaced import UNSPACED, overlapping

LONGEST_TERM = 255  # as in Lucene; longer runs are split
_LONGEST_CACHED = 64

_TOKEN = re.compile(
    rf"[{WORD}]+(?:(?:(?<=[0-9])[.,:/-](?=[0-9])|[._'](?=[{WORD}]))[{WORD}]+)*"
    rf"(?:\+\+(?![{WORD}+])|\#(?![{WORD}]))?"
)
_LETTER = rf"(?![{UNSPACED}])[{WORD}]"
_PART = re.compile(rf"[{UNSPACED}]+|(?:{_LETTER})+(?:'(?:{_LETTER})+)*")
_RUN = re.compile(f"[{UNSPACED}]")
_LAST_LATIN_1, _LAST_LATIN = "\u00ff", "\u024f"

_ELIDED, _CONTRACTED = wordlists.words("stop_words", "elided"), wordlists.words("stop_words", "contracted")

_LATIN: tuple[Language, ...] = get_args(Language)

_stemmers = threading.local()
_OF_A_SCIENCE = tuple(f"{vowel}logi" for vowel in "aeiouy")

T = TypeVar("T")
Alternatives = tuple[str, ...]
"""The terms under any of which a word may be stored."""


def analyze(text: str) -> list[str]:
    """The index terms of a text, in order, repeats included.

    A term is a word in lower case without an English possessive 's, stemmed by Snowball's rules for the language of
    the text; where nothing tells it, and for English, by Porter's (as Lucene's `english` analyzer does). Words in
    Cyrillic are taken for Russian. Stop words of the language are left out. A compound such as snake_case, v1.2.3,
    10:30, node.js or c++ gives its parts and then itself, so that it is found by either. So does a word with an elided
    article or an ending at an apostrophe (l'école, Ankara'da), or with small words that Hebrew and Arabic write onto
    it, and what has accents also gives the term that English rules make of it without them (café: cafe). What scripts
    without spaces write together gives its units, and each two that stand beside each other.
    No term contains white space, a control character or a double quote, or is longer than 255 characters.
    Safe to call from several threads.
    """
    tokens = _tokens(text)
    language = language_of(tokens) or "english"
    return list(chain.from_iterable(_cached(_terms, token)(token, language) for token in tokens))


def analyze_query(query: str) -> list[Alternatives]:
    """The distinct words to look for, less those that only make it a question.

    "What did you say about the bike?" asks for say and bike. A query of such words alone is taken as it is.
    A few words are easily taken for another language, and one may ask in one language for what was said in another:
    unless the query is English, a word is looked for by its stem in each of them.
    """
    asked = dict.fromkeys(chain.from_iterable(words_asked(query).values()))
    return list(asked or dict.fromkeys((term,) for term in analyze(query)))


def telling_terms(query: str) -> list[str]:
    """All terms of the words in a query that do not only make it a question; none when there are no others."""
    return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(words_asked(query).values()))))


@lru_cache(maxsize=16)  # one question is looked at from several sides
def words_asked(query: str) -> Mapping[str, Sequence[Alternatives]]:
    """By word of a query as it is written, folded, what it is looked for by; without those that only ask."""
    tokens = _tokens(query)
    language = language_of(tokens)
    every = (language,) if language == "english" else tuple(dict.fromkeys((language or "english", *_LATIN)))
    asked = {token: _cached(_alternatives, token)(token, language or "english", every) for token in tokens}
    if language in (None, "english"):
        asked = {token: tuple(its for its in found if its[0] not in _ASKING) for token, found in asked.items()}
    return {token.removesuffix("'s"): found for token, found in asked.items() if found}


@lru_cache(maxsize=16)
def is_english(text: str) -> bool:
    """Whether the language of a text is English, or cannot be told."""
    return language_of(_tokens(text)) in (None, "english")


def is_foreign(text: str) -> bool:
    """Whether a text is surely not English: its words are those of another language, or of another script, or none is
    English and one that is no name has letters which English borrows for names alone: Polish, Turkish."""
    tokens = _tokens(text)
    language = language_of(tokens)
    if language not in (None, "english") or any(map(_is_of_another_script, tokens)):
        return True
    return language is None and any(map(_is_spelled_abroad, unfolded(text).split()))


def _is_spelled_abroad(word: str) -> bool:
    return word[0].islower() and any(_LAST_LATIN_1 < letter <= _LAST_LATIN for letter in word)


def _is_of_another_script(token: str) -> bool:
    letters = [letter for letter in token if letter.isalpha()]
    return bool(letters) and min(letters) > _LAST_LATIN


def stems(words: Sequence[str], query: str) -> list[str]:
    """The terms of words, three letters or more each and all of one script, in the language of a query."""
    return _stems_of(words, language_of(_tokens(query)) or "english") if words else []


def _tokens(text: str) -> list[str]:
    readable = separate(fold(text)).encode(errors="replace").decode()  # no stemmer can read half of a character
    return [
        token[i : i + LONGEST_TERM] for token in _TOKEN.findall(readable) for i in range(0, len(token), LONGEST_TERM)
    ]


def _cached(read: Callable[..., T], token: str) -> Callable[..., T]:
    """What reads a token: endless words, and sentences without spaces, stay out of the caches."""
    is_usual = len(token) <= _LONGEST_CACHED and (token.isascii() or not _RUN.search(token))
    return read if is_usual else inspect.unwrap(read)


@lru_cache(maxsize=1 << 15)
def _terms(token: str, language: Language) -> tuple[str, ...]:
    parts, whole = _parts(token)
    return (*chain.from_iterable(_of_part(part, language) for part in parts), *whole)


def _parts(token: str) -> tuple[list[str], tuple[str, ...]]:
    """The words of a token, and the token itself where it is more than those."""
    word = token.removesuffix("'s")
    parts: list[str] = _PART.findall(word)
    return parts, () if "".join(parts) == word else (word,)


def _of_part(part: str, language: Language) -> Iterable[str]:
    if _RUN.match(part):
        return overlapping(part)
    if part in STOP_WORDS["russian" if _is_cyrillic(part) else language]:
        return ()
    if found := forms(part):
        return found
    bare = _bare(part)
    found = [_stem(part, language), *([_stem(bare, language)] if bare != part else [])]
    if not bare.isascii() and (plain := without_accents(bare)) not in ("", bare):
        found.append(_stem(plain[:LONGEST_TERM], "english"))
    return dict.fromkeys(found)


def _bare(word: str) -> str:
    """A word without an article before an apostrophe, or an ending behind it: école, ankara; don't and o'brien stay."""
    before, apostrophe, after = word.partition("'")
    if not apostrophe or not before or before[0] > _LAST_LATIN or after in _CONTRACTED:
        return word
    if before in _ELIDED:
        return after if len(after) > 2 and after not in SMALL_WORDS else word
    return before if len(before) > 2 else word


@lru_cache(maxsize=1 << 13)
def _alternatives(token: str, language: Language, every: Sequence[Language]) -> tuple[Alternatives, ...]:
    parts, whole = _parts(token)
    found = chain.from_iterable(_alternatives_of_part(part, language, every) for part in parts)
    return (*found, *((word,) for word in whole))


def _alternatives_of_part(part: str, language: Language, every: Sequence[Language]) -> Iterable[Alternatives]:
    found = _of_part(part, language)
    return [(term,) for term in found] if _RUN.match(part) else [_stems(part, every)] if found else []


@lru_cache(maxsize=1 << 13)
def _stems(word: str, every: Sequence[Language]) -> Alternatives:
    """The stems of a word, the likeliest first; those that it has without accents, article or ending are of any
    language."""
    if found := forms(word):
        return tuple(dict.fromkeys(found))
    bare = _bare(word)
    plain = without_accents(bare)[:LONGEST_TERM] or bare
    likely = (_stem(word, every[0]), _stem(bare, every[0]), _stem(plain, "english"))
    others = (_stem(form, its) for form in dict.fromkeys((bare, plain)) if form != word for its in _LATIN)
    return tuple(dict.fromkeys((*likely, *(_stem(word, its) for its in every), *others)))


def _is_cyrillic(word: str) -> bool:
    return "\u0400" <= word[0] <= "\u04ff"


def _stem(word: str, language: Language) -> str:
    if len(word) < 3:  # as Porter's own program: "js" is no plural
        return word
    return _stems_of([word], language)[0]


def _stems_of(words: Sequence[str], language: Language) -> list[str]:
    """The stems of words of one script."""
    name = "russian" if _is_cyrillic(words[0]) else "porter" if language == "english" else language
    found: list[str] = _stemmer(name).stemWords(words)
    return [_by_later_rules(stem) for stem in found] if name == "porter" else found


def _by_later_rules(stem: str) -> str:
    """The stem by two rules that Porter added later, and the library lacks: assembly is of assemble, psychology of
    psychological."""
    if stem.endswith("bli") and len(stem) > len("bli"):
        return str(_stemmer("porter").stemWord(f"{stem[:-1]}e"))
    return stem[:-1] if stem.endswith(_OF_A_SCIENCE) else stem


def _stemmer(name: str) -> Stemmer.Stemmer:
    stemmer = getattr(_stemmers, name, None)
    if stemmer is None:  # a Stemmer is not safe to share between threads
        stemmer = Stemmer.Stemmer(name, 0)
        setattr(_stemmers, name, stemmer)
    return stemmer


_ASKING = frozenset(_stem(word, "english") for word in wordlists.words("stop_words", "asking"))
