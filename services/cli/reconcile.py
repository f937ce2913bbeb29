"""`memorybus reconcile`: compares log, entries and vectors, shows what differs, and puts it right when asked to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from contracts.v1.commands import Kind
from services.cli.asking import talk
from services.cli.common import DataOption, NatsOption, bars, err, fail, out, plural, visible
from services.cli.tables import plain
from services.shared.commands.reconciling import SIDES, Found, Outcome, reconciled

EPILOG = """Examples:\n
  memorybus reconcile\n
  memorybus reconcile --fix\n
  memorybus reconcile --data ./memory --fix --json
"""
_MEANINGS: Mapping[Kind, tuple[str, str]] = {
    "undecided": ("turns without an outcome", "logged, and never judged; --fix has them judged"),
    "without_entry": (
        "turns without their entry",
        "judged, and what became of them is missing; --fix judges them again",
    ),
    "without_vector": ("entries without their vector", "not found by meaning, or not as they are; --fix embeds them"),
    "near_copy": ("entries that repeat another", "two that came at once; --fix merges the later into the earlier"),
    "without_reason": ("vectors without an entry", "of no active entry; --fix removes them"),
}


def reconcile(
    fix: Annotated[bool, typer.Option("--fix", help="Put right what differs, then compare again.")] = False,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line.")] = False,
) -> None:
    """Compare the conversation log, the entries and the vectors with each other, while memorybus runs."""
    with bars(err) as progress:
        outcome = talk(data, nats, lambda client: reconciled(client, progress, fix=fix))
    if as_json:
        print(as_line(outcome))
    else:
        show(outcome, out)
    if not outcome.is_well:
        fail(what_to_do(outcome))


def show(outcome: Outcome, console: Console) -> None:
    """What differs, how often, for example where, and what it means."""
    looked = ", ".join(f"{outcome.found.looked_at[side]:,} of {side}" for side in SIDES)
    console.print(f"looked at: {looked}", style="dim", soft_wrap=True)
    if not outcome.found.total:
        console.print("Log, entries and vectors agree.")
        return
    console.print(differences_table(outcome))
    if outcome.left is not None and outcome.is_well:
        console.print("All of it was put right: compared again, they agree.")


def differences_table(outcome: Outcome) -> Table:
    """One line for each kind of difference that there is."""
    rows: list[tuple[RenderableType, ...]] = []
    for kind, (name, meaning) in _MEANINGS.items():
        if outcome.found.differences[kind] or (outcome.left and outcome.left.differences[kind]):
            left = [] if outcome.left is None else [f"{outcome.left.differences[kind]:,}"]
            examples = _examples((outcome.left or outcome.found), kind) or _examples(outcome.found, kind)
            rows.append((name, f"{outcome.found.differences[kind]:,}", *left, Text(examples), meaning))
    columns = ("what differs", "found", *([] if outcome.left is None else ["left"]), "for example", "meaning")
    return plain(columns, rows, figures=("found", "left"))


def _examples(found: Found, kind: Kind) -> str:
    return "\n".join(f"{visible(one.user_id)} {visible(one.id)}" for one in found.examples.get(kind, ()))


def what_to_do(outcome: Outcome) -> str:
    """What comes next where something differs still."""
    if outcome.left is None:
        return f"{plural(outcome.found.total, 'difference')}; `memorybus reconcile --fix` puts right what differs"
    why = outcome.stalled or "repeat the command; if it stays so, the log of curate says why"
    return f"{plural(outcome.left.total, 'difference')} left: {why}"


def as_line(outcome: Outcome) -> str:
    """The outcome as one JSON line; `left` only where something was put right."""
    left = {} if outcome.left is None else {"left": _counted(outcome.left)}
    return json.dumps({
        "looked_at": {side: outcome.found.looked_at[side] for side in SIDES},
        "differences": _counted(outcome.found),
        "examples": [one.model_dump() for some in outcome.found.examples.values() for one in some],
        **left,
        "ok": outcome.is_well,
    })  # fmt: skip


def _counted(found: Found) -> dict[str, int]:
    return {kind: found.differences[kind] for kind in _MEANINGS}
