"""The verbs of memory over HTTP: each path is one request of the bus, with its models, for the user who asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import cache, partial
from inspect import Parameter, Signature, cleandoc
from typing import Annotated, Any, cast
from uuid import uuid5

from fastapi import APIRouter, Body, Depends, FastAPI, Header, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from contracts import flow
from contracts.envelope import NAMESPACE
from contracts.errors import Unavailable
from contracts.flow import Answer, R
from contracts.paths import EXPORT, PREFIX, USER_HEADER, VERB_OF, VERBS, TruncateReply, TurnReply, Verb
from contracts.v1.chat import CommandRequest
from contracts.v1.commands import EntryReply
from contracts.v1.control import SettingsRequest
from contracts.v1.overview import ExportReply
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import EVERY_PERSONA, NO_PERSONA, Turn, derived_turn_id
from services.gateway import openapi, problems
from services.gateway.callers import Caller, Doorkeeper, refuse_other_sites
from services.gateway.confined import confined, refuse_beyond, within
from services.gateway.limits import HEADERS, RateLimits, Share, searches, seconds_left
from services.gateway.live import Live
from services.gateway.problems import Problem
from services.gateway.removals import Removals
from services.gateway.settings import GatewaySettings
from services.gateway.truncate import truncate
from services.shared.announced import Announced
from services.shared.client import MemoryClient, RequestFailed
from services.shared.privacy.wrappers import as_spoken
from services.shared.refused import RefusedTurns, in_place_of

Json = dict[str, Any]

CHANGED = "it was changed since"
"""How the conflict of a version that is no longer the latest begins."""

_EDGE = "memorybus.edge"
"""Where the scope of a request has what the paths need."""

_INCOGNITO = (
    "With `incognito` nobody keeps it: it goes where no stream of the bus captures it and no service hears it. A "
    "client that knows that a conversation is incognito says so. So goes the turn of a conversation that its user has "
    "made incognito, of a memory that is off, or that says itself not to be remembered or answers one that does: "
    "`kept` is false then."
)
_REMOVING = (flow.FORGET, flow.ERASE, flow.BULK, flow.UPDATE, flow.SETTINGS, flow.INCOGNITO_START, flow.COMMANDS)
_SEARCHING = (flow.RETRIEVE, flow.LIST, flow.COMMANDS)
_TURN_PATIENCE = 8.0
_DECIDED_PATIENCE = 0.3
_LONGEST_NAME = 256
_LONGEST_VERSION = 18  # digits
_TOO_OFTEN = "You ask too often: wait until the next minute begins."


class Edge:
    """What every path needs: the bus, who is asking, and how long a text may be."""

    def __init__(
        self, memory: MemoryClient, door: Doorkeeper, limits: RateLimits, settings: GatewaySettings, *, longest: int
    ) -> None:
        self.memory = memory
        self.longest = longest
        self.origins = settings.allowed_origins
        self.live = Live(memory)
        self._door = door
        self._limits = limits
        self.removals = Removals()
        self.announced = Announced()
        self.refused_turns = RefusedTurns(self.announced)

    async def let_in(self, request: Request) -> Caller:
        """The caller of a request.

        Raises:
            Problem: there is no valid credential, or the page of another site asks.
        """
        refuse_other_sites(request, self.origins)
        return await self._door.let_in(request)

    async def caller(self, request: Request, verb: str, *, reads: bool) -> Caller:
        """The caller of a request, who may use this verb, and has not asked too often.

        Raises:
            Problem: it is not so.
        """
        caller = await self.let_in(request)
        if not caller.may(verb, reads=reads):
            raise Problem("forbidden", f"This credential does not open {verb}.")
        if verb != flow.RETRIEVE.name and (share := await self._limits.count_request(caller)) and share.is_used_up:
            raise too_often(share)
        return caller

    async def ask(
        self,
        caller: Caller,
        verb: Verb,
        values: Json,
        *,
        patience: float | None = None,
        headers: MutableMapping[str, str] | None = None,
    ) -> bytes:
        """Ask the bus for the caller; a retrieval above the limit is answered with nothing, and says so.

        `headers` gets what the answer is to say beside the reply.

        Raises:
            Problem: the caller reaches for what is in another space, or searches too often.
            ValidationError: the values make no request.
            RequestFailed, Unavailable: memorybus answered with an error, or not at all.
        """
        if caller.spaces is not None:
            values = await confined(caller, verb, values, self.memory)
        body = verb.answer.request.model_validate(values | {"user_id": caller.user_id})
        if isinstance(body, CommandRequest):
            refuse_beyond(caller, body.text)
        asking = partial(
            self.memory.ask, verb.answer, body, patience=patience or verb.patience, credential=caller.credential
        )
        if isinstance(body, RetrieveRequest) and self._limits.may_begin(caller):
            share, raw = await _side_by_side(self.count(caller, body), asking())
        else:
            share, raw = await self.count(caller, body), b""
        if share is not None:
            if headers is not None:
                headers.update(share.headers)
            if share.is_used_up and isinstance(body, RetrieveRequest):
                return RetrieveReply.nothing(body, "rate_limited").model_dump_json().encode()
            if share.is_used_up:
                raise too_often(share)
        if verb.answer is flow.ERASE:
            self.removals.erasing(caller.user_id)
        try:
            return within(caller, raw or await asking(), verb)
        finally:
            if verb.answer in _REMOVING:
                self.removals.removed(caller.user_id)

    async def reply(self, caller: Caller, answer: Answer[Any, R], values: Json, *, patience: float | None = None) -> R:
        """The same, read, for what is asked beside the paths."""
        raw = await self.ask(caller, VERB_OF[answer.subject], values, patience=patience)
        return answer.reply.model_validate_json(raw)

    async def count(self, caller: Caller, body: BaseModel) -> Share | None:
        """Count a request that searches; what is left to the caller, None where nothing was counted."""
        return await self._limits.count_query(caller) if searches(body) else None


async def _side_by_side(count: Coroutine[Any, Any, Share | None], ask: Awaitable[bytes]) -> tuple[Share | None, bytes]:
    """The share and the answer: who asks need not wait for the counter, and hears nothing where it was one too many."""
    counting = asyncio.create_task(count)
    try:
        raw = await ask
    finally:
        share = await counting
    return share, raw


def too_often(share: Share) -> Problem:
    """The error of a caller whose share is used up."""
    return Problem("rate_limited", _TOO_OFTEN, headers=share.headers | {"retry-after": str(seconds_left())})


def application(edge: Edge, app: FastAPI) -> ASGIApp:
    """The HTTP edge: the paths, with what they need."""

    async def with_edge(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, _EDGE: edge}, receive, send)

    if not edge.origins:
        return with_edge
    return CORSMiddleware(
        with_edge,
        allow_origins=sorted(edge.origins),
        allow_methods=["GET", "POST", "PATCH", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", USER_HEADER],
        expose_headers=["ETag", "Retry-After", *HEADERS],
    )


@cache
def paths(version: str) -> FastAPI:
    """Every path and no state. FastAPI takes most of a second for them, so a process makes them once."""
    app = FastAPI(title="memorybus", version=version, openapi_url=None, redirect_slashes=False)
    every = router()
    problems.handle(app, every.routes)
    app.include_router(every)
    app.openapi = partial(openapi.document, app)  # type: ignore[method-assign]
    return app


def router() -> APIRouter:
    """Every path."""
    made = APIRouter(prefix=PREFIX, responses=openapi.PROBLEMS)
    for verb in VERBS:
        made.add_api_route(
            verb.path,
            _endpoint(verb),
            methods=[verb.method],
            response_model=verb.answer.reply,
            status_code=verb.status,
            responses=openapi.SHARES if verb.answer in _SEARCHING else None,
            summary=verb.summary,
            description=cleandoc(verb.answer.request.__doc__ or ""),
            operation_id="_".join(verb.words),
            tags=[verb.answer.name.partition(".")[0]],
        )
    made.add_api_route(
        "/turns",
        publish_turn,
        methods=["POST"],
        status_code=202,
        summary="Publish a turn",
        description=f"{cleandoc(Turn.__doc__ or '')}\n\n{_INCOGNITO}",
        response_model=TurnReply,
        operation_id="turns",
        tags=["turns"],
    )
    made.add_api_route(
        "/conversations/{conversation_id:path}",
        forget_conversation,
        methods=["DELETE"],
        summary="Forget a conversation",
        description="Every entry that was said there alone, but what is pinned or saved.",
        response_model=TruncateReply,
        operation_id="delete_conversations_conversation_id",
        tags=["memory"],
    )
    made.add_api_route(
        "/export",
        export,
        methods=["GET"],
        summary="Export everything of the user",
        description="Lines of JSON as `memorybus export` writes them; `memorybus import` reads them.",
        response_class=JsonLines,
        operation_id=flow.EXPORT.name,
        tags=["memory"],
    )
    made.add_api_route(
        "/live",
        watch,
        methods=["GET"],
        summary="Watch the pipeline",
        description="Server-sent events, one a second: what waits, since how long anything does, the dead letters.",
        response_class=EventStream,
        operation_id="live",
        tags=["status"],
    )
    return made


def asked_by(verb: str, *, reads: bool) -> Any:
    """The caller, as the parameter of a path for this verb."""

    async def caller(request: Request) -> Caller:
        return await _edge(request).caller(request, verb, reads=reads)

    return Depends(caller)


def without_user(
    model: type[BaseModel], name: str, leave: Sequence[str] = (), renamed: Mapping[str, str] | None = None, **also: Any
) -> Any:
    """The fields of a request that a caller may give: the user comes from the credential, nothing else is taken."""
    fields = {**_fields(model, ("user_id", *leave), renamed or {}), **also}
    return create_model(name, __config__=ConfigDict(extra="forbid", hide_input_in_errors=True), **fields)


def _fields(model: type[BaseModel], leave: Sequence[str], renamed: Mapping[str, str]) -> Json:
    fields: Json = {}
    for key, info in model.model_fields.items():
        if key not in leave:
            alias = [Field(alias=renamed[key])] if key in renamed else []
            fields[key] = Annotated[(info.annotation, info, *alias)]
    return fields


def _endpoint(verb: Verb) -> Callable[..., Awaitable[Response]]:
    """The function behind a path; FastAPI reads its parameters from the signature that is made here."""
    model, name = verb.answer.request, "".join(word.title() for word in verb.words)
    in_path, in_query = verb.in_path, verb.method in ("GET", "DELETE")
    leave, flat = [*in_path, *verb.leave], _fields(verb.flat[1], (), {}) if verb.flat else {}
    rest = without_user(model, f"{name}{'Query' if in_query else 'Body'}", leave, verb.renamed, **flat)
    examples = {"example": {"value": verb.example}} if verb.example is not None else None
    may_be_left = not in_query and not any(one.is_required() for one in rest.model_fields.values())
    kind: Any = rest | None if may_be_left else rest
    body = Annotated[kind, Body(openapi_examples=cast(Any, examples))]

    async def endpoint(**given: Any) -> Response:
        request, caller = given["request"], given["caller"]
        said = given["rest"] or rest()
        values = {name: getattr(said, name) for name in said.model_fields_set} | {name: given[name] for name in in_path}
        if verb.flat:
            values = _nested(values, *verb.flat)
        if verb.idempotent_by and (key := given.get("idempotency_key")):
            values[verb.idempotent_by] = key
        if "by" in verb.leave:
            values["by"] = caller.credential
        values |= _as_seen(request, verb)
        headers: dict[str, str] = {}
        try:
            reply = await _edge(request).ask(caller, verb, values, headers=headers)
        except RequestFailed as error:
            if given.get("if_match") and error.info.message.startswith(CHANGED):
                raise Problem("changed", error.info.message) from None
            raise
        version = EntryReply.model_validate_json(reply).entry.version if verb.answer.reply is EntryReply else None
        return _answer(request, reply, verb.status, version, headers)

    parameters = [
        _parameter("request", Request),
        _parameter("caller", Annotated[Caller, asked_by(verb.answer.name, reads=verb.reads)]),
        *(_parameter(one, Annotated[str, Path()]) for one in in_path),
        _parameter("rest", Annotated[rest, Query()] if in_query else body, None if may_be_left else Parameter.empty),
        *([_parameter("idempotency_key", IdempotencyKey, None)] if verb.idempotent_by else ()),
        *([_parameter("if_match", IfMatch, None)] if "version" in model.model_fields else ()),
    ]
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return endpoint


def _parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _nested(values: Json, field: str, model: type[BaseModel]) -> Json:
    """The values with those that stand in place of a field put into it."""
    flat = {name: value for name, value in values.items() if name in model.model_fields}
    if flat and values.get(field) is not None:
        raise Problem("invalid_request", f"Give {', '.join(flat)} within {field!r} or beside it, not both.")
    return {name: value for name, value in values.items() if name not in flat} | ({field: flat} if flat else {})


IfMatch = Annotated[
    str | None, Header(description="the ETag of the entry as it was seen; changed meanwhile it is a conflict, 412")
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        max_length=_LONGEST_NAME,
        description="the same request with the same key has the effect of one, however often it is sent; "
        "with another body it is another request, as if the key were another",
    ),
]

TurnBody = without_user(Turn, "TurnBody", incognito=(bool, False))
_TURN = {"example": {"value": {"role": "user", "text": "I prefer uv over pip", "conversation_id": "c1"}}}


async def publish_turn(
    request: Request,
    caller: Annotated[Caller, asked_by("turns", reads=False)],
    body: Annotated[Any, Body(openapi_examples=cast(Any, _TURN))],
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Publish a turn for the caller; the promise of the bus is the answer, unless nobody may keep it."""
    edge = _edge(request)
    values = {name: getattr(body, name) for name in body.model_fields_set - {"incognito"}}
    values["space"] = caller.space(values, "default")
    turn = Turn.model_validate(values | {"user_id": caller.user_id})
    if (size := len(turn.text.encode())) > edge.longest:
        raise Problem("too_large", f"The text has {size:,} bytes, {edge.longest:,} are allowed: split it.")
    if not turn.text.strip():
        raise Problem("invalid_request", "The text is blank.")
    if turn.persona_id == EVERY_PERSONA:
        raise Problem("invalid_request", NO_PERSONA)
    turn_id = turn.turn_id or _turn_id(turn, idempotency_key)
    conversation = turn.user_id, turn.space, turn.conversation_id
    said = await asyncio.to_thread(as_spoken, turn)
    is_unwanted = edge.refused_turns.refuse(conversation, said or turn, time.monotonic_ns())
    incognito = body.incognito or is_unwanted or said is None or await _is_refused(edge, turn)
    try:
        async with asyncio.timeout(_TURN_PATIENCE):
            await edge.memory.publish((said or turn).model_copy(update={"turn_id": turn_id}), incognito=incognito)
            if is_unwanted and turn.role == "user" and not body.incognito:
                await edge.memory.publish(in_place_of(turn, turn_id))
    except TimeoutError:
        raise Unavailable("the bus did not take the turn in time: send it again") from None
    reply = TurnReply(turn_id=turn_id, kept=not incognito, correlation_id=turn.correlation_id)
    return _answer(request, reply.model_dump_json().encode(), 202)


