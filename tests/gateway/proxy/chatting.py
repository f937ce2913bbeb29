"""A user who talks to a model through the proxy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import httpx

from contracts.v1.commands import ListRequest
from contracts.v1.entries import Entry
from services.shared.client import MemoryClient
from tests.gateway.proxy.backend import ModelServer
from tests.polling import eventually


def asking(*texts: str, **more: Any) -> dict[str, Any]:
    """A request whose messages are of the user and the assistant by turns."""
    roles = ("user", "assistant")
    return {"model": "m-1", "messages": [{"role": roles[i % 2], "content": t} for i, t in enumerate(texts)], **more}


@dataclass(frozen=True, slots=True)
class Chat:
    """What a user sends, what the model is told, and what is remembered of it."""

    http: httpx.AsyncClient
    client: MemoryClient
    model: ModelServer
    user: str

    @property
    def told(self) -> str:
        """All that the model was told last, as one text."""
        return self.model.seen[-1].said

    @property
    def messages(self) -> Any:
        """The same as the messages that they were."""
        return self.model.seen[-1].json["messages"]

    @property
    def other(self) -> Chat:
        """Another user of the same model."""
        return replace(self, user=f"{self.user}-other")

    async def send(self, body: Any, path: str = "/chat/completions", **headers: str) -> httpx.Response:
        """What is answered to a request with these headers: `Memory_Id="c1"` is `Memory-Id: c1`."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(path, json=body, headers={"Memory-User": self.user, **given})

    async def says(self, *texts: str, **more: Any) -> httpx.Response:
        """Send what was said by turns, with further fields."""
        answer = await self.send(asking(*texts, **more))
        assert answer.status_code == 200, answer.text
        return answer

    async def answer(self, *texts: str, **more: Any) -> str:
        """What is answered to it."""
        return str((await self.says(*texts, **more)).json()["choices"][0]["message"]["content"])

    async def entries(self, count: int) -> list[Entry]:
        """What is remembered of the user once it is so much, in order."""
        request = ListRequest(user_id=self.user)
        reply = await eventually(lambda: self.client.list(request), lambda r: r.total_count >= count)
        return sorted(reply.items, key=lambda entry: entry.created_at)

    async def texts(self, count: int) -> set[str]:
        """The texts of what is remembered once it is so much."""
        return {entry.text for entry in await self.entries(count)}

    async def digested(self, turns: int) -> None:
        """Wait until so many turns are logged and nothing is pending."""
        await eventually(lambda: self.client.status(self.user), lambda s: s.turns >= turns and s.pending == 0)
