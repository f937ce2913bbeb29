"""What of a text an embedder is given."""

from __future__ import annotations

MOST_CHARS = 32_768
"""Texts are cut here: models read a few hundred to a few thousand tokens, and splitting into tokens takes time."""


def readable(text: str) -> str:
    """The beginning of the text, without unpaired surrogates, which UTF-8 cannot carry."""
    return text[:MOST_CHARS].encode("utf-8", errors="replace").decode()