async def _is_refused(edge: Edge, turn: Turn) -> bool:
    """Whether its user wants this turn not kept, as far as anybody says so now: ingest looks again at any rate."""
    asked = {"user_id": turn.user_id, "space": turn.space, "conversation_id": turn.conversation_id}
    with suppress(Unavailable, RequestFailed, TimeoutError):
        async with asyncio.timeout(_DECIDED_PATIENCE):
            return (await edge.memory.settings(SettingsRequest.model_validate(asked))).refuses is not None
    return False


publish_turn.__annotations__["body"] = Annotated[TurnBody, Body(openapi_examples=cast(Any, _TURN))]


async def forget_conversation(
    request: Request,
    caller: Annotated[Caller, asked_by(flow.FORGET.name, reads=False)],
    conversation_id: Annotated[str, Path(min_length=1, max_length=_LONGEST_NAME)],
    space: Annotated[str | None, Query(min_length=1, max_length=_LONGEST_NAME)] = None,
) -> Response:
    """Forget what was said in a conversation, in a space or in all; with what became of it."""
    _edge(request).removals.erasing(caller.user_id, conversation_id, space)
    reply = await truncate(_edge(request), caller, conversation_id, space)
    return _answer(request, reply.model_dump_json().encode(), 200)


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


async def watch(request: Request, caller: Annotated[Caller, asked_by("live", reads=True)]) -> Response:
    """Tell what the pipeline does, until the caller goes."""
    return EventStream(_edge(request).live.watch(caller.user_id if caller.spaces is None else None))


