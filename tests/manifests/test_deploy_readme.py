"""deploy/README.md tells the truth: what it names exists, and what it suggests fits compose.yaml."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.manifests import deploy

README = (deploy.DEPLOY / "README.md").read_text()
(OVERRIDE,) = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)]


def megabytes(size: str) -> int:
    number, unit = int(size[:-1]), size[-1].lower()
    return number * {"m": 1, "g": 1024}[unit]


def test_every_file_of_the_folder_is_explained() -> None:
    table = README.rpartition("| file |")[2]
    for path in deploy.DEPLOY.iterdir():
        if path.name not in {"README.md", ".yamllint", ".env", "settings.env", "__pycache__"}:
            assert f"`{path.name}{'/' if path.is_dir() else ''}`" in table


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:nats|otel|prometheus|grafana)/[\w.-]+\.(?:conf|yml|yaml))`", README)))
)
def test_files_that_are_named_exist(name: str) -> None:
    assert (deploy.DEPLOY / name).is_file()


def test_variables_that_are_named_exist() -> None:
    named = set(re.findall(r"`([A-Z][A-Z_0-9]+)(?:=\w+)?`", README)) - {"OPENSEARCH_PASSWORD", "NAME"}
    assert named <= set(deploy.example()) | deploy.setting_names()


def test_published_ports_are_those_of_compose() -> None:
    table = README.partition("| published on")[2].partition("\n\n")[0]
    ports = [port.split(":")[1] for service in deploy.services().values() for port in service.get("ports", [])]
    assert sorted(re.findall(r"\b\d{4}\b", table)) == sorted(ports)


def test_the_sum_of_the_limits_is_the_sum_of_the_limits() -> None:
    total = 0
    for name, service in deploy.services().items():
        if "profiles" not in service and name not in {"nats-volumes", "provision"}:
            limit = megabytes(service["deploy"]["resources"]["limits"]["memory"])
            total += limit * service["deploy"].get("replicas", 1)
    (said,) = re.findall(r"([\d.]+) GB of limits", README)
    assert float(said) == round(total / 1024, 1)


def test_the_time_to_stop_is_the_one_of_compose() -> None:
    (said,) = re.findall(r"for which it has (\d+) s", README)
    assert {deploy.services()[name]["stop_grace_period"] for name in ("ingest", "retrieve", "gateway")} == {f"{said}s"}


def test_the_override_that_turns_security_on_fits() -> None:
    assert set(OVERRIDE["services"]) <= set(deploy.services())
    for name, service in OVERRIDE["services"].items():
        given = {key for key in service["environment"] if key.startswith("MEMORYBUS_")}
        assert given <= deploy.setting_names()
        uses_text = "MEMORYBUS_TEXT_STORE" in deploy.services()[name].get("environment", {})
        assert uses_text == ("MEMORYBUS_OPENSEARCH_CA" in given)
    users = {
        name for name, found in deploy.services().items() if "MEMORYBUS_TEXT_STORE" in found.get("environment", {})
    }
    assert users <= set(OVERRIDE["services"])
