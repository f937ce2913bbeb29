"""A language model that follows a script: it draws facts rightly, as it knows from the judged questions where they are.

It shows how far extraction can carry answers about what changed, whatever model is asked later. Of each question about
a change it names one attribute, by words of the question that were said when the value was given first, and points at
the sentences of users that give the value, then and later. It knows no answers, and adds no word of its own.
"""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from contracts.v1.turns import Turn
from services.eval.datasets import Dataset
from services.shared.commands.formats import Question
from services.shared.core import wordlists
from services.shared.core.analysis import analyze, words_asked

Script = dict[str, list[dict[str, Any]]]

_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 4
_LONGEST = 160
_ATTRIBUTES = wordlists.words("extraction", "attributes")


def script_for(dataset: Dataset) -> Script:
    """What the model says about a turn, by its text."""
    turns = {(turn.user_id, source): turn for turn in dataset.turns for source in turn.source_ids}
    script: Script = defaultdict(list)
    for question in dataset.questions:
        if question.kind != "changed":
            continue
        groups = [[turns[question.user_id, name] for name in names] for names in (question.stale, question.evidence)]
        said = [sorted(group, key=lambda turn: str(turn.created_at)) for group in groups]
        attribute = _attribute(question, next((group for group in said if group), []))
        echoes = {term for group in said for turn in group if turn.role != "user" for term in analyze(turn.text)}
        for turn in (turn for group in said for turn in group if turn.role == "user"):
            script[_spaced(turn.text)].append(_fact(turn, attribute, {*echoes, *analyze(question.text)}))
    return script


def _attribute(question: Question, first: list[Turn]) -> str:
    """Words of the question that were said with the first value, or may name any value."""
    said = {word.casefold() for turn in first for word in _WORD.findall(turn.text)}
    asked = [word for word in words_asked(question.text) if word in said or word in _ATTRIBUTES]
    return " ".join(word for word in asked if _WORD.fullmatch(word))[:48] or "current status"


def _fact(turn: Turn, attribute: str, terms: set[str]) -> dict[str, Any]:
    sentences = [part.strip()[:_LONGEST] for part in _SENTENCE.split(turn.text) if len(part.strip()) > 3]
    span = max(sentences, key=lambda part: len(terms.intersection(analyze(part)))).rstrip("?")
    return {
        "span": span,
        "about": "user",
        "kind": "person",
        "attribute": " ".join(attribute.split()[:_MOST_WORDS]),
        "value": span,
        "type": "fact",
        "many": False,
        "importance": 2,
        "confidence": 0.9,
    }


@contextmanager
def scripted_model(script: Script) -> Iterator[str]:
    """Serve the script as an OpenAI-compatible chat model on the loopback interface; its base address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = json.loads(asked["messages"][-1]["content"]).get("turn", "")
            content = json.dumps({"facts": script.get(_spaced(turn), [])})
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


def _spaced(text: str) -> str:
    return " ".join(text.split())
