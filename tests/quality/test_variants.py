"""Names of one person in labelled pairs: half of them was not looked at while the rules were written."""

from pathlib import Path

import pytest

from services.bench.variants import judged, quality, read_pairs

HERE = Path(__file__).parent
FILES = [HERE / "variants.tsv", HERE / "variants_held_out.tsv"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_names_are_joined_only_where_they_are_of_one_person(file: Path) -> None:
    results = judged(read_pairs(file))
    assert quality(results).precision >= 0.98
    assert quality(results).recall >= 0.85
    assert {one.pair.names for one in results if one.found == "joined" and one.pair.label != "same"} == set()


def test_there_are_as_many_pairs_as_promised() -> None:
    pairs = [one for file in FILES for one in read_pairs(file)]
    assert len({(one.one, one.other) for one in pairs}) == len(pairs) >= 200
    assert sum(one.label != "same" for one in pairs) >= 0.45 * len(pairs)
