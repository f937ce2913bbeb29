"""Roll-ups on every text store: made once, taken back whole, forgotten with what they say, and completed by others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from contracts.ports import Accepted, Key, RecordKey, Selection, TextStore, VectorPoint
from contracts.v1.commands import ForgetRequest
from contracts.v1.entries import Entry, EntryEvent
from contracts.v1.rollups import RollUpReply, RollUpRequest, RollUpsRequest, RollUpUndoRequest
from services.curate import ageing, rollups
from services.curate.ageing import Ages
from services.curate.privacy import DataStores
from services.curate.retention import expire
from services.curate.rollups import RollUps
from services.shared.core.rollups import drafts
from services.shared.errors import Rejected
from tests.apps.fakes import FakeInFlight, FakeVectors
from tests.stores.builders import a_proposal, a_turn, entry_of, log_of, store_entries
from tests.unit.core.test_core_clusters import BREAD

NOW = datetime.now(UTC)
DAY = timedelta(days=1)
AGES = Ages(roll_up_after=90)
NEWS = "I sold the sourdough starter to Clara"


class Said:
    """Where a replica says what is in use, or new."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self, events: Sequence[EntryEvent]) -> None:
        self.ids += [ref.id for event in events for ref in event.entries]


def replica(store: TextStore, vectors: FakeVectors | None = None) -> RollUps:
    return RollUps(DataStores(store, vectors or FakeVectors(), FakeInFlight()), Said())


async def say(store: TextStore, user: str, *texts: str, days: int = 200, **fields: Any) -> list[Entry]:
    """Log what was said so many days ago, and store it, embedded."""
    said = [NOW - timedelta(days=days, minutes=-i) for i in range(len(texts))]
    turns = [a_turn(user, text, created_at=at) for text, at in zip(texts, said, strict=True)]
    await store.append(turns, [a_proposal(turn) for turn in turns])
    fields = {"embedding_state": "ready", "enriched": True, **fields}
    return await store_entries(store, [entry_of(a_proposal(turn), **fields) for turn in turns])


async def embedded(entries: Sequence[Entry]) -> FakeVectors:
    vectors = FakeVectors()
    await vectors.upsert([VectorPoint(one, np.full(4, 0.5, np.float32)) for one in entries])
    return vectors


async def texts(store: TextStore, user: str, status: Any = "active") -> list[str]:
    page = await store.page(Selection(user, status=status), limit=500, cursor=None)
    return [one.text for one in page.entries]


async def the_roll_up(store: TextStore, user: str) -> Entry:
    page = await store.page(Selection(user), limit=500, cursor=None)
    (found,) = [one for one in page.entries if one.source == "rollup"]
    return found


async def stored(store: TextStore, entries: Sequence[Entry]) -> dict[str, Entry]:
    return await store.get(entries)


async def aged(made: RollUps, user: str, ages: Ages = AGES, *, now: datetime = NOW, days: float = 1) -> int:
    async def at_once(_: float) -> None:
        """Nobody else is waiting."""

    return await ageing.age(user, "default", ages, made=made, every=timedelta(days=days), now=now, pause=at_once)


async def asked(made: RollUps, user: str, topic: str | None = "sourdough", **fields: Any) -> RollUpReply:
    return await ageing.roll_up(RollUpRequest(user_id=user, topic=topic, **fields), made=made)


async def forget(made: RollUps, entry: Entry) -> None:
    await made.forget(ForgetRequest(user_id=entry.user_id, id=entry.id), refuse_for=DAY)


async def everything_of(store: TextStore, user: str) -> str:
    """All that the store tells of a user, in one text."""
    entries = await store.export_entries(user, after=None, limit=500)
    log = await store.export_log(user, after=None, limit=500)
    kept = [one for kind in ("rollup", "rolling", "ageing", "loops") for one in await store.records(user, kind)]
    return "\n".join(map(repr, [*entries, *log, *kept]))


