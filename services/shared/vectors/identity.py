"""Which model made the stored vectors: recorded in the text store, and what the settings have to say to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from contracts.ports import EmbeddingIdentity, TextStore
from services.shared.settings import EmbedderKind, Settings


class IdentityMismatch(Exception):
    """The stored vectors were made by another model than the one chosen now."""


def chosen(settings: Settings, recorded: EmbeddingIdentity | None) -> Settings:
    """The settings; what they leave open about the embedder is taken from the one that made the stored vectors."""
    named = settings.model_fields_set
    if recorded is None or recorded.provider not in get_args(EmbedderKind):
        return settings
    if "embedder" in named and settings.embedder != recorded.provider:
        return settings
    update: dict[str, Any] = {"embedder": recorded.provider}
    if "embedder_url" not in named and recorded.url:
        update["embedder_url"] = recorded.url
    if "embedder_model" not in named:
        update["embedder_model"] = recorded.model
    return settings.model_copy(update=update)


def newest(settings: Settings) -> Settings:
    """The settings with the built-in model of this version, where that of an earlier one made the stored vectors."""
    return settings.model_copy(update={"embedder_model": None}) if settings.embedder == "memorybus" else settings


def following(settings: Settings, recorded: EmbeddingIdentity) -> Settings:
    """The settings with the embedder that is recorded, whatever they say.

    A key that was given for the address of another server is not shown to this one.
    """
    url = recorded.url or settings.embedder_url
    update: dict[str, Any] = {"embedder": recorded.provider, "embedder_url": url, "embedder_model": recorded.model}
    if "embedder_url" in settings.model_fields_set and url != settings.embedder_url:
        update["embedder_api_key"] = None
    return settings.model_copy(update=update)


def recordable(identity: EmbeddingIdentity, settings: Settings) -> EmbeddingIdentity:
    """The identity with the address of its server, unless that holds a password, which is never written down."""
    is_open = identity.provider == "http" and not holds_password(settings.embedder_url)
    return replace(identity, url=settings.embedder_url if is_open else "")


def holds_password(url: str) -> bool:
    """Whether an address may hold a password or a key: it names a user, or has a query."""
    return any(mark in url for mark in "@?#")


async def check_identity(store: TextStore, identity: EmbeddingIdentity) -> EmbeddingIdentity:
    """Record the embedding identity on first use, and hold every later start to it; what is recorded then.

    Raises:
        IdentityMismatch: the stored vectors are of another provider, model or dimension.
    """
    recorded = await store.get_embedding_identity()
    if recorded is None:
        await store.set_embedding_identity(identity)
        return identity
    check_same(recorded, identity)
    return recorded


def check_same(recorded: EmbeddingIdentity, identity: EmbeddingIdentity) -> None:
    """Make sure that vectors of both can be compared.

    Raises:
        IdentityMismatch: they are of another provider, model or dimension.
    """
    if recorded != identity:
        raise IdentityMismatch(
            f"the stored vectors are of {described(recorded)}, but {described(identity)} is chosen now; vectors of two "
            f"models cannot be compared. Go back with {settings_of(recorded)}, or leave the embedder out of the "
            "settings, or make the vectors anew with `memorybus reindex` and the embedder chosen now"
        )


def described(identity: EmbeddingIdentity) -> str:
    """A model in words."""
    return f"{identity.provider} {identity.model} ({identity.dimensions} dimensions)"


def settings_of(identity: EmbeddingIdentity) -> str:
    """The settings that choose a model, as they are written in the environment."""
    named = [f"MEMORYBUS_EMBEDDER={identity.provider}"]
    if identity.url:
        named.append(f"MEMORYBUS_EMBEDDER_URL={identity.url}")
    if identity.provider not in ("memorybus", "minilm"):
        named.append(f"MEMORYBUS_EMBEDDER_MODEL={identity.model}")
    return " ".join(named)


def is_same(one: EmbeddingIdentity, other: EmbeddingIdentity) -> bool:
    """Whether these are the very same vectors, not only of the same model."""
    return one == other and one.generation == other.generation
