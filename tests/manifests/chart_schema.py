"""The part of the chart's schema that follows from the settings classes; run it to write that part anew.

python -m tests.manifests.chart_schema
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from services.runtime import SERVICES
from services.shared.settings import EnvironmentSettings, ServiceSettings, Settings

CHART = Path(__file__).resolve().parents[2] / "k8s" / "memorybus"
SCHEMA = CHART / "values.schema.json"

Place = Literal["settings", "secrets", "files", "provision"]

FOLDERS = ("MEMORYBUS_DATA", "MEMORYBUS_CACHE")
REQUIRED = (*FOLDERS, "MEMORYBUS_HTTP_HOST", "MEMORYBUS_HTTP_PORT", "MEMORYBUS_TEXT_STORE", "MEMORYBUS_VECTOR_STORE")
"""The templates need these, or the program's own default is wrong where pods share no disk."""

_NARROWER: dict[str, dict[str, Any]] = {
    "MEMORYBUS_TEXT_STORE": {"enum": ["opensearch"]},
    "MEMORYBUS_VECTOR_STORE": {"enum": ["qdrant", "none"]},
    "MEMORYBUS_HTTP_PORT": {"minimum": 1},
    "MEMORYBUS_DATA": {"pattern": "^/"},
    "MEMORYBUS_CACHE": {"pattern": "^/"},
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its variable, the service it belongs to (None: all), where the values have it, and its schema."""

    variable: str
    service: str | None
    place: Place
    schema: dict[str, Any]


def settings_classes(service: str) -> list[type[EnvironmentSettings]]:
    """The classes with the knobs of this service alone, and of what it holds."""
    folder = CHART.parents[1] / "services" / service
    if service not in SERVICES:
        return []
    modules = (".".join(file.relative_to(folder.parents[1]).with_suffix("").parts) for file in _settings_in(folder))
    found = (value for module in modules for value in vars(import_module(module)).values() if isinstance(value, type))
    return [value for value in found if issubclass(value, ServiceSettings) and value is not ServiceSettings]


def _settings_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("settings.py"), key=lambda file: len(file.parts))


def all_settings() -> list[Setting]:
    """Every setting of every class, in the order of the classes."""
    found = _settings_of(Settings, None)
    for service in SERVICES:
        for own in settings_classes(service):
            found += _settings_of(own, service)
    return found


def _settings_of(cls: type[EnvironmentSettings], service: str | None) -> list[Setting]:
    properties = cls.model_json_schema()["properties"]
    return [
        Setting(variable, service, _place(variable, field.annotation), _schema_of(variable, properties[name]))
        for name, field in cls.model_fields.items()
        for variable in [f"{cls.prefix}{name}".upper()]
    ]


def _place(variable: str, annotation: Any) -> Place:
    if variable == "MEMORYBUS_PROVISION":
        return "provision"
    kinds = {annotation, *getattr(annotation, "__args__", ())}
    if SecretStr in kinds:
        return "secrets"
    return "files" if Path in kinds and variable not in FOLDERS else "settings"


def _schema_of(variable: str, described: dict[str, Any]) -> dict[str, Any]:
    """What a value may be. null leaves a setting to the program, where the chart can do without it."""
    (kind,) = [each for each in described.get("anyOf", [described]) if each.get("type") != "null"]
    rules = {key: value for key, value in kind.items() if key not in ("title", "default", "format", "description")}
    rules |= _NARROWER.get(variable, {})
    if variable not in REQUIRED:
        rules["type"] = [rules["type"], "null"]
        if "enum" in rules:
            rules["enum"] = [*rules["enum"], None]
    return {"description": described["description"], **rules}


def definitions() -> dict[str, Any]:
    """The definitions of values.schema.json that are made from the classes."""
    settings = all_settings()
    shared = {each.variable: each.schema for each in settings if each.place == "settings" and each.service is None}
    made: dict[str, Any] = {
        "sharedName": {"enum": list(shared)},
        "sharedValues": {"properties": shared},
        "sharedSettings": _settings_map({}) | {"required": list(REQUIRED)},
    }
    for service in (*SERVICES, "provision"):
        own = {each.variable: each.schema for each in settings if each.place == "settings" and each.service == service}
        made[f"{service}Settings"] = _settings_map(own)
    secret = [each.variable for each in settings if each.place in ("settings", "secrets")]
    files = [each.variable for each in settings if each.place == "files"]
    return made | {"secretReferences": _references(secret), "fileReferences": _references(files)}


def _settings_map(own: dict[str, Any]) -> dict[str, Any]:
    """A map of settings: the shared ones, and those of one service."""
    names = {"anyOf": [{"$ref": "#/definitions/sharedName"}, {"enum": list(own)}]}
    return {
        "type": "object",
        "propertyNames": names if own else {"$ref": "#/definitions/sharedName"},
        "allOf": [{"$ref": "#/definitions/sharedValues"}],
        **({"properties": own} if own else {}),
    }


def _references(names: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "propertyNames": {"enum": names},
        "additionalProperties": {"$ref": "#/definitions/reference"},
    }


def refreshed() -> str:
    """values.schema.json as it must be: what is written by hand, and the definitions made anew."""
    schema = json.loads(SCHEMA.read_text())
    schema["definitions"] |= definitions()
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(refreshed())
