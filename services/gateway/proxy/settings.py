"""The knobs of the chat proxy: where the model is, and what it is told from memory."""

from __future__ import annotations

from pydantic import Field, SecretStr

from services.shared.settings import ServiceSettings


class ProxySettings(ServiceSettings):
    """Which model stands behind `/v1`, and how its prompts are completed."""

    prefix = "MEMORYBUS_"

    openai_base_url: str = Field(
        default="", repr=False, description="base address of the model behind the chat proxy (`…/v1`); empty: no proxy"
    )
    openai_api_key: SecretStr | None = Field(
        default=None, description="key for it; empty: the caller's own `Authorization` is passed on"
    )
    anthropic_base_url: str = Field(
        default="",
        repr=False,
        description="the same for `/v1/messages` and whatever comes with `anthropic-version`; empty: that of OpenAI",
    )
    anthropic_api_key: SecretStr | None = Field(default=None, description="key for it; empty: the caller's own")

    proxy_top_k: int = Field(default=12, ge=1, le=200, description="memories that a prompt gets at most")
    proxy_token_budget: int = Field(default=1000, ge=0, le=100_000, description="tokens of their block")
    proxy_min_score: float = Field(default=0, ge=0, le=1, description="score from which on a memory is put in")
    proxy_patience_ms: int = Field(
        default=300, ge=1, le=10_000, description="how long a chat waits for its memories before it goes on without"
    )
    proxy_recent_turns: int = Field(
        default=12, ge=0, le=100, description="turns kept in process for clients that send only the newest; 0: none"
    )
    proxy_recent_tokens: int = Field(default=1000, ge=0, le=100_000, description="tokens of these in a prompt, nearly")
    proxy_cards: bool = Field(
        default=True, description="put in what is known of the people, places and projects that a prompt is about"
    )
    proxy_summary_trigger_tokens: int = Field(
        default=1000, ge=0, description="length of a conversation from which on its summary is put in, nearly"
    )
    proxy_summary_max_length: int = Field(
        default=600, ge=0, le=4000, description="characters of the summary of a conversation; 0: none"
    )
    proxy_commands: bool = Field(
        default=True,
        description='answer "forget that" and the like without the model; false: they are chat like others',
    )
    proxy_max_body_bytes: int = Field(default=64 * 1024**2, ge=1024, description="longest request to a model")
    proxy_timeout_seconds: float = Field(
        default=600, ge=1, le=86_400, description="how long the model may be silent before and within an answer"
    )
