"""What can still be read in files, whoever wrote them: a raw search, also for words in base64 or compressed files."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import os
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from uuid import uuid4

from tests.polling import eventually


def a_marker() -> str:
    """A word that nothing else contains, and that no stemmer shortens."""
    return "zq" + uuid4().hex.translate(str.maketrans("0123456789", "ghjklmpqtv"))


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files below a folder that others may write to: what goes meanwhile is left out."""
    for parent, _, names in os.walk(folder):
        for path in (Path(parent) / name for name in names):
            with suppress(OSError):  # a socket, or gone meanwhile
                yield path, _content(path)


def _content(path: Path) -> bytes:
    """All that was ever written to a file; of a hole, where nothing was, the zero that it begins with.

    The vectors are kept in files of up to 32 MB that are holes but for some kilobytes.
    """
    parts: list[bytes] = []
    with path.open("rb", buffering=0) as file:
        end, size = 0, os.fstat(file.fileno()).st_size
        while end < size:
            start = _next(os.SEEK_DATA, file.fileno(), end, size)
            if start > end:
                parts.append(b"\0")
            end = _next(os.SEEK_HOLE, file.fileno(), start, size)
            parts.append(os.pread(file.fileno(), end - start, start))
    return b"".join(parts)


def _next(kind: int, file: int, place: int, size: int) -> int:
    """Where data, or a hole, begins from a place on; the end where there is no more, or it was cut off meanwhile."""
    try:
        return os.lseek(file, place, kind)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size
        raise


def holding(folder: Path, word: str) -> dict[str, int]:
    """How often each file below a folder holds the word, in whatever case; only the files that do."""
    forms = [word.lower().encode(), *_in_base64(word.encode())]
    found = {}
    for path, data in contents(folder):
        if count := _occurrences(data, forms):
            found[str(path.relative_to(folder))] = count
    return found


async def until_gone(folder: Path, *words: str) -> None:
    """Wait until no file below a folder holds any of these words."""

    async def look() -> dict[str, dict[str, int]]:
        return {word: found for word in words if (found := await asyncio.to_thread(holding, folder, word))}

    await eventually(look, lambda found: not found, within=150)


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
