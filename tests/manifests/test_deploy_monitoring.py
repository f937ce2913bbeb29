"""Rules and dashboard speak of metrics that exist; the collector finds every service; promtool agrees."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.flow import FLOW
from services.runtime import SERVICES
from services.shared.health import health_routes
from tests.manifests import deploy

PROMETHEUS = deploy.DEPLOY / "prometheus"
GRAFANA = deploy.DEPLOY / "grafana"
# What Prometheus adds: where a sample comes from.
ADDED = {"job", "instance", "service"}
MATCHER = re.compile(r'(\w+)\s*=~?\s*"([^"]*)"')
EVENTS = {subject.rpartition(".")[2] for step in FLOW for subject in [event.subject for event in step.says]}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GRAFANA / "dashboards" / "memorybus.json").read_text())
    return found


def expressions() -> list[str]:
    shown = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return [*(rule["expr"] for rule in rules()), *shown]


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_speaks_of_metrics_that_exist_and_their_labels(expression: str) -> None:
    known, grouped = deploy.metrics(), set(ADDED)
    for name, selector in re.findall(r"\b(memorybus_\w+)(?:\{([^}]*)\})?", expression):
        assert name in known
        assert {label for label, _ in MATCHER.findall(selector)} <= known[name] | ADDED
        grouped |= known[name]
    if "ALERTS" in expression:
        grouped |= {"alertname", "severity", "stage", "request", "leg"}
    for labels in re.findall(r"by \(([^)]*)\)", expression):
        assert {label.strip() for label in labels.split(",")} <= grouped


def test_an_expression_about_a_metric_that_does_not_exist_would_be_found() -> None:
    assert "memorybus_messages_total" in deploy.metrics()
    assert "memorybus_messages" not in deploy.metrics()
    assert deploy.metrics()["memorybus_request_seconds_bucket"] == {"request", "outcome", "le"}


def test_stages_and_outcomes_in_expressions_are_ones_that_the_code_counts() -> None:
    sources = "".join(path.read_text() for path in (deploy.ROOT / "services" / "shared").rglob("*.py"))
    for expression in expressions():
        for label, values in MATCHER.findall(expression):
            for value in values.split("|"):
                if label == "stage":
                    assert value in {*SERVICES, *EVENTS}
                if label == "outcome":
                    assert f'"{value}"' in sources


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"].keys() == {"summary", "action"}


def test_every_alert_is_tested() -> None:
    cases = (PROMETHEUS / "rules_test.yml").read_text()
    assert {rule["alert"] for rule in rules()} == set(re.findall(r'alertname(?:: |=")(\w+)', cases))


@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "rules.yml"), ("check", "config", "prometheus.yml"), ("test", "rules", "rules_test.yml")],
)
def test_promtool_agrees(arguments: tuple[str, ...]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is missing; Debian's package prometheus brings it")
    run = subprocess.run([promtool, *arguments], cwd=PROMETHEUS, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def collector() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((deploy.DEPLOY / "otel" / "collector.yaml").read_text())
    return found


def test_the_collector_scrapes_every_service_where_it_listens() -> None:
    (job,) = collector()["receivers"]["prometheus"]["config"]["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    assert set(found["names"]) == set(SERVICES)
    assert found["port"] == int(deploy.environment("gateway")["MEMORYBUS_HTTP_PORT"])
    assert job["metrics_path"] in {path for path, _ in health_routes(object())}  # type: ignore[arg-type]


def test_the_collector_uses_everything_it_declares_and_declares_everything_it_uses() -> None:
    pipelines = collector()["service"]["pipelines"].values()
    for kind in ("receivers", "processors", "exporters"):
        assert {name for pipeline in pipelines for name in pipeline[kind]} == set(collector()[kind])


def test_what_is_collected_reaches_prometheus() -> None:
    endpoint = collector()["exporters"]["prometheusremotewrite"]["endpoint"]
    assert endpoint == "http://prometheus:9090/api/v1/write"
    assert "--web.enable-remote-write-receiver" in deploy.services()["prometheus"]["command"]


def test_prometheus_watches_the_collector_under_the_name_of_its_alert() -> None:
    jobs = {
        job["job_name"]: job for job in yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["scrape_configs"]
    }
    (target,) = jobs["otel-collector"]["static_configs"][0]["targets"]
    host, _, port = target.partition(":")
    assert host in deploy.services()
    reader = collector()["service"]["telemetry"]["metrics"]["readers"][0]["pull"]["exporter"]["prometheus"]
    assert int(port) == reader["port"]


def test_files_are_mounted_where_they_are_looked_for() -> None:
    mounted = {c["target"]: c["source"] for service in deploy.services().values() for c in service.get("configs", [])}
    (rule_file,) = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())["rule_files"]
    assert f"/etc/prometheus/{rule_file}" in mounted
    for name in ("prometheus", "otel-collector", "nats-1"):
        named = re.findall(r"/etc/[\w./]+", " ".join(deploy.services()[name]["command"]))
        assert named
        assert set(named) <= set(mounted)


def test_grafana_finds_its_dashboard_and_its_data_source() -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/memorybus.yaml").read_text())["providers"]
    used = {panel["datasource"]["uid"] for panel in dashboard()["panels"]}
    (chosen,) = dashboard()["templating"]["list"]
    assert used == {f"${{{chosen['name']}}}"}
    assert (chosen["type"], chosen["query"]) == ("datasource", source["type"])
    assert source["url"] == "http://prometheus:9090"
    service = deploy.services()["grafana"]
    folders = dict(volume.split(":")[:2] for volume in service["volumes"])
    assert folders["./grafana/dashboards"] == provider["options"]["path"]
    home = Path(service["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (GRAFANA / "dashboards" / home.name).is_file()


def test_the_panels_of_the_dashboard_have_their_own_place_and_say_what_they_show() -> None:
    panels = dashboard()["panels"]
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["title"]
        assert panel["description"]
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_the_dashboard_shows_every_metric() -> None:
    shown = " ".join(target["expr"] for panel in dashboard()["panels"] for target in panel["targets"])
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in deploy.metrics()}
    assert all(family in shown for family in families)
