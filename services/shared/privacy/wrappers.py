"""What a person said in a message, without what a program wrapped around it: documents, reminders, rules.

What stands between two marks of one name that nobody types, on lines of its own, is a program's; what stands between
two that name it so is what was said, and nothing else is. What no mark tells apart was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from operator import or_
from typing import NamedTuple, TypeVar

from contracts.v1.turns import Turn
from services.shared.language import wordlists
from services.shared.privacy.marks import TAG, Mark, Marked, Pair, any_between, fences, marked, split
from services.shared.privacy.templates import (
    below_label,
    in_template,
    introduces,
    introduces_block,
    is_handed_over,
    without_preface,
)
from services.shared.privacy.thoughts import without_thoughts
from services.shared.privacy.wordings import compiled

_words = partial(wordlists.words, "wrappers")
_MARKUP, _DOCUMENTS, _EMPTY = _words("markup"), _words("documents"), _words("markup without content")
_MAY_BE_MARKUP, _SAID_AS_A_WHOLE = _words("markup or document"), _words("said as a whole")
_SAID = (_words("said"), _words("said weakly"), _words("said if nothing else is"))
_BESIDE, _USERS = _words("said beside"), frozenset({"user", "human"})
_IS = compiled(
    "wrappers",
    """
    may wrap, foreword, file, heading, heading of what was said, own heading, empty answer, result, path,
    info of a file, rule, call
    """,
    flags=re.IGNORECASE | re.MULTILINE,
)

_MOST_KNOWN, _MOST_KEPT = 20_000, 4_000_000
"""Messages that are known again, and characters of what was said in those that had more in them."""

_NEAR = 200  # characters in which the next thing on a line is looked for
_LEAST_WORDS, _LEAST_RULES, _MOST_NESTED = 4, 80, 4
_LEAST_CUT = 200
"""Characters that follow a mark which nothing closes, as the text was cut, or else it has to tell more of itself."""

_LONGEST_FENCE = 1500
"""Characters of a block between fences that a person may have typed or pasted beside what they say of it."""

_SENTENCE_END = re.compile(r"[.!?…:;。！？：]['\"”’)\]*_]*$")
_GOES_ON = re.compile(r"[^\W\d_A-ZÀ-ÞΑ-ΩА-Я]|[,;.!?)\]'’-]")

T = TypeVar("T", bound=Turn)


class _Wrapper(NamedTuple):
    """A part of a text that a program put there; `said` is what a person said in it, and how surely."""

    begin: int
    end: int
    names: tuple[str, ...]
    said: str = ""
    surety: int = 0


class _Part(NamedTuple):
    """What is left of a part of a message, and what is said in it between marks that name it so."""

    rest: str
    is_wrapped: bool = False
    said: tuple[_Wrapper, ...] = ()


def as_spoken(turn: T) -> T | None:
    """A turn with what was said in it, unless it was saved on purpose as it is; None where a program made all of it."""
    if turn.manually_saved:
        return turn
    said = spoken_by(turn.role, turn.text)
    return turn if said == turn.text.strip() else turn.model_copy(update={"text": said}) if said else None


def spoken_by(role: str | None, *parts: str) -> str:
    """What is said in a message of these parts: by a user without what a program wrapped around it, by a model without
    its thoughts, by others the whole text."""
    return _known(role, parts)


def without_wrappers(*parts: str) -> str:
    """What a person said in a message of these parts; nothing where a program made all of it."""
    return _spoken(parts, _MOST_NESTED)


class _Known:
    """What was said in messages lately, by a hash of each: clients send a whole chat with every request.

    Of a message that was said as it is nothing but the hash is kept.
    """

    def __init__(self) -> None:
        self._said: dict[int, str | None] = {}
        self._size = 0

    def __call__(self, role: str | None, parts: Sequence[str]) -> str:
        text = "\n".join(parts).strip()
        if role not in ("user", "assistant"):
            return text
        key = hash((role, *parts))
        if key in (known := self._said):
            return text if (said := known[key]) is None else said
        said = without_wrappers(*parts) if role == "user" else without_thoughts(text)
        if len(known) >= _MOST_KNOWN or self._size > _MOST_KEPT:
            self._said, self._size = {}, 0
        self._said[key] = None if said == text else said
        self._size += 0 if said == text else len(said)
        return said


_known = _Known()


def _spoken(parts: Sequence[str], nested: int) -> str:
    read = _typed([_read(part, nested) for part in parts])
    said = [one for part in read for one in part.said]
    surest = max((one.surety for one in said), default=0)
    left = [part.rest for part in read if part.rest]
    rest = "\n".join([one for one in left if not is_handed_over(one)] or left).strip()
    if surest > 1 or not rest:
        return "\n".join(one.said for one in said if one.surety == surest)
    return rest


def _typed(parts: Sequence[_Part]) -> Sequence[_Part]:
    """The parts without those that a program wrote before the one that was typed: beside some that it wrapped whole,
    others have something wrapped within, or tell of a call."""
    is_beside = any(part.is_wrapped and not part.rest for part in parts)
    if not is_beside or parts[-1].is_wrapped or any(part.said for part in parts):
        return parts
    return [part for part in parts if not (part.is_wrapped or _IS["call"].fullmatch(part.rest))]


def without_rules(text: str, systems: Sequence[str]) -> str:
    """A text without last paragraphs with which a system prompt ends, to the letter: a program repeats them."""
    text = text.rstrip()
    for system in systems:
        ends = enumerate(zip(reversed(text), reversed(system.rstrip()), strict=False))
        same = next((at for at, (one, other) in ends if one != other), min(len(text), len(system.rstrip())))
        begin = text.find("\n\n", max(0, len(text) - same - 2))
        if begin > 0 and text[:begin].strip():
            text = text[:begin].rstrip()
    return text


def _read(text: str, nested: int) -> _Part:
    whole = text.removeprefix("\ufeff").strip()
    unwrapped = _unwrapped(without_preface(whole), nested)
    rest = in_template(unwrapped.rest)
    return _Part(rest, unwrapped.is_wrapped or rest != whole, unwrapped.said)


def _unwrapped(text: str, nested: int) -> _Part:
    if not _IS["may wrap"].search(text):
        return _Part(text.strip())
    marks = marked(text)
    wrappers = list(_Reading(text, marks).wrappers(nested))
    if not wrappers:
        return _Part(_under_own_heading(text).strip())
    first, *rest = _kept(text, wrappers)
    rest = [_IS["rule"].sub("", piece) for piece in rest]
    is_rules = _IS["foreword"].search(first) is not None
    is_rules = is_rules or (any(map(str.strip, rest)) and _is_rules(first, wrappers[0].begin, marks))
    has_caption = not first.strip() and bool(text[: wrappers[0].begin].strip())
    if is_rules or has_caption or _IS["empty answer"].search(rest[-1]):
        rest = [_without_scaffold(piece) for piece in rest]
    rest[-1] = below_label(rest[-1])
    kept = ["" if is_rules else first, *rest]
    return _Part(_joined(kept), True, tuple(one for one in wrappers if one.said))


def _kept(text: str, wrappers: Sequence[_Wrapper]) -> list[str]:
    """What stands before, between and behind wrappers, without what introduces one on a line above it."""
    ends = (0, *(one.end for one in wrappers))
    kept = [_without_caption(text[end : one.begin], one) for end, one in zip(ends, wrappers, strict=False)]
    return [*kept, text[ends[-1] :]]


def _joined(kept: Sequence[str]) -> str:
    """The pieces of a text as one, as far apart as they were."""
    joined = ""
    for piece in filter(str.strip, kept):
        space = "\n\n" if "\n" in piece[: len(piece) - len(piece.lstrip())] or joined.endswith("\n") else " "
        joined = f"{joined.rstrip()}{space}{piece.lstrip()}" if joined else piece
    return joined.strip()


def _without_caption(before: str, wrapper: _Wrapper) -> str:
    """A text without its last line where that is a heading of the wrapper that follows, or only names it."""
    above = before.rstrip()
    rest, ended, line = above.rpartition("\n")
    if before.count("\n", len(above)) not in (1, 2) or len(line) > _NEAR:
        return before
    words, is_label = split(line), line.endswith(":")
    is_named = not set(words).isdisjoint(wrapper.names)
    if _IS["heading"].match(line):
        is_caption = is_named or is_label or _IS["path"].search(line) is not None
    else:
        is_caption = is_label and is_named and len(words) < _LEAST_WORDS
    is_introduction = is_label and (introduces(line) or _IS["result"].fullmatch(line) is not None)
    return rest + ended if is_caption or is_introduction else before


def _is_rules(before: str, end: int, marks: Marked) -> bool:
    """Whether what stands before the first wrapper is how a program has it read, not what a person says of it."""
    head = before.strip()
    names = {pair.opener.words for pair in marks.pairs if pair.begin >= end}
    if len(head) >= _LEAST_RULES and any(mark.words in names for mark in marks.every if mark.begin < end):
        return True
    headings = _IS["heading"].findall(head)
    is_headed = bool(headings) and head.startswith(headings[0])
    return is_headed and (len(headings) > 1 or headings[0].rstrip("* ").endswith(":"))


def _without_scaffold(text: str) -> str:
    """What is asked below a heading or label that says so, without the empty label of an answer."""
    text = _IS["empty answer"].sub("", text)
    if found := _IS["heading of what was said"].search(text):
        text = text[found.end() :]
        if found[0].lstrip().startswith("#") and (following := _IS["heading"].search(text)):
            text = text[: following.start()]
    return text


def _under_own_heading(text: str) -> str:
    """What stands below a heading that names it the user's request, where the message begins with another one."""
    if not text.startswith("#") or not (found := [*_IS["own heading"].finditer(text)]):
        return text
    below = text[found[-1].end() :]
    return below if below.strip() and found[-1].start() > 0 else text


