"""The labelled chats hold to their format, so that whoever reads them need not look."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from contracts.v1.claims import Slot
from services.eval.labels import labelled

FOLDER = Path(__file__).parent / "chats"
FILES = sorted([*FOLDER.glob("learned/*.json"), *FOLDER.glob("unseen/*.json")])
SPOKEN = sorted(FOLDER.glob("spoken/*.json"))
CHATS: dict[Path, dict[str, Any]] = {file: json.loads(file.read_text("utf-8")) for file in FILES}
KINDS = {"fact", "changed", "temporal", "assistant_said", "paraphrase", "multi", "exact", "latest", "no_answer"}
WHY = {"joke", "question", "hypothetical", "fiction", "quoted", "example"}
WHY |= {"others", "fleeting", "negated", "vague", "corrected"}
LABELS = ("claims", "tasks", "not_claims", "wishes")

each_chat = pytest.mark.parametrize("chat", CHATS.values(), ids=[file.stem for file in FILES])


def named_turns(chat: dict[str, Any]) -> Iterator[str]:
    """Every turn that a label or a question names."""
    for kind in LABELS:
        for label in chat[kind]:
            yield from (label[key] for key in ("turn", "until", "replaces", "done", "dropped") if label.get(key))
    for question in chat["questions"]:
        yield from (*question["evidence"], *question["stale"])


def test_a_quarter_of_the_chats_and_their_writers_are_unseen() -> None:
    writers = {half: {chat["writer"] for file, chat in CHATS.items() if file.parent.name == half} for half in halves()}
    assert halves() == {"learned", "unseen"}
    assert len(CHATS) >= 89
    assert 4 * len(list((FOLDER / "unseen").glob("*.json"))) >= len(CHATS)
    assert not writers["learned"] & writers["unseen"]
    assert len(writers["learned"] | writers["unseen"]) >= 19
    assert len({chat["id"] for chat in CHATS.values()}) == len(CHATS)


def halves() -> set[str]:
    return {file.parent.name for file in FILES}


@each_chat
def test_turns_have_an_id_each_and_go_on_in_time(chat: dict[str, Any]) -> None:
    turns = chat["turns"]
    assert 60 <= len(turns) <= 120
    assert len({turn["id"] for turn in turns}) == len(turns)
    assert {turn["role"] for turn in turns} == {"user", "assistant"}
    assert all(turn["text"].strip() for turn in turns)
    said_at = [turn["created_at"] for turn in turns]
    assert said_at == sorted(said_at)
    assert all(at.endswith("Z") for at in said_at)


@each_chat
def test_what_is_named_is_a_turn_and_values_stand_in_theirs_letter_for_letter(chat: dict[str, Any]) -> None:
    texts = {turn["id"]: turn["text"] for turn in chat["turns"]}
    assert set(named_turns(chat)) <= set(texts)
    for kind in LABELS:
        for label in chat[kind]:
            assert label["value"].strip(), label
            assert label["value"] in texts[label["turn"]], label


@each_chat
def test_changes_go_forward(chat: dict[str, Any]) -> None:
    places = {turn["id"]: place for place, turn in enumerate(chat["turns"])}
    for claim in chat["claims"]:
        assert not claim["until"] or places[claim["turn"]] <= places[claim["until"]], claim
        assert not claim["replaces"] or places[claim["replaces"]] <= places[claim["turn"]], claim
    for task in chat["tasks"]:
        assert all(places[task["turn"]] <= places[task[key]] for key in ("done", "dropped") if task[key]), task


@each_chat
def test_slots_and_reasons_are_known_and_sentences_stand_there(chat: dict[str, Any]) -> None:
    assert {claim["slot"] for claim in chat["claims"]} <= set(get_args(Slot))
    assert {label["why"] for label in chat["not_claims"]} <= WHY
    assert all(label["says"].strip() for kind in ("claims", "tasks", "wishes") for label in chat[kind])
    assert all(claim["about"].strip() for claim in chat["claims"])
    assert len(chat["claims"]) >= 50


@each_chat
def test_questions_have_evidence_where_there_is_an_answer(chat: dict[str, Any]) -> None:
    kinds = Counter(question["kind"] for question in chat["questions"])
    assert set(kinds) == KINDS
    for question in chat["questions"]:
        assert bool(question["evidence"]) == (question["kind"] != "no_answer"), question
        assert not set(question["evidence"]) & set(question["stale"]), question
        assert question["now"] > chat["turns"][-1]["created_at"], question


@pytest.mark.parametrize("file", SPOKEN, ids=lambda file: file.stem)
def test_what_users_alone_said_is_labelled_in_their_words_and_their_order(file: Path) -> None:
    chat = json.loads(file.read_text("utf-8"))
    texts, places = {}, {}
    for place, turn in enumerate(chat["turns"]):
        texts[turn["id"]], places[turn["id"]] = turn["text"], place
    assert 15 <= len(texts) == len(chat["turns"]) <= 40
    assert {turn["role"] for turn in chat["turns"]} == {"user"}
    assert set(named_turns(chat)) <= set(texts)
    for kind in LABELS:
        assert all(label["value"].strip() and label["value"] in texts[label["turn"]] for label in chat[kind])
    assert {claim["slot"] for claim in chat["claims"]} <= set(get_args(Slot))
    assert all(not one["replaces"] or places[one["replaces"]] < places[one["turn"]] for one in chat["claims"])
    assert all(one["evidence"] and not set(one["evidence"]) & set(one["stale"]) for one in chat["questions"])
    assert {one["kind"] for one in chat["questions"]} <= KINDS - {"no_answer", "assistant_said"}


@pytest.mark.parametrize("half", ["learned", "unseen"])
def test_they_are_read_as_memorybus_eval_knowledge_reads_them(half: str) -> None:
    read = labelled(FOLDER / half)
    written = [chat for file, chat in CHATS.items() if file.parent.name == half]
    assert [(one.id, len(one.turns), len(one.labels.claims)) for one in read] == [
        (chat["id"], len(chat["turns"]), len(chat["claims"])) for chat in written
    ]
