"""`memorybus dead`: what could not be digested, and what becomes of it."""

from __future__ import annotations

import typer

from services.cli.dead import inspect, settle

_HELP = "Look at what could not be digested, try it again, or let it go."
app = typer.Typer(help=_HELP, no_args_is_help=True, add_completion=False)
app.command("list", epilog=inspect.LIST_EPILOG)(inspect.list_)
app.command("show", epilog=inspect.SHOW_EPILOG)(inspect.show)
app.command("retry", epilog=settle.RETRY_EPILOG)(settle.retry)
app.command("drop", epilog=settle.DROP_EPILOG)(settle.drop)
