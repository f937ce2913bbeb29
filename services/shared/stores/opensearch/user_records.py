"""Small records about users, one document each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from contracts.errors import Unavailable
from contracts.ports import Record, RecordKey, RecordKind, RecordPage
from services.shared.stores.moments import microseconds
from services.shared.stores.opensearch import queries
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.opensearch.privacy import erasures_of, remove
from services.shared.stores.opensearch.transport import Write
from services.shared.stores.records import ERASING, Row, cursor, position, position_of
from services.shared.stores.scopes import hashed

_PAGE = 1000
_STORED = list(Row._fields)


class OpenSearchRecords(Engine):
    """`contracts.ports.UserRecords`. What is asked for by name is as it was written last; lists and pages refresh."""

    async def records(self, user_id: str, kind: RecordKind, names: Collection[str] | None = None) -> list[Record]:
        if names is None:
            return await self._all(user_id, kind)
        found = await self.get_records([RecordKey(user_id, kind, name) for name in set(names)])
        return [found[key] for key in sorted(found)]

    async def get_records(self, keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
        documents = await self.client.mget("records", [(_id(*key), key.user_id) for key in keys])
        records = (_row(document.source).record for document in documents if document)
        return {record.key: record for record in records if record.key in keys}

    async def _all(self, user_id: str, kind: RecordKind) -> list[Record]:
        await self.client.refresh("records")
        mine: list[Json] = [{"term": {"user_id": user_id}}, {"term": {"kind": kind}}]
        body: Json = {"query": queries.all_of(mine), "sort": [{"name": "asc"}], "size": _PAGE, "_source": _STORED}
        found: list[Record] = []
        while True:
            hits = (await self.client.search("records", body, routing=user_id))["hits"]["hits"]
            found += [_row(hit["_source"]).record for hit in hits]
            if len(hits) < _PAGE:
                return found
            body["search_after"] = hits[-1]["sort"]

    async def put_record(self, record: Record, *, held: int | None) -> bool:
        if await self._being_erased([record.user_id]):
            raise Unavailable(ERASING)
        if held is None:
            write = self._write(record)
        else:
            (document,) = await self.client.mget("records", [(_id_of(record), record.user_id)])
            if document is None or document.source["version"] != held:
                return False
            body = self._write(record, held + 1).body
            write = Write("index", "records", record.user_id, document.id, body, document.version)
        (version,) = await self.client.bulk([write])
        return version is not None

    async def add_records(self, records: Sequence[Record]) -> None:
        erased = await self._being_erased({one.user_id for one in records})
        await self.client.bulk([self._write(one) for one in records if one.user_id not in erased])

    async def _being_erased(self, user_ids: Collection[str]) -> set[str]:
        return {mark.user_id for mark in await erasures_of(self.client, user_ids) if not mark.cleared}

    def _write(self, record: Record, version: int = 1) -> Write:
        body = Row.of(record, version)._asdict() | {"seq": self.numbers.next()}
        return Write("create", "records", record.user_id, _id_of(record), body)

    async def remove_records(self, user_id: str, kind: RecordKind, names: Collection[str] | None = None) -> int:
        conditions: list[Json] = [{"term": {"user_id": user_id}}, {"term": {"kind": kind}}]
        if names is not None:
            conditions.append({"terms": {"name": list(names)}})
        return await self._removed(conditions, user_id)

    async def page_records(
        self, kind: RecordKind, *, user_id: str | None, limit: int, cursor: str | None
    ) -> RecordPage:
        if limit < 1:
            raise ValueError(f"a page holds at least 1 record, not {limit}")
        after = position(cursor) if cursor is not None else None
        await self.client.refresh("records")
        body = _listed(kind, user_id, min(limit, queries.MOST_HITS - 1) + 1)
        if after is not None:
            body["search_after"] = after
        hits = (await self.client.search("records", body, routing=user_id))["hits"]["hits"]
        return _page([_row(hit["_source"]).record for hit in hits], body["size"] - 1)

    async def expire_records(self, kind: RecordKind, *, before: datetime) -> int:
        old: list[Json] = [{"term": {"kind": kind}}, {"range": {"at": {"lt": microseconds(before)}}}]
        return await self._removed(old)

    async def _removed(self, conditions: list[Json], routing: str | None = None) -> int:
        """Remove what the next list is not to show any more; how many."""
        count = await remove(self.client, self.client.alias("records"), queries.all_of(conditions), routing=routing)
        if count:
            await self.client.refresh_now("records")
        return count


def _page(found: Sequence[Record], limit: int) -> RecordPage:
    page = tuple(found[:limit])
    return RecordPage(page, cursor(position_of(page[-1])) if len(found) > limit else None)


def _listed(kind: RecordKind, user_id: str | None, size: int) -> Json:
    mine: list[Json] = [{"term": {"user_id": user_id}}] if user_id is not None else []
    order = [{"at": "desc"}, {"user_id": "desc"}, {"name": "desc"}]
    return {"query": queries.all_of([{"term": {"kind": kind}}, *mine]), "sort": order, "size": size, "_source": _STORED}


def _id(user_id: str, kind: RecordKind, name: str) -> str:
    return hashed("record", user_id, kind, name)


def _id_of(record: Record) -> str:
    return _id(record.user_id, record.kind, record.name)


def _row(source: Json) -> Row:
    return Row(**{name: source[name] for name in _STORED})
