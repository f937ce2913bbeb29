"""What is told of a chat is counted against its labels: by hand-made cases, each of which a wrong count would fail."""

from __future__ import annotations

from typing import Any

import pytest

from services.eval.knowledge import Share, Told, ToldFact, ToldTask, shares, summed
from services.eval.labels import Labels


def a_claim(turn: str, value: str, slot: str = "home", about: str = "user", **more: str) -> dict[str, Any]:
    return {"turn": turn, "about": about, "slot": slot, "value": value, **more}


def labels(*claims: dict[str, Any], tasks: object = (), not_claims: object = ()) -> Labels:
    given = {"claims": list(claims), "tasks": tasks, "not_claims": not_claims}
    return Labels.model_validate(given)


def a_fact(turns: str, value: str, slot: str = "home", owner: str = "", **more: bool) -> ToldFact:
    return ToldFact(frozenset(turns.split()), value, slot, owner, **more)


def told(*facts: ToldFact) -> Told:
    return Told(facts)


LISBON, CAT = a_claim("t1", "Lisbon"), a_claim("t1", "Pixel the cat", "pet")


def test_a_claim_is_told_once_however_often_and_each_that_tells_it_is_right() -> None:
    found = shares(labels(LISBON, CAT), told(a_fact("t1", "Lisbon"), a_fact("t1", "in Lisbon", "place")))
    assert found["recall"] == Share(1, 2)
    assert found["precision"] == Share(2, 2)
    assert found["right_slot"] == Share(1, 1)


def test_what_is_told_of_another_turn_is_wrong() -> None:
    found = shares(labels(LISBON), told(a_fact("t2", "Lisbon")))
    assert (found["recall"], found["precision"]) == (Share(0, 1), Share(0, 1))
    assert shares(labels(LISBON), told(a_fact("", "Lisbon")))["precision"] == Share(0, 1)


def test_what_is_told_of_two_turns_is_one_fact_and_tells_the_claims_of_both() -> None:
    again = a_claim("t5", "Lisbon")
    found = shares(labels(LISBON, again), told(a_fact("t1 t5", "Lisbon")))
    assert (found["recall"], found["precision"]) == (Share(2, 2), Share(1, 1))
    assert shares(labels(LISBON), told(a_fact("t1 t9", "Lisbon")))["precision"] == Share(1, 1)


def test_half_of_the_words_of_a_value_are_needed_and_enough() -> None:
    claim = a_claim("t1", "red Alfa Romeo Spider")
    assert shares(labels(claim), told(a_fact("t1", "Alfa Spider")))["recall"] == Share(1, 1)
    assert shares(labels(claim), told(a_fact("t1", "Spider")))["recall"] == Share(0, 1)


def test_likely_ones_count_apart() -> None:
    facts = told(
        a_fact("t1", "Lisbon"), a_fact("t1", "Pixel the cat", is_likely=True), a_fact("t1", "x", is_likely=True)
    )
    found = shares(labels(LISBON, CAT), facts)
    assert (found["recall"], found["recall_with_likely"]) == (Share(1, 2), Share(2, 2))
    assert (found["precision"], found["precision_with_likely"]) == (Share(1, 1), Share(2, 3))
    assert (found["facts_a_chat"], found["likely_a_chat"]) == (Share(1, 1), Share(2, 1))


@pytest.mark.parametrize(
    ("about", "owner", "is_right"),
    [
        ("user", "", True),
        ("User", "", True),
        ("user", "Jonas", False),
        ("Jonas", "", False),
        ("Jonas", "Jonas Weber", True),
        ("jonas", "Jonas", True),
        ("Jonas", "Clara", False),
    ],
)
def test_an_owner_is_the_user_or_is_called_alike(about: str, owner: str, is_right: bool) -> None:
    found = shares(labels(a_claim("t1", "Lisbon", about=about)), told(a_fact("t1", "Lisbon", owner=owner)))
    assert found["right_owner"] == Share(int(is_right), 1)


def test_slot_and_owner_are_of_claims_that_are_told_alone() -> None:
    found = shares(labels(LISBON, CAT), told(a_fact("t1", "nothing of it")))
    assert (found["right_slot"], found["right_slot"].value) == (Share(0, 0), None)
    assert found["right_owner"] == Share(0, 0)


