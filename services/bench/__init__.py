"""`memorybus bench`: figures that anyone can print again."""

from __future__ import annotations

import typer

from services.bench import (
    changes,
    duplicates,
    engines,
    http,
    isolation,
    lookalikes,
    peers,
    proxy,
    retrieve,
    stalls,
    wishes,
    write,
)

app = typer.Typer(
    help="Measure memorybus on this machine.",
    epilog="Examples:\n\n  memorybus bench write\n\n  memorybus bench retrieve --entries 10000",
    no_args_is_help=True,
    add_completion=False,
)
app.callback()(isolation.with_own_engines)
app.command(epilog=write.EPILOG)(write.write)
app.command(epilog=retrieve.EPILOG)(retrieve.retrieve)
app.command(epilog=http.EPILOG)(http.http)
app.command(epilog=proxy.EPILOG)(proxy.proxy)
app.command(epilog=stalls.EPILOG)(stalls.stalls)
app.command(epilog=engines.EPILOG)(engines.engines)
app.command(epilog=peers.EPILOG)(peers.peers)
app.command(epilog=lookalikes.EPILOG)(lookalikes.lookalikes)
app.command(epilog=duplicates.EPILOG)(duplicates.duplicates)
app.command(epilog=changes.EPILOG)(changes.changes)
app.command(epilog=wishes.EPILOG)(wishes.wishes)
