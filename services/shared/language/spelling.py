"""One spelling for words that are written in several ways: contractions, British and American, numbers in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import chain, permutations

from services.shared.language import wordlists
from services.shared.language.text import remembered

_words = partial(wordlists.words, "spelling")
_listed = partial(wordlists.listed, "spelling")

_UNITS, _ORDINALS = _listed("units"), _listed("ordinals")
_TENS = {word: 10 * tens for tens, word in enumerate(_listed("tens"), start=2)}
_TENTHS = {f"{word[:-1]}ieth": value for word, value in _TENS.items()}
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def _ordinal(value: int) -> str:
    return f"{value}{'th' if 11 <= value <= 13 else _SUFFIXES.get(value % 10, 'th')}"


NUMBER_WORDS = {
    **{word: str(value) for value, word in enumerate(_UNITS)},
    **{word: str(value) for word, value in _TENS.items()},
    **{word: _ordinal(value) for value, word in enumerate(_ORDINALS, start=1)},
    **{word: _ordinal(value) for word, value in _TENTHS.items()},
}

TITLES = _words("titles")
"""Words before a name: it is never respelt, and a full stop between them ends no sentence."""

_CONTRACTIONS = {word: tuple(full.split()) for word, full in wordlists.pairs("spelling", "contractions").items()}
_WITHOUT_APOSTROPHE = {word.replace("'", ""): word for word in _words("contractions written without apostrophe")}
_ENDINGS = {"n't": "not", "'re": "are", "'ll": "will", "'ve": "have"}
_BEFORE_IS, _AFTER_IS = _words("before is"), _words("after is")
_BETWEEN, _AFTER_WOULD, _AFTER_HAD = _words("between"), _words("after would"), _words("after had")
_BRITISH = wordlists.pairs("spelling", "british")
_PATTERNS = [(re.compile(form), plain) for form, plain in wordlists.pairs("spelling", "british patterns").items()]


def plain_words(tokens: Sequence[str]) -> list[str]:
    """Tokens of a normalized text in full words: contractions spelled out, American spelling, numbers in digits.

    Numbers in words up to 99, whole hundreds and thousands and ordinals become digits. The inflection stays: "I worked
    there" and "I work there" say different things.
    """
    tokens = _in_context(tokens)
    if TITLES.isdisjoint(tokens):
        return list(chain.from_iterable(map(_plain_words, tokens)))
    named = [i > 0 and tokens[i - 1] in TITLES for i in range(len(tokens))]
    return list(chain.from_iterable((t,) if name else _plain_words(t) for t, name in zip(tokens, named, strict=True)))


_LAST_DIGITS = {word: value for value, word in enumerate(_UNITS[:10]) if value}
_LAST_ORDINALS = {word: value for value, word in enumerate(_ORDINALS[:9], start=1) if word != "second"}
"""Without "second": a twenty second timer is not the 22nd."""

_POWERS = {"hundred": 100, "thousand": 1000}
_NOT_AFTER_POWER = _words("not after power") | NUMBER_WORDS.keys()


def _in_context(tokens: Sequence[str]) -> Sequence[str]:
    """Tokens with what only the next word makes clear: twenty five is 25, I'd like is I would like."""
    if not any("'" in token or token in _TENS or token in _POWERS for token in tokens):
        return tokens
    plain: list[str] = []
    for i, token in enumerate(tokens):
        after, later = (*tokens[i + 1 : i + 3], "", "")[:2]
        if plain and (number := _number(plain[-1], token, after)):
            plain[-1] = number
        else:
            plain += _with_auxiliary(token, after, later)
    return plain


def _number(before: str, token: str, after: str) -> str | None:
    """The number that two words make together, such as twenty five and two hundred; larger ones stay in words."""
    if before in _TENS and token in _LAST_DIGITS:
        return str(_TENS[before] + _LAST_DIGITS[token])
    if before in _TENS and token in _LAST_ORDINALS:
        return _ordinal(_TENS[before] + _LAST_ORDINALS[token])
    if token in _POWERS and after not in _NOT_AFTER_POWER and not after[:1].isdigit():
        count = NUMBER_WORDS.get(before, before)
        return str(int(count) * _POWERS[token]) if re.fullmatch("[1-9][0-9]?", count) else None
    return None


def _with_auxiliary(token: str, after: str, later: str) -> tuple[str, ...]:
    """The words of "I'd" and "the soup's" where the next words tell which they are; others stay as they are."""
    word, ending = token[:-2], token[-2:]
    if ending == "'s" and after in _AFTER_IS and word and token not in _CONTRACTIONS:
        return (word, "is")
    if ending == "'d" and word:
        verb = later if after in _BETWEEN else after
        return (word, "had") if verb in _AFTER_HAD else (word, "would") if verb in _AFTER_WOULD else (token,)
    return (token,)


_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def without_separators(token: str) -> str:
    """A number without separators of thousands; other words as they are."""
    return token.replace(",", "") if _THOUSANDS.fullmatch(token) else token


@remembered(longest=64)
def _plain_words(token: str) -> tuple[str, ...]:
    token = _WITHOUT_APOSTROPHE.get(token, token)
    if token in _CONTRACTIONS:
        return _CONTRACTIONS[token]
    stem, ending = token[:-3], token[-3:]
    if stem and ending in _ENDINGS:
        return (stem, _ENDINGS[ending])
    if token.endswith("'s"):
        return (token[:-2], "is") if token[:-2] in _BEFORE_IS else (f"{american(token[:-2])}'s",)
    return (NUMBER_WORDS.get(token) or american(without_separators(token)),)


_EITHER_WAY = [
    (one, other)
    for pair in ("or our", "z s", "ce se", "er re", "l ll", "e ae", "gray grey")
    for one, other in permutations(pair.split())
]


@lru_cache(maxsize=1 << 12)
def other_spellings(word: str) -> frozenset[str]:
    """How an English word in lower case is written on the other side of the ocean: license for licence, colour for
    color; nothing where both write it alike.
    """
    plain = american(word)
    swapped = {word.replace(one, other) for one, other in _EITHER_WAY}
    return frozenset(other for other in {plain, *swapped} if other != word and american(other) == plain)


def american(word: str) -> str:
    """A word in lower case as Americans write it."""
    if not word.isascii() or not word.isalpha():
        return word
    word = _BRITISH.get(word, word)
    for british, american in _PATTERNS:
        word = british.sub(american, word)
    return word
