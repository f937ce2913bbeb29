"""Vectors of two models are never compared: a store remembers which one made its vectors."""

from __future__ import annotations

import pytest

from contracts.ports import EmbeddingIdentity, TextStore
from services.shared.app import IdentityMismatch, check_identity

SMALL = EmbeddingIdentity("builtin", "small", 384)


@pytest.mark.parametrize(
    "other",
    [
        EmbeddingIdentity("http", "small", 384),
        EmbeddingIdentity("builtin", "large", 384),
        EmbeddingIdentity("builtin", "small", 768),
    ],
    ids=["provider", "model", "dimensions"],
)
async def test_another_model_is_refused_with_the_command_that_helps(store: TextStore, other: EmbeddingIdentity) -> None:
    await check_identity(store, SMALL)
    await check_identity(store, SMALL)
    with pytest.raises(IdentityMismatch, match="memorybus reindex"):
        await check_identity(store, other)
    assert await store.recall_identity() == SMALL
