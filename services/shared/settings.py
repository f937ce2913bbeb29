"""Settings that every service shares; each is also an environment variable MEMORYBUS_<NAME>."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from contracts.errors import Unavailable
from contracts.v1.turns import MOST_TEXT_BYTES

_PREFIX = "MEMORYBUS_"
_OTHERS = "MEMORYBUS_NATS_PASSWORD_"
"""Begins the passwords of all users of the bus, which nats-server reads, and `deploy/.env` has."""

_NEAR = 0.8
"""How alike two names are that are taken for one; Kubernetes sets variables of its own that begin like ours."""

SyncMode = Literal["always", "interval"]
EmbedderKind = Literal["memorybus", "minilm", "http", "fastembed", "none"]


def _default_data() -> Path:
    return Path.home() / ".local" / "share" / "memorybus"


def _default_cache() -> Path:
    return Path.home() / ".cache" / "memorybus"


class EnvironmentSettings(BaseModel):
    """Values that are given, and for the rest those of the environment: `prefix` and the name, in any case."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)
    prefix: ClassVar[str]

    def __init__(self, **given: Any) -> None:
        prefix = self.prefix.lower()
        variables = {
            name.lower().removeprefix(prefix): value
            for name, value in os.environ.items()
            if name.lower().startswith(prefix)
        }
        super().__init__(**variables | given)


class Settings(EnvironmentSettings):
    """Where things are and which engines are used. No service knows more about its profile than this."""

    prefix = _PREFIX

    data: Path = Field(default_factory=_default_data, description="folder of the embedded bus and stores")
    cache: Path = Field(default_factory=_default_cache, description="folder of models made ready; may be deleted")

    nats_url: str | None = Field(
        default=None, repr=False, description="bus to join; empty: start one in the data folder"
    )
    nats_user: str | None = Field(default=None, description="user on that bus")
    nats_password: SecretStr | None = Field(default=None, description="password of that user")
    nats_creds: Path | None = Field(default=None, description="credentials file for that bus, in place of a user")
    nats_ca: Path | None = Field(default=None, description="certificate authority of the bus, a PEM file")
    nats_cert: Path | None = Field(default=None, description="own certificate towards the bus, a PEM file")
    nats_key: Path | None = Field(default=None, description="key of that certificate")
    start_patience_seconds: float | None = Field(
        default=None,
        ge=0,
        description="how long a start waits for bus and stores; empty: 5 s for everything in one process, "
        "without end for one service of many",
    )
    nats_replicas: int = Field(default=1, ge=1, le=5, description="servers that keep a copy of every stream")
    turns_partitions: int = Field(
        default=1,
        ge=1,
        le=256,
        description="parts the turns are split into by user; each is read by one ingest at a time",
    )
    provision: bool = Field(
        default=True, description="declare streams and consumers at start; false: only check that they are as declared"
    )
    nats_port: int = Field(default=4222, ge=0, le=65535, description="port of the embedded bus; 0: any free one")
    http_host: str = Field(default="127.0.0.1", description="address the gateway listens on")
    http_hosts: str = Field(
        default="",
        description="further names, separated by commas, that HTTP is asked for by, besides addresses and localhost",
    )
    http_port: int = Field(default=8400, ge=0, le=65535, description="port of the gateway; 0: any free one")
    sync: SyncMode = Field(
        default="always", description="always: on disk before it is acknowledged; interval: faster, power cuts may lose"
    )

    text_store: Literal["sqlite", "opensearch"] = Field(
        default="sqlite", description="system of record: sqlite in the data folder, or opensearch"
    )
    vector_store: Literal["edge", "qdrant", "none"] = Field(
        default="edge", description="vectors: edge in the data folder, or qdrant; none: search by words only"
    )

    opensearch_url: str = Field(
        default="http://127.0.0.1:9200", repr=False, description="OpenSearch; several nodes separated by commas"
    )
    opensearch_user: str | None = Field(default=None, description="user of OpenSearch")
    opensearch_password: SecretStr | None = Field(default=None, description="password of that user")
    opensearch_ca: Path | None = Field(default=None, description="certificate authority of OpenSearch, a PEM file")
    opensearch_prefix: str = Field(
        default="memorybus", pattern="^[a-z][a-z0-9_-]{0,63}$", description="beginning of the names of the indexes"
    )
    opensearch_shards: int = Field(default=1, ge=1, le=1024, description="shards of each new index")
    opensearch_replicas: int = Field(default=0, ge=0, le=10, description="copies of each shard besides the first")
    opensearch_refresh_seconds: float = Field(
        default=1.0, ge=0.1, le=60, description="how long a new entry may take to be found by words"
    )

    qdrant_url: str = Field(default="http://127.0.0.1:6333", repr=False, description="Qdrant server")
    qdrant_api_key: SecretStr | None = Field(default=None, description="key for Qdrant")
    qdrant_grpc_port: Annotated[int, BeforeValidator(lambda given: given or 0)] = Field(
        default=6334,
        ge=0,
        le=65535,
        description="port of Qdrant's gRPC interface, on the same host; 0: HTTP alone, at a new connection a request. "
        "HTTP is also used while nothing answers there",
    )
    qdrant_collection: str = Field(
        default="memorybus", pattern="^[a-z][a-z0-9_-]{0,63}$", description="alias of the collection in use"
    )
    qdrant_quantization: Literal["none", "scalar"] = Field(
        default="none", description="scalar: a quarter of the memory, the originals rescore"
    )
    qdrant_shards: int = Field(default=1, ge=1, le=1024, description="shards of a new collection")
    qdrant_replicas: int = Field(default=1, ge=1, le=10, description="copies of each shard of a new collection")

    embedder: EmbedderKind = Field(
        default="memorybus",
        description="model that makes vectors; memorybus also reads what is stated; none: search by words only",
    )
    reader: Literal["memorybus", "none"] = Field(
        default="memorybus",
        description="what reads facts, to-dos and changes, whichever model makes the vectors; none: nothing is read",
    )
    embedder_url: str = Field(
        default="http://127.0.0.1:11434/v1",
        repr=False,
        description="base address for embedder http (OpenAI, Ollama, llama.cpp, TEI)",
    )
    embedder_model: str | None = Field(default=None, description="model name for embedder http or fastembed")
    embedder_api_key: SecretStr | None = Field(default=None, description="key for embedder http")
    embedder_threads: int = Field(default=2, ge=1, description="threads of the built-in embedder")

    ner: Literal["spacy", "none"] = Field(default="spacy", description="names and key phrases; none: skip both")
    ner_processes: int = Field(default=2, ge=1, description="processes that read names and key phrases")

    extract_url: str | None = Field(
        default=None,
        repr=False,
        description="base address of a language model (OpenAI, Ollama, llama.cpp, vLLM) that reads what users "
        "state and sums up chats, and so gets their words; without one none is asked",
    )
    extract_model: str = Field(default="default", description="name of that model")
    extract_api_key: SecretStr | None = Field(default=None, description="key for that model")

    max_text_bytes: int = Field(default=MOST_TEXT_BYTES, ge=1, description="longest text of a turn, in bytes of UTF-8")
    turns_max_bytes: int = Field(
        default=1024**3,
        ge=1,
        description="most that waits on the bus; beyond it publishing is refused. Three streams reserve it each",
    )
    audit_key: SecretStr | None = Field(
        default=None,
        description="key of the hashes of questions in the audit, to compare them for longer; empty: a new one a start",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="least level logged")

    @property
    def vectors_carry_entries(self) -> bool:
        """Whether retrieval must answer from the vector store alone; beside SQLite both are there, or neither."""
        return self.text_store != "sqlite"

    @property
    def sqlite_path(self) -> Path:
        """The file of the embedded text store."""
        return self.data / "memory.sqlite3"

    @property
    def vectors_path(self) -> Path:
        """The folder of the embedded vector store."""
        return self.data / "vectors"


