"""What a request wishes of its memory: in fields of its body, or in headers of the same names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import Headers

from services.gateway.proxy.dialects.content import Json, member

_IN_METADATA = "memory_task"
"""The field that may stand in `metadata` as well, which some clients alone can set."""

_MAY_BE_EMPTY = ("memory-id", "memory-task")
"""Headers that programs send so which have nothing to put there."""

_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
"""What headers say for yes and no."""

_LINE = "text of 1 to 256 characters on one line"
Line = Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")]


class BadField(ValueError):
    """A wish is not as it must be, or unknown; the text says which, and what it may be."""


class Wishes(BaseModel):
    """What the fields of a body wish."""

    model_config = ConfigDict(hide_input_in_errors=True, str_strip_whitespace=True)

    memory_id: Annotated[Line, Field(min_length=1)] | None = Field(
        None, description=f"the name of a conversation: {_LINE}"
    )
    memory_top_k: int | None = Field(None, ge=1, le=200, description="a whole number from 1 to 200")
    memory_incognito: bool | None = Field(None, description="true or false")
    memory_task: bool | Line | None = Field(None, description="the name of a task, true or false")


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has signs that are not shown")
    return text


def _digits(text: str) -> str:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("it has more than digits")
    return text


def _word(text: str) -> bool:
    if text.lower() not in _WORDS:
        raise ValueError("it is neither yes nor no")
    return _WORDS[text.lower()]


Shown = Annotated[Line, AfterValidator(_printable)]


class HeaderWishes(Wishes):
    """What headers wish, which name the space as well, and the user, whom the door knows: texts, as they are typed."""

    memory_id: Shown | None = Field(None, description=f"the name of a conversation: {_LINE}")
    memory_top_k: Annotated[int, BeforeValidator(_digits)] | None = Field(
        None, ge=1, le=200, description="a whole number from 1 to 200"
    )
    memory_incognito: Annotated[bool, BeforeValidator(_word)] | None = Field(None, description="true or false")
    memory_task: Shown | None = Field(None, description=f"the name of a task, true or false: {_LINE}")
    memory_space: Shown | None = Field(None, description=f"the name of a space: {_LINE}")
    memory_user: str | None = None


W = TypeVar("W", bound=Wishes)


def wishes_in(body: Json) -> Wishes:
    """The wishes of a body.

    Raises:
        BadField: one of them is not as it must be, or there is none of this name.
    """
    fields = body if isinstance(body, dict) else {}
    _refuse_unknown((name for name in fields if name.startswith("memory_")), list(Wishes.model_fields))
    if (told := member(body, "metadata", _IN_METADATA)) is not None:
        fields = {_IN_METADATA: told, **fields}
    return _checked(Wishes, fields, strict=True)


def wishes_of(headers: Headers) -> HeaderWishes:
    """The wishes of headers. Nothing is kept of a chat whose header is misspelt: it may have asked for that.

    Raises:
        BadField: one of them is not as it must be, comes twice, or there is none of this name.
    """
    named = [name for name in headers if name.startswith(("memory-", "memory_"))]
    _refuse_unknown(named, [name.replace("_", "-") for name in HeaderWishes.model_fields])
    if twice := next((name for name in named if len(headers.getlist(name)) > 1), None):
        raise BadField(f"the header {twice} came twice: send it once")
    given = {name: headers[name].strip() for name in named if headers[name].strip() or name not in _MAY_BE_EMPTY}
    if empty := next((name for name, text in given.items() if not text), None):
        raise BadField(f"the header {empty} is empty: leave it out, or give it a value")
    try:
        texts = {name.replace("-", "_"): text.encode("latin-1").decode() for name, text in given.items()}
    except UnicodeDecodeError:
        raise BadField(f"the headers {', '.join(given)} have to be UTF-8") from None
    return _checked(HeaderWishes, texts, strict=False)


def _refuse_unknown(named: Iterable[str], known: list[str]) -> None:
    if unknown := next((name for name in named if name not in known), None):
        raise BadField(f"{unknown[:64]!r} says nothing to the memory: there are {', '.join(known)}")


def _checked(wishes: type[W], given: dict[str, Json], *, strict: bool) -> W:
    try:
        return wishes.model_validate(given, strict=strict)
    except ValidationError as error:
        name = str(error.errors(include_url=False, include_context=False, include_input=False)[0]["loc"][0])
        shown = name if strict else f"the header {name.replace('_', '-')}"
        raise BadField(f"{shown} has to be {wishes.model_fields[name].description}") from None


def without_wishes(body: Json) -> Json:
    """The body that a backend understands; the same object if it wishes nothing of the memory."""
    if not isinstance(body, dict):
        return body
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and _IN_METADATA in metadata:
        rest = _without(metadata, (_IN_METADATA,))
        body = _without(body, ("metadata",)) | ({"metadata": rest} if rest else {})
    return body if body.keys().isdisjoint(Wishes.model_fields) else _without(body, Wishes.model_fields)


def _without(fields: dict[str, Json], names: Iterable[str]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if name not in names}
