"""Turns go in on the bus, memory comes out: the public wire contract on real engines."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts import flow, subjects
from contracts.v1.commands import CreateRequest, ListRequest
from contracts.v1.edits import UpdateRequest
from contracts.v1.retrieval import RetrieveRequest
from contracts.v1.turns import Turn
from services.curate import commands
from services.shared.bus.dead_letters import LARGEST_BODY, DeadLetterQueue
from services.shared.client import MemoryClient
from tests.flow.conftest import on_sqlite
from tests.polling import answered, digested, eventually

SPANISH_TILES = "I ordered the blue Spanish tiles for the bathroom floor."


def a_turn(text: str = SPANISH_TILES, **given: Any) -> Turn:
    return Turn(**{"user_id": "ann", "role": "user", "text": text, **given})


async def publish_raw(client: MemoryClient, user: str, body: bytes) -> None:
    await client.bus.publish(
        f"{subjects.TURNS}.{user}", body, message_id=f"raw-{hash(body)}", stream=subjects.TURNS_STREAM.name
    )


async def dead_letters(client: MemoryClient) -> list[dict[str, Any]]:
    stream = subjects.DEAD_STREAM.name
    state = (await client.bus.js.stream_info(stream)).state
    messages = [await client.bus.js.get_msg(stream, seq) for seq in range(state.first_seq, state.last_seq + 1)]
    return [json.loads(message.data or b"{}") for message in messages if state.messages]


async def test_a_turn_is_found_by_its_words_and_by_its_meaning(client: MemoryClient) -> None:
    await client.publish(a_turn(turn_id="t1", conversation_id="c1", tags=("home",), source_ids=("doc-7",)))
    await client.publish(a_turn("The train to Ghent leaves at nine.", conversation_id="c2"))
    await digested(client, turns=2)

    by_words = await answered(client, RetrieveRequest(user_id="ann", query="Spanish tiles"))
    by_meaning = await answered(client, RetrieveRequest(user_id="ann", query="a washroom in ceramics", min_score=0.0))

    found = by_words.items[0]
    assert (found.text, found.turn_id, found.conversation_id) == (SPANISH_TILES, "t1", "c1")
    assert found.source_ids == ("doc-7",)
    assert "home" in found.tags
    assert found.embedding_state == "ready"
    assert found.signals.lexical
    assert SPANISH_TILES in by_words.context
    assert by_words.degraded == ()
    assert by_meaning.items[0].text == SPANISH_TILES
    assert by_meaning.items[0].signals.semantic
    assert not by_meaning.items[0].signals.lexical


async def test_publishing_a_turn_twice_has_the_effect_of_publishing_it_once(client: MemoryClient) -> None:
    turn = a_turn(turn_id="t1")
    body = turn.model_dump_json(exclude_none=True).encode()
    for attempt in ("first", "second"):  # different message ids, so that the bus itself lets both through
        await client.bus.publish(subjects.turns("ann"), body, message_id=attempt, stream=subjects.TURNS_STREAM.name)
    await client.publish(a_turn("Something else entirely.", turn_id="t2"))
    await digested(client, turns=2)

    status = await client.status()
    assert (status.turns, status.entries, status.merged, status.vectors) == (2, 2, 0, 2)


async def test_only_user_role_and_text_are_required(client: MemoryClient) -> None:
    before = datetime.now(UTC)
    await publish_raw(client, "ann", b'{"user_id": "ann", "role": "user", "text": "I am allergic to walnuts."}')
    await digested(client, turns=1)

    entry = (await client.list(ListRequest(user_id="ann"))).items[0]
    assert entry.turn_id
    assert before <= entry.created_at <= datetime.now(UTC)


DIFFERENCES: tuple[dict[str, str], ...] = (
    {"user_id": "bob"},
    {"space": "work"},
    {"role": "assistant"},
    {"speaker": "Eve"},
    {"persona_id": "coach"},
)


async def test_the_same_words_of_somebody_else_are_never_merged(client: MemoryClient) -> None:
    for number, difference in enumerate(DIFFERENCES):
        said = a_turn("I live in Porto.", turn_id=f"t{number}", user_id=f"ann{number}")
        await client.publish(said)
        await client.publish(said.model_copy(update={"turn_id": f"again{number}", **difference}))
    await digested(client, turns=2 * len(DIFFERENCES))

    status = await client.status()
    assert (status.entries, status.merged) == (2 * len(DIFFERENCES), 0)


NO_TURNS = {
    b"{": "body",
    b'{"user_id": "ann", "role": "user"}': "text",
    b'{"user_id": "bob", "role": "user", "text": "hi there"}': "not the user in the subject",
    b'{"user_id": "ann", "role": "king", "text": "hi there"}': "role",
    b'{"user_id": "ann", "role": "user", "text": "   "}': "blank",
    b'{"user_id": "ann", "role": "user", "text": "\xff\xfe"}': "body",
    b'{"user_id": "ann", "role": "user", "text": "hi", "created_at": "2026-02-01T10:00:00"}': "zone",
    b'{"user_id": "ann", "role": "user", "text": "hi", "tags": ["' + b"x" * 4097 + b'"]}': "tags",
    b'{"user_id": "ann", "role": "user", "text": "hi", "source_ids": [' + b'"x",' * 64 + b'"x"]}': "source_ids",
    b'{"user_id": "ann", "role": "user", "text": "hi", "turn_id": "' + b"x" * 129 + b'"}': "turn_id",
    b'{"user_id": "ann", "role": "user", "text": "hi", "created_at": "9999-12-31T23:59:59-12:00"}': "9999",
    b'{"user_id": "ann", "role": "user", "text": "' + b"x" * 70_000 + b'"}': "65536 are allowed",
}
"""What cannot be a turn, and a part of the reason that is told."""


@on_sqlite
async def test_what_cannot_be_a_turn_is_set_aside_with_the_reason_and_its_neighbours_flow_on(
    client: MemoryClient,
) -> None:
    await client.publish(a_turn("Before the first bad one."))
    for body in NO_TURNS:
        await publish_raw(client, "ann", body)
        await client.publish(a_turn(f"After the bad one of {len(body)} bytes that begins {body[:60]!r}."))
    await digested(client, turns=1 + len(NO_TURNS))

    letters = await eventually(lambda: dead_letters(client), lambda letters: len(letters) == len(NO_TURNS))
    reasons = {base64.b64decode(letter["body"]): letter["reason"] for letter in letters}
    assert {body: told for body, told in NO_TURNS.items() if told not in reasons[body]} == {}
    assert {(letter["attempts"], letter["stage"]) for letter in letters} == {(1, "ingest")}
    assert (await client.status()).turns == 1 + len(NO_TURNS)


@on_sqlite
async def test_a_message_too_large_to_be_kept_whole_is_set_aside_in_part(client: MemoryClient) -> None:
    body = b'{"user_id": "ann", "role": "user", "text": "' + b"x" * 1_000_000 + b'"}'
    await publish_raw(client, "ann", body)
    await client.publish(a_turn("After the large one.", turn_id="t2"))
    await digested(client, turns=1)
    (letter,) = await eventually(lambda: dead_letters(client), lambda letters: len(letters) == 1)
    kept = base64.b64decode(letter["body"])
    assert letter["cut"] is True
    assert "65536 are allowed" in letter["reason"]
    assert body.startswith(kept)
    assert len(kept) == LARGEST_BODY


async def test_what_is_saved_or_corrected_is_found_by_its_meaning_with_the_answer(
    client: MemoryClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MOST_EMBEDDING", 30)
    asked = RetrieveRequest(user_id="ann", query="which package manager?")
    created = (await client.create(CreateRequest(user_id="ann", text="I prefer uv over pip"))).entry
    assert created.embedding_state == "ready"
    assert [item.id for item in (await client.retrieve(asked, patience=30)).items] == [created.id]
    corrected = UpdateRequest(user_id="ann", id=created.id, text="I prefer tea over coffee")
    assert (await client.request(flow.UPDATE, corrected, patience=30)).entry.embedding_state == "ready"
    hot_drink = RetrieveRequest(user_id="ann", query="which hot drink?")
    assert [item.id for item in (await client.retrieve(hot_drink, patience=30)).items] == [created.id]


async def test_any_user_id_has_a_memory_of_its_own(client: MemoryClient) -> None:
    users = ("plain-user_1", "ann.smith@example.org", "user with spaces", "użytkownik > *")
    for user in users:
        await client.publish(a_turn(user_id=user))
    await digested(client, turns=len(users))

    for user in users:
        reply = await answered(client, RetrieveRequest(user_id=user, query="Spanish tiles"))
        assert len(reply.items) == 1
        assert (await client.status(user)).entries == 1


UNANSWERABLE = (
    (flow.RETRIEVE, b"{", "invalid_request"),
    (flow.RETRIEVE, b"[1, 2]", "invalid_request"),
    (flow.RETRIEVE, b'{"user_id": "ann"}', "invalid_request"),
    (flow.RETRIEVE, b'{"user_id": "ann", "query": "x", "limit": 0}', "invalid_request"),
    (flow.RETRIEVE, b'{"user_id": "bob", "query": "x"}', "user_mismatch"),
    (flow.LIST, b'{"user_id": "ann", "cursor": "nonsense"}', "invalid_request"),
    (flow.CREATE, b'{"user_id": "ann", "text": "  "}', "invalid_request"),
)


@on_sqlite
async def test_a_request_that_cannot_be_answered_gets_an_error_envelope(client: MemoryClient) -> None:
    for asked, body, code in UNANSWERABLE:
        answer = json.loads((await client.nats.request(asked.subject_of("ann"), body, timeout=30)).data)
        assert answer["ok"] is False, body
        assert (answer["error"]["code"], answer["error"]["retryable"]) == (code, False), body
        assert answer["error"]["message"], body


@on_sqlite
async def test_a_request_past_its_deadline_is_answered_so(client: MemoryClient) -> None:
    headers = {subjects.DEADLINE_HEADER: "1000"}
    body = b'{"user_id": "ann", "query": "x"}'
    raw = await client.nats.request(flow.RETRIEVE.subject_of("ann"), body, timeout=30, headers=headers)
    answer = json.loads(raw.data)
    assert answer["error"]["code"] == "deadline_exceeded"
    assert answer["error"]["retryable"] is True


@pytest.mark.parametrize("query", ["What is the capital of Mongolia?", "how do I reset the password of the router"])
async def test_a_question_about_nothing_known_gets_nothing(client: MemoryClient, query: str) -> None:
    await client.publish(a_turn())
    await digested(client, turns=1)
    least = await answered(client, RetrieveRequest(user_id="ann", query=query, min_score=0.0))
    assert [item.text for item in least.items] == [SPANISH_TILES], "only how far it is may keep it out"
    reply = await answered(client, RetrieveRequest(user_id="ann", query=query))
    assert reply.items == ()
    assert reply.context == ""


async def take(client: MemoryClient, message_id: str) -> None:
    """Publish something of another user under an id that is not its own: the bus drops by id alone."""
    headers = {subjects.MSG_ID_HEADER: message_id}
    promise = await client.bus.js.publish(subjects.turns("eve"), b"{", headers=headers)
    assert not promise.duplicate


@on_sqlite
async def test_a_turn_is_kept_though_another_user_took_its_message_id(client: MemoryClient) -> None:
    await take(client, "bob/default/t1")
    await client.publish(a_turn(user_id="bob", turn_id="t1"))
    await digested(client, turns=1)
    assert (await client.status("bob")).turns == 1


@on_sqlite
async def test_a_letter_is_said_again_though_another_user_guessed_what_it_would_be_called(client: MemoryClient) -> None:
    letters = DeadLetterQueue(client.bus)
    await client.bus.js.publish(subjects.turns("bob"), b"{")
    (number,) = await eventually(letters.numbers, lambda numbers: len(numbers) == 1)
    letter = (await letters.get(number)).letter
    assert letter is not None
    await take(client, f"retry:{number}:{letter.stream}:{letter.sequence}")
    await letters.retry(number)

    async def users() -> set[str]:
        return {user for each in await letters.numbers() for user in (await letters.get(each)).users}

    assert await eventually(users, lambda found: found == {"bob", "eve"})
