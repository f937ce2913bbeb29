"""The objects around the pods: valid for Kubernetes, pointing at each other, and refusing what cannot be meant."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contracts import subjects
from services.gateway.app import pages
from services.runtime import SERVICES
from services.shared.bus.permissions import STREAMS_ACCOUNT
from services.shared.health import health_routes
from tests.manifests.chart import (
    CASES,
    NAMESPACE,
    RELEASE,
    Object,
    Refused,
    component,
    environment,
    lint_problems,
    manifests,
    objects,
    of_kind,
    only,
    rendered,
    yaml,
)
from tests.manifests.chart_schema import CHART

VERSIONS = ("1.30", "1.37")
CUSTOM = ("ScaledObject", "PodMonitor", "PrometheusRule")
_FILES = [path for path in sorted(CHART.parent.rglob("*.yaml")) if path.parent.name != "templates"]
_LINT = """
extends: default
rules:
  line-length: {max: 120}
  document-start: disable
  comments: {min-spaces-from-content: 1}
  braces: {max-spaces-inside: 0}
"""


@pytest.mark.parametrize("case", CASES)
def test_helm_has_nothing_to_say_against_the_chart(case: str) -> None:
    assert list(lint_problems(CASES[case])) == []


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(CHART.parent)))
def test_every_yaml_file_is_tidy(path: Any) -> None:
    assert yaml_problems(path.read_text(), _LINT) == []


@pytest.mark.parametrize("case", CASES)
def test_no_key_is_rendered_twice(case: str) -> None:
    assert yaml_problems(manifests(CASES[case]), "rules: {key-duplicates: enable}") == []


def yaml_problems(text: str, rules: str) -> list[str]:
    linter = pytest.importorskip("yamllint.linter", reason="needs pip install yamllint")
    config = pytest.importorskip("yamllint.config", reason="needs pip install yamllint")
    return [str(problem) for problem in linter.run(text, config.YamlLintConfig(rules))]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", CASES)
def test_kubernetes_takes_every_object(case: str, version: str) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate", reason="needs pip install kubernetes-validate")
    for found in objects(CASES[case]):
        if found["kind"] not in CUSTOM:
            kubernetes.validate(found, version, strict=True)


@pytest.mark.parametrize("case", CASES)
def test_rendering_anew_in_another_order_makes_the_same_text(case: str) -> None:
    backwards = dict(reversed(CASES[case].items()))
    assert rendered(json.dumps(backwards)) == rendered(json.dumps(CASES[case]))


@pytest.mark.parametrize("case", CASES)
def test_objects_have_names_of_their_own_that_kubernetes_takes(case: str) -> None:
    found = objects(CASES[case], release="r" * 53)
    names = [(each["kind"], each["metadata"]["name"]) for each in found]
    assert len(names) == len(set(names))
    assert max(len(name) for _, name in names) <= 63


@pytest.mark.parametrize("case", CASES)
def test_every_selector_selects_the_pods_of_one_worker(case: str) -> None:
    found = objects(CASES[case])
    labels = {component(each): pod_labels(each) for each in found if each["kind"] in ("Deployment", "Job")}
    for each in found:
        if (wanted := selector(each)) is not None:
            assert [name for name, has in labels.items() if wanted.items() <= has.items()] == [component(each)]


def pod_labels(found: Object) -> dict[str, str]:
    return dict(found["spec"]["template"]["metadata"]["labels"])


def selector(found: Object) -> dict[str, str] | None:
    spec = found.get("spec", {})
    match found["kind"]:
        case "Deployment" | "PodDisruptionBudget":
            return dict(spec["selector"]["matchLabels"])
        case "NetworkPolicy":
            return dict(spec["podSelector"]["matchLabels"])
        case "Service":
            return dict(spec["selector"])
    return None


@pytest.mark.parametrize("case", CASES)
def test_a_disruption_budget_never_keeps_the_last_pod_from_leaving(case: str) -> None:
    found = objects(CASES[case])
    budgets = of_kind(found, "PodDisruptionBudget")
    assert budgets.keys() == {name for name, least in fewest_pods(found).items() if least > 1}
    assert all(each["spec"]["maxUnavailable"] == 1 for each in budgets.values())


def fewest_pods(found: list[Object]) -> dict[str, int]:
    fewest = {name: each["spec"].get("replicas", 1) for name, each in of_kind(found, "Deployment").items()}
    fewest |= {name: each["spec"]["minReplicas"] for name, each in of_kind(found, "HorizontalPodAutoscaler").items()}
    return fewest | {name: each["spec"]["minReplicaCount"] for name, each in of_kind(found, "ScaledObject").items()}


@pytest.mark.parametrize("case", CASES)
def test_a_worker_is_scaled_by_one_thing_only(case: str) -> None:
    found = objects(CASES[case])
    by_load, by_lag = of_kind(found, "HorizontalPodAutoscaler"), of_kind(found, "ScaledObject")
    assert not by_load.keys() & by_lag.keys()
    for name, deployment in of_kind(found, "Deployment").items():
        assert ("replicas" in deployment["spec"]) == (name not in by_load and name not in by_lag)
        for scaler in (by_load.get(name), by_lag.get(name)):
            if scaler is not None:
                assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]


@pytest.mark.parametrize("partitions", [1, 8])
def test_scaling_by_lag_watches_exactly_the_consumers_of_the_bus(partitions: int) -> None:
    settings = {"MEMORYBUS_TURNS_PARTITIONS": partitions}
    found = of_kind(objects({"keda": {"enabled": True}, "settings": settings}), "ScaledObject")
    watched = {
        (name, trigger["metadata"]["stream"], trigger["metadata"]["consumer"])
        for name, each in found.items()
        for trigger in each["spec"]["triggers"]
    }
    assert watched == {(each.service, each.stream, each.name) for each in subjects.consumers(partitions)}


def test_a_scaled_object_has_the_shape_that_keda_reads() -> None:
    needed = {"natsServerMonitoringEndpoint", "account", "stream", "consumer", "lagThreshold", "useHttps"}
    found = of_kind(objects({"keda": {"enabled": True}}), "ScaledObject")
    for each in found.values():
        assert each["apiVersion"] == "keda.sh/v1alpha1"
        assert 0 <= each["spec"]["minReplicaCount"] <= each["spec"]["maxReplicaCount"]
        for trigger in each["spec"]["triggers"]:
            assert (trigger["type"], trigger["metadata"].keys()) == ("nats-jetstream", needed)
            assert all(isinstance(value, str) for value in trigger["metadata"].values())
    ingest = found["ingest"]["spec"]
    terms = ingest["advanced"]["scalingModifiers"]["formula"].split(" + ")
    assert terms == [trigger["name"] for trigger in ingest["triggers"]]


def test_with_both_on_lag_scales_what_reads_a_stream_and_load_the_rest() -> None:
    found = objects({"keda": {"enabled": True}, "autoscaling": {"enabled": True}})
    readers = {each.service for each in subjects.CONSUMERS}
    assert of_kind(found, "ScaledObject").keys() == readers
    assert of_kind(found, "HorizontalPodAutoscaler").keys() == SERVICES.keys() - readers


def test_prometheus_finds_every_worker() -> None:
    found = objects(CASES["everything"])
    monitor = only(found, "PodMonitor")
    assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"], endpoint["interval"]) == ("http", "/metrics", "15s")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    for deployment in of_kind(objects({}), "Deployment").values():
        assert wanted <= pod_labels(deployment).items()
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        assert annotations["prometheus.io/path"] == "/metrics"
        assert annotations["prometheus.io/port"] == "8400"


def test_alerts_go_by_the_labels_that_the_monitor_gives() -> None:
    found = objects(CASES["everything"])
    monitor, rule = only(found, "PodMonitor"), only(found, "PrometheusRule")
    relabelings = {
        each["targetLabel"]: each["sourceLabels"] for each in monitor["spec"]["podMetricsEndpoints"][0]["relabelings"]
    }
    assert relabelings == {
        "service": ["__meta_kubernetes_pod_label_app_kubernetes_io_component"],
        "release": ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"],
    }
    down = [each["expr"] for each in alerts(rule) if each["alert"] == "ServiceDown"]
    asked = [dict(re.findall(r'(\w+)="([^"]*)"', expression)) for expression in down]
    labels = {name: pod_labels(deployment) for name, deployment in of_kind(found, "Deployment").items()}
    assert asked == [
        {"job": labels[name][monitor["spec"]["jobLabel"]], "namespace": NAMESPACE, "release": RELEASE, "service": name}
        for name in (matchers["service"] for matchers in asked)
    ]
    assert {matchers["service"] for matchers in asked} == labels.keys() == {*SERVICES}
    assert {has["app.kubernetes.io/instance"] for has in labels.values()} == {RELEASE}


def alerts(rule: Object) -> list[Object]:
    return [each for group in rule["spec"]["groups"] for each in group["rules"]]


@pytest.mark.parametrize(
    ("worker", "values"),
    [
        ("gateway", {"services": {"gateway": {"enabled": False}}}),
        ("embed", {"services": {"embed": {"replicas": 0}}}),
        ("embed", {"keda": {"enabled": True}, "services": {"embed": {"keda": {"minReplicas": 0}}}}),
    ],
)
def test_a_worker_that_is_off_or_may_have_no_pod_is_missed_by_nobody(worker: str, values: dict[str, Any]) -> None:
    rule = only(objects(values | {"metrics": {"prometheusRule": {"enabled": True}}}), "PrometheusRule")
    down = " ".join(each["expr"] for each in alerts(rule) if each["alert"] == "ServiceDown")
    assert [name for name in SERVICES if f'service="{name}"' not in down] == [worker]


_USER = {
    "settings": {"MEMORYBUS_NATS_USER": "embed"},
    "secrets": {"MEMORYBUS_NATS_PASSWORD": {"existingSecret": "s", "key": "k"}},
}


@pytest.mark.parametrize(
    ("embed", "given", "expected"),
    [
        ({}, {}, "$G"),
        (_USER, {}, STREAMS_ACCOUNT),
        (_USER, {"account": "$G"}, "$G"),
        ({"files": {"MEMORYBUS_NATS_CREDS": {"existingSecret": "s", "key": "k"}}}, {"account": "MINE"}, "MINE"),
    ],
    ids=["nobody", "a user", "a user, and an account", "credentials"],
)
def test_keda_looks_where_the_streams_are(embed: dict[str, Any], given: dict[str, Any], expected: str) -> None:
    found = of_kind(objects({"keda": {"enabled": True, **given}, "services": {"embed": embed}}), "ScaledObject")
    (trigger,) = found["embed"]["spec"]["triggers"]
    assert trigger["metadata"]["account"] == expected


def test_the_alerts_of_the_chart_are_those_of_one_machine() -> None:
    kept = yaml.safe_load((CHART.parent.parent / "deploy" / "prometheus" / "rules.yml").read_text())["groups"]
    rule = only(objects(CASES["everything"]), "PrometheusRule")
    groups = {group["name"]: group for group in rule["spec"]["groups"]}
    assert groups.keys() == {group["name"] for group in kept}
    for group in kept:
        scoped = {"name": group["name"], "rules": list(map(of_a_release, group["rules"]))}
        assert scoped == groups[group["name"]] or group["name"] == "memorybus-processes"


def of_a_release(rule: Object) -> Object:
    """A rule that looks at the metrics of one release, and says whose they are."""
    own = f'namespace="{NAMESPACE}", release="{RELEASE}"'
    expr = re.sub(r"(memorybus_\w+)\{", rf"\1{{{own}, ", rule["expr"])
    expr = re.sub(r"(memorybus_\w+)(?![\w{])", rf"\1{{{own}}}", expr)
    return rule | {"expr": expr, "labels": rule["labels"] | {"namespace": NAMESPACE, "release": RELEASE}}


_TWO_RELEASES = """
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: memorybus_waiting_messages{namespace="assistants", release="prod", stage="embed"}
        values: 5x60
      - series: memorybus_messages_total{namespace="assistants", release="prod", stage="embed", outcome="done"}
        values: 7x60
      - series: memorybus_messages_total{namespace="assistants", release="staging", stage="embed", outcome="done"}
        values: 0+9x60
      - series: memorybus_stage_stuck{namespace="assistants", release="staging", stage="ingest"}
        values: 1x60
      - series: up{job="memorybus", namespace="assistants", release="staging", service="embed"}
        values: 1x60
    promql_expr_test:
      - expr: count by (alertname, stage, release) (ALERTS{alertname=~"NoProgress|StageStuck"})
        eval_time: 40m
        exp_samples:
          - {labels: '{alertname="NoProgress", stage="embed", release="prod"}', value: 1}
      - expr: count(ALERTS{alertname="ServiceDown", service="embed", release="prod"})
        eval_time: 40m
        exp_samples:
          - {labels: '{}', value: 1}
