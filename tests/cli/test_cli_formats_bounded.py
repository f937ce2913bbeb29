"""What is read from a file takes no more memory than it may, whatever is in it; a refusal says what to do."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from services.shared.commands import archive, transfer
from services.shared.commands.archive import ArchiveError
from services.shared.commands.formats import Format, FormatError, Source, documents, read_turns, source
from services.shared.commands.progress import untold
from services.shared.commands.transfer import read_archive
from services.shared.stores.sqlite import SqliteTextStore
from tests.cli.files import written

LIMIT = 1024 * 1024
MEGABYTE = 1024 * 1024


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source, documents):
        monkeypatch.setattr(module, "MAX_DOCUMENT_BYTES", LIMIT)
    monkeypatch.setattr(source, "MAX_HELD_BYTES", 4 * LIMIT)
    monkeypatch.setattr(documents, "MAX_UNPACKED_BYTES", 16 * LIMIT)


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def packed(content: bytes, name: str = "conversations.json", times: int = 1) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(times):
            made.writestr(f"{number}/{name}", content)
    return file.getvalue()


def filled(unit: bytes, size: int = LIMIT - 100) -> bytes:
    return b"[" + b",".join([unit] * (size // (len(unit) + 1))) + b"]"


BOMBS: dict[str, bytes] = {
    "empty lists": filled(b"[]"),
    "empty objects": filled(b"{}"),
    "numbers": filled(b"1.5"),
    "small objects": filled(b'{"a":1}'),
    "lists of lists": filled(b"[[[[]]]]"),
    "lines of lists": b"\n".join([filled(b"[]", 9_000)] * 110),
    "messages": b'{"messages":' + filled(b"{}") + b"}",
    "too long": b'"' + b"x" * (3 * LIMIT) + b'"',
    "one line": b"x" * (3 * LIMIT),
    "blank": b" " * (3 * LIMIT),
    "not closed": b"[" * (LIMIT - 10),
    "packed": packed(filled(b"[]")),
    "packed, far longer": packed(b" " * (64 * LIMIT)),
    "packed in packed": packed(packed(packed(b"[" + b" " * (9 * LIMIT) + b"]")), "conversations.zip"),
    "many packed": packed(b" " * (LIMIT - 10) + b"[]", times=40),
}
FORMATS: list[Format] = ["chatgpt", "claude", "openai", "zep", "letta", "mem0", "langgraph", "locomo", "jsonl"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
def test_no_file_takes_far_more_than_it_may(tmp_path: Path, format: Format, bomb: bytes) -> None:
    path = written(tmp_path, bomb)

    def read() -> None:
        with pytest.raises(FormatError):
            for _ in read_turns(Source(path, format, "me")):
                pass

    assert peak(read) < 8 * LIMIT


def test_what_would_take_too_much_is_told_so(tmp_path: Path) -> None:
    path = written(tmp_path, BOMBS["small objects"])
    with pytest.raises(FormatError, match=r"bytes of memory: split it$"):
        list(read_turns(Source(path, "openai", "me")))


def test_a_document_of_words_may_be_as_long_as_ever(tmp_path: Path) -> None:
    message = {"role": "user", "content": "We went to the sea, and it was cold: a wind from the north. " * 9}
    count = (LIMIT - 1000) // len(json.dumps(message) + ",")
    path = written(tmp_path, json.dumps([message] * count, separators=(",", ":")).encode())
    assert sum(1 for _ in read_turns(Source(path, "openai", "me"))) == count


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteTextStore]:
    opened = await SqliteTextStore.open(tmp_path / "memory.sqlite3", synchronous="normal")
    yield opened
    await opened.close()


@pytest.mark.parametrize("unit", [b"[]", b"{}", b'{"a":1}', b"[[]]"])
async def test_an_import_reads_no_line_that_takes_too_much(
    store: SqliteTextStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: bytes
) -> None:
    monkeypatch.setattr(archive, "LONGEST_LINE", LIMIT)
    monkeypatch.setattr(archive, "_MOST_HELD", 4 * LIMIT)
    header = archive.encode(archive.Header())
    path = written(tmp_path, header + b'{"turn":' + filled(unit, LIMIT - 1000) + b"}\n", "memory.jsonl")
    tracemalloc.start()
    with pytest.raises(ArchiveError, match="line 2: would take more than"):
        await read_archive(store, path)
    assert tracemalloc.get_traced_memory()[1] < 4 * LIMIT
    tracemalloc.stop()


def test_an_import_holds_no_more_lines_than_one_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LONGEST_LINE", LIMIT)
    record = {"user_id": "me", "kind": "theme", "body": {"x": "y" * (LIMIT // 2)}, "at": "2026-01-01T00:00:00Z"}
    rows = [json.dumps({"record": {**record, "name": f"n{n}"}}).encode() + b"\n" for n in range(40)]
    path = written(tmp_path, archive.encode(archive.Header()) + b"".join(rows), "memory.jsonl")
    assert max(map(len, transfer._batches(path, untold))) == 1
    assert peak(lambda: [len(batch) for batch in transfer._batches(path, untold)]) < 6 * LIMIT
