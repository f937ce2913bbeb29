"""The part of a text that is shown where the whole would be too long."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import product

Spot = tuple[int, int, str]
"""Where a word begins and ends, and the term that it begins as."""

_SHORTEST = 3  # letters: what begins with fewer is mostly another word
_CLOSING = ("", '"', "'", ")", "]")
_SENTENCE_ENDS = (*map("".join, product(".!?;:", _CLOSING, " ")), "\n")
_FULL_STOPS = (*map("".join, product(".!?", _CLOSING, " \n")), "\n")


def snippet(text: str, limit: int) -> str:
    """The text on one line in at most `limit` characters, cut between words, with "…" where something is missing."""
    return passage(text, (), limit)


def passage(text: str, terms: Collection[str], limit: int) -> str:
    """The part of the text, as `snippet` cuts it, that has most of these terms; the beginning when it has none.

    `terms` are as `analysis` makes them. A word counts that begins as a term does: stems are not made here, so that a
    long text costs no more than reading it once.
    """
    return excerpt(" ".join(text.split()), terms, limit)


def excerpt(text: str, terms: Collection[str], limit: int) -> str:
    """The same of a text whose spaces and lines stay as they are."""
    start, stop = span(text, terms, limit)
    part = text[start:] if stop == len(text) else f"{text[start:stop].rstrip()}…"
    return f"{_mark(text, start)}{part}"[: max(limit, 0)]


def span(text: str, terms: Collection[str], limit: int) -> tuple[int, int]:
    """Where the part of so many characters that has most of these terms begins and ends, marks of cuts included."""
    if len(text) <= limit:
        return 0, len(text)
    spots = _spots(text, terms)
    start = _start(text, spots, limit) if spots else 0
    return start, _end(text, start, limit - len(_mark(text, start)))


def _mark(text: str, start: int) -> str:
    """What says that something is missing before: on a line of its own where a line begins."""
    return "" if not start else "…\n" if text[start - 1] == "\n" else "…"


def _end(text: str, start: int, limit: int) -> int:
    """The end of the last word that fits into so many characters; of a very long word, what fits of it."""
    if len(text) - start <= limit:
        return len(text)
    space = max(text.rfind(mark, start, start + max(limit, 0)) for mark in " \n")
    return space if space - start > limit // 2 else start + max(limit - 1, 0)


def _spots(text: str, terms: Collection[str]) -> list[Spot]:
    """Where words begin and end that begin as a term does, and which one: the longest."""
    beginnings = {term.removesuffix("i") for term in terms if len(term) >= _SHORTEST}
    lowered, found = _lowered(text), dict[int, Spot]()
    for beginning in sorted(beginnings, key=len):
        at = lowered.find(beginning)
        while at >= 0:
            if not at or not _is_of_word(lowered[at - 1]):
                found[at] = at, _word_end(lowered, at), beginning
            at = lowered.find(beginning, at + 1)
    return [found[at] for at in sorted(found)]


def _lowered(text: str) -> str:
    """The text in lower case, each character where it was."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _word_end(text: str, at: int) -> int:
    return next((end for end in range(at, len(text)) if not _is_of_word(text[end])), len(text))


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _start(text: str, spots: Sequence[Spot], limit: int) -> int:
    """Where to begin, so that most of the terms are shown in sentences that are whole, if that can be."""
    first, last = _densest(spots, limit)
    start = _whole(text, first, last, limit)
    if start is None:
        first, last = _shortest([spot for spot in spots if first <= spot[0] and spot[1] <= last])
        start = _whole(text, first, last, limit)
    return _near(text, first, last, limit) if start is None else start


def _densest(spots: Sequence[Spot], limit: int) -> tuple[int, int]:
    """Where the window of `limit` characters with most different terms, then most words, begins and ends."""
    within: Counter[str] = Counter()
    best, place, oldest = (0, 0), spots[0][:2], 0
    for begin, end, term in spots:
        within[term] += 1
        while end - spots[oldest][0] > limit and spots[oldest][0] < begin:
            within[spots[oldest][2]] -= 1
            within += Counter()  # without those that are not in the window any more
            oldest += 1
        if (worth := (len(within), within.total())) > best:
            best, place = worth, (spots[oldest][0], end)
    return place


def _shortest(spots: Sequence[Spot]) -> tuple[int, int]:
    """Where the shortest window with all the terms of these spots begins and ends."""
    every, within, oldest = len({term for *_, term in spots}), Counter[str](), 0
    place = spots[0][0], spots[-1][1]
    for _, end, term in spots:
        within[term] += 1
        while within[spots[oldest][2]] > 1:
            within[spots[oldest][2]] -= 1
            oldest += 1
        if len(within) == every and end - spots[oldest][0] < place[1] - place[0]:
            place = spots[oldest][0], end
    return place


def _whole(text: str, first: int, last: int, limit: int) -> int | None:
    """Where a sentence begins before `first`, so that the one `last` is in is shown to its end; None if none does."""
    stop = min(len(text), last + limit)
    ending = min((at for mark in _FULL_STOPS if (at := text.find(mark, last, stop)) >= 0), default=stop)
    earliest = max(_earliest(text, first, last, limit), ending + 3 - limit)
    if earliest <= 0:
        return 0
    ends = ((text.find(mark, earliest, first), len(mark)) for mark in _SENTENCE_ENDS)
    return min((at + length for at, length in ends if at >= 0), default=None)


def _near(text: str, first: int, last: int, limit: int) -> int:
    """Where the sentence that `first` is in begins, else a few words before it."""
    earliest = _earliest(text, first, last, limit)
    ends = ((text.rfind(mark, max(earliest, 0), first), len(mark)) for mark in _SENTENCE_ENDS)
    start = max((at + length for at, length in ends if at >= 0), default=-1)
    if start >= 0 or earliest <= 0:
        return max(start, 0)
    return text.find(" ", earliest, first) + 1 or first


def _earliest(text: str, first: int, last: int, limit: int) -> int:
    """Where to begin at the earliest, so that as much is shown before as after, and nothing goes unused at the end."""
    return min(first - max(0, limit - 2 - (last - first)) // 2, len(text) - limit + 1)
