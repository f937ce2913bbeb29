"""What of a chat was said by a person or a model, and what only repeats a memory that was put into the prompt.

A memory that is shown to a model comes back in its answers. Learned again it would become more and newer each time,
so blocks are cut out of what is said, and sentences that repeat a memory out of answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from services.shared.context.block import HEAD, TAIL
from services.shared.language.analysis import analyze, words_asked
from services.shared.language.traits import is_mere_request
from services.shared.privacy.own_words import not_after

REPEATS_FROM = 0.7
"""The share of a sentence's telling words, without those of the question, that one memory has where it is repeated."""

INFLUENCED_FROM = 0.3
"""The share of a memory's telling words, without those of the question, that an answer has which it influenced: two
words or more, or all where there are fewer."""

_GAP = r"[\s>]+"  # a block that is quoted has the mark of a quotation before each line
_BLOCK = re.compile(f"{_GAP.join(map(re.escape, HEAD.split()))}.*?(?:{re.escape(TAIL)}|\\Z)", re.DOTALL)
_LABEL = re.compile(r"- \[([^\]\n]*)\] ")
_SHORT_ID = 8  # characters of an id that stand in a block
_BODY = re.compile(r"^- \[[^\]\n]*\] (.*(?:\n  .*)*)", re.MULTILINE)  # further lines of a memory are indented
_END = re.compile(rf"((?<=[.!?…:])(?i:{not_after('abbreviations')})[\"')\]*_]*\s+|(?<=[。！？])|\n+)")
_DIGIT, _NO_DIGIT = re.compile(r"\d"), re.compile(r"\D+")
_NUMBER = re.compile(r"(\d(?:[ .,'’\-/]?\d)*)( ?k\b)?", re.IGNORECASE)
_LEAST_DIGITS = 3
_SIGN_OF_LINE = re.compile(r"[\W\d_]*")
_LABEL_ALONE = re.compile(r"\s*|[^\n]*[:：][*_]*|#+ [^\n]*|\*\*[^*\n]*\*\*")
_LONGEST_LABEL = 120
_STEM = 5
"""Characters at least in which two words agree, but for an end of two, that are taken for one: pregnant, pregnancy."""

_FRAMING = frozenset(
    analyze(
        "sure ok okay yes no right got thanks thank welcome great good nice please note noted remember remembered "
        "recall know known tell told say said says mention mentioned state stated share shared earlier previously "
        "before last time times conversation conversations chat memory memories record records recorded according "
        "based see also still let here happy help user think believe background information"
    )
)
"""Words that introduce a memory or agree, and tell nothing."""

_HEARD = frozenset(
    analyze(
        "mind keep kept store stored save saved save make made add added update updated log logged write written down "
        "remind forget never always will shall am i've i'll you've you're your yours you me my so now just everything "
        "anything all set sorry hear glad congratulations cool wow understand understood confirm confirmed correct "
        "future reference next about that's it's"
    )
)
"""Words with which it is said that something was heard, and will be remembered."""

_DENIES = re.compile(r"\b(?:not|never|no|none|nothing|nobody|without|cannot|\w+n['’]t)\b", re.IGNORECASE)

Terms = frozenset[str]


class _Stated(NamedTuple):
    """The terms of what a user states, and whether they deny something."""

    terms: Terms
    denies: bool


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
    return tuple(words.replace("\n  ", "\n") for words in _BODY.findall(block))


def without_memories(block: str, ids: Collection[str]) -> str:
    """The block without the memories of these ids, and without headings that nothing is left under."""
    begun = tuple(id_[:_SHORT_ID] for id_ in ids)
    if not begun:
        return block
    kept, is_cut = list[str](), False
    for line in block.removeprefix(HEAD).removesuffix(TAIL).splitlines():
        label = _LABEL.match(line)
        if not line.startswith("  "):  # a further line goes with its memory
            is_cut = label is not None and any(part in begun for part in label[1].split(" | "))
        if is_cut:
            continue
        if kept and kept[-1].startswith("## ") and not label:
            kept.pop()
        kept.append(line)
    if kept and kept[-1].startswith("## "):
        kept.pop()
    return "\n".join((f"{HEAD}{kept[0]}", *kept[1:], TAIL)) if kept else ""


def without_echoes(answer: str, memories: Sequence[str], question: str) -> str:
    """The answer without its sentences that repeat a memory; empty when those that are left tell nothing.

    A sentence repeats when `REPEATS_FROM` of its telling words are those of one memory, or all are those of several;
    words of the question do not count, and a word with a digit that no memory has is something new. It also repeats
    when it only says back what the question states: all of its telling words, and denying nothing that this does not.
    """
    known, asked, stated = [_terms(memory) for memory in memories], _terms(question), _stated_in(question)
    every = frozenset[str]().union(*known)

    def is_echo(sentence: str) -> bool:
        words = _new_words(sentence, asked)
        return bool(words and _repeats(words, known, every)) or _says_back(sentence, stated)

    kept = _kept(answer, is_echo)
    if kept is None:
        return answer
    tells = any(_new_words(one.sentence, asked) and not _asks(one.sentence) for one in kept)
    return _text_of(kept) if tells else ""


