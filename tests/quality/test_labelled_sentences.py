"""The labelled messages and pairs hold to their format, and what is kept for judging is not trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from contracts.v1.claims import Relation, Slot
from tests.quality.test_labelled_chats import WHY

HERE = Path(__file__).parent
SENTENCES = sorted((HERE / "sentences").glob("*.jsonl"))
PAIRS = sorted((HERE / "pairs").glob("*.jsonl"))
BLIND_WISHES = [HERE / f"{name}_wishes.jsonl" for name in ("blind", "unseen", "fresh")]
BLIND_PAIRS = HERE / "blind_pairs.jsonl"


def rows(*files: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("file", SENTENCES, ids=lambda file: file.stem)
def test_what_a_message_states_stands_in_it_letter_for_letter(file: Path) -> None:
    for row in rows(file):
        if "wish" in row:
            assert set(row) == {"text", "wish"}
            continue
        assert set(row) == {"text", "claims", "tasks", "why", "ends"}
        assert row["why"] in WHY | {""}
        assert all(task in row["text"] for task in row["tasks"]), row
        for claim in row["claims"]:
            assert claim["slot"] in get_args(Slot), row
            assert claim["value"] in row["text"], row
            assert claim["about"] == "user" or claim["about"] in row["text"], row


def test_pairs_have_two_texts_and_a_relation() -> None:
    read = rows(*PAIRS, BLIND_PAIRS)
    assert {row["label"] for row in read} == set(Relation._fields)
    assert all(row["old"].strip() and row["new"].strip() and row["kind"].strip() for row in read)


def test_nothing_is_there_twice_and_what_is_blind_nowhere_else() -> None:
    learned, *blind = ([row["text"] for row in rows(*files)] for files in (SENTENCES, *([one] for one in BLIND_WISHES)))
    assert len(learned) >= 7500
    assert all(len(set(texts)) == len(texts) for texts in (learned, *blind))
    assert all(set(learned).isdisjoint(texts) for texts in blind)
    pairs = [(row["old"], row["new"]) for row in rows(*PAIRS, BLIND_PAIRS)]
    assert len(set(pairs)) == len(pairs) >= 1500
