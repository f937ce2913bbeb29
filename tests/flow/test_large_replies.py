"""What does not fit into one message is answered all the same: shorter pages with a cursor, fewer items, cut texts.

One memorybus serves all of it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from contracts.v1.commands import GetRequest, ListRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import running
from services.shared.client import MemoryClient, memory_client
from tests.flow.conftest import light
from tests.polling import digested

LONG = 60_000
COUNT = 30


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MemoryClient]:
    """A client of a memorybus to which Ann has said much."""
    async with running(light(tmp_path_factory.mktemp("large"))) as started, memory_client(started.nats) as client:
        await client.publish_all(long_turns("ann", "x"))
        await digested(client, turns=COUNT)
        yield client


def long_turns(user: str, character: str) -> list[Turn]:
    """Texts of nearly the longest kind, and nothing like each other."""
    words = (f"{character}{number} " for number in range(COUNT))
    texts = [f"locker {number} " + word * (LONG // len(word)) for number, word in enumerate(words)]
    return [Turn(user_id=user, role="user", text=text, turn_id=f"t{number}") for number, text in enumerate(texts)]


async def test_pages_that_do_not_fit_are_shorter_and_go_on_where_they_end(client: MemoryClient) -> None:
    found: list[str] = []
    pages, cursor = 0, None
    while True:
        page = await client.list(ListRequest(user_id="ann", limit=1000, cursor=cursor))
        found += [str(entry.turn_id) for entry in page.items]
        pages, cursor = pages + 1, page.next_cursor
        assert (page.total_count, page.truncated) == (COUNT, False)
        if cursor is None:
            break
    assert len(found) == len(set(found)) == COUNT
    assert 2 <= pages <= 4  # as full as they can be


async def test_an_answer_that_does_not_fit_has_fewer_items(client: MemoryClient) -> None:
    asked = RetrieveRequest(user_id="ann", query="locker", limit=200, token_budget=1_000_000, min_score=0)
    reply = await client.retrieve(asked, patience=20)
    assert 3 <= len(reply.items) < COUNT
    assert reply.truncated
    assert all(item.text[:9] in reply.context for item in reply.items)
    few = await client.retrieve(asked.model_copy(update={"limit": 2}), patience=20)
    assert len(few.items) == 2


async def test_one_entry_that_does_not_fit_is_shown_in_part(client: MemoryClient) -> None:
    tags = [f"{number}" + "\x01" * 4000 for number in range(60)]  # six bytes for one in JSON
    for number, text in enumerate(("My locker is green.", "my locker is green")):
        some = tuple(tags[30 * number : 30 * number + 30])
        await client.publish(Turn(user_id="bob", role="user", text=text, tags=some, turn_id=f"t{number}"))
    await digested(client, turns=COUNT + 2)
    page = await client.list(ListRequest(user_id="bob"))
    (entry,) = page.items
    assert page.truncated
    assert entry.text == "My locker is green."
    shown = await client.get(GetRequest(user_id="bob", id=entry.id))
    assert shown.truncated
    assert shown.entry.text == "My locker is green."
    answer = await client.retrieve(RetrieveRequest(user_id="bob", query="locker", min_score=0))
    assert [item.text for item in answer.items] == ["My locker is green."]