async def test_what_is_old_is_rolled_up_by_topic_and_its_originals_are_archived(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD)
    kept = await say(text_store, user, "The pinned sourdough rests", pinned=True)
    kept += await say(text_store, user, "The saved sourdough rests", manually_saved=True)
    kept += await say(text_store, user, "I prefer sourdough to rye", type="preference")
    kept += await say(text_store, user, "Fresh sourdough for breakfast", days=3)
    vectors = await embedded([*old, *kept])
    made = replica(text_store, vectors)

    assert await aged(made, user) == 1

    one = await the_roll_up(text_store, user)
    assert set(one.source_ids) == {entry.id for entry in old}
    assert set(one.text.split("\n")) <= set(BREAD)
    assert set(await texts(text_store, user)) == {one.text, *(entry.text for entry in kept)}
    assert set(await texts(text_store, user, "archived")) == set(BREAD)
    assert {entry.rolled_up_into for entry in (await stored(text_store, old)).values()} == {one.id}
    assert vectors.points.keys() == {entry.id for entry in kept}
    assert isinstance(made.say, Said)
    assert made.say.ids == [one.id]
    assert await text_store.records(user, "rolling") == []
    assert await aged(made, user, now=NOW + 2 * DAY) == 0


async def test_nothing_ages_unless_somebody_wants_it_and_what_was_an_answer_lately_does_not(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, asked_at=NOW - 2 * DAY)
    made = replica(text_store, await embedded(old))
    assert await aged(made, user, Ages()) == 0
    assert await aged(made, user) == 0
    assert await text_store.records(user, "rollup") == []


async def test_a_space_is_looked_through_once_in_a_while_and_anew_when_its_settings_change(
    text_store: TextStore, user: str
) -> None:
    made = replica(text_store, vectors := FakeVectors())
    assert await aged(made, user) == 0
    old = await say(text_store, user, *BREAD)
    await vectors.upsert([VectorPoint(one, np.full(4, 0.5, np.float32)) for one in old])
    assert await aged(made, user, now=NOW + DAY / 2) == 0
    assert await aged(made, user, Ages(roll_up_after=91), now=NOW + DAY / 2) == 1


@pytest.mark.parametrize("replicas", [2, 5])
async def test_replicas_that_look_at_the_same_moment_roll_up_once(
    text_store: TextStore, user: str, replicas: int
) -> None:
    old = await say(text_store, user, *BREAD)
    vectors = await embedded(old)
    done = await asyncio.gather(*(aged(replica(text_store, vectors), user) for _ in range(replicas)))
    assert sorted(done) == [*[0] * (replicas - 1), 1]
    assert set((await the_roll_up(text_store, user)).source_ids) == {one.id for one in old}


async def test_of_roll_ups_that_are_made_of_the_same_at_once_each_original_is_in_one(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, *(f"Sourdough loaf number {i} was flat" for i in range(8)))
    (whole,) = drafts(old)
    (part,) = drafts(old[2:9])
    await asyncio.gather(*(replica(text_store).make(one) for one in (whole, part, whole)))
    archived = (await stored(text_store, old)).values()
    page = await text_store.page(Selection(user), limit=100, cursor=None)
    made = [one for one in page.entries if one.source == "rollup"]
    sources = [id_ for one in made for id_ in one.source_ids]
    assert sorted(sources) == sorted({one.id for one in archived if one.status == "archived"})
    for one in made:
        assert {its.id for its in archived if its.rolled_up_into == one.id} == set(one.source_ids)
    assert {its.id for its in archived if its.status == "active"}.isdisjoint(sources)


