"""Vectors of two models are never compared: a store remembers which one made its vectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from contracts.ports import EmbeddingIdentity, TextStore
from services.shared.settings import Settings
from services.shared.vectors.identity import IdentityMismatch, check_identity, chosen, following, recordable

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
    assert await store.get_embedding_identity() == SMALL


RECORDED = EmbeddingIdentity("http", "bge-m3", 1024, generation=1, url="http://models:1/v1")


async def test_what_is_recorded_says_where_and_how_often(store: TextStore) -> None:
    await store.set_embedding_identity(RECORDED)
    recalled = await store.get_embedding_identity()
    assert recalled == RECORDED
    assert recalled
    assert (recalled.generation, recalled.url) == (1, "http://models:1/v1")
    assert await check_identity(store, EmbeddingIdentity("http", "bge-m3", 1024)) == recalled
    with pytest.raises(IdentityMismatch, match=r"MEMORYBUS_EMBEDDER_URL=http://models:1/v1 .*_MODEL=bge-m3"):
        await check_identity(store, SMALL)


def wanted(settings: Settings) -> tuple[str, str, str | None]:
    return settings.embedder, settings.embedder_url, settings.embedder_model


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("http", "http://models:1/v1", "bge-m3")),
        ({"embedder": "http"}, ("http", "http://models:1/v1", "bge-m3")),
        ({"embedder_url": "http://moved/v1"}, ("http", "http://moved/v1", "bge-m3")),
        ({"embedder_model": "large"}, ("http", "http://models:1/v1", "large")),
        ({"embedder": "minilm"}, ("minilm", "http://127.0.0.1:11434/v1", None)),
        ({"embedder": "none"}, ("none", "http://127.0.0.1:11434/v1", None)),
    ],
    ids=str,
)
@pytest.mark.parametrize("named_by", ["option", "environment"])
def test_what_the_settings_leave_open_is_as_recorded(
    given: dict[str, Any], expected: tuple[str, str, str | None], named_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items() if named_by == "environment" else ():
        monkeypatch.setenv(f"MEMORYBUS_{name.upper()}", value)
    settings = Settings(**(given if named_by == "option" else {}))
    assert wanted(chosen(settings, RECORDED)) == expected
    assert wanted(chosen(settings, None)) == wanted(settings)


def test_a_running_process_follows_what_is_recorded_whatever_its_settings_say() -> None:
    settings = Settings(embedder="minilm", embedder_model="x", embedder_api_key=SecretStr("k"))
    followed = following(settings, RECORDED)
    assert wanted(followed) == ("http", "http://models:1/v1", "bge-m3")
    assert followed.embedder_api_key == SecretStr("k")


def test_the_key_for_one_server_is_not_shown_to_another() -> None:
    settings = Settings(embedder="http", embedder_url="https://paid/v1", embedder_api_key=SecretStr("k"))
    assert following(settings, RECORDED).embedder_api_key is None
    assert following(settings, replace(RECORDED, url="https://paid/v1")).embedder_api_key == SecretStr("k")


@pytest.mark.parametrize(
    ("provider", "url", "recorded"),
    [
        ("http", "http://models/v1", "http://models/v1"),
        ("http", "http://me:secret@models/v1", ""),
        ("http", "http://models/v1?api_key=secret", ""),
        ("minilm", "http://models/v1", ""),
    ],
)
def test_no_password_is_written_down(provider: str, url: str, recorded: str) -> None:
    assert recordable(EmbeddingIdentity(provider, "m", 3), Settings(embedder_url=url)).url == recorded
