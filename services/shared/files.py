"""Files and folders that nobody but their owner may read."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_folder(path: Path) -> None:
    """Make a folder for its owner alone; one that exists stays as it is.

    Raises:
        OSError: there is a file of that name, or the folder cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def close_to_others(path: Path) -> None:
    """Take all rights on a file or folder from everybody but its owner.

    What belongs to somebody else stays as it is, and so do links and folders that are everybody's, as /tmp is.
    """
    with suppress(OSError):
        found = path.lstat()
        is_shared = stat.S_ISLNK(found.st_mode) or found.st_mode & stat.S_ISVTX
        if found.st_uid == os.geteuid() and not is_shared:
            path.chmod(stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)


def write_private(path: Path, text: str) -> None:
    """Write a file for its owner alone, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