"""


def test_one_release_neither_silences_the_alerts_of_another_nor_raises_them(tmp_path: Path) -> None:
    if (promtool := shutil.which("promtool")) is None:
        pytest.skip("promtool is missing; Debian's package prometheus brings it")
    rule = only(objects(CASES["everything"]), "PrometheusRule")
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rule["spec"]))
    (tmp_path / "test.yml").write_text(_TWO_RELEASES)
    run = subprocess.run(
        [promtool, "test", "rules", tmp_path / "test.yml"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_dashboard_comes_whole_where_grafana_looks_for_it() -> None:
    (found,) = [each for each in objects(CASES["everything"]) if each["metadata"]["name"].endswith("-dashboard")]
    kept = (CHART.parent.parent / "deploy" / "grafana" / "dashboards" / "memorybus.json").read_text()
    assert found["data"] == {"memorybus.json": kept}
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert found["metadata"]["annotations"] == {"grafana_folder": "memory"}


@pytest.mark.parametrize("case", CASES)
def test_ways_in_lead_to_pages_that_exist(case: str) -> None:
    known = {path for path, _ in [*pages(), *health_routes(object())]}  # type: ignore[arg-type]
    for found in of_kind(objects(CASES[case]), "Ingress").values():
        for rule in found["spec"]["rules"]:
            assert {path["path"] for path in rule["http"]["paths"]} <= known


def test_the_way_in_leads_to_the_gateway() -> None:
    found = objects(CASES["everything"])
    service, ingress = only(found, "Service"), only(found, "Ingress")
    (rule,) = ingress["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
    assert not [each for each in objects({}) if each["kind"] == "Ingress"]


_HOST = {"host": "a.example"}


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 3},
        {"services": {"ingset": {"replicas": 3}}},
        {"services": {"ingest": {"replica": 3}}},
        {"services": {"ingest": {"replicas": -1}}},
        {"services": {"gateway": None}},
        {"settings": {"MEMORYBUS_NO_SUCH_SETTING": 1}},
        {"settings": {"MEMORYBUS_NATS_REPLICAS": 9}},
        {"settings": {"MEMORYBUS_EMBEDDER": "magic"}},
        {"settings": {"MEMORYBUS_TEXT_STORE": "sqlite"}},
        {"settings": {"MEMORYBUS_TEXT_STORE": None}},
        {"settings": {"MEMORYBUS_VECTOR_STORE": "edge"}},
        {"services": {"ingest": {"settings": {"MEMORYBUS_DEDUPE_MAX_BATCH": 4}}}},
        {"secrets": {"MEMORYBUS_NATS_PASSWORD": {"existingSecret": "a", "key": "b", "value": "c"}}},
        {"image": {"digest": "sha256:short"}},
        {"ingress": {"enabled": True, "hosts": [_HOST]}},
        {"networkPolicy": {"nats": {"to": []}}},
        {"networkPolicy": {"qdrant": {"to": [{}]}}},
        {"autoscaling": {"enabled": True, "minReplicas": 5, "maxReplicas": 2}},
        {"keda": {"enabled": True, "monitoringEndpoint": "http://nats:8222"}},
        {"resources": {}},
        {"services": {"gateway": {"settings": {"MEMORYBUS_GATEWAY_AUTH": False}}}},
        {"services": {"gateway": {"settings": {"MEMORYBUS_GATEWAY_AUTH": None}}}},
        {"settings": {"MEMORYBUS_HTTP_HOST": "127.0.0.1"}},
        {"services": {"embed": {"settings": {"MEMORYBUS_HTTP_HOST": "localhost"}}}},
        {"keda": {"enabled": True}, "files": {"MEMORYBUS_NATS_CREDS": {"existingSecret": "s", "key": "k"}}},
        {"ingress": {"enabled": True}, "services": {"gateway": {"enabled": False}}},
    ],
    ids=str,
)
def test_values_that_cannot_be_meant_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        manifests(values)


def test_a_chart_that_has_this_one_as_a_part_may_pass_global_values() -> None:
    assert objects({"global": {"anything": 1}}) == objects({})


def test_the_gateway_answers_to_the_names_of_its_service_and_ingress() -> None:
    found = objects(
        {
            "ingress": {
                "enabled": True,
                "hosts": [{"host": "memory.example", "paths": [{"path": "/asyncapi", "pathType": "Exact"}]}],
            }
        }
    )
    service = only(found, "Service")["metadata"]["name"]
    names = environment(found, "gateway")["MEMORYBUS_HTTP_HOSTS"].split(",")
    assert {service, "memory.example"} <= set(names)
    assert all(name.startswith(f"{service}.") for name in set(names) - {service, "memory.example"})
    given = objects({"settings": {"MEMORYBUS_HTTP_HOSTS": "mine"}})
    assert environment(given, "gateway")["MEMORYBUS_HTTP_HOSTS"] == "mine"


@pytest.mark.parametrize("release", ["on", "1e3"])
@pytest.mark.parametrize("case", CASES)
def test_the_name_of_a_release_is_text_whatever_yaml_takes_it_for(case: str, release: str) -> None:
    for found in objects(CASES[case], release=release):
        of_pods = found["spec"].get("template", {}).get("metadata", {}).get("labels", {}) if "spec" in found else {}
        labels = {**found["metadata"].get("labels", {}), **of_pods}
        assert all(isinstance(value, str) for value in labels.values()), labels
        assert labels.get("app.kubernetes.io/instance", release) == release
