"""The vector store of a cluster: a Qdrant server, spoken to through its own client."""

from services.shared.stores.qdrant.failures import CollectionMismatch
from services.shared.stores.qdrant.opening import drop_former, open_store
from services.shared.stores.qdrant.spec import CollectionSpec, Quantization
from services.shared.stores.qdrant.store import QdrantVectorStore

__all__ = ["CollectionMismatch", "CollectionSpec", "QdrantVectorStore", "Quantization", "drop_former", "open_store"]
