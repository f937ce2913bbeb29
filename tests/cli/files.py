"""Files of turns for tests, and what readers say about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.shared.commands.formats import FormatError, Source, read_turns

A_TURN = {"user_id": "u1", "role": "user", "text": "I prefer uv over pip"}


def written(folder: Path, content: object, name: str = "turns.jsonl") -> Path:
    """A file with these bytes, or this value as JSON."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def lines(*values: object) -> bytes:
    """These values as JSON Lines."""
    return b"\n".join(json.dumps(value).encode() for value in values)


def problem(source: Source) -> str:
    """What is wrong with the file, without the folder it lies in."""
    with pytest.raises(FormatError) as caught:
        list(read_turns(source))
    return str(caught.value).replace(f"{source.path.parent}/", "")
