"""Embedder and vector store as one index, which may be changed for another while memorybus runs."""
