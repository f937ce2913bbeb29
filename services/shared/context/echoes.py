"""What of a chat was said by a person or a model, and what only repeats a memory that was put into the prompt.

A memory that is shown to a model comes back in its answers. Learned again it would become more and newer each time,
so blocks are cut out of what is said, and sentences that repeat a memory out of answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from services.shared.context.block import HEAD, TAIL
from services.shared.context.words import SENTENCE_END, denies
from services.shared.language import wordlists
from services.shared.language.analysis import analyze, words_asked
from services.shared.language.traits import is_mere_request

REPEATS_FROM = 0.7
"""The share of a sentence's telling words, without those of the question, that one memory has where it is repeated."""

INFLUENCED_FROM = 0.3
"""The share of a memory's telling words, without those of the question, that an answer has which it influenced: two
words or more, or all where there are fewer."""

_GAP = r"[\s>]+"  # a block that is quoted has the mark of a quotation before each line
_BLOCK = re.compile(f"{_GAP.join(map(re.escape, HEAD.split()))}.*?(?:{re.escape(TAIL)}|\\Z)", re.DOTALL)
_MEMORY = re.compile(r"^- \[([^\]\n]*)\] (.*(?:\n  .*)*)\n?", re.MULTILINE)  # further lines of one are indented
_EMPTY_HEADING = re.compile(r"^## .*\n(?=## |\Z)", re.MULTILINE)
_END = re.compile(rf"({SENTENCE_END}|(?<=:)[\"')\]*_]*\s+)")
_NUMBER = re.compile(r"(\d(?:[ .,'’\-/]?\d)*)( ?k\b)?", re.IGNORECASE)
_SHORT_ID = 8  # characters of an id that stand in a block
_LEAST_DIGITS = 3
_LONGEST_LABEL = 120
_STEM = 5
"""Characters at least in which two words agree, but for an end of two, that are taken for one: pregnant, pregnancy."""

_FRAMING, _HEARD = (frozenset(analyze(" ".join(wordlists.listed("echoes", it)))) for it in ("framing", "heard"))

Terms = frozenset[str]


def without_blocks(text: str) -> str:
    """The text without the blocks of memories in it, as they are when pasted, quoted, or put in by another proxy."""
    if "<memory>" not in text:
        return text
    return _BLOCK.sub("", text).strip()


def blocks_blanked(text: str) -> str:
    """The text with blanks for these blocks, each other character where it was."""
    return _BLOCK.sub(lambda found: " " * len(found[0]), text) if "<memory>" in text else text


def memories_in(block: str) -> tuple[str, ...]:
    """The words of each memory in a block."""
    return tuple(words.replace("\n  ", "\n") for _, words in _MEMORY.findall(block))


def without_memories(block: str, ids: Collection[str]) -> str:
    """The block without the memories of these ids, and without headings that nothing is left under."""
    begun = {id_[:_SHORT_ID] for id_ in ids}
    if not begun:
        return block
    body = block.removeprefix(HEAD).removesuffix(TAIL)
    body = _MEMORY.sub(lambda found: found[0] if begun.isdisjoint(found[1].split(" | ")) else "", body)
    body = _EMPTY_HEADING.sub("", body)
    return f"{HEAD}{body}{TAIL}" if body else ""


def without_echoes(answer: str, memories: Sequence[str], question: str) -> str:
    """The answer without its sentences that repeat a memory; empty when those that are left tell nothing.

    A sentence repeats when `REPEATS_FROM` of its telling words are those of one memory, or all are those of several;
    words of the question do not count, and a word with a digit that no memory has is something new. It also repeats
    when it only says back what the question states: all of its telling words, and denying nothing that this does not.
    """
    known, asked, stated = [_terms(memory) for memory in memories], _terms(question), _stated_in(question)
    every, said, denied = frozenset[str]().union(*known), _terms(stated), denies(stated)

    def is_echo(sentence: str) -> bool:
        words = _new_words(sentence, asked)
        if words and _repeats(words, known, every):
            return True
        told = [word for word in _new_words(sentence, frozenset()) if word.isdisjoint(_HEARD)]
        is_told = bool(told) and not any(word.isdisjoint(said) for word in told)
        return is_told and (denied or not denies(sentence))

    kept = _kept(answer, is_echo)
    if kept is None:
        return answer
    tells = any(_new_words(sentence, asked) and not _asks(sentence) for sentence, *_ in kept)
    return _text_of(kept) if tells else ""


