"""Rules: what users and the bus may do, in any order, while memorybus has to keep its promises."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from contracts.ports import Scope, SpaceSize
from contracts.v1.commands import EraseReply, ForgetReply
from contracts.v1.entries import Entry, Scores
from contracts.v1.turns import Role, Turn
from tests.faults.misbehaving_bus import STAGES, Message
from tests.faults.state_machine_checks import Snapshot, check_idle, check_step, look
from tests.faults.state_machine_model import STATEMENTS, Model
from tests.faults.state_machine_ports import NOTHING, Kind, Trouble
from tests.faults.state_machine_world import DAY, NOON, World
from tests.stores.changing import modify

T = TypeVar("T")

USERS = ("ann", "b ö b")
SPACES = ("default", "work")
PERSONAS = (None, "guide")
SCOPES = [Scope(user, space, persona) for user, space, persona in product(USERS, SPACES, PERSONAS)]
ROLES: tuple[Role, ...] = ("user", "user", "assistant")
VOICES = [*product([*[SCOPES[0]] * 6, *SCOPES], ROLES)]
"""Who speaks where: mostly the same, as only then there is something to confuse."""

WORDINGS = [wording for statement in STATEMENTS for wording in statement.wordings]
NUMBERS = st.integers(0, 19)
EFFECTS: dict[str, tuple[str, ...]] = {
    "ingest": ("erasures", "last_turns", "append", "publish", "ack"),
    "dedupe": ("pending", "find_similar", "apply", "publish", "ack"),
    "enrich": ("get", "replace", "publish", "ack"),
    "embed": ("get", "upsert", "replace", "remove", "publish", "ack"),
    "forget": ("forget", "vectors", "remove", "drop", "get", "count"),
    "erase": ("last", "record_erasure", "erasures", "count_remaining", "count", "drop", "erase"),
    "make_room": ("page", "get", "replace", "remove"),
}
"""What each does to its ports, or asks them."""


def _trouble(who: str, *kinds: Kind) -> st.SearchStrategy[Trouble]:
    return st.builds(Trouble, st.sampled_from(("none", *kinds)), st.sampled_from(EFFECTS[who]), st.integers(1, 2))


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    """Something old or new, perhaps under the id of something else."""
    (scope, role), minute = draw(st.sampled_from(VOICES)), draw(NUMBERS)
    return Turn(
        user_id=scope.user_id,
        space=scope.space,
        persona_id=scope.persona_id,
        role=role,
        text=draw(st.sampled_from(WORDINGS)),
        created_at=NOON + timedelta(minutes=7 * minute),
        turn_id=str(draw(NUMBERS)),
        conversation_id="c",
    )


class Action(NamedTuple):
    """A method of the machine, and what it is told."""

    name: str
    arguments: dict[str, Any]


def _may(name: str, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Action]:
    return st.builds(Action, st.just(name), st.fixed_dictionaries(arguments))


SAID = st.lists(turns(), min_size=1, max_size=4)


Often = tuple[int, st.SearchStrategy[Action]]
"""How many times as often as others, and what."""


def _at(stage: str) -> list[Often]:
    """What may be done with a stage."""
    where, trouble = st.just(stage), _trouble(stage, "away", "crash", "wait")
    before, which = st.sampled_from(EFFECTS[stage]), st.lists(NUMBERS, min_size=1, max_size=4)
    return [
        (4, _may("deliver", stage=where, most=st.integers(1, 4), trouble=trouble, lost_acks=st.integers(0, 1))),
        (3, _may("deliver_at_once", stage=where, said=SAID, before=before, same=st.booleans())),
        (1, _may("deliver_anything", stage=where, which=which, trouble=trouble)),
        (2, _may("let_flow_to", stage=where)),
    ]


def _by_users() -> list[Often]:
    """What users may do, and time."""
    refuse_for, anywhere = st.sampled_from((DAY, DAY, -DAY)), st.sampled_from([*product(USERS, SPACES)])
    forgetting, trimming = (_trouble(who, "away", "crash", "wait") for who in ("forget", "make_room"))
    return [
        (6, _may("publish", said=SAID)),
        (3, _may("publish_again", which=NUMBERS)),
        (8, _may("forget", which=NUMBERS, refuse_for=refuse_for, trouble=forgetting)),
        (2, _may("erase", user=st.sampled_from(USERS), trouble=_trouble("erase", "away", "crash"))),
        (3, _may("make_room", place=anywhere, cap=st.integers(1, 3), trouble=trimming)),
        (2, _may("pin", which=NUMBERS)),
        (2, _may("note_scores")),
        (2, _may("let_a_day_pass")),
    ]


TO_RUNS: list[Often] = [
    (5, _may("go_on", which=NUMBERS)),
    (3, _may("die", which=NUMBERS)),
    (2, _may("come_to_rest")),
]
ALL = [*chain.from_iterable(map(_at, STAGES)), *_by_users(), *TO_RUNS]
ACTIONS = st.sampled_from([action for times, action in ALL for _ in range(times)]).flatmap(lambda action: action)


class Memory(RuleBasedStateMachine):
    """memorybus among users, crashes and a bus that misbehaves."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.world = self._run(World.open(Path(self.folder.name)))
        self.model = Model()
        self.seen = Snapshot({}, {}, {}, {})
        self.half_forgotten: dict[str, Entry] = {}
        self.refused: dict[str, tuple[timedelta, timedelta]] = {}
        self.half_erased: set[str] = set()

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=6))
    def happen(self, actions: list[Action]) -> None:
        """One rule for all, as of several hypothesis would leave out half in every history."""
        for action in actions:
            getattr(self, action.name)(**action.arguments)
            self.nothing_is_broken()

    def publish(self, said: list[Turn]) -> None:
        for turn in said:
            self._say(turn)

    def publish_again(self, which: int) -> None:
        """Say exactly the same once more, as who had no answer does."""
        if said := [turn for turns in self.model.turns.values() for turn in turns]:
            self._say(_pick(said, which))

    def _say(self, turn: Turn) -> None:
        self.model.publish(turn, self.world.clock.ahead)
        self.world.bus.publish_turn(turn)

    def deliver(self, stage: str, most: int, trouble: Trouble, lost_acks: int) -> None:
        self._deliver(stage, self.world.free(stage)[:most], trouble, lost_acks)

    def deliver_anything(self, stage: str, which: list[int], trouble: Trouble) -> None:
        """Whatever was said to a stage, in any order and company, even twice in a batch, or long done."""
        if messages := self.world.bus.of(stage):
            self._deliver(stage, [_pick(messages, n) for n in which], trouble)

    def deliver_at_once(self, stage: str, said: list[Turn], before: str, same: bool) -> None:
        """Two replicas are at work on halves of what is there, or the first is so slow that a second does the same."""
        self.publish(said)
        self.let_flow_to(stage)
        messages = self.world.free(stage) or self.world.bus.of(stage)[-4:]
        half = (len(messages) + 1) // 2
        self._deliver(stage, messages[:half], Trouble("wait", before))
        self.note_scores()
        self._deliver(stage, messages[:half] if same else messages[half:])

    def _deliver(self, stage: str, messages: Sequence[Message], trouble: Trouble = NOTHING, lost_acks: int = 0) -> None:
        if messages:
            self._run(self.world.deliver(stage, messages, trouble, lost_acks=lost_acks))

    def let_flow_to(self, stage: str) -> None:
        """Nothing happens to what is open now in the stages before this one; its effects come in several messages."""
        for before in STAGES[: STAGES.index(stage)]:
            messages = self.world.free(before)
            for start in range(0, len(messages), 2):
                self._deliver(before, messages[start : start + 2])

    def go_on(self, which: int) -> None:
        if runs := self.world.in_hand:
            self._run(self.world.go_on(_pick(runs, which)))

    def die(self, which: int) -> None:
        if runs := self.world.in_hand:
            self._run(self.world.die(_pick(runs, which)))

    def forget(self, which: int, refuse_for: timedelta, trouble: Trouble) -> None:
        if entries := [entry for entry in self.seen.entries.values() if entry.status != "forgotten"]:
            self._forget(_pick(entries, which), refuse_for, trouble)

    def _forget(self, entry: Entry, refuse_for: timedelta, trouble: Trouble = NOTHING) -> None:
        """Who repeats it says the same; until when the statement is refused was settled by the first."""
        refuse_for, until = self.refused.setdefault(entry.id, (refuse_for, self.world.clock.ahead + refuse_for))
        nothing_else_happens = trouble.kind == "none" and not self.world.in_hand

        def ended(reply: ForgetReply | None) -> None:
            self.half_forgotten.pop(entry.id, None)
            if reply is not None:
                self.model.have_forgotten(entry, until)
                assert not (nothing_else_happens and any(reply.receipt.left.values())), f"forgotten, but left: {reply}"

        self.half_forgotten[entry.id] = entry
        self.model.begin_to_forget(entry, refuse_for)
        self._run(self.world.forget(entry, refuse_for, trouble, ended))

    def erase(self, user: str, trouble: Trouble) -> None:
        def ended(reply: EraseReply) -> None:
            self.half_erased.discard(user)
            self.model.have_erased(user)
            self.world.bus.said_nothing_of(user)
            self.half_forgotten = {id_: entry for id_, entry in self.half_forgotten.items() if entry.user_id != user}
            assert not any(reply.receipt.left.values()), f"erased, but left: {reply}"

        self.half_erased.add(user)
        self.seen = self.seen.without(user)
        self._run(self.world.erase(user, trouble, ended))

    def make_room(self, place: tuple[str, str], cap: int, trouble: Trouble) -> None:
        if (count := sum((e.user_id, e.space) == place for e in self.seen.active)) > cap:
            self.model.disturbed.add(place)
            self._run(self.world.make_room(SpaceSize(*place, count), cap, trouble))

    def pin(self, which: int) -> None:
        if entries := self.seen.active:
            self._run(modify(self.world.store, [_pick(entries, which)], lambda entry: _with(entry, pinned=True)))

    def note_scores(self) -> None:
        """As retrieve does: it changes entries without anybody being told."""
        scores = Scores(relevance=0.5, recency=0.5, importance=0.5, total=1.5)
        self._run(modify(self.world.store, self.seen.active, lambda entry: _with(entry, last_scores=scores)))

    def let_a_day_pass(self) -> None:
        self.world.clock.ahead += DAY + timedelta(hours=1)
        self.model.let_time_pass()

    def come_to_rest(self) -> None:
        """Let everything come to its end: then everything must be as it should be."""
        while self.world.in_hand:
            self._run(self.world.go_on(self.world.in_hand[0]))
        for user in sorted(self.half_erased):
            self.erase(user, NOTHING)
        assert not self.half_erased, f"erasing {self.half_erased} comes to no end"
        for entry in list(self.half_forgotten.values()):
            self._forget(entry, DAY)
        while stages := [stage for stage in STAGES if self.world.bus.open(stage)]:
            self._deliver(stages[0], self.world.bus.open(stages[0])[::-1][:3])
        self._run(self.world.look_after_vectors())
        self.touched = True
        self.nothing_is_broken()
        self._run(check_idle(self.seen, self.world, self.model, SCOPES))

    def nothing_is_broken(self) -> None:
        if not self.touched:
            return
        now: Snapshot = self._run(look(self.world, USERS))
        self.touched = False
        for user in self.half_erased:
            now = now.without(user)
        check_step(self.seen, now, self.model)
        self.seen = now

    def teardown(self) -> None:
        try:
            self.come_to_rest()
        finally:
            self._run(self.world.close())
            self.loop.close()
            self.folder.cleanup()

    def _run(self, work: Any) -> Any:
        self.touched = True
        return self.loop.run_until_complete(work)


def _pick(found: Sequence[T], which: int) -> T:
    return found[which % len(found)]


def _with(entry: Entry, **fields: Any) -> Entry | None:
    return entry.model_copy(update=fields) if entry.status == "active" else None
