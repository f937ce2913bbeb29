"""The language model that the settings name, whoever asks it."""

from __future__ import annotations

from collections.abc import Callable

from services.shared.llm.chat import ChatModel, SettingNames
from services.shared.settings import Settings

_NAMES = SettingNames("MEMORYBUS_EXTRACT_URL", "MEMORYBUS_EXTRACT_MODEL", "MEMORYBUS_EXTRACT_API_KEY")


def configured_model(
    settings: Settings, *, answer_within: float, told: Callable[[bool], None], most_tokens: int
) -> ChatModel | None:
    """The model, nothing of which is asked yet; None where there is none.

    Raises:
        UnusableSetting: its address or key cannot be used.
    """
    if settings.extract_url is None:
        return None
    return ChatModel(
        settings.extract_url,
        settings.extract_model,
        names=_NAMES,
        api_key=settings.extract_api_key,
        answer_within=answer_within,
        most_tokens=most_tokens,
        told=told,
    )
