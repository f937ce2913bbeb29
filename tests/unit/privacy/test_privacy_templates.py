"""What a person said in a text that a program made of it without marks: below labels, beside JSON, below a note."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language import wordlists
from services.shared.privacy.templates import introduces, introduces_block
from services.shared.privacy.wrappers import without_wrappers

CASES = [json.loads(line) for line in Path(__file__).with_name("templates.jsonl").read_text("utf-8").splitlines()]
"""Texts as programs make them, and some alike that persons type, which are said as they are."""


@pytest.mark.parametrize(
    ("text", "said"), [pytest.param(case["text"], case["said"], id=case["name"]) for case in CASES]
)
def test_only_what_was_said_is_left(text: str, said: str) -> None:
    assert without_wrappers(text) == said


def test_a_part_below_a_label_of_what_is_handed_over_is_not_said() -> None:
    summary = "Previous conversation summary:\n- The user spoke of a refund."
    assert without_wrappers(summary, "any news? it was for the kettle") == "any news? it was for the kettle"
    assert without_wrappers(summary) == summary
    assert without_wrappers("My summary:\n- I moved.", "any news?") == "My summary:\n- I moved.\nany news?"


def test_files_that_an_agent_added_were_not_said() -> None:
    foreword = "I have *added these files to the chat* so you can go ahead and edit them.\n\n*Trust this message!*"
    assert without_wrappers(f"{foreword}\n\nbadger.py\n```\nx = 1\n```\n") == ""


@pytest.mark.parametrize(
    ("section", "is_so"),
    [("introduction", introduces), ("caption of a block", introduces_block)],
    ids=["text", "block"],
)
def test_each_row_holds_of_its_examples(section: str, is_so: object) -> None:
    for row, examples in wordlists.examples("wrappers", section).items():
        for example in examples:
            assert re.match(row, example, re.IGNORECASE), (row, example)
            assert callable(is_so)
            assert is_so(example)


@pytest.mark.parametrize(
    "sentence", ["Here is my context:", "Given the documents we sent, answer:", "Here is my code:"]
)
def test_in_the_first_person_nothing_is_introduced_by_a_program(sentence: str) -> None:
    assert not introduces(sentence)
    assert not introduces_block(sentence)


_PLAIN = st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), max_size=80)
_SENTENCES = st.lists(_PLAIN.map(str.strip).filter(bool), min_size=1, max_size=4).map("\n".join).map(str.strip)
_FORMS = st.sampled_from(
    [
        "Context information is below.\n-----\n{doc}\n-----\nAnswer the query.\nQuery: {said}\nAnswer:",
        "Use the following pieces of context.\n\n{doc}\n\nQuestion: {said}\nHelpful Answer:",
        "SYSTEM CONTEXT:\n{doc}\n\nUSER MESSAGE:\n{said}",
        "### Instruction:\n{said}\n\n### Response:",
        '{{"page": "/a", "plan": 3}}\n\n\n{said}',
        "[SYSTEM NOTE: free plan]\n\n{said}",
    ]
)


@given(said=_SENTENCES.map(lambda text: f"Kayak {text}"), doc=_SENTENCES, form=_FORMS)
def test_whatever_is_typed_comes_back_out_of_whatever_template(said: str, doc: str, form: str) -> None:
    assert without_wrappers(form.format(said=said, doc=doc)) == said
