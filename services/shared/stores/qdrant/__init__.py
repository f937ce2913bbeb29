"""The vector store of a cluster: a Qdrant server, spoken to through its own client."""

import os

# What gRPC does at a fork ends, now and then, a child that is about to become another program: nats-server.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

from services.shared.stores.qdrant.failures import CollectionMismatch
from services.shared.stores.qdrant.opening import drop_former, open_store
from services.shared.stores.qdrant.spec import CollectionSpec, Quantization
from services.shared.stores.qdrant.store import QdrantVectorStore

__all__ = ["CollectionMismatch", "CollectionSpec", "QdrantVectorStore", "Quantization", "drop_former", "open_store"]
