"""The trained file: what is shipped can be read, and one that cannot says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from services.shared.reading.decode import COLUMNS, SIGNS
from services.shared.reading.weights import FORMER, READER, ReaderDamaged, load_former, load_trained

Arrays = dict[str, np.ndarray]


def test_what_is_shipped_has_an_adapter_of_every_linear_map_heads_and_calibrations() -> None:
    trained = load_trained()
    assert trained.version.startswith("reader-")
    assert len([name for name in trained.adapter if name.endswith(".a")]) == 36
    assert trained.adapter.keys().isdisjoint(trained.heads)
    assert trained.heads["out.w"].shape[1] == len(COLUMNS)
    for fit in (trained.calibrations.facts, trained.calibrations.tasks):
        assert (len(fit.weights), len(fit.mean), len(fit.spread)) == (1 + SIGNS, SIGNS, SIGNS)
        assert (fit.spread > 0).all()


def saved(file: Path, change: Callable[[Arrays], object], metadata: dict[str, str] | None) -> Path:
    arrays = load_file(READER)
    change(arrays)
    save_file(arrays, file, metadata=metadata)
    return file


def of_other_outputs(arrays: Arrays) -> None:
    arrays["out.b"] = arrays["out.b"][:-1]


def without_heads(arrays: Arrays) -> None:
    del arrays["left.w"]


def without_calibration(arrays: Arrays) -> None:
    del arrays["sure.tasks"]


def with_no_number(arrays: Arrays) -> None:
    arrays["read.w"][0, 0] = np.nan


def test_a_copy_is_what_it_was_and_none_of_ours_without_a_version(tmp_path: Path) -> None:
    copied = load_trained(saved(tmp_path / "reader.safetensors", lambda _: None, {"version": "reader-copied"}))
    assert copied.version == "reader-copied"
    np.testing.assert_equal(dict(copied.heads), dict(load_trained().heads))
    with pytest.raises(ReaderDamaged, match="install memorybus anew"):
        load_trained(saved(tmp_path / "reader.safetensors", lambda _: None, None))


@pytest.mark.parametrize("change", [of_other_outputs, without_heads, without_calibration, with_no_number])
def test_a_file_of_another_kind_says_what_to_do(tmp_path: Path, change: Callable[[Arrays], object]) -> None:
    with pytest.raises(ReaderDamaged, match=r"reader\.safetensors cannot be used .*: install memorybus anew"):
        load_trained(saved(tmp_path / "reader.safetensors", change, {"version": "reader-other"}))


@pytest.mark.parametrize("kept", [None, 0, 7, 1000, 1_000_000])
def test_a_file_that_is_missing_or_cut_off_says_what_to_do(tmp_path: Path, kept: int | None) -> None:
    cut = tmp_path / "cut.safetensors"
    if kept is not None:
        cut.write_bytes(READER.read_bytes()[:kept])
    with pytest.raises(ReaderDamaged, match=r"cut\.safetensors cannot be used .*: install memorybus anew"):
        load_trained(cut)


def test_the_page_beside_it_is_of_this_file() -> None:
    with safe_open(READER, framework="numpy") as opened:
        version = opened.metadata()["version"]
    assert version in READER.with_suffix(".md").read_text()


def test_former_ones_still_make_their_vectors() -> None:
    files = list(FORMER.iterdir())
    assert files
    for file in files:
        former = load_former(file.stem)
        assert former.version == file.stem
        assert former.adapter.keys() == load_trained().adapter.keys()


@pytest.mark.parametrize("version", ["reader-00000000", "../reader", "", "reader-f8ae4dee.safetensors"])
def test_a_version_that_is_not_there_says_so(version: str) -> None:
    with pytest.raises(ReaderDamaged):
        load_former(version)
