"""Annotators: adapters that read names and key phrases out of texts."""
