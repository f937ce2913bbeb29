"""dedupe decides: new, repeated, or neither."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, get_args

import pytest

from contracts.ports import UNBOUNDED, Accepted, Erasure, Key, Merged, Outcome, Selection, Similar, TextStore
from contracts.v1.entries import Entry, EntryAccepted, EntryProposed, EntryRef, EntryRepeated
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
from tests.stores.builders import a_proposal, a_turn, outcomes_of
from tests.stores.changing import modify

NOON = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def a_candidate(text: str, number: int = 0, **given: Any) -> Entry:
    turn = LoggedTurn(
        **{
            "user_id": "ann", "role": "user", "text": text, "turn_id": f"t{number}", "session_id": "s",
            "created_at": NOON + timedelta(minutes=number), **given,
        }
    )  # fmt: skip
    return candidate_entry(Proposal(id=f"e{number}", turn=turn, text=text))


def decisions(texts: list[str]) -> list[str]:
    candidates = [a_candidate(text, number) for number, text in enumerate(texts)]
    judged = judge(candidates, [Similar()] * len(candidates))
    return ["new" if isinstance(decision, Accepted) else f"repeats {decision.canonical_id}" for decision in judged]  # type: ignore[union-attr]


def test_the_first_of_its_kind_is_new_and_later_ones_repeat_it() -> None:
    texts = ["I live in Porto.", "i live in porto", "I live in Lisbon.", "I live in PORTO! 🎉"]
    assert decisions(texts) == ["new", "repeats e0", "new", "repeats e0"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I owe Tom 30 euros.", "I owe Tom 40 euros."),
        ("The dentist is on Tuesday.", "The dentist is on Thursday."),
        ("I met Anna at the lake.", "I met Hanna at the lake."),
        ("I like coriander.", "I don't like coriander."),
    ],
)
def test_what_differs_in_number_date_name_or_negation_is_never_merged(one: str, other: str) -> None:
    assert decisions([one, other]) == ["new", "new"]


def test_a_stored_entry_is_preferred_over_one_of_the_batch_and_the_exact_over_the_near() -> None:
    near = a_candidate("I really live in Porto.", 1)
    exact = a_candidate("I live in Porto.", 2)
    candidate = a_candidate("i live in PORTO", 3)
    assert find_canonical(candidate, [near, exact]) is exact
    (decision,) = judge([candidate], [Similar((exact,))])
    assert isinstance(decision, Merged)
    assert decision.canonical_id == "e2"


def test_a_repeat_joins_intent_and_metadata_and_raises_importance_with_bounds() -> None:
    canonical = a_candidate("I live in Porto.", tags=("a",), source_ids=("s1",))
    again = a_candidate("I live in Porto.", 1, tags=("b", "a"), source_ids=("s2",), manually_saved=True)
    merged = canonical
    importances = []
    for _ in range(30):
        merged = repeated_by(merged, again)
        importances.append(merged.importance)
    assert merged.repeat_count == 30
    assert (merged.tags, merged.source_ids, merged.manually_saved) == (("a", "b"), ("s1", "s2"), True)
    assert importances == sorted(importances)
    assert canonical.importance < importances[0] <= importances[-1] <= 1.0


async def test_an_entry_that_is_said_again_goes_on_its_way_again_and_keeps_its_vector(store: TextStore) -> None:
    said = [a_turn("ann", "I live in Porto.", tags=tags) for tags in (("home",), ("home",), ("home", "portugal"))]
    told = []
    for turn in said:
        proposal = a_proposal(turn)
        await store.append([turn], [proposal])
        event = EntryProposed.of([EntryRef(user_id="ann", id=proposal.id)], at=NOON)
        events = await judge_proposals([event], store=store)
        told.append([ref.id for event in events if isinstance(event, EntryAccepted) for ref in event.entries])
        first = told[0][0]
        await modify(store, [Key("ann", first)], lambda entry: entry.model_copy(update={"embedding_state": "ready"}))
        assert (await store.get([Key("ann", first)]))[first].embedding_state == "ready"
    assert told == [[first], [first], [first]]


async def test_a_redelivered_repeat_sends_its_entry_on_its_way_again_and_counts_once(store: TextStore) -> None:
    event = EntryProposed.of([], at=NOON)
    for number in range(2):
        proposal = a_proposal(a_turn("ann", "I live in Porto.", turn_id=f"t{number}"))
        await store.append([proposal.turn], [proposal])
        event = EntryProposed.of([EntryRef(user_id="ann", id=proposal.id)], at=NOON)
        await judge_proposals([event], store=store)
    first = a_proposal(a_turn("ann", turn_id="t0")).id
    again = await judge_proposals([event], store=store)
    assert [[ref.id for ref in each.entries] for each in again if isinstance(each, EntryAccepted)] == [[], [first]]
    assert (await store.get([Key("ann", first)]))[first].repeat_count == 1


async def test_what_was_never_logged_here_is_an_error_and_its_neighbours_are_decided(store: TextStore) -> None:
    proposal = a_proposal(a_turn("ann", "I live in Porto."))
    await store.append([proposal.turn], [proposal])
    refs = [EntryRef(user_id=user, id=id_) for user, id_ in (("bob", "elsewhere"), ("ann", proposal.id))]
    with pytest.raises(NotLogged, match=r"no proposal 'elsewhere': .*MEMORYBUS_TEXT_STORE"):
        await judge_proposals([EntryProposed.of(refs, at=NOON)], store=store)
    assert (await store.counts("ann")).undecided == 0
    told = await judge_proposals([EntryProposed.of(refs[1:], at=NOON)], store=store)
    assert [ref.id for event in told if isinstance(event, EntryAccepted) for ref in event.entries] == [proposal.id]


async def test_what_is_missing_as_its_user_is_erased_or_was_is_no_error(store: TextStore) -> None:
    await store.record_erasure("ann", None, Erasure("ann", UNBOUNDED, NOON))
    await store.add_records([erased_record("bob", NOON)])
    refs = [EntryRef(user_id=user, id=f"of {user}") for user in ("ann", "bob")]
    told = await judge_proposals([EntryProposed.of(refs, at=NOON)], store=store)
    assert [event.entries for event in told if event.entries] == []
    with pytest.raises(NotLogged, match="of carol"):
        await judge_proposals(
            [EntryProposed.of([*refs, EntryRef(user_id="carol", id="of carol")], at=NOON)], store=store
        )


@pytest.mark.parametrize("arriving", list(permutations(["february", "april", "november"])))
async def test_a_repeat_renews_its_entry_in_whatever_order_turns_arrive(
    store: TextStore, arriving: tuple[str, ...]
) -> None:
    days = {"february": 0, "november": 280, "april": 60}
    for name in arriving:
        day = days[name]
        turn = a_turn("ann", "I have a dentist", turn_id=name, conversation_id=name, created_at=NOON + day * DAY)
        proposal = a_proposal(turn)
        await store.append([turn], [proposal])
        await judge_proposals([EntryProposed.of([EntryRef(user_id="ann", id=proposal.id)], at=NOON)], store=store)
    (entry,) = (await store.page(Selection("ann"), limit=10, cursor=None)).entries
    assert (entry.created_at, entry.last_said_at, entry.repeat_count) == (NOON, NOON + 280 * DAY, 2)
    assert [saying.turn_id for saying in entry.sayings] == ["november", "april", "february"]
    assert entry.conversation_id == "february"


async def test_an_entry_is_told_anew_when_its_repeat_comes_together_with_its_own_turn_once_more(
    store: TextStore,
) -> None:
    proposals = []
    for name in ("first", "again"):
        turn = a_turn("ann", "I have a dentist", turn_id=name, conversation_id=name)
        proposals.append(a_proposal(turn))
        await store.append([turn], proposals[-1:])
    refs = [EntryRef(user_id="ann", id=proposal.id) for proposal in proposals]
    told = await judge_proposals([EntryProposed.of(refs[:1], at=NOON)], store=store)
    told_later = await judge_proposals([EntryProposed.of(refs, at=NOON)], store=store)
    before, after = (
        {event.event_id for event in events if isinstance(event, EntryAccepted) and event.entries}
        for events in (told, told_later)
    )
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


def reports(count: int) -> list[str]:
    """Texts of one template: each differs from all others in two numbers."""
    told = " ".join(f"On line {line} the workers packed boxes and the manager counted pallets." for line in range(8))
    return [f"Report {number}. {told} In all {7 * number} boxes left." for number in range(count)]


async def propose_all(store: TextStore, texts: list[str]) -> EntryProposed:
    turns = [a_turn("ann", text) for text in texts]
    proposals = [a_proposal(turn) for turn in turns]
    await store.append(turns, proposals)
    return EntryProposed.of([EntryRef(user_id="ann", id=proposal.id) for proposal in proposals], at=NOON)


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
        await judge_proposals([await propose_all(store, reports(200)[start : start + 50])], store=store)
    assert (await store.counts("ann")).entries == 200
    assert compared <= 200
    again = await judge_proposals([await propose_all(store, [reports(200)[3].upper()])], store=store)
    assert [len(event.entries) for event in again if isinstance(event, EntryRepeated)] == [1]


async def test_many_texts_of_one_key_are_compared_with_the_newest_only() -> None:
    compared = [a_candidate(text, number) for number, text in enumerate(reports(60))]
    alike = [entry.model_copy(update={"minhash_bands": ("shared",)}) for entry in compared]
    decisions = judge(alike, [Similar()] * len(alike))
    assert (
        max(len(decision.known_similar or ()) for decision in decisions if isinstance(decision, Accepted))
        == MOST_SIMILAR
    )


async def test_long_texts_are_read_beside_the_event_loop(store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(work: Any) -> Any:
        def on_some_thread(*args: Any, **kwargs: Any) -> Any:
            threads.append(threading.get_ident())
            return work(*args, **kwargs)

        return on_some_thread

    for name in ("candidate_entry", "judge"):
        monkeypatch.setattr(handler, name, noted(getattr(handler, name)))
    await judge_proposals([await propose_all(store, reports(20))], store=store)
    assert len(threads) > 20
    assert threading.get_ident() not in threads


async def test_what_is_long_is_settled_in_portions(store: TextStore, monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[int] = []
    settle = store.apply

    async def counted(decisions: Any) -> Any:
        settled.append(len(decisions))
        return await settle(decisions)

    monkeypatch.setattr(store, "apply", counted)
    texts = [f"{number} {'word ' * 5000}" for number in range(9)]
    await judge_proposals([await propose_all(store, texts)], store=store)
    assert settled == [2, 2, 2, 2, 1]


async def test_a_user_may_say_what_stands_for_redacted_words(store: TextStore) -> None:
    said, gone = a_turn("ann", WORDLESS), without_words(a_turn("ann", "My PIN is 4711."))
    proposals = [a_proposal(said), a_proposal(gone)]
    await store.append([said, gone], proposals)
    refs = [EntryRef(user_id="ann", id=proposal.id) for proposal in proposals]
    await judge_proposals([EntryProposed.of(refs, at=NOON)], store=store)
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
    judged = judge(said, [Similar()] * len(said))
    assert ["new" if isinstance(v, Accepted) else v.canonical_id for v in judged] == ["new", "e0", "new", "e2", "new"]  # type: ignore[union-attr]
    assert find_canonical(said[2], [said[0]]) is None  # wherever the other one was found
    assert said[0].statement_hash != said[2].statement_hash
    assert set(said[0].minhash_bands).isdisjoint(said[2].minhash_bands)
    assert set(digests_of(said[0])) & set(digests_of(said[2]))  # forgotten, it may not come back on either day


@pytest.mark.parametrize("text", ["I live in Porto.", "I swim at 5pm every Monday."])
def test_what_names_no_such_time_is_the_same_statement_on_any_day(text: str) -> None:
    said = [a_candidate(text, n, created_at=NOON + n * 100 * DAY) for n in range(3)]
    judged = judge(said, [Similar()] * len(said))
    assert [isinstance(decision, Accepted) for decision in judged] == [True, False, False]


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
        await judge_proposals([await propose_all(store, [text])], store=store)
    by = {name: value - before[name] for name, value in counted().items()}
    assert (by["exact"], by["statement"], by["near"]) == (1, 1, 1)
