"""The command that prints the quality of near-duplicates, and what it says about files it cannot use."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from services.bench import duplicates
from services.bench.duplicates import Pair, judged
from services.cli.common import out

HEADER = "label\tkind\ta\tb\n"
PAIRS = Path(__file__).with_name("near_duplicates.tsv")


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The command on an app of its own."""
    monkeypatch.setattr(out, "width", 200)
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=duplicates.EPILOG)(duplicates.duplicates)
    return app


def test_it_prints_every_rule_beside_the_others(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, [str(PAIRS)])
    assert result.exit_code == 0
    assert all(name in result.output for name in ("memorybus", "SimHash ≤ 3 alone", "exact, normalized, alone"))


def test_it_shows_the_pairs_it_gets_wrong(app: typer.Typer, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(f"{HEADER}repeated\tname\tI live in [bold]Bonn\tI live in Berlin\n")
    result = CliRunner().invoke(app, [str(file), "--wrong"])
    assert "repeated, judged name:" in result.output
    assert "I live in [bold]Bonn" in result.output


def test_its_help_shows_examples(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.output.count("memorybus bench duplicates tests/quality/near_duplicates.tsv") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no pairs: the first line names the columns"),
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
    result = CliRunner().invoke(app, [str(file)])
    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00label"], ids=["missing", "not UTF-8"])
def test_a_file_that_cannot_be_read_is_refused(app: typer.Typer, tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "pairs.tsv"
    if content is not None:
        file.write_bytes(content)
    result = CliRunner().invoke(app, [str(file)])
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


@pytest.mark.parametrize("answer", [False, True])
def test_a_rule_without_repeats_to_find_has_missed_none(answer: bool) -> None:
    found = judged([Pair("unrelated", "word", "Tea", "car")], lambda a, b: answer)
    assert (found.precision, found.recall) == (0.0 if answer else 1.0, 1.0)
