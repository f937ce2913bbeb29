"""The part of a text that is shown where the whole would be too long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

_SHORTEST = 3  # letters: what begins with fewer is mostly another word
_LONG = 2000
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?;:][\"')\]]* |\n")
_FULL_STOP = re.compile(r"[.!?](?=[\"')\]]*\s|\Z)|(?=\n|\Z)")


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
    start = _beginning(text, *_densest(spots, limit), limit) if spots else 0
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


def _spots(text: str, terms: Collection[str]) -> list[tuple[int, int, str]]:
    """Where words begin and end that begin as a term does, and which one."""
    beginnings = {term.removesuffix("i"): term for term in terms if len(term) >= _SHORTEST}
    if not beginnings:
        return []
    lengths = sorted({len(beginning) for beginning in beginnings}, reverse=True)
    shortest = lengths[-1]
    openings = {beginning[:shortest] for beginning in beginnings}
    found = []
    for match in _words(text, beginnings):
        word = match.group().lower()
        if word[:shortest] not in openings:  # most words
            continue
        term = next((word[:n] for n in lengths if word[:n] in beginnings), None)
        if term is not None:
            found.append((match.start(), match.end(), term))
    return found


def _words(text: str, beginnings: Collection[str]) -> Iterator[re.Match[str]]:
    """The words that may begin so; in a short text all of them, as compiling a pattern takes longer than looking."""
    if len(text) < _LONG and all(_WORD.fullmatch(beginning) for beginning in beginnings):
        return _WORD.finditer(text)
    longest_first = sorted(beginnings, key=len, reverse=True)
    return re.finditer(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\w*", text, re.IGNORECASE)


def _densest(spots: list[tuple[int, int, str]], limit: int) -> tuple[int, int]:
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


def _beginning(text: str, first: int, last: int, limit: int) -> int:
    """Where to begin for what lies between `first` and `last`: at a sentence, else a few words before it.

    Where it can be, the sentence that `last` is in is shown to its end.
    """
    room = max(0, limit - 2 - (last - first))
    earliest = min(first - room // 2, len(text) - limit + 1)
    ending = _FULL_STOP.search(text, last, min(len(text), last + limit))
    to_its_end = max(earliest, ending.start() + 3 - limit) if ending else earliest
    if to_its_end <= 0:
        return 0
    if sentence := _SENTENCE_END.search(text, to_its_end, first):
        return sentence.end()
    *_, start = (-1, *(sentence.end() for sentence in _SENTENCE_END.finditer(text, max(earliest, 0), first)))
    if start >= 0 or earliest <= 0:
        return max(start, 0)
    return text.find(" ", earliest, first) + 1 or first
