"""Marks that stand in pairs around a part of a text: tags, names in brackets, lines that begin and end it, fences.

Any text is read in time that grows with its length, however many marks are in it, and however deep.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import eq
from typing import NamedTuple

from services.shared.language import wordlists

TAG = "tag"
"""Kind of what is written <like this>; other marks have the signs that they are made of as their kind."""

_BEGINS, _ENDS, _OF = (wordlists.words("wrappers", section) for section in ("begins", "ends", "of"))
_SPLIT = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_TAG = re.compile(
    r"<(?P<sign>/?)(?P<name>[^\W\d][\w.:-]{0,63})"
    r"(?P<note>(?:\s(?:[^<>\"']{1,400}+|\"[^\"]{0,400}+\"|'[^']{0,400}+'){0,40}+)?+)(?P<void>/?)>"
)
_LEFT = "".join(re.escape(sign) for sign in map(chr, range(0x10000)) if unicodedata.category(sign) == "Ps") + "<‹«◁◀"
_RIGHT = "".join(re.escape(sign) for sign in map(chr, range(0x10000)) if unicodedata.category(sign) == "Pe") + ">›»▷▶"
_SIGNS = r"|%#!$@:=*~^?-"
_BRACKETED = re.compile(
    rf"(?P<left>[{_LEFT}]{{1,4}}+)[{_SIGNS}]{{0,4}}+\s?(?P<sign>/?)"
    rf"(?P<label>\w[^{_LEFT}{_RIGHT}\n]{{0,200}}+)[{_RIGHT}]{{1,4}}+"
)
_CODE = re.compile(r"(?<!`)`[^`\n]{1,400}+`(?!`)")
_BLANK = "\0"
_LINE = re.compile(r"^(?P<left>[^\w\n]*+)(?P<label>\w(?:[^\n]*\w)?)(?P<right>[^\w\n]*+)$", re.MULTILINE)
_LONGEST_LINE = 160
_RULES = frozenset("=-*#~_+<>|:@%&$/;!^.•─━═")
_FENCE = re.compile(r"^[ \t]{0,3}(?P<run>`{3,}+|~{3,}+|:{3,}+|\"{3}|'{3}|%{3,}+|@{3,}+)(?P<info>[^\n]*)$", re.MULTILINE)
_MAP = re.compile(r"^(?:[⋮│][^\n]*(?:\n|\Z))+", re.MULTILINE)
_MOST_APART = 8  # marks of one name that are looked at for the one which another closes


class Mark(NamedTuple):
    """One mark: what it is made of, what it names, where it stands, and what is written in it beside."""

    kind: str
    words: tuple[str, ...]
    begin: int
    end: int
    closes: bool = False
    says_begin: bool = False
    note: str = ""
    name: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The words of its name, also those that signs or capitals tell apart."""
        return tuple(split(self.name)) or self.words

    @property
    def shape(self) -> tuple[str, ...]:
        """What it is made of, and its words but for numbers."""
        return self.kind, *(word for word in self.words if not word.isdigit())


class Pair(NamedTuple):
    """A part of a text between two marks; without a closing one it goes to the end.

    It is not sure which mark closes it where the name stands within once more.
    """

    opener: Mark
    begin: int
    end: int
    inner: tuple[int, int]
    is_closed: bool = True
    is_sure: bool = True


class Marked(NamedTuple):
    """The marks of a text: those in pairs in order, what is left open to its end, and what closes nothing."""

    every: list[Mark]
    pairs: list[Pair]
    unclosed: list[Pair]
    unopened: list[Mark]


def any_between(places: Sequence[int], begin: int, end: int) -> bool:
    """Whether one of these places, which are in order, is from one on, and before another."""
    at = bisect_left(places, begin)
    return at < len(places) and places[at] < end


def split(name: str) -> list[str]:
    """The words of a name, in lower case."""
    return [part.lower() for part in _SPLIT.split(name) if part]


def marked(text: str) -> Marked:
    """The marks of a text that stand in pairs, and those that lack another; those in code spans count for nothing."""
    every = sorted((*_tags(text), *_brackets(text), *_lines(text)), key=lambda mark: mark.begin)
    plain = _CODE.sub(lambda code: _BLANK * len(code[0]), text)
    outside = [mark for mark in every if plain[mark.begin : mark.begin + 1] != _BLANK]
    return Marked(every, *_paired(outside, len(text)))


def _paired(marks: Sequence[Mark], end: int) -> tuple[list[Pair], list[Pair], list[Mark]]:
    """Each closing mark with the latest that it closes; what was opened in between is closed by it as well."""
    stack: list[Mark] = []
    closers: dict[tuple[str, str], Mark] = {}
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    pairs, unopened = [], []
    for mark in marks:
        if not mark.closes:
            for key in _keys(mark):
                places[key].append(len(stack))
            stack.append(mark)
            continue
        at = _opened_at(mark, stack, places)
        if at is None:
            unopened.append(mark)
            continue
        opener = stack[at]
        closers[_keys(opener)[0]] = mark
        pairs.append(Pair(opener, opener.begin, mark.end, (opener.end, mark.begin)))
        while len(stack) > at:
            for key in _keys(stack.pop()):
                places[key].pop()
    unclosed = []
    for mark in stack:
        closer = closers.get(_keys(mark)[0])
        if mark.kind == TAG and closer is not None and closer.begin > mark.end:  # it names itself within
            pairs.append(Pair(mark, mark.begin, closer.end, (mark.end, closer.begin), is_sure=False))
        else:
            unclosed.append(Pair(mark, mark.begin, end, (mark.end, end), is_closed=False))
    return sorted(pairs, key=lambda pair: (pair.begin, -pair.end)), unclosed, unopened


