"""Whether two texts of one speaker state the same. When in doubt they do not: a wrong merge loses a memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from services.shared.core import lexicon
from services.shared.core.fingerprint import LONG, jaccard
from services.shared.core.spelling import plain_words
from services.shared.core.text import fold, normalize, separate, without_urls

Agreement: TypeAlias = Literal["equal", "light_words", "typing_error"]
Conflict: TypeAlias = Literal[
    "question", "number", "time", "negation", "name", "pronoun", "modal", "direction", "order", "word"
]

LIKE = 0.9  # Jaccard similarity of character 3-grams that such texts must have
_QUESTION = re.compile(r"\?[?!\s]*")
_DIGIT = re.compile("[0-9]")
_CAPITALIZED = re.compile(r"\b[A-ZÀ-ÖØ-Þ]\w*")


@dataclass(frozen=True, slots=True)
class Difference:
    """How two texts differ: the reason, and the words (spelled out) that only one of them has."""

    reason: Agreement | Conflict
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the texts state the same."""
        return self.reason in get_args(Agreement)


def same_statement(a: str, b: str) -> bool:
    """Whether two raw texts of the same speaker state the same, so that the second is a repeat of the first.

    Texts with equal normal forms do, unless one asks and the other states. Otherwise only articles, fillers ("really",
    "well, …"), contractions, British or American spelling and numbers in words may differ; in texts of 40 words and
    more also a typing error. Texts that differ in a number, date, name, negation or any other word never do. Nor do
    the same facts in other words: they are two memories. Symmetric.
    """
    return _judge(a, b).reason is not None


def compare(a: str, b: str) -> Difference:
    """Why `same_statement` decides as it does."""
    judged = _judge(a, b)
    return Difference(judged.reason) if judged.reason else _explained(judged, a, b)


@dataclass(frozen=True, slots=True)
class _Judged:
    """Why two texts state the same, None when they do not, and the words that were compared."""

    reason: Agreement | None
    words_a: Sequence[str] = ()
    words_b: Sequence[str] = ()


def _judge(a: str, b: str) -> _Judged:
    normal_a, normal_b = normalize(a), normalize(b)
    alike = _ask_alike(a, b, normal_a, normal_b)
    if normal_a == normal_b and alike:
        return _Judged("equal")
    words_a, words_b = statement(normal_a), statement(normal_b)
    if alike and words_a == words_b:
        return _Judged("light_words")
    if alike and _differ_by_typing(words_a, words_b, a, b) and jaccard(normal_a, normal_b) >= LIKE:
        return _Judged("typing_error")
    return _Judged(None, words_a, words_b)


def _ask_alike(a: str, b: str, normal_a: str, normal_b: str) -> bool:
    """Whether both texts ask, or both state. A mark may be missing where the word order asks: "is he here"."""
    marks_a, marks_b = _questions(a), _questions(b)
    if marks_a == marks_b:
        return True
    return {marks_a, marks_b} == {0, 1} and _opens_asking(normal_a) and _opens_asking(normal_b)


def _opens_asking(normal: str) -> bool:
    first, second = (*plain_words(normal.split(" ")[:3]), "", "")[:2]
    if first in lexicon.ASKING_ONLY_PERSONS:
        return second in lexicon.PERSONS
    if first in lexicon.QUESTION_WORDS:
        return second in lexicon.AUXILIARIES
    return first in lexicon.AUXILIARIES and second in lexicon.SUBJECTS


def _questions(text: str) -> int:
    return len(_QUESTION.findall(separate(without_urls(fold(text))))) if "?" in text or "？" in text else 0


def statement(normal: str) -> list[str]:
    """The words of a normalized text that make its statement: spelled out, without those that may be left out."""
    words = plain_words(normal.split(" "))
    words = words[_opening(words) : -1 if _ends_in_please(words) else None]
    return [word for i, word in enumerate(words) if word not in _MAYBE_LIGHT or not _is_light(words, i)]


def _opening(words: Sequence[str]) -> int:
    """How many words the text opens with before it comes to its subject: interjections and the like."""
    first = 0
    while step := _filler(words, first):
        first += step
    return first if first < len(words) - 1 and words[first] in lexicon.SUBJECTS else 0


def _ends_in_please(words: Sequence[str]) -> bool:
    """Whether the last word is a mere courtesy: not so in "we aim to please" and "as you please"."""
    return len(words) > 2 and words[-1] == "please" and words[-2] not in lexicon.NOT_BEFORE_PLEASE


