"""`memorybus eval knowledge`: what is told of chats as known, held against what a reader noted of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import typer
from rich.console import RenderableType

from services.cli.common import bars, err, fail, out, plural, run
from services.cli.tables import table
from services.eval.commands import JsonOption, refuse_a_bus, write
from services.eval.knowledge import Share, Told, shares, summed
from services.eval.labels import Labelled, labelled
from services.eval.scripted import script_of, scripted_model
from services.eval.telling import told_of
from services.shared.commands.formats import FormatError

EPILOG = """Examples:\n
  memorybus eval knowledge tests/quality/chats/unseen\n
  memorybus eval knowledge tests/quality/chats/unseen --json report.json\n
  memorybus eval knowledge tests/quality/chats/unseen --model\n
  memorybus eval knowledge chats.json --claims claims.json
"""

_BUDGETS = ("MEMORYBUS_ENRICH_EXTRACT_USER_BUDGET", "MEMORYBUS_ENRICH_EXTRACT_BUDGET")
_AVERAGES = ("facts_a_chat", "likely_a_chat")

_NAMES = {
    "recall": "claims that are told as a fact",
    "recall_with_likely": "… with what is told as likely",
    "precision": "right of what is told as a fact",
    "precision_with_likely": "… with what is told as likely",
    "right_slot": "right slot of claims that are told",
    "right_owner": "right owner of claims that are told",
    "unreal": "told that is fiction, joke, quotation, question",
    "task_recall": "tasks that are told",
    "task_precision": "right of the tasks that are told",
    "changed_present": "changed: present value told as so now",
    "changed_still_old": "changed: old value still told as so now",
    "facts_a_chat": "facts told a chat",
    "likely_a_chat": "likely ones told a chat",
}

_MEASURED_ONCE: Mapping[str, Mapping[str, float]] = {
    "rules of 94d8f3af*": {"recall_with_likely": 0.017},
    "first probe*": {"recall_with_likely": 0.63, "precision_with_likely": 0.34},
}
_ONCE = "* measured once, on eight other chats; neither told facts and likely ones apart"


@dataclass(frozen=True, slots=True)
class Measured:
    """The shares of a run, over all chats and for each; `cut` are those of which not all was told."""

    name: str
    shares: Mapping[str, Share]
    chats: Mapping[str, Mapping[str, Share]]
    cut: Sequence[str] = ()

    @classmethod
    def of(cls, name: str, chats: Sequence[Labelled], told: Sequence[Told]) -> Self:
        """What was told of these chats."""
        each = {chat.id: shares(chat.labels, one) for chat, one in zip(chats, told, strict=True)}
        cut = [chat.id for chat, one in zip(chats, told, strict=True) if not one.is_whole]
        return cls(name, summed(each.values()), each, cut)

    def as_json(self) -> dict[str, Any]:
        """The run as it is written to a file."""
        chats = {chat: _as_json(of) for chat, of in self.chats.items()}
        return {"name": self.name, "figures": _as_json(self.shares), "chats": chats, "cut": list(self.cut)}


def _as_json(of: Mapping[str, Share]) -> dict[str, Any]:
    return {
        name: {"value": None if one.value is None else round(one.value, 4), "many": one.many, "of": one.of}
        for name, one in of.items()
    }


def knowledge(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="Folder of labelled chats, or a file with a list.")],
    claims: Annotated[Path | None, typer.Option(metavar="FILE", help="Labels of chats that have none.")] = None,
    model: Annotated[
        bool, typer.Option("--model", help="Measure once more with a scripted language model that reads as labelled.")
    ] = False,
    report: JsonOption = None,
) -> None:
    """Hold what is known of chats, as profile and to-dos tell it, against what a reader noted of them.

    Each chat is a user of its own. A chat is what `memorybus eval chats` takes, with lists of `claims` {turn, about,
    slot, value, until, replaces}, `tasks` {turn, says, value} and `not_claims` {turn, value, why}; `--claims` has a
    list of these for chats without them, in their order.
    """
    refuse_a_bus()
    try:
        chats = labelled(path, claims)
    except FormatError as error:
        fail(str(error))
    measured = [run(_measured("as set", chats, {}))]
    if model:
        measured.append(run(_measured_with_model(chats)))
    out.print(*_shown(chats, measured), sep="\n")
    if report is not None:
        document = {"runs": [one.as_json() for one in measured], "measured_once": _MEASURED_ONCE}
        write(report, json.dumps(document, indent=2) + "\n")


async def _measured(name: str, chats: Sequence[Labelled], environment: Mapping[str, str]) -> Measured:
    with tempfile.TemporaryDirectory(prefix="memorybus-eval-") as folder, bars(err) as progress:
        return Measured.of(name, chats, await told_of(chats, Path(folder) / "up", progress, environment))


async def _measured_with_model(chats: Sequence[Labelled]) -> Measured:
    turns = str(sum(len(chat.turns) for chat in chats))
    with scripted_model(script_of(chats)) as address:
        environment = {"MEMORYBUS_EXTRACT_URL": address} | dict.fromkeys(_BUDGETS, turns)
        return await _measured("scripted model", chats, environment)


def _shown(chats: Sequence[Labelled], measured: Sequence[Measured]) -> Iterator[RenderableType]:
    claims, tasks = (sum(len(getattr(chat.labels, kind)) for chat in chats) for kind in ("claims", "tasks"))
    yield f"{plural(len(chats), 'chat')}, {plural(claims, 'claim')}, {plural(tasks, 'task')}"
    rows = []
    for key, name in _NAMES.items():
        once = (f"{of[key]:.3f}" if key in of else "" for of in _MEASURED_ONCE.values())
        rows.append((name, *(_figure(key, one.shares[key]) for one in measured), *once))
    yield table(("of what is told", *(one.name for one in measured), *_MEASURED_ONCE), rows)
    yield _ONCE
    for one in measured:
        if one.cut:
            yield f"{one.name}: more is known of {', '.join(one.cut)} than an answer tells"


def _figure(key: str, share: Share) -> str:
    if share.value is None:
        return ""
    return f"{share.value:.1f}" if key in _AVERAGES else f"{share.value:.3f}"
