"""What a text states: the words that decide whether it is a repeat of another one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.shared.language.language import is_english
from services.shared.language.lexicon import CRITICAL, WORDS, phrases
from services.shared.language.spelling import plain_words
from services.shared.language.tokens import Token, scan

_UNSURE = re.compile(r"\b\w*(?:SS|I(?=\w)|(?<=\w)I|İ)\w*")


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it is compared with others.

    `normal` is the normal form: texts that differ only in case, outer punctuation, white space, citation marks or
    smiles have the same one. `words` are those that make the statement, of English texts spelled out and without those
    that may be left out. Two texts state the same only if their words are equal (`similarity.same_statement` names the
    one exception), so that these are what a statement is looked up by. Both end in a "?" for each question. `names` and
    `openings` count words with a capital inside a sentence and words that open one, `cased` tells whether the text uses
    capitals as sentences do, `code` are the words written as code, `citations` the marks that were left out. `unsure`
    are the words of which capitals do not tell how they are written in small letters: STRASSE, IŞIK.
    """

    normal: str
    words: tuple[str, ...]
    names: Mapping[str, int]
    openings: Mapping[str, int]
    cased: bool
    code: frozenset[str]
    citations: tuple[str, ...]
    unsure: frozenset[str] = frozenset()


def read(text: str) -> Reading:
    """The reading of a raw text, in time linear in its length."""
    tokens, cased, questions, citations = scan(text)
    words = [token.word for token in tokens]
    english = is_english(token.word for token in tokens if not token.is_code)
    asks = ("?",) * (questions or int(english and _opens_asking(words)))
    stated = _statement(tokens) if english else words
    return Reading(
        normal=" ".join((*words, *asks)),
        words=(*stated, *asks),
        names=Counter(token.name for token in tokens if token.name),
        openings=Counter(token.opening for token in tokens if token.opening),
        cased=cased,
        code=frozenset(token.word for token in tokens if token.is_code),
        citations=citations,
        unsure=frozenset(word.lower() for word in _UNSURE.findall(text)),
    )


def _opens_asking(words: Sequence[str]) -> bool:
    """Whether an English text asks by the order of its words: "is he here"."""
    first, second = (*plain_words(words[:3]), "", "")[:2]
    if first in WORDS["asking only persons"]:
        return second in WORDS["persons"]
    if first in WORDS["question words"]:
        return second in WORDS["auxiliaries"]
    return first in WORDS["auxiliaries"] and second in WORDS["subjects"]


_OPENING_PHRASES, _PARENTHESES = phrases("opening phrases"), phrases("parentheses")
_NOT_BEFORE_PLEASE = WORDS["modals"] | WORDS["negations"] | WORDS["not before please"]
_NOT_AFTER_ARTICLE = CRITICAL | WORDS["linking"] | WORDS["peoples"] | WORDS["not after article"]


def _statement(tokens: Sequence[Token]) -> list[str]:
    """The words of an English text that make its statement: spelled out, without those that may be left out; those of
    code are not touched."""
    code = {f"\0{i}": token.word for i, token in enumerate(tokens) if token.is_code}
    shown = [f"\0{i}" if token.is_code else token.word for i, token in enumerate(tokens)]
    if tuple(shown[:2]) in _PARENTHESES and tokens[1].pauses and not WORDS["subjects"].isdisjoint(shown[2:3]):
        shown = shown[2:]
    words = plain_words(shown)
    words = words[_opening(words) : -1 if _ends_in_please(words) else None]
    kept = (word for i, word in enumerate(words) if word not in _MAYBE_LIGHT or not _is_light(words, i))
    return [code.get(word, word) for word in kept]


def _opening(words: Sequence[str]) -> int:
    """How many words the text opens with before it comes to its subject: interjections and the like."""
    first = 0
    while step := _filler(words, first):
        first += step
    return first if first < len(words) - 1 and words[first] in WORDS["subjects"] else 0


def _filler(words: Sequence[str], start: int) -> int:
    """The length of the interjection or opening phrase that stands here, 0 if there is none."""
    if start < len(words) and words[start] in WORDS["interjections"]:
        return 1
    here = (phrase for phrase in _OPENING_PHRASES if tuple(words[start : start + len(phrase)]) == phrase)
    return next(map(len, here), 0)


def _ends_in_please(words: Sequence[str]) -> bool:
    """Whether the last word is a mere courtesy: not so in "we aim to please" and "as you please"."""
    return len(words) > 2 and words[-1] == "please" and words[-2] not in _NOT_BEFORE_PLEASE


_MAYBE_LIGHT = WORDS["articles"] | WORDS["intensifiers"] | {"so", "that"}


def _is_light(words: Sequence[str], i: int) -> bool:
    """Whether word `i` can go. The last word cannot: "I think so", "vitamin A", "I live in OH"."""
    if i == len(words) - 1:
        return False
    word, before, after = words[i], words[i - 1] if i else "", words[i + 1]
    if word in WORDS["articles"]:
        return _is_article(word, before, after)
    if word in WORDS["intensifiers"]:
        earlier = words[max(0, i - 3) : i]
        return WORDS["negations"].isdisjoint(earlier) and _is_empty(word, earlier, after)
    if word == "so":
        return before in WORDS["linking"] and after not in WORDS["not after so"]
    return after in WORDS["subjects"] and _is_saying(words[max(0, i - 2) : i])


def _is_empty(word: str, earlier: Sequence[str], after: str) -> bool:
    """Whether an intensifier says nothing: "a very good film", unlike "the very man" and "just Ana"."""
    before = earlier[-1] if earlier else ""
    if word == "just":
        return _is_just_now(before, after) or (before in WORDS["linking"] and after == "a")
    if word == "simply":
        return before in WORDS["persons"] and after not in WORDS["auxiliaries"]
    if word == "please":
        asked = before in WORDS["persons"] and not WORDS["modals"].isdisjoint(earlier[:-1])
        return asked or before not in _NOT_BEFORE_PLEASE
    if before in WORDS["articles"]:
        return before == "a" and word in ("really", "very")
    return word != "very" or before not in WORDS["determiners"]


def _is_just_now(before: str, after: str) -> bool:
    """Whether "just" means a moment ago: "I just started", unlike "I just drink water"."""
    if before not in WORDS["persons"] | WORDS["auxiliaries"]:
        return False
    return (after.endswith("ed") and len(after) > 4) or after in WORDS["past"]


def _is_saying(words: Sequence[str]) -> bool:
    """Whether the words end in a verb that a "that" may follow or not: "I think", "she told me"."""
    if not words:
        return False
    return words[-1] in WORDS["saying"] or (words[0] in WORDS["telling"] and words[-1] in WORDS["told"])


def _is_article(word: str, before: str, after: str) -> bool:
    """Whether "a", "an" or "the" is an article that makes no difference.

    Not so in vitamin A, the A train, the 5, the US, An and I, in the charge of, the French.
    """
    if (word == "an" and after[0] not in "aeiouh") or (word != "the" and before in _BEFORE_A_NAME):
        return False
    if before == "in" and after in WORDS["seasons"]:
        return True
    if after[0].isdigit() or after in _NOT_AFTER_ARTICLE or before in WORDS["lettered"]:
        return False
    if before in WORDS["prepositions"] and after in WORDS["bare nouns"]:
        return False
    return before not in WORDS["taking"] or after not in WORDS["taken"]


_BEFORE_A_NAME = WORDS["articles"] | WORDS["determiners"]
