"""The stand-in for Qdrant over gRPC: the calls that memorybus makes, with the messages and names of qdrant-client."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import grpc  # type: ignore[import-untyped]
from qdrant_client import grpc as messages
from qdrant_client import models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from tests.servers.qdrant_engine import VERSION, Refused

Storage = Any
"""That of the stand-in: one for both APIs."""

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.ALREADY_EXISTS,
}
_OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.min_ping_interval_without_data_ms", 1000),
]


class GrpcServer:
    """Answers over gRPC from the storage, all work in the one thread that it shares with HTTP."""

    def __init__(self, storage: Storage, thread: ThreadPoolExecutor, api_key: str | None, asked: Counter[str]) -> None:
        self._storage = storage
        self._thread = thread
        self._api_key = api_key
        self._asked = asked
        self._server: Any = None

    async def start(self, port: int) -> int:
        """Listen on a port, 0 for any free one; the port."""
        self._server = grpc.aio.server(options=_OPTIONS)
        for service, calls in _SERVICES.items():
            handlers = {name: self._handler(*call) for name, call in calls.items()}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        bound = self._server.add_insecure_port(f"127.0.0.1:{port}")
        assert bound, f"port {port} is taken"
        await self._server.start()
        return int(bound)

    async def stop(self) -> None:
        """End, once what is under way is answered."""
        if self._server is not None:
            await self._server.stop(3)

    def _handler(self, request: Any, reply: Any, answer: Callable[[Storage, Any], dict[str, Any]]) -> Any:
        async def answered(asked: Any, context: Any) -> Any:
            self._asked["grpc"] += 1
            given = dict(context.invocation_metadata())
            if self._api_key and given.get("api-key") != self._api_key:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "Must provide an API key")
            job = partial(answer, self._storage, asked)
            try:
                return reply(**await asyncio.get_running_loop().run_in_executor(self._thread, job))
            except Refused as error:
                await context.abort(_CODES[error.status], str(error))

        return grpc.unary_unary_rpc_method_handler(answered, request.FromString, reply.SerializeToString)


def _create(storage: Storage, asked: Any) -> dict[str, Any]:
    config = models.CreateCollection(
        vectors=GrpcToRest.convert_vectors_config(asked.vectors_config), shard_number=asked.shard_number or None
    )
    if asked.HasField("quantization_config"):
        config.quantization_config = GrpcToRest.convert_quantization_config(asked.quantization_config)
    if asked.HasField("strict_mode_config"):
        config.strict_mode_config = GrpcToRest.convert_strict_mode_config(asked.strict_mode_config)
    config.metadata = GrpcToRest.convert_payload(asked.metadata) or None
    return {"result": storage.create(asked.collection_name, config)}


def _update(storage: Storage, asked: Any) -> dict[str, Any]:
    change = models.UpdateCollection()
    if asked.HasField("strict_mode_config"):
        change.strict_mode_config = GrpcToRest.convert_strict_mode_config(asked.strict_mode_config)
    if asked.HasField("quantization_config"):
        change.quantization_config = GrpcToRest.convert_quantization_config_diff(asked.quantization_config)
    storage.get(asked.collection_name).reconfigure(change)
    return {"result": True}


def _drop(storage: Storage, asked: Any) -> dict[str, Any]:
    return {"result": storage.drop(asked.collection_name)}


def _info(storage: Storage, asked: Any) -> dict[str, Any]:
    return {"result": RestToGrpc.convert_collection_info(storage.get(asked.collection_name).info())}


def _list(storage: Storage, _: Any) -> dict[str, Any]:
    return {"collections": [messages.CollectionDescription(name=name) for name in storage.list()]}


def _exists(storage: Storage, asked: Any) -> dict[str, Any]:
    return {"result": messages.CollectionExists(exists=storage.exists(asked.collection_name))}


def _aliases(storage: Storage, _: Any) -> dict[str, Any]:
    return {"aliases": [RestToGrpc.convert_alias_description(each) for each in storage.aliases().aliases]}


def _switch(storage: Storage, asked: Any) -> dict[str, Any]:
    actions = [GrpcToRest.convert_alias_operations(action) for action in asked.actions]
    return {"result": storage.switch(models.ChangeAliasesOperation(actions=actions))}


def _index(storage: Storage, asked: Any) -> dict[str, Any]:
    schema = GrpcToRest.convert_payload_schema_params(asked.field_index_params)
    wanted = models.CreateFieldIndex(field_name=asked.field_name, field_schema=schema)
    storage.get(asked.collection_name).index(wanted)
    return {"result": _DONE}


def _write(storage: Storage, asked: Any) -> dict[str, Any]:
    operations = [GrpcToRest.convert_points_update_operation(operation) for operation in asked.operations]
    results = storage.get(asked.collection_name).update(models.UpdateOperations(operations=operations))
    return {"result": [RestToGrpc.convert_update_result(result) for result in results]}


def _query(storage: Storage, asked: Any) -> dict[str, Any]:
    nearest = list(asked.query.nearest.dense.data)
    request = models.QueryRequest(
        query=models.NearestQuery(nearest=nearest), using=asked.using, filter=_filter(asked), limit=asked.limit
    )
    hits = storage.get(asked.collection_name).query(request)
    return {"result": [RestToGrpc.convert_scored_point(models.ScoredPoint(**hit)) for hit in hits]}


def _scroll(storage: Storage, asked: Any) -> dict[str, Any]:
    request = models.ScrollRequest(
        filter=_filter(asked),
        limit=asked.limit,
        offset=GrpcToRest.convert_point_id(asked.offset) if asked.HasField("offset") else None,
        with_payload=GrpcToRest.convert_with_payload_selector(asked.with_payload),
        with_vector=GrpcToRest.convert_with_vectors_selector(asked.with_vectors),
    )
    page = storage.get(asked.collection_name).scroll(request)
    following = page["next_page_offset"]
    reply: dict[str, Any] = {"result": [_record(point) for point in page["points"]]}
    return reply if following is None else reply | {"next_page_offset": messages.PointId(uuid=following)}


def _retrieve(storage: Storage, asked: Any) -> dict[str, Any]:
    request = models.PointRequest(
        ids=[GrpcToRest.convert_point_id(each) for each in asked.ids],
        with_payload=GrpcToRest.convert_with_payload_selector(asked.with_payload),
    )
    return {"result": [_record(point) for point in storage.get(asked.collection_name).retrieve(request)]}


def _count(storage: Storage, asked: Any) -> dict[str, Any]:
    counted = storage.get(asked.collection_name).count(models.CountRequest(filter=_filter(asked), exact=True))
    return {"result": messages.CountResult(count=counted)}


def _filter(asked: Any) -> models.Filter | None:
    return GrpcToRest.convert_filter(asked.filter) if asked.HasField("filter") else None


def _record(point: dict[str, Any]) -> Any:
    return RestToGrpc.convert_record(models.Record(**point | {"payload": point["payload"] or {}}))


_DONE = RestToGrpc.convert_update_result(models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED))
_DID = messages.CollectionOperationResponse
_SERVICES: dict[str, dict[str, tuple[Any, Any, Callable[[Storage, Any], dict[str, Any]]]]] = {
    "qdrant.Qdrant": {
        "HealthCheck": (
            messages.HealthCheckRequest,
            messages.HealthCheckReply,
            lambda _, __: {"title": VERSION.title, "version": VERSION.version},
        ),
    },
    "qdrant.Collections": {
        "Get": (messages.GetCollectionInfoRequest, messages.GetCollectionInfoResponse, _info),
        "List": (messages.ListCollectionsRequest, messages.ListCollectionsResponse, _list),
        "Create": (messages.CreateCollection, _DID, _create),
        "Update": (messages.UpdateCollection, _DID, _update),
        "Delete": (messages.DeleteCollection, _DID, _drop),
        "UpdateAliases": (messages.ChangeAliases, _DID, _switch),
        "ListAliases": (messages.ListAliasesRequest, messages.ListAliasesResponse, _aliases),
        "CollectionExists": (messages.CollectionExistsRequest, messages.CollectionExistsResponse, _exists),
    },
    "qdrant.Points": {
        "CreateFieldIndex": (messages.CreateFieldIndexCollection, messages.PointsOperationResponse, _index),
        "UpdateBatch": (messages.UpdateBatchPoints, messages.UpdateBatchResponse, _write),
        "Query": (messages.QueryPoints, messages.QueryResponse, _query),
        "Scroll": (messages.ScrollPoints, messages.ScrollResponse, _scroll),
        "Get": (messages.GetPoints, messages.GetResponse, _retrieve),
        "Count": (messages.CountPoints, messages.CountResponse, _count),
    },
}
