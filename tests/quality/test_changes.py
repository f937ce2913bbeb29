"""Changes and contradictions on labelled pairs: half of them was not looked at while the rules were written."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from services.bench import changes
from services.bench.changes import judged, precision, read_pairs, recall
from services.shared.core.updates import is_change, relation

HERE = Path(__file__).parent
FILES = [HERE / "changes.tsv", HERE / "changes_held_out.tsv"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_updates_are_told_from_what_only_looks_like_them(file: Path) -> None:
    results = judged(read_pairs(file))
    assert precision(results, "update") >= 0.98
    assert recall(results, "update") >= 0.7
    assert precision(results, "contradiction") >= 0.85


def test_there_are_as_many_pairs_as_promised() -> None:
    pairs = [pair for file in FILES for pair in read_pairs(file)]
    assert len({(pair.old, pair.new) for pair in pairs}) == len(pairs) >= 250


@pytest.mark.parametrize(
    "text",
    [
        "My dentist appointment is on Tuesday",
        "Has my dentist appointment moved to Thursday?",
        "I might move my dentist appointment to Thursday",
        'She said "my dentist appointment has moved to Thursday"',
        "",
        "?!",
    ],
)
def test_only_what_is_said_outright_is_a_change(text: str) -> None:
    assert not is_change(text)


def test_a_text_of_any_length_is_read_quickly() -> None:
    hostile = "my " * 30_000 + "has moved to " * 30_000 + "instead of" * 1000
    assert relation(hostile, hostile) in ("update", "contradiction", "compatible", "unrelated")


@pytest.fixture
def app() -> typer.Typer:
    """The command on an app of its own."""
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=changes.EPILOG)(changes.changes)
    return app


def test_the_command_prints_precision_and_recall_and_what_is_wrong(app: typer.Typer, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("label\tkind\told\tnew\nupdate\thard\tI like [bold]tea\tCoffee it is\n")
    result = CliRunner().invoke(app, [str(file), "--wrong"])
    assert result.exit_code == 0, result.output
    assert "precision" in result.output
    assert "I like [bold]tea" in result.output


@pytest.mark.parametrize("text", ["", "label\tkind\told\tnew\n", "label\tkind\told\tnew\nsame\ta\tb\tc\n", "x\ny\n"])
def test_the_command_refuses_a_file_without_pairs(app: typer.Typer, tmp_path: Path, text: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(text)
    result = CliRunner().invoke(app, [str(file)])
    assert result.exit_code == 1
    assert result.output.startswith(f"error: {file}: ")
