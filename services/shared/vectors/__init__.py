"""Embedder and vector store as one pair, which may be changed for another while memorybus runs."""