def without_words_of(answer: str, unwanted: Sequence[str], question: str) -> str:
    """The answer without its sentences that have a telling word of what is not to be kept, and not of the question."""
    asked = _terms(question)
    words = (word for text in unwanted for word in _new_words(text, asked) if word.isdisjoint(_HEARD))
    private = frozenset[str]().union(*words)
    numbers = set[str]().union(*map(_numbers, unwanted)) - _numbers(question)
    if not (private or numbers):
        return answer
    stems = tuple(term[: max(_STEM, len(term) - 2)] for term in private if len(term) > _STEM and term.isalpha())

    def is_private(sentence: str) -> bool:
        said = _terms(sentence)
        has_stem = any(term.startswith(stems) for term in said)
        return has_stem or not (private.isdisjoint(said) and numbers.isdisjoint(_numbers(sentence)))

    kept = _kept(answer, is_private)
    return answer.strip() if kept is None else _text_of(kept)


def is_influenced(answer: str, memories: Iterable[str], question: str) -> bool:
    """Whether the answer has words of a memory that the question does not have; see `INFLUENCED_FROM`."""
    said, asked = _terms(answer), _terms(question)
    for memory in memories:
        words = _new_words(memory, asked)
        found = sum(not word.isdisjoint(said) for word in words)
        if found and found >= min(2, len(words)) and found >= INFLUENCED_FROM * len(words):
            return True
    return False


class _Part(NamedTuple):
    """A sentence, what stands between it and the next, and whether it only introduces what follows."""

    sentence: str
    space: str
    is_label: bool


def _kept(answer: str, is_cut: Callable[[str], bool]) -> list[_Part] | None:
    """The sentences of an answer that are not cut, nor a label with nothing left behind it; None where all are kept."""
    kept, is_whole = list[_Part](), True
    for part in _parts(answer):
        if not is_cut(part.sentence):
            kept.append(part)
            continue
        is_whole = False
        if "\n" in part.space:
            _drop_labels(kept)
    if is_whole:
        return None
    _drop_labels(kept)
    return kept


def _drop_labels(kept: list[_Part]) -> None:
    while kept and kept[-1].is_label:
        kept.pop()


def _parts(text: str) -> Iterator[_Part]:
    begins_line, parts = True, _END.split(text)
    for sentence, space in zip(parts[::2], [*parts[1::2], ""], strict=True):
        yield _Part(sentence, space, _is_label(sentence, begins_line=begins_line))
        begins_line = "\n" in space


def _is_label(sentence: str, *, begins_line: bool) -> bool:
    """Whether it is the sign or number of a line, a heading, or what ends with a colon."""
    is_sign = not sentence or (begins_line and not any(map(str.isalpha, sentence)))
    is_heading = sentence.startswith("#") or (sentence.startswith("**") and sentence.endswith("**"))
    ends_in_colon = sentence.rstrip("*_").endswith((":", "："))
    return len(sentence) <= _LONGEST_LABEL and (is_sign or is_heading or ends_in_colon)


def _text_of(kept: Iterable[_Part]) -> str:
    return "".join(f"{part.sentence}{part.space}" for part in kept).strip()


def _repeats(words: Sequence[Terms], known: Sequence[Terms], every: Terms) -> bool:
    if any(any(map(str.isdigit, term)) for word in words for term in word if word.isdisjoint(every)):
        return False
    within = (sum(not word.isdisjoint(memory) for word in words) for memory in known)
    return max(within, default=0) >= REPEATS_FROM * len(words) or not any(word.isdisjoint(every) for word in words)


def _stated_in(question: str) -> str:
    """What a question says beside what it asks, or asks to be done."""
    if is_mere_request(question):
        return ""
    return " ".join(sentence for sentence, *_ in _parts(question) if not _asks(sentence))


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"')*_ ").endswith("?")


def _new_words(text: str, asked: Terms) -> list[Terms]:
    """Each telling word, as the terms it may be found by, that is neither of the question nor a mere introduction."""
    found = (frozenset(term for one in alternatives for term in one) for alternatives in words_asked(text).values())
    return [word for word in found if word.isdisjoint(asked) and word.isdisjoint(_FRAMING)]


def _numbers(text: str) -> set[str]:
    """The numbers of three digits or more, however they are written: 4 7 1 1, 90,000, 90k."""
    found = ("".join(filter(str.isdigit, number)) + "000" * bool(k) for number, k in _NUMBER.findall(text))
    return {digits for digits in found if len(digits) >= _LEAST_DIGITS}


def _terms(text: str) -> Terms:
    return frozenset(term for found in words_asked(text).values() for one in found for term in one)
