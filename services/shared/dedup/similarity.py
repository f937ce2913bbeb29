"""Whether two texts of one speaker state the same. When in doubt they do not: a wrong merge loses a memory."""

from __future__ import annotations

from typing import Literal, TypeAlias

from services.shared.dedup.canonical import Reading, read
from services.shared.dedup.fingerprint import LONG, in_one_case
from services.shared.language.lexicon import CRITICAL, WORDS

Agreement: TypeAlias = Literal["equal", "light_words", "typing_error"]
"""In what two texts that state the same differ at most."""

_NO_SWAP = CRITICAL | WORDS["swapped but words"]


def same_statement(a: str | Reading, b: str | Reading) -> bool:
    """Whether two raw texts of the same speaker state the same, so that the second is a repeat of the first.

    They do when they differ only in case, outer punctuation, white space, citation marks, smiles, the scheme of an
    address or the form of a time, measure or amount; if they are English, also in articles, fillers ("really", "well,
    …"), contractions, British or American spelling and numbers in words; in texts of 40 words and more also in a typing
    error. Texts that differ in an address, number, sign, date, name, negation or any other word never do, nor those
    that write a word with and without a capital although both use capitals. Nor do the same facts in other words: they
    are two memories. Symmetric.

    To compare one text with many, pass readings (`reading.read`): each text is read once, and two readings of 3,000
    words are compared in less than a millisecond.
    """
    return agreement(a, b) is not None


def agreement(one: str | Reading, other: str | Reading) -> Agreement | None:
    """How two texts state the same; None of those that do not."""
    a, b = (read(text) if isinstance(text, str) else text for text in (one, other))
    equal = a.words == b.words or _differ_by_case(a, b)
    if not equal and not _differ_by_typing(a, b):
        return None
    if _cite_differently(a, b) or (a.cased and b.cased and (_has_more_names(a, b) or _has_more_names(b, a))):
        return None
    if in_one_case(a.normal) == in_one_case(b.normal):
        return "equal"
    return "light_words" if equal else "typing_error"


def _differ_by_case(a: Reading, b: Reading) -> bool:
    """Whether the words differ only by letters that capitals do not tell apart, and one of each two has capitals."""
    if len(a.words) != len(b.words):
        return False
    pairs = [pair for pair in zip(a.words, b.words, strict=True) if pair[0] != pair[1]]
    return all((x in a.unsure or y in b.unsure) and in_one_case(x) == in_one_case(y) for x, y in pairs)


def _cite_differently(a: Reading, b: Reading) -> bool:
    return bool(a.citations and b.citations) and a.citations != b.citations


def _has_more_names(a: Reading, b: Reading) -> bool:
    """Whether one text writes a word inside a sentence with a capital that the other does not."""
    return any(count > b.names.get(name, 0) + b.openings.get(name, 0) for name, count in a.names.items())


def _differ_by_typing(a: Reading, b: Reading) -> bool:
    """Whether long texts differ in at most one word of forty, each by two letters that changed places."""
    if len(a.words) != len(b.words) or len(a.words) < LONG:
        return False
    pairs = [pair for pair in zip(a.words, b.words, strict=True) if pair[0] != pair[1]]
    if len(pairs) > len(a.words) // LONG:
        return False
    literal = a.names.keys() | b.names.keys() | a.code | b.code
    return all(_is_swap(x, y) and not {x, y} & literal for x, y in pairs)


def _is_swap(x: str, y: str) -> bool:
    """Whether two words of six letters or more differ only by neighbouring letters inside that changed places.

    Other errors are left alone: boiled and broiled, walking and talking are one letter apart, too.
    """
    if len(x) != len(y) or len(x) < 6 or not (x.isalpha() and y.isalpha()):
        return False
    if {x, y} & _NO_SWAP:
        return False
    places = [i for i, (p, q) in enumerate(zip(x, y, strict=True)) if p != q]
    if len(places) != 2 or places[1] != places[0] + 1 or places[0] == 0:
        return False
    return x[places[0]] == y[places[1]] and x[places[1]] == y[places[0]]
