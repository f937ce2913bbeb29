"""Collections of the stand-in for Qdrant: the embedded engine, told what requests of qdrant-client's models ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import qdrant_edge as edge
from qdrant_client import models

CONFIG = "collection.json"
VERSION = models.VersionInfo(title="a stand-in for Qdrant, for tests", version="1.20.0")


class Refused(Exception):
    """A request that a server answers with a status and words of its own."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Found(TypedDict):
    """A point in a reply."""

    id: str
    version: int
    score: float


class Collection:
    """One collection in a folder. Every call blocks; one thread at a time."""

    def __init__(self, folder: Path, config: models.CreateCollection, shard: edge.EdgeShard) -> None:
        self._folder = folder
        self._shard = shard
        self.config = config

    @classmethod
    def create(cls, folder: Path, config: models.CreateCollection) -> Collection:
        """A new collection of named cosine vectors."""
        assert isinstance(config.vectors, dict)
        vectors = {
            name: edge.EdgeVectorParams(size=params.size, distance=edge.Distance.Cosine)
            for name, params in config.vectors.items()
        }
        optimizers = edge.EdgeOptimizersConfig(indexing_threshold=0)
        shard = edge.EdgeShard.create(str(folder / "shard"), edge.EdgeConfig(vectors=vectors, optimizers=optimizers))
        (folder / CONFIG).write_text(config.model_dump_json(exclude_none=True))
        return cls(folder, config, shard)

    @classmethod
    def load(cls, folder: Path) -> Collection:
        """The collection that the folder holds."""
        config = models.CreateCollection.model_validate_json((folder / CONFIG).read_text())
        return cls(folder, config, edge.EdgeShard.load(str(folder / "shard")))

    def close(self) -> None:
        """Write everything out and let go of the folder."""
        self._shard.flush()
        self._shard.close()

    def reconfigure(self, change: models.UpdateCollection) -> None:
        """Keep changed settings, those that a reader of the settings sees."""
        update: dict[str, Any] = {"strict_mode_config": change.strict_mode_config or self.config.strict_mode_config}
        if change.quantization_config is not None:
            disabled = isinstance(change.quantization_config, models.Disabled)
            update["quantization_config"] = None if disabled else change.quantization_config
        self.config = self.config.model_copy(update=update)
        (self._folder / CONFIG).write_text(self.config.model_dump_json(exclude_none=True))

    def index(self, wanted: models.CreateFieldIndex) -> None:
        """Make an index of a field; there may be one already."""
        self._shard.update(edge.UpdateOperation.create_field_index(wanted.field_name, _index_params(wanted)))

    def info(self) -> models.CollectionInfo:
        """Settings and size, as far as a client reads them."""
        info, config = self._shard.info(), self.config
        fields = {
            field: models.PayloadIndexInfo(data_type=_data_type(held), points=held.points)
            for field, held in info.payload_schema.items()
        }
        return models.CollectionInfo(
            status=models.CollectionStatus.GREEN,
            optimizer_status=models.OptimizersStatusOneOf.OK,
            points_count=info.points_count,
            segments_count=info.segments_count,
            payload_schema=fields,
            config=models.CollectionConfig(
                params=models.CollectionParams(vectors=config.vectors, shard_number=config.shard_number or 1),
                hnsw_config=models.HnswConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
                optimizer_config=models.OptimizersConfig(
                    deleted_threshold=0.2, vacuum_min_vector_number=1000, default_segment_number=0, flush_interval_sec=5
                ),
                wal_config=models.WalConfig(wal_capacity_mb=32, wal_segments_ahead=0),
                quantization_config=config.quantization_config,
                strict_mode_config=config.strict_mode_config and config.strict_mode_config.model_dump(),
                metadata=config.metadata,
            ),
        )

    def update(self, request: models.UpdateOperations) -> list[models.UpdateResult]:
        """Store and remove points, in the order of the operations."""
        results = []
        for operation in request.operations:
            self._shard.update(self._operation(operation))
            results.append(models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED))
        return results

    def query(self, request: models.QueryRequest) -> list[Found]:
        """The nearest points, best first."""
        if not isinstance(request.query, models.NearestQuery):
            raise Refused(400, "the stand-in only looks for the nearest")
        nearest = edge.Query.Nearest(request.query.nearest, using=request.using)  # type: ignore[arg-type]
        asked = edge.QueryRequest(
            limit=request.limit or 10, query=nearest, filter=self._filter(request.filter), with_payload=False
        )
        return [{"id": str(hit.id), "version": 0, "score": hit.score} for hit in self._shard.query(asked)]

    def scroll(self, request: models.ScrollRequest) -> dict[str, Any]:
        """Points in the order of their ids, with the vectors and the fields of the payload asked for."""
        fields = request.with_payload if isinstance(request.with_payload, list) else False
        names = request.with_vector if isinstance(request.with_vector, list) else []
        asked = edge.ScrollRequest(
            offset=None if request.offset is None else str(request.offset),
            limit=request.limit,
            filter=self._filter(request.filter),
            with_payload=fields,
            with_vector=names,
        )
        records, following = self._shard.scroll(asked)
        return {
            "points": [_plain_record(record) for record in records],
            "next_page_offset": None if following is None else str(following),
        }

    def retrieve(self, request: models.PointRequest) -> list[dict[str, Any]]:
        """The points with these ids, with the fields of the payload asked for."""
        fields = request.with_payload if isinstance(request.with_payload, list) else False
        return [_plain_record(each) for each in self._shard.retrieve([str(key) for key in request.ids], fields, False)]

    def count(self, request: models.CountRequest) -> int:
        """How many points there are, exactly."""
        return self._shard.count(edge.CountRequest(exact=True, filter=self._filter(request.filter)))

    def _operation(self, operation: models.UpdateOperation) -> edge.UpdateOperation:
        if isinstance(operation, models.DeleteOperation) and isinstance(operation.delete, models.PointIdsList):
            return edge.UpdateOperation.delete_points([str(key) for key in operation.delete.points])
        if isinstance(operation, models.DeleteOperation) and isinstance(operation.delete, models.FilterSelector):
            matching = self._filter(operation.delete.filter)
            assert matching is not None
            return edge.UpdateOperation.delete_points_by_filter(matching)
        if isinstance(operation, models.OverwritePayloadOperation):
            written = operation.overwrite_payload
            matching = self._filter(written.filter)
            assert matching is not None
            return edge.UpdateOperation.overwrite_payload_by_filter(matching, written.payload)
        if isinstance(operation, models.UpsertOperation) and isinstance(operation.upsert, models.PointsList):
            points = [self._point(point) for point in operation.upsert.points]
            return edge.UpdateOperation.upsert_points(points, self._filter(operation.upsert.update_filter))
        raise Refused(400, "the stand-in knows no such update")

    def _point(self, point: models.PointStruct) -> edge.Point:
        assert isinstance(point.vector, dict)
        assert isinstance(self.config.vectors, dict)
        for name, vector in point.vector.items():
            if name not in self.config.vectors or len(vector) != self.config.vectors[name].size:  # type: ignore[arg-type]
                raise Refused(400, f"Wrong input: Vector dimension error: {name}")
        vectors: Any = {name: np.array(vector, np.float32) for name, vector in point.vector.items()}
        return edge.Point(str(point.id), vectors, point.payload)

    def _filter(self, wanted: models.Filter | None) -> edge.Filter | None:
        if wanted is None:
            return None
        if wanted.should or wanted.must_not or wanted.min_should:
            raise Refused(400, "the stand-in knows only conditions that must be fulfilled")
        must = wanted.must if isinstance(wanted.must, list) else []
        return edge.Filter(must=[self._condition(condition) for condition in must])

    def _condition(self, wanted: models.Condition) -> Any:
        if isinstance(wanted, models.HasIdCondition):
            return edge.HasIdCondition({str(key) for key in wanted.has_id})
        if not isinstance(wanted, models.FieldCondition):
            raise Refused(400, "the stand-in knows no such condition")
        self._check_indexed(wanted.key)
        if isinstance(wanted.range, models.Range):
            return edge.FieldCondition(wanted.key, range=edge.RangeFloat(gte=wanted.range.gte, lte=wanted.range.lte))
        if isinstance(wanted.match, models.MatchAny):
            return edge.FieldCondition(wanted.key, match=edge.MatchAny(list(wanted.match.any)))  # type: ignore[arg-type]
        if isinstance(wanted.match, models.MatchValue):
            return edge.FieldCondition(wanted.key, match=edge.MatchValue(wanted.match.value))
        raise Refused(400, "the stand-in knows no such condition")

    def _check_indexed(self, field: str) -> None:
        strict = self.config.strict_mode_config
        if strict and strict.enabled and field not in self._shard.info().payload_schema:
            raise Refused(400, f'Bad request: Index required but not found for "{field}"')


def _index_params(wanted: models.CreateFieldIndex) -> Any:
    schema = wanted.field_schema
    if isinstance(schema, models.KeywordIndexParams):
        return edge.KeywordIndexParams(is_tenant=schema.is_tenant)
    if isinstance(schema, models.FloatIndexParams):
        return edge.FloatIndexParams()
    if isinstance(schema, models.IntegerIndexParams):
        return edge.IntegerIndexParams(lookup=schema.lookup, range=schema.range)
    raise Refused(400, "the stand-in knows no such index")


def _data_type(held: edge.PayloadIndexInfo) -> models.PayloadSchemaType:
    return models.PayloadSchemaType(str(held.data_type).rpartition(".")[2].lower())


def _plain_record(record: edge.Record) -> dict[str, Any]:
    return {"id": str(record.id), "payload": record.payload, "vector": _lists(record.vector or {})}


def _lists(vectors: Any) -> dict[str, Sequence[float]]:
    return {name: np.asarray(vector).tolist() for name, vector in vectors.items()}
