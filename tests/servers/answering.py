"""A server on the loopback interface that answers posted JSON with what a test says."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Post(NamedTuple):
    """What was posted: where, what, and with which credential."""

    path: str
    body: dict[str, Any]
    credential: str | None


class Reply(NamedTuple):
    """Status, and bytes or what JSON says of the content; of status 0 the connection is closed without a word."""

    status: int
    content: Any
    headers: Mapping[str, str] = {}


@contextmanager
def answering(answer: Callable[[Post], Reply]) -> Iterator[str]:
    """Serve until the block ends; a client may go away in the middle. The base address of the server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = answer(Post(self.path, body, self.headers.get("Authorization")))
            if not reply.status:
                self.close_connection = True
                return
            raw = reply.content if isinstance(reply.content, bytes) else json.dumps(reply.content).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(raw)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *where: Any) -> None:
            """Tell of what is wrong with a test; a client that goes away in the middle is part of one."""
            if not isinstance(sys.exception(), ConnectionError):
                super().handle_error(*where)

    with Quiet(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()
