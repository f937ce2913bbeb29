"""Whatever is repeated in a text, whoever reads texts whole reads it in time that grows with its length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from services.shared.context.block import assemble
from services.shared.context.echoes import without_echoes
from services.shared.dedup.canonical import read as read_statement
from services.shared.entities.identifiers import identifiers_in, named_in
from services.shared.entities.mentions import mentions
from services.shared.language.analysis import analyze, analyze_query
from services.shared.lifecycle.salience import detect_type, importance, wants_saving
from services.shared.privacy.front_ends import Request, is_task, sets_task
from services.shared.privacy.thoughts import without_thoughts
from services.shared.privacy.wrappers import without_wrappers
from services.shared.ranking.lookalikes import Wanted
from services.shared.temporal.dates import named_dates
from services.shared.temporal.month_names import without_names
from services.shared.temporal.relative_time import names_relative_time
from services.shared.temporal.time_spans import asks_only_when, spans_named
from services.shared.tokens import Cl100kCounter
from tests.attacks import assert_linear
from tests.stores.builders import NOON, an_entry


def block(run: str) -> None:
    assemble([an_entry("ann", f"{run}\n")], token_budget=100_000, counter=Cl100kCounter())


def quarter(run: str) -> str:
    """What is left of a run for those who read a text closely, and take their time for it."""
    return run[: len(run) // 4]


def echoes(run: str) -> None:
    said = quarter(run)
    without_echoes(said, (said,), said)


def identifiers(run: str) -> None:
    named_in(identifiers_in(run), [run, run])


def names_in_it_and_as_a_topic(run: str) -> None:
    mentions(quarter(run), "my son Will")
    mentions("I like tea", quarter(run))


def relative_times(run: str) -> None:
    names_relative_time(quarter(run))


def salience(run: str) -> None:
    detect_type(run, "user")
    importance(run, type="fact", role="user")
    wants_saving(run)


def tasks_of_front_ends(run: str) -> None:
    is_task(run)
    for text in (run, f"### Task\n{run}", f"Generate a title {run}"):
        sets_task(Request(text, text, (text,), (text, text)))


def statement(run: str) -> None:
    read_statement(quarter(run))


def terms(run: str) -> None:
    analyze(quarter(run))
    analyze_query(quarter(run))


def thoughts(run: str) -> None:
    without_thoughts(f"analysis think {run}")


def times(run: str) -> None:
    question = quarter(run)
    named_dates(question)
    asks_only_when(question, spans_named(question, NOON))


def wanted(run: str) -> None:
    Wanted.by(run, NOON)


RUNS: dict[Callable[[str], object], list[str]] = {
    block: ["`", "```\n", "```x", "````````\n```````"],
    echoes: ["My PIN is 4711. ", "a. ", "not ", "? ", ". "],
    identifiers: ["a1", "a", "1", "-", "1.", "@_", "a1-"],
    names_in_it_and_as_a_topic: ["A", "Will ", "a.b"],
    relative_times: ["a'", "in ", "on monday 10 ", "every monday and ", "日", "at 5 ", "in march ", "am 5. "],
    statement: [
        *("【", "[1] ", "a'", "a_!", "http://", "1,1", "\u200b", "*a* ", "\ud800", "((a))", "(", "a@", "🎉", ":) "),
        *("no, ", "6' ", "? ", "$1,", "I think that ", "```\n", "`A`b ", "\ua66e `x` "),
    ],
    salience: ["\n", "i ", "my xxxxx ", "! ", "i really always ", "Ab ", "é’", "yes no hmm lol "],
    tasks_of_front_ends: [
        *("you are a to ", "analyze a and ", "based on a, ", "### Output\n", '"', "the user ", "给", "<a>", "```"),
        *("only return the ", "user:\n", "- x\n", "please quickly ", "message: ", "\n\nText:\n", "reply one ", '"""'),
        *("<fim_prefix>", "a-'", "you are a memory ", "given the chat history ", "### Task:\n<chat ", "title "),
    ],
    terms: ["我", "x", "ü", "a'", "我a", "\ud800", "7.", "c++ ", "ก้", "\u17d2ក", "\u1039", "ו", "لل"],
    thoughts: ["<think>", "</think>", "<|channel|>a<|message|>", "◁think▷", "```thinking\n", "<details ", "analysis"],
    times: [
        *("between 3 and ", "the first half of ", "gestern der letzte ", "May I. ", "7/4/2026 ", "in 2025 ", "1 of "),
        *("on Monday ", "since May ", "9", "two weeks ago ", "the ", "\ud800"),
    ],
    wanted: ["weight ", "last ", "now", "?", "a1 "],
    without_names: ["Jan ", "May and ", "did June ", "sister April said ", "5 Jan ", "by Jan, "],
    without_wrappers: [
        *("<a>", "</a>", "<a b='", "[[a]]", "{{#a}}", "=== a ===\n", "=== end ===\n", "-", "#", "```\n", "<", "\n"),
        *("BEGIN A\n", "END A\n", "<b><a>", "File: a.txt\n", "<|", '{"', '"""\n', "<!-- ", "Question: ", "Answer:\n"),
        *("the following ", "[a: b]\n", '{"a":', "│", "answer the question ", "* ", "user: a\n", "<!-- a (b) -->\n"),
    ],
}


@pytest.mark.parametrize(
    ("read", "piece"),
    [(read, piece) for read, pieces in RUNS.items() for piece in pieces],
    ids=lambda one: getattr(one, "__name__", repr(one)),
)
def test_a_run_is_read_in_time_that_grows_with_its_length(read: Callable[[str], object], piece: str) -> None:
    assert_linear(read, piece)
