"""What was said in one of sixteen languages is found by words, asked for in it and in other forms of its words."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.ports import Filters, Scope
from services.shared.stores.sqlite import SqliteTextStore
from tests.stores.builders import an_entry, store_entries

LINES = (Path(__file__).parent / "languages.txt").read_text("utf-8").splitlines()
LANGUAGES = [line[1:-1] for line in LINES if line.startswith("[")]


def turns_and_questions(language: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The turns, and each question with the turn that answers it."""
    start = LINES.index(f"[{language}]") + 1
    end = next((i for i in range(start, len(LINES)) if LINES[i].startswith("[")), len(LINES))
    turns: list[str] = []
    questions: list[tuple[str, str]] = []
    for line in LINES[start:end]:
        if line.startswith("? "):
            questions.append((line[2:], turns[-1]))
        else:
            turns.append(line)
    return turns, questions


@pytest.mark.parametrize("language", LANGUAGES)
async def test_words_find_at_least_four_in_five_among_the_first_five(language: str, tmp_path: Path) -> None:
    turns, questions = turns_and_questions(language)
    store = await SqliteTextStore.open(tmp_path / "memory.sqlite3", synchronous="normal")
    said = {text: an_entry("ann", text) for text in turns}
    await store_entries(store, list(said.values()))
    found = {q: await store.search(Scope("ann"), q, limit=5, filters=Filters()) for q, _ in questions}
    await store.close()
    ids = {q: [hit.id for hit in hits] for q, hits in found.items()}
    ranks = {q: ids[q].index(said[answer].id) for q, answer in questions if said[answer].id in ids[q]}
    assert len(questions) >= 8
    assert len(ranks) >= 0.8 * len(questions)
    assert sum(rank == 0 for rank in ranks.values()) >= 0.8 * len(questions)


def test_there_are_sixteen_languages() -> None:
    assert len(LANGUAGES) == 16
