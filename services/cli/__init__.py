"""The command line: `memorybus COMMAND`. A command is imported when it is called, not when the program starts."""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Annotated, Any

# Two threads of the linear algebra library beside the model's make every query twice as slow; ours are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Nobody's plugin is wanted, and looking for one reads a file of every package that is installed.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

import typer
from typer.core import TyperCommand, TyperGroup

from services.cli.output import OutputLost, ReaderGone, checked_output
from services.shared.redaction import redact_text

COMMANDS = {
    "up": "Start memorybus and keep it running until Ctrl-C or SIGTERM.",
    "address": "Print the address of the bus as a NATS client takes it, with the password: keep it to yourself.",
    "publish": "Publish a file of turns, and wait until all of it is memory.",
    "ask": "Ask what matters now: the memories, their scores, and why each was found.",
    "status": "Show what is stored, what waits at each stage, and how many dead letters there are.",
    "demo": "Show what memorybus does: publish an example, ask five questions, explain the answers.",
    "forget": "Forget one entry, with all that says it; the same statement is refused for a while.",
    "sessions": "List sessions, or say what one of them amounts to.",
    "conflicts": "List statements that cannot both be true, or decide which of two holds.",
    "rollup": "Roll up what is said of a topic, without one of every topic that is found: its memories are archived.",
    "profile": "Show what is known of a user: facts, the present value of each first, and what it was before.",
    "cards": "Show the cards of people, projects and events, or decide whether two names are of one person.",
    "loops": "List what is still to be done, or say what became of it.",
    "erase": "Remove everything of a user for good: log, entries, vectors, dead letters, what waits on the bus.",
    "reconcile": "Compare the conversation log, the entries and the vectors with each other, while memorybus runs.",
    "reindex": "Make all vectors anew from the text store, also into another model, while memorybus runs and answers.",
    "export": "Write conversation log and entries into a file that `memorybus import` reads, on whatever engines.",
    "import": "Read an export into the memory chosen now, and compare the counts.",
    "migrate": "Bring the indices of OpenSearch to the layout of this version, while they are in use.",
    "provision": "Make streams and consumers as declared; safe to repeat.",
    "mcp": "Serve memory over MCP on standard input and output, to an assistant that starts this command.",
    "bench": "Measure memorybus on this machine.",
    "eval": "Measure how well memory is found: put judged questions to a memory of its own.",
    "audit": "Show what was done: retrievals and actions of users and operators, without a word of the memory.",
    "keys": "Make, list and revoke the API keys of the HTTP edge.",
    "dead": "Look at what could not be digested, try it again, or let it go.",
}
"""Every command with the first line of its help."""

_MODULES = {"import": "services.cli.import_", "bench": "services.bench", "eval": "services.eval"}


def command(name: str) -> Any:
    """The command of this name, imported now."""
    module = import_module(_MODULES.get(name, f"services.cli.{name}"))
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    alone = typer.Typer(rich_markup_mode="rich", pretty_exceptions_show_locals=False, add_completion=False)
    alone.command(name, epilog=module.EPILOG)(getattr(module, module.__name__.rpartition(".")[2]))
    return typer.main.get_command(alone)


class _Commands(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name, help=line) for name, line in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and name and command(name), rest


_EPILOG = """Examples:\n
  memorybus up\n
  memorybus publish turns.jsonl --user me\n
  memorybus ask "which package manager?" --user me\n
  memorybus COMMAND --help
"""

app = typer.Typer(
    name="memorybus",
    cls=_Commands,
    help="Long-term memory for chat assistants: publish turns, ask what matters now.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # only here: looking up what is installed is slow to import

        typer.echo(f"memorybus {version('memorybus')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


def main() -> None:
    """Entry point of the console script."""
    try:
        with checked_output():
            app()
    except ReaderGone:
        sys.exit(1)
    except OutputLost as error:
        sys.exit(f"error: {error}")
    except Exception:
        sys.exit(redact_text(traceback.format_exc()))
