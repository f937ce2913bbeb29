"""Records what Open WebUI sends, asked over its own HTTP as its page does; `record.py` calls it."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

import httpx

from tests.gateway.proxy.recorded.stage import Stage

PORT = 18998
_PASSWORD = "Only-for-this-1"
_TASKS = ("title", "tags", "follow_up", "image_prompt", "queries", "auto", "emoji")
_SAID = [
    {"role": "user", "content": "My allotment is plot 14."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "Which plot is mine?"},
]
_CV = "Curriculum vitae\n\nName: Petra Lindqvist\nI live in Umeå. I am a marine biologist. My phone is 555 0134.\n"
_ENVIRONMENT = {
    "WEBUI_SECRET_KEY": "none",
    "OFFLINE_MODE": "true",
    "ENABLE_OLLAMA_API": "false",
    "OPENAI_API_KEY": "none",
    "RAG_EMBEDDING_ENGINE": "openai",
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "BYPASS_MODEL_ACCESS_CONTROL": "true",
    "ENABLE_AUTOCOMPLETE_GENERATION": "true",
    "ENABLE_CONTEXT_COMPACTION": "true",
    "ANONYMIZED_TELEMETRY": "false",
}


async def open_webui(stage: Stage) -> None:
    """Two people: a chat, another one, a file, and every task that the page sets."""
    stage.extra |= {**_ENVIRONMENT, "OPENAI_API_BASE_URL": stage.model.url, "DATA_DIR": str(stage.home / "data")}
    (stage.home / "data").mkdir()
    command = [str(stage.root / "owui/bin/open-webui"), "serve", "--host", "127.0.0.1", "--port", str(PORT)]
    server = await asyncio.create_subprocess_exec(*command, cwd=stage.home, env=stage.env)
    base = f"http://127.0.0.1:{PORT}"
    try:
        async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as ida:
            await _started(ida)
            await _signed_in(ida, "/api/v1/auths/signup", "Ida Holm", "ida@example.org")
            await _name_users(ida)
            await _recorded(stage, ida)
            ben = {"name": "Ben Okoro", "email": "ben@example.org", "password": _PASSWORD, "role": "user"}
            await ida.post("/api/v1/auths/add", json=ben)
            async with httpx.AsyncClient(base_url=base, timeout=60, trust_env=False) as other:
                await _signed_in(other, "/api/v1/auths/signin", "Ben Okoro", "ben@example.org")
                stage.case = "other-person"
                await _say(other, "I am a baker in Split.", [])
    finally:
        server.terminate()
        await server.wait()


async def _started(http: httpx.AsyncClient) -> None:
    for _ in range(60):
        await asyncio.sleep(2)
        try:
            if (await http.get("/health")).is_success:
                return
        except httpx.TransportError:
            continue


async def _signed_in(http: httpx.AsyncClient, path: str, name: str, email: str) -> None:
    said = await http.post(path, json={"name": name, "email": email, "password": _PASSWORD})
    http.headers["Authorization"] = f"Bearer {said.json()['token']}"


async def _name_users(http: httpx.AsyncClient) -> None:
    """The headers of the connection, as an administrator writes them into its settings."""
    config = (await http.get("/openai/config")).json()
    headers = {"Memory-User": "{{USER_ID}}", "Memory-Id": "{{CHAT_ID}}"}
    config["OPENAI_API_CONFIGS"] = {"0": {"enable": True, "headers": headers}}
    await http.post("/openai/config/update", json=config)
    await http.get("/api/models")


async def _recorded(stage: Stage, http: httpx.AsyncClient) -> None:
    stage.case = "first"
    chat, last = await _say(http, "My allotment is plot 14.", [])
    stage.case = "second"
    _, last = await _say(http, "Which plot is mine?", _SAID[:2], chat=chat, last=last)
    stage.case = "compaction"
    await http.post(f"/api/v1/chats/{chat}/compact")
    stage.case = "after-compaction"
    await _say(http, "I grow beans there.", [*_SAID, _SAID[1]], chat=chat, last=last)
    stage.case = "other-session"
    await _say(http, "My cat is called Miso.", [])
    stage.case = "file"
    file = (await http.post("/api/v1/files/", files={"file": ("cv.txt", _CV, "text/plain")})).json()
    await asyncio.sleep(2)
    shown = {"type": "file", "id": file["id"], "file": file, "url": file["id"], "name": "cv.txt", "context": "full"}
    await _say(http, "I interview her on Monday. Where does she live?", [], files=[shown])
    for task in _TASKS:
        stage.case = f"task-{task}"
        asked = {"model": "m-1", "messages": _SAID, "prompt": "Which plot is", "type": "general", "chat_id": chat}
        await http.post(f"/api/v1/tasks/{task}/completions", json=asked)


async def _say(
    http: httpx.AsyncClient,
    text: str,
    before: list[dict[str, str]],
    *,
    chat: str | None = None,
    last: str | None = None,
    files: list[Any] | None = None,
) -> tuple[str, str]:
    """Say something in a chat, and leave time for the answer and the tasks; the chat and the answer, by id."""
    mine, its = str(uuid4()), str(uuid4())
    message = {"id": mine, "parentId": last, "childrenIds": [], "role": "user", "content": text, "models": ["m-1"]}
    body: dict[str, Any] = {
        "stream": True,
        "model": "m-1",
        "messages": [*before, {"role": "user", "content": text}],
        "session_id": f"s-{mine[:8]}",
        "parent_id": last,
        "message_ids": [{"model_id": "m-1", "message_id": its}],
        "user_message": {**message, "timestamp": int(time.time()), **({"files": files} if files else {})},
        "background_tasks": {"title_generation": not chat, "tags_generation": not chat, "follow_up_generation": True},
    }
    body |= ({"chat_id": chat} if chat else {}) | ({"files": files} if files else {})
    chat = (await http.post("/api/chat/completions", json=body)).json()["chat_id"]
    await asyncio.sleep(5)
    return chat, its
