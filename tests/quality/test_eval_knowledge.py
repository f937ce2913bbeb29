"""`memorybus eval knowledge`: which labels it reads, what replies tell, and one run of it through a whole memorybus."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from contracts.v1.loops import LoopsReply, OpenLoop
from contracts.v1.profile import FormerValue, ProfileFact, ProfileReply
from services.eval import app
from services.eval.datasets import by_content, chats
from services.eval.knowledge import ToldFact, ToldTask
from services.eval.labels import labelled
from services.eval.scripted import script_of
from services.eval.telling import told_by

AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_chat(name: str, *texts: str) -> dict[str, Any]:
    turns = [
        {"id": f"t{n}", "conversation_id": "a", "role": "user", "created_at": f"2026-01-0{n}T08:00:00Z", "text": text}
        for n, text in enumerate(texts, start=1)
    ]
    asked = {"q": "Where do I live?", "kind": "fact", "evidence": ["t1"], "stale": [], "now": None}
    return {"id": name, "turns": turns, "questions": [asked]}


def a_claim(turn: str, value: str, **more: str) -> dict[str, Any]:
    return {"turn": turn, "about": "user", "slot": "home", "value": value, **more}


CHAT = a_chat("ann", "I live in Lisbon.", "I need to renew my passport by May.", "I have a red kite.")
LABELS: dict[str, Any] = {
    "claims": [a_claim("t1", "Lisbon"), a_claim("t3", "red kite")],
    "tasks": [{"turn": "t2", "value": "renew my passport", "says": "Renew the passport"}],
    "not_claims": ["t2"],
}


def written(folder: Path, name: str, document: object) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_labels_are_those_of_the_chat_or_of_a_second_file_in_the_same_order(tmp_path: Path) -> None:
    own = written(tmp_path, "own.json", [CHAT | LABELS])
    bare, noted = written(tmp_path, "bare.json", [CHAT]), written(tmp_path, "noted.json", [{"chat": 0} | LABELS])
    (one,), (other,) = labelled(own), labelled(bare, noted)
    assert one == other
    assert (one.id, [claim.value for claim in one.labels.claims]) == ("ann", ["Lisbon", "red kite"])
    assert [turn.user_id for turn in one.turns] == ["ann"] * 3


def test_a_folder_has_a_chat_in_each_file_for_every_command(tmp_path: Path) -> None:
    written(tmp_path, "b.json", a_chat("ben", "I row.") | LABELS | {"claims": [], "tasks": [], "not_claims": []})
    written(tmp_path, "a.json", CHAT | LABELS)
    (tmp_path / "README.md").write_text("no chat")
    assert [one.id for one in labelled(tmp_path)] == ["ann", "ben"]
    assert [question.user_id for question in chats(tmp_path).questions] == ["ann", "ben"]
    assert by_content(tmp_path) == chats(tmp_path)


def test_two_chats_of_one_name_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "a.json", CHAT | LABELS)
    written(tmp_path, "b.json", CHAT | LABELS)
    for command in ("knowledge", "chats"):
        result = CliRunner().invoke(app, [command, str(tmp_path)])
        assert result.exit_code == 1
        assert "two chats have the same id: each needs its own" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("chats_read", "noted", "said"),
    [
        ([CHAT], None, "chat 1: has no labels: a list `claims` in it, or a file of them with --claims"),
        ([CHAT], [LABELS, LABELS], "differ in length, 1 and 2: labels of every chat are needed"),
        ([CHAT], [LABELS | {"claims": [a_claim("t9", "x")]}], "chat 1: claims: label 1: 't9' is no turn of"),
        ([CHAT], [LABELS | {"claims": [a_claim("t1", "x", until="t8")]}], "'t8' is no turn of"),
        ([CHAT], [LABELS | {"claims": [a_claim("t1", "x", replaces="t7")]}], "'t7' is no turn of"),
        ([CHAT], [LABELS | {"tasks": [{"turn": "t6", "says": "x"}]}], "tasks: label 1: 't6' is no turn of"),
        ([CHAT], [LABELS | {"not_claims": ["t5"]}], "not_claims: label 1: 't5' is no turn of"),
        ([CHAT], [LABELS | {"claims": [{"turn": "t1"}]}], "chat 1: claims.0.about: "),
        ([CHAT | {"turns": []}], [LABELS], "chat 1: turns: "),
        ([], [LABELS], "has no chats"),
        ({}, [LABELS], "is no list of chats"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_in_one_line(
    tmp_path: Path, chats_read: object, noted: object, said: str
) -> None:
    given = ["knowledge", str(written(tmp_path, "chats.json", chats_read))]
    given += [] if noted is None else ["--claims", str(written(tmp_path, "claims.json", noted))]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert said in result.output
    assert result.output.count("\n") == 1


def test_a_path_that_is_not_there_or_empty_is_named(tmp_path: Path) -> None:
    missing = CliRunner().invoke(app, ["knowledge", str(tmp_path / "none")])
    assert (missing.exit_code, "none: No such file or directory" in missing.output) == (1, True)
    empty = CliRunner().invoke(app, ["knowledge", str(tmp_path)])
    assert (empty.exit_code, "has no chats: no file in it ends in .json" in empty.output) == (1, True)


def a_known(value: str, entries: tuple[str, ...], owner: str = "me", **more: Any) -> ProfileFact:
    fields: dict[str, Any] = {"subject": "profile", "fact_type": "fact", "text": value, "importance": 1}
    fields |= {"entity_refs": ("person:x",), "entity_label": owner, "memory_key": "profile|person|x|home"}
    fields |= {"pinned": False, "confidence": 1.0, "since": AT, "span": (0, 1)}
    return ProfileFact(**fields | {"value": value, "source_ids": entries} | more)


def a_loop(entry: str, text: str) -> OpenLoop:
    state: dict[str, Any] = {"state": "open", "promised": False, "role": "user", "said_at": AT, "space": "default"}
    return OpenLoop(id=f"{entry}:0", text=text, entry_id=entry, **state)


def test_facts_are_of_the_turns_of_their_entries_and_former_values_are_told_as_over() -> None:
    former = FormerValue(value="Rome", text="Rome", since=AT, source_ids=("e1",))
    porto = a_known("Porto", ("e2", "e3"), before=(former,))
    others = [a_known("Faro", ("e9",), "Jonas", until=AT), a_known("Ulm", ("e1",), is_likely=True)]
    profile = ProfileReply(cards=(), facts=(porto, *others), entries_read=3)
    loops = LoopsReply(items=(a_loop("e2", "call Jonas"),), total_count=1)
    turns = {"e1": frozenset({"t1"}), "e2": frozenset({"t2", "t5"}), "e3": frozenset({"t7"})}
    told = told_by(turns, profile, [loops])
    assert told.facts == [
        ToldFact(frozenset({"t2", "t5", "t7"}), "Porto", "home"),
        ToldFact(frozenset({"t1"}), "Rome", "home", holds=False),
        ToldFact(frozenset(), "Faro", "home", "Jonas", holds=False),
        ToldFact(frozenset({"t1"}), "Ulm", "home", is_likely=True),
    ]
    assert told.tasks == [ToldTask(frozenset({"t2", "t5"}), "call Jonas")]
    assert told.is_whole
    assert not told_by(turns, profile.model_copy(update={"truncated": True}), [loops]).is_whole
    assert not told_by(turns, profile, [loops.model_copy(update={"total_count": 2})]).is_whole


def test_a_run_through_a_whole_memorybus_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    report = tmp_path / "report.json"
    given = ["knowledge", str(written(tmp_path, "chats.json", [CHAT | LABELS])), "--json", str(report)]
    result = CliRunner().invoke(app, given, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    assert "1 chat, 2 claims, 1 task" in result.output
    assert "94d8f3af" in result.output
    (one,) = json.loads(report.read_text())["runs"]
    assert one["figures"] == one["chats"]["ann"]
    assert one["figures"]["recall_with_likely"]["of"] == 2
    assert one["figures"]["recall_with_likely"]["many"] >= 1
    assert one["figures"]["task_recall"] == {"value": 1.0, "many": 1, "of": 1}
    assert one["cut"] == []


def test_a_language_model_that_reads_as_labelled_is_believed_and_says_nothing_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYBUS_NER", "none")
    monkeypatch.setenv("MEMORYBUS_EMBEDDER", "none")
    labels = LABELS | {"claims": [*LABELS["claims"], a_claim("t3", "submarine", slot="possession")]}
    report = tmp_path / "report.json"
    given = ["knowledge", str(written(tmp_path, "chats.json", [CHAT | labels])), "--model", "--json", str(report)]
    result = CliRunner().invoke(app, given, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    _, scripted = json.loads(report.read_text())["runs"]
    figures = scripted["figures"]
    assert scripted["name"] == "scripted model"
    assert (figures["recall"]["many"], figures["recall"]["of"]) == (2, 3)
    assert figures["precision"]["value"] == figures["right_slot"]["value"] == figures["task_recall"]["value"] == 1.0


def test_a_scripted_model_points_at_what_the_labels_note_in_the_words_of_the_turn(tmp_path: Path) -> None:
    text = "Hello. My sister Clara lives in Lisbon."
    chat = a_chat("ann", text) | {"claims": [a_claim("t1", "Lisbon", about="sister in law")]}
    ((said,),) = script_of(labelled(written(tmp_path, "chats.json", [chat]))).values()
    assert said == {
        "kind": "fact",
        "slot": "home",
        "value": "Lisbon",
        "sentence": "My sister Clara lives in Lisbon.",
        "about": "sister",
        "is_new": False,
    }
