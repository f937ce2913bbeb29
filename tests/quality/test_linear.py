"""No text keeps a reader for longer than its length warrants, whatever is repeated in it.

A time is only looked at where it is many milliseconds of the processor, and then beside that of a quarter of the text:
four times as long takes a linear reader four times, and a quadratic one sixteen times as long.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from types import ModuleType

import pytest

from services.shared.language.bounded import as_read
from tests.attacks import COMMON, SHAPES, fragments, in_a_row, mixed, run_of, two_runs
from tests.readers import expressions, modules, readers
from tests.sizes import LONG

_SHARED = "services.shared."
_PURE = tuple(
    f"{_SHARED}{package}."
    for package in ("context", "dedup", "entities", "language", "lifecycle", "privacy", "ranking", "temporal")
)
_LENGTH = 8000 if LONG else 4000
_NOTICEABLE = 0.02 if LONG else 0.01  # seconds
_GROWTH = 9.0
_CLAUSE, _OF_CLAUSE = 400, 0.05
_OF_EXPRESSION, _OF_FUNCTION, _IN_A_ROW = (40, len(COMMON), 300) if LONG else (4, 5, 60)

_ANCHORED = {
    ("services.gateway.proxy.dialects.chat", "_THOUGHT"),  # asked only of what begins with the tag
    ("services.shared.vectors.folders", "_PLACE"),  # of names of folders
}

_OF_WORDS = {
    f"{_SHARED}{name}"
    for name in (
        "ranking.features.in_first_person",
        "entities.mentions.mentions",
        "language.typing_errors.meant_by",
        "language.typing_errors.variants",
        "language.wordlists.expression",
    )
}
"""What is given a word, a name, a topic or a pattern of ours, which its callers hold short."""


def _took(read: Callable[[str], object], text: str) -> float:
    before = time.thread_time()
    try:
        read(text)
    except (KeyError, OSError, TypeError, ValueError):  # no such name, number or language
        return 0.0
    return time.thread_time() - before


def _is_slow(read: Callable[[str], object], text_of: Callable[[int], str]) -> bool:
    """Whether a text takes noticeably long, and much more than four times as long as a quarter of it."""
    quarter = _LENGTH // 4
    shorter = _took(read, text_of(quarter))
    if shorter < _NOTICEABLE and _took(read, text_of(_LENGTH)) < _NOTICEABLE:
        return False
    if shorter > 10 * _NOTICEABLE:
        return True
    return all(_grows(read, text_of(quarter), text_of(_LENGTH), end) for end in " .!?;")


def _grows(read: Callable[[str], object], text: str, longer: str, end: str) -> bool:
    """Whether the longer text takes too long beside the other. A processor that is shared is now and then late with
    one of them, and not each time; no text is read twice, as its reader may remember it."""
    short, long = (min(_took(read, f"{one}{end}{again}") for again in ("", " ")) for one in (text, longer))
    return long > _NOTICEABLE and long > _GROWTH * short


def _slow(name: str, read: Callable[[str], object], some: list[str], view: Callable[[str], str] = str) -> Iterator[str]:
    for fragment in some:
        for shape in SHAPES:
            if _is_slow(read, lambda size, shape=shape, fragment=fragment: view(shape(fragment, size))):  # type: ignore[misc]
                yield f"{name}: {shape.__name__} {fragment!r}"
                return


def _found(expression: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in expression.finditer(text))


def _named(module: ModuleType) -> list[re.Pattern[str]]:
    anchored = {vars(module).get(name) for place, name in _ANCHORED if place == module.__name__}
    return [one for one in dict.fromkeys(expressions(module)) if one not in anchored]


@pytest.mark.parametrize("module", modules("services."), ids=lambda module: module.__name__)
def test_expressions_take_time_that_grows_with_the_text(module: ModuleType) -> None:
    """Those of the pure packages are mostly asked of a clause, no longer than this; the others of texts as sent."""
    is_pure = module.__name__.startswith(_PURE)
    slow: list[str] = []
    for expression in _named(module):
        some = [*fragments(expression), *COMMON]
        Random(len(some)).shuffle(some)
        if is_pure:
            slow += _endless(expression, some[:_OF_EXPRESSION])
        else:
            slow += _slow(expression.pattern[:200], partial(_found, expression), some[:_OF_EXPRESSION])
    assert slow == []


def _endless(expression: re.Pattern[str], some: list[str]) -> list[str]:
    """The fragments on whose repetition in a single clause an expression takes as long as whole texts may take."""

    def asked(text: str) -> object:
        return expression.match(text) or expression.search(text)

    texts = {fragment: as_read(shape(fragment, _CLAUSE)) for fragment in some for shape in SHAPES}
    slow = (one for one, text in texts.items() if _took(asked, text) > _OF_CLAUSE)
    return [f"{expression.pattern[:200]}: {one!r}" for one in slow if _took(asked, texts[one]) > _OF_CLAUSE]


@pytest.mark.parametrize("module", modules(_PURE), ids=lambda module: module.__name__)
def test_readers_take_time_that_grows_with_the_text(module: ModuleType) -> None:
    slow: list[str] = []
    for number, (name, read) in enumerate((name, read) for name, read in readers(module) if name not in _OF_WORDS):
        some = list(COMMON)
        Random(number).shuffle(some)
        slow += _slow(name, read, some[:_OF_FUNCTION])
    assert slow == []


@pytest.mark.parametrize("module", modules(f"{_SHARED}privacy."), ids=lambda module: module.__name__)
def test_readers_of_wordings_take_time_that_grows_with_two_runs_in_a_row(module: ModuleType) -> None:
    """Texts of what the expressions of a module repeat, with a second run to which they may come back each time."""
    rows = [pieces for expression in expressions(module) for pieces in in_a_row(expression)]
    Random(len(rows)).shuffle(rows)
    slow = [
        f"{name}: {pieces!r}"
        for name, read in readers(module)
        for pieces in rows[:_IN_A_ROW]
        if _is_slow(read, partial(two_runs, pieces))
    ]
    assert slow == []


def test_two_runs_in_a_row_find_what_one_does_not() -> None:
    pattern = re.compile(r"no: *(?!.*(?<!Dr)(?<!Mr)[.!] )\S+!")
    assert list(_slow("it", pattern.match, fragments(pattern))) == []
    assert any(_is_slow(pattern.match, partial(two_runs, pieces)) for pieces in in_a_row(pattern))


@pytest.mark.parametrize("expression", [r"\s+x", r"\w+@", r"(?:[.,-] ?)+no", r"(\w+ )+much"])
def test_a_slow_expression_is_found_by_what_it_repeats(expression: str) -> None:
    pattern = re.compile(expression)
    assert list(_slow(expression, partial(_found, pattern), fragments(pattern)))


@pytest.mark.parametrize("expression", [r"(?<!\s)\s++x", r"\bfor\b", r"a{1,20}b", r"^[^,\n]*,"])
def test_a_linear_expression_is_not(expression: str) -> None:
    pattern = re.compile(expression)
    assert list(_slow(expression, partial(_found, pattern), fragments(pattern))) == []


@pytest.mark.parametrize("fragment", COMMON)
def test_what_is_repeated_is_read_once_in_any_shape(fragment: str) -> None:
    assert len(as_read(run_of(fragment, 8000))) < 400
    for shape in (run_of, mixed):
        seen = as_read(shape(fragment, 8000))
        assert as_read(seen) == seen
