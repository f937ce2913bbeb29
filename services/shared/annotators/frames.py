"""How the annotator and its processes talk: JSON over pipes, each message after its length."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

LENGTH = 4  # bytes, big-endian
READY = "ready"
"""The first message of a process, when its model is loaded."""

FoundEntity = tuple[str, str, float]
"""Text, label, confidence."""
FoundPhrase = tuple[str, float]
"""Text, confidence."""
Found = tuple[list[FoundEntity], list[FoundPhrase]]
"""What one text contains."""


def encode(message: Any) -> bytes:
    """The message as a frame. Unpaired surrogates survive, as JSON escapes them."""
    content = json.dumps(message).encode("ascii")
    return len(content).to_bytes(LENGTH, "big") + content


def decode(content: bytes) -> Any:
    """The message in the content of a frame."""
    return json.loads(content)


def read(stream: BinaryIO) -> Any | None:
    """The next message; None when the other side is gone."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    content = stream.read(int.from_bytes(head, "big"))
    return decode(content) if len(content) == int.from_bytes(head, "big") else None
