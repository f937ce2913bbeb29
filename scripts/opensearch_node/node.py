"""One OpenSearch process on the loopback interface, known by its data folder."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import configuration
from configuration import Wish
from distribution import ROOTS_PLACE, VERSION, distribution
from jdk import find_java
from machine import LOOPBACK, Account, NodeError, command_of, is_taken, locked, say, write_new

STOP_PATIENCE = 30.0


class Node:
    """The node of one data folder; at most one process runs for it.

    The folder holds `opensearch.pid`, `opensearch.log` and `node/`, whose parts belong to the user of the server.
    """

    def __init__(self, folder: Path, account: Account) -> None:
        self.folder = folder
        self.account = account
        self._link = folder / "node"
        self._pid_file = folder / "opensearch.pid"
        self._log = folder / "opensearch.log"

    @property
    def home(self) -> Path:
        """Where the files of the server really are."""
        return self._link.resolve()

    def pid(self) -> int | None:
        """The process id of the running server; None when it does not run."""
        with suppress(OSError, ValueError):
            pid = int(self._pid_file.read_text())
            # The id may have been given to somebody else since: only a server of this folder counts.
            if f"{configuration.mark(self.home)} " in command_of(pid):
                return pid
        return None

    def url(self) -> str | None:
        """Where the running server is asked; None before it listens."""
        port = self._port() if self.pid() is not None else None
        return f"http://{LOOPBACK}:{port}" if port else None

    def start(self, wish: Wish) -> str:
        """Start the server unless it runs, and return its url when it answers queries.

        Raises:
            MissingError: no JDK, no Maven, or nothing can be fetched.
            NodeError: the port is taken, or the server ended or did not answer in time.
        """
        with locked(self.folder):
            if self.pid() is not None:
                return self._until_ready(wish.patience)
            java, server = find_java(self.account), distribution(self.account)
            self._prepare(wish)
            try:
                self._launch(java, server, wish)
                return self._until_ready(wish.patience)
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End the server and wait until it is gone; nothing happens when it does not run."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if (pid := self.pid()) is None:
                break
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
                os.kill(pid, signal.SIGCONT)  # a paused process would not hear the first
            self._until_gone()
        if (pid := self.pid()) is not None:
            raise NodeError(f"the server of {self.folder} does not end: look at process {pid}")
        self._pid_file.unlink(missing_ok=True)

    def wipe(self) -> None:
        """Stop, and remove what this made; other files in the folder stay."""
        if not self.folder.is_dir():
            return
        with locked(self.folder):
            self.stop()
            if self._link.exists():
                self._must_be_ours()
                shutil.rmtree(self.home)
            for file in (self._link, self._log, self._earlier_log):
                if file.is_symlink() or file.is_file():
                    file.unlink()
            with suppress(OSError):  # somebody else's files are in it
                self.folder.rmdir()

    @property
    def _earlier_log(self) -> Path:
        return self._log.with_suffix(".log.1")

    @property
    def _ports_file(self) -> Path:
        return self.home / "logs" / "http.ports"

    def _port(self) -> int | None:
        """The port the server said it listens on, now or when it ran last."""
        with suppress(OSError, UnicodeDecodeError):
            if found := re.search(rf"^{LOOPBACK}:(\d{{1,5}})$", self._ports_file.read_text(), re.MULTILINE):
                return int(found[1])
        return None

    def _prepare(self, wish: Wish) -> None:
        """Make the folders and write the configuration."""
        if self._link.is_symlink() and not self._link.exists():
            raise NodeError(f"the data of {self._link} is gone ({self.home}): `scripts/opensearch wipe` starts afresh")
        if self._link.exists():
            self._must_be_ours()
        else:
            self._make_home()
        port = wish.port or self._earlier_port()
        if port and is_taken(port):
            raise NodeError(f"port {port} is taken: stop what listens there, or let --port 0 find a free one")
        config = self.home / "config"
        settings = configuration.settings(self.home, port, disk_threshold=wish.disk_threshold)
        write_new(config / "opensearch.yml", settings)
        write_new(config / "log4j2.properties", configuration.LOGGING)
        self._ports_file.unlink(missing_ok=True)

    def _must_be_ours(self) -> None:
        if not (self.home / "config" / "opensearch.yml").is_file():
            raise NodeError(f"{self._link} was not made by scripts/opensearch: choose another --data, or move it away")

    def _make_home(self) -> None:
        """A folder with four that the user of the server owns; elsewhere and linked where that user cannot come."""
        if self.account.reaches(self.folder):
            self._link.mkdir()
        else:
            ROOTS_PLACE.mkdir(parents=True, exist_ok=True)
            self._link.symlink_to(tempfile.mkdtemp(prefix="node-", dir=ROOTS_PLACE))
            self.home.chmod(0o755)
        for part in ("config", "data", "logs", "tmp"):
            folder = self.home / part
            folder.mkdir()
            self.account.own(folder)

    def _earlier_port(self) -> int:
        """The port it had before, so that clients find it again after a restart; 0 when that is taken."""
        port = self._port() or 0
        return 0 if port and is_taken(port) else port

    def _launch(self, java: Path, server: Path, wish: Wish) -> None:
        say(f"starting OpenSearch {VERSION} in {self.home} ...")
        if self._log.exists():
            self._log.replace(self._earlier_log)
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                configuration.command(java, server, self.home, wish),
                cwd=server,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(self.home)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.account.uid,
                group=self.account.gid,
                extra_groups=self.account.groups,
            )
        self._pid_file.write_text(f"{process.pid}\n")
        while self.pid() is None and process.poll() is None:  # the kernel shows a command line a moment after it began
            time.sleep(0.01)

    def _until_ready(self, patience: float) -> str:
        began = time.monotonic()
        while not (self._is_ready() and (url := self.url())):
            if self.pid() is None:
                raise NodeError(f"the server ended; the end of its log says:\n{self._end_of_log()}")
            if time.monotonic() - began > patience:
                raise NodeError(f"no answer within {patience:.0f} s; the end of its log says:\n{self._end_of_log()}")
            time.sleep(0.2)
        say(f"answers after {time.monotonic() - began:.1f} s")
        return url

    def _is_ready(self) -> bool:
        """Whether every primary shard answers: the port does so seconds earlier, also after a restart."""
        port = self._port()
        if port is None:
            return False
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
        try:
            connection.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=2s")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _until_gone(self) -> None:
        deadline = time.monotonic() + STOP_PATIENCE
        while self.pid() is not None and time.monotonic() < deadline:
            time.sleep(0.05)

    def _end_of_log(self) -> str:
        with suppress(OSError):
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-25:])
        return "(there is no log)"
