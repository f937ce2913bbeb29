"""compose.yaml is valid, complete, and says the same as the code it runs."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compose_spec import PyCompose

from services.runtime import SERVICES
from services.shared import http, tracing
from services.shared.annotators import spacy
from services.shared.bus import server as nats_server
from services.shared.bus.permissions import users
from services.shared.bus.requests import RequestBroker
from services.shared.bus.worker import Worker
from services.shared.settings import Settings
from tests.manifests import deploy

NAMES = sorted(deploy.services())
OURS = sorted(deploy.ours())
WORKING = sorted(set(OURS) - {"provision", "all"})
# Done with once they have ended; nothing asks them whether they are well.
ONE_SHOT = {"nats-volumes", "provision", "operator"}


def needed() -> set[str]:
    """What starts without a profile."""
    return {name for name, service in deploy.services().items() if "profiles" not in service}


def mounts(service: dict[str, Any]) -> list[str]:
    return [mount.split(":")[0] for mount in service.get("volumes", [])]


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text.removesuffix("s"))


def test_the_file_follows_the_compose_specification() -> None:
    document = deploy.filled(deploy.written(), deploy.example())
    PyCompose.from_json(json.dumps(document)).validate()


def test_the_check_against_the_specification_finds_a_mistake() -> None:
    document = deploy.filled(deploy.written(), deploy.example())
    document["services"]["gateway"]["healthcheck"] = {"test": 3}
    with pytest.raises(ValueError, match=r".+"):
        PyCompose.from_json(json.dumps(document)).validate()


def test_docker_compose_accepts_the_file(tmp_path: Path) -> None:
    docker = shutil.which("docker")
    plugin = docker and subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0
    if not docker or not plugin:
        pytest.skip("the docker client with its plugin compose is missing")
    env = tmp_path / "env"
    env.write_text("".join(f"{name}={value}\n" for name, value in deploy.example().items()))
    command = [docker, "compose", "--file", str(deploy.COMPOSE), "--env-file", str(env), "--profile", "*", "config"]
    subprocess.run([*command, "--quiet"], check=True)


def test_every_variable_is_in_the_example_and_every_example_is_used() -> None:
    assert deploy.references(deploy.written()) == set(deploy.example())


def test_every_default_is_the_one_of_the_example() -> None:
    defaults = dict(re.findall(r"\$\{(\w+):-([^}]*)\}", deploy.COMPOSE.read_text()))
    assert defaults.items() <= deploy.example().items()


def test_a_secret_has_no_default() -> None:
    example = (deploy.DEPLOY / ".env.example").read_text()
    secrets = re.findall(r"^(\w+)=generate$", example, flags=re.MULTILINE)
    assert {name for name in deploy.example() if re.search("PASSWORD|KEY", name)} == set(secrets)
    for name in secrets:
        assert set(re.findall(rf"\${{{name}(.*?)}}", deploy.COMPOSE.read_text())) == {":?run deploy/init-env"}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_service_refers_to_exists(name: str) -> None:
    service, document = deploy.services()[name], deploy.written()
    assert set(service.get("networks", [])) <= set(document["networks"])
    assert set(service.get("depends_on", {})) <= set(document["services"])
    assert {config["source"] for config in service.get("configs", [])} <= set(document["configs"])
    for source in mounts(service):
        assert source in document["volumes"] or (deploy.DEPLOY / source).is_dir()


def test_nothing_is_declared_that_no_service_uses() -> None:
    services, document = deploy.services().values(), deploy.written()
    assert {name for service in services for name in service.get("networks", [])} == set(document["networks"])
    assert {c["source"] for service in services for c in service.get("configs", [])} == set(document["configs"])
    named = {source for service in services for source in mounts(service) if not source.startswith(".")}
    assert named == set(document["volumes"])
    assert all((deploy.DEPLOY / config["file"]).is_file() for config in document["configs"].values())


@pytest.mark.parametrize("name", NAMES)
def test_images_are_pinned_to_a_release(name: str) -> None:
    image = deploy.services()[name]["image"]
    assert re.fullmatch(r"[a-z0-9/-]+:v?\d+\.\d+\.\d+(-[a-z0-9.]+)?", image), image


@pytest.mark.parametrize("name", NAMES)
def test_a_container_can_do_no_more_than_it_must(name: str) -> None:
    service = deploy.services()[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    # OpenSearch writes beside its configuration; a volume is given its owner by root, once.
    assert service["read_only"] is (name != "opensearch")
    assert service.get("cap_add", []) == (["CHOWN"] if name == "nats-volumes" else [])
    assert (service["user"].split(":")[0] == "0") == (name == "nats-volumes")


@pytest.mark.parametrize("name", NAMES)
def test_a_container_has_limits_a_restart_policy_and_bounded_logs(name: str) -> None:
    service = deploy.services()[name]
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}
    once = {"nats-volumes": "no", "provision": "on-failure", "operator": "no"}
    assert service["restart"] == once.get(name, "unless-stopped")
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}


@pytest.mark.parametrize("name", sorted(set(NAMES) - ONE_SHOT - {"otel-collector"}))
def test_a_container_that_stays_is_asked_whether_it_is_well(name: str) -> None:
    service = deploy.services()[name]
    assert service.get("healthcheck", {}).get("test") or deploy.last(name, "HEALTHCHECK").startswith("--interval")


def test_who_waits_for_health_waits_for_something_that_tells_it() -> None:
    for service in deploy.services().values():
        for name, wanted in service.get("depends_on", {}).items():
            ends = wanted["condition"] == "service_completed_successfully"
            assert ends == (name in ONE_SHOT)
            assert ends or deploy.services()[name]["healthcheck"]["test"]


@pytest.mark.parametrize("name", WORKING)
def test_no_service_starts_before_the_bus_is_provisioned(name: str) -> None:
    assert deploy.services()[name]["depends_on"] == {"provision": {"condition": "service_completed_successfully"}}
    assert deploy.services()[name]["environment"]["MEMORYBUS_PROVISION"] == "false"


def test_every_service_of_the_code_runs_here_and_every_worker_twice() -> None:
    assert set(WORKING) == set(SERVICES)
    twice = {name for name in WORKING if deploy.services()[name]["deploy"].get("replicas") == 2}
    assert twice == set(SERVICES) - {"gateway"}


def test_an_operator_runs_an_image_that_is_built_and_only_when_asked() -> None:
    operator = deploy.services()["operator"]
    assert operator["profiles"] == ["operator"]
    assert operator["image"] in {service["image"] for service in deploy.ours().values()}


def test_ports_are_published_on_the_loopback_interface_only() -> None:
    published = {name: service["ports"] for name, service in deploy.services().items() if "ports" in service}
    assert set(published) == {"nats-1", "nats-2", "nats-3", "gateway", "grafana"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    taken = [port.split(":")[1] for ports in published.values() for port in ports]
    assert len(set(taken)) == len(taken)


def test_only_what_is_published_has_a_network_that_leads_out() -> None:
    assert deploy.written()["networks"]["internal"] == {"internal": True}
    for name in needed() - {"nats-volumes"}:
        service = deploy.services()[name]
        assert "internal" in service["networks"]
        assert ("edge" in service["networks"]) == ("ports" in service)


@pytest.mark.parametrize("name", OURS)
def test_every_setting_exists_and_has_a_value_it_may_have(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {key: str(value) for key, value in deploy.services()[name]["environment"].items()}
    assert set(given) <= deploy.setting_names() | set(tracing.ENDPOINTS)
    for key in [key for key in os.environ if key.startswith("MEMORYBUS_")]:
        monkeypatch.delenv(key)
    for key, value in given.items():
        monkeypatch.setenv(key, value)
    settings = Settings()  # refuses a value that may not be
    assert settings.http_host == given.get("MEMORYBUS_HTTP_HOST", "127.0.0.1")
    assert settings.provision is (given.get("MEMORYBUS_PROVISION") != "false")


@pytest.mark.parametrize("name", sorted({*OURS, "operator"} - {"all"}))
def test_a_service_is_its_own_user_of_the_bus(name: str) -> None:
    environment = deploy.written()["services"][name]["environment"]
    assert environment["MEMORYBUS_NATS_USER"] == name
    assert deploy.references(environment["MEMORYBUS_NATS_PASSWORD"]) == {f"MEMORYBUS_NATS_PASSWORD_{name.upper()}"}
    others = {f"MEMORYBUS_NATS_PASSWORD_{user.name.upper()}" for user in users()} - {
        f"MEMORYBUS_NATS_PASSWORD_{name.upper()}"
    }
    assert not deploy.references(environment) & others


@pytest.mark.parametrize("name", ["gateway", "operator"])
def test_who_only_talks_to_the_bus_is_told_nothing_of_the_stores(name: str) -> None:
    given = deploy.services()[name]["environment"]
    assert not [name for name in given if re.search("OPENSEARCH|QDRANT|STORE", name)]


@pytest.mark.parametrize("name", ["ingest", "dedupe", "enrich", "embed", "retrieve", "curate"])
def test_workers_find_the_stores_where_they_are(name: str) -> None:
    given = deploy.services()[name]["environment"]
    assert (given["MEMORYBUS_TEXT_STORE"], given["MEMORYBUS_VECTOR_STORE"]) == ("opensearch", "qdrant")
    hosts = re.findall(r"//([\w-]+):", " ".join(str(value) for value in given.values()))
    assert set(hosts) == {"nats-1", "nats-2", "nats-3", "opensearch", "qdrant"}
    key = deploy.services()["qdrant"]["environment"]["QDRANT__SERVICE__API_KEY"]
    assert given["MEMORYBUS_QDRANT_API_KEY"] == key


def test_streams_have_a_copy_on_every_server_and_a_part_for_every_ingest() -> None:
    given = deploy.services()["ingest"]["environment"]
    servers = [name for name in NAMES if re.fullmatch(r"nats-\d", name)]
    assert int(given["MEMORYBUS_NATS_REPLICAS"]) == len(servers)
    assert int(given["MEMORYBUS_TURNS_PARTITIONS"]) >= deploy.services()["ingest"]["deploy"]["replicas"]


@pytest.mark.parametrize("name", [*WORKING, "all"])
def test_a_container_is_given_more_time_to_stop_than_its_drain_takes(name: str) -> None:
    def patience(function: Any) -> float:
        default: float = inspect.signature(function).parameters["patience"].default
        return default

    http_stop = float(re.findall(r"timeout_graceful_shutdown=(\d+)", inspect.getsource(http))[0])
    drain = patience(RequestBroker.stop) + patience(Worker.stop) + http_stop + spacy.END_WITHIN
    bus = nats_server._STOP_PATIENCE if name == "all" else 0
    assert seconds(deploy.services()[name]["stop_grace_period"]) > drain + bus


def test_the_yaml_is_tidy() -> None:
    yamllint = pytest.importorskip("yamllint.cli", reason="the package yamllint is missing")
    with pytest.raises(SystemExit) as ended:
        yamllint.run(["--strict", "--config-file", str(deploy.DEPLOY / ".yamllint"), str(deploy.DEPLOY)])
    assert ended.value.code == 0
