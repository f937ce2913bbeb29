"""Errors over HTTP: RFC 9457 problem details, from one table of codes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import PydanticSerializationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match

from contracts.envelope import ErrorCode
from contracts.errors import Unavailable
from services.shared.errors import RequestFailed, TooLarge, outward

if TYPE_CHECKING:  # half a second to import, of which MCP over standard input needs nothing
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

EdgeCode = Literal[
    "bad_request", "credential_unread", "unauthenticated", "forbidden", "changed", "too_large", "rate_limited", "method"
]
Code = ErrorCode | EdgeCode

STATUS: Mapping[Code, tuple[int, str]] = {
    "bad_request": (400, "The request cannot be read"),
    "credential_unread": (400, "No credential is read here"),
    "unauthenticated": (401, "No valid credential"),
    "forbidden": (403, "Not allowed"),
    "user_mismatch": (403, "Not this user's"),
    "not_found": (404, "Not found"),
    "method": (405, "Method not allowed"),
    "conflict": (409, "Conflict"),
    "refused": (409, "Refused"),
    "changed": (412, "Changed meanwhile"),
    "too_large": (413, "Too large"),
    "invalid_request": (422, "Invalid request"),
    "rate_limited": (429, "Too many requests"),
    "internal": (500, "Unexpected error"),
    "overloaded": (503, "Overloaded"),
    "unavailable": (503, "Unavailable"),
    "deadline_exceeded": (504, "No answer in time"),
}
"""The status of every code, with the title of its problem."""

_RETRYABLE = ("rate_limited", "overloaded", "unavailable", "deadline_exceeded", "internal")
_RETRY_AFTER = {"rate_limited": "10", "overloaded": "1", "unavailable": "2"}
_BY_STATUS: dict[int, Code] = {status: code for code, (status, _) in reversed(list(STATUS.items()))}
_MISSING = "There is no such path: /openapi.json lists those that there are."


class Fault(BaseModel):
    """One field that is not as it must be."""

    field: str
    message: str


class ProblemDetails(BaseModel):
    """Why a request failed and what to do about it; `retryable`: the same request may succeed later."""

    type: str = Field(examples=["urn:memorybus:problem:not_found"])
    title: str
    status: int
    detail: str
    code: str
    retryable: bool = False
    errors: list[Fault] | None = None


class BadToken(Exception):
    """A token that proves nothing; the text says what is wrong with it."""


class Problem(Exception):
    """A request that the gateway itself refuses."""

    def __init__(
        self, code: Code, detail: str, *, headers: Mapping[str, str] | None = None, faults: list[Fault] | None = None
    ) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers, self.faults = code, detail, dict(headers or {}), faults

    @property
    def status(self) -> int:
        """Its status over HTTP."""
        return STATUS[self.code][0]

    def response(self) -> Response:
        """The answer that tells it."""
        details = ProblemDetails(
            type=f"urn:memorybus:problem:{self.code}",
            title=STATUS[self.code][1],
            status=self.status,
            detail=self.detail,
            code=self.code,
            retryable=self.code in _RETRYABLE,
            errors=self.faults,
        )
        headers = ({"retry-after": _RETRY_AFTER[self.code]} if self.code in _RETRY_AFTER else {}) | self.headers
        return Response(details.model_dump_json(exclude_none=True), self.status, headers, MEDIA_TYPE)


EXPECTED = (Problem, RequestFailed, Unavailable, ValidationError, PydanticSerializationError, UnicodeEncodeError)
"""The errors of which a caller is told what is wrong."""


def problem_of(error: Exception) -> Problem:
    """What a caller is told of an error."""
    match error:
        case Problem():
            return error
        case TooLarge():
            return Problem("too_large", told_by(error))
        case RequestFailed():
            return Problem(error.info.code, told_by(error))
        case Unavailable():
            return Problem("unavailable", told_by(error))
        case ValidationError():
            return _invalid(error.errors(include_input=False, include_url=False))
        case PydanticSerializationError() | UnicodeEncodeError():
            half = "The request has half a character (a surrogate alone), which is no text."
            return Problem("invalid_request", half)
    return Problem("internal", "Unexpected error; the log of memorybus has it.")


def handle(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Make every error of the application a problem; `routes` are all that it has."""
    from fastapi.exceptions import RequestValidationError

    async def told(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException):
            return _of_the_framework(error, request, routes).response()
        if isinstance(error, RequestValidationError):
            return _unreadable_or_invalid(request, error).response()
        return problem_of(error).response()

    for kind in (*EXPECTED, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, told)


def told_by(error: RequestFailed | Unavailable) -> str:
    """What a caller is told of an error of memorybus."""
    if isinstance(error, RequestFailed) and error.info.code != "unavailable":
        return error.info.message
    return outward(error.info.message if isinstance(error, RequestFailed) else str(error))


def says_json(request: Request) -> bool:
    """Whether a request says that its body is JSON."""
    return request.headers.get("content-type", "").partition(";")[0].strip().endswith("json")


def _unreadable_or_invalid(request: Request, error: RequestValidationError) -> Problem:
    """What is wrong with a body that is no JSON, does not say that it is, or has a fault."""
    if broken := next((each for each in error.errors() if each["type"] == "json_invalid"), None):
        where, why = broken["loc"][-1], broken["ctx"]["error"]
        return Problem("invalid_request", f"The body is no JSON: at character {where}: {why}.")
    if not says_json(request) and any(each["loc"] == ("body",) for each in error.errors()):
        return Problem("invalid_request", "The body is to be JSON, and to say so: Content-Type: application/json.")
    return _invalid([each | {"loc": each["loc"][1:]} for each in error.errors()])


def _of_the_framework(error: HTTPException, request: Request, routes: Sequence[BaseRoute]) -> Problem:
    if error.status_code == 405:
        there = (route for route in routes if route.matches(request.scope)[0] is not Match.NONE)
        takes = ", ".join(sorted({method for route in there for method in getattr(route, "methods", None) or ()}))
        return Problem("method", f"This path takes {takes}.", headers={"allow": takes})
    code = _BY_STATUS.get(error.status_code, "bad_request")
    return Problem(code, _MISSING if error.status_code == 404 else error.detail, headers=error.headers)


def _worded(error: Any) -> str:
    words = {"extra_forbidden": "There is no such field here", "missing": "It is needed and missing"}
    message = str(words.get(error["type"], error["msg"]))
    return message.removeprefix("Value error, ").replace("a valid tuple", "a list")


def _invalid(errors: Any) -> Problem:
    """The faults of a request, field by field, without what was in them."""
    faults = [Fault(field=".".join(map(str, each["loc"])) or "body", message=_worded(each)) for each in errors]
    return Problem("invalid_request", "; ".join(f"{one.field}: {one.message}" for one in faults), faults=faults)
