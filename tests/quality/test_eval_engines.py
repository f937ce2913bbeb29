"""`memorybus eval` on servers: it finds there what it finds on embedded engines, and leaves nothing behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from typer.testing import CliRunner

from services.bench import isolation
from services.eval import app
from tests.servers import opensearch

SAID = ["I row on the lake.", "My cat is called Minka.", "We sold the cheese shop.", "He paints bells."]
CASES = [
    {
        "id": f"c{n}",
        "setup_memories": [{"content": text} for text in SAID],
        "query": query,
        "expected_retrievals": [hit],
    }
    for n, (query, hit) in enumerate([("Where do I row?", SAID[0]), ("Which shop was sold?", SAID[2])])
]


@pytest.fixture
def url() -> str:
    found, whence = opensearch.server_url()
    if found is None:
        pytest.skip(whence)
    return found


def indexes(url: str) -> set[str]:
    return set(httpx.get(f"{url}/_cat/indices", params={"h": "index"}, timeout=30).text.split())


def test_golden_cases_through_opensearch(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"EMBEDDER": "none", "NER": "none", "OPENSEARCH_URL": url}.items():
        monkeypatch.setenv(f"MEMORYBUS_{name}", value)
    (tmp_path / "cases.json").write_text(json.dumps({"cases": CASES}))
    made = uuid4()
    monkeypatch.setattr(isolation, "uuid4", lambda: made)
    before, found = indexes(url), {}
    for engine in ("sqlite", "opensearch"):
        monkeypatch.setenv("MEMORYBUS_TEXT_STORE", engine)
        report = tmp_path / f"{engine}.json"
        result = CliRunner().invoke(app, ["golden", str(tmp_path / "cases.json"), "--json", str(report)])
        assert result.exit_code == 0, result.output
        found[engine] = json.loads(report.read_text())["metrics"]
    assert found["opensearch"] == found["sqlite"]
    assert found["opensearch"]["recall@1"] == 1.0
    assert not {index for index in indexes(url) if made.hex[:12] in index}
    assert not {index for index in indexes(url) - before if index.startswith("memorybus")}


def test_settings_name_new_indexes_and_a_new_collection_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBUS_OPENSEARCH_PREFIX", "live")
    monkeypatch.setenv("memorybus_qdrant_collection", "live")
    with isolation.own_engines():
        own = {
            name: value for name, value in os.environ.items() if name.upper().startswith("MEMORYBUS_OPENSEARCH_PREF")
        }
        assert own["MEMORYBUS_OPENSEARCH_PREFIX"].startswith("measured-")
        assert os.environ["MEMORYBUS_QDRANT_COLLECTION"] == own["MEMORYBUS_OPENSEARCH_PREFIX"]
        assert "memorybus_qdrant_collection" not in os.environ
    after = {name: os.environ.get(name) for name in ("MEMORYBUS_OPENSEARCH_PREFIX", "memorybus_qdrant_collection")}
    assert set(after.values()) == {"live"}
    assert "MEMORYBUS_QDRANT_COLLECTION" not in os.environ
