"""What a node asks of the machine: an account to run as, locks, processes, ports; and how failures are told."""

from __future__ import annotations

import fcntl
import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"


class NodeError(Exception):
    """The node could not do what was asked; the text says why and what to do."""


class MissingError(NodeError):
    """This machine lacks something that a node needs; the text says what to install or to set."""


def say(line: str) -> None:
    """Tell the user how far it is; standard output is kept for the answer."""
    print(line, file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Account:
    """The user a server runs as; without ids, whoever runs this."""

    uid: int | None = None
    gid: int | None = None

    @property
    def groups(self) -> list[int] | None:
        """Further groups: none for an account that is put on, unchanged otherwise."""
        return None if self.uid is None else []

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a short command as this user and return what it printed."""
        return subprocess.run(
            [str(word) for word in command],
            user=self.uid,
            group=self.gid,
            extra_groups=self.groups,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
        )

    def reaches(self, folder: Path) -> bool:
        """Whether this user can enter the folder, or the nearest one above it that exists."""
        if self.uid is None:
            return True
        while not folder.exists():
            folder = folder.parent
        return self.run("/bin/sh", "-c", 'cd "$1"', "sh", folder).returncode == 0

    def own(self, folder: Path) -> None:
        """Give the folder to this user alone."""
        folder.chmod(0o700)
        if self.uid is not None and self.gid is not None:
            os.chown(folder, self.uid, self.gid)


def server_account() -> Account:
    """Whoever runs this; `nobody` for root, whom the server refuses."""
    if os.geteuid() != 0:
        return Account()
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make the folder and hold its lock; whoever comes second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_new(path: Path, text: str) -> None:
    """Write a file in a folder of another user: never through a link that lies there."""
    path.unlink(missing_ok=True)
    with path.open("x") as file:
        file.write(text)


def command_of(pid: int) -> str:
    """The command line of a process; empty when there is none, or when it has ended and waits for its parent."""
    if Path("/proc/self").exists():
        with suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        return ""
    listing = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout


def is_taken(port: int) -> bool:
    """Whether somebody listens on that port of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
        return False
