"""Facts and what is to be done: the same before a roll-up, with it, without its originals' words, and taken back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.ports import Change, TextStore
from contracts.v1.cards import CardsRequest
from contracts.v1.claims import Claim, Slot
from contracts.v1.entries import Entry
from contracts.v1.loops import LoopsRequest, SettleRequest
from contracts.v1.profile import ProfileRequest
from contracts.v1.sessions import SessionsRequest
from services.curate import cards, loops, profile, sessions
from services.curate.rollups import RollUps
from services.shared.context.rollups import drafts, voices
from tests.claims import a_claim, a_task, an_end_of
from tests.stores.builders import a_proposal, a_turn, a_user, entry_of, store_entries
from tests.stores.changing import modify
from tests.stores.rolling import replica

FIRST = datetime(2026, 3, 1, 9, tzinfo=UTC)
SAID = (
    "I live in Wels. My kayak is here too.",
    "My sister Clara lives in Wels and has a kayak",
    "I will sell the kayak by Friday",
    "I have to paint the kayak tomorrow",
    "I live in Linz",
    "Clara lives in Linz",
    "I sold the kayak",
    "I am allergic to kayak glue",
    "The kayak got a new seat",
    "The kayak club is closed",
)


CLAIMED: dict[str, tuple[str, Slot, str]] = {
    "I live in Wels.": ("Wels", "home", ""),
    SAID[1]: ("kayak", "possession", "Clara"),
    SAID[4]: ("Linz", "home", ""),
    SAID[5]: ("Linz", "home", "Clara"),
    SAID[7]: ("kayak glue", "allergy", ""),
    "I live in Graz": ("Graz", "home", ""),
}


def claims_in(text: str) -> tuple[Claim, ...]:
    """What is read in the sentences of a text."""
    found = [(said, its) for said, its in CLAIMED.items() if said in text]
    return tuple(
        a_claim(said, value, slot, whose=whose).moved(text.index(said)) for said, (value, slot, whose) in found
    )


async def say(store: TextStore, user: str, *texts: str) -> list[Entry]:
    """Store what was said, each ten days after the one before."""
    turns = [a_turn(user, text, created_at=FIRST + timedelta(days=10 * i)) for i, text in enumerate(texts)]
    await store.append(turns, [a_proposal(turn) for turn in turns])
    entries = [entry_of(a_proposal(turn), embedding_state="ready", claims=claims_in(turn.text)) for turn in turns]
    return await store_entries(store, list(_as_read(entries)))


def _as_read(entries: list[Entry]) -> Iterator[Entry]:
    """The entries as a reader would leave them, of which the last ends the first of what is to be done."""
    to_do: list[Entry] = []
    for entry in entries:
        if entry.text in SAID[2:4]:
            entry = entry.model_copy(update={"claims": (*entry.claims, a_task(entry.text))})
            to_do.append(entry)
        elif entry.text == SAID[6]:
            ended = to_do[0]
            entry = entry.model_copy(update={"changes": an_end_of(ended), "supersedes": (ended.id,)})
        yield entry


async def read(store: TextStore, entry: Entry) -> None:
    """Have a reader read the text of an entry."""
    held = (await store.get([entry]))[entry.id]
    assert not await store.replace([Change(held, held.model_copy(update={"claims": claims_in(held.text)}))])


async def roll_up(made: RollUps, entries: list[Entry]) -> list[Entry]:
    made_of = [one for said in voices(entries).values() for one in drafts(said)]
    return [one for draft in made_of if (one := await made.make(draft)) is not None]


async def told(store: TextStore, user: str) -> dict[str, Any]:
    """All that is read off what the user said."""
    known = await profile.profile(ProfileRequest(user_id=user), store=store)
    around = await cards.cards(CardsRequest(user_id=user), store=store)
    found = await loops.list_loops(LoopsRequest(user_id=user, state="all"), store=store, now=FIRST)
    spine = await sessions.spine(user, None, "", store=store)
    replies = {"profile": known, "cards": around, "loops": found, "spine": spine}
    return {name: reply.model_dump(exclude={"correlation_id"}) for name, reply in replies.items()}


async def settle(store: TextStore, user: str, text: str, state: Any) -> None:
    found = await loops.list_loops(LoopsRequest(user_id=user, state="all"), store=store)
    (one,) = [loop for loop in found.items if loop.text == text]
    await loops.settle(SettleRequest(user_id=user, id=one.id, state=state), store=store)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(range(len(SAID))), min_size=2, unique=True))
async def test_a_roll_up_of_any_of_it_changes_nothing_that_is_told(text_store: TextStore, chosen: list[int]) -> None:
    user = a_user()
    said = await say(text_store, user, *SAID)
    await settle(text_store, user, SAID[3], "dropped")
    made, before = replica(text_store), await told(text_store, user)
    done = await roll_up(made, [said[i] for i in sorted(chosen)])
    assert done
    assert await told(text_store, user) == before
    for one in done:
        await made.undo(user, one.id)
    assert await told(text_store, user) == before


async def test_the_lines_tell_it_once_the_words_of_the_originals_are_gone_each_as_old_as_its_source(
    text_store: TextStore, user: str
) -> None:
    said = await say(text_store, user, *SAID)
    await settle(text_store, user, SAID[3], "dropped")
    made, before = replica(text_store), await told(text_store, user)
    (one,) = await roll_up(made, [said[i] for i in (0, 1, 2, 3, 8, 9)])
    assert set(one.text.split("\n")) >= {SAID[1], SAID[2], SAID[3]}
    (record,) = await text_store.records(user, "rollup")
    await made.empty(record.key)
    await read(text_store, one)
    after = await told(text_store, user)
    assert after["profile"]["facts"] == before["profile"]["facts"]
    assert (len(before["loops"]["items"]), after["loops"]["items"]) == (2, ())  # a line has no claims


async def test_what_is_to_be_done_is_settled_while_it_is_rolled_up(text_store: TextStore, user: str) -> None:
    said = await say(text_store, user, *SAID)
    made = replica(text_store)
    (one,) = await roll_up(made, said)
    await settle(text_store, user, SAID[3], "done")
    rolled_up = await told(text_store, user)
    assert [its["state"] for its in rolled_up["loops"]["items"]] == ["done", "done"]
    await made.undo(user, one.id)
    assert await told(text_store, user) == rolled_up
    records = await text_store.records(user, "loops")
    assert [its.name for its in records] == [said[3].id]


async def test_what_was_closed_by_what_is_rolled_up_since_can_be_opened_again(text_store: TextStore, user: str) -> None:
    said = await say(text_store, user, *SAID)
    gone = {"status": "superseded", "superseded_by": said[6].id}
    await modify(text_store, [said[2]], lambda entry: entry.model_copy(update=gone))
    assert await roll_up(replica(text_store), said[5:])
    await settle(text_store, user, SAID[2], "open")
    assert [its["state"] for its in (await told(text_store, user))["loops"]["items"]] == ["open", "open"]
    await settle(text_store, user, SAID[2], None)
    states = {its["text"]: its["state"] for its in (await told(text_store, user))["loops"]["items"]}
    assert states == {SAID[2]: "done", SAID[3]: "open"}


async def test_a_roll_up_whose_text_was_changed_tells_that_alone(text_store: TextStore, user: str) -> None:
    said = await say(text_store, user, *SAID)
    made = replica(text_store)
    (one,) = await roll_up(made, said)
    changed = one.model_copy(
        update={"text": "I live in Graz", "line_sources": (), "claims": claims_in("I live in Graz")}
    )
    stored = (await text_store.get([one]))[one.id]
    await text_store.replace([Change(stored, changed)])
    facts = (await told(text_store, user))["profile"]["facts"]
    assert [(its["value"], its["source_ids"]) for its in facts] == [("Graz", (one.id,))]


async def test_a_rolling_summary_is_of_what_is_rolled_up_as_well(text_store: TextStore, user: str) -> None:
    said = await say(text_store, user, *SAID)
    request = SessionsRequest(user_id=user, rolling="c1", limit=0)
    before = (await sessions.list_sessions(request, store=text_store)).rolling
    await roll_up(replica(text_store), said[1:])
    assert before is not None
    assert before.text
    assert (await sessions.list_sessions(request, store=text_store)).rolling == before