async def test_a_topic_is_rolled_up_on_request_after_a_preview_that_changes_nothing(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, *BREAD, days=1)
    await say(text_store, user, "My train was late")
    made = replica(text_store, await embedded(old))

    shown = await asked(made, user, "sourdough flour", preview=True)
    assert [one.state for one in shown.items] == ["preview"]
    assert {id_ for one in shown.items for id_ in one.source_ids} == {old[0].id, old[3].id}
    assert len(await texts(text_store, user)) == 5
    assert await text_store.records(user, "rollup") == []

    (one,) = (await asked(made, user, "sourdough flour")).items
    assert (one.state, one.sentences) == ("done", shown.items[0].sentences) or one.sentences
    assert [sentence.text for sentence in one.sentences] == [sentence.text for sentence in shown.items[0].sentences]
    assert len(await texts(text_store, user)) == 4
    assert (await asked(made, user, "sourdough flour")).items == ()
    assert (await asked(made, user, older_than_days=30)).items == ()
    (listed,) = (await ageing.list_roll_ups(RollUpsRequest(user_id=user), made=made)).items
    assert listed == one


async def test_without_a_topic_those_that_are_found_are_rolled_up_and_what_is_left_is_told(
    text_store: TextStore, user: str
) -> None:
    mine = await say(text_store, user, *BREAD)
    theirs = await say(text_store, user, *BREAD, role="assistant")
    made = replica(text_store, await embedded([*mine, *theirs]))
    reply = await asked(made, user, None, limit=1)
    assert (len(reply.items), reply.left) == (1, 1)
    reply = await asked(made, user, None, limit=1)
    assert (len(reply.items), reply.left) == (1, 0)
    assert {sentence.role for sentence in reply.items[0].sentences} in ({"user"}, {"assistant"})
    themed = await say(text_store, user, "Rye is for Mondays", "Wheat is for Sundays", themes=("bread",))
    (one,) = (await asked(made, user, None, theme="bread")).items
    assert set(one.source_ids) == {entry.id for entry in themed}


async def test_taken_back_everything_is_as_it_was_and_ageing_leaves_it_alone(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, tags=("bread",), importance=0.3)
    vectors = await embedded(old)
    made = replica(text_store, vectors)
    await aged(made, user)
    one = await the_roll_up(text_store, user)
    await vectors.upsert([VectorPoint(one, np.full(4, 0.5, np.float32))])

    request = RollUpUndoRequest(user_id=user, id=one.id)
    for _ in range(2):
        reply = await ageing.undo(request, made=made)
        assert (reply.id, set(reply.restored)) == (one.id, {entry.id for entry in old})

    now = await stored(text_store, old)
    changed = {"version", "updated_at", "embedding_state"}
    assert [now[its.id].model_dump(exclude=changed) for its in old] == [its.model_dump(exclude=changed) for its in old]
    assert isinstance(made.say, Said)
    assert made.say.ids == [one.id, *(its.id for its in old)]
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    assert one.id not in vectors.points
    assert (await stored(text_store, [one]))[one.id].text == ""
    await text_store.replace([])
    assert await aged(made, user, now=NOW + 2 * DAY) == 0
    assert sorted(await texts(text_store, user)) == sorted(BREAD)
    assert len((await asked(made, user)).items) == 1


