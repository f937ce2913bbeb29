"""The documents of a file: one of JSON, one a line, or those in a zip archive, which is read where it lies."""

from __future__ import annotations

import codecs
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pydantic_core import from_json

from services.shared.commands.formats.source import (
    MAX_DOCUMENT_BYTES,
    STDIN,
    FormatError,
    Source,
    check_held,
    without_mark,
)

MAX_UNPACKED_BYTES = 16 * MAX_DOCUMENT_BYTES
"""Bytes of all documents in an archive, as they are when unpacked."""

_JSON = re.compile(r"\.jsonl?$")
_SPACE = re.compile(rb"\s*+")
_PROJECTS = "files of projects, which are not read"
_ZIPS = (b"PK\x03\x04", b"PK\x05\x06")  # the second is an archive without files
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError)
_STRANGE = (NotImplementedError, RuntimeError, ValueError)


def documents(
    source: Source, members: re.Pattern[str] = _JSON, *, projects: re.Pattern[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """The documents of a file with their names. Of an archive those whose path matches, one after the other.

    Those of projects are not read, and it is noted how many there are.

    Raises:
        FormatError: something is no JSON, too long, or not there.
    """
    if source.path == STDIN:
        raw = source.whole()
        is_zip, file = raw.startswith(_ZIPS), io.BytesIO(raw)
    else:
        with source.open() as opened:
            is_zip, file = opened.read(4) in _ZIPS, None
    if is_zip:
        with file or source.open() as archive:
            yield from _unpacked(archive, source, members, projects)
    else:
        yield source.name, document(file.getvalue() if file else source.whole(), source.name)


def document(raw: bytes, name: str) -> Any:
    """The JSON document, or the list of the documents of a JSON Lines file."""
    check_held(raw, name)
    end = raw.find(b"\n", _SPACE.match(raw).end())  # type: ignore[union-attr]
    if end < 0 or _SPACE.fullmatch(raw, end) or not _is_json(raw[:end]):
        return _parsed(raw, name)
    lines = enumerate(io.BytesIO(raw), start=1)
    return [_parsed(line, f"{name}:{number}") for number, line in lines if line.strip()]


def _is_json(raw: bytes) -> bool:
    try:
        _parsed(raw, "")
    except FormatError:
        return False
    return True


def _parsed(raw: bytes, where: str) -> Any:
    """The value of a JSON document; half a character (a lone surrogate) in it is left to whoever reads that text."""
    if not raw.strip():
        raise FormatError(f"{where}: is empty")
    try:
        return from_json(raw)
    except ValueError as error:
        problem = str(error)
    if "hex escape" in problem:
        with suppress(ValueError, RecursionError):
            return json.loads(raw)
    try:
        for _ in codecs.iterdecode(io.BytesIO(raw), "utf-8"):
            pass  # a line at a time: the whole may take four times its bytes
    except UnicodeDecodeError:
        raise FormatError(f"{where}: is not UTF-8: save it as UTF-8") from None
    raise FormatError(f"{where}: is not JSON: {problem}")


def _unpacked(
    file: Any, source: Source, members: re.Pattern[str], projects: re.Pattern[str] | None
) -> Iterator[tuple[str, Any]]:
    """The matching documents by path. Sizes are counted, for what an archive says about them may be wrong."""
    name, room = source.name, MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(file) as archive:
            paths = sorted(path for path in archive.namelist() if "__MACOSX" not in path)
            found = [path for path in paths if members.search(path)]
            if not found:
                raise FormatError(f"{name}: nothing in the archive is of this --format{_inner(paths)}")
            if projects and (passed := sum(projects.search(path) is not None for path in paths)):
                source.notes[_PROJECTS] += passed
            for path in dict.fromkeys(found):
                where = f"{name}: {path!r}"
                with archive.open(path) as member:
                    raw = member.read(min(room, MAX_DOCUMENT_BYTES) + 1)
                room -= len(raw)
                if room < 0 or len(raw) > MAX_DOCUMENT_BYTES:
                    raise FormatError(f"{where}: unpacks to more than {MAX_DOCUMENT_BYTES:,} bytes: split it")
                yield where, document(without_mark(raw, where), where)
    except _DAMAGED as error:
        raise FormatError(f"{name}: the archive is damaged: {error}: download it again") from None
    except _STRANGE as error:
        problem = f"the archive cannot be read: {error}: unpack it, and publish what is in it"
        raise FormatError(f"{name}: {problem}") from None


def _inner(paths: list[str]) -> str:
    """What to do with the archives that are in an archive."""
    inner = next((path for path in paths if path.lower().endswith(".zip")), None)
    return f", but {inner!r} may be: unpack this one, and publish that" if inner else ""
