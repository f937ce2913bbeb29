"""Names of one person in labelled pairs: half of them was not looked at while the rules were written."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from services.bench import variants
from services.bench.variants import judged, precision, read_pairs, recall

HERE = Path(__file__).parent
FILES = [HERE / "variants.tsv", HERE / "variants_held_out.tsv"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_names_are_joined_only_where_they_are_of_one_person(file: Path) -> None:
    results = judged(read_pairs(file))
    assert precision(results) >= 0.98
    assert recall(results) >= 0.85
    assert {one.pair.names for one in results if one.verdict == "joined" and one.pair.label != "same"} == set()


def test_there_are_as_many_pairs_as_promised() -> None:
    pairs = [one for file in FILES for one in read_pairs(file)]
    assert len({(one.one, one.other) for one in pairs}) == len(pairs) >= 200
    assert sum(one.label != "same" for one in pairs) >= 0.45 * len(pairs)


@pytest.fixture
def app() -> typer.Typer:
    """The command on an app of its own."""
    app = typer.Typer(rich_markup_mode="rich")
    app.command(epilog=variants.EPILOG)(variants.variants)
    return app


def test_the_command_prints_precision_and_what_is_wrong(app: typer.Typer, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("label\tkind\tnames\tone\tother\nsame\thard\tBo / Al\tBo [b]sings[/b]\tAl sings\n")
    result = CliRunner().invoke(app, [str(file), "--wrong"])
    assert result.exit_code == 0, result.output
    assert "precision 1.000" in " ".join(result.output.split())
    assert "[b]sings[/b]" in result.output


@pytest.mark.parametrize(
    "text", ["", "label\tkind\tnames\tone\tother\n", "label\tkind\tnames\tone\tother\nsame\ta\tb\tc\td\n"]
)
def test_the_command_refuses_a_file_without_pairs(app: typer.Typer, tmp_path: Path, text: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(text)
    result = CliRunner().invoke(app, [str(file)])
    assert result.exit_code == 1
    assert result.output.startswith(f"error: {file}: ")
