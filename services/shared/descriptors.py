"""Open files and connections: how many this process may have, and how it says that it has no more."""

from __future__ import annotations

import errno
import os
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from contracts.errors import Unavailable

_MOST = 65_536
_NO_MORE = (errno.EMFILE, errno.ENFILE)


def raise_limit() -> None:
    """Let this process, and those it starts, open as many files as it may, up to 65,536."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST if hard == resource.RLIM_INFINITY else min(hard, _MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def named_when_exhausted() -> Iterator[None]:
    """Raise `Unavailable` with the cause and the remedy for whatever fails because no more files can be opened."""
    try:
        yield
    except Exception as error:
        if _is_exhausted(error):
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            raise Unavailable(
                f"too many open files: all {soft} that this process may have are in use; raise the limit with "
                "`ulimit -n`, or find out who holds connections to it"
            ) from error
        raise


def _is_exhausted(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_MORE:
            return True
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CANTOPEN and not _can_open():
            return True
        error = error.__cause__ or error.__context__
    return False


def _can_open() -> bool:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in _NO_MORE
    return True
