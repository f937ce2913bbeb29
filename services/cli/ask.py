"""`memorybus ask`: what memory answers to a question, and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol
from zoneinfo import ZoneInfo

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from contracts.errors import Unavailable
from contracts.v1.commands import ListReply, ListRequest
from contracts.v1.retrieval import RetrievedItem, RetrieveReply, RetrieveRequest
from services.cli.asking import JsonOption, talk
from services.cli.common import DataOption, NatsOption, UserOption, fail, one_line, out, plural
from services.shared.client import MemoryClient, RequestFailed

EPILOG = """Examples:\n
  memorybus ask "which package manager?" --user me\n
  memorybus ask "when is the dentist?" --user me --type fact --explain\n
  memorybus ask "what about the deadline?" --user me --space work --json\n
  memorybus ask "what did I do yesterday?" --user me --now 2026-02-01T18:00 --time-zone Europe/Vienna\n
  memorybus ask "which host?" --user me --conversation chat-7 --min-score 0.4
"""

_EXPLAINED = 72
_SHOWN_OF_ID = 8  # as many as `memorybus forget` asks for
_ENOUGH = 1000  # tokens of a context that nearly always has room for something
_LOOKED_AT = 100  # entries, those said last, that tell which spaces there are
_MOST_SPACES = 5


class Lists(Protocol):
    """What looking into other spaces needs of a client."""

    async def list(self, request: ListRequest) -> ListReply: ...


def ask(
    query: Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")],
    user: UserOption,
    space: Annotated[str, typer.Option(help="Which of their spaces.")] = "default",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="Most memories shown.")] = 8,
    budget: Annotated[int, typer.Option(min=0, max=1_000_000, help="Most tokens of the context block.")] = 1000,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Only fact, preference, decision, instruction, note, summary or other; repeat for several.",
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Only what has this tag; repeat for any of several."),
    ] = None,
    conversation: Annotated[str | None, typer.Option(help="Only what was said in this conversation.")] = None,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Least relevance (rel) of what is shown; not given: as retrieve is set."),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            metavar="MOMENT",
            help="Answer as of this moment, as in ISO 8601; without a zone it is one of --time-zone, or of here.",
        ),
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            metavar="ZONE", help='Where "yesterday" is read, for example Europe/Vienna; not given: as the space is set.'
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
        conversation_id=conversation,
        min_score=min_score,
        now=moment_of(now, time_zone),
        time_zone=time_zone,
        explain=explain,
    )
    reply, elsewhere = talk(data, nats, lambda client: _asked(client, request))
    if as_json:
        print(reply.model_dump_json())
    else:
        show_reply(reply, request, out, elsewhere=elsewhere)


def request_of(**fields: Any) -> RetrieveRequest:
    """A checked request; what is wrong with it is said on standard error."""
    if not fields["query"].strip():
        fail('the question is blank: try memorybus ask "which package manager?" --user me')
    try:
        return RetrieveRequest(**fields)
    except ValidationError as error:
        problem = error.errors()[0]
        option = str(problem["loc"][0]).removesuffix("s").removesuffix("_id").replace("_", "-")
        fail(f"--{option}: {problem['msg'].removeprefix('Value error, ')}")


def moment_of(written: str | None, zone: str | None) -> datetime | None:
    """A moment as it is written; without a zone of its own one of this zone, or of here."""
    if written is None:
        return None
    try:
        moment = datetime.fromisoformat(written)
        return moment if moment.tzinfo else moment.replace(tzinfo=_zone(zone)) if zone else moment.astimezone()
    except (ValueError, OverflowError):
        fail("--now: a moment is written as in ISO 8601, for example 2026-02-01T10:00 or 2026-02-01T10:00:00Z")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        fail("--time-zone: is no time zone of the IANA database, for example Europe/Vienna")


async def _asked(client: MemoryClient, request: RetrieveRequest) -> tuple[RetrieveReply, tuple[str, ...]]:
    """The reply, and where else the user has memories if there are none."""
    reply = await client.retrieve(request)
    return reply, () if reply.total_count or reply.degraded else await other_spaces(client, request)


async def other_spaces(client: Lists, request: RetrieveRequest) -> tuple[str, ...]:
    """Where else the user has memories when the space that was asked has none; nothing if nobody can tell."""
    try:
        here = await client.list(ListRequest(user_id=request.user_id, space=request.space, limit=1))
        if here.total_count:
            return ()
        every = await client.list(ListRequest(user_id=request.user_id, limit=_LOOKED_AT))
    except (RequestFailed, Unavailable):
        return ()
    return tuple(dict.fromkeys(entry.space for entry in every.items if entry.space != request.space))[:_MOST_SPACES]


def show_reply(
    reply: RetrieveReply, request: RetrieveRequest, console: Console, *, elsewhere: Sequence[str] = ()
) -> None:
    """A reply as a table, with what it cost and what could not answer; of an empty one, what to try."""
    if reply.items:
        console.print(memory_table(reply.items))
    elif reply.total_count and reply.truncated:
        _show_no_room(reply, request, console)
    else:
        _show_nothing(request, console, elsewhere)
    for card in reply.entity_cards:
        console.print(Text(f"{one_line(card.entity)}: ", style="bold") + Text(one_line("; ".join(card.facts))))
    if request.explain:
        for word, meant in (reply.explanation or {}).get("corrections", {}).items():
            console.print(Text(f"“{one_line(word)}” was read as “{one_line(meant)}”.", style="dim"))
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
    if item.valid_until:
        reasons.append(f"so until {day(item.valid_until)}")
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


def _show_no_room(reply: RetrieveReply, request: RetrieveRequest, console: Console) -> None:
    found = plural(reply.total_count, "memory matches", "memories match")
    hint = f": try --budget {_ENOUGH}" if request.token_budget < _ENOUGH else ": try a larger --budget"
    told = f"{found}, but not one fits into {plural(request.token_budget, 'token')}{hint}."
    console.print(told, markup=False, soft_wrap=True)


def _show_nothing(request: RetrieveRequest, console: Console, elsewhere: Sequence[str]) -> None:
    place = one_line(f"the space {request.space!r} of user {request.user_id!r}")
    if elsewhere:
        console.print(f"There is nothing in {place}.", markup=False, soft_wrap=True)
        names = one_line(", ".join(map(repr, elsewhere)))
        console.print(f"There are memories in {names}: name the space with --space.", markup=False, soft_wrap=True)
        return
    narrowing = (request.types, request.tags, request.conversation_id, request.min_score, request.now)
    hint = "Leave out the filters" if any(one not in (None, ()) for one in narrowing) else "Try other words"
    console.print(f"Nothing in {place} matches.", markup=False, soft_wrap=True)
    status = one_line(shlex.join(["memorybus", "status", "--user", request.user_id]))
    console.print(f"{hint}, or see with `{status}` whether anything is stored.", markup=False, soft_wrap=True)


def _show_footer(reply: RetrieveReply, console: Console) -> None:
    parts = [
        f"{len(reply.items)} of {reply.total_count:,} found",
        f"{reply.token_count:,} tokens" + (", cut to fit" if reply.truncated else ""),
        f"query embedding {reply.query_embedding_ms:.1f} ms",
        f"retrieval {reply.retrieval_ms:.1f} ms",
    ]
    console.print(" · ".join(parts), style="dim", soft_wrap=True)
    if reply.pinned_left_out:
        left_out = plural(reply.pinned_left_out, "pinned memory", "pinned memories")
        console.print(f"{left_out} had no room in the context: a larger --budget has it", style="dim", soft_wrap=True)
    for leg in reply.degraded:
        searched = {"semantic": "meaning", "lexical": "words"}.get(leg, leg)
        warning = f"degraded: {one_line(searched)} could not be searched, something may be missing"
        console.print(warning, style="bold yellow", markup=False, soft_wrap=True)


def day(at: datetime) -> str:
    """The day of a time, as the calendar on the wall here shows it."""
    return at.astimezone().date().isoformat()
