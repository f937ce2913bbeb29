"""What can still be read in files, whoever wrote them: a raw search, also for words that are wrapped in base64."""

from __future__ import annotations

import base64
from pathlib import Path
from uuid import uuid4


def a_marker() -> str:
    """A word that nothing else contains, and that no stemmer shortens."""
    return "zq" + uuid4().hex.translate(str.maketrans("0123456789", "ghjklmpqtv"))


def holding(folder: Path, word: str) -> dict[str, int]:
    """How often each file below a folder holds the word, in whatever case; only the files that do."""
    forms = [word.lower().encode(), *_in_base64(word.encode())]
    found = {}
    for path in folder.rglob("*"):
        if count := _occurrences(path, forms):
            found[str(path.relative_to(folder))] = count
    return found


def _occurrences(path: Path, forms: list[bytes]) -> int:
    try:
        data = path.read_bytes()
    except OSError:  # a folder, a socket, or gone meanwhile
        return 0
    lowered = data.lower()
    return lowered.count(forms[0]) + sum(data.count(form) for form in forms[1:])


def _in_base64(word: bytes) -> list[bytes]:
    """The word as it looks within base64, wherever in a group of three bytes it begins."""
    forms = []
    for before in range(3):
        whole = base64.b64encode(b"\0" * before + word)
        first = -(-before * 4 // 3)  # characters that also depend on what stands before
        last = (before + len(word)) * 4 // 3  # and those that depend on what follows
        forms.append(whole[first:last])
    return forms
