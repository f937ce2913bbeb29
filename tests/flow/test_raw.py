"""The raw search finds a word however it was written: the tests that find nothing left rest on it."""

from __future__ import annotations

import base64
import gzip
import mmap
import zipfile
from pathlib import Path

from tests.flow.raw import a_marker, contents, holding


def test_a_word_is_found_plain_in_base64_and_in_compressed_files_though_they_end_in_zeros(tmp_path: Path) -> None:
    word = a_marker()
    (tmp_path / "plain").write_bytes(word.upper().encode() + bytes(4096))
    (tmp_path / "base64").write_bytes(base64.b64encode(b"x" + word.encode()))
    (tmp_path / "gzip").write_bytes(gzip.compress(word.encode()))
    with zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", word)
    assert {path.name for path in tmp_path.iterdir() if path.read_bytes().endswith(b"\0")} == {"plain", "gzip", "zip"}
    assert holding(tmp_path, word) == {"plain": 1, "base64": 1, "gzip": 1, "zip": 1}


def test_a_word_is_found_between_holes_as_soon_as_it_is_written_to_memory(tmp_path: Path) -> None:
    words = [a_marker() for _ in range(3)]
    size = 8 * 2**20
    with (tmp_path / "sparse").open("w+b") as file:
        file.truncate(size)
        with mmap.mmap(file.fileno(), size) as memory:
            for word, place in zip(words, (0, 3 * 2**20 + 4090, size - len(words[2])), strict=True):
                memory[place : place + len(word)] = word.encode()
                assert holding(tmp_path, word) == {"sparse": 1}
            ((_, found),) = contents(tmp_path)
            assert found.strip(b"\0").count(b"\0") > 0
            assert len(found) < size
            assert bytes(memory).replace(b"\0", b"") == found.replace(b"\0", b"")


def test_a_file_of_nothing_but_holes_and_an_empty_one_are_read(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(2**20)
    found = {path.name: data for path, data in contents(tmp_path)}
    assert found["empty"] == b""
    assert set(found["hole"]) == {0}