def without_words_of(answer: str, unwanted: Sequence[str], question: str) -> str:
    """The answer without its sentences that have a telling word of what is not to be kept, and not of the question."""
    asked = _terms(question)
    words = [word for text in unwanted for word in _new_words(text, asked) if word.isdisjoint(_HEARD)]
    private = frozenset(term for word in words for term in word)
    numbers = frozenset(number for text in unwanted for number in _numbers(text)).difference(_numbers(question))
    if not (private or numbers):
        return answer
    stems = tuple(term[: max(_STEM, len(term) - 2)] for term in private if len(term) > _STEM and term.isalpha())

    def is_private(sentence: str) -> bool:
        return not numbers.isdisjoint(_numbers(sentence)) or _has_any(_terms(sentence), private, stems)

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


class _Kept(NamedTuple):
    """A sentence with what stands behind it, and whether it begins a line."""

    sentence: str
    space: str
    begins_line: bool

    @property
    def is_label(self) -> bool:
        """Whether it only introduces what follows: the sign or number of a line, a heading, what ends with a colon."""
        if len(self.sentence) > _LONGEST_LABEL:
            return False
        is_sign = self.begins_line and _SIGN_OF_LINE.fullmatch(self.sentence) is not None
        return is_sign or _LABEL_ALONE.fullmatch(self.sentence) is not None


def _kept(answer: str, is_cut: Callable[[str], bool]) -> list[_Kept] | None:
    """The sentences of an answer that are not cut, nor a label with nothing left behind it; None where all are kept."""
    kept, is_whole, begins_line = list[_Kept](), True, True
    for sentence, space in _sentences(answer):
        if not is_cut(sentence):
            kept.append(_Kept(sentence, space, begins_line))
        else:
            is_whole = False
            while kept and "\n" in space and kept[-1].is_label:
                kept.pop()
        begins_line = "\n" in space
    while kept and not is_whole and kept[-1].is_label:
        kept.pop()
    return None if is_whole else kept


def _text_of(kept: Iterable[_Kept]) -> str:
    return "".join(f"{one.sentence}{one.space}" for one in kept).strip()


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence, with what stands between it and the next."""
    parts = _END.split(text)
    return zip(parts[::2], [*parts[1::2], ""], strict=True)


def _repeats(words: Sequence[Terms], known: Sequence[Terms], every: Terms) -> bool:
    if any(_DIGIT.search(term) for word in words for term in word if word.isdisjoint(every)):
        return False
    within = (sum(not word.isdisjoint(memory) for word in words) for memory in known)
    return max(within, default=0) >= REPEATS_FROM * len(words) or not any(word.isdisjoint(every) for word in words)


def _stated_in(question: str) -> _Stated:
    """What a question says beside what it asks, or asks to be done."""
    if is_mere_request(question):
        return _Stated(frozenset(), denies=False)
    text = " ".join(part for part in _END.split(question)[::2] if not _asks(part))
    return _Stated(_terms(text), denies=_DENIES.search(text) is not None)


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"')*_ ").endswith("?")


def _says_back(sentence: str, stated: _Stated) -> bool:
    """Whether a sentence says nothing but what was stated, and that it was heard or will be remembered."""
    words = [word for word in _new_words(sentence, frozenset()) if word.isdisjoint(_HEARD)] if stated.terms else []
    if not words or any(word.isdisjoint(stated.terms) for word in words):
        return False
    return stated.denies or not _DENIES.search(sentence)


def _new_words(text: str, asked: Terms) -> list[Terms]:
    """Each telling word, as the terms it may be found by, that is neither of the question nor a mere introduction."""
    found = (frozenset(term for one in alternatives for term in one) for alternatives in words_asked(text).values())
    return [word for word in found if word.isdisjoint(asked) and word.isdisjoint(_FRAMING)]


def _has_any(terms: Terms, private: Terms, stems: tuple[str, ...]) -> bool:
    return not private.isdisjoint(terms) or (bool(stems) and any(term.startswith(stems) for term in terms))


def _numbers(text: str) -> Iterator[str]:
    """The numbers of three digits or more, however they are written: 4 7 1 1, 90,000, 90k."""
    for found in _NUMBER.finditer(text):
        digits = _NO_DIGIT.sub("", found[1]) + ("000" if found[2] else "")
        if len(digits) >= _LEAST_DIGITS:
            yield digits


def _terms(text: str) -> Terms:
    return frozenset(term for found in words_asked(text).values() for one in found for term in one)
