"""`memorybus eval`: how well memory is found, on judged questions."""

from __future__ import annotations

import typer

from services.bench.isolation import with_own_engines
from services.eval import commands, coverage, fit, knowledge_command

app = typer.Typer(
    help="Measure how well memory is found: put judged questions to a memory of its own.",
    epilog="Examples:\n\n  memorybus eval golden\n\n  memorybus eval chats chats.json",
    no_args_is_help=True,
    add_completion=False,
)
app.callback()(with_own_engines)
app.command(epilog=commands.GOLDEN_EPILOG)(commands.golden)
app.command(epilog=commands.LONGMEMEVAL_EPILOG)(commands.longmemeval)
app.command(epilog=commands.LOCOMO_EPILOG)(commands.locomo)
app.command(epilog=commands.CHATS_EPILOG)(commands.chats)
app.command("fit", epilog=fit.EPILOG)(fit.fit_weights)
app.command(epilog=coverage.EPILOG)(coverage.coverage)
app.command(epilog=knowledge_command.EPILOG)(knowledge_command.knowledge)