class _Reading:
    """A text with its marks, asked which parts of it a program put there."""

    def __init__(self, text: str, marks: Marked) -> None:
        self._text, self._marks = text, marks
        self._lines = [found.start() for found in re.finditer("\n", text)]
        tags = (mark for mark in marks.every if mark.kind == TAG and mark.words)
        self._has_markup = any(mark.words[0] in _MARKUP for mark in tags)
        self._begins = {pair.begin for pair in marks.pairs if not _is_markup_name(pair.opener)}
        self._done = 0
        self._shapes = set[tuple[str, ...]]()

    def wrappers(self, nested: int) -> Iterator[_Wrapper]:
        """The outermost parts that a program put there, in order."""
        marks, blocks = (*self._marks.pairs, *self._marks.unclosed), fences(self._text)
        found = [*((pair, False) for pair in marks), *((pair, True) for pair in blocks)]
        for pair, is_fence in sorted(found, key=lambda each: (each[0].begin, -each[0].end)):
            if pair.begin < self._done:
                continue
            wrapper = self._of_fence(pair) if is_fence else self._of_pair(pair, nested)
            if wrapper is not None:
                yield wrapper
                self._done = wrapper.end
            elif is_fence or (pair.is_closed and _is_markup_name(pair.opener)):
                self._done = pair.end  # code or markup: whole, with whatever is in it

    def _of_pair(self, pair: Pair, nested: int) -> _Wrapper | None:
        opener = pair.opener
        if self._is_markup(pair) or not (self._is_apart(pair) if pair.is_closed else self._is_cut(pair)):
            return None
        self._shapes.add(opener.shape)
        inner = self._text[slice(*pair.inner)]
        surety = _names_said(opener)
        said = _spoken((inner,), nested - 1) if surety and nested else ""
        return _Wrapper(pair.begin, pair.end, opener.parts, said, surety)

    def _is_markup(self, pair: Pair) -> bool:
        if not _is_markup_name(pair.opener) or pair.opener.says_begin:
            return False
        name = pair.opener.words[0]
        is_document = name in _MAY_BE_MARKUP and pair.is_closed and any_between(self._lines, *pair.inner)
        return not is_document or self._has_markup

    def _is_apart(self, pair: Pair) -> bool:
        """Whether a part stands on lines of its own, or between sentences."""
        before, after = self._before(pair.begin), self._after(pair.end)
        if not pair.is_sure and before is not None:
            return False
        if pair.end == pair.inner[1]:  # <name … />
            opener, is_empty = pair.opener, pair.opener.words[0] in _EMPTY
            return before is None and after is None and not is_empty and (len(opener.parts) > 1 or bool(opener.note))
        is_line = pair.opener.kind.endswith("\n")
        if is_line or (before is None and after is None):
            return True
        if any_between(self._lines, *pair.inner):
            return pair.opener.kind == TAG or before is None or after is None
        begins = before is None or _SENTENCE_END.search(before) is not None
        inner = self._text[pair.inner[0] : pair.inner[1]][:_NEAR]
        ends = after is None or not _GOES_ON.match(after)
        return begins and (ends or len(inner.split()) >= _LEAST_WORDS)

    def _is_cut(self, pair: Pair) -> bool:
        """Whether the text was cut before what closes the part."""
        opener, rest = pair.opener, self._text[pair.inner[0] :].strip()
        if opener.words and opener.words[0] in _EMPTY:
            return False
        if opener.kind.endswith("\n"):
            return opener.says_begin and bool(opener.note)
        if self._before(pair.begin) is not None or not rest:
            return False
        if opener.shape in self._shapes or (opener.kind == "{{" and self._text[opener.begin + 2] == "#"):
            return True
        if opener.kind != TAG:
            return False
        tells = opener.note.strip() or len(opener.parts) > 1 or opener.says_begin
        is_alone = self._after(opener.end) is None
        return len(rest) >= _LEAST_CUT or bool(tells and (is_alone or opener.note))

    def _of_fence(self, pair: Pair) -> _Wrapper | None:
        """What a program put between fences: a file by its name, or more than a person types."""
        opener, size = pair.opener, pair.inner[1] - pair.inner[0]
        line = self._text[max(self._done, pair.begin - _NEAR) : pair.begin].rstrip().rpartition("\n")[2]
        if _IS["file"].fullmatch(line.strip()) or introduces_block(line):
            return _Wrapper(self._text.rindex(line, 0, pair.begin), pair.end, opener.words)
        is_document = len(opener.words) == 1 and opener.words[0] in _DOCUMENTS
        is_programs = opener.kind[0] in "\"':%@" or is_document or size > _LONGEST_FENCE
        return (
            _Wrapper(pair.begin, pair.end, opener.words)
            if is_programs or _IS["info of a file"].search(opener.note)
            else None
        )

    def _before(self, begin: int) -> str | None:
        """What stands before a place on its line; None where nothing does, or another wrapper."""
        before = self._text[max(self._done, begin - _NEAR) : begin].rstrip(" \t")
        return before if before and before[-1] not in "\r\n" else None

    def _after(self, end: int) -> str | None:
        after = self._text[end : end + _NEAR]
        rest = after.lstrip(" \t")
        is_wrapper = end + len(after) - len(rest) in self._begins
        return rest if rest and rest[0] not in "\r\n" and not is_wrapper else None


def _is_markup_name(mark: Mark) -> bool:
    name = mark.words[0] if mark.words else ""
    return name in _MARKUP or (mark.kind == TAG and name in _MAY_BE_MARKUP)


def _names_said(mark: Mark) -> int:
    """How surely a mark says that what it opens was said: 3, or 2; 1 where it counts if nothing else is left; or 0."""
    parts = {part for part in mark.parts if not part.isdigit()}
    own, is_users = parts - _BESIDE, not parts.isdisjoint(_USERS)
    if "_".join(mark.parts) in _SAID_AS_A_WHOLE:
        return 2
    if not (own or is_users) or (mark.kind == TAG and mark.note.strip() and not is_users):
        return 0
    known = accumulate(_SAID, or_)
    return next((surety for surety, words in zip((3, 2, 1), known, strict=True) if own <= words), 0)
