"""A language model that follows a script: it reads turns as a reader labelled them.

It shows how far a language model that reads rightly carries what is known, whatever model is asked later. It goes the
way of all models, so it adds no word, and what does not stand in its turn is dropped.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from services.eval.labels import Labelled
from services.shared.reading.claims import sentence_around

Script = Mapping[str, Sequence[Mapping[str, Any]]]


def script_of(chats: Sequence[Labelled]) -> Script:
    """What the model says about a turn, by its text."""
    script: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for chat in chats:
        texts = {source: turn.text for turn in chat.turns for source in turn.source_ids}
        for claim in chat.labels.claims:
            text = texts[claim.turn]
            about = "user" if claim.of_user else _named(claim.about, text)
            said = {"kind": "fact", "slot": claim.slot, "about": about, "is_new": claim.replaces is not None}
            script[text].append(said | _places(claim.value, text))
        for task in chat.labels.tasks:
            said = {"kind": "task", "slot": "other_fact", "about": "user", "is_new": False}
            script[texts[task.turn]].append(said | _places(task.value, texts[task.turn]))
    return script


def _places(value: str, text: str) -> dict[str, str]:
    begin = text.find(value)
    around = sentence_around(text, (begin, begin + len(value))) if begin >= 0 else (0, 0)
    return {"value": value, "sentence": text[slice(*around)]}


def _named(about: str, text: str) -> str:
    """What a turn calls whom a claim is about: all of the name, its longest word there, or nothing."""
    words = sorted(about.split(), key=len, reverse=True)
    said = (name for name in (about, *words) if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE))
    return next(said, "")


def _read(turn: str, script: Script) -> Sequence[Mapping[str, Any]]:
    """What is said of a turn; what its user did not say themself may be missing in it."""

    def has_its_words(text: str) -> bool:
        words = iter(text.split())
        return all(word in words for word in turn.split())

    return script[min(filter(has_its_words, script), key=len, default="")] if turn else ()


@contextmanager
def scripted_model(script: Script) -> Iterator[str]:
    """Serve the script as an OpenAI-compatible chat model on the loopback interface; its base address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = json.loads(asked["messages"][-1]["content"]).get("turn", "")
            content = json.dumps({"claims": _read(turn, script)})
            raw = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            serving.join()