def _keys(mark: Mark) -> tuple[tuple[str, str], ...]:
    return (mark.kind, mark.words[0]), (mark.kind, "")


def _opened_at(mark: Mark, stack: Sequence[Mark], places: dict[tuple[str, str], list[int]]) -> int | None:
    """Where the mark is that another closes: of the same signs, and of the same name as far as both say one."""
    known = places.get((mark.kind, mark.words[0] if mark.words else ""), ())
    nearest = reversed(known[-_MOST_APART:])
    return next((at for at in nearest if all(map(eq, stack[at].words, mark.words))), None)


def _tags(text: str) -> Iterator[Mark]:
    for found in _TAG.finditer(text):
        name, note, words = found["name"], found["note"], split(found["name"])
        closes, says_begin = bool(found["sign"]), False
        if not closes and words[:1] and words[0] in _ENDS | _BEGINS and (len(words) > 1 or words[0] in _ENDS):
            closes, says_begin = words[0] in _ENDS, words[0] in _BEGINS
            name = "_".join(_named(words[1:]))
        yield Mark(TAG, (name.lower(),) if name else (), *found.span(), closes, says_begin, note, name)
        if note.endswith("/") or found["void"]:
            yield Mark(TAG, (name.lower(),), found.end(), found.end(), closes=True)


def _named(words: Sequence[str]) -> list[str]:
    return [*words[1:]] if len(words) > 1 and words[0] in _OF else [*words]


def _brackets(text: str) -> Iterator[Mark]:
    for found in _BRACKETED.finditer(text):
        left = found["left"]
        is_tag = left == "<" and text[found.start() + 1] not in _SIGNS
        if is_tag or left == "(":
            continue
        if (mark := _mark(left, found["label"], found.span(), is_signed=bool(found["sign"]))) is not None:
            yield mark


def _mark(kind: str, label: str, span: tuple[int, int], *, is_signed: bool) -> Mark | None:
    """The mark that a label makes; None where it names nothing and closes nothing."""
    words = split(label)
    if not words:
        return None
    closes, begins = is_signed or words[0] in _ENDS, words[0] in _BEGINS
    if not is_signed and (closes or begins):
        words = _named(words[1:])
    elif not closes and len(words) > 1 and words[-1] in _ENDS | _BEGINS:
        closes, begins, words = words[-1] in _ENDS, words[-1] in _BEGINS, words[:-1]
    elif kind == "{" and words[0].startswith("end") and len(words[0]) > len("end"):
        closes, words = True, [words[0][len("end") :], *words[1:]]
    if not words and not closes:
        words = [""]
    return Mark(kind, tuple(words), *span, closes=closes, says_begin=begins, note=label)


def _lines(text: str) -> Iterator[Mark]:
    """Lines with signs before a name, or of capitals alone, which say that something begins or ends."""
    for line in _LINE.finditer(text):
        left, label, right = (part.strip() for part in line.groups())
        right = right.removeprefix(")").strip() if "(" in label else right
        is_signed = left.endswith("/") and not left.endswith("//")
        left = left.rstrip("/") if is_signed else left
        if len(line[0]) > _LONGEST_LINE or not _RULES.issuperset(left + right):
            continue
        mark = _mark(f"{left[:1]}\n", label, line.span(), is_signed=is_signed)
        if mark is not None and _is_line(mark, left, right):
            is_loud = label.split()[0].isupper() and len(left) > 1 and bool(right)
            yield mark._replace(note=label if is_loud else "")


def _is_line(mark: Mark, left: str, right: str) -> bool:
    """Whether a line may be a mark: by the signs around it, or by what it says beside those of a comment or heading."""
    if len(left) > 1 and (right or left[0] not in "#/"):
        return True
    says = (mark.closes or mark.says_begin) and any(mark.words)
    return says and (mark.note.isupper() or left[:2] == "##")


def fences(text: str) -> Iterator[Pair]:
    """Blocks between fences: of backticks or tildes to the end where nothing closes them, else closed ones; and lines
    of a file of which others are left out."""
    for found in _MAP.finditer(text):
        if "⋮" in found[0]:
            yield Pair(Mark("⋮", (), found.start(), found.start()), *found.span(), found.span())
    opener: re.Match[str] | None = None
    for found in _FENCE.finditer(text):
        if found["run"][0] in found["info"]:
            continue
        if opener and not found["info"].strip() and found["run"].startswith(opener["run"]):
            yield _fence(opener, *found.span(), is_closed=True)
            opener = None
        elif opener is None or opener["run"][0] not in "`~":
            opener = found
    if opener and opener["run"][0] in "`~":
        yield _fence(opener, len(text), len(text), is_closed=False)


def _fence(opener: re.Match[str], inner: int, end: int, *, is_closed: bool) -> Pair:
    info = opener["info"].strip()
    mark = Mark(opener["run"], tuple(split(info)), *opener.span(), note=info)
    return Pair(mark, opener.start(), end, (min(opener.end() + 1, inner), inner), is_closed)
