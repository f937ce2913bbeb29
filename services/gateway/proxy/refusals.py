"""Refusals: what the proxy does not pass on, and what may be asked of a model's server with the operator's key.

Whoever has a key of memorybus may have the model answer. What others, or the operator, keep at the model's server
(files, stored answers, fine-tuned models, voices) is neither shown nor changed, nor named in a request.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ANSWERED = frozenset(
    """/chat/completions /responses /messages /messages/count_tokens /completions /embeddings /moderations
    /audio/speech /audio/transcriptions /audio/translations /images/generations /images/edits
    /images/variations""".split()
)
"""Paths below `/v1` at which something is sent and answered, and nothing that others have is shown."""

_MODELS = re.compile(r"/models(?:/(?!\.+(?:/|$))[\w.:@~+-]+)*/?")

_NOT_SHARED = (
    "This would show or change what others have at the model's server: it is passed on with the caller's own key only."
)
_NAMED_THERE = (
    "The field {} may name what others have at the model's server, which is asked with the operator's key: send what "
    "was said yourself."
)
_NAMES = frozenset(
    "previous_response_id conversation container container_id file_id file_ids vector_store_ids skill_id".split()
)
"""Fields that name what is kept at the model's server, wherever they stand in a request."""

_BY_ID = frozenset("audio prompt voice".split())
"""Fields that name it when they hold an object with an id."""


class Refusal(Exception):
    """A request that the proxy answers itself with an error, in the words of the API."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def refuse_what_is_of_others(method: str, path: str) -> None:
    """Refuse with the operator's key all but sending something to a model, and looking which models there are.

    Raises:
        Refusal: it is something else.
    """
    if not (path in _ANSWERED if method == "POST" else method in ("GET", "HEAD") and _MODELS.fullmatch(path)):
        raise Refusal(403, "not_shared", _NOT_SHARED)


def refuse_names_of_others(raw: bytes) -> None:
    """Refuse a body that names what is kept at the model's server, or that cannot be looked through.

    Every pair of every object is looked at as it is read: of two fields of one name a parser keeps one.

    Raises:
        Refusal: it is so.
    """
    try:
        json.loads(raw, object_pairs_hook=_look)
    except (ValueError, RecursionError):
        raise Refusal(400, "invalid_request", "The body is no JSON.") from None


class _WithId:
    """Stands for an object that has an id, so that one that holds it is seen to."""


class _Reference(_WithId):
    """Stands for an object that has hardly more."""


def _look(pairs: list[tuple[str, Any]]) -> object:
    for name, value in pairs:
        if _is_of_others(name, value):
            raise Refusal(403, "not_shared", _NAMED_THERE.format(name))
    fields = dict(pairs)
    if not isinstance(fields.get("id"), str):
        return True
    return _Reference() if fields.keys() <= {"id", "type", "object", "status"} else _WithId()


def _is_of_others(name: str, value: object) -> bool:
    if name in _NAMES:
        return value is not None
    if name == "input":  # its items may be references; what a tool is given is no list, and may have any fields
        return isinstance(value, list) and any(isinstance(item, _Reference) for item in value)
    return (name in _BY_ID and isinstance(value, _WithId)) or (name, value) == ("type", "item_reference")
