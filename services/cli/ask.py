"""`memorybus ask`: what memory answers to a question, and why."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from services.cli.asking import JsonOption
from services.cli.common import DataOption, NatsOption, UserOption, fail, nats_url, one_line, out, run
from services.shared.client import memory_client

EPILOG = """Examples:\n
  memorybus ask "which package manager?" --user me\n
  memorybus ask "when is the dentist?" --user me --type fact --explain\n
  memorybus ask "what about the deadline?" --user me --space work --json
"""

_EXPLAINED = 72
_SHOWN_OF_ID = 8  # as many as `memorybus forget` asks for


def ask(
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    user: UserOption,
    space: Annotated[str, typer.Option("--space", help="Which of their spaces.")] = "default",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most memories shown.")] = 8,
    budget: Annotated[
        int, typer.Option("--budget", min=0, max=1_000_000, help="Most tokens of the context block.")
    ] = 1000,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only fact, preference, decision, instruction, note, summary or other; repeat for several.",
            show_default=False,
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option(
            "--tag", metavar="TAG", help="Only what has this tag; repeat for any of several.", show_default=False
        ),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show every feature of the ranking.")] = False,
    data: DataOption = None,
    nats: NatsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask what matters now: the memories, their scores, and why each was found."""
    request = request_of(
        user_id=user,
        query=query,
        space=space,
        limit=limit,
        token_budget=budget,
        types=types or None,
        tags=tags or None,
        explain=explain,
    )
    run(_ask(request, data, nats, as_json=as_json))


def request_of(**fields: Any) -> RetrieveRequest:
    """A checked request; what is wrong with it is said on standard error."""
    if not fields["query"].strip():
        fail('the question is blank: try memorybus ask "which package manager?" --user me')
    try:
        return RetrieveRequest(**fields)
    except ValidationError as error:
        problem = error.errors()[0]
        fail(f"--{str(problem['loc'][0]).removesuffix('s').removesuffix('_id')}: {problem['msg']}")


async def _ask(request: RetrieveRequest, data: Path | None, nats: str | None, *, as_json: bool) -> None:
    async with memory_client(nats_url(data, nats)) as client:
        reply = await client.retrieve(request)
        if as_json:
            print(reply.model_dump_json())
            return
        show_reply(reply, request, out)


def show_reply(reply: RetrieveReply, request: RetrieveRequest, console: Console) -> None:
    """A reply as a table, with what it cost and what could not answer."""
    if reply.items:
        console.print(memory_table(reply.items))
    else:
        _show_nothing(request, console)
    for card in reply.entity_cards:
        console.print(Text(f"{one_line(card.entity)}: ", style="bold") + Text(one_line("; ".join(card.facts))))
    if request.explain:
        for item in reply.items:
            console.print(_explanation(item))
    _show_footer(reply, console)


def memory_table(items: tuple[RetrievedItem, ...]) -> Table:
    """Memories, best first, each with its scores, where it comes from and why it was found. Fits 80 columns."""
    table = Table(box=None, header_style="dim", padding=(0, 1, 0, 0), expand=True)
    table.add_column("id", style="dim", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    for score in ("total", "rel", "rec", "imp"):
        table.add_column(score, justify="right", no_wrap=True)
    for item in items:
        table.add_row(Text(one_line(item.id[:_SHOWN_OF_ID])), _described(item), *_scores(item))
    return table


def _described(item: RetrievedItem) -> Text:
    """The text, and under it who said it, when, what kind of memory it is, why it was found, and what it replaced."""
    origin = (one_line(item.speaker or item.role), day(item.created_at), item.type)
    reason = Text(" · ".join((*origin, "")), style="dim") + Text(why(item), style="cyan")
    told = Text(one_line(item.snippet or item.text)) + Text("\n") + reason
    for former in item.before:
        told += Text(f"\nbefore: {one_line(former.text)} (until {day(former.until)})", style="dim")
    return told


def _scores(item: RetrievedItem) -> list[Text]:
    scores = item.scores
    parts = (scores.relevance, scores.recency, scores.importance)
    return [Text(f"{scores.total:.2f}", style="bold"), *(Text(f"{part:.2f}") for part in parts)]


def why(item: RetrievedItem) -> str:
    """How an item was found, and what speaks for it besides."""
    found = {(True, True): "words + meaning", (True, False): "words", (False, True): "meaning"}
    reasons = [found.get((item.signals.lexical, item.signals.semantic), "context")]
    if item.pinned:
        reasons.append("pinned")
    if item.repeat_count:
        reasons.append(f"said {item.repeat_count + 1} times, last on {day(item.last_said_at)}")
    return ", ".join(reasons)


def _explanation(item: RetrievedItem) -> Text:
    """Every feature of an item, by name."""
    features = sorted((item.explanation or {}).items())
    shown = "  ".join(f"{one_line(name)}={_feature(value)}" for name, value in features)
    return Text(f"{one_line(item.id[:_SHOWN_OF_ID])}  ", style="dim") + Text(shown or "not explained")


def _feature(value: object) -> str:
    shown = f"{value:.4g}" if isinstance(value, float) else one_line(str(value))
    return shown if len(shown) <= _EXPLAINED else shown[:_EXPLAINED] + "…"


def _show_nothing(request: RetrieveRequest, console: Console) -> None:
    filters = request.types or request.tags
    hint = "Leave out the filters" if filters else "Try other words"
    place = one_line(f"the space {request.space!r} of user {request.user_id!r}")
    console.print(f"Nothing in {place} matches.", markup=False, soft_wrap=True)
    console.print(f"{hint}, or see with `memorybus status --user …` whether anything is stored.", soft_wrap=True)


def _show_footer(reply: RetrieveReply, console: Console) -> None:
    parts = [
        f"{len(reply.items)} of {reply.total_count:,} found",
        f"{reply.token_count:,} tokens" + (", cut to fit" if reply.truncated else ""),
        f"query embedding {reply.query_embedding_ms:.1f} ms",
        f"retrieval {reply.retrieval_ms:.1f} ms",
    ]
    console.print(" · ".join(parts), style="dim", soft_wrap=True)
    for leg in reply.degraded:
        searched = {"semantic": "meaning", "lexical": "words"}.get(leg, leg)
        warning = f"degraded: {one_line(searched)} could not be searched, something may be missing"
        console.print(warning, style="bold yellow", markup=False, soft_wrap=True)


def day(at: datetime) -> str:
    """The day of a time, as the calendar on the wall here shows it."""
    return at.astimezone().date().isoformat()
