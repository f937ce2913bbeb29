"""A stand-in for a Qdrant server, for tests only and never for users: the part of its REST API that memorybus speaks.

    python -m tests.servers.qdrant_standin --port 0 --data DIR

It keeps everything in DIR over the embedded engine, prints one line {"url": ...} when it answers, and ends on SIGTERM.
It has one node, no replicas, no transport security, and checks nothing that the tests do not need.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import re
import shutil
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import BaseModel, ValidationError
from qdrant_client import models

from tests.servers.qdrant_engine import Collection, Refused

VERSION = {"title": "a stand-in for Qdrant, for tests", "version": "1.20.0"}

Message = dict[str, Any]
Handler = Callable[..., Any]


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

    def list(self, _: bytes) -> Any:
        return {"collections": [{"name": name} for name in self._collections]}

    def exists(self, _: bytes, name: str) -> Any:
        return {"exists": self._aliases.get(name, name) in self._collections}

    def info(self, _: bytes, name: str) -> Any:
        return self._get(name).info()

    def create(self, body: bytes, name: str) -> Any:
        if name in self._collections or name in self._aliases:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self._collections[name] = Collection.create(folder, models.CreateCollection.model_validate_json(body))
        return True

    def change(self, body: bytes, name: str) -> Any:
        self._get(name).reconfigure(models.UpdateCollection.model_validate_json(body))
        return True

    def drop(self, _: bytes, name: str) -> Any:
        if (collection := self._collections.pop(name, None)) is None:
            return False
        collection.close()
        shutil.rmtree(self._folder / name)
        self._keep_aliases({alias: held for alias, held in self._aliases.items() if held != name})
        return True

    def add_vector(self, body: bytes, name: str, vector: str) -> Any:
        self._get(name).add_vector(vector, models.DenseVectorNameConfig.model_validate_json(body).dense.size)
        return {"operation_id": 0, "status": "completed"}

    def index(self, body: bytes, name: str) -> Any:
        self._get(name).index(models.CreateFieldIndex.model_validate_json(body))
        return {"operation_id": 0, "status": "completed"}

    def aliases(self, _: bytes) -> Any:
        return {"aliases": [{"alias_name": alias, "collection_name": name} for alias, name in self._aliases.items()]}

    def switch(self, body: bytes) -> Any:
        aliases = dict(self._aliases)
        for action in models.ChangeAliasesOperation.model_validate_json(body).actions:
            if isinstance(action, models.CreateAliasOperation):
                wanted = action.create_alias
                if wanted.alias_name in self._collections:
                    raise Refused(409, f"Wrong input: Collection `{wanted.alias_name}` already exists!")
                self._get(wanted.collection_name)
                aliases[wanted.alias_name] = wanted.collection_name
            elif isinstance(action, models.DeleteAliasOperation):
                aliases.pop(action.delete_alias.alias_name, None)
        self._keep_aliases(aliases)
        return True

    def update(self, body: bytes, name: str) -> Any:
        return self._get(name).update(models.UpdateOperations.model_validate_json(body))

    def query(self, body: bytes, name: str) -> Any:
        return {"points": self._get(name).query(models.QueryRequest.model_validate_json(body))}

    def scroll(self, body: bytes, name: str) -> Any:
        return self._get(name).scroll(models.ScrollRequest.model_validate_json(body))

    def retrieve(self, body: bytes, name: str) -> Any:
        return self._get(name).retrieve(models.PointRequest.model_validate_json(body))

    def count(self, body: bytes, name: str) -> Any:
        return {"count": self._get(name).count(models.CountRequest.model_validate_json(body))}

    def _get(self, name: str) -> Collection:
        collection = self._collections.get(self._aliases.get(name, name))
        if collection is None:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return collection

    def _keep_aliases(self, aliases: dict[str, str]) -> None:
        self._aliases_file.write_text(json.dumps(aliases))
        self._aliases = aliases


NAME = r"([^/]+)"
ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("GET", "/collections", Storage.list),
    ("GET", "/aliases", Storage.aliases),
    ("POST", "/collections/aliases", Storage.switch),
    ("GET", f"/collections/{NAME}", Storage.info),
    ("PUT", f"/collections/{NAME}", Storage.create),
    ("PATCH", f"/collections/{NAME}", Storage.change),
    ("DELETE", f"/collections/{NAME}", Storage.drop),
    ("GET", f"/collections/{NAME}/exists", Storage.exists),
    ("PUT", f"/collections/{NAME}/vectors/{NAME}", Storage.add_vector),
    ("PUT", f"/collections/{NAME}/index", Storage.index),
    ("POST", f"/collections/{NAME}/points", Storage.retrieve),
    ("POST", f"/collections/{NAME}/points/batch", Storage.update),
    ("POST", f"/collections/{NAME}/points/query", Storage.query),
    ("POST", f"/collections/{NAME}/points/scroll", Storage.scroll),
    ("POST", f"/collections/{NAME}/points/count", Storage.count),
)


class App:
    """The ASGI application. The engine keeps the interpreter lock, so one thread does all its work."""

    def __init__(self, storage: Storage, api_key: str | None) -> None:
        self._storage = storage
        self._api_key = api_key
        self._thread = ThreadPoolExecutor(1)

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
            return json.dumps(VERSION).encode()
        for known, pattern, handler in ROUTES:
            if known == method and (match := re.fullmatch(pattern, path)):
                job = _answered(handler, self._storage, body, *match.groups())
                return await asyncio.get_running_loop().run_in_executor(self._thread, job)
        raise Refused(404, f"the stand-in does not answer {method} {path}")


def _answered(handler: Handler, *arguments: Any) -> Callable[[], bytes]:
    return lambda: _envelope(handler(*arguments), "ok")


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
    """uvicorn, but signals are left to `main`, which has folders to close."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield


async def serve(port: int, folder: Path, api_key: str | None) -> None:
    """Serve until SIGTERM or SIGINT; says its address when it is ready."""
    storage = Storage(folder)
    app = App(storage, api_key)
    server = Server(uvicorn.Config(app, lifespan="off", log_level="warning", timeout_graceful_shutdown=3))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, setattr, server, "should_exit", True)
    # With the protocol named, or asyncio does not turn off Nagle's algorithm, and every reply waits for 40 ms.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(1024)  # from here on connections wait for the server, so its address may be told
    print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
    try:
        await server.serve([listening])
    finally:
        storage.close()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.qdrant_standin", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--data", type=Path, required=True, help="folder to keep everything in")
    parser.add_argument("--api-key", default=None, help="key that every request must bring")
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, arguments.data, arguments.api_key))


if __name__ == "__main__":
    main()
