"""The commands that judge labelled pairs: what they print, and what they say about files they cannot use."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from services.bench import changes, duplicates
from services.bench.duplicates import Pair, judged
from services.bench.pairs import Quality
from services.cli.common import out

HERE = Path(__file__).parent
COLUMNS = {
    "duplicates": "label\tkind\ta\tb",
    "changes": "label\tkind\told\tnew",
}
WRONG = {
    "duplicates": "repeated\tname\tI live in [bold]Bonn\tI live in Berlin",
    "changes": "update\thard\tI live in [bold]Bonn\tCoffee it is",
}
HEADER = f"{COLUMNS['duplicates']}\n"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The commands on an app of their own."""
    monkeypatch.setattr(out, "width", 200)
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=duplicates.EPILOG)(duplicates.duplicates)
    app.command(epilog=changes.EPILOG)(changes.changes)
    return app


def test_every_rule_is_printed_beside_the_others(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["duplicates", str(HERE / "near_duplicates.tsv")])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("memorybus", "SimHash ≤ 3 alone", "exact, normalized, alone"))


@pytest.mark.parametrize("command", COLUMNS)
def test_precision_recall_and_what_is_wrong_are_printed(app: typer.Typer, tmp_path: Path, command: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(f"{COLUMNS[command]}\n{WRONG[command]}\n")
    quiet = CliRunner().invoke(app, [command, str(file)])
    assert quiet.exit_code == 0, quiet.output
    assert all(word in quiet.output for word in ("precision", "recall"))
    assert "I live in" not in quiet.output
    assert "I live in [bold]Bonn" in CliRunner().invoke(app, [command, str(file), "--wrong"]).output


@pytest.mark.parametrize("command", COLUMNS)
def test_its_help_shows_an_example_that_runs(app: typer.Typer, command: str) -> None:
    told = CliRunner().invoke(app, [command, "--help"]).output
    examples = [line.split()[3:] for line in told.splitlines() if f"memorybus bench {command} tests/quality/" in line]
    assert len(examples) == 2
    for file, *options in examples:
        assert CliRunner().invoke(app, [command, str(HERE / Path(file).name), *options]).exit_code == 0


@pytest.mark.parametrize("command", COLUMNS)
def test_a_file_of_another_form_is_refused(app: typer.Typer, tmp_path: Path, command: str) -> None:
    file = tmp_path / "pairs.tsv"
    for text in ("", f"{COLUMNS[command]}\n", f"{COLUMNS[command]}\nsame\ta\t\td\n", "x\ny\n"):
        file.write_text(text)
        result = CliRunner().invoke(app, [command, str(file)])
        assert result.exit_code == 1
        assert result.output.startswith(f"error: {file}: ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no pairs: the first line names the columns label, kind, a and b"),
        (HEADER, "no pairs: the first line names the columns"),
        (f"{HEADER}same\tword\tone\tother\n", "line 2, label: "),
        (f"{HEADER}repeated\tword\tone\n", "line 2, b: "),
        (f"{HEADER}\nrepeated\tword\tone\tother\tmore\n", "line 3, beyond: "),
        (f"{HEADER}repeated\tword\t\tother\n", "line 2, a: "),
        (f"{HEADER}repeated\tword\t{'x' * (1 << 21)}\tother\n", "field larger than field limit"),
        ("a,b\none,other\n", "line 2, "),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused_in_one_line(
    app: typer.Typer, tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(text)
    result = CliRunner().invoke(app, ["duplicates", str(file)])
    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00label"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_refused(app: typer.Typer, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "pairs.tsv"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(app, ["duplicates", str(file)])
    assert result.exit_code == 1
    assert result.output.startswith(f"error: {file}: ")


def test_a_rule_is_charged_for_what_it_merges_and_for_what_it_misses() -> None:
    pairs = [
        Pair("repeated", "case", "Tea", "tea"),
        Pair("repeated", "case", "Milk", "milk"),
        Pair("conflicting", "word", "Tea", "milk"),
        Pair("unrelated", "word", "Tea", "car"),
    ]
    found = judged(pairs, lambda a, b: a == "Tea")
    assert found.precision == pytest.approx(1 / 3)
    assert found.recall == 0.5
    assert (found.wrongly("conflicting"), found.wrongly("unrelated"), found.wrongly("reworded")) == (1, 1, 0)


def test_where_nothing_is_found_nothing_is_wrong_and_where_nothing_is_nothing_is_missed() -> None:
    assert (Quality(there=0, found=1, right=0).precision, Quality(there=0, found=1, right=0).recall) == (0.0, 1.0)
    assert (Quality(there=1, found=0, right=0).precision, Quality(there=1, found=0, right=0).recall) == (1.0, 0.0)
