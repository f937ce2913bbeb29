"""What an operator writes into the values is what a service reads; secrets stay references."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from services.runtime import SERVICES
from services.shared.settings import EnvironmentSettings, Settings
from tests.manifests.chart import CASES, Object, Refused, containers, environment, manifests, objects, pods
from tests.manifests.chart_schema import Setting, all_settings, settings_classes

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = all_settings()
PLAIN = [setting for setting in SETTINGS if setting.place == "settings"]
REFERRED = [setting for setting in SETTINGS if setting.place in ("secrets", "files")]
SERVERS = ("NATS", "OPENSEARCH", "QDRANT", "EMBEDDER")
_VECTORS = r"host\.vector_(?:store|index)\("
_OPENS = {
    "OPENSEARCH": r"host\.text_store\(",
    "QDRANT": _VECTORS,
    "EMBEDDER": _VECTORS,
    "AUDIT": r"RequestHandler\(",
    "EXTRACT": r"configured_model\(",
}


def sample(schema: dict[str, Any]) -> Any:
    """A value that the schema takes and that is hardly anybody's default."""
    if "enum" in schema:
        return [value for value in schema["enum"] if value is not None][-1]
    match schema["type"][0] if isinstance(schema["type"], list) else schema["type"]:
        case "boolean":
            return True
        case "integer":
            return min(int(schema.get("maximum", 4_294_967_296)), 4_294_967_296)
        case "number":
            return max(float(schema.get("minimum", 0.375)), min(float(schema.get("maximum", 0.375)), 0.375))
    return "/somewhere/else" if schema.get("pattern") == "^/" else "somewhere-else"


def of_service(name: str) -> list[Setting]:
    return [setting for setting in SETTINGS if setting.service in (None, name)]


