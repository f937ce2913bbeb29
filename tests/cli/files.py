"""Files of turns for tests, as other systems export them too, and what readers say about them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from contracts.v1.turns import Turn
from services.shared.commands.formats import Format, FormatError, Source, read_turns

A_TURN = {"user_id": "u1", "role": "user", "text": "I prefer uv over pip"}


def written(folder: Path, content: object, name: str = "turns.jsonl") -> Path:
    """A file with these bytes, or this value as JSON."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def lines(*values: object) -> bytes:
    """These values as JSON Lines."""
    return b"\n".join(json.dumps(value).encode() for value in values)


def zipped(**documents: object) -> bytes:
    """An archive with these documents."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in documents.items():
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
            archive.writestr(name if name.endswith(".zip") else f"{name}.json", content)
    return file.getvalue()


def turns(
    folder: Path, format: Format, content: object, user: str | None = "me", name: str = "export.json"
) -> list[Turn]:
    """What is read from a file with this content."""
    return list(read_turns(Source(written(folder, content, name), format, user)))


def read(folder: Path, format: Format, content: object, name: str = "export.json") -> tuple[list[str], Source]:
    """The texts of a file with this content, and what is told of it."""
    source = Source(written(folder, content, name), format, "me")
    return [turn.text for turn in read_turns(source)], source


def problem(source: Source) -> str:
    """What is wrong with the file, without the folder it lies in."""
    with pytest.raises(FormatError) as caught:
        list(read_turns(source))
    return str(caught.value).replace(f"{source.path.parent}/", "")


def node(role: str, *parts: Any, parent: str | None = None, at: float | None = None, **fields: Any) -> dict[str, Any]:
    """A message of ChatGPT, in its tree."""
    content = {"content_type": "text", "parts": list(parts)}
    message = {"id": f"m-{parts[0] if parts else ''}", "author": {"role": role}, "create_time": at, "content": content}
    return {"message": message | fields, "parent": parent, "children": []}


def chatgpt(**fields: Any) -> dict[str, Any]:
    """A conversation of ChatGPT in which the first answer was made anew."""
    return {
        "title": "Trip to  Vienna",
        "conversation_id": "c1",
        "create_time": 1_700_000_000.5,
        "current_node": "e",
        "mapping": {
            "root": {"message": None, "parent": None, "children": ["s"]},
            "s": node("system", "", parent="root", metadata={"is_visually_hidden_from_conversation": True}),
            "a": node("user", "I prefer trains", parent="s", at=1_700_000_001.0),
            "b": node("assistant", "not shown any more", parent="a"),
            "c": node("assistant", "search(trains)", parent="a", recipient="browser"),
            "d": node("tool", "a page", parent="c"),
            "e": node("assistant", "Take the night train", {"content_type": "image_asset_pointer"}, parent="d"),
        },
    } | fields


CLAUDE: dict[str, Any] = {
    "uuid": "c2",
    "name": "Tea",
    "created_at": "2025-03-01T10:00:00.123456Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "I like tea", "content": [], "created_at": "2025-03-01T10:00:01Z"},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "Noted. This block is not supported on your current device yet.",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "Noted."},
                {"type": "tool_use", "input": {}},
            ],
        },
    ],
}
