"""dedupe decides: new, repeated, or neither."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, get_args

import pytest

from contracts.ports import UNBOUNDED, Accepted, Erasure, Key, Merged, Outcome, Ref, Selection, Similar, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryEvent, EntryProposed, EntryRef, EntryRepeated
from contracts.v1.turns import WORDLESS, LoggedTurn, Proposal
from services.dedupe import handler
from services.dedupe.handler import NotLogged, candidate_entry, judge, judge_proposals, tell
from services.shared import telemetry
from services.shared.dedup import repeats
from services.shared.dedup.canonical import Reading
from services.shared.dedup.fingerprint import MOST_SIMILAR, digests_of
from services.shared.dedup.repeats import Likeness, find_canonical
from services.shared.dedup.similarity import same_statement
from services.shared.erasures import erased_record
from services.shared.lifecycle.sayings import repeated_by
from services.shared.stores.tombstones import without_words
from tests.stores.builders import NOON, a_proposal, a_turn, outcomes_of
from tests.stores.changing import modify

DAY = timedelta(days=1)


def a_candidate(text: str, number: int = 0, **given: Any) -> Entry:
    turn = LoggedTurn(
        **{
            "user_id": "ann", "role": "user", "text": text, "turn_id": f"t{number}", "session_id": "s",
            "created_at": NOON + timedelta(minutes=number), **given,
        }
    )  # fmt: skip
    return candidate_entry(Proposal(id=f"e{number}", turn=turn, text=text))


def decided(candidates: list[Entry]) -> list[str]:
    """What is decided of candidates of which nothing similar is stored."""
    judged = judge(candidates, [Similar()] * len(candidates))
    return ["new" if isinstance(one, Accepted) else f"repeats {one.canonical_id}" for one in judged]  # type: ignore[union-attr]


def reports(count: int) -> list[str]:
    """Texts of one template: each differs from all others in two numbers."""
    told = " ".join(f"On line {line} the workers packed boxes and the manager counted pallets." for line in range(8))
    return [f"Report {number}. {told} In all {7 * number} boxes left." for number in range(count)]


def naming(*refs: Ref) -> EntryProposed:
    return EntryProposed.of([EntryRef(user_id=ref.user_id, id=ref.id) for ref in refs], at=NOON)


async def proposed(store: TextStore, *turns: LoggedTurn) -> EntryProposed:
    """What dedupe is told once these turns are logged."""
    proposals = [a_proposal(turn) for turn in turns]
    await store.append(turns, proposals)
    return naming(*proposals)


async def judged(store: TextStore, *turns: LoggedTurn) -> list[EntryEvent]:
    """What dedupe tells of these turns."""
    return [*await judge_proposals([await proposed(store, *turns)], store=store)]


def accepted(events: Iterable[EntryEvent]) -> list[str]:
    return [ref.id for event in events if isinstance(event, EntryAccepted) for ref in event.entries]


def test_the_first_of_its_kind_is_new_and_later_ones_repeat_it() -> None:
    texts = ["I live in Porto.", "i live in porto", "I live in Lisbon.", "I live in PORTO! 🎉"]
    candidates = [a_candidate(text, number) for number, text in enumerate(texts)]
    assert decided(candidates) == ["new", "repeats e0", "new", "repeats e0"]


def test_a_stored_entry_is_preferred_over_one_of_the_batch_and_the_exact_over_the_near() -> None:
    near = a_candidate("I really live in Porto.", 1)
    exact = a_candidate("I live in Porto.", 2)
    candidate = a_candidate("i live in PORTO", 3)
    assert find_canonical(candidate, [near, exact]) is exact
    (decision,) = judge([candidate], [Similar((exact,))])
    assert isinstance(decision, Merged)
    assert decision.canonical_id == "e2"


def test_a_repeat_joins_intent_and_metadata_and_raises_importance_with_bounds() -> None:
    merged = a_candidate("I live in Porto.", tags=("a",), source_ids=("s1",))
    again = a_candidate("I live in Porto.", 1, tags=("b", "a"), source_ids=("s2",), manually_saved=True)
    importances = [merged.importance]
    for _ in range(30):
        merged = repeated_by(merged, again)
        importances.append(merged.importance)
    assert merged.repeat_count == 30
    assert (merged.tags, merged.source_ids, merged.manually_saved) == (("a", "b"), ("s1", "s2"), True)
    assert importances == sorted(importances)
    assert importances[0] < importances[1] <= importances[-1] <= 1.0


async def test_an_entry_that_is_said_again_goes_on_its_way_again_and_keeps_its_vector(store: TextStore) -> None:
    told = []
    for tags in (("home",), ("home",), ("home", "portugal")):
        told += accepted(await judged(store, a_turn("ann", "I live in Porto.", tags=tags)))
        first = Key("ann", told[0])
        await modify(store, [first], lambda entry: entry.model_copy(update={"embedding_state": "ready"}))
    assert told == [first.id] * 3


async def test_a_redelivered_repeat_sends_its_entry_on_its_way_again_and_counts_once(store: TextStore) -> None:
    (first,) = accepted(await judged(store, a_turn("ann", "I live in Porto.")))
    event = await proposed(store, a_turn("ann", "I live in Porto."))
    for _ in range(2):
        assert accepted(await judge_proposals([event], store=store)) == [first]
    assert (await store.get([Key("ann", first)]))[first].repeat_count == 1


async def test_what_was_never_logged_here_is_an_error_and_its_neighbours_are_decided(store: TextStore) -> None:
    logged = await proposed(store, a_turn("ann", "I live in Porto."))
    with pytest.raises(NotLogged, match=r"no proposal 'elsewhere': .*MEMORYBUS_TEXT_STORE"):
        await judge_proposals([naming(Key("bob", "elsewhere"), *logged.entries)], store=store)
    assert (await store.counts("ann")).undecided == 0
    assert accepted(await judge_proposals([logged], store=store)) == [logged.entries[0].id]


async def test_what_is_missing_as_its_user_is_erased_or_was_is_no_error(store: TextStore) -> None:
    await store.record_erasure("ann", None, Erasure("ann", UNBOUNDED, NOON))
    await store.add_records([erased_record("bob", NOON)])
    erased = Key("ann", "of ann"), Key("bob", "of bob")
    told = await judge_proposals([naming(*erased)], store=store)
    assert [event.entries for event in told if event.entries] == []
    with pytest.raises(NotLogged, match="of carol"):
        await judge_proposals([naming(*erased, Key("carol", "of carol"))], store=store)


@pytest.mark.parametrize("arriving", list(permutations([0, 60, 280])))
async def test_a_repeat_renews_its_entry_in_whatever_order_turns_arrive(
    store: TextStore, arriving: tuple[int, ...]
) -> None:
    for day in arriving:
        at = {"turn_id": f"t{day}", "conversation_id": f"c{day}", "created_at": NOON + day * DAY}
        await judged(store, a_turn("ann", "I have a dentist", **at))
    (entry,) = (await store.page(Selection("ann"), limit=10, cursor=None)).entries
    assert (entry.created_at, entry.last_said_at, entry.repeat_count) == (NOON, NOON + 280 * DAY, 2)
    assert [saying.turn_id for saying in entry.sayings] == ["t280", "t60", "t0"]
    assert entry.conversation_id == "c0"


async def test_an_entry_is_told_anew_when_its_repeat_comes_together_with_its_own_turn_once_more(
    store: TextStore,
) -> None:
    turns = [a_turn("ann", "I have a dentist", turn_id=name, conversation_id=name) for name in ("first", "again")]
    both = await proposed(store, *turns)
    told = await judge_proposals([naming(both.entries[0])], store=store)
    told_later = await judge_proposals([both], store=store)
    before, after = ({one.event_id for one in events if accepted([one])} for events in (told, told_later))
    assert after - before, "the bus drops what it was told before, and its vector would stay filtered by what it was"


def test_every_outcome_is_told_once_and_an_open_one_not_at_all() -> None:
    refs = [EntryRef(user_id="ann", id=f"e{n}") for n in range(4)]
    settled = {
        "e0": Outcome("e0", "stored", "e0"),
        "e1": Outcome("e1", "merged", "e0"),
        "e2": Outcome("e2", "refused", None, "forgotten"),
    }
    accepted, repeated, refused = tell(refs, settled)
    assert [ref.id for ref in accepted.entries] == ["e0"]
    assert [(ref.id, ref.canonical_id) for ref in repeated.entries] == [("e1", "e0")]
    assert [(ref.id, ref.reason) for ref in refused.entries] == [("e2", "forgotten")]
    assert accepted.event_id == tell(refs, settled)[0].event_id


async def test_a_template_that_fills_up_costs_no_more_for_each_new_text(
    store: TextStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def counted(a: str | Reading, b: str | Reading) -> bool:
        nonlocal compared
        compared += 1
        return same_statement(a, b)

    monkeypatch.setattr(repeats, "same_statement", counted)
    for start in range(0, 200, 50):
        await judged(store, *(a_turn("ann", text) for text in reports(200)[start : start + 50]))
    assert (await store.counts("ann")).entries == 200
    assert compared <= 200
    again = await judged(store, a_turn("ann", reports(200)[3].upper()))
    assert [len(event.entries) for event in again if isinstance(event, EntryRepeated)] == [1]


async def test_many_texts_of_one_key_are_compared_with_the_newest_only() -> None:
    candidates = [a_candidate(text, number) for number, text in enumerate(reports(60))]
    alike = [entry.model_copy(update={"minhash_bands": ("shared",)}) for entry in candidates]
    decisions = judge(alike, [Similar()] * len(alike))
    compared = [len(decision.known_similar or ()) for decision in decisions if isinstance(decision, Accepted)]
    assert max(compared) == MOST_SIMILAR


async def test_long_texts_are_read_beside_the_event_loop(store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(work: Any) -> Any:
        def on_some_thread(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.get_ident())
            return work(*args, **kwargs)

        return on_some_thread

    for name in ("candidate_entry", "judge"):
        monkeypatch.setattr(handler, name, noted(getattr(handler, name)))
    await judged(store, *(a_turn("ann", text) for text in reports(20)))
    assert len(threads) > 20
    assert threading.get_ident() not in threads


async def test_what_is_long_is_settled_in_portions(store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[int] = []
    settle = store.apply

    async def counted(decisions: Any) -> Any:
        settled.append(len(decisions))
        return await settle(decisions)

    monkeypatch.setattr(store, "apply", counted)
    await judged(store, *(a_turn("ann", f"{number} {'word ' * 5000}") for number in range(9)))
    assert settled == [2, 2, 2, 2, 1]


async def test_a_user_may_say_what_stands_for_redacted_words(store: TextStore) -> None:
    turns = a_turn("ann", WORDLESS), without_words(a_turn("ann", "My PIN is 4711."))
    await judged(store, *turns)
    proposals = [a_proposal(turn) for turn in turns]
    outcomes = await outcomes_of(store, proposals)
    assert [outcomes[proposal.id].kind for proposal in proposals] == ["stored", "refused"]


@pytest.mark.parametrize(("text", "is_redacted"), [(WORDLESS, True), ("tea", False)])
def test_a_log_of_an_older_version_tells_by_the_text_what_is_redacted(text: str, *, is_redacted: bool) -> None:
    turn = a_turn("ann", text)
    old = turn.model_dump_json(exclude={"redacted"})
    assert LoggedTurn.model_validate_json(old).redacted is is_redacted
    assert not LoggedTurn.model_validate_json(turn.model_dump_json(exclude_none=True)).redacted


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(
    "text", ["I have a dentist appointment tomorrow.", "Am Montag gehe ich zum Zahnarzt.", "The dentist is at 5pm."]
)
def test_what_names_a_time_relative_to_its_day_is_another_statement_on_another_day(text: str, long: bool) -> None:
    text = text + (" The waiting room has many chairs and a fish that looks at me while I wait for my turn." * 3 * long)
    midnight = datetime(2026, 3, 1, tzinfo=UTC)
    hours = (0, 23.9, 24, 40, 24 * 365)
    said = [a_candidate(text, n, created_at=midnight + timedelta(hours=hour)) for n, hour in enumerate(hours)]
    assert decided(said) == ["new", "repeats e0", "new", "repeats e2", "new"]
    assert find_canonical(said[2], [said[0]]) is None  # wherever the other one was found
    assert said[0].statement_hash != said[2].statement_hash
    assert set(said[0].minhash_bands).isdisjoint(said[2].minhash_bands)
    assert set(digests_of(said[0])) & set(digests_of(said[2]))  # forgotten, it may not come back on either day


@pytest.mark.parametrize("text", ["I live in Porto.", "I swim at 5pm every Monday."])
def test_what_names_no_such_time_is_the_same_statement_on_any_day(text: str) -> None:
    said = [a_candidate(text, n, created_at=NOON + n * 100 * DAY) for n in range(3)]
    assert decided(said) == ["new", "repeats e0", "repeats e0"]


async def test_a_merge_is_counted_by_what_the_repeat_was_found_by(store: TextStore) -> None:
    (long,) = reports(1)
    texts = [
        long,
        long.upper(),
        long.replace("workers packed", "workers really packed", 1),
        long.replace("pallets", "pallest", 1),
    ]

    def counted() -> dict[str, float]:
        found = {by: telemetry.MERGED.labels(by)._value.get() for by in get_args(Likeness)}
        return {**found, "near": found["simhash"] + found["minhash"]}

    before = counted()
    for text in texts:
        await judged(store, a_turn("ann", text))
    by = {name: value - before[name] for name, value in counted().items()}
    assert (by["exact"], by["statement"], by["near"]) == (1, 1, 1)
