"""A stand-in for a Qdrant server, for tests only and never for users: the part of its two APIs that memorybus speaks.

It keeps everything in a folder over the embedded engine, prints one line {"url": ..., "grpc_port": ...} when it
answers, and ends on SIGTERM. `GET /asked` tells how many requests came over HTTP and over gRPC. It has one node, no
replicas, no transport security, and checks nothing that the tests do not need.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import signal
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import BaseModel, ValidationError
from qdrant_client import models

from tests.servers.qdrant_engine import VERSION, Collection, Refused
from tests.servers.qdrant_grpc import GrpcServer

Message = dict[str, Any]
Handler = Callable[..., Any]
DONE = models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


class Storage:
    """All collections and aliases of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._aliases_file = folder / "aliases.json"
        self._collections: dict[str, Collection] = {}
        self._aliases: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for config in folder.glob("*/collection.json"):
            self._collections[config.parent.name] = Collection.load(config.parent)
        if self._aliases_file.exists():
            self._aliases = json.loads(self._aliases_file.read_text())

    def close(self) -> None:
        """Write everything out."""
        for collection in self._collections.values():
            collection.close()

    def list(self) -> list[str]:
        return list(self._collections)

    def exists(self, name: str) -> bool:
        return self._aliases.get(name, name) in self._collections

    def get(self, name: str) -> Collection:
        collection = self._collections.get(self._aliases.get(name, name))
        if collection is None:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return collection

    def create(self, name: str, config: models.CreateCollection) -> bool:
        if name in self._collections or name in self._aliases:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._collections[name] = Collection.create(folder, config)
        return True

    def drop(self, name: str) -> bool:
        if (collection := self._collections.pop(name, None)) is None:
            return False
        collection.close()
        shutil.rmtree(self._folder / name)
        self._keep_aliases({alias: held for alias, held in self._aliases.items() if held != name})
        return True

    def aliases(self) -> models.CollectionsAliasesResponse:
        pairs = self._aliases.items()
        descriptions = [models.AliasDescription(alias_name=alias, collection_name=name) for alias, name in pairs]
        return models.CollectionsAliasesResponse(aliases=descriptions)

    def switch(self, wanted: models.ChangeAliasesOperation) -> bool:
        aliases = dict(self._aliases)
        for action in wanted.actions:
            if isinstance(action, models.CreateAliasOperation):
                created = action.create_alias
                if created.alias_name in self._collections:
                    raise Refused(409, f"Wrong input: Collection `{created.alias_name}` already exists!")
                self.get(created.collection_name)
                aliases[created.alias_name] = created.collection_name
            elif isinstance(action, models.DeleteAliasOperation):
                aliases.pop(action.delete_alias.alias_name, None)
        self._keep_aliases(aliases)
        return True

    def _keep_aliases(self, aliases: dict[str, str]) -> None:
        self._aliases_file.write_text(json.dumps(aliases))
        self._aliases = aliases


def _change(storage: Storage, name: str, change: models.UpdateCollection) -> bool:
    storage.get(name).reconfigure(change)
    return True


def _index(storage: Storage, name: str, wanted: models.CreateFieldIndex) -> models.UpdateResult:
    storage.get(name).index(wanted)
    return DONE


def _of(call: Callable[[Collection, Any], Any], field: str | None = None) -> Handler:
    """Answers with what a collection says, perhaps as one field of an object."""

    def handler(storage: Storage, name: str, asked: BaseModel) -> Any:
        result = call(storage.get(name), asked)
        return result if field is None else {field: result}

    return handler


