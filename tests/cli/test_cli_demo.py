"""The example is what the demonstration claims, and the demonstration says honestly whether it worked."""

from __future__ import annotations

from collections import Counter
from importlib.resources import as_file, files
from io import StringIO

import pytest
from rich.console import Console

from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.cli.demo import play
from services.cli.example import ASKED_AT, QUESTIONS, USER, Question, example_turns
from services.shared.commands.formats import Source, read_turns
from services.shared.dedup.canonical import read
from tests.cli.fake_memory import FakeMemory


def console() -> Console:
    return Console(record=True, width=160, file=StringIO())


def test_the_example_is_some_weeks_of_conversations_in_order() -> None:
    turns = example_turns()
    times = [turn.created_at for turn in turns if turn.created_at]
    assert 55 <= len(turns) <= 70
    assert len({turn.turn_id for turn in turns}) == len(turns) == len(times)
    assert {turn.user_id for turn in turns} == {USER}
    assert {turn.role for turn in turns} == {"user", "assistant"}
    assert times == sorted(set(times))
    assert (times[-1] - times[0]).days >= 28
    assert times[-1] < ASKED_AT
    assert len({turn.conversation_id for turn in turns}) >= 5


def test_the_example_repeats_one_fact_in_other_case_and_punctuation() -> None:
    said = Counter(read(turn.text).normal for turn in example_turns() if turn.role == "user")
    assert [count for count in said.values() if count > 1] == [3]
    assert len({turn.text for turn in example_turns() if "allergic to walnuts" in turn.text.casefold()}) == 3


def test_the_example_keeps_both_statements_about_the_appointment_that_moved() -> None:
    texts = [turn.text for turn in example_turns() if turn.role == "user" and "dentist appointment" in turn.text]
    assert ["Tuesday, 10 March" in text for text in texts] == [True, False]
    assert "Thursday, 12 March" in texts[1]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_every_question_has_its_answer_in_the_example_and_few_others(question: Question) -> None:
    answers = [turn.text for turn in example_turns() if question.answered_by((turn.text,))]
    assert 1 <= len(answers) <= 3


def test_the_words_of_an_answer_must_stand_in_one_memory() -> None:
    question = QUESTIONS[0]
    assert question.answered_by(("x", "I prefer UV over pip"))
    assert not question.answered_by(("uv", "pip"))
    assert not question.answered_by(())


def test_the_example_is_a_file_that_can_be_published() -> None:
    with as_file(files("services.cli") / "example.jsonl") as path:
        assert list(read_turns(Source(path))) == example_turns()


async def test_a_memory_that_finds_the_answers_passes_and_shows_why() -> None:
    class Knowing(FakeMemory):
        async def retrieve(self, request: RetrieveRequest) -> RetrieveReply:
            question = next(question for question in QUESTIONS if question.text == request.query)
            answer = next(turn for turn in self.turns if question.answered_by((turn.text,)))
            self.turns.remove(answer)
            self.turns.insert(0, answer)
            assert request.now == ASKED_AT
            return await super().retrieve(request.model_copy(update={"query": answer.text}))

    shown = console()
    assert await play(Knowing(), shown)
    text = shown.export_text()
    assert "Published 62 turns of 9 conversations" in text
    assert all(question.text in text for question in QUESTIONS)
    assert text.count("✓") == len(QUESTIONS)
    assert "words + meaning" in text
    assert "said 3 times in other case and punctuation, remembered once" in text
    assert "5 of 5 questions found their answer" in text


async def test_a_memory_that_finds_nothing_fails_and_says_what_is_missing() -> None:
    memory, shown = FakeMemory(), console()
    memory.knows = False
    assert not await play(memory, shown)
    text = shown.export_text()
    assert text.count("✗") == len(QUESTIONS)
    assert "none of them contains Thursday and 12 March" in text
    assert "0 of 5 questions found their answer" in text
