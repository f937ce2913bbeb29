"""Laws of every history: whatever is said, settled, forgotten, reopened or erased, and be it done twice, it adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contracts.ports import Accepted, Refused, StageCounts, TextStore
from contracts.v1.entries import Entry
from contracts.v1.turns import WORDLESS, Proposal
from tests.sizes import sized
from tests.stores.builders import (
    NOON,
    a_proposal,
    a_repeat,
    a_turn,
    a_user,
    entry_of,
    minutes,
    outcomes_of,
    suppressed,
    tomorrow,
    undecided_of,
)
from tests.stores.changing import modify
from tests.stores.seeing import everything_of

LAWS = settings(max_examples=sized(75), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

TURNS = 6
STATEMENTS = ("green tea", "black tea with lemon", "it rains in Ghent")

Kind = Literal["log", "accept", "judge", "merge", "refuse", "forget", "reopen", "archive", "erase"]
KINDS: tuple[Kind, ...] = ("log", "log", "log", "accept", "judge", "judge", "merge", "refuse", "forget", "reopen")


@dataclass(frozen=True)
class Step:
    """One thing that happens to turn `turn`; `onto` is the turn it may be merged into, or 0 and 1 say how."""

    kind: Kind
    turn: int
    onto: int


STEPS = st.builds(
    Step, st.sampled_from((*KINDS, *KINDS, "archive", "erase")), st.integers(0, TURNS - 1), st.integers(0, TURNS - 1)
)
HISTORIES = st.lists(STEPS, max_size=20)


def story(told: str) -> list[Step]:
    """Steps as `kind turn`, or `kind turn onto`."""
    words = [step.split() for step in told.split(",")]
    return [Step(kind, int(turn), int(*onto or "0")) for kind, turn, *onto in words]  # type: ignore[arg-type]


FORGOTTEN = story(
    "log 0, log 3, accept 0, merge 3 0, refuse 0, forget 0 2, forget 0 1, log 0, accept 0, judge 0, reopen 0,"
    "log 1, merge 1 0, reopen 3, judge 3, accept 3, merge 3 0, log 2, log 5, accept 2, forget 2 1, judge 5, forget 5 2"
)
"""Forgotten is refused for some time or may come back, has no words, nothing is merged into it, and it stays so."""

OUT_OF_USE = story(
    "log 1, log 4, judge 1, judge 4, merge 4 0, archive 1, merge 4 1, judge 4, forget 1 1, archive 4, forget 4 2,"
    "log 2, refuse 2, accept 2, reopen 2, judge 2, merge 2 4, reopen 2, erase 0, judge 1, merge 4 1, log 1, judge 1"
)
"""What is out of use hinders nobody and is forgotten all the same; the refused is judged again; erased, all is new."""


def proposal_of(user: str, number: int) -> Proposal:
    text = STATEMENTS[number % len(STATEMENTS)]
    moment = NOON + minutes(number)
    return a_proposal(a_turn(user, text, turn_id=str(number), created_at=moment, session_id=f"{user}-s"))


def candidate(proposal: Proposal, number: int) -> Entry:
    return entry_of(proposal, statement_hash=STATEMENTS[number % len(STATEMENTS)])


@dataclass
class Model:
    """What a memory should hold, by the number of the turn."""

    outcomes: dict[int, str | None] = field(default_factory=dict)
    canonical: dict[int, int] = field(default_factory=dict)
    statuses: dict[int, str] = field(default_factory=dict)
    wordless: set[int] = field(default_factory=set)
    refused_statements: set[int] = field(default_factory=set)

    def after(self, step: Step) -> Model:
        """The model once this has happened, too."""
        if step.kind == "erase":
            return Model()
        if self.outcomes.get(step.turn, "unheard") is None:
            self._settle(step)
        else:
            self._change(step)
        return self

    def _settle(self, step: Step) -> None:
        """What may happen to a proposal without an outcome."""
        number = step.turn
        match step.kind:
            case "accept":
                self._accept(number)
            case "judge" if number % len(STATEMENTS) not in self.refused_statements and not self._alike(number):
                self._accept(number)
            case "merge" if self.statuses.get(step.onto) == "active":
                self.outcomes[number], self.canonical[number] = "merged", step.onto
            case "refuse":
                self.outcomes[number] = "refused"
                self.wordless.add(number)

    def _change(self, step: Step) -> None:
        """What may happen to one that has an outcome, or that is not logged yet."""
        number = step.turn
        match step.kind:
            case "log":
                self.outcomes.setdefault(number, None)
            case "forget" if self.statuses.get(number, "forgotten") != "forgotten":
                self._forget(number, until=step.onto % 2 == 0)
            case "reopen" if self.outcomes.get(number) in ("merged", "refused"):
                self.outcomes[number] = None
                self.canonical.pop(number, None)
            case "archive" if self.statuses.get(number) == "active":
                self.statuses[number] = "archived"

    def _accept(self, number: int) -> None:
        self.outcomes[number], self.statuses[number] = "stored", "active"

    def _alike(self, number: int) -> list[int]:
        same = range(number % len(STATEMENTS), TURNS, len(STATEMENTS))
        return [other for other in same if self.statuses.get(other) == "active"]

    def _forget(self, number: int, *, until: bool) -> None:
        self.statuses[number] = "forgotten"
        self.wordless |= {number, *(other for other, canonical in self.canonical.items() if canonical == number)}
        if until:
            self.refused_statements.add(number % len(STATEMENTS))

    def counted(self) -> tuple[int, ...]:
        outcomes, statuses = list(self.outcomes.values()), list(self.statuses.values())
        decided = (outcomes.count("merged"), outcomes.count("refused"), outcomes.count(None))
        return len(outcomes), statuses.count("active"), len(statuses) - statuses.count("active"), *decided


async def carry_out(store: TextStore, user: str, step: Step) -> None:
    proposal, onto = proposal_of(user, step.turn), proposal_of(user, step.onto)
    match step.kind:
        case "log":
            await store.append([proposal.turn], [proposal])
        case "accept" if await undecided_of(store, [proposal]):
            await store.apply([Accepted(candidate(proposal, step.turn))])
        case "judge":
            await store.apply([Accepted(candidate(proposal, step.turn), known_similar=frozenset())])
        case "merge":
            await store.apply([a_repeat(proposal, onto.id)])
        case "refuse":
            await store.apply([Refused(proposal, "a reason")])
        case "forget":
            until = tomorrow() if step.onto % 2 == 0 else None
            once = await store.forget([proposal], until=until)
            assert await store.forget([proposal], until=None) == once
        case "reopen":
            await store.reopen([proposal])
        case "archive":
            await modify(store, [proposal], archived)
        case "erase":
            await store.erase(user)


def archived(entry: Entry) -> Entry | None:
    return entry.model_copy(update={"status": "archived"}) if entry.status == "active" else None


def figures(counted: StageCounts) -> tuple[int, ...]:
    return (
        counted.turns,
        counted.entries,
        counted.inactive,
        counted.merged,
        counted.refused,
        counted.undecided,
    )


@LAWS
@example(history=FORGOTTEN)
@example(history=OUT_OF_USE)
@given(history=HISTORIES)
async def test_whatever_happens_it_is_what_a_dictionary_holds(text_store: TextStore, history: Sequence[Step]) -> None:
    user, model = a_user(), Model()
    for step in history:
        model = model.after(step)
        await carry_out(text_store, user, step)
    proposals = {proposal_of(user, number).id: number for number in range(TURNS)}
    asked = [proposal_of(user, number) for number in range(TURNS)]
    counted = await text_store.counts(user)
    assert figures(counted) == model.counted()
    decided = counted.entries + counted.inactive + counted.merged + counted.refused
    assert decided + counted.undecided == counted.turns
    outcomes = {proposals[id_]: settled.kind for id_, settled in (await outcomes_of(text_store, asked)).items()}
    assert outcomes == {number: outcome for number, outcome in model.outcomes.items() if outcome is not None}
    undecided = {proposals[proposal.id] for proposal in await undecided_of(text_store, asked)}
    assert undecided == {number for number, outcome in model.outcomes.items() if outcome is None}
    statuses = {proposals[id_]: entry.status for id_, entry in (await text_store.get(asked)).items()}
    assert statuses == model.statuses
    log = await text_store.export_log(user, after=None, limit=50)
    assert {int(record.turn.turn_id) for record in log if record.turn.text == WORDLESS} == model.wordless
    barred = {number for number in range(TURNS) if number % len(STATEMENTS) in model.refused_statements}
    candidates = [candidate(proposal, number) for number, proposal in enumerate(asked)]
    assert {proposals[id_] for id_ in await suppressed(text_store, candidates)} == barred


async def everything(store: TextStore, user: str) -> dict[str, object]:
    asked = [proposal_of(user, number) for number in range(TURNS)]
    alike = [candidate(proposal, number) for number, proposal in enumerate(asked)]
    return await everything_of(store, user, asked, "green tea lemon ghent", alike)


@LAWS
@example(history=FORGOTTEN)
@example(history=OUT_OF_USE)
@given(history=HISTORIES)
async def test_doing_everything_twice_is_doing_it_once(text_store: TextStore, history: Sequence[Step]) -> None:
    once, twice = a_user(), a_user()
    for step in history:
        for user in (once, twice, twice):
            await carry_out(text_store, user, step)
    assert await everything(text_store, twice) == await everything(text_store, once)


@LAWS
@given(mine=HISTORIES, others=HISTORIES)
async def test_erasing_somebody_touches_nobody_else(
    text_store: TextStore, mine: Sequence[Step], others: Sequence[Step]
) -> None:
    me, other = a_user(), a_user()
    for user, history in ((me, mine), (other, others)):
        for step in history:
            await carry_out(text_store, user, step)
    before = await everything(text_store, me)
    await text_store.erase(other)
    assert await everything(text_store, me) == before
    assert set((await text_store.count_remaining(other)).values()) == {0}
    assert figures(await text_store.counts(other)) == (0,) * 6