def _filler(words: Sequence[str], start: int) -> int:
    """The length of the interjection or opening phrase that stands here, 0 if there is none."""
    if start < len(words) and words[start] in lexicon.INTERJECTIONS:
        return 1
    phrases = lexicon.OPENING_PHRASES
    return next((len(phrase) for phrase in phrases if tuple(words[start : start + len(phrase)]) == phrase), 0)


_MAYBE_LIGHT = lexicon.ARTICLES | lexicon.INTENSIFIERS | {"so", "that"}


def _is_light(words: Sequence[str], i: int) -> bool:
    """Whether word `i` can go. The last word cannot: "I think so", "vitamin A", "I live in OH"."""
    if i == len(words) - 1:
        return False
    word, before, after = words[i], words[i - 1] if i else "", words[i + 1]
    if word in lexicon.ARTICLES:
        return _is_article(word, before, after)
    if word in lexicon.INTENSIFIERS:
        return before not in lexicon.NEGATIONS and (before not in lexicon.ARTICLES or _is_degree(before, word))
    if word == "so":
        return before in lexicon.LINKING and after not in lexicon.NOT_AFTER_SO
    return after in lexicon.SUBJECTS and _is_saying(words[:i][-2:])


def _is_degree(before: str, word: str) -> bool:
    """Whether this is "a very good …": unlike "the very man" and "a just cause"."""
    return before == "a" and word in ("really", "very")


def _is_saying(words: Sequence[str]) -> bool:
    """Whether the words end in a verb that a "that" may follow or not: "I think", "she told me"."""
    if not words:
        return False
    return words[-1] in lexicon.SAYING or (words[0] in lexicon.TELLING and words[-1] in lexicon.TOLD)


def _is_article(word: str, before: str, after: str) -> bool:
    """Whether "a", "an" or "the" is an article that makes no difference: not in vitamin A, the 5, the US, An and I."""
    if word == "an" and after[0] not in "aeiouh":
        return False
    return not after[0].isdigit() and after not in lexicon.NOT_AFTER_ARTICLE and before not in lexicon.LETTERED


def _differ_by_typing(words_a: list[str], words_b: list[str], a: str, b: str) -> bool:
    """Whether long texts differ in at most one word of forty, each by two letters that changed places."""
    if len(words_a) != len(words_b) or len(words_a) < LONG:
        return False
    pairs = [pair for pair in zip(words_a, words_b, strict=True) if pair[0] != pair[1]]
    if len(pairs) > len(words_a) // LONG:
        return False
    names = _names(a) | _names(b)
    return all(_is_swap(x, y) and x not in names and y not in names for x, y in pairs)


def _is_swap(x: str, y: str) -> bool:
    """Whether two words of six letters or more differ only by neighbouring letters inside that changed places.

    Other errors are left alone: boiled and broiled, walking and talking are one letter apart, too.
    """
    if len(x) != len(y) or len(x) < 6 or not (x.isalpha() and y.isalpha()):
        return False
    if {x, y} & (lexicon.CRITICAL | lexicon.SWAPPED_BUT_WORDS):
        return False
    places = [i for i, (p, q) in enumerate(zip(x, y, strict=True)) if p != q]
    if len(places) != 2 or places[1] != places[0] + 1 or places[0] == 0:
        return False
    return x[places[0]] == y[places[1]] and x[places[1]] == y[places[0]]


def _names(raw: str) -> set[str]:
    """The words, in lower case, that a text writes with a capital, as it writes a name."""
    return {word.casefold() for word in _CAPITALIZED.findall(raw)}


_KINDS: tuple[tuple[Conflict, frozenset[str]], ...] = (
    ("negation", lexicon.NEGATIONS),
    ("number", lexicon.NUMERIC),
    ("time", lexicon.TIMES),
    ("pronoun", lexicon.PRONOUNS),
    ("modal", lexicon.MODALS),
    ("direction", lexicon.DIRECTIONS),
)


def _explained(judged: _Judged, a: str, b: str) -> Difference:
    only_a = tuple(Counter(judged.words_a) - Counter(judged.words_b))
    only_b = tuple(Counter(judged.words_b) - Counter(judged.words_a))
    differing = {*only_a, *only_b}
    if not differing:
        return Difference("question" if judged.words_a == judged.words_b else "order")
    if any(_DIGIT.search(word) for word in differing):
        return Difference("number", only_a, only_b)
    for reason, words in _KINDS:
        if differing & words:
            return Difference(reason, only_a, only_b)
    named = not (_names(a) | _names(b)).isdisjoint(differing)
    return Difference("name" if named else "word", only_a, only_b)
