"""`memorybus migrate`: brings the indices of OpenSearch to the layout of this version while they are in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from services.cli.common import bars, err, out, run, settings_from
from services.shared.app import need
from services.shared.settings import Settings

if TYPE_CHECKING:
    from services.shared.stores.opensearch.migrate import Step

EPILOG = """Examples:\n
  memorybus migrate --plan\n
  memorybus migrate\n
  memorybus migrate --drop-old\n
  memorybus migrate --opensearch-url http://127.0.0.1:9200
"""


def migrate(
    only_plan: Annotated[bool, typer.Option("--plan", help="Show what would be done, change nothing.")] = False,
    drop_old: Annotated[bool, typer.Option("--drop-old", help="Remove the indices that were replaced.")] = False,
    opensearch_url: Annotated[str | None, typer.Option(help="OpenSearch; several nodes separated by commas.")] = None,
) -> None:
    """Bring the indices of OpenSearch to the layout of this version, while they are in use.

    Writes wait until it is done. Safe to repeat, also after it was broken off. The embedded text store needs none of
    this: it brings itself up to date when it is opened.
    """
    settings = settings_from(text_store="opensearch", opensearch_url=opensearch_url)
    steps = run(_migrate(settings, only_plan=only_plan, drop_old=drop_old))
    _show(steps, only_plan=only_plan, drop_old=drop_old)


async def _migrate(settings: Settings, *, only_plan: bool, drop_old: bool) -> Sequence[Step]:
    need("opensearchpy")
    from services.shared.stores.opensearch import migrate as migration
    from services.shared.stores.opensearch.schema import Layout
    from services.shared.stores.opensearch.transport import Address, Client

    layout = Layout.of(settings)
    client = Client(Address.of(settings), prefix=settings.opensearch_prefix)
    try:
        steps = await migration.plan(client, layout)
        if only_plan:
            return steps
        totals: dict[str, int] = {step.kind: step.documents for step in steps}
        done = Counter[str]()
        with bars(err) as progress:

            def copied(kind: str, count: int) -> None:
                done[kind] += count
                progress(kind, done[kind], totals.get(kind))

            return await migration.migrate(client, layout, drop_old=drop_old, progress=copied)
    finally:
        await client.close()


def _show(steps: Sequence[Step], *, only_plan: bool, drop_old: bool) -> None:
    for step in steps:
        out.print(escape(step.text))
        if step.old:
            verb = "remove" if drop_old else "--drop-old would remove"
            out.print(escape(f"  {verb} {', '.join(step.old)}"), style="dim")
    if not only_plan:
        out.print("[green]the indices are up to date[/green]")
