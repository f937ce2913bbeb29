"""The owner of a data folder: one process at a time, which clients find by the folder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import TextIOWrapper
from pathlib import Path

from services.shared.files import close_to_others, make_folder, write_private

_LOCK = "lock"
_INSTANCE = "instance.json"
_OURS = ("lock", "instance.json*", "nats", "memory.sqlite3*", "vectors*")


class FolderInUse(Exception):
    """Another process works in the data folder; the text names it and the remedy."""


class FolderUnusable(Exception):
    """The data folder cannot be made, read or written; the text says why, and the remedy."""

    def __init__(self, folder: Path, error: OSError) -> None:
        reason = _REASONS.get(error.errno or 0) or error.strerror or str(error)
        super().__init__(f"the data folder {folder} cannot be used: {reason}; choose another with --data")

    @staticmethod
    def is_why(error: OSError) -> bool:
        """Whether an error is one of folders and disks; the network has others."""
        return error.errno in _REASONS


_REASONS = {
    errno.ENOSPC: "the disk is full, or nearly: make room",
    errno.EDQUOT: "the disk is full",
    errno.EROFS: "it is read-only",
    errno.EACCES: "you have no right to",
    errno.EPERM: "you have no right to",
    errno.EEXIST: "there is a file of that name",
    errno.ENOTDIR: "there is a file in its path",
    errno.ENOENT: "nothing can be made there",
}


class NotRunning(Exception):
    """No running instance was found; the text says how to start or name one."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A running memorybus: where it answers."""

    pid: int
    nats: str
    http: str


class FolderLock:
    """Holds a data folder for this process; however the process ends, the operating system lets go of the folder.

    The files in the folder, the memory of many and the password of the bus, are for its owner alone.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIOWrapper | None = None
        self.was_clean = True
        self._is_announced = False
        self.pid = os.getpid()

    def acquire(self, *, room: int = 0) -> None:
        """Take the folder, on a disk that has so many bytes left.

        Raises:
            FolderInUse: somebody else has it.
            FolderUnusable: it cannot be made or written, or there is not that room.
        """
        try:
            self._acquire()
            if shutil.disk_usage(self._folder).free < room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self.release()
            raise FolderUnusable(self._folder, error) from None

    def _acquire(self) -> None:
        make_folder(self._folder)
        self._file = (self._folder / _LOCK).open("a+")
        _close(self._folder)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            owner = self._file.read().strip() or "unknown"
            self.release()
            raise FolderInUse(
                f"the data folder {self._folder} is in use by process {owner}: "
                "stop it, or choose another folder with --data"
            ) from None
        self._file.truncate(0)
        self._file.write(str(self.pid))
        self._file.flush()
        self.was_clean = not (self._folder / _INSTANCE).exists()

    def announce(self, instance: Instance) -> None:
        """Tell clients where this instance answers."""
        write_private(self._folder / _INSTANCE, json.dumps(asdict(instance)))
        self._is_announced = True

    def release(self) -> None:
        """Let go of the folder; clients find nothing there any more.

        The announcement of a crashed instance stays for the next one to see.
        """
        if self._file is not None:
            if self._is_announced:
                (self._folder / _INSTANCE).unlink(missing_ok=True)
            with suppress(OSError):  # bytes that could not be written cannot be written now either
                self._file.close()
            self._file = None


def _close(folder: Path) -> None:
    """Close our files to others, also those of a former version; a folder with other files in it stays as it is."""
    found = list(folder.iterdir())
    ours = [path for path in found if any(path.match(name) for name in _OURS)]
    for path in ours:
        close_to_others(path)
    if len(ours) == len(found) and folder.absolute() != Path.home():
        close_to_others(folder)


def find_instance(folder: Path) -> Instance:
    """The instance that works in a data folder.

    Raises:
        NotRunning: there is none.
    """
    hint = (
        f"nothing runs in {folder}: start it with `memorybus up`, or name the folder in which it runs with --data "
        "FOLDER or MEMORYBUS_DATA, or a bus with --nats URL or MEMORYBUS_NATS_URL"
    )
    try:
        instance = Instance(**json.loads((folder / _INSTANCE).read_text()))
    except PermissionError:
        raise NotRunning(f"{folder} is for its owner alone: ask its owner for an address") from None
    except (OSError, ValueError, TypeError):
        raise NotRunning(hint) from None
    if not _is_locked(folder / _LOCK):
        raise NotRunning(hint)
    return instance


def _is_locked(path: Path) -> bool:
    try:
        with path.open("a") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
