"""A language model behind `POST {base_url}/chat/completions`, as OpenAI, Ollama, llama.cpp and vLLM offer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import httpx
from pydantic import BaseModel, Field, SecretStr, ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from contracts.errors import ModelFailed, NoAnswer, Unavailable
from services.shared.backoff import wait_backoff
from services.shared.bounded import UNCOMPRESSED, AnswerRefused, bounded
from services.shared.llm.breaker import Breaker
from services.shared.redaction import redact_address
from services.shared.settings import UnusableSetting

ATTEMPTS = 3
_LONGEST_WAIT = 5.0  # seconds
_MOST_BYTES = 64 * 1024
_WRONG_SETTING = (401, 403, 404, 405)


class SettingNames(NamedTuple):
    """What the settings are called that somebody looks at when a model cannot be asked."""

    address: str
    model: str
    key: str


class _Message(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


class ChatModel:
    """`contracts.ports.LanguageModel`. Of an answer that is none only the status is told."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        names: SettingNames,
        api_key: SecretStr | None = None,
        answer_within: float = 30.0,
        most_tokens: int = 800,
        longest_wait: float = _LONGEST_WAIT,
        told: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """Prepare to ask; nothing is asked yet. An attempt takes at most `answer_within` seconds. `told` hears whether
        the model is left alone, as it failed several times.

        Raises:
            UnusableSetting: the address or the key cannot be used.
        """
        self.name, self._names = model, names
        self._answer_within, self._most_tokens, self._longest_wait = answer_within, most_tokens, longest_wait
        self._client = _client(base_url, api_key, names)
        self._where = redact_address(str(self._client.base_url))
        self._breaker = Breaker(told)

    def check(self) -> None:
        self._breaker.check()

    async def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None = None) -> str:
        self._breaker.check()
        attempts = AsyncRetrying(
            retry=retry_if_exception_type(ModelFailed),
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_backoff(longest=self._longest_wait),
            reraise=True,
        )
        try:
            content: str = await attempts(self._ask, messages, schema)
        except ModelFailed as error:
            self._breaker.failed(str(error))
            raise
        self._breaker.succeeded()
        return content

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any] | None) -> str:
        body = {
            "model": self.name,
            "messages": messages,
            "temperature": 0,
            "max_tokens": self._most_tokens,
            "stream": False,
        }
        if schema is not None:
            form = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        try:
            async with asyncio.timeout(self._answer_within):
                response = await self._client.post("/chat/completions", json=body)
        except TimeoutError:
            raise ModelFailed(f"{self._where}: no answer within {self._answer_within:g} s") from None
        except AnswerRefused as error:
            raise NoAnswer(str(error)) from None
        except httpx.RequestError as error:  # its words may repeat what the server sent
            raise ModelFailed(f"{self._where}: {type(error).__name__}") from None
        return self._content(response)

    def _content(self, response: httpx.Response) -> str:
        status = response.status_code
        if status in (408, 429) or status >= 500:
            raise ModelFailed(f"{self._where}: HTTP {status}")
        if status in _WRONG_SETTING:
            address, model, key = self._names
            reason = f"{self._where} does not answer (HTTP {status}): check {address}, {model} and {key}"
            self._breaker.failed(reason, for_good=True)
            raise Unavailable(reason)
        if status != 200:
            raise NoAnswer(f"HTTP {status}")
        try:
            return _Completion.model_validate_json(response.content).choices[0].message.content
        except ValidationError:
            raise NoAnswer("no chat completion in the answer") from None


def _client(base_url: str, api_key: SecretStr | None, names: SettingNames) -> httpx.AsyncClient:
    headers = UNCOMPRESSED | ({"Authorization": f"Bearer {api_key.get_secret_value()}"} if api_key else {})
    try:
        client = httpx.AsyncClient(
            base_url=base_url.rstrip("/"),
            headers=headers,
            timeout=None,  # an answer is waited for as a whole
            event_hooks=bounded(_MOST_BYTES),
        )
    except (httpx.InvalidURL, UnicodeError, ValueError):  # their words may hold a part of a password
        raise UnusableSetting(f"{names.address} or {names.key} cannot be used") from None
    if client.base_url.scheme not in ("http", "https") or not client.base_url.host:
        raise UnusableSetting(f"{names.address} must be an address that begins with http:// or https://")
    return client
