"""To-dos: what is one, what ends it, and what its user decided, whatever the order in which entries are read."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.claims import Change
from contracts.v1.entries import Entry
from services.shared.knowledge.tasks import TASK_SURE, Task, closed_by, tasks_of
from tests.claims import a_task, an_end_of
from tests.stores.builders import NOON, an_entry

PASSPORT = "I need to renew my passport by Friday"


def said(text: str, day: int = 0, **fields: Any) -> Entry:
    at = NOON + timedelta(days=day)
    fields = {"supersedes": tuple(change.entry_id for change in fields.get("changes", ())), **fields}
    return an_entry("ann", text, id=f"{text} {day}", **{"created_at": at, "last_said_at": at, **fields})


def to_do(text: str = PASSPORT, day: int = 0, **fields: Any) -> Entry:
    return said(text, day, **{"claims": (a_task(text),), **fields})


def states(*entries: Entry, **settled: Any) -> list[tuple[str, str]]:
    return [(one.text, one.state) for one in tasks_of(entries, settled)]


def test_what_was_read_to_be_done_is_open_in_its_own_words_until_a_later_entry_ends_it() -> None:
    passport, stamps = to_do(), to_do("I have to buy stamps", 1)
    renewed = said("Renewed it today", 2, changes=an_end_of(passport))
    assert states(passport, stamps) == [(PASSPORT, "open"), (stamps.text, "open")]
    done, left = tasks_of([passport, stamps, renewed])
    assert (done.state, done.closed_by, left.is_open) == ("done", renewed, True)
    assert (done.due_on, left.due_on) == (date(2026, 2, 6), None)


def test_what_went_out_of_use_when_it_was_done_is_told_as_done_and_otherwise_not_at_all() -> None:
    passport = to_do(status="superseded")
    renewed = said("Renewed it today", 2, changes=an_end_of(passport))
    assert closed_by([passport, renewed]) == {("ann", passport.id)}
    assert states(passport, renewed) == [(PASSPORT, "done")]
    assert states(passport) == []


def test_what_only_conflicts_with_it_is_forgotten_or_out_of_use_ends_nothing() -> None:
    passport = to_do()
    doubt = said("Renewed it today", 2, changes=an_end_of(passport), supersedes=(), conflicts_with=(passport.id,))
    assert states(passport, doubt) == [(PASSPORT, "open")]
    assert closed_by([passport, doubt]) == set()
    renewed = said("Renewed it today", 2, changes=an_end_of(passport))
    for status in ("forgotten", "archived", "superseded"):
        assert states(passport, renewed.model_copy(update={"status": status})) == [(PASSPORT, "open")]


def test_two_things_of_one_sentence_are_one_that_is_done_once_both_are() -> None:
    text = "I need to pay the rent and call the bank"
    both = said(text, claims=(a_task(text, "pay the rent"), a_task(text, "call the bank")))
    rent, bank = (
        said("done", day, changes=(Change(entry_id=both.id, kind="task", value=one.value, confidence=0.9),))
        for day, one in enumerate(both.claims, 1)
    )
    assert states(both, rent) == states(both, bank) == [(text, "open")]
    (done,) = tasks_of([bank, both, rent])
    assert (done.state, done.closed_by) == ("done", bank)


def test_each_sentence_is_one_of_its_own_and_keeps_its_id_where_more_is_read() -> None:
    text = "I have to buy stamps. I need to call Ben."
    stamps = a_task(text, "buy stamps", sentence=(0, 21))
    ben = a_task(text, "call Ben", sentence=(22, len(text)))
    first, second = tasks_of([said(text, claims=(stamps, ben))])
    assert (first.text, second.text) == ("I have to buy stamps.", "I need to call Ben.")
    (alone,) = tasks_of([said(text, claims=(ben,))])
    assert (alone.id, first.id != second.id) == (second.id, True)


def test_what_is_unsure_or_another_said_or_states_a_fact_is_none() -> None:
    unsure = to_do(claims=(a_task(PASSPORT, sure=TASK_SURE - 0.01),))
    fact = to_do(claims=(a_task(PASSPORT).model_copy(update={"kind": "fact"}),))
    beyond = to_do(claims=(a_task(PASSPORT).model_copy(update={"sentence": (0, 400)}),))
    assert tasks_of([unsure, fact, beyond, to_do(role="assistant"), to_do(status="superseded")]) == []


def test_what_is_said_again_after_it_was_done_is_to_be_done_again() -> None:
    bins = to_do("I need to take out the bins by tomorrow")
    out = said("The bins are out", 1, changes=an_end_of(bins))
    again = bins.model_copy(update={"last_said_at": NOON + timedelta(days=7)})
    assert states(bins, out) == [(bins.text, "done")]
    assert states(again, out) == [(bins.text, "open")]
    assert tasks_of([again])[0].due_on == date(2026, 2, 9)
    out_again = out.model_copy(update={"last_said_at": NOON + timedelta(days=8)})
    assert states(again, out_again) == [(bins.text, "done")]


def test_what_the_user_decided_holds_whatever_is_said() -> None:
    passport = to_do()
    renewed = said("Renewed it today", 2, changes=an_end_of(passport))
    (task,) = tasks_of([passport])
    for state in ("dropped", "open", "done"):
        (decided,) = tasks_of([passport, renewed], {task.id: state})
        assert (decided.state, decided.decided, decided.closed_by) == (state, True, None)


@st.composite
def memories(draw: st.DrawFn) -> list[Entry]:
    """To-dos, and entries that end some of them, or a part that they do not name."""
    found = [to_do(f"I must do number{n}", draw(st.integers(0, 9))) for n in range(draw(st.integers(0, 5)))]
    for n in range(draw(st.integers(0, 5)) if found else 0):
        meant = draw(st.sampled_from([one for one in found if one.claims]))
        change = an_end_of(meant)[0].model_copy(update={"value": draw(st.sampled_from([(0, 3), (90, 99)]))})
        found.append(said(f"done {n}", draw(st.integers(0, 9)), changes=(change,)))
    return found


@given(memories(), st.randoms(use_true_random=False))
def test_the_order_of_the_entries_is_of_no_account_and_only_what_names_it_later_ends_it(
    entries: list[Entry], random: Random
) -> None:
    def seen(found: list[Task]) -> list[tuple[str, str, str | None]]:
        return [(one.id, one.state, one.closed_by.id if one.closed_by else None) for one in found]

    tasks = tasks_of(entries)
    assert seen(tasks_of(random.sample(entries, len(entries)))) == seen(tasks)
    for one in tasks:
        naming = [
            other
            for other in entries
            for change in other.changes
            if change.entry_id == one.entry.id and change.value == (0, 3) and other.created_at >= one.entry.created_at
        ]
        assert (one.state == "done") == bool(naming)
        assert one.closed_by is None or one.closed_by in naming
