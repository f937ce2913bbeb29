"""A data folder of a former version is opened by `memorybus up` as it is: turns, entries, vectors and what was waiting.

The folder is made here as version 3 of SQLite's schema (commit cc073b6) left it: the tables by their SQL, a shard of
the vector engine with points as they were filled in then, and a stream in which one turn had not been read yet.
"""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qdrant_edge as qdrant
from nats.js.api import DiscardPolicy, StreamConfig

from contracts import flow
from contracts.v1.profile import ProfileRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.bench.process import up_process
from services.shared.bus.connection import connect
from services.shared.bus.server import NatsServer
from services.shared.client import memory_client
from services.shared.embedders.minilm import MiniLmEmbedder
from tests.polling import answered, digested, eventually

WRITTEN = Path(__file__).parents[1] / "stores" / "version_3.sql"

LOCKER = "d1b96a76-9642-51e3-be01-14585c35d463"
SISTER = "2f3b0e8a-0aa3-5cd1-90e2-18214a46b756"
WAREHOUSE = "14abfc80-19e3-536f-9d6c-37b3f51a5c3a"
UV = "6bd03166-0e2a-5b9d-b4aa-425619ec1aab"

EMBEDDED = {
    LOCKER: "My locker at work has the code 4007.",
    SISTER: "The harbour of the old town opens at nine",
    WAREHOUSE: "The quarterly review of the northern warehouse takes place in the large meeting room",
    UV: "I prefer uv over pip",
}
"""Texts whose vectors the entries have. That of SISTER is another than it has: a vector made anew would not show it."""

READY = """
UPDATE entries SET embedding_state = 'ready', body = json_set(body, '$.embedding_state', 'ready',
    '$.embedding_provider', 'minilm', '$.embedding_model', 'all-MiniLM-L6-v2-int8', '$.embedding_dimensions', 384)
WHERE status = 'active';
INSERT INTO meta VALUES ('embedding_identity',
    '{"provider": "minilm", "model": "all-MiniLM-L6-v2-int8", "dimensions": 384, "generation": 0, "url": ""}');
"""

SCOPES = {
    "ann": ["f7c991c9ca8c320f0a6ff2d31c500cc0", "09d38b5f842956c42396eb57415d5307"],
    "bob": ["81660bcaed051c61da8844c132e46a0f", "787501454035ff77ab0d6b839d4a9259"],
}
CONVERSATIONS = {"ann": "fab2c6d3c0653eb1b3771bbdcedd4e6c", "bob": "921268f1b5977f79c369a6b9900f698a"}
TIMES = {LOCKER: (1, 2), SISTER: (3, 3), WAREHOUSE: (4, 4), UV: (6, 6)}
"""Minutes after noon at which each entry was first said, and last."""


def make_text_store(folder: Path) -> None:
    with sqlite3.connect(folder / "memory.sqlite3") as db:
        db.executescript(WRITTEN.read_text())
        db.executescript(READY)
    db.close()


async def make_vectors(folder: Path, cache: Path) -> None:
    embedder = await MiniLmEmbedder.open(cache)
    vectors = dict(zip(EMBEDDED, await embedder.embed(list(EMBEDDED.values())), strict=True))
    await embedder.close()
    path = folder / "vectors" / "all-minilm-l6-v2-int8.384.f53278ecb6.g0" / "1"
    path.mkdir(parents=True)
    turn = qdrant.EdgeVectorParams(
        size=384, distance=qdrant.Distance.Cosine, datatype=qdrant.VectorStorageDatatype.Turbo16
    )
    config = qdrant.EdgeConfig(vectors={"turn": turn}, optimizers=qdrant.EdgeOptimizersConfig(indexing_threshold=0))
    shard = qdrant.EdgeShard.create(str(path), config)
    for id_, its in vectors.items():
        vector: Any = np.asarray(its, np.float32)
        shard.update(qdrant.UpdateOperation.upsert_points([qdrant.Point(id_, {"turn": vector}, payload(id_))]))
    for field in ("scope", "type", "tag_keys", "theme_keys", "conversation_keys"):
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.KeywordIndexParams()))
    shard.update(qdrant.UpdateOperation.create_field_index("user_id", qdrant.KeywordIndexParams(is_tenant=True)))
    for field in ("created_at", "last_said_at"):
        shard.update(qdrant.UpdateOperation.create_field_index(field, qdrant.FloatIndexParams()))
    shard.flush()
    shard.close()


