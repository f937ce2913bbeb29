"""What can still be read in files, whoever wrote them: a raw search, also for words in base64 or compressed files."""

from __future__ import annotations

import base64
import gzip
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from uuid import uuid4


def a_marker() -> str:
    """A word that nothing else contains, and that no stemmer shortens."""
    return "zq" + uuid4().hex.translate(str.maketrans("0123456789", "ghjklmpqtv"))


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files below a folder that others may write to: what goes meanwhile is left out."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with suppress(OSError):  # a socket, or gone meanwhile
                yield path, path.read_bytes()


def holding(folder: Path, word: str) -> dict[str, int]:
    """How often each file below a folder holds the word, in whatever case; only the files that do."""
    forms = [word.lower().encode(), *_in_base64(word.encode())]
    found = {}
    for path, data in contents(folder):
        if count := _occurrences(data, forms):
            found[str(path.relative_to(folder))] = count
    return found


def _occurrences(data: bytes, forms: list[bytes]) -> int:
    written = data.rstrip(b"\0")  # files are made longer than what is in them; compressed ones may end in zeros
    return sum(_count(each, forms) for each in (written, *_unpacked(data)))


def _count(data: bytes, forms: list[bytes]) -> int:
    return data.lower().count(forms[0]) + sum(data.count(form) for form in forms[1:])


def _unpacked(data: bytes) -> list[bytes]:
    """What a compressed file holds."""
    if data.startswith(b"\x1f\x8b"):
        return [gzip.decompress(data)]
    if data.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return [archive.read(name) for name in archive.namelist()]
    return []


def _in_base64(word: bytes) -> list[bytes]:
    """The word as it looks within base64, wherever in a group of three bytes it begins."""
    forms = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + word)
        first = -(-before * 4 // 3)  # characters that also depend on what stands before
        last = (before + len(word)) * 4 // 3  # and those that depend on what follows
        forms.append(whole[first:last])
    return forms
