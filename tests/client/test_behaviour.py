"""What the client does: one suite, over NATS and over HTTP, awaited and waited for."""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, cast
from uuid import uuid4

import pytest
from memorybus_client import AsyncMemory, Entry, Memory, RequestFailed, SettingsChange

from services.runtime import Running
from tests.claims import leave_change, leave_claim, leave_task
from tests.polling import eventually

LOCKER = "My locker at work has the code 4007."
Open = Callable[..., AsyncMemory]


class _Awaited:
    """A client that waits in its calls, as one that is awaited: each call is in a thread."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        async def call(*given: Any, **named: Any) -> Any:
            return await asyncio.to_thread(getattr(self._memory, name), *given, **named)

        return call

    async def export(self) -> AsyncIterator[str]:
        for line in await asyncio.to_thread(lambda: list(self._memory.export())):
            yield line


WAYS = ["nats async", "nats sync", "http async", "http sync"]
every_way = pytest.mark.parametrize("way", WAYS)
"""Every method is answered in each of them; what a method does is tried over both, awaited and waited for."""


@pytest.fixture(params=["nats sync", "http async"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def url(way: str, up: Running) -> str:
    return up.nats if way.startswith("nats") else up.http


@pytest.fixture
async def connect(way: str, url: str) -> AsyncIterator[Open]:
    opened: list[Any] = []

    def connected(user: str, **more: Any) -> AsyncMemory:
        is_async = way.endswith("async")
        opened.append((AsyncMemory if is_async else Memory)(url, user=user, **more))
        return cast(AsyncMemory, opened[-1] if is_async else _Awaited(opened[-1]))

    yield connected
    for memory in opened:
        closed = memory.close()
        if closed is not None:
            await closed


async def digested(memory: AsyncMemory, turns: int = 1) -> None:
    """Wait until so many turns have arrived and nothing is pending."""
    await eventually(memory.status, lambda status: status.turns == turns and not status.pending)


@pytest.fixture
def memory(connect: Open) -> AsyncMemory:
    return connect(f"ann-{uuid4().hex}")


async def test_what_is_remembered_is_recalled_and_what_is_forgotten_is_gone(memory: AsyncMemory) -> None:
    entry = await memory.remember(LOCKER, tags=["work"], space="office")
    assert isinstance(entry, Entry)
    assert (entry.text, entry.tags, entry.manually_saved) == (LOCKER, ("work",), True)
    found = await memory.recall("locker code", space="office", tags=["work"], limit=3)
    assert [item.id for item in found.items] == [entry.id]
    assert LOCKER in found.context
    assert (await memory.recall("locker code")).items == ()  # another space
    assert (await memory.get(entry.id[:8])).id == entry.id
    receipt = await memory.forget(entry.id)
    assert not any(receipt.left.values())
    with pytest.raises(RequestFailed, match="there is no entry") as gone:
        await memory.get(entry.id)
    assert (gone.value.code, gone.value.retryable) == ("not_found", False)


async def test_the_same_statement_is_one_entry_for_each_who_says_it(memory: AsyncMemory) -> None:
    entries = [await memory.remember(LOCKER, speaker=speaker) for speaker in ("ann", "bob", "ann")]
    assert [entry.speaker for entry in entries] == ["ann", "bob", "ann"]
    assert entries[0].id == entries[2].id != entries[1].id


async def test_turns_become_memories_and_one_of_the_same_id_counts_once(memory: AsyncMemory) -> None:
    said = {"role": "user", "conversation_id": "c1", "created_at": datetime(2026, 2, 1, tzinfo=UTC)}
    for _ in range(2):
        assert await memory.publish("I prefer uv over pip", turn_id="t1", **said) == "t1"  # type: ignore[arg-type]
    given = await memory.publish("yes", conversation_id="c1")
    again = await memory.publish("yes", conversation_id="c1")
    assert given != again, "what is said twice is two turns"

    await digested(memory, 3)
    (item,) = (await memory.recall("uv", conversation_id="c1")).items
    assert (item.turn_id, item.created_at) == ("t1", said["created_at"])


@pytest.mark.parametrize("why", ["incognito turn", "incognito conversation", "memory off", "says so", "answers it"])
async def test_what_is_published_tells_whether_it_is_kept_as_far_as_that_is_known(
    memory: AsyncMemory, url: str, why: str
) -> None:
    over_http = url.startswith("http")
    assert (await memory.publish("My umbrella is green.", conversation_id="c1")).kept is (True if over_http else None)
    if why == "incognito conversation":
        await memory.start_incognito("c1")
        assert (await memory.settings(conversation_id="c1")).refuses == "incognito"
    if why == "memory off":
        await memory.change_settings(SettingsChange(memory_enabled=False))
    text, role = LOCKER, "user"
    if why in ("says so", "answers it"):
        text = f"Don't remember this: {LOCKER}"
    if why == "answers it":
        await memory.publish(text, conversation_id="c1")
        text, role = f"I know: {LOCKER}", "assistant"
    turn = await memory.publish(text, role=role, conversation_id="c1", incognito=why == "incognito turn")  # type: ignore[arg-type]
    assert turn.kept is (False if over_http or why == "incognito turn" else None)
    assert (str(turn), pickle.loads(pickle.dumps(turn)).kept) == (turn, turn.kept)
    await digested(memory)
    await asyncio.sleep(0.3)
    assert [entry.text for entry in (await memory.list()).items] == ["My umbrella is green."]


async def test_a_conversation_is_forgotten_but_what_is_saved_or_was_said_elsewhere_too(memory: AsyncMemory) -> None:
    for text, chat in (("I own a red canoe.", "a/b"), ("My umbrella is green.", "a/b"), (LOCKER, "a/b"), (LOCKER, "c")):
        await memory.publish(text, conversation_id=chat)
    await digested(memory, 4)
    saved = next(one for one in (await memory.list()).items if "umbrella" in one.text)
    await memory.pin(saved.id)
    forgotten = await memory.forget_conversation("a/b", space="office")
    assert (forgotten.forgotten, forgotten.kept) == (0, 0)
    forgotten = await memory.forget_conversation("a/b")
    assert (forgotten.forgotten, forgotten.kept, forgotten.left, forgotten.failed) == (1, 2, 0, ())
    assert {one.text for one in (await memory.list()).items} == {saved.text, LOCKER}
    assert [one.id for one in (await memory.list(conversation_id="a/b")).items] == [saved.id]
    with pytest.raises(RequestFailed, match="conversation"):
        await memory.forget_conversation("")


async def test_yesterday_is_that_of_the_time_zone_asked_in(memory: AsyncMemory) -> None:
    await memory.publish("I bought a blue tent.", created_at=datetime(2026, 2, 1, 23, 30, tzinfo=UTC))
    await digested(memory)
    now = datetime(2026, 2, 3, 11, tzinfo=UTC)
    for zone, found in (("Europe/Vienna", 1), ("UTC", 0)):
        reply = await memory.recall("What did I tell you yesterday?", now=now, time_zone=zone)
        assert len(reply.items) == found
    with pytest.raises(RequestFailed, match=r"invalid_request.*time_zone"):
        await memory.recall("What?", time_zone="Mars/Phobos")


async def test_entries_are_listed_page_by_page(memory: AsyncMemory) -> None:
    made = {(await memory.remember(f"Drawer {n} holds {n * 7} spoons.", tags=["kitchen"])).id for n in range(5)}
    page = await memory.list(limit=2, types=[], tags=["kitchen"], q="spoons")
    seen = [entry.id for entry in page.items]
    while page.next_cursor is not None:
        page = await memory.list(limit=2, cursor=page.next_cursor, tags=["kitchen"], q="spoons")
        seen += [entry.id for entry in page.items]
    assert (len(seen), set(seen), page.total_count) == (5, made, 5)


async def test_an_entry_is_corrected_pinned_and_sorted(memory: AsyncMemory) -> None:
    entry = await memory.remember(LOCKER)
    corrected = await memory.update(entry.id, text="My locker at work has the code 4008.", themes=["work"])
    assert (corrected.text, corrected.themes) == ("My locker at work has the code 4008.", ("work",))
    with pytest.raises(RequestFailed, match="changed since") as stale:
        await memory.update(entry.id, tags=["late"], version=entry.version)
    assert stale.value.code == "conflict"
    assert (await memory.pin(entry.id)).pinned
    assert not (await memory.unpin(entry.id)).pinned
    told = [(version.text, version.by) for version in (await memory.history(entry.id)).items]
    assert told == [(corrected.text, "user"), (LOCKER, None)]
    done = await memory.bulk([entry.id, "no-such-entry"], "tag", tags=["door"])
    assert (done.done, [failure.code for failure in done.failed]) == ((entry.id,), ["not_found"])
    assert (await memory.list(theme="work")).items[0].tags == ("door",)


async def test_themes_are_described_listed_and_removed(memory: AsyncMemory) -> None:
    await memory.update((await memory.remember(LOCKER)).id, themes=["work"])
    theme = await memory.save_theme("work", "At work", description="what is at the office")
    assert (await memory.themes()).items == (theme,)
    assert (theme.display_name, theme.count) == ("At work", 1)
    assert (await memory.remove_theme("work")).entries == 1
    assert (await memory.themes()).items == ()
    assert (await memory.summary()).entries == 1


async def test_what_is_known_is_given_decided_and_settled(memory: AsyncMemory, up: Running) -> None:
    facts = ["My sister Clara lives in Oslo", "I need to call Clara by Friday"]
    sister, call = (await memory.seed(facts)).items
    assert sister.id
    assert call.id
    entry = await memory.get(call.id)
    await leave_task(up.host.settings.sqlite_path, entry.user_id, entry.id)
    assert (await memory.cards(name="Nobody")).items == ()
    assert (await memory.decide_names("Clara", "Klara", same=True)).same
    (loop,) = (await memory.loops()).items
    assert (await memory.settle(loop.id, "done")).decided
    assert (await memory.loops()).items == ()
    assert len((await memory.loops(state="done")).items) == len((await memory.loops(state="all")).items) == 1
    assert (await memory.settle(loop.id, None)).state == "open"
    assert (await memory.decide_names("Clara", "Klara", same=None)).same is None


async def test_what_is_so_is_decided(memory: AsyncMemory, up: Running) -> None:
    fact_id = await _likely(memory, up)
    for is_so, told in ((True, 1), (False, 0), (None, 1)):
        assert (await memory.decide_fact(fact_id, is_so=is_so)).is_so is is_so
        assert len((await memory.profile()).facts) == told
    (fact,) = (await memory.profile()).facts
    assert (fact.id, fact.is_likely) == (fact_id, True)


async def _likely(memory: AsyncMemory, up: Running) -> str:
    """The id of what is likely a fact."""
    entry = await memory.remember("Thinking about it, Porto feels right.")
    await leave_claim(up.host.settings.sqlite_path, entry.user_id, entry.id, "Porto", "home")
    (likely,) = [fact for fact in (await memory.profile()).facts if fact.is_likely]
    return str(likely.id)


async def _conflict(memory: AsyncMemory, up: Running) -> Any:
    texts = ("I'm running a 10k on 20 September.", "I can't run the 10k.")
    older, newer = [await memory.remember(text) for text in texts]
    await leave_change(up.host.settings.sqlite_path, older.user_id, newer.id, older.id, in_conflict=True)
    return (await memory.conflicts()).items[0]


async def test_a_conflict_is_shown_and_decided(memory: AsyncMemory, up: Running) -> None:
    found = await _conflict(memory, up)
    assert (found.newer.text, found.older.text) == ("I can't run the 10k.", "I'm running a 10k on 20 September.")
    decided = await memory.resolve(found.newer.id, found.older.id, keep="new")
    assert (decided.newer.status, decided.older.status) == ("active", "superseded")
    assert (await memory.conflicts()).items == ()


async def test_sessions_are_listed_and_one_is_summed_up(memory: AsyncMemory) -> None:
    for text in (LOCKER, "My umbrella is green."):
        await memory.remember(text)
    (session,) = (await memory.sessions()).items
    assert session.turn_count == 2
    one = await memory.sessions(id=session.id)
    assert (one.items, len(one.entry_ids)) == ((session,), 2)
    rolled = await memory.sessions(rolling="notes", limit=0)
    assert (rolled.items, rolled.rolling and rolled.rolling.conversation_id) == ((), "notes")


@every_way
async def test_every_method_is_answered(memory: AsyncMemory, up: Running) -> None:
    entry = await memory.remember("I need to call Clara by Friday")
    id_ = entry.id
    await leave_task(up.host.settings.sqlite_path, entry.user_id, id_)
    (loop,) = (await memory.loops()).items
    conflict, likely = await _conflict(memory, up), await _likely(memory, up)
    given: dict[str, tuple[Any, ...]] = {
        "remember": (LOCKER,),
        "recall": ("locker",),
        "publish": (LOCKER,),
        "get": (id_,),
        "update": (id_,),
        "pin": (id_,),
        "unpin": (id_,),
        "history": (id_,),
        "bulk": ([id_], "pin"),
        "save_theme": ("work", "Work"),
        "remove_theme": ("work",),
        "seed": (["I live in Lisbon"],),
        "settle": (loop.id, "done"),
        "start_incognito": ("c1",),
        "end_incognito": ("c1",),
        "command": ("nice weather today",),
    }
    named: dict[str, dict[str, Any]] = {
        "resolve": {"newer": conflict.newer.id, "older": conflict.older.id, "keep": "both"},
        "decide_names": {"one": "Clara", "other": "Klara", "same": True},
        "decide_fact": {"id": likely, "is_so": True},
    }
    last: dict[str, tuple[Any, ...]] = {"forget": (id_,), "forget_conversation": ("c1",), "erase": ()}
    methods = {name for name, _ in inspect.getmembers(AsyncMemory, inspect.isfunction) if not name.startswith("_")}
    without_arguments = sorted(methods - {"close", "export", *given, *named, *last})
    for name in [*given, *named, *without_arguments, *last]:
        await getattr(memory, name)(*(given | last).get(name, ()), **named.get(name, {}))


@pytest.mark.parametrize("name", ["bulk", "seed"])
async def test_a_list_is_taken_and_one_string_is_none(memory: AsyncMemory, name: str) -> None:
    more = ("pin",) if name == "bulk" else ()
    with pytest.raises(RequestFailed, match="should be a list"):
        await getattr(memory, name)("I live in Lisbon", *more)
    for several in (["I live in Lisbon"], ("I live in Lisbon",)):
        await getattr(memory, name)(several, *more)


async def test_what_a_user_decides_holds(memory: AsyncMemory) -> None:
    assert (await memory.settings(space="office")).settings.soft_cap != 7
    decided = await memory.change_settings(SettingsChange(memory_enabled=False, soft_cap=7), space="office")
    assert (decided.own.memory_enabled, decided.own.soft_cap) == (False, 7)
    with pytest.raises(RequestFailed, match="memory is off") as off:
        await memory.remember(LOCKER, space="office")
    assert off.value.code == "refused"
    again = await memory.change_settings(space="office", reset=["memory_enabled", "soft_cap"])
    assert again.own.memory_enabled is None
    assert (await memory.start_incognito("c1", hours=1)).incognito
    assert not (await memory.end_incognito("c1")).incognito


async def test_a_chat_command_is_understood(memory: AsyncMemory) -> None:
    entry = await memory.remember(LOCKER)
    asked = await memory.command("what do you remember about my locker?")
    assert (asked.understood, asked.verb, [one.id for one in asked.items]) == (True, "recall", [entry.id])
    assert not (await memory.command("nice weather today")).understood


async def test_everything_is_exported_audited_and_erased(memory: AsyncMemory) -> None:
    await memory.remember(LOCKER)
    lines = [json.loads(line) async for line in memory.export()]
    assert LOCKER in json.dumps(lines)
    await eventually(
        lambda: memory.audit(limit=10), lambda audit: "entries.create" in {action.verb for action in audit.items}
    )
    receipt = await memory.erase()
    assert not any(receipt.left.values())
    assert (await memory.erase(requested_at=receipt.requested_at)).requested_at == receipt.requested_at
    assert (await memory.list()).items == ()


@pytest.mark.parametrize("user", ["Ünal", "a b/c", "~x"])
async def test_a_user_sees_only_their_own(connect: Open, user: str) -> None:
    name = f"{user} {uuid4().hex}"
    mine, yours = connect(name), connect(f"bob-{uuid4().hex}")
    entry = await mine.remember(LOCKER)
    assert entry.user_id == name
    assert (await yours.list()).items == ()
    assert (await yours.recall("locker code")).items == ()
    for refused in (yours.get(entry.id), yours.forget(entry.id), yours.update(entry.id, tags=["x"])):
        with pytest.raises(RequestFailed, match="not_found"):
            await refused


@pytest.mark.parametrize("id_", ["", "../../etc/passwd", "a/b", "?", "#", "%2e%2e", "x" * 2000, "\n"])
async def test_no_id_reaches_another_path(memory: AsyncMemory, id_: str) -> None:
    with pytest.raises(RequestFailed) as refused:
        await memory.get(id_)
    assert not refused.value.retryable


@pytest.mark.parametrize(
    ("method", "given", "fields", "code"),
    [
        ("recall", "locker", {"limit": 0}, "invalid_request: limit: "),
        ("publish", LOCKER, {"created_at": datetime(2026, 2, 1)}, "invalid_request: created_at: "),
        ("remember", "   ", {}, "invalid_request"),
        ("publish", " \n", {}, "invalid_request"),
        ("publish", "z" * 65_537, {}, "too_large"),
        ("remember", "x" * 70_000, {}, "invalid_request"),
        ("publish", "x" * 2_000_000, {}, "too_large"),
        ("remember", "x" * 2_000_000, {}, "too_large"),
    ],
)
async def test_what_makes_no_request_is_refused(
    memory: AsyncMemory, method: str, given: str, fields: dict[str, Any], code: str
) -> None:
    with pytest.raises(RequestFailed, match=code) as refused:
        await getattr(memory, method)(given, **fields)
    assert not refused.value.retryable
