"""Frames: what opens one, what leaves it, and what of a text is said in earnest."""

from __future__ import annotations

import re

import pytest

from services.shared.core import frames, wordlists

_OPENING = (
    "scene", "cast pair", "foreign scene", "supposition", "foreign supposition", "text wanted", "story", "sample",
    "foreign text",
)  # fmt: skip


_LEAVING = ("leaves told", "leaves", "leaves a text", "words are awaited")


@pytest.mark.parametrize("section", _OPENING)
def test_each_row_opens_a_frame_by_its_examples(section: str) -> None:
    for row, examples in wordlists.examples("frames", section).items():
        missed = [one for one in examples if not frames._begins(re.compile(row), frames._plain(one))]
        assert (missed, [one for one in examples if frames.stated(one, "user", None).strip()]) == ([], []), row


@pytest.mark.parametrize("section", _LEAVING)
def test_each_row_holds_of_its_examples(section: str) -> None:
    for row, examples in wordlists.examples("frames", section).items():
        assert [one for one in examples if not frames._begins(re.compile(row), frames._plain(one))] == [], row


def test_each_row_of_what_opens_or_leaves_a_frame_has_examples() -> None:
    for section in (*_OPENING, *_LEAVING):
        assert [row for row, given in wordlists.examples("frames", section).items() if given == [""]] == []
