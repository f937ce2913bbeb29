"""`memorybus eval`: its metrics, what it reads, and one run of it through a whole memorybus."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from services.eval import app
from services.eval.datasets import GOLDEN, Dataset, chats, golden, locomo, longmemeval, misdirected
from services.eval.metrics import Judged, means
from services.eval.misspelling import misspelt
from services.eval.report import shortfalls

SESSIONS = {"a": "s1", "b": "s1", "c": "s2", "d": "s3"}


def judged(*found: tuple[str, ...], evidence: str, stale: str = "") -> Judged:
    return Judged(found, frozenset(evidence), frozenset(stale), SESSIONS)


def test_recall_is_the_share_of_the_evidence_and_hit_any_of_it() -> None:
    one = judged(("c",), ("a",), ("d",), evidence="ab")
    assert (one.recall(1), one.recall(2), one.hit(1), one.hit(2)) == (0.0, 0.5, 0.0, 1.0)
    assert one.reciprocal_rank() == 0.5
    assert judged(("c",), evidence="a").reciprocal_rank() == 0.0


def test_an_item_stands_for_all_turns_merged_into_it() -> None:
    assert judged(("c", "a", "b"), evidence="ab").recall(1) == 1.0


def test_precision_is_over_what_was_returned_but_at_most_five() -> None:
    assert judged(("a",), ("c",), evidence="a").precision(5) == 0.5
    assert judged(*[("c",)] * 5, ("a",), evidence="a").precision(5) == 0.0
    assert judged(evidence="a").precision(5) == 0.0


def test_gain_is_discounted_from_the_third_rank_on_and_1_when_the_evidence_comes_first() -> None:
    assert judged(("a",), ("b",), ("c",), evidence="ab").ndcg(5) == 1.0
    assert judged(("c",), ("a",), evidence="a").ndcg(5) == 1.0
    assert judged(("c",), ("d",), ("d",), ("a",), evidence="a").ndcg(5) == 0.5
    assert judged(("c",), ("a",), evidence="a").ndcg(1) == 0.0
    assert judged(evidence="a").ndcg(5) == 0.0


def test_all_needs_every_evidence() -> None:
    one = judged(("a",), ("b",), evidence="ab")
    assert (one.all(1), one.all(2)) == (0.0, 1.0)


def test_a_turn_of_the_session_that_holds_evidence_is_a_session_hit() -> None:
    one = judged(("c",), ("b",), evidence="a")
    assert (one.session_hit(1), one.session_hit(2)) == (0.0, 1.0)


def test_the_new_value_has_to_stand_above_every_old_one() -> None:
    assert judged(("a",), ("b",), evidence="a", stale="b").new_above_old() == 1.0
    assert judged(("b",), ("a",), evidence="a", stale="b").new_above_old() == 0.0
    assert judged(("c",), evidence="a", stale="b").new_above_old() == 0.0


def test_means_are_over_the_questions_that_a_metric_is_of() -> None:
    answered, refused = judged(("a",), evidence=""), judged(evidence="")
    found = means([judged(("a",), evidence="a"), judged(evidence="a", stale="b"), answered, refused])
    assert (found["hit@1"], found["mrr"], found["new_above_old"], found["silent"]) == (0.5, 0.5, 0.0, 0.5)
    assert "silent" not in means([judged(("a",), evidence="a")])
    assert means([]) == {}


def test_budget_and_other_users_count_over_all_questions() -> None:
    over = Judged((("a",), ()), frozenset("a"), sessions=SESSIONS, tokens=101, budget=100, foreign=1)
    found = means([over, Judged((), frozenset(), tokens=0, budget=100)])
    assert (found["within_budget"], found["cross_user"], found["tokens"]) == (0.5, 1, 50.5)


def test_what_falls_short_is_said_in_a_sentence_each() -> None:
    dataset = Dataset("golden", [], [], least={"recall@5": 0.8, "precision@5": 0.7})
    good = {"recall@5": 0.8, "precision@5": 0.71, "within_budget": 1.0, "cross_user": 0}
    assert shortfalls(dataset, good) == []
    assert shortfalls(dataset, good | {"recall@5": 0.7, "within_budget": 0.5, "cross_user": 2}) == [
        "recall@5 is 0.700, at least 0.80 is expected",
        "only 50.0% of the contexts kept to their token budget, all have to",
        "2 items of other users were returned, none may ever be",
    ]


LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "pair",
        "conversation": {
            "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "I play the bouzouki."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "My boat is red."}],
            "session_2_date_time": "1:56 pm on 9 May, 2023",
        },
        "qa": [
            {"question": "What does Ada play?", "evidence": ["D1:1; D9:9"], "category": 4},
            {"question": "Which colour has the boat?", "evidence": ["D2:1"], "category": 5},
            {"question": "Who is nobody?", "evidence": ["D7:7"], "category": 1},
            {"question": "Why?", "evidence": [], "category": 1},
        ],
    }
]
SAID: dict[str, Any] = {"role": "user", "created_at": "2026-01-01T08:00:00Z", "text": "I row."}
CHATS: list[dict[str, Any]] = [
    {
        "id": "u1",
        "turns": [SAID | {"id": "t1", "conversation_id": "a"}, SAID | {"id": "t2", "conversation_id": "b"}],
        "questions": [
            {"q": "Sport?", "kind": "changed", "evidence": ["t2"], "stale": ["t1"], "now": "2026-03-01T08:00:00Z"},
            {"q": "Shoe size?", "kind": "no_answer", "evidence": [], "stale": [], "now": None},
        ],
    }
]


def written(folder: Path, document: object) -> Path:
    path = folder / "questions.json"
    path.write_text(json.dumps(document))
    return path


def test_locomo_questions_keep_the_evidence_that_exists(tmp_path: Path) -> None:
    dataset = locomo(written(tmp_path, LOCOMO))
    asked = {question.text: (question.user_id, question.kind, set(question.evidence)) for question in dataset.questions}
    assert asked == {
        "What does Ada play?": ("pair", "single-hop", {"D1:1"}),
        "Which colour has the boat?": ("pair", "adversarial", {"D2:1"}),
    }
    assert dataset.sessions() == {"pair": {"D1:1": "pair/session_1", "D2:1": "pair/session_2"}}


def test_chats_keep_the_questions_that_have_no_answer(tmp_path: Path) -> None:
    dataset = chats(written(tmp_path, CHATS))
    assert [(turn.user_id, turn.source_ids) for turn in dataset.turns] == [("u1", ("t1",)), ("u1", ("t2",))]
    assert [(question.kind, set(question.stale)) for question in dataset.questions] == [
        ("changed", {"t1"}),
        ("no_answer", set()),
    ]


CASE: dict[str, Any] = {
    "id": "c1",
    "setup_memories": [{"content": "I row."}, {"content": "I ski.", "type": "preference"}],
    "other_user_memories": [{"content": "I swim."}],
    "query": "Sport?",
    "expected_retrievals": ["I ski."],
    "outdated": ["I row."],
}


def test_golden_cases_have_a_memory_each_and_others_beside_it(tmp_path: Path) -> None:
    dataset = golden(written(tmp_path, {"cases": [CASE]}))
    assert [(turn.user_id, turn.text, turn.type) for turn in dataset.turns] == [
        ("c1", "I row.", None),
        ("c1", "I ski.", "preference"),
        ("c1-other", "I swim.", None),
    ]
    (question,) = dataset.questions
    assert (question.user_id, question.evidence, question.stale) == ("c1", frozenset("1"), frozenset("0"))
    assert question.token_budget == 1000


def test_the_cases_of_memorybus_cover_what_they_are_to_cover() -> None:
    dataset = golden(GOLDEN)
    kinds = [question.kind for question in dataset.questions]
    assert len(kinds) >= 80
    assert kinds.count("task") >= 20
    needed = {"preference", "recurring", "changed", "goal", "paraphrase", "no-answer", "cross-user"}
    assert {kind for kind in needed if kinds.count(kind) < 8} == set()
    assert {question.half for question in dataset.questions} == {"a", "b"}
    assert all(question.stale for question in dataset.questions if question.kind == "changed")
    assert all(not question.evidence for question in dataset.questions if question.kind == "no-answer")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "Input should be"),
        ({"cases": []}, "has no cases"),
        ({"cases": [CASE, CASE]}, "two cases have the same id"),
        ({"cases": [CASE | {"expected_retrievals": ["I fly."]}]}, "'I fly.' is none of its setup_memories"),
        ({"cases": [CASE | {"query": 7}]}, "case 1: query: "),
        ({"cases": [CASE | {"setup_memories": [{"content": " "}]}]}, "case 'c1' memory 1: text: is blank"),
        ({"cases": [CASE | {"now": "yesterday"}]}, "case 1: now: "),
        ({"cases": [CASE | {"id": "x" * 101}]}, "case 1: id: "),
    ],
)
def test_golden_cases_that_cannot_be_used_are_refused_in_one_line(tmp_path: Path, document: object, said: str) -> None:
    result = CliRunner().invoke(app, ["golden", str(written(tmp_path, document))])
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert said in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("document", [{}, [], [{"id": "u1"}], 7])
def test_a_file_without_chats_is_refused_in_one_line(tmp_path: Path, document: object) -> None:
    result = CliRunner().invoke(app, ["chats", str(written(tmp_path, document))])
    assert result.exit_code == 1
    assert result.output.startswith("error: ")


LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "Which sports do I do?",
        "answer": "rowing and skiing",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["answer_1", "s2", "answer_2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 02:21", "2023/05/22 (Mon) 02:21"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "My sport is rowing."},
                {"role": "assistant", "content": "A sport!"},
            ],
            [{"role": "user", "content": "My flat is cold."}, {"role": "assistant", "content": " "}],
            [{"role": "user", "content": "Another sport I do is skiing."}],
        ],
        "answer_session_ids": ["answer_1", "answer_2"],
    },
]
LONGMEMEVAL.append(LONGMEMEVAL[0] | {"question_id": "q2_abs", "question": "Which instrument do I play?"})


def test_haystacks_are_users_and_their_sessions_the_sources(tmp_path: Path) -> None:
    dataset = longmemeval(written(tmp_path, LONGMEMEVAL))
    first = [(turn.conversation_id, turn.source_ids, turn.role) for turn in dataset.turns if turn.user_id == "q1"]
    assert first == [
        ("answer_1", ("answer_1",), "user"),
        ("answer_1", ("answer_1",), "assistant"),
        ("s2", ("s2",), "user"),
        ("answer_2", ("answer_2",), "user"),
    ]
    assert [(question.kind, set(question.evidence)) for question in dataset.questions] == [
        ("multi-session", {"answer_1", "answer_2"}),
        ("abstention", set()),
    ]
    assert len(longmemeval(written(tmp_path, LONGMEMEVAL), first=1).questions) == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "is no list of questions"),
        ([LONGMEMEVAL[0] | {"haystack_dates": []}], "q1: haystack_session_ids, haystack_dates and"),
        ([LONGMEMEVAL[0] | {"question_date": "soon"}], "q1: question_date: is not like '2023/05/30 (Tue) 23:40'"),
        ([LONGMEMEVAL[0] | {"question_date": "2023/13/30 (Tue) 23:40"}], "question_date: is not like"),
    ],
)
def test_what_is_not_longmemeval_is_refused_in_one_line(tmp_path: Path, document: object, said: str) -> None:
    result = CliRunner().invoke(app, ["longmemeval", str(written(tmp_path, document))])
    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1


def test_sessions_are_ranked_by_their_best_turn_and_abstention_counts_in_no_other_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_EMBEDDER", "none")
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    report = tmp_path / "report.json"
    result = CliRunner().invoke(app, ["longmemeval", str(written(tmp_path, LONGMEMEVAL)), "--json", str(report)])
    assert result.exit_code == 0, result.output
    said = json.loads(report.read_text())
    assert said["questions"] == 2
    assert (said["metrics"]["all@5"], said["metrics"]["ndcg@5"], said["metrics"]["precision@5"]) == (1.0, 1.0, 1.0)
    assert set(said["kinds"]["abstention"]) == {"silent", "tokens", "within_budget", "cross_user"}


def test_a_run_through_a_whole_memorybus_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_EMBEDDER", "none")
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    report = tmp_path / "report.json"
    result = CliRunner().invoke(app, ["locomo", str(written(tmp_path, LOCOMO)), "--json", str(report)])
    assert result.exit_code == 0, result.output
    assert "recall@20" in result.output
    said = json.loads(report.read_text())
    assert (said["dataset"], said["questions"], said["metrics"]["mrr"]) == ("locomo", 2, 1.0)
    assert set(said["latency_ms"]) == {"p50", "p95"}
    assert set(said["kinds"]) == {"single-hop", "adversarial"}


def test_a_run_that_falls_short_ends_with_exit_code_1_after_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_EMBEDDER", "none")
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    missing = CASE | {"id": "c2", "query": "Which instrument do I play?", "half": "b"}
    found = CASE | {"query": "Do I ski?", "half": "a"}
    report = tmp_path / "report.json"
    result = CliRunner().invoke(
        app, ["golden", str(written(tmp_path, {"cases": [found, missing]})), "--json", str(report)]
    )
    assert result.exit_code == 1
    assert "error: recall@5 is 0.500, at least 0.80 is expected; precision@5 is" in result.output
    said = json.loads(report.read_text())
    assert (said["halves"]["a"]["recall@5"], said["halves"]["b"]["recall@5"]) == (1.0, 0.0)
    assert (said["metrics"]["cross_user"], said["metrics"]["within_budget"]) == (0, 1.0)


def test_each_question_gets_the_same_typing_error_for_the_same_seed(tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO))
    clean = locomo(tmp_path / "locomo.json")
    wrong, again, other = (misspelt(clean, seed).questions for seed in (1, 1, 2))
    assert wrong == again != other
    for asked, typed in zip(clean.questions, wrong, strict=True):
        assert asked == replace(typed, text=asked.text)
        assert sum(a != b for a, b in zip(asked.text.split(), typed.text.split(), strict=True)) <= 1
        assert abs(len(asked.text) - len(typed.text)) <= 1


def test_each_question_is_put_to_another_memory_too_where_nothing_answers_it(tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO))
    one = locomo(tmp_path / "locomo.json")
    assert misdirected(one).questions == one.questions, "there is nobody else"
    other = [turn.model_copy(update={"user_id": "somebody"}) for turn in one.turns]
    both = misdirected(replace(one, turns=[*one.turns, *other]))
    asked, put_elsewhere = both.questions[: len(one.questions)], both.questions[len(one.questions) :]
    assert asked == one.questions
    assert [question.text for question in put_elsewhere] == [question.text for question in asked]
    assert {(question.user_id, question.evidence) for question in put_elsewhere} == {("somebody", frozenset())}
    strange = [turn.model_copy(update={"user_id": "else", "speaker": "Zoltan"}) for turn in one.turns]
    of_three = misdirected(replace(one, turns=[*one.turns, *other, *strange])).questions[len(one.questions) :]
    assert {question.user_id for question in of_three} == {"else"}, "where nobody of a like name speaks"
