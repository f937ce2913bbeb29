"""Standard output that is checked: what cannot be written ends a command with a sentence, not with a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputLost(Exception):
    """Standard output takes no more; no OSError, which whoever writes may take for one of its own files."""


class ReaderGone(OutputLost):
    """Whoever read standard output has read enough."""


class _Checked(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError as error:
            raise ReaderGone from error
        except OSError as error:
            raise OutputLost(f"standard output cannot be written: {error.strerror}") from error


@contextmanager
def checked_output() -> Iterator[None]:
    """Write standard output through to its end.

    Raises:
        OutputLost: it is closed or full, or its reader has gone; nothing more is written to it.
    """
    if sys.stdout is None:  # the next file to be opened, a database say, would get its number
        raise OutputLost("standard output is closed: send it to a file, or to /dev/null")
    was = sys.stdout
    try:
        raw = _Checked(was.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), was.encoding, was.errors, line_buffering=bool(was.line_buffering)
        )
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputLost:
        os.dup2(os.open(os.devnull, os.O_WRONLY), was.fileno())  # for what is still in the buffers
        raise
