"""What dashboard and alerts look at is there from the start: a series that begins with one shows no increase."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from services.bench.process import up_process
from tests.polling import eventually

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
LAG = "memorybus_loop_lag_seconds_count"
LOOKED_AT = ("grafana/dashboards/memorybus.json", "prometheus/rules.yml")


@pytest.mark.timeout(120)
async def test_every_metric_of_dashboard_and_alerts_has_a_series_before_anything_happens(tmp_path: Path) -> None:
    async with (
        up_process(tmp_path / "data", ("--ner", "none", "--embedder", "none")) as up,
        httpx.AsyncClient() as http,
    ):
        said = (await http.get(f"{up.http}/metrics", timeout=30)).text
        await eventually(
            lambda: http.get(f"{up.http}/metrics"), lambda page: f"{LAG} 0.0" not in page.text
        )  # how long its event loop is held is measured from the start
    series = set(re.findall(r"^([a-z]\w*)[{ ]", said, re.MULTILINE))
    wanted = {name for path in LOOKED_AT for name in re.findall(r"\bmemorybus_\w+", (DEPLOY / path).read_text())}
    recorded = set(re.findall(r"record: (\S+)", (DEPLOY / LOOKED_AT[1]).read_text()))
    kinds = ("", "_bucket", "_count", "_sum")
    assert wanted - recorded
    assert {name for name in wanted - recorded if not any(f"{name}{kind}" in series for kind in kinds)} == set()