class JsonLines(StreamingResponse):
    """One JSON value a line."""

    media_type = "application/x-ndjson"


async def export(request: Request, caller: Annotated[Caller, asked_by(flow.EXPORT.name, reads=True)]) -> Response:
    """Export everything of the caller, page by page as the caller reads it."""
    edge = _edge(request)

    async def read(values: Json) -> ExportReply:
        return ExportReply.model_validate_json(await edge.ask(caller, EXPORT, values))

    first = await read({})  # what can go wrong mostly does before the first line is sent

    async def lines() -> AsyncIterator[str]:
        page = first
        while True:
            yield "".join(f"{line}\n" for line in page.lines)
            if page.next_cursor is None:
                return
            page = await read({"cursor": page.next_cursor})

    return JsonLines(lines(), headers={"content-disposition": 'attachment; filename="memory.jsonl"'})


def _turn_id(turn: Turn, key: str | None) -> str:
    """With a key the same body sent again is the same turn, another body is another turn."""
    if not key:
        return derived_turn_id(turn)
    return str(uuid5(NAMESPACE, f"idempotency\x1f{key}\x1f{turn.model_dump_json(exclude_defaults=True)}"))


def _as_seen(request: Request, verb: Verb) -> Json:
    """The version that a change is meant for, where the caller names one."""
    tag = request.headers.get("if-match")
    if tag is None or verb.method == "GET":
        return {}
    if "version" not in verb.answer.request.model_fields:
        raise Problem("invalid_request", "If-Match holds where an entry is changed by PATCH, and nowhere else.")
    return {"version": _version(tag)}


def _version(tag: str) -> int | None:
    if tag.strip() == "*":
        return None
    number = tag.strip().strip('"')
    if not (number.isdecimal() and len(number) <= _LONGEST_VERSION):
        raise Problem("changed", "If-Match takes one ETag of an entry, as it came with it.")
    return int(number)


def _answer(
    request: Request, reply: bytes, status: int, version: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """The reply as it came; an entry carries its version as a tag."""
    tag = f'"{version}"' if version is not None else None
    headers = {**(headers or {}), **({"etag": tag} if tag else {})}
    if tag and request.method == "GET" and tag in request.headers.get("if-none-match", "").split(", "):
        return Response(None, 304, headers)
    return Response(reply, status, headers, "application/json")


def _edge(request: Request) -> Edge:
    edge: Edge = request.scope[_EDGE]
    return edge
