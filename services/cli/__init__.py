"""The command line: `memorybus COMMAND`."""

from __future__ import annotations

import os
import sys
import traceback

# Two threads of the linear algebra library beside the model's make every query twice as slow; ours are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import typer

from services.cli.output import OutputLost, checked_output
from services.shared.redaction import redact_text

app = typer.Typer(
    name="memorybus",
    help="Long-term memory for chat assistants: publish turns, ask what matters now.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
)


def _register() -> None:
    """The commands are imported when the program starts, not when the package is."""
    from services.cli import (
        address,
        ask,
        bench,
        dead,
        demo,
        erase,
        export,
        forget,
        import_,
        migrate,
        provision,
        publish,
        reconcile,
        reindex,
        status,
        up,
    )

    commands = (
        *(up, address, publish, ask, status, demo, forget, erase),
        *(reconcile, reindex, export, import_, migrate, provision),
    )
    for module in commands:
        name = module.__name__.rpartition(".")[2]
        app.command(name.rstrip("_"), epilog=module.EPILOG)(getattr(module, name))
    app.add_typer(bench.app, name="bench")
    app.add_typer(dead.app, name="dead")


def main() -> None:
    """Entry point of the console script."""
    try:
        with checked_output():
            _register()
            app()
    except OutputLost as error:
        sys.exit(f"error: {error}")
    except Exception:
        sys.exit(redact_text(traceback.format_exc()))
