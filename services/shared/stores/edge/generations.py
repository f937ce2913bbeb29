"""The shards of one store, each in a folder of its own: one is in use, the next is made beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

_REMOVED = "removed"
_UNFINISHED = ".unfinished"


class Generations:
    """Numbered folders under one path; the newest that is finished counts, whenever the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def current(self) -> Path:
        """The shard in use; where there is none yet, where it is to be made."""
        return self._path / str(max(self._finished(), default=1))

    @property
    def holds_removed(self) -> bool:
        """Whether points were removed whose bytes may still be in the files."""
        return (self._path / _REMOVED).exists()

    def note_removal(self) -> None:
        """Remember, beyond the end of the process, that points are about to be removed."""
        (self._path / _REMOVED).touch()

    def begin(self) -> Path:
        """The folder for the next shard, which does not count before `choose`."""
        folder = self._path / str(int(self.current.name) + 1)
        shutil.rmtree(folder, ignore_errors=True)
        self._unfinished(folder).touch()
        return folder

    def choose(self, folder: Path) -> None:
        """From here on this shard, and all that is written to it, is the current one."""
        self._unfinished(folder).unlink()

    def finish(self) -> None:
        """Leave nothing of what was removed: the other shards go, now that nobody has them open."""
        self.discard_others()
        (self._path / _REMOVED).unlink(missing_ok=True)

    def discard_others(self) -> None:
        """Remove whatever a death or a failure left beside the current shard."""
        current = self.current
        for folder in self._folders():
            if folder != current:
                shutil.rmtree(folder)
                self._unfinished(folder).unlink(missing_ok=True)

    def _finished(self) -> list[int]:
        return [int(folder.name) for folder in self._folders() if not self._unfinished(folder).exists()]

    def _folders(self) -> list[Path]:
        return [each for each in self._path.glob("*") if each.name.isdecimal() and each.is_dir()]

    def _unfinished(self, folder: Path) -> Path:
        return self._path / f"{folder.name}{_UNFINISHED}"