def read(monkeypatch: pytest.MonkeyPatch, variables: dict[str, Any], service: str) -> dict[str, Any]:
    """The settings that a process of this service makes of these variables, by variable."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    held: dict[str, Any] = {}
    classes: list[type[EnvironmentSettings]] = [Settings, *settings_classes(service)]
    for cls in classes:
        held |= {f"{cls.prefix}{name}".upper(): value for name, value in cls().model_dump(mode="json").items()}
    return held


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_written_for_all_workers_is_what_a_worker_reads(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = {each.variable: sample(each.schema) for each in PLAIN if each.service is None}
    held = read(monkeypatch, _plain(environment(objects({"settings": shared} | _passwords()), service)), service)
    assert {name: held[name] for name in shared} == shared


@pytest.mark.parametrize("service", SERVICES)
def test_every_setting_written_for_one_worker_is_what_it_reads_and_no_other_does(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {each.variable: sample(each.schema) for each in of_service(service) if each.place == "settings"}
    before, found = objects(_passwords()), objects({"services": {service: {"settings": own}}} | _passwords())
    held = read(monkeypatch, _plain(environment(found, service)), service)
    assert {name: held[name] for name in own} == own
    for other in SERVICES:
        if other != service:
            assert environment(found, other) == environment(before, other)


@pytest.mark.parametrize("setting", REFERRED, ids=lambda setting: setting.variable)
def test_every_secret_and_file_can_be_taken_from_a_secret(setting: Setting) -> None:
    reference = {"existingSecret": "kept-elsewhere", "key": "the-key"}
    found = objects({setting.place: {setting.variable: reference}})
    service = setting.service or ("enrich" if setting.variable == "MEMORYBUS_EXTRACT_API_KEY" else "retrieve")
    value = environment(found, service)[setting.variable]
    if setting.place == "secrets":
        assert value == {"secretKeyRef": {"name": "kept-elsewhere", "key": "the-key"}}
    else:
        assert value in mounted(found, service, reference)


def mounted(found: list[Object], name: str, reference: dict[str, str]) -> list[str]:
    """Where a key of a secret lies in the file system of a component."""
    pod = pods(found)[name]
    folders = {mount["name"]: mount["mountPath"] for mount in containers(found)[name]["volumeMounts"]}
    return [
        f"{folders[volume['name']]}/{item['path']}"
        for volume in pod["volumes"]
        for source in volume.get("projected", {}).get("sources", ())
        if source["secret"]["name"] == reference["existingSecret"]
        for item in source["secret"]["items"]
        if item["key"] == reference["key"]
    ]


def test_any_plain_setting_can_come_from_a_secret_and_then_wins() -> None:
    reference = {"existingSecret": "bus", "key": "url"}
    found = objects({"secrets": {"MEMORYBUS_NATS_URL": reference}})
    for name, container in containers(found).items():
        values = [each for each in container["env"] if each["name"] == "MEMORYBUS_NATS_URL"]
        assert values == [{"name": "MEMORYBUS_NATS_URL", "valueFrom": {"secretKeyRef": _named(reference)}}], name


@pytest.mark.parametrize("case", CASES)
def test_every_variable_of_ours_is_a_setting_of_the_service_that_gets_it(case: str) -> None:
    found = objects(CASES[case])
    for name in containers(found):
        known = {setting.variable for setting in of_service(name)}
        ours = {variable for variable in environment(found, name) if variable.startswith("MEMORYBUS_")}
        assert ours
        assert ours <= known, name


@pytest.mark.parametrize("case", CASES)
def test_every_rendered_value_is_one_that_the_service_accepts(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = objects(CASES[case])
    for name in containers(found):
        with monkeypatch.context() as patch:
            read(patch, _plain(environment(found, name)), name)


@pytest.mark.parametrize("case", CASES)
def test_configmaps_and_plain_variables_hold_no_secret(case: str) -> None:
    secret = {setting.variable for setting in SETTINGS if setting.place == "secrets"}
    found = objects(CASES[case])
    assert not [each for each in found if each["kind"] == "Secret"]
    assert all(not secret & each["data"].keys() for each in found if each["kind"] == "ConfigMap")
    for name in containers(found):
        assert not secret & _plain(environment(found, name)).keys()


@pytest.mark.parametrize("setting", [each for each in SETTINGS if each.place == "secrets"], ids=lambda s: s.variable)
def test_a_secret_written_into_the_values_is_refused(setting: Setting) -> None:
    with pytest.raises(Refused):
        manifests({"settings": {setting.variable: "swordfish"}})
    with pytest.raises(Refused):
        manifests({"secrets": {setting.variable: "swordfish"}})
    with pytest.raises(Refused, match="extraEnv"):
        manifests({"extraEnv": [{"name": setting.variable, "value": "swordfish"}]})


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_gets_the_secrets_of_the_servers_that_its_code_opens_and_no_others(service: str) -> None:
    code = (ROOT / "services" / service / "app.py").read_text()
    opened = {"NATS"} | {server for server, pattern in _OPENS.items() if re.search(pattern, code)}
    found = objects({place: _all_references(place) for place in ("secrets", "files")})
    got = {name.split("_")[1] for name in environment(found, service) if name in {each.variable for each in REFERRED}}
    own = {each.variable.split("_")[1] for each in SETTINGS if each.service == service}
    assert got - own == opened


def _all_references(place: str) -> dict[str, dict[str, str]]:
    return {each.variable: {"existingSecret": "s", "key": "k"} for each in REFERRED if each.place == place}


@pytest.mark.parametrize("enabled", [True, False])
def test_workers_declare_the_bus_only_when_no_job_does(enabled: bool) -> None:
    found = objects({"provision": {"enabled": enabled}})
    assert ("provision" in pods(found)) == enabled
    for service in SERVICES:
        assert environment(found, service)["MEMORYBUS_PROVISION"] == str(not enabled).lower()


def test_each_component_can_have_a_bus_user_of_its_own() -> None:
    found = objects(CASES["least-permissions"])
    for name in containers(found):
        variables = environment(found, name)
        if name == "gateway":
            assert variables["MEMORYBUS_NATS_CREDS"].startswith("/")
            continue
        assert variables["MEMORYBUS_NATS_USER"] == name
        assert variables["MEMORYBUS_NATS_PASSWORD"]["secretKeyRef"]["key"] == name


def test_a_user_without_a_password_and_a_bus_without_an_address_are_refused() -> None:
    with pytest.raises(Refused, match="MEMORYBUS_NATS_USER of ingest has no password"):
        manifests({"services": {"ingest": {"settings": {"MEMORYBUS_NATS_USER": "ingest"}}}})
    with pytest.raises(Refused, match="name the bus"):
        manifests({"settings": {"MEMORYBUS_NATS_URL": ""}})


def test_a_changed_setting_starts_new_pods_of_the_workers_it_is_for() -> None:
    before, after = (
        _checksums(values) for values in ({}, {"services": {"embed": {"settings": {"MEMORYBUS_EMBED_MAX_BATCH": 9}}}})
    )
    assert {name for name in before if before[name] != after[name]} == {"embed"}


def _checksums(values: dict[str, Any]) -> dict[str, str]:
    deployments = [each for each in objects(values) if each["kind"] == "Deployment"]
    templates = [each["spec"]["template"]["metadata"] for each in deployments]
    return {
        each["labels"]["app.kubernetes.io/component"]: each["annotations"]["checksum/settings"] for each in templates
    }


def _plain(variables: dict[str, Any]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if isinstance(value, str)}


def _named(reference: dict[str, str]) -> dict[str, str]:
    return {"name": reference["existingSecret"], "key": reference["key"]}


def _passwords() -> dict[str, Any]:
    """What belongs to the users among the samples."""
    names = ("MEMORYBUS_NATS_PASSWORD", "MEMORYBUS_OPENSEARCH_PASSWORD")
    return {"secrets": {name: {"existingSecret": "s", "key": "k"} for name in names}}


@pytest.mark.parametrize("case", [name for name in CASES if CASES[name].get("provision", {}).get("enabled", True)])
def test_the_provisioning_job_is_told_of_the_bus_and_of_no_store(case: str) -> None:
    variables = environment(objects(CASES[case]), "provision")
    assert "MEMORYBUS_NATS_URL" in variables
    assert not [name for name in variables if re.match("MEMORYBUS_(OPENSEARCH|QDRANT|EMBEDDER)_", name)]
    mounted = {volume["name"]: volume for volume in pods(objects(CASES[case]))["provision"]["volumes"]}
    files = [source["secret"]["name"] for source in mounted.get("files", {}).get("projected", {}).get("sources", [])]
    assert all("nats" in name for name in files)