def payload(id_: str) -> dict[str, object]:
    user = "bob" if id_ == UV else "ann"
    first, last = (1769947200.0 + 60 * minute for minute in TIMES[id_])
    return {
        "user_id": user,
        "scope": SCOPES[user],
        "type": {WAREHOUSE: "other", UV: "preference"}.get(id_, "fact"),
        "tag_keys": [],
        "theme_keys": [],
        "conversation_keys": [CONVERSATIONS[user]],
        "created_at": first,
        "last_said_at": last,
        "version": 1,
    }


async def leave_a_turn_on_the_bus(folder: Path) -> None:
    server = NatsServer(folder / "nats", port=0, sync="always")
    await server.start()
    client = await connect(server.url, name="test")
    stream = StreamConfig(
        name="MEMORY_TURNS",
        subjects=["memory.v1.turns.*"],
        max_bytes=1024**3,
        discard=DiscardPolicy.NEW,
        duplicate_window=0.1,
    )
    js = client.jetstream()
    await js.add_stream(stream)
    turn = Turn(user_id="bob", role="user", text="My bicycle is blue", turn_id="t7", conversation_id="c1")
    await js.publish("memory.v1.turns.bob", turn.model_dump_json().encode())
    await client.close()
    await server.stop()


@pytest.fixture
async def folder(tmp_path: Path, model_cache: Path) -> Path:
    make_text_store(tmp_path)
    await make_vectors(tmp_path, model_cache)
    await leave_a_turn_on_the_bus(tmp_path)
    for path, mode in OPEN.items():
        (tmp_path / path).chmod(mode)
    return tmp_path


OPEN = {"nats": 0o755, "memory.sqlite3": 0o644}
"""What anybody might read, as former versions left it."""


async def test_all_of_it_is_there_closed_to_others_and_goes_on(folder: Path) -> None:
    patience = {"MEMORYBUS_START_PATIENCE_SECONDS": "90"}  # for a busy machine: the file is written anew at the start
    async with up_process(folder, ("--ner", "none"), environment=patience) as up, memory_client(up.nats) as client:
        await digested(client, turns=7)
        assert [stat.S_IMODE((folder / path).stat().st_mode) for path in OPEN] == [0o700, 0o600]
        status = await client.status()
        assert (status.entries, status.merged, status.inactive, status.vectors) == (5, 1, 1, 5)
        locker, *_ = (await answered(client, RetrieveRequest(user_id="ann", query="locker code"))).items
        assert (locker.id, locker.signals.lexical, locker.signals.semantic) == (LOCKER, True, True)
        found = (await answered(client, RetrieveRequest(user_id="ann", query="when does the harbour open?"))).items
        assert [(item.id, item.signals.lexical, item.signals.semantic) for item in found][:1] == [(SISTER, False, True)]
        await client.publish(Turn(user_id="ann", role="user", text="MY SISTER LIVES IN LISBON!", turn_id="t8"))
        await digested(client, turns=8)
        assert (await client.status()).merged == 2
        (bicycle,) = (await answered(client, RetrieveRequest(user_id="bob", query="colour of the bicycle"))).items[:1]
        assert bicycle.text == "My bicycle is blue"

        async def read() -> list[str]:
            reply = await client.request(flow.PROFILE, ProfileRequest(user_id="ann"), patience=5.0)
            return [fact.value for fact in reply.facts if fact.id]

        assert await eventually(read, bool)  # of entries that nobody had read
