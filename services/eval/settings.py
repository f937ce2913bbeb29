"""The knobs of `memorybus eval --llm`: MEMORYBUS_EVAL_<NAME>."""

from __future__ import annotations

from pydantic import Field, SecretStr

from services.shared.settings import ServiceSettings


class EvalSettings(ServiceSettings):
    """Which language model answers, and how much it is asked."""

    prefix = "MEMORYBUS_EVAL_"

    llm_model: str = Field(default="default", min_length=1, description="name of the model of `memorybus eval --llm`")
    llm_api_key: SecretStr | None = Field(default=None, description="key for it")
    llm_questions: int = Field(
        default=100, ge=1, description="questions it is asked, evenly from all that have an answer"
    )
    llm_patience_seconds: float = Field(default=60.0, gt=0, le=3600, description="how long one of its answers may take")
