"""The network policy: off by default, and when on only the ways that the design has."""

from __future__ import annotations

from typing import Any

import pytest

from services.runtime import SERVICES
from tests.manifests.chart import CASES, Refused, objects, of_kind

DNS, NATS, OPENSEARCH, QDRANT, QDRANT_GRPC, EMBEDDER = 53, 4222, 9200, 6333, 6334, 443
JWKS = {"to": [{"ipBlock": {"cidr": "198.51.100.7/32"}}], "ports": [8443]}
_STORES = {OPENSEARCH, QDRANT, QDRANT_GRPC}
_REACHES = {
    "ingest": {OPENSEARCH},
    "dedupe": {OPENSEARCH},
    "enrich": {OPENSEARCH},
    "embed": _STORES,
    "retrieve": _STORES,
    "curate": _STORES,
    "gateway": set(),
    "provision": set(),
}


def policies(values: dict[str, Any]) -> dict[str, Any]:
    return {name: each["spec"] for name, each in of_kind(objects(values), "NetworkPolicy").items()}


def ports(rules: list[dict[str, Any]]) -> set[int | str]:
    return {port["port"] for rule in rules for port in rule["ports"]}


def test_there_is_none_unless_asked_for_and_then_each_pod_reaches_the_servers_it_uses_and_nothing_else() -> None:
    assert policies({}) == {}
    found = policies({"networkPolicy": {"enabled": True}})
    assert found.keys() == {*SERVICES, "provision"}
    for name, spec in found.items():
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert ports(spec["egress"]) == {DNS, NATS} | _REACHES[name]


@pytest.mark.parametrize("case", ["everything", "least-permissions"])
def test_no_rule_is_open_to_everybody(case: str) -> None:
    found = policies(CASES[case])
    assert found
    for spec in found.values():
        assert all(rule["to"] and rule["ports"] for rule in spec["egress"])
        assert all(rule["from"] and rule["ports"] for rule in spec["ingress"])


def test_an_embedding_endpoint_is_reached_by_those_who_embed_once_it_is_named() -> None:
    found = policies(CASES["everything"])
    assert {name for name, spec in found.items() if EMBEDDER in ports(spec["egress"])} == {
        "embed",
        "retrieve",
        "curate",
    }


def with_keys_at(place: str | None, way: dict[str, Any] = JWKS) -> dict[str, Any]:
    """Values of a closed network, whose gateway reads the keys of an identity provider at a place."""
    own = {"settings": {"MEMORYBUS_GATEWAY_JWT_JWKS": place}} if place is not None else {}
    return {"networkPolicy": {"enabled": True, "jwks": way}, "services": {"gateway": own}}


def test_the_gateway_alone_reaches_where_the_keys_of_tokens_are_published() -> None:
    found = policies(with_keys_at("https://identity.example:8443/keys"))
    reaching = {name: spec["egress"][-1] for name, spec in found.items() if 8443 in ports(spec["egress"])}
    assert reaching == {"gateway": {"to": JWKS["to"], "ports": [{"protocol": "TCP", "port": 8443}]}}
    assert ports(found["gateway"]["egress"]) == {DNS, NATS, 8443}


@pytest.mark.parametrize("place", [None, "/etc/memorybus/keys.json"])
def test_without_an_address_of_keys_the_gateway_reaches_nothing_more(place: str | None) -> None:
    assert ports(policies(with_keys_at(place))["gateway"]["egress"]) == {DNS, NATS}


def test_an_address_of_keys_without_a_way_to_it_is_refused() -> None:
    with pytest.raises(Refused, match=r"networkPolicy\.jwks\.to"):
        policies(with_keys_at("https://identity.example/keys", {"to": [], "ports": [443]}))


def test_the_gateway_alone_reaches_the_model_that_it_stands_in_front_of() -> None:
    own = {"settings": {"MEMORYBUS_GATEWAY_AUTH": True, "MEMORYBUS_OPENAI_BASE_URL": "https://model.example:8443/v1"}}
    values: dict[str, Any] = {"networkPolicy": {"enabled": True, "model": JWKS}, "services": {"gateway": own}}
    assert {name for name, spec in policies(values).items() if 8443 in ports(spec["egress"])} == {"gateway"}
    values["networkPolicy"]["model"] = {"to": [], "ports": [443]}
    with pytest.raises(Refused, match=r"networkPolicy\.model\.to"):
        policies(values)


def test_enrich_and_curate_alone_reach_the_model_that_draws_facts_and_sums_up() -> None:
    wanted = {"networkPolicy": {"enabled": True, "model": JWKS}}
    found = policies({**wanted, "settings": {"MEMORYBUS_EXTRACT_URL": "https://model.example:8443/v1"}})
    assert {name for name, spec in found.items() if 8443 in ports(spec["egress"])} == {"enrich", "curate"}


def test_clients_reach_the_gateway_alone_and_monitoring_reaches_all() -> None:
    found = policies(CASES["least-permissions"])
    assert {name for name, spec in found.items() if spec["ingress"]} == {"gateway"}
    watched = policies(CASES["everything"])
    assert {name for name, spec in watched.items() if spec["ingress"]} == {*SERVICES}
    assert all(ports(spec["ingress"]) <= {"http"} for spec in watched.values())


def test_peers_that_are_all_named_away_close_the_gateway() -> None:
    spec = policies({"networkPolicy": {"enabled": True, "clients": []}})["gateway"]
    assert spec["ingress"] == []


def test_the_policy_of_the_provisioning_job_stands_before_the_job_and_goes_with_it() -> None:
    found = objects({"networkPolicy": {"enabled": True}})
    policy = of_kind(found, "NetworkPolicy")["provision"]["metadata"]["annotations"]
    job = of_kind(found, "Job")["provision"]["metadata"]["annotations"]
    assert policy["helm.sh/hook"] == job["helm.sh/hook"]
    assert int(policy["helm.sh/hook-weight"]) < int(job["helm.sh/hook-weight"])
    assert policy["helm.sh/hook-delete-policy"] == job["helm.sh/hook-delete-policy"]
    others = [each for name, each in of_kind(found, "NetworkPolicy").items() if name != "provision"]
    assert not [each for each in others if "annotations" in each["metadata"]]