def test_fiction_counts_as_such_where_it_is_no_claim_and_other_mistakes_do_not() -> None:
    not_claims = [
        {"turn": "t1", "value": "the dragon lives in Rome", "why": "fiction"},
        {"turn": "t1", "value": "maybe Paris", "why": "vague"},
    ]
    told_of_it = told(a_fact("t1", "dragon"), a_fact("t1", "Paris"), a_fact("t1", "Lisbon"), a_fact("t2", "dragon"))
    assert shares(labels(LISBON, not_claims=not_claims), told_of_it)["unreal"] == Share(1, 4)


def test_all_that_is_told_of_a_turn_that_is_none_counts_where_no_more_is_noted() -> None:
    found = shares(labels(LISBON, not_claims=["t2"]), told(a_fact("t2", "anything"), a_fact("t1", "nothing")))
    assert found["unreal"] == Share(1, 2)
    assert shares(labels(LISBON, not_claims=["t2"]), told(a_fact("t1 t2", "Lisbon")))["unreal"] == Share(0, 1)


def test_tasks_are_held_against_their_value_or_what_they_say() -> None:
    tasks = [
        {"turn": "t1", "value": "call the dentist", "says": "Ring up doctor Smile"},
        {"turn": "t2", "says": "Renew the passport"},
        {"turn": "t3", "says": "Water the plants"},
    ]
    to_do = [
        ToldTask(frozenset({"t1"}), "I must call the dentist tomorrow."),
        ToldTask(frozenset({"t2"}), "need to renew my passport"),
        ToldTask(frozenset({"t3"}), "I'll go and see."),
        ToldTask(frozenset({"t4"}), "Water the plants"),
    ]
    found = shares(labels(LISBON, tasks=tasks), Told(tasks=to_do))
    assert (found["task_recall"], found["task_precision"]) == (Share(2, 3), Share(2, 4))


OLD = a_claim("t1", "Lisbon", until="t5")
NEW = a_claim("t5", "Porto", replaces="t1")


@pytest.mark.parametrize(
    ("facts", "present", "still_old"),
    [
        ([a_fact("t1", "Lisbon", holds=False), a_fact("t5", "Porto")], 1, 0),
        ([a_fact("t1", "Lisbon"), a_fact("t5", "Porto")], 1, 1),
        ([a_fact("t5", "Porto", holds=False)], 0, 0),
        ([a_fact("t5", "Lisbon")], 0, 0),
        ([], 0, 0),
    ],
)
def test_after_a_change_the_new_value_is_to_hold_and_the_old_one_not(
    facts: list[ToldFact], present: int, still_old: int
) -> None:
    found = shares(labels(OLD, NEW), told(*facts))
    assert (found["changed_present"], found["changed_still_old"]) == (Share(present, 1), Share(still_old, 1))


def test_of_two_changes_the_last_is_present_and_both_before_it_are_old() -> None:
    between = NEW | {"until": "t9"}
    last = a_claim("t9", "Faro", replaces="t5")
    found = shares(labels(OLD, between, last), told(a_fact("t9", "Faro"), a_fact("t5", "Porto")))
    assert (found["changed_present"], found["changed_still_old"]) == (Share(1, 1), Share(1, 2))


def test_of_the_turn_that_is_replaced_only_what_ended_and_has_the_slot_is_old() -> None:
    beside = [a_claim("t1", "Rome", "origin", until="t7"), a_claim("t1", "a flat")]
    found = shares(labels(OLD, *beside, NEW), told(a_fact("t1", "Rome"), a_fact("t1", "a flat")))
    assert found["changed_still_old"] == Share(0, 1)


def test_over_all_chats_counts_are_added_up() -> None:
    one = shares(labels(LISBON), told(a_fact("t1", "Lisbon")))
    other = shares(labels(LISBON, CAT, a_claim("t1", "x")), told())
    both = summed([one, other])
    assert (both["recall"], both["recall"].value) == (Share(1, 4), 0.25)
    assert both["facts_a_chat"].value == 0.5
    assert summed([]) == {}
