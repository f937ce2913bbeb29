"""`memorybus profile`: what is known of a user, and what was known at an earlier date."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from contracts import flow
from contracts.v1.profile import ProfileFact, ProfileReply, ProfileRequest, SeedReply, SeedRequest
from services.cli.common import DataOption, NatsOption, UserOption, fail, nats_url, out, run, visible
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus profile --user me\n
  memorybus profile --user me --as-of 2026-03-01 --json\n
  memorybus profile --user me --seed facts.txt
"""

_PATIENCE = 15.0
_MOST_FACTS = 50


def profile(
    user: UserOption,
    space: Annotated[str | None, typer.Option("--space", help="Only in this space.", show_default=False)] = None,
    as_of: Annotated[
        datetime | None,
        typer.Option("--as-of", help="What was known then; a date, or a time of UTC.", show_default=False),
    ] = None,
    seed: Annotated[
        Path | None,
        typer.Option("--seed", help="A file with what is known from the start, a fact a line.", show_default=False),
    ] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reply as it is, one JSON line.")] = False,
) -> None:
    """Show what is known of a user: facts, the present value of each first, and what it was before."""
    if seed is not None:
        _seed(SeedRequest(user_id=user, space=space or "default", facts=_facts(seed)), data, nats, as_json=as_json)
        return
    moment = as_of.replace(tzinfo=UTC) if as_of else None
    reply = run(_ask(ProfileRequest(user_id=user, space=space, as_of=moment), data, nats))
    if as_json:
        print(reply.model_dump_json())
    else:
        _show(reply)


def _facts(file: Path) -> tuple[str, ...]:
    try:
        lines = tuple(line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file}: {error.strerror if isinstance(error, OSError) else error}")
    if not 0 < len(lines) <= _MOST_FACTS:
        fail(f"{file}: has {len(lines)} facts; 1 to {_MOST_FACTS} are taken, one a line")
    return lines


def _seed(request: SeedRequest, data: Path | None, nats: str | None, *, as_json: bool) -> None:
    reply = run(_give(request, data, nats))
    if as_json:
        print(reply.model_dump_json())
        return
    for fact in reply.items:
        out.print(escape(visible(f"{fact.id or f'refused: {fact.refused}'}  {fact.text}")), soft_wrap=True)


async def _give(request: SeedRequest, data: Path | None, nats: str | None) -> SeedReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(flow.SEED, request, patience=_PATIENCE)


async def _ask(request: ProfileRequest, data: Path | None, nats: str | None) -> ProfileReply:
    async with memory_client(nats_url(data, nats)) as client:
        return await client.request(flow.PROFILE, request, patience=_PATIENCE)


def _show(reply: ProfileReply) -> None:
    if not reply.facts:
        out.print("no facts are known")
    label = None
    for fact in sorted(reply.facts, key=_by_subject):
        if fact.entity_label != label:
            label = fact.entity_label
            out.print(f"[bold]{escape(visible(label))}[/bold]", soft_wrap=True)
        out.print(f"  {escape(visible(_line(fact)))}", soft_wrap=True)
    if reply.left_out:
        out.print(f"{reply.left_out} older entries were not read")
    if reply.truncated:
        out.print("not all facts fit into one answer: ask for one --space")


def _by_subject(fact: ProfileFact) -> tuple[int, str]:
    """Those of the user first; `sorted` leaves the facts of each as they come."""
    subjects = ("profile", "people", "project", "none")
    return subjects.index(fact.subject) if fact.entity_label == "me" else len(subjects), fact.entity_label


def _line(fact: ProfileFact) -> str:
    ended = f" (until {fact.until:%Y-%m-%d})" if fact.until else ""
    before = "; ".join(
        f"{former.text}, until {former.until:%Y-%m-%d}" if former.until else former.text for former in fact.before
    )
    since = f" (since {fact.since:%Y-%m-%d})"
    return f"{fact.text}{since}{ended}{f' [before: {before}]' if before else ''}"