async def test_what_came_back_beside_what_was_said_again_meanwhile_stays_both(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    await aged(made, user)
    await say(text_store, user, BREAD[0], days=0)
    await made.undo(user, (await rolled_up(text_store, old[0])))
    assert sorted(await texts(text_store, user)) == sorted([*BREAD, BREAD[0]])


async def rolled_up(store: TextStore, entry: Entry) -> str:
    into = (await stored(store, [entry]))[entry.id].rolled_up_into
    assert into is not None
    return into


async def test_nothing_is_taken_back_that_is_no_roll_up(text_store: TextStore, user: str) -> None:
    (entry,) = await say(text_store, user, BREAD[0])
    for id_ in (entry.id, "nothing"):
        with pytest.raises(Rejected, match="no roll-up"):
            await ageing.undo(RollUpUndoRequest(user_id=user, id=id_), made=replica(text_store))


async def test_of_a_forgotten_original_no_byte_stays_in_the_roll_up(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    assert NEWS in (await the_roll_up(text_store, user)).text

    for _ in range(2):
        await forget(made, old[-1])

    assert "Clara" not in await everything_of(text_store, user)
    one = await the_roll_up(text_store, user)
    assert old[-1].id not in one.source_ids
    assert set(one.text.split("\n")) <= set(BREAD)
    assert (one.enriched, one.embedding_state) == (False, "pending")
    assert set(await texts(text_store, user, "archived")) == set(BREAD)


async def test_of_a_forgotten_roll_up_no_byte_stays_in_its_originals(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    other = await say(text_store, user, "My train was late")
    made = replica(text_store, await embedded(old))
    await asked(made, user)
    for _ in range(2):
        await forget(made, one := await text_of(text_store, user, old[0]))
    told = await everything_of(text_store, user)
    assert "Clara" not in told
    assert "ourdough" not in told
    assert {its.status for its in (await stored(text_store, [*old, one])).values()} == {"forgotten"}
    assert (await stored(text_store, other))[other[0].id] == other[0]
    assert {turn.text for turn in (await log_of(text_store, user)).values()} == {"[forgotten]", "My train was late"}


async def text_of(store: TextStore, user: str, original: Entry) -> Entry:
    id_ = await rolled_up(store, original)
    return (await store.get([Key(user, id_)]))[id_]


async def test_when_nothing_is_left_to_say_the_roll_up_goes_and_the_others_come_back(
    text_store: TextStore, user: str
) -> None:
    old = await say(text_store, user, "Sourdough?", NEWS)
    made = replica(text_store)
    await asked(made, user)
    assert (await the_roll_up(text_store, user)).text == NEWS
    await forget(made, old[1])
    assert await texts(text_store, user) == ["Sourdough?"]
    assert "Clara" not in await everything_of(text_store, user)


async def test_originals_lose_their_words_after_a_while_and_the_roll_up_stays(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    kept = Ages(roll_up_after=90, originals_kept=180)
    assert await aged(made, user, kept) == 1
    one = await the_roll_up(text_store, user)
    assert await aged(made, user, kept, now=NOW + 170 * DAY) == 0
    for expected in (1, 0):
        assert await aged(made, user, kept, now=NOW + (183 - expected) * DAY, days=0.5) == expected
    assert await texts(text_store, user) == [one.text]
    assert {its.text for its in (await stored(text_store, old)).values()} == {""}
    assert {turn.text for turn in (await log_of(text_store, user)).values()} == {"[forgotten]"}
    with pytest.raises(Rejected, match="cannot be taken back"):
        await made.undo(user, one.id)
    line = one.text.split("\n")[0]
    await forget(made, next(its for its in old if its.text == line))
    assert line not in await everything_of(text_store, user)
    assert (await the_roll_up(text_store, user)).text == "\n".join(one.text.split("\n")[1:])


async def test_what_is_too_old_goes_with_its_originals(text_store: TextStore, user: str) -> None:
    old = await say(text_store, user, *BREAD)
    vectors = await embedded(old)
    made = replica(text_store, vectors)
    await aged(made, user)
    size = (await text_store.spaces(user))[0]
    limits: dict[str, Any] = {"max_age": 100 * DAY, "of": size, "made": made}
    assert await expire(store=text_store, vectors=vectors, **limits) == 1
    assert "ourdough" not in await everything_of(text_store, user)


@pytest.mark.parametrize("broken_off_at", range(12))
async def test_broken_off_at_any_step_the_next_process_completes_it(
    text_store: TextStore, user: str, broken_off_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await say(text_store, user, *BREAD)
    made = replica(text_store, await embedded(old))
    with monkeypatch.context() as patched:
        steps = break_off(patched, text_store, after=broken_off_at)
        with_luck = await asyncio.gather(asked(made, user), return_exceptions=True)
    assert steps["done"] == broken_off_at or not isinstance(with_luck[0], BaseException)

    again = replica(text_store)
    await again.go_on_with_all(timedelta(0))
    if await text_store.records(user, "rollup") == []:
        assert sorted(await texts(text_store, user)) == sorted(BREAD)
        return
    one = await the_roll_up(text_store, user)
    assert set(one.source_ids) == {entry.id for entry in old}
    assert await texts(text_store, user) == [one.text]
    assert sorted(await texts(text_store, user, "archived")) == sorted(BREAD)
    assert await text_store.records(user, "rolling") == []

    with monkeypatch.context() as patched:
        break_off(patched, text_store, after=broken_off_at)
        await asyncio.gather(again.undo(user, one.id), return_exceptions=True)
    await replica(text_store).go_on_with_all(timedelta(0))
    await again.undo(user, one.id)
    assert sorted(await texts(text_store, user)) == sorted(BREAD)


_WRITES = ("put_record", "add_records", "remove_records", "replace", "apply", "forget", "redact")


class _Killed(BaseException):
    """The process ends here."""


def break_off(patched: pytest.MonkeyPatch, store: TextStore, *, after: int) -> dict[str, int]:
    """Let so many writes through, and end at the next."""
    steps = {"done": 0}

    def counted(call: Any) -> Any:
        async def write(*args: Any, **given: Any) -> Any:
            if steps["done"] == after:
                raise _Killed
            steps["done"] += 1
            return await call(*args, **given)

        return write

    for name in _WRITES:
        patched.setattr(store, name, counted(getattr(store, name)))
    return steps


async def test_an_original_that_is_forgotten_while_its_roll_up_is_made_leaves_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await say(text_store, user, *BREAD, NEWS)
    made, other = replica(text_store), replica(text_store)
    apply = text_store.apply

    async def late(decisions: Sequence[Accepted]) -> Any:
        monkeypatch.undo()
        await forget(other, old[-1])
        return await apply(decisions)

    monkeypatch.setattr(text_store, "apply", late)
    await asked(made, user)
    assert "Clara" not in await everything_of(text_store, user)
    assert set((await the_roll_up(text_store, user)).source_ids) == {entry.id for entry in old[:-1]}


async def test_who_was_held_up_while_it_was_taken_back_stores_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await say(text_store, user, *BREAD)
    made, other = replica(text_store), replica(text_store)
    for call in ("replace", "apply"):
        real = getattr(text_store, call)

        async def late(given: Any, real: Any = real) -> Any:
            monkeypatch.undo()
            (record,) = await text_store.records(user, "rollup")
            await other.undo(user, record.name)
            return await real(given)

        monkeypatch.setattr(text_store, call, late)
        await asked(made, user)
        assert sorted(await texts(text_store, user)) == sorted(BREAD)
        assert {one.status for one in (await stored(text_store, old)).values()} == {"active"}
        await text_store.remove_records(user, "rollup")


async def test_a_user_who_is_erased_meanwhile_leaves_nothing(
    text_store: TextStore, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await say(text_store, user, *BREAD)
    apply = text_store.apply

    async def late(decisions: Sequence[Accepted]) -> Any:
        monkeypatch.undo()
        await text_store.erase(user)
        return await apply(decisions)

    monkeypatch.setattr(text_store, "apply", late)
    await asked(replica(text_store), user)
    await text_store.erase(user)
    assert not any((await text_store.count_remaining(user)).values())


async def test_marks_of_others_are_left_to_them_for_a_while(text_store: TextStore, user: str) -> None:
    made = replica(text_store)
    key = RecordKey(user, "rollup", "11111111-2222-4333-8444-555555555555")
    await made._mark(key)
    await made.go_on_with_all(rollups.OTHERS)
    assert len(await text_store.records(user, "rolling")) == 1
