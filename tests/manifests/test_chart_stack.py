"""The chart that takes the servers along: each part is optional, and memorybus finds those that are on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from contracts.flow import FLOW
from services.runtime import SERVICES
from services.shared.bus.permissions import STREAMS_ACCOUNT, users
from tests.manifests.chart import RELEASE, Object, environment, lint_problems, manifests, rendered, yaml
from tests.manifests.chart_schema import CHART

STACK = CHART.parent / "stack"
SERVERS = ("nats", "opensearch", "qdrant")
DESCRIPTION = yaml.safe_load((STACK / "Chart.yaml").read_text())
README = (CHART.parent / "README.md").read_text()
VALUES = yaml.safe_load((STACK / "values.yaml").read_text())


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart with its parts in place; charts that only say that they are there stand for those of the servers."""
    folder = tmp_path_factory.mktemp("charts") / "stack"
    shutil.copytree(STACK, folder)
    shutil.copytree(CHART, folder / "charts" / "memorybus")
    for part in DESCRIPTION["dependencies"]:
        if part["name"] in SERVERS:
            stand_in(folder / "charts" / part["name"], part)
    return folder


def stand_in(folder: Path, part: dict[str, Any]) -> None:
    version = part["version"].split()[0].removeprefix(">=")
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"{{apiVersion: v2, name: {part['name']}, version: {version}}}\n")
    (folder / "templates" / "here.yaml").write_text(
        f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {part['name']}, labels: "
        f"{{app.kubernetes.io/component: {part['name']}}}}}, data: {{}}}}\n"
    )


def objects(stack: Path, values: dict[str, Any]) -> list[Object]:
    return [found for found in yaml.safe_load_all(rendered(json.dumps(values), chart=stack)) if found]


def servers(found: list[Object]) -> set[str]:
    return {each["metadata"]["name"] for each in found if each["kind"] == "ConfigMap"} & set(SERVERS)


def closed(found: list[Object]) -> dict[str, Object]:
    """The policies of the servers, by server."""
    kept = [each for each in found if each["kind"] == "NetworkPolicy"]
    return {
        name.split("-")[-2]: each["spec"] for each in kept if (name := each["metadata"]["name"]).endswith("-server")
    }


def test_the_stack_is_tidy_once_its_parts_are_there(stack: Path) -> None:
    assert list(lint_problems({}, chart=stack)) == []


@pytest.mark.parametrize("asked", [(), *((server,) for server in SERVERS)])
def test_a_server_comes_only_when_asked_for(stack: Path, asked: tuple[str, ...]) -> None:
    assert servers(objects(stack, {server: {"enabled": True} for server in asked})) == {*asked}


def test_the_addresses_are_those_of_the_parts(stack: Path) -> None:
    variables = environment(objects(stack, {}), "retrieve")
    assert variables["MEMORYBUS_NATS_URL"] == f"nats://{VALUES['nats']['fullnameOverride']}:4222"
    assert variables["MEMORYBUS_QDRANT_URL"] == f"http://{VALUES['qdrant']['fullnameOverride']}:6333"
    assert variables["MEMORYBUS_OPENSEARCH_URL"] == f"https://{VALUES['opensearch']['clusterName']}-master:9200"


def test_no_job_waits_for_servers_of_its_own_release(stack: Path) -> None:
    found = objects(stack, {})
    assert not [each for each in found if each["kind"] == "Job"]
    assert environment(found, "ingest")["MEMORYBUS_PROVISION"] == "true"


def test_the_part_that_is_memorybus_is_the_chart_beside_it() -> None:
    (part,) = [each for each in DESCRIPTION["dependencies"] if each["name"] == "memorybus"]
    assert part["version"] == yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    assert (STACK / part["repository"].removeprefix("file://")).resolve() == CHART


def test_the_values_that_the_readme_shows_are_taken(stack: Path) -> None:
    (alone,) = re.findall(r"<<'EOF'\n(.*?)EOF\n", README, flags=re.DOTALL)
    (together,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert "registry.example/memorybus:" in manifests(yaml.safe_load(alone))
    assert servers(objects(stack, yaml.safe_load(together))) == {*SERVERS}


def test_nobody_but_the_workers_reaches_a_server(stack: Path) -> None:
    found = closed(objects(stack, {server: {"enabled": True} for server in SERVERS}))
    assert found.keys() == {*SERVERS}
    for server, spec in found.items():
        own = {"app.kubernetes.io/name": server, "app.kubernetes.io/instance": RELEASE}
        assert spec["podSelector"]["matchLabels"] == own
        peers = [peer["podSelector"]["matchLabels"] for rule in spec["ingress"] for peer in rule["from"]]
        assert peers == [own, own | {"app.kubernetes.io/name": "memorybus"}]
        assert all(rule["ports"] for rule in spec["ingress"])
    assert VALUES["qdrant"]["apiKey"] is True, "it asks for a key, too"


def test_assistants_reach_the_bus_alone_once_they_are_named(stack: Path) -> None:
    them = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "assistants"}}}
    values: dict[str, Any] = {server: {"enabled": True} for server in SERVERS}
    found = closed(objects(stack, values | {"networkPolicy": {"assistants": [them], "monitoring": [them]}}))
    open_to_them = {
        (server, port["port"])
        for server, spec in found.items()
        for rule in spec["ingress"]
        if them in rule["from"]
        for port in rule["ports"]
    }
    assert open_to_them == {("nats", 4222), ("nats", 8222)}


def test_the_workers_of_the_stack_are_as_closed_as_its_servers(stack: Path) -> None:
    found = [each for each in objects(stack, {}) if each["kind"] == "NetworkPolicy"]
    workers = {each["metadata"]["labels"]["app.kubernetes.io/component"]: each["spec"] for each in found}
    assert workers.keys() == {*SERVICES}
    assert workers["gateway"]["ingress"][0]["from"] == [{"podSelector": {}}]


def test_with_users_every_worker_and_the_job_is_its_own_and_the_servers_know_all_of_them(stack: Path) -> None:
    given = yaml.safe_load((STACK / "users.yaml").read_text())
    found = objects(stack, given)
    for step in FLOW:
        variables = environment(found, step.service)
        assert (variables["MEMORYBUS_NATS_USER"], variables["MEMORYBUS_PROVISION"]) == (step.service, "false")
    (job,) = [each for each in found if each["kind"] == "Job"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    assert given["nats"]["config"]["merge"] == {"00$include": "users"}
    asked = {
        name: value["valueFrom"]["secretKeyRef"]["key"] for name, value in given["nats"]["container"]["env"].items()
    }
    assert asked == {user.password_variable: user.name for user in users()}
    assert given["memorybus"]["keda"]["account"] == STREAMS_ACCOUNT
