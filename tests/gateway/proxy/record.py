"""Records what the clients of OpenAI and Anthropic send: run it to write recorded.jsonl anew.

python -m tests.gateway.proxy.record
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anthropic
import openai

from tests.gateway.proxy.backend import ModelServer, Seen, answer
from tests.gateway.proxy.test_clients import HELLO, TOOL, Answer

RECORDED = Path(__file__).with_name("recorded.jsonl")
_NOT_KEPT = ("host", "user-agent", "content-length", "connection", "accept-encoding", "authorization", "x-api-key")
_PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
_ASKED = "Was ist „Graz“? 漢字 😀 \u2028"
_PARTS: Any = [
    {"type": "text", "text": _ASKED},
    {"type": "image_url", "image_url": {"url": _PIXEL, "detail": "low"}},
    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
]
_CALL = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Graz"}'}}
_LOOP: Any = [
    *HELLO,
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "t1", "content": "7 °C"},
]
_CACHED: Any = [
    {"type": "text", "text": "A long document.", "cache_control": {"type": "ephemeral"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAAACw="}},
    {"type": "text", "text": _ASKED},
]
_WEATHER: Any = {"name": "weather", "description": "Tells it.", "input_schema": {"type": "object", "properties": {}}}


def by_openai(client: openai.OpenAI) -> list[Callable[[], object]]:
    """What a program may ask of OpenAI's client."""
    chat, user = client.chat.completions, [{"role": "user", "content": _PARTS}]
    any_chat: Any = chat.create
    any_response: Any = client.responses.create
    return [
        lambda: any_chat(model="m-1", messages=HELLO),
        lambda: any_chat(model="m-1", messages=HELLO, stream=True, stream_options={"include_usage": True}),
        lambda: any_chat(model="m-1", messages=HELLO, tools=[TOOL], tool_choice="auto", parallel_tool_calls=False),
        lambda: any_chat(model="m-1", messages=_LOOP, tools=[TOOL], stream=True),
        lambda: any_chat(
            model="m-1", messages=user, modalities=["text", "audio"], audio={"voice": "a", "format": "wav"}
        ),
        lambda: any_chat(model="m-1", messages=HELLO, logprobs=True, top_logprobs=5, logit_bias={"50256": -100}, n=2),
        lambda: any_chat(model="m-1", messages=HELLO, seed=2**53 + 1, temperature=0.1, top_p=1e-7, stop=["\n", "é"]),
        lambda: any_chat(model="m-1", messages=HELLO, extra_body={"top_k": 40, "x": [None, {"y": 1.0}]}),
        lambda: any_chat(model="m-1", messages=HELLO, extra_headers={"X-Own": "1"}, extra_query={"v": "a b&c=%2F"}),
        lambda: any_chat(model="m-1", messages=[{"role": "developer", "content": "x"}, *HELLO], metadata={"a": "b"}),
        lambda: any_chat(model="m-1", messages=HELLO, reasoning_effort="low", service_tier="auto", store=False),
        lambda: chat.parse(model="m-1", messages=HELLO, response_format=Answer),
        lambda: any_response(model="m-1", input=_ASKED, instructions="Be brief."),
        lambda: any_response(model="m-1", input=HELLO, stream=True, tools=[{"type": "web_search"}]),
        lambda: any_response(model="m-1", input="And then?", previous_response_id="resp_1", truncation="auto"),
        lambda: client.responses.parse(model="m-1", input="Where?", text_format=Answer),
        lambda: client.embeddings.create(model="e-1", input=[_ASKED, "b"], encoding_format="base64", dimensions=8),
        lambda: client.moderations.create(input=_ASKED),
        lambda: client.completions.create(model="m-1", prompt=[1, 2, 3], max_tokens=1, echo=True),
        lambda: client.audio.speech.create(model="m-1", voice="alloy", input=_ASKED),
        lambda: client.images.generate(prompt=_ASKED, n=1, size="1024x1024"),
        lambda: client.models.list(),
        lambda: client.models.retrieve("org/m 1"),
        lambda: client.files.list(purpose="batch", limit=1),
        lambda: client.batches.create(input_file_id="f-1", endpoint="/v1/embeddings", completion_window="24h"),
    ]


def by_anthropic(client: anthropic.Anthropic) -> list[Callable[[], object]]:
    """What a program may ask of Anthropic's client."""
    create: Any = client.messages.create
    user = [{"role": "user", "content": _CACHED}]
    return [
        lambda: create(model="c-1", max_tokens=10, messages=[{"role": "user", "content": _ASKED}], system="Be brief."),
        lambda: create(model="c-1", max_tokens=10, messages=user, stream=True, stop_sequences=["\n\nHuman:"]),
        lambda: create(model="c-1", max_tokens=10, messages=user, tools=[_WEATHER], tool_choice={"type": "any"}),
        lambda: create(model="c-1", max_tokens=9, messages=user, thinking={"type": "enabled", "budget_tokens": 1024}),
        lambda: client.messages.count_tokens(model="c-1", messages=[{"role": "user", "content": "Hi"}]),
        lambda: client.models.list(limit=3),
    ]


def as_line(seen: Seen) -> str:
    """A request as it is kept, without what each run has anew."""
    headers = {n: v for n, v in seen.headers.items() if n not in _NOT_KEPT and not n.startswith("x-stainless")}
    said = {"method": seen.method, "target": seen.target, "headers": headers, "body": seen.body.decode()}
    return json.dumps(said, ensure_ascii=False)


async def main() -> None:
    """Have every client ask a model that understands nothing, and write down how."""

    async def script(seen: Seen, writer: asyncio.StreamWriter) -> None:
        await answer(writer, b"{}", status="400 Bad Request")

    model = ModelServer(script)
    await model.start()
    with (
        openai.OpenAI(base_url=model.url, api_key="k", max_retries=0) as one,
        anthropic.Anthropic(base_url=model.url.removesuffix("/v1"), api_key="k", max_retries=0) as other,
    ):
        asked = [*by_openai(one), *by_anthropic(other)]
        for ask in asked:
            with suppress(openai.BadRequestError, anthropic.BadRequestError):
                await asyncio.to_thread(ask)
    await model.stop()
    assert len(model.seen) == len(asked), "each of them asks once"
    RECORDED.write_text("".join(f"{as_line(seen)}\n" for seen in model.seen))


if __name__ == "__main__":
    asyncio.run(main())
