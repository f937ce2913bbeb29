"""Which requests are tasks of a program, and which are what a person says."""

from __future__ import annotations

import pytest

from services.shared.privacy.front_ends import Request, is_task, sets_task
from tests.unit.privacy.front_end_cases import PERSONS, TASKS


@pytest.mark.parametrize("request_", TASKS, ids=lambda one: one.text[:40])
def test_what_a_program_asks_by_itself_is_a_task(request_: Request) -> None:
    assert sets_task(request_)


@pytest.mark.parametrize("request_", PERSONS, ids=lambda one: one.text[:40])
def test_what_a_person_asks_in_like_words_is_none(request_: Request) -> None:
    assert not sets_task(request_)


def test_by_the_newest_message_alone_less_than_half_of_the_tasks_are_known() -> None:
    assert sum(is_task(one.text) for one in TASKS) < 0.6 * len(TASKS)
