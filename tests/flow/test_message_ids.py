"""A message id that somebody else took first costs nobody a message: the bus drops by id alone, whoever it was."""

from __future__ import annotations

from contracts import subjects
from contracts.v1.turns import Turn
from services.shared.bus.dead_letters import DeadLetterQueue
from services.shared.client import MemoryClient
from tests.polling import digested, eventually

TURN = Turn(user_id="bob", role="user", text="I moved to Lisbon.", turn_id="t1")


async def take(client: MemoryClient, message_id: str) -> None:
    """Publish something of another user under an id that is not one's own."""
    headers = {subjects.MSG_ID_HEADER: message_id}
    promise = await client.bus.js.publish(subjects.turns("eve"), b"{", headers=headers)
    assert not promise.duplicate


async def test_a_turn_is_kept_though_another_user_took_its_message_id(client: MemoryClient) -> None:
    await take(client, "bob/default/t1")
    await client.publish(TURN)
    await digested(client, turns=1)
    assert (await client.status("bob")).turns == 1


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
