"""The raw search finds a word however it was written: the tests that find nothing left rest on it."""

from __future__ import annotations

import base64
import gzip
import zipfile
from pathlib import Path

from tests.flow.raw import a_marker, holding


def test_a_word_is_found_plain_in_base64_and_in_compressed_files_though_they_end_in_zeros(tmp_path: Path) -> None:
    word = a_marker()
    (tmp_path / "plain").write_bytes(word.upper().encode() + bytes(4096))
    (tmp_path / "base64").write_bytes(base64.b64encode(b"x" + word.encode()))
    (tmp_path / "gzip").write_bytes(gzip.compress(word.encode()))
    with zipfile.ZipFile(tmp_path / "zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside", word)
    assert {path.name for path in tmp_path.iterdir() if path.read_bytes().endswith(b"\0")} == {"plain", "gzip", "zip"}
    assert holding(tmp_path, word) == {"plain": 1, "base64": 1, "gzip": 1, "zip": 1}
