"""The frame in which words are said: in earnest, in a fiction, or in a text that is written for somebody.

What is said in a frame stays in the log and is found as what was said, but states nothing: `stated` is what is left for
whoever reads for facts, changes or things to do. A fiction holds until it is left, or until the next session; a text
for its message, and for the next one where its words are still awaited. A frame is opened by who asks for it, proposes
it or names it, and not by who tells of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple, cast, get_args

from contracts.v1.entries import Entry
from contracts.v1.turns import Frame, Role
from services.shared.language.bounded import masked
from services.shared.language.traits import ByText
from services.shared.privacy.own_words import SENTENCE_END, is_text_to_come
from services.shared.privacy.wordings import compiled, kind

_Held = Literal["fiction", "supposition", "text"]

_LONGEST = 10_000
"""Characters of a message that are looked at, as of its first sentences; the rest is in the frame of the last."""

_LONGEST_SENTENCE, _LONGEST_HEAD, _MOST_SENTENCES = 300, 60, 200
_STRAIGHT = str.maketrans("’‘“”„«»", '\'\'"""""')
_END = re.compile(rf"(?=\s)(?:{SENTENCE_END}|\n|(?<=[.!?…][\"'”’)*])\s+)")
_MARKS = " \t\r>*_#([\"'-"
_QUOTED = re.compile(r"\"[^\"]+\"|(?<!\w)'\w[^']*'(?!\w)")

_IS = compiled(
    "frames",
    "opens, casts, leaves a fiction told, leaves a fiction, leaves any text, awaits words, gives a topic",
    flags=re.NOFLAG,
)


class _Reading(NamedTuple):
    """The parts of a message that are said in earnest, and the frame that holds after it."""

    earnest: tuple[tuple[int, int], ...]
    after: Frame | None


def frame_after(text: str, role: Role, before: Frame | None) -> Frame | None:
    """The frame that a conversation is in after a turn, which begins in the frame `before`."""
    if role == "user":
        return _READ[before](text[:_LONGEST]).after
    if role != "assistant" or before is None:
        return before
    if before == "fiction":
        return None if _IS["leaves a fiction told"].match(_plain(text)) else before
    return "awaited" if _awaits_words(text) else None


def stated(text: str, role: Role, before: Frame | None) -> str:
    """The text of a turn with blanks for what is said in a frame; each character stays where it was."""
    if role != "user":
        return "" if before == "fiction" else text
    said, end = list[str](), 0
    for begin, stop in _READ[before](text[:_LONGEST]).earnest:
        said += (" " * (begin - end), text[begin:stop])
        end = stop
    return "".join(said) + (text[_LONGEST:] if end == _LONGEST else "")


def as_stated(entry: Entry) -> str:
    """The same of the text of an entry."""
    return stated(entry.text, entry.role, entry.frame)


def is_framed(entry: Entry) -> bool:
    """Whether nothing in an entry is said in earnest."""
    return not as_stated(entry).strip()


def _read(before: Frame | None, text: str) -> _Reading:
    """Go through the sentences of what a user says."""
    held, after = _BEGINS.get(before, (None, None))
    earnest = list[tuple[int, int]]()
    for begin, end in _sentences(text):
        said = _plain(text[begin:end])
        leaves = _IS["leaves a fiction" if held in (None, "fiction") else "leaves any text"]
        if (held or before) and leaves.match(said):
            held = after = None
            begin = _after_colon(text, begin, end)
        opened = None if held else _opened(said, _straight(text[begin : begin + _LONGEST_SENTENCE]))
        if opened:
            after = _goes_on(opened, said, text[end:])
            held = None if opened == "text" and (_QUOTED.search(said) or is_text_to_come(said, text[end:])) else opened
        if not (held or opened):
            earnest.append((begin, end))
    return _Reading(tuple(earnest), after)


_BEGINS: dict[Frame | None, tuple[_Held | None, Frame | None]] = {
    "fiction": ("fiction", "fiction"),
    "awaited": ("text", "given"),
}
"""What a message is in that begins in a frame, and the frame that holds after it, unless it leaves it."""

_READ = {before: ByText(partial(_read, before), view=masked) for before in (None, *get_args(Frame))}


def _goes_on(opened: _Held, said: str, rest: str) -> Frame:
    """The frame that holds after a message in which one was opened, unless it is left there."""
    if opened == "fiction" or (opened == "supposition" and not rest.rstrip().endswith("?")):
        return "fiction"
    return "given" if opened == "supposition" or rest.strip() or _IS["gives a topic"].search(said) else "awaited"


def _opened(said: str, rest: str) -> _Held | None:
    """The frame that a sentence opens, if it does, by what it says or by who is who in the rest of the text."""
    if found := _IS["opens"].match(said):
        return cast(_Held, kind(found))
    return "fiction" if _IS["casts"].match(rest) else None


def _after_colon(text: str, begin: int, end: int) -> int:
    """Where a sentence goes on after it has left a frame: "Out of character:" is no part of what is said."""
    colon = text.find(": ", begin, min(end, begin + _LONGEST_HEAD))
    return colon + 1 if colon >= 0 else begin


def _awaits_words(text: str) -> bool:
    """Whether an assistant asks for what a text should say, instead of writing it."""
    said = text.rstrip(" \n*\"')")
    return said.endswith("?") or (
        len(said) <= _LONGEST_SENTENCE and _IS["awaits words"].match(_plain(said)) is not None
    )


def _plain(sentence: str) -> str:
    return _straight(sentence).lower()


def _straight(sentence: str) -> str:
    return sentence[:_LONGEST_SENTENCE].translate(_STRAIGHT).lstrip(_MARKS)


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences begin and end, with the space after each."""
    begin = 0
    for found in islice(_END.finditer(text), _MOST_SENTENCES):
        if found.end() > begin:
            yield begin, found.end()
        begin = found.end()
    if begin < len(text):
        yield begin, len(text)
