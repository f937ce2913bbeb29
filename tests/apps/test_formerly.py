"""A question as of an earlier moment is answered with what was true then, though it changed since."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from contracts.ports import Selection, TextStore, Unavailable
from contracts.v1.conflicts import ResolveRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.curate.conflicts import resolve
from tests.apps.asking import a_retriever, by_meaning
from tests.apps.fakes import FakeEmbedder, FakeReader, FakeVectors
from tests.apps.settling import settle
from tests.apps.test_forgetting import places
from tests.stores.builders import NOON, an_entry, minutes, store_entries

TUESDAY = "My dentist appointment is on Tuesday"
THURSDAY = "My dentist appointment has moved to Thursday"
FRIDAY = "My dentist appointment has moved from Thursday to Friday"
QUESTION = "when is my dentist appointment?"


async def told(store: TextStore, *texts: str, **fields: Any) -> None:
    """What ann said on the hour, one statement after another, settled by a reader."""
    times = [NOON + minutes(60 * hour) for hour in range(len(texts))]
    entries = [an_entry("ann", text, created_at=at, **fields) for text, at in zip(texts, times, strict=True)]
    await store_entries(store, entries)
    await settle(store, entries, FakeReader(updates=[*pairwise(texts)]))


async def asked(store: Any, hour: float, vectors: FakeVectors | None = None, **fields: Any) -> RetrieveReply:
    embedder = FakeEmbedder() if vectors else None
    retriever = a_retriever(store, vectors, embedder, leg_timeout_seconds=1.0, min_score=0.0)
    given = {"user_id": "ann", "query": QUESTION, "now": NOON + minutes(round(60 * hour))} | fields
    return await retriever.retrieve(RetrieveRequest(**given))


def texts(reply: RetrieveReply) -> list[str]:
    return [item.text for item in reply.items]


@pytest.mark.parametrize(("hour", "then"), [(-0.5, []), (0.5, [TUESDAY]), (1.5, [THURSDAY]), (2.5, [FRIDAY])])
async def test_what_was_true_then_is_the_answer(store: TextStore, hour: float, then: list[str]) -> None:
    await told(store, TUESDAY, THURSDAY, FRIDAY)
    reply = await asked(store, hour)
    assert texts(reply) == then
    assert all(text not in reply.context.split("[before:")[0] for text in {TUESDAY, THURSDAY, FRIDAY} - {*then})


async def test_what_it_was_before_is_told_as_of_then(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY, FRIDAY)
    ((before,),) = [item.before for item in (await asked(store, 1.5)).items]
    assert before.text == TUESDAY
    assert (await asked(store, 0.5)).items[0].before == ()


async def test_what_its_user_decided_was_never_so_is_no_former_state(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY)
    (newer,) = (await store.page(Selection("ann"), limit=1, cursor=None)).entries
    request = ResolveRequest(user_id="ann", newer=newer.id, older=newer.supersedes[0], keep="old")
    await resolve(request, stores=places(store)[0])
    (item,) = (await asked(store, 2)).items
    assert (item.text, item.before) == (TUESDAY, ())


async def test_meaning_alone_finds_what_was_true_then(store: TextStore) -> None:
    await told(store, TUESDAY, THURSDAY)
    active = [entry for entry in await store.scan(after="", limit=10) if entry.status == "active"]
    vectors, _ = await by_meaning(active)
    assert texts(await asked(store, 0.5, vectors, query="Zahnarzt")) == [TUESDAY]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"persona_id": "coach"}, [TUESDAY]),
        ({}, []),
        ({"persona_id": "coach", "user_id": "bob"}, []),
        ({"persona_id": "coach", "space": "work"}, []),
        ({"persona_id": "coach", "types": ("summary",)}, []),
        ({"persona_id": "coach", "conversation_id": "another"}, []),
    ],
)
async def test_scope_and_filters_hold_for_it(store: TextStore, fields: dict[str, Any], found: list[str]) -> None:
    await told(store, TUESDAY, THURSDAY, persona_id="coach")
    assert texts(await asked(store, 0.5, **fields)) == found


async def test_what_was_repeated_since_is_found_once(store: TextStore) -> None:
    entry = an_entry("ann", TUESDAY).model_copy(update={"last_said_at": NOON + minutes(300), "repeat_count": 1})
    await store_entries(store, [entry])
    assert texts(await asked(store, 0.5)) == [TUESDAY]


async def test_while_what_came_later_cannot_be_looked_at_the_rest_is_answered(store: TextStore) -> None:
    class Forgetful:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def search(self, *args: Any, **given: Any) -> Any:
            if given["filters"].since is not None:
                raise Unavailable("too busy")
            return await store.search(*args, **given)

    await told(store, TUESDAY, THURSDAY)
    await store_entries(store, [an_entry("ann", "The dentist is in Lisbon")])
    assert texts(await asked(Forgetful(), 0.5)) == ["The dentist is in Lisbon"]
