"""What is remembered about the memory itself: which model made its vectors."""

from __future__ import annotations

import json
from dataclasses import asdict

from contracts.ports import EmbeddingIdentity
from services.shared.stores.opensearch.client import Client, Write
from services.shared.stores.opensearch.documents import BODY

_ID = "embedding_identity"
_NOBODY = ""


async def recall_identity(client: Client) -> EmbeddingIdentity | None:
    """The identity recorded last, if any."""
    (document,) = await client.mget("meta", [(_ID, _NOBODY)])
    held = json.loads(document.source[BODY]) if document else None
    return EmbeddingIdentity(**held) if held else None


async def remember_identity(client: Client, identity: EmbeddingIdentity | None) -> None:
    """Record an identity, or that there is none."""
    body = json.dumps(asdict(identity) if identity else None)
    await client.bulk([Write("index", "meta", _NOBODY, _ID, {BODY: body})])
