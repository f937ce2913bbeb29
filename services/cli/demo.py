"""`memorybus demo`: publishes an example conversation, asks five questions, and shows why the answers were found."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import typer
from rich.console import Console
from rich.text import Text

from contracts.v1.commands import ListReply, ListRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.cli.ask import memory_table
from services.cli.common import DataOption, NatsOption, bars, fail, nats_url, one_line, out, run
from services.cli.example import ASKED_AT, QUESTIONS, USER, Question, example_turns
from services.cli.status import counted, show_status
from services.shared.client import memory_client
from services.shared.commands.publishing import Bus, Tally, at_once, digest, publish_turns
from services.shared.logs import configure_logging
from services.shared.settings import Settings

EPILOG = """Examples:\n
  memorybus demo\n
  memorybus demo --data ./memory
"""

GO_ON = """How to go on:
  scripts/run up                          start memorybus and keep it running; then, in a second terminal:
  scripts/run publish FILE --user me      publish your own turns (JSON Lines, --format openai or locomo)
  scripts/run ask "..." --user me         ask what matters now
  scripts/run status                      see what is stored and what waits
"""

_SHOWN = 3


class Client(Bus, Protocol):
    """What the demonstration needs of a client."""

    async def retrieve(self, request: RetrieveRequest) -> RetrieveReply: ...

    async def list(self, request: ListRequest) -> ListReply: ...


def demo(data: DataOption = None, nats: NatsOption = None) -> None:
    """Show what memorybus does: publish an example, ask five questions, explain the answers.

    It runs in a temporary folder; with --data or --nats on what runs there, as the user "demo".
    """
    chosen = data is not None or nats is not None
    passed = run(_on_running(data, nats) if chosen else _on_temporary())
    if not passed:
        raise typer.Exit(1)
    out.print(GO_ON, markup=False, soft_wrap=True)


async def _on_running(data: Path | None, nats: str | None) -> bool:
    return await run_demo(nats_url(data, nats), out)


async def _on_temporary() -> bool:
    # All services and engines: only this way of running needs them.
    from services.cli.up import EXPECTED
    from services.runtime import running

    configure_logging("error")
    out.print("Starting memorybus in a temporary folder …")
    with TemporaryDirectory(prefix="memorybus-demo-") as folder:
        settings = Settings(data=Path(folder), nats_url=None, nats_port=0, http_port=0)
        try:
            async with running(settings) as instance:
                return await run_demo(instance.nats, out)
        except EXPECTED as error:
            fail(str(error))


async def run_demo(url: str, console: Console) -> bool:
    """Play the example on a running bus; whether every question found its answer.

    Raises:
        Unavailable, RequestFailed: memorybus does not answer.
    """
    async with memory_client(url) as client:
        return await play(client, console)


async def play(client: Client, console: Console) -> bool:
    """Publish, ask, show what was merged and counted."""
    if not await _publish(client, console):
        return False
    answered = [await _ask(client, number, question, console) for number, question in enumerate(QUESTIONS, start=1)]
    await _show_repeats(client, console)
    console.print("\n[bold]What is stored now[/bold]")
    show_status(*await counted(client, USER), console, user=USER)
    right = sum(answered)
    style = "green" if right == len(QUESTIONS) else "red"
    console.print(f"\n{right} of {len(QUESTIONS)} questions found their answer.\n", style=style)
    return right == len(QUESTIONS)


async def _publish(client: Client, console: Console) -> bool:
    turns, tally = example_turns(), Tally()
    with bars(console) as progress:
        await publish_turns(client, at_once(turns), tally, total=len(turns), progress=progress)
        digesting, problem = await digest(client, progress)
    if problem:
        console.print(problem, style="red", markup=False, soft_wrap=True)
        return False
    talks = len({turn.conversation_id for turn in turns})
    done = f"in {tally.seconds:.2f} s, digested {digesting:.2f} s later"
    console.print(f"Published {tally.turns} turns of {talks} conversations {done}.")
    return True


async def _ask(client: Client, number: int, question: Question, console: Console) -> bool:
    """Ask one question; whether the first memories contain the answer."""
    request = RetrieveRequest(user_id=USER, query=question.text, limit=_SHOWN, now=ASKED_AT)
    reply = await client.retrieve(request)
    items = reply.items[:_SHOWN]
    answered = question.answered_by(tuple(item.text for item in items))
    mark = "[green]✓[/green]" if answered else "[red]✗[/red]"
    console.print(f"\n{mark} [bold]{number}. {question.text}[/bold]{_cost(reply)}")
    console.print(memory_table(items))
    if not answered:
        console.print(f"  none of them contains {' and '.join(question.words)}", style="red")
    return answered


def _cost(reply: RetrieveReply) -> str:
    degraded = f", without {', '.join(reply.degraded)} search" if reply.degraded else ""
    return f"  [dim]{reply.retrieval_ms:.1f} ms{degraded}[/dim]"


async def _show_repeats(client: Client, console: Console) -> None:
    """What was said several times is one memory."""
    listed = await client.list(ListRequest(user_id=USER, limit=1000))
    for entry in listed.items:
        if entry.repeat_count:
            said = f"said {entry.repeat_count + 1} times in other case and punctuation, remembered once"
            console.print(Text(f"\n“{one_line(entry.text)}” ", style="bold") + Text(said, style="cyan"), soft_wrap=True)
