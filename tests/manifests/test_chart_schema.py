"""The chart's schema knows the settings classes, and every setting has one place in the values."""

from __future__ import annotations

from collections import Counter

from tests.manifests.chart_schema import SCHEMA, all_settings, refreshed


def test_the_schema_is_made_from_the_settings_classes_as_they_are() -> None:
    assert refreshed() == SCHEMA.read_text(), "run: python -m tests.manifests.chart_schema"


def test_every_variable_belongs_to_one_setting_only() -> None:
    counted = Counter(setting.variable for setting in all_settings())
    assert counted
    assert max(counted.values()) == 1


def test_secrets_and_files_have_no_place_among_the_plain_settings() -> None:
    places = {setting.variable: setting.place for setting in all_settings()}
    assert {name for name, place in places.items() if place == "secrets"} == {
        "MEMORYBUS_NATS_PASSWORD",
        "MEMORYBUS_OPENSEARCH_PASSWORD",
        "MEMORYBUS_QDRANT_API_KEY",
        "MEMORYBUS_EMBEDDER_API_KEY",
        "MEMORYBUS_EXTRACT_API_KEY",
        "MEMORYBUS_AUDIT_KEY",
        "MEMORYBUS_GATEWAY_JWT_SECRET",
        "MEMORYBUS_OPENAI_API_KEY",
        "MEMORYBUS_ANTHROPIC_API_KEY",
    }
    assert places["MEMORYBUS_NATS_KEY"] == places["MEMORYBUS_OPENSEARCH_CA"] == "files"
    assert places["MEMORYBUS_DATA"] == "settings"
