"""Settings that every service shares; each is also an environment variable MEMORYBUS_<NAME>."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

SyncMode = Literal["always", "interval"]
EmbedderKind = Literal["minilm", "http", "fastembed", "none"]


def _default_data() -> Path:
    return Path.home() / ".local" / "share" / "memorybus"


def _default_cache() -> Path:
    return Path.home() / ".cache" / "memorybus"


class Settings(BaseSettings):
    """Where things are and which engines are used. No service knows more about its profile than this."""

    model_config = SettingsConfigDict(env_prefix="MEMORYBUS_", extra="ignore")

    data: Path = Field(default_factory=_default_data, description="folder of the embedded bus and stores")
    cache: Path = Field(default_factory=_default_cache, description="folder of models made ready; may be deleted")

    nats_url: str | None = Field(default=None, description="bus to join; empty: start one in the data folder")
    nats_port: int = Field(default=4222, ge=0, le=65535, description="port of the embedded bus; 0: any free one")
    http_host: str = Field(default="127.0.0.1", description="address the gateway listens on")
    http_port: int = Field(default=8400, ge=0, le=65535, description="port of the gateway; 0: any free one")
    sync: SyncMode = Field(
        default="always", description="always: on disk before it is acknowledged; interval: faster, power cuts may lose"
    )

    text_store: Literal["sqlite"] = Field(default="sqlite", description="system of record")
    vector_store: Literal["edge", "none"] = Field(default="edge", description="vectors; none: search by words only")

    embedder: EmbedderKind = Field(default="minilm", description="what makes vectors; none: search by words only")
    embedder_url: str = Field(
        default="http://127.0.0.1:11434/v1",
        description="base address for embedder http (OpenAI, Ollama, llama.cpp, TEI)",
    )
    embedder_model: str | None = Field(default=None, description="model name for embedder http or fastembed")
    embedder_api_key: SecretStr | None = Field(default=None, description="key for embedder http")
    embedder_threads: int = Field(default=2, ge=1, description="threads of the built-in embedder")

    ner: Literal["spacy", "none"] = Field(default="spacy", description="names and key phrases; none: skip both")
    ner_processes: int = Field(default=2, ge=1, description="processes that read names and key phrases")

    max_text_bytes: int = Field(default=64 * 1024, ge=1, description="longest text of a turn, in bytes of UTF-8")
    turns_max_bytes: int = Field(
        default=4 * 1024**3, ge=1, description="most that waits on the bus; beyond it publishing is refused"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level logged")

    @property
    def sqlite_path(self) -> Path:
        """The file of the embedded text store."""
        return self.data / "memory.sqlite3"

    @property
    def vectors_path(self) -> Path:
        """The folder of the embedded vector store."""
        return self.data / "vectors"


class ServiceSettings(BaseSettings):
    """Base of a service's own knobs: MEMORYBUS_<SERVICE>_<NAME>."""

    model_config = SettingsConfigDict(extra="ignore")