class ServiceSettings(EnvironmentSettings):
    """Base of a service's own knobs: MEMORYBUS_<SERVICE>_<NAME>."""

    def __init__(self, **given: Any) -> None:
        """Read the environment.

        Raises:
            UnusableSetting: a value is none that can be used.
        """
        try:
            super().__init__(**given)
        except ValidationError as error:
            problems = (f"{self.prefix}{'_'.join(map(str, e['loc'])).upper()}: {e['msg']}" for e in error.errors())
            raise UnusableSetting("; ".join(problems)) from None


class UnusableSetting(Exception):
    """A setting of a service has a value that cannot be used; the text names the variable, and says what is wrong."""


class UnusableAccess(UnusableSetting, Unavailable):
    """A setting that says how a server is reached cannot be used, and waiting does not help."""


def misspelt(variables: Iterable[str]) -> dict[str, str]:
    """The environment variables that are no setting but nearly are, each with the setting that is probably meant."""
    kinds: list[type[EnvironmentSettings]] = [Settings, *ServiceSettings.__subclasses__()]
    known = [f"{kind.prefix}{name}".upper() for kind in kinds for name in kind.model_fields]
    names = [name.removeprefix(_PREFIX) for name in known]
    ours = {name: name.upper() for name in variables if name.upper().startswith(_PREFIX)}
    others = {name: upper for name, upper in ours.items() if not upper.startswith(_OTHERS)}
    near = {
        name: get_close_matches(upper.removeprefix(_PREFIX), names, 1, _NEAR)
        for name, upper in others.items()
        if upper not in known
    }
    return {name: f"{_PREFIX}{found[0]}" for name, found in near.items() if found}
