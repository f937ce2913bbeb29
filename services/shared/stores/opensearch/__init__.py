"""The text store of a cluster: OpenSearch."""

from __future__ import annotations

from services.shared.stores.opensearch import schema
from services.shared.stores.opensearch.dedupe import OpenSearchDedupe
from services.shared.stores.opensearch.log import OpenSearchLog
from services.shared.stores.opensearch.privacy import OpenSearchPrivacy
from services.shared.stores.opensearch.schema import Layout, UnusableIndexes
from services.shared.stores.opensearch.search import OpenSearchIndex
from services.shared.stores.opensearch.transport import Address, Client, Reads
from services.shared.stores.opensearch.upkeep import OpenSearchUpkeep
from services.shared.stores.opensearch.user_records import OpenSearchRecords

__all__ = ["Address", "Layout", "OpenSearchTextStore", "Reads", "UnusableIndexes"]


class OpenSearchTextStore(
    OpenSearchLog,
    OpenSearchDedupe,
    OpenSearchIndex,
    OpenSearchPrivacy,
    OpenSearchUpkeep,
    OpenSearchRecords,
):
    """`contracts.ports.TextStore` on OpenSearch. Any number of processes may use the same indices."""

    @classmethod
    async def open(
        cls, address: Address, *, prefix: str, layout: Layout | None = None, reads: Reads = "refreshed"
    ) -> OpenSearchTextStore:
        """Open the indices whose names begin with `prefix`; those that are missing are made, laid out as said.

        Raises:
            UnusableIndexes: they were made by another version of this program, or are not its own.
            Unavailable: OpenSearch cannot be reached, or cannot make them, now.
        """
        client = Client(address, prefix=prefix, reads=reads)
        try:
            await schema.ensure(client, layout or Layout())
        except BaseException:
            await client.close()
            raise
        return cls(client)

    async def close(self) -> None:
        """Let go of the connections."""
        await self.client.close()
