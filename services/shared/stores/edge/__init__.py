"""The vector store of one machine: the Qdrant engine inside the process, on a folder of its own."""

from services.shared.stores.edge.folder import FolderInUse, FolderMismatch, check_layout
from services.shared.stores.edge.store import EdgeVectorStore

__all__ = ["EdgeVectorStore", "FolderInUse", "FolderMismatch", "check_layout"]
