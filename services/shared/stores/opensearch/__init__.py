"""The text store of a cluster: OpenSearch."""

from services.shared.stores.opensearch.client import Address, Reads
from services.shared.stores.opensearch.indexes import UnusableIndexes
from services.shared.stores.opensearch.mappings import Layout
from services.shared.stores.opensearch.store import OpenSearchTextStore

__all__ = ["Address", "Layout", "OpenSearchTextStore", "Reads", "UnusableIndexes"]
