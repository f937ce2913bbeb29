"""`memorybus profile`: what is known of a user, and what was known at an earlier date."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from contracts import flow
from contracts.v1.profile import (
    DecideReply,
    DecideRequest,
    ProfileFact,
    ProfileReply,
    ProfileRequest,
    SeedReply,
    SeedRequest,
)
from services.cli.asking import JsonOption, SpaceOption, ask_once
from services.cli.common import DataOption, NatsOption, UserOption, fail

EPILOG = """Examples:\n
  memorybus profile --user me\n
  memorybus profile --user me --as-of 2026-03-01 --json\n
  memorybus profile --user me --seed facts.txt\n
  memorybus profile --user me --is-so 6f1d2a52-…:10-15:home\n
  memorybus profile --user me --not-so 6f1d2a52-…:10-15:home
"""

_MOST_FACTS = 50


def profile(
    user: UserOption,
    space: SpaceOption = None,
    as_of: Annotated[datetime | None, typer.Option(help="What was known then; a date, or a time of UTC.")] = None,
    seed: Annotated[Path | None, typer.Option(help="A file with what is known from the start, a fact a line.")] = None,
    is_so: Annotated[str | None, typer.Option(help="A fact that is so.")] = None,
    not_so: Annotated[str | None, typer.Option(help="A fact that is not so.")] = None,
    undecided: Annotated[str | None, typer.Option(help="Leave a fact to memorybus again.")] = None,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is known of a user: facts, the present value of each first, and what it was before."""
    decisions = [(id_, how) for id_, how in ((is_so, True), (not_so, False), (undecided, None)) if id_ is not None]
    if len(decisions) > 1:
        fail("--is-so, --not-so and --undecided: one of them at a time")
    if decisions:
        ((id_, how),) = decisions
        decision = DecideRequest(user_id=user, id=id_, is_so=how)
        ask_once(flow.DECIDE, decision, _decided, data=data, nats=nats, as_json=as_json)
    elif seed is not None:
        given = SeedRequest(user_id=user, space=space or "default", facts=_facts(seed))
        ask_once(flow.SEED, given, _seeded, data=data, nats=nats, as_json=as_json)
    else:
        request = ProfileRequest(user_id=user, space=space, as_of=as_of.replace(tzinfo=UTC) if as_of else None)
        ask_once(flow.PROFILE, request, _profile, data=data, nats=nats, as_json=as_json)


def _facts(file: Path) -> tuple[str, ...]:
    try:
        lines = tuple(line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file}: {error.strerror if isinstance(error, OSError) else error}")
    if not 0 < len(lines) <= _MOST_FACTS:
        fail(f"{file}: has {len(lines)} facts; 1 to {_MOST_FACTS} are taken, one a line")
    return lines


def _seeded(reply: SeedReply) -> Iterator[str]:
    for fact in reply.items:
        yield f"{fact.id or f'refused: {fact.refused}'}  {fact.text}"


def _decided(reply: DecideReply) -> Iterator[str]:
    told = {True: "is so", False: "is not so, and is told no more", None: "left to memorybus"}[reply.is_so]
    yield f"{reply.id}: {told}"


def _profile(reply: ProfileReply) -> Iterator[str]:
    if not reply.facts:
        yield "no facts are known"
    label = None
    for fact in sorted(reply.facts, key=_by_subject):
        if fact.entity_label != label:
            label = fact.entity_label
            yield label
        yield f"  {_line(fact)}"
    if reply.left_out:
        yield f"{reply.left_out} older entries were not read"
    if reply.truncated:
        yield "not all facts fit into one answer: ask for one --space"


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
    doubt = " (in conflict: see memorybus conflicts)" if fact.in_conflict else ""
    slot = fact.memory_key.rpartition("|")[2].replace("_", " ")
    told = f"{slot}: {fact.value} · {fact.text}{since}{ended}{doubt}{f' [before: {before}]' if before else ''}"
    return f"perhaps: {told}  (--is-so {fact.id}, or --not-so)" if fact.is_likely else told
