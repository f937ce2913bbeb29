"""The terms of the lexical index, the same for what is stored and for what is asked."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import Stemmer

from services.shared.core.text import WORD, fold, separate

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
    was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Lucene's classic English stop set, so that OpenSearch's `english` analyzer drops the same words."""

_ASKING_WORDS = """
    what when where which who whom whose why how do does did done has have had can could would should will shall may
    might i me my mine you your we us our he him his she her am were been any some about
"""

LONGEST_TERM = 255  # as in Lucene; longer runs are split

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(
    rf"[{WORD}]+(?:(?:(?<=[0-9])[.,:/-](?=[0-9])|[._'](?=[{WORD}]))[{WORD}]+)*"
    rf"(?:\+\+(?![{WORD}+])|\#(?![{WORD}]))?"
)
_LETTER = rf"(?![{_IDEOGRAPH}])[{WORD}]"
_PART = re.compile(rf"[{_IDEOGRAPH}]|(?:{_LETTER})+(?:'(?:{_LETTER})+)*")
_stemmers = threading.local()


def analyze(text: str) -> list[str]:
    """The index terms of a text, in order, repeats included.

    A term is a word in lower case without an English possessive 's, stemmed by Porter's algorithm (what Lucene's
    `english` analyzer does); stop words are left out. A compound such as snake_case, v1.2.3, 10:30, node.js or c++
    gives its parts and then itself, so that it is found by either. Each East Asian ideograph or kana is a term.
    No term contains white space, a control character or a double quote, or is longer than 255 characters.
    Safe to call from several threads.
    """
    tokens = _TOKEN.findall(separate(fold(text)))
    return list(chain.from_iterable(map(_terms_of_any, tokens)))


def analyze_query(query: str) -> list[str]:
    """The distinct terms to look for: those of `analyze` less the words that only make it a question.

    "What did you say about the bike?" asks for say and bike. A query of such words alone is taken as it is.
    """
    return telling_terms(query) or list(dict.fromkeys(analyze(query)))


def telling_terms(query: str) -> list[str]:
    """The distinct terms of a query less the words that only make it a question; none when there are no others."""
    return [term for term in dict.fromkeys(analyze(query)) if term not in _ASKING]


def question_words(query: str) -> list[str]:
    """The distinct words of a query as they are written, folded, less those that only make it a question."""
    words = dict.fromkeys(word.removesuffix("'s") for word in _TOKEN.findall(separate(fold(query))))
    return [word for word in words if word not in _ASKED]


def _terms_of_any(token: str) -> tuple[str, ...]:
    if len(token) <= LONGEST_TERM:
        return _terms(token)
    pieces = (token[i : i + LONGEST_TERM] for i in range(0, len(token), LONGEST_TERM))
    return tuple(chain.from_iterable(map(_terms.__wrapped__, pieces)))  # hostile lengths stay out of the cache


@lru_cache(maxsize=1 << 15)
def _terms(token: str) -> tuple[str, ...]:
    word = token.removesuffix("'s")
    parts = _PART.findall(word)
    terms = (_stem(part) for part in parts if part not in STOP_WORDS)
    is_compound = "".join(parts) != word
    return (*terms, word) if is_compound else tuple(terms)


def _stem(word: str) -> str:
    if len(word) < 3:  # as Porter's own program: "js" is no plural
        return word
    return str(_stemmer().stemWord(word))


def stems(words: Sequence[str]) -> list[str]:
    """What `analyze` makes of each of these words, which are three letters or more in lower case and no stop words."""
    return list(map(str, _stemmer().stemWords(words)))


def _stemmer() -> Stemmer.Stemmer:
    stemmer = getattr(_stemmers, "porter", None)
    if stemmer is None:  # a Stemmer is not safe to share between threads
        stemmer = _stemmers.porter = Stemmer.Stemmer("porter", 0)
    return stemmer


_ASKED = STOP_WORDS.union(_ASKING_WORDS.split())
_ASKING = frozenset(map(_stem, _ASKING_WORDS.split()))
