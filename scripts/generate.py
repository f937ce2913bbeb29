"""Writes what is made from something else; `--check` only says what is stale.

JSON Schemas and tables of READMEs come from the code; the chart has copies of alerts and dashboard, as a chart reads
nothing outside its folder.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from contracts.envelope import ErrorReply
from contracts.flow import FLOW, Step
from contracts.v1.dead import DeadLetter
from services.curate.settings import CurateSettings
from services.dedupe.settings import DedupeSettings
from services.embed.settings import EmbedSettings
from services.enrich.settings import EnrichSettings
from services.eval.settings import EvalSettings
from services.gateway.proxy.settings import ProxySettings
from services.gateway.settings import GatewaySettings
from services.ingest.settings import IngestSettings
from services.retrieve.settings import RetrieveSettings
from services.shared.settings import EnvironmentSettings, Settings

ROOT = Path(__file__).resolve().parent.parent
SETTINGS: dict[str, tuple[type[EnvironmentSettings], ...]] = {
    "shared": (Settings,),
    "ingest": (IngestSettings,),
    "dedupe": (DedupeSettings,),
    "enrich": (EnrichSettings,),
    "embed": (EmbedSettings,),
    "retrieve": (RetrieveSettings,),
    "curate": (CurateSettings,),
    "gateway": (GatewaySettings, ProxySettings),
    "eval": (EvalSettings,),
}
"""The settings that each folder of `services/` lists in its README."""


def models() -> list[type[BaseModel]]:
    """Every message that travels, once."""
    found: list[type[BaseModel]] = [ErrorReply, DeadLetter]
    for step in FLOW:
        found += [
            *(model for _, model in step.hears),
            *step.says,
            *(model for answer in step.answers for model in (answer.request, answer.reply)),
        ]
    return list(dict.fromkeys(found))


def schema_files() -> dict[Path, str]:
    """The JSON Schema of every message."""
    folder = ROOT / "contracts" / "schemas" / "v1"
    return {
        folder / f"{_snake(model.__name__)}.json": json.dumps(model.model_json_schema(), indent=2, sort_keys=True)
        + "\n"
        for model in models()
    }


def services_list() -> str:
    """What every service does, hears, says, answers and keeps."""
    return "\n".join(line for step in FLOW for line in _told(step))


def _told(step: Step) -> list[str]:
    """A service as an item of a list, in lines that are read without scrolling."""
    what = {
        "hears": _listed(subject for subject, _ in step.hears),
        "says": _listed(event.subject for event in step.says),
        "answers": _verbs(answer.subject for answer in step.answers),
        "keeps": step.keeps,
    }
    told = [f"  - {word}: {text}" for word, text in what.items() if text]
    return [line for item in (f"- **{step.service}** {step.does}", *told) for line in _lines(item)]


def _verbs(subjects: Iterable[str]) -> str:
    """Subjects that differ in their verb alone are told once, with their verbs."""
    verbs: dict[str, list[str]] = {}
    for subject in subjects:
        verb = next((part for part in subject.split(".")[3:4] if part != "<user>"), "")
        verbs.setdefault(subject.replace(f".{verb}", ".<verb>", 1) if verb else subject, []).append(f"`{verb}`")
    told = (
        f"`{subject}` ({', '.join(names)})" if names != ["``"] else f"`{subject}`" for subject, names in verbs.items()
    )
    return ", ".join(told)


def pipeline_table() -> str:
    """Who hears, says and keeps what, at a glance."""
    rows = ["| service | hears `memory.v1.` | says `memory.v1.` | keeps |", "| --- | --- | --- | --- |"]
    for step in FLOW:
        heard = _at_a_glance([*(subject for subject, _ in step.hears), *(answer.subject for answer in step.answers)])
        says = _at_a_glance(event.subject for event in step.says)
        link = f"[{step.service}](services/{step.service}/README.md)"
        rows.append(f"| {link} | {heard or 'HTTP, MCP, chats'} | {says or 'answers'} | {step.keeps} |")
    return "\n".join(rows)


def _at_a_glance(subjects: Iterable[str]) -> str:
    """Subjects without what all of them begin with, those of one kind once."""
    short = (
        re.sub(r"^(\w+)\..*\..*|^(ops)\..*", r"\1\2.*", subject.removeprefix("memory.v1.")) for subject in subjects
    )
    return _listed(dict.fromkeys(short))


def _listed(subjects: Iterable[str]) -> str:
    return ", ".join(f"`{subject}`" for subject in subjects)


def _lines(item: str) -> list[str]:
    indent = " " * (len(item) - len(item.lstrip()) + 2)
    return textwrap.wrap(item, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def settings_table(classes: Iterable[type[EnvironmentSettings]]) -> str:
    """Every setting with its default."""
    rows = ["| variable | default | meaning |", "| --- | --- | --- |"]
    for settings in classes:
        for name, field in settings.model_fields.items():
            rows.append(f"| `{settings.prefix}{name.upper()}` | {_default(field)} | {field.description} |")
    return "\n".join(rows)


def _default(field: Any) -> str:
    if field.default_factory is not None:
        return "`~/" + str(field.default_factory().relative_to(Path.home())) + "`"
    if field.default is None or field.default is PydanticUndefined:
        return ""
    return f"`{field.default}`"


def readmes() -> dict[Path, str]:
    """Each README that has a table made from the code, with that table renewed."""
    services = ROOT / "services"
    tables = {services / folder / "README.md": settings_table(classes) for folder, classes in SETTINGS.items()}
    tables |= {services / "README.md": services_list(), ROOT / "README.md": pipeline_table()}
    return {path: _renewed(path.read_text(), table) for path, table in tables.items()}


def _renewed(text: str, table: str) -> str:
    before, mark, rest = text.partition("<!-- generated -->")
    return f"{before}{mark}\n{table}\n<!-- end -->{rest.partition('<!-- end -->')[2]}"


def chart_copies() -> dict[Path, str]:
    """What the chart shares with the deployment on one machine."""
    shared = ("prometheus/rules.yml", "grafana/dashboards/memorybus.json")
    files = ROOT / "k8s" / "memorybus" / "files"
    return {files / Path(path).name: (ROOT / "deploy" / path).read_text() for path in shared}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def main() -> int:
    """Write what changed, or with --check name it and fail."""
    wanted = {**schema_files(), **chart_copies(), **readmes()}
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run .venv/bin/python scripts/generate.py")
        return bool(stale)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
