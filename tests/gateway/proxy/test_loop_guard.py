"""What was put into a prompt is never learned again."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest

from contracts.v1.commands import ListRequest
from services.shared.client import MemoryClient
from services.shared.context.echoes import memories_in
from tests.gateway.proxy.backend import ModelServer, Seen, saying
from tests.polling import eventually
from tests.sizes import LONG

EXCHANGES = 1000 if LONG else 50
ASKED = {
    "I prefer uv over pip for managing packages.": "Which package manager do I prefer?",
    "My dentist appointment is on Thursday, 12 March at 14:00.": "When is my dentist appointment?",
    "I am allergic to walnuts and hazelnuts.": "What am I allergic to?",
    "My sister Clara moved to Lisbon in 2021.": "Where does my sister Clara live?",
    "The office Wi-Fi password hint is the name of our first dog.": "What is the hint for the office password?",
    "I drive a green Skoda Octavia from 2014.": "Which car do I drive?",
    "Never use semicolons in my JavaScript examples.": "How do I like my JavaScript examples?",
    "Our daughter starts school in Graz in September.": "Where does our daughter start school?",
}
FACTS, QUESTIONS = list(ASKED), list(ASKED.values())
FRAMES = ["{}", "As you told me: {}", "I remember this about you. {} Is that right?", "Sure! {}", "- {}\n- {}", "“{}”"]


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    return {"MEMORYBUS_GATEWAY_QUERIES_PER_MINUTE": "0", "MEMORYBUS_GATEWAY_REQUESTS_PER_MINUTE": "0"}


def as_you(text: str) -> str:
    """A memory as an assistant says it to the user."""
    swaps = {"I am": "you are", "I": "you", "My": "your", "my": "your", "Our": "your", "our": "your"}
    return re.sub(r"\b(I am|I|My|my|Our|our)\b", lambda found: swaps[found[0]], text)


def repeating(seen: Seen) -> str:
    """A model that says nothing but what it was told from memory."""
    told = memories_in(seen.json["messages"][-1]["content"])
    number = len(told) + len(seen.body)
    frame = FRAMES[number % len(FRAMES)]
    lines = [as_you(text) if number % 2 else text for text in told[:3]]
    return "\n".join(frame.format(line, line) for line in lines) or "I do not know."


async def test_what_the_assistant_repeats_from_memory_adds_no_entry(
    http: httpx.AsyncClient, client: MemoryClient, model: ModelServer
) -> None:
    async def ask(text: str, number: int) -> str:
        body = {"model": "m-1", "messages": [{"role": "user", "content": text}], "memory_id": f"c{number}"}
        answer = await http.post("/chat/completions", json=body, headers={"Memory-User": "ann"})
        assert answer.status_code == 200
        return str(answer.json()["choices"][0]["message"]["content"])

    model.script = saying(lambda seen: "")
    for number, fact in enumerate(FACTS):
        await ask(fact, number)
    await eventually(lambda: client.status("ann"), lambda s: s.turns >= len(FACTS) and s.pending == 0)
    model.script, repeated, waiting = saying(repeating), 0, iter(range(EXCHANGES))

    async def lane() -> None:
        nonlocal repeated
        for number in waiting:
            said = await ask(QUESTIONS[number % len(QUESTIONS)], 100 + number)
            repeated += said != "I do not know."

    await asyncio.gather(*(lane() for _ in range(4)))
    assert repeated > 0.9 * EXCHANGES, "it has to repeat for this test to mean anything"
    turns = len(FACTS) + EXCHANGES
    await eventually(lambda: client.status("ann"), lambda s: s.turns >= turns and s.pending == 0, within=120)
    found = (await client.list(ListRequest(user_id="ann", limit=1000))).items
    assert [entry.text for entry in found if entry.role == "assistant"] == []
    assert {entry.text for entry in found} == {*FACTS, *QUESTIONS}
