"""The conversation log: turns are kept once, as they were first, and know their session."""

from __future__ import annotations

import pytest

from contracts.ports import Conversation, Key, LastTurn, TextStore
from tests.stores.builders import NOON, a_proposal, a_turn, a_user, log_proposals, minutes, undecided_of


async def test_what_logged_turns_propose_is_undecided_and_comes_in_the_order_asked(
    text_store: TextStore, user: str
) -> None:
    turn = a_turn(user, "I moved to Ghent", tags=("tools",), speaker="Anna", persona_id="guide", correlation_id="c-1")
    silent = a_turn(user, "Hm.")
    itself, fact = a_proposal(turn), a_proposal(turn, ordinal=1, text="lives in Ghent")
    await text_store.append([turn, silent], [itself, fact])
    await text_store.append([], [later := a_proposal(silent, ordinal=1, text="thinks")])
    others = await log_proposals(text_store, user, 3)
    asked = [others[2], fact, itself, others[0], later]
    assert await undecided_of(text_store, [*asked, Key(user, "unknown")]) == asked


async def test_a_known_turn_stays_as_it_was_first_and_only_others_count_as_new(
    text_store: TextStore, user: str
) -> None:
    first, new = a_turn(user, "the original words"), a_turn(user, "new")
    other = first.model_copy(update={"text": "other words", "session_id": "another"})
    assert await text_store.append([first, other], [a_proposal(first), a_proposal(other)]) == [first]
    assert await text_store.append([other, new], [a_proposal(other), a_proposal(new)]) == [new]
    assert await text_store.append([first, new], []) == []
    assert await undecided_of(text_store, [a_proposal(first)]) == [a_proposal(first)]
    assert (await text_store.counts(user)).turns == 2


async def test_the_same_turn_id_of_another_user_or_space_is_another_turn(text_store: TextStore, user: str) -> None:
    turn = a_turn(user)
    turns = [turn, turn.model_copy(update={"space": "work"}), turn.model_copy(update={"user_id": a_user()})]
    await text_store.append(turns, [a_proposal(turn) for turn in turns])
    found = await undecided_of(text_store, [a_proposal(turn) for turn in turns])
    assert [proposal.turn for proposal in found] == turns


async def test_a_proposal_without_its_turn_is_an_error_and_nothing_of_the_call_stays(
    text_store: TextStore, user: str
) -> None:
    logged, missing = a_turn(user), a_turn(user)
    with pytest.raises(ValueError, match="never logged"):
        await text_store.append([logged], [a_proposal(logged), a_proposal(missing)])
    assert (await text_store.counts(user)).turns == 0
    assert await undecided_of(text_store, [a_proposal(logged)]) == []


async def test_a_session_mark_is_the_latest_turn_at_or_before_the_moment(text_store: TextStore, user: str) -> None:
    for minute, session in ((0, "morning"), (10, "later"), (20, "evening")):
        await text_store.append([a_turn(user, created_at=NOON + minutes(minute), session_id=session)], [])
    talk = Conversation(user, "default", "c1")
    moments = [(talk, NOON + minutes(at)) for at in (-1, 0, 9.99, 10, 500)]
    assert await text_store.last_turns(moments) == [
        None,
        LastTurn("morning", NOON),
        LastTurn("morning", NOON),
        LastTurn("later", NOON + minutes(10)),
        LastTurn("evening", NOON + minutes(20)),
    ]


async def test_a_session_mark_tells_the_frame_that_the_turn_left_its_conversation_in(
    text_store: TextStore, user: str
) -> None:
    opening = a_turn(user, text="Let's roleplay.", frame_after="fiction")
    leaving = a_turn(user, text="Stop.", frame="fiction", created_at=NOON + minutes(1))
    talk = Conversation(user, "default", "c1")
    for turn in (opening, leaving):
        await text_store.append([turn], [])
        expected = LastTurn(turn.session_id, turn.created_at, turn.frame_after)
        assert await text_store.last_turns([(talk, turn.created_at)]) == [expected]
    assert await text_store.last_turns([(talk, NOON)]) == [LastTurn(opening.session_id, NOON, "fiction")]


@pytest.mark.parametrize(
    "elsewhere",
    [{"conversation_id": "c2"}, {"space": "work"}, {"user_id": "somebody else"}],
    ids=lambda f: next(iter(f)),
)
async def test_a_session_mark_knows_its_own_conversation_only(
    text_store: TextStore, user: str, elsewhere: dict[str, str]
) -> None:
    await text_store.append([a_turn(user).model_copy(update=elsewhere)], [])
    assert await text_store.last_turns([(Conversation(user, "default", "c1"), NOON)]) == [None]


async def test_nothing_is_left_of_what_is_withdrawn_and_all_of_the_rest(text_store: TextStore, user: str) -> None:
    kept, gone = (a_turn(user, text, turn_id=text) for text in ("kept", "gone"))
    others = gone.model_copy(update={"user_id": a_user()})
    proposals = [*map(a_proposal, (kept, gone, others)), a_proposal(gone, ordinal=1, text="a fact")]
    await text_store.append([kept, gone, others], proposals)
    for _ in range(2):
        await text_store.withdraw([gone])
        assert await undecided_of(text_store, proposals) == [a_proposal(kept), a_proposal(others)]
        assert [(await text_store.counts(each)).turns for each in (user, others.user_id)] == [1, 1]
    await text_store.withdraw([kept])
    assert set((await text_store.count_remaining(user)).values()) == {0}
    assert await text_store.append([gone], [a_proposal(gone)]) == [gone]
