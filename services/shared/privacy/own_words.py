"""A user's own words in what they send: what is pasted, quoted or only to be worked on says nothing of them.

The form of a text and English wording tell which is which: marks of quotations, lines with their speakers, and what
announces a text; they are tables in `data/pasted.txt`. When in doubt about a text that is announced it is somebody
else's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from services.shared.entities.names import FIRST_NAMES
from services.shared.language import wordlists
from services.shared.language.bounded import masked
from services.shared.language.sentences import NO_ABBREVIATION
from services.shared.privacy.wordings import alternatives, compiled, slots

_Span = tuple[int, int]


SENTENCE_END = rf"(?<=[.!?;\n]){NO_ABBREVIATION}\s+"
"""Where a sentence ends: not at the full stop of "Dr. Klein", "No. 5" or "e.g. nuts"."""

_SENTENCE = re.compile(SENTENCE_END)
_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n|\Z)")
_COLON = re.compile(r":(?=[\s\"“'„«*_]|$)")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_NOT_BLANK = re.compile(r"[^\n]")
_IS = compiled(
    "pasted",
    """
    others, line, user name, in dialogue, speaks, worked on afterwards, handing over, handing over at length,
    before a colon, announces, announces beside, goes on about it
    """,
    flags=re.DOTALL,
)
_SENDERS, _VOICES = frozenset(alternatives("pasted", "senders")), wordlists.words("pasted", "voices")
_NO_SENDERS, _PARTICLES = wordlists.words("pasted", "no senders"), wordlists.words("pasted", "particles")

_LONGEST_REQUEST = 200
"""Characters of a last line that asks for a text to be worked on."""

_LONGEST_BESIDE = 400
"""Characters of the sentence behind one that announces a text."""

_SHORTEST_BELOW = 80
"""Characters from which on a text below is announced: shorter is "Thanks!", or what is asked about the text."""


@lru_cache(maxsize=256)
def own_words(text: str) -> str:
    """The text with blanks for what is not its user's own, each character where it was."""
    own = _blanked(text, (found.span() for found in _IS["others"].finditer(masked(text))))
    for others in (_said_in_lines, _worked_on):
        own = _blanked(own, others(masked(own)))
    return _without_announced(text, own)


def is_text_to_come(sentence: str, rest: str) -> bool:
    """Whether a sentence in lower case hands over a text that is still to come: a letter or the like, and no more than
    one sentence follows."""
    if not _IS["handing over at length"].match(sentence.lstrip()):
        return False
    return _SENTENCE.search(rest.strip()) is None and "\n" not in rest.strip()


def _blanked(text: str, spans: Iterator[_Span]) -> str:
    for begin, end in [*spans]:
        text = f"{text[:begin]}{_NOT_BLANK.sub(' ', text[begin:end])}{text[end:]}"
    return text


def _worked_on(text: str) -> Iterator[_Span]:
    """What stands before a last line that asks for it to be translated, corrected, or made more formal."""
    above, _, line = text.rstrip().rpartition("\n")
    asked, is_apart = line.strip().lower(), above.rstrip(" \t").endswith("\n")
    is_short = len(asked) <= _LONGEST_REQUEST
    if is_apart and is_short and any(map(_IS["worked on afterwards"].search, _SENTENCE.split(asked))):
        yield 0, len(above)


class _Line(NamedTuple):
    """A line that begins with what may name who says it; `said` is what follows on the line."""

    who: str
    said: str
    begin: int
    end: int
    is_person: bool
    is_stamped: bool


def _said_in_lines(text: str) -> Iterator[_Span]:
    """A chat, an interview or a transcript, up to an empty line below; and a lone line in which somebody speaks."""
    lines = [line for found in _IS["line"].finditer(text) if (line := _line(found))]
    lines = [line for line in lines if line.is_stamped] or lines
    if lines and _is_conversation(lines):
        yield lines[0].begin, _end_of_paragraph(text, lines[-1])
        return
    for line in lines:
        end = line.end if line.said else _end_of_paragraph(text, line)
        if line.is_person and _IS["speaks"].match(text[line.begin : end].lower()):
            yield line.begin, end


