"""How well wishes are found is counted right, and what is no such file is told in words."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from contracts.v1.claims import Reading
from services.bench import wishes
from services.embed.wishes import SURE
from services.shared.embedders.minilm import ReadingMiniLmEmbedder
from services.shared.settings import Settings
from tests.apps.fakes import FakeReader

PHRASE, ONLY_READ, MISSED, OTHER = (
    wishes.Message("Don't remember this: my pin is 4711.", True),
    wishes.Message("That stays in this window, ok?", True),
    wishes.Message("Let it die here.", True),
    wishes.Message("What do you remember of me?", False),
)
APP = typer.Typer()
HERE = Path(__file__).parent
FLOORS = {"blind_wishes": (0.84, 0.01), "unseen_wishes": (0.71, 0.022), "fresh_wishes": (0.69, 0.016)}
"""Least recall and most of others taken for wishes, a little worse than what was measured when they were set, on
messages of writers whom it has not learned from; at the last set nobody looked before it was trained."""
APP.command()(wishes.wishes)


async def test_what_is_found_is_counted_by_who_finds_it() -> None:
    reader = FakeReader(
        knows={
            PHRASE.text: Reading(),
            ONLY_READ.text: Reading(wish=SURE),
            MISSED.text: Reading(wish=SURE - 0.01),
            OTHER.text: Reading(wish=1.0),
        }
    )
    messages = [PHRASE, ONLY_READ, MISSED, OTHER]
    found = await wishes.found_in(messages, reader)
    assert {who: (of.right, of.found) for who, of in ((k, wishes.quality(messages, v)) for k, v in found.items())} == {
        "fixed phrases": (1, 1),
        "reader": (1, 2),
        "either": (2, 3),
    }


@pytest.mark.parametrize("name", FLOORS)
async def test_wishes_in_words_that_were_never_seen_are_found_and_little_else(name: str) -> None:
    reader = await ReadingMiniLmEmbedder.open(Settings().cache)
    try:
        messages = wishes.read_messages(HERE / f"{name}.jsonl")
        of = wishes.quality(messages, (await wishes.found_in(messages, reader))["either"])
    finally:
        await reader.close()
    least_recall, most_false = FLOORS[name]
    assert of.recall >= least_recall
    assert of.found - of.right <= most_false * (len(messages) - of.there)


@pytest.mark.parametrize("line", ["no json", '{"text": "a"}', '{"text": "a", "wish": "who knows"}'])
def test_what_is_no_message_is_told(tmp_path: Path, line: str) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text(line)
    result = CliRunner().invoke(APP, [str(file)])
    assert result.exit_code == 1
    assert "messages.jsonl" in result.output
