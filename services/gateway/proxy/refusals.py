"""Refusals: what the proxy does not pass on, and what may be asked of a model's server with the operator's key.

Whoever has a key of memorybus may have the model answer. What others, or the operator, keep at the model's server
(files, stored answers, fine-tuned models, voices) is neither shown nor changed, nor named in a request.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from services.gateway.proxy.bodies import has_too_many_parts

_ANSWERED = frozenset(
    """/chat/completions /responses /messages /messages/count_tokens /completions /embeddings /moderations
    /audio/speech /audio/transcriptions /audio/translations /images/generations /images/edits
    /images/variations""".split()
)
"""Paths below `/v1` at which something is sent and answered, and nothing that others have is shown."""

_FORMS = frozenset("/audio/transcriptions /audio/translations /images/edits /images/variations".split())
"""Those of them at which files are sent, in a form."""

_MODELS = re.compile(r"/models(?:/(?!\.+(?:/|$))[\w.:~+-]+)*")
_PART = re.compile(r"(?!\.+$)[\w.:~+,=!$&'()* -]+")
"""A part of a path that every server reads alike: nothing in it parts, ends or escapes."""

NO_PATH = "There is no such path: is a slash too many in it, or a character that has no place in one?"
_UNREADABLE = "With the operator's key a body is JSON, or a form where files are sent; this one is neither."
_TOO_MANY = "With the operator's key every part of a body is looked at, and this one has too many."
_NOT_SHARED = (
    "This would show or change what others have at the model's server: it is passed on with the caller's own key only."
)
_NAMED_THERE = (
    "The field {} may name what others have at the model's server, which is asked with the operator's key: send what "
    "was said yourself."
)
_NAMES = frozenset(
    """previousresponseid conversation container containerid fileid fileids vectorstoreid vectorstoreids skillid
    connectorid cachedcontent""".split()
)
"""Fields that name what is kept at the model's server, wherever they stand in a request; however they are spelt."""

_REFERRING = ("input", "content")
"""Fields whose items may be references."""

_BY_ID = frozenset("audio prompt voice".split())
"""Fields that name it when they hold an object with an id."""


_FIELD_NAME = re.compile(rb"(?<!\w)name(\*?)[ \t]*=[ \t]*\"?([^\";\r\n]{1,256})", re.IGNORECASE)
_LAST_NAME = re.compile(r"[\w-]+(?=\W*$)")
_TUNED = re.compile(r"(?:^|[/:])\s*ft[:-]", re.IGNORECASE)
_TUNED_IN_FORM = re.compile(rb"\n\r?\n(?:[^\r\n]{0,256}[/:])?[ \t]*ft[:-]", re.IGNORECASE)
_DESCRIBES = frozenset("id type object status role name phase".split())
"""Fields of an item that say what it is, and none of what was said."""


class Refusal(Exception):
    """A request that the proxy answers itself with an error, in the words of the API."""

    def __init__(self, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers or {}


def plain_path(raw: bytes, *, is_shared: bool) -> str:
    """A path as every server reads it, with nothing in it left to decode.

    With a key that is shared no slash may be encoded: some servers part a path there, some do not.

    Raises:
        Refusal: servers may differ in how they read it.
    """
    try:
        path = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        path = "//"
    path = path.removesuffix("/")
    begins = raw[:1] in (b"", b"/") and not (is_shared and b"%2f" in raw.lower())
    if not begins or not all(map(_PART.fullmatch, path.split("/")[1:])):
        raise Refusal(404, "not_found", NO_PATH)
    return path


def refuse_what_is_of_others(method: str, path: str, query: bytes = b"") -> None:
    """Refuse with the operator's key all but sending something to a model, and looking which models there are.

    Raises:
        Refusal: it is something else.
    """
    is_open = path in _ANSWERED if method == "POST" else method in ("GET", "HEAD") and _MODELS.fullmatch(path)
    if not is_open or _TUNED.search(path):
        raise Refusal(403, "not_shared", _NOT_SHARED)
    asked = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    if name := next((name for name, _ in asked if _plain(name) in _NAMES), None):
        raise Refusal(403, "not_shared", _NAMED_THERE.format(name[:64]))


def _plain(name: str) -> str:
    """A name of a field without what spellings differ in; of one in brackets the last."""
    last = _LAST_NAME.search(name)
    return (last[0] if last else "").replace("_", "").replace("-", "").lower()


def refuse_names_of_others(path: str, content_type: str, raw: bytes) -> None:
    """Refuse a body that names what is kept at the model's server, or that cannot be looked through.

    What counts is what a server would read, whatever the body is said to be. Every pair of every object is looked at
    as it is read: of two fields of one name a parser keeps one.

    Raises:
        Refusal: it is so.
    """
    if not raw.strip():
        return
    if path in _FORMS and content_type.strip().lower().startswith("multipart/form-data"):
        _look_through_form(raw)
        return
    if has_too_many_parts(raw):
        raise Refusal(413, "too_large", _TOO_MANY)
    try:
        json.loads(raw, object_pairs_hook=_look)
    except (ValueError, RecursionError):
        raise Refusal(400, "invalid_request", _UNREADABLE) from None


def _look_through_form(raw: bytes) -> None:
    for encoded, name in _FIELD_NAME.findall(raw):
        if encoded or _plain(unquote_to_bytes(name).decode(errors="replace")) in _NAMES:
            raise Refusal(403, "not_shared", _NAMED_THERE.format(name.decode("ascii", "replace")[:64]))
    if _TUNED_IN_FORM.search(raw):
        raise Refusal(403, "not_shared", _NAMED_THERE.format("model"))


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
    says = any(value for name, value in pairs if name not in _DESCRIBES)
    return _WithId() if says else _Reference()


def _is_of_others(name: str, value: object) -> bool:
    if _plain(name) in _NAMES:  # an object without an id says what a field is, as the schemas of tools do
        return value is not None and value is not True
    if name == "model":
        named = value if isinstance(value, list) else [value]
        return any(isinstance(one, str) and _TUNED.search(one) is not None for one in named)
    if name in _REFERRING:  # what a tool is given is no list, and may have any fields
        return isinstance(value, list) and any(isinstance(item, _Reference) for item in value)
    return (name in _BY_ID and isinstance(value, _WithId)) or (name, value) == ("type", "item_reference")
