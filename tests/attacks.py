"""Texts that make a backtracking reader slow: runs of fragments, taken from the syntax tree of an expression."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from random import Random
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as syntax  # type: ignore[attr-defined]
from typing import Any

COMMON = [
    *".,;:!?-–—=*#>|/\\_'\"`~()[]<&@$%0aA中é…“’",
    *("👍", "👍🏽", "\n", "\n\n", " ", "\t", "\u0301", "\u200d", "\u2028", "\0"),
    *("a ", "I ", "not ", "the ", "my ", "is ", "and ", "1. ", "- [ ] ", "> ", "user: ", ". ", "? ", ", ", "“a” "),
    *("<a>", "</a>", "http://", "a@b.", "12:30 ", "2024-01-01 ", "A-", "a's ", "Anna Berg ", "U.S.", "€1", "(a) "),
    *("I'm ", "I live in Turku. ", "forget that ", "I do not like tea. ", "Today I went home.\n", "A, B and "),
]
"""Fragments that texts of attackers and logs repeat."""

_WORDS = "i you the my sister lives in Turku and works at Siemens is not from to that if forget said told Anna".split()
_OF_CATEGORY = {
    ops.CATEGORY_DIGIT: "1",
    ops.CATEGORY_NOT_DIGIT: "a",
    ops.CATEGORY_SPACE: " ",
    ops.CATEGORY_NOT_SPACE: "a",
    ops.CATEGORY_WORD: "a",
    ops.CATEGORY_NOT_WORD: "-",
}
_CHARACTERS = "a1 .,-'\n_:"
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_LONG, _MOST, _LONGEST = 20, 8, 60


def run_of(fragment: str, length: int) -> str:
    """A text of that length: the same fragment again and again."""
    return (fragment * (length // len(fragment) + 1))[:length]


def mixed(fragment: str, length: int) -> str:
    """A text of that length: the fragment again and again, with a word after each."""
    random = Random(7)
    return "".join(f"{fragment}{random.choice(_WORDS)} " for _ in range(length // (len(fragment) + 3) + 1))[:length]


SHAPES: tuple[Callable[[str, int], str], ...] = (run_of, mixed)
_BEHIND = ("a", " ", "I ", "\n", '"', "-")
"""What is repeated behind a run that an expression may give back, piece by piece."""


def two_runs(pieces: tuple[str, str, str], length: int) -> str:
    """A text of about that length: a beginning, one piece again and again, another again and again, and a mark."""
    before, first, second = pieces
    return f"{before}{run_of(first, length // 2)}{run_of(second, length // 2)}?"


def fragments(pattern: re.Pattern[str]) -> list[str]:
    """What to repeat in texts that an expression may be slow on: what it repeats itself, alone and after its beginning,
    and what it matches, whole and in part."""
    tree = syntax.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    found: dict[str, None] = {}
    for before, bodies in _repeats(tree, ""):
        found |= dict.fromkeys(one for body in bodies for one in (body, before + body))
    for whole in _words(tree):
        found |= dict.fromkeys((whole, f"{whole} ", whole[: len(whole) // 2 + 1], whole[:-1]))
    return sorted(filter(None, found))


def in_a_row(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    """What to make two runs of: what an expression repeats, after its beginning, and what it may go through anew each
    time it gives back one of the first."""
    tree = syntax.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    repeated = ((before, body) for before, bodies in _repeats(tree, "") for body in bodies[:2] if body)
    return [(before, body, other) for before, body in dict.fromkeys(repeated) for other in _BEHIND if other != body]


def _repeats(tree: Iterable[Any], before: str) -> Iterator[tuple[str, list[str]]]:
    """Whatever an expression repeats without end, with something that may stand before it."""
    for op, value in tree:
        if op in _REPEATS and value[1] > _LONG:
            yield before, _words(value[2])
        for inner in _inner(op, value):
            yield from _repeats(inner, before)
        before = (before + _words([(op, value)])[0])[-_LONGEST:]


def _inner(op: Any, value: Any) -> list[Any]:
    if op in _REPEATS:
        return [value[2]]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.ATOMIC_GROUP:
        return [value]
    if op is ops.BRANCH:
        return list(value[1])
    return [value[1]] if op in (ops.ASSERT, ops.ASSERT_NOT) else []


def _words(tree: Iterable[Any]) -> list[str]:
    """Some of the shortest texts that match."""
    found = [""]
    for op, value in tree:
        found = list(dict.fromkeys(a + b for a, b in product(found, _options(op, value))))[:_MOST]
    return found


def _options(op: Any, value: Any) -> list[str]:
    if op is ops.LITERAL:
        return [chr(value)]
    if op is ops.NOT_LITERAL:
        return [next(one for one in _CHARACTERS if ord(one) != value)]
    if op is ops.ANY:
        return ["a", " ", "."]
    if op is ops.IN:
        return _of_class(value)
    if op in _REPEATS:
        bodies = _words(value[2])[:4]
        return [body * max(value[0], 1) for body in bodies] if value[0] else [*bodies, ""]
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [""]
    return list(dict.fromkeys(one for inner in _inner(op, value) for one in _words(inner)[:2]))[:_MOST] or [""]


def _of_class(members: list[Any]) -> list[str]:
    if members[0][0] is not ops.NEGATE:
        return [_first_of(member) for member in members][:_MOST]
    left = [one for one in _CHARACTERS if not any(_has(member, one) for member in members[1:])]
    return left[:4] or ["\1"]


def _first_of(member: Any) -> str:
    op, value = member
    return _OF_CATEGORY[value] if op is ops.CATEGORY else chr(value[0] if op is ops.RANGE else value)


def _has(member: Any, one: str) -> bool:
    op, value = member
    if op is ops.CATEGORY:
        is_word, name = one.isalnum() or one == "_", str(value)
        kind = one.isdigit() if "DIGIT" in name else one.isspace() if "SPACE" in name else is_word
        return kind != ("NOT" in name)
    first, last = value if op is ops.RANGE else (value, value)
    return bool(first <= ord(one) <= last)


SIZES = (25_000, 200_000)


def assert_linear(read: Callable[[str], object], piece: str) -> None:
    """A run of this piece is read in time that grows with its length; measured again where it seems not to be."""

    def grows_with_it(again: int) -> bool:
        short, long = (_seconds(read, piece * (size // len(piece)), again) for size in SIZES)
        return long < 40 * max(short, 0.005)  # quadratic is 64 times

    assert any(map(grows_with_it, range(3)))


def _seconds(read: Callable[[str], object], text: str, again: int) -> float:
    """How long this thread alone was at it. No text is read twice, as its reader may remember it."""
    text, began = text + " " * again, time.thread_time()
    read(text)
    return time.thread_time() - began