NAME = r"([^/]+)"
ROUTES: tuple[tuple[str, str, type[BaseModel] | None, Handler], ...] = (
    ("GET", "/collections", None, lambda one: {"collections": [{"name": name} for name in one.list()]}),
    ("GET", "/aliases", None, Storage.aliases),
    ("POST", "/collections/aliases", models.ChangeAliasesOperation, Storage.switch),
    ("GET", f"/collections/{NAME}", None, lambda one, name: one.get(name).info()),
    ("PUT", f"/collections/{NAME}", models.CreateCollection, Storage.create),
    ("PATCH", f"/collections/{NAME}", models.UpdateCollection, _change),
    ("DELETE", f"/collections/{NAME}", None, Storage.drop),
    ("GET", f"/collections/{NAME}/exists", None, lambda one, name: {"exists": one.exists(name)}),
    ("PUT", f"/collections/{NAME}/index", models.CreateFieldIndex, _index),
    ("POST", f"/collections/{NAME}/points", models.PointRequest, _of(Collection.retrieve)),
    ("POST", f"/collections/{NAME}/points/batch", models.UpdateOperations, _of(Collection.update)),
    ("POST", f"/collections/{NAME}/points/query", models.QueryRequest, _of(Collection.query, "points")),
    ("POST", f"/collections/{NAME}/points/scroll", models.ScrollRequest, _of(Collection.scroll)),
    ("POST", f"/collections/{NAME}/points/count", models.CountRequest, _of(Collection.count, "count")),
)


class App:
    """The ASGI application. The engine keeps the interpreter lock, so one thread does all its work."""

    def __init__(self, storage: Storage, thread: ThreadPoolExecutor, api_key: str | None, asked: Counter[str]) -> None:
        self._storage = storage
        self._api_key = api_key
        self._thread = thread
        self._asked = asked

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        """Answer one request."""
        body = await _body(receive)
        try:
            self._check_key(scope)
            status, content = 200, await self._answer(scope["method"], scope["path"], body)
        except Refused as error:
            status, content = error.status, _envelope(None, {"error": str(error)})
        except ValidationError as error:
            status, content = 400, _envelope(None, {"error": f"Format error in JSON body: {error}"})
        except Exception as error:
            status, content = 500, _envelope(None, {"error": f"Service internal error: {error!r}"})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    def _check_key(self, scope: Message) -> None:
        if self._api_key and dict(scope["headers"]).get(b"api-key", b"").decode() != self._api_key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")

    async def _answer(self, method: str, path: str, body: bytes) -> bytes:
        if path == "/":
            return VERSION.model_dump_json().encode()
        if path == "/asked":
            return json.dumps(self._asked).encode()
        for known, pattern, model, handler in ROUTES:
            if known == method and (match := re.fullmatch(pattern, path)):
                self._asked["http"] += 1
                given = [] if model is None else [model.model_validate_json(body)]
                job = partial(handler, self._storage, *match.groups(), *given)
                return _envelope(await asyncio.get_running_loop().run_in_executor(self._thread, job), "ok")
        raise Refused(404, f"the stand-in does not answer {method} {path}")


def _envelope(result: Any, status: Any) -> bytes:
    return json.dumps({"result": result, "status": status, "time": 0.0}, default=_plain).encode()


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


async def _body(receive: Callable[[], Awaitable[Message]]) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


class Server(uvicorn.Server):
    """uvicorn, but signals are left to `serve`, which has folders to close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


def _listening(port: int) -> socket.socket:
    # With the protocol named, or asyncio does not turn off Nagle's algorithm, and every reply waits for 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(1024)  # from here on connections wait for the server, so its address may be told
    return listening


async def serve(port: int, grpc_port: int | None, folder: Path, api_key: str | None) -> None:
    """Serve until SIGTERM or SIGINT; says its addresses when it is ready."""
    storage, thread, asked = Storage(folder), ThreadPoolExecutor(1), Counter[str]()
    config = uvicorn.Config(
        App(storage, thread, api_key, asked), lifespan="off", log_level="warning", timeout_graceful_shutdown=3
    )
    server = Server(config)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, setattr, server, "should_exit", True)
    listening = _listening(port)
    over_grpc = GrpcServer(storage, thread, api_key, asked)
    known = None if grpc_port is None else await over_grpc.start(grpc_port)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    print(json.dumps({"url": url, "grpc_port": known}), flush=True)
    try:
        await server.serve([listening])
        await over_grpc.stop()
    finally:
        storage.close()