def _line(found: re.Match[str]) -> _Line | None:
    """The line, where it begins with somebody: a person, a name, a user name, or whoever wrote at a time."""
    its = slots(found)
    name, who, said = its["who"], its["who"].lower(), its.get("said", "")
    first, what = who.split()[0].strip(".@"), who.partition(" ")[2] if who.startswith(("the ", "my ", "our ")) else who
    is_person = who.split()[0] in FIRST_NAMES or what in _SENDERS
    is_known = is_person or first in FIRST_NAMES or what in _VOICES
    is_stamped = ("date" in its and bool(is_known or said)) or its.get("stamp", "").startswith("[")
    is_named = first not in ("my", "our") and all(one[0].isupper() or one in _PARTICLES for one in name.split())
    is_somebody = is_known or is_named or is_stamped or _IS["user name"].search(name)
    is_so = is_somebody and (first in _VOICES or first not in _NO_SENDERS)
    return _Line(who, said, *found.span(), is_person, is_stamped) if is_so else None


def _is_conversation(lines: list[_Line]) -> bool:
    """Whether somebody is quoted with a time, speaks twice or as "him", Q or by a user name, or like in a chat."""
    counts = Counter(line.who for line in lines)
    if lines[0].is_stamped or len(counts) < 2:
        return lines[0].is_stamped
    is_voiced = any(who in _VOICES - {"me", "us", "we"} or _IS["user name"].search(who) for who in counts)
    return is_voiced or counts.total() > len(counts) or any(_IS["in dialogue"].search(line.said) for line in lines)


def _end_of_paragraph(text: str, line: _Line) -> int:
    """Where the paragraph ends that a line is of, or the next one where it only names who speaks."""
    begin = line.end if line.said else len(text) - len(text[line.end :].lstrip())
    empty = _EMPTY_LINE.search(text, begin)
    return empty.start() if empty else len(text)


def _without_announced(text: str, own: str) -> str:
    """The text without what an announcement is followed by, unless marks or speakers tell already what that is."""
    read = masked(own)
    for line in _LINE.finditer(read):
        begin = next(_announced(read, *line.span()), len(text))
        follows = len(text) - len(text[begin:].lstrip())
        if follows < len(text) and own[follows] != " ":
            return _blanked(own, iter([(begin, len(own))]))
    return own


def _announced(own: str, begin: int, end: int) -> Iterator[int]:
    """Where on or below a line what is announced on it begins."""
    below = own[end:].strip()
    apart = "\n" if below and _EMPTY_LINE.match(own, end) else ""
    for stop in (*(found.start() for found in _SENTENCE.finditer(own, begin, end)), end):
        sentence = own[begin:stop]
        if (opened := _opened_in(sentence)) is not None:
            if not is_text_to_come(sentence.lower(), own[stop:]):
                yield begin + opened
        elif stop < end and _announces_beside(sentence, own, stop):
            yield stop
        if below and _IS["announces"].match(sentence.lower().strip() + apart):
            yield end
        begin = stop


def _opened_in(sentence: str) -> int | None:
    """Where in a sentence somebody else's words begin, or that follow it."""
    lower = sentence.lower()
    colon = _COLON.search(lower)
    end = colon.end() if colon else lower.find(":") + 1
    if end and _IS["before a colon"].match(lower[:end].lstrip()):
        return end
    opening = lower[: end - 1] if end else lower
    return (end or len(sentence)) if _IS["handing over"].match(opening.lstrip()) else None


def _announces_beside(sentence: str, own: str, end: int) -> bool:
    """Whether a sentence, which ends there, says that a text begins behind it, and what follows may be one.

    It is none where it goes on about the text, or where the text stands below.
    """
    if not _IS["announces beside"].match(sentence.lower().strip()):
        return False
    first = _SENTENCE.split(own[end : end + _LONGEST_BESIDE].lower().lstrip(), maxsplit=1)[0]
    below = _EMPTY_LINE.search(own, end)
    return _IS["goes on about it"].search(first) is None and (below is None or len(own) - below.end() < _SHORTEST_BELOW)
