"""Pods that an operator lets in: who they are, what they may do, what is asked of them, how they leave."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace
from typing import Any

import pytest

from services.runtime import SERVICES
from services.shared.bus.requests import RequestBroker
from services.shared.bus.streams import PUBLISH_TIMEOUT
from services.shared.bus.worker import Worker
from services.shared.health import health_routes
from services.shared.http import HttpServer, listen
from tests.manifests.chart import CASES, Refused, containers, environment, manifests, objects, of_kind, pods

_PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


def drain_seconds() -> float:
    """The longest that a process takes to stop by itself: HTTP, then requests, then batches and their publishing."""
    patience = [inspect.signature(each.stop).parameters["patience"].default for each in (RequestBroker, Worker)]
    with listen("127.0.0.1", 0) as listening:
        http = HttpServer(None, listening)._server.config.timeout_graceful_shutdown
    assert http is not None
    return float(http + sum(patience) + PUBLISH_TIMEOUT)


@pytest.mark.parametrize("case", CASES)
def test_every_deployment_runs_one_service_that_exists(case: str) -> None:
    enabled = {name for name in SERVICES if CASES[case].get("services", {}).get(name, {}).get("enabled", True)}
    found = containers(objects(CASES[case]))
    found.pop("provision", None)
    assert found.keys() == enabled
    for name, container in found.items():
        assert container["command"] == ["memorybus", "up", "--only", name]


def test_by_default_everything_runs_and_a_job_declares_the_bus_first() -> None:
    found = objects({})
    (job,) = [each for each in found if each["kind"] == "Job"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert containers(found)["provision"]["command"] == ["memorybus", "provision"]
    assert containers(found).keys() == {*SERVICES, "provision"}


def test_the_job_needs_nothing_that_the_release_has_yet_to_make() -> None:
    found = objects(CASES["everything"])
    made = {each["metadata"]["name"] for each in found if each["kind"] in ("ConfigMap", "ServiceAccount")}
    pod = pods(found)["provision"]
    assert "envFrom" not in pod["containers"][0]
    assert pod["serviceAccountName"] not in made


@pytest.mark.parametrize("case", CASES)
def test_no_container_is_root_or_may_become_it(case: str) -> None:
    for name, pod in pods(objects(CASES[case])).items():
        who = pod["securityContext"]
        assert who["runAsNonRoot"] is True, name
        assert who["runAsUser"] > 0, name
        assert who["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert "hostNetwork" not in pod
        assert "hostPID" not in pod
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            may = container["securityContext"]
            assert may["allowPrivilegeEscalation"] is False, name
            assert may["readOnlyRootFilesystem"] is True, name
            assert may["capabilities"] == {"drop": ["ALL"]}, name


@pytest.mark.parametrize(
    "values",
    [
        {"podSecurityContext": {"runAsNonRoot": False}},
        {"podSecurityContext": {"runAsUser": 0}},
        {"containerSecurityContext": {"privileged": True}},
        {"containerSecurityContext": {"allowPrivilegeEscalation": True}},
        {"containerSecurityContext": {"runAsUser": 0}},
    ],
    ids=str,
)
def test_root_cannot_be_asked_for(values: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        manifests(values)


@pytest.mark.parametrize("case", CASES)
def test_no_pod_holds_a_token_or_variables_made_of_services(case: str) -> None:
    for pod in pods(objects(CASES[case])).values():
        assert pod["automountServiceAccountToken"] is False
        # A Service called memorybus-nats would become MEMORYBUS_NATS_PORT=tcp://…, which is no port.
        assert pod["enableServiceLinks"] is False


@pytest.mark.parametrize("case", CASES)
def test_every_folder_that_is_written_to_can_be_written_to(case: str) -> None:
    found = objects(CASES[case])
    for name, pod in pods(found).items():
        empty = {volume["name"] for volume in pod["volumes"] if "emptyDir" in volume}
        mounts = {mount["mountPath"]: mount["name"] for mount in containers(found)[name]["volumeMounts"]}
        variables = environment(found, name)
        assert mounts["/tmp"] in empty
        assert mounts[variables["MEMORYBUS_DATA"]] in empty
        assert len(mounts) == len(pod["volumes"])
        kept = CASES[case].get("storage", {}).get("cacheFromImage", True)
        assert (variables["MEMORYBUS_CACHE"] in mounts) == (not kept)


@pytest.mark.parametrize("case", CASES)
def test_every_probe_asks_a_page_that_the_process_serves_where_it_listens(case: str) -> None:
    process: Any = SimpleNamespace(client=None, workers=())
    served = {path for path, _ in health_routes(process)}
    found = objects(CASES[case])
    for name in of_kind(found, "Deployment"):
        container = containers(found)[name]
        (port,) = container["ports"]
        assert {probe: container[probe]["httpGet"]["path"] for probe in _PROBES} == _PROBES
        assert served >= set(_PROBES.values())
        assert {container[probe]["httpGet"]["port"] for probe in _PROBES} == {port["name"]}
        assert str(port["containerPort"]) == environment(found, name)["MEMORYBUS_HTTP_PORT"]
        assert environment(found, name)["MEMORYBUS_HTTP_HOST"] == "0.0.0.0"


def test_a_worker_may_listen_on_a_port_of_its_own() -> None:
    found = objects({"services": {"retrieve": {"settings": {"MEMORYBUS_HTTP_PORT": 8500}}}})
    assert containers(found)["retrieve"]["ports"][0]["containerPort"] == 8500
    assert containers(found)["embed"]["ports"][0]["containerPort"] == 8400


def test_probes_wait_for_models_and_outlast_a_round_trip() -> None:
    container = containers(objects({}))["retrieve"]
    startup, liveness = container["startupProbe"], container["livenessProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 120
    assert liveness["periodSeconds"] * liveness["failureThreshold"] >= 60
    assert all(container[probe]["timeoutSeconds"] > 2 for probe in _PROBES)


@pytest.mark.parametrize("case", CASES)
def test_a_pod_is_killed_only_after_it_could_drain(case: str) -> None:
    for name, deployment in of_kind(objects(CASES[case]), "Deployment").items():
        pod = deployment["spec"]["template"]["spec"]
        leaves = pod["containers"][0].get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        assert pod["terminationGracePeriodSeconds"] > leaves + drain_seconds(), name
        assert (leaves > 0) == (name == "gateway")


@pytest.mark.parametrize("leaves", [7, 30])
def test_a_grace_shorter_than_leaving_and_the_drain_is_refused(leaves: int) -> None:
    grace = leaves + int(drain_seconds())
    with pytest.raises(Refused, match="terminationGracePeriodSeconds"):
        manifests({"terminationGracePeriodSeconds": grace, "service": {"leaveSeconds": leaves}})
    assert manifests({"terminationGracePeriodSeconds": grace + 1, "service": {"leaveSeconds": leaves}})


@pytest.mark.parametrize("case", CASES)
def test_every_container_says_what_it_takes_and_of_which_version_it_is(case: str) -> None:
    for name, container in containers(objects(CASES[case])).items():
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
        assert "memory" in container["resources"]["limits"], name
        assert re.fullmatch(r"[\w./-]+(:(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})", container["image"]), name


@pytest.mark.parametrize("tag", ["latest", "with space", "a:b"])
def test_a_tag_that_says_nothing_is_refused(tag: str) -> None:
    with pytest.raises(Refused, match="tag"):
        manifests({"image": {"tag": tag}})


def test_one_image_for_all_or_one_for_each() -> None:
    assert {each["image"] for each in containers(objects({"image": {"tag": "1.2"}})).values()} == {"memorybus:1.2"}
    for name, container in containers(objects({"image": {"tag": "1.2", "perService": True}})).items():
        assert container["image"] == f"memorybus-{name}:1.2"


def test_pods_of_one_worker_are_spread() -> None:
    for name, deployment in of_kind(objects({}), "Deployment").items():
        constraints = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert {each["topologyKey"] for each in constraints} == {
            "kubernetes.io/hostname",
            "topology.kubernetes.io/zone",
        }
        for each in constraints:
            assert each["labelSelector"] == deployment["spec"]["selector"], name
