"""The audit: what is kept of a request, that no word is, that nobody waits, and that an erase leaves only itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import flow
from contracts.ports import Record, Unavailable
from contracts.v1.audit import Action, AuditNoteRequest, AuditReply, AuditRequest, OpsAuditRequest
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import (
    CreateRequest,
    EraseReceipt,
    EraseReply,
    EraseRequest,
    ForgetRequest,
    ListRequest,
    ReconcileRequest,
)
from contracts.v1.control import SettingsChange, SettingsRequest
from contracts.v1.edits import BulkRequest, PinRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.curate import audit, commands, privacy
from services.curate.stores import Stores
from services.shared import audit as trails
from services.shared import telemetry
from services.shared.audit import AuditTrail, action_of
from services.shared.bus.requests import Answered
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.fakes import FakeInFlight, say_nothing
from tests.stores.builders import an_entry

KEY = b"k" * 32
NOW = datetime.now(UTC)
HASHED = "#" + blake2b(b"my lamp", key=KEY, digest_size=16).hexdigest()
NOTHING = RetrieveReply.nothing(RetrieveRequest(user_id="ann", query="?"), "lexical")


def answered(answer: flow.Answer[Any, Any], request: Any, reply: Any = None, **given: Any) -> Answered:
    asked_at = datetime.now(UTC) - timedelta(seconds=0.25)
    fields = {"outcome": "ok", "asked_at": asked_at, "seconds": 0.25, "credential": None, **given}
    return Answered(answer, request, reply, **fields)


def kept(answer: flow.Answer[Any, Any], request: Any, reply: Any = None, *, key: bytes = KEY, **given: Any) -> Action:
    """What is kept of a request."""
    action = action_of(answered(answer, request, reply, **given), key)
    assert action is not None
    return action


def asking(query: str) -> RetrieveRequest:
    return RetrieveRequest(user_id="ann", query=query, correlation_id="c1")


def test_of_a_retrieval_the_question_is_kept_as_a_hash_that_only_the_key_makes() -> None:
    lamp, hat = asking("where is my lamp?"), asking("where is my hat?")
    action = kept(flow.RETRIEVE, lamp, NOTHING, credential="key:7")
    assert kept(flow.RETRIEVE, lamp, NOTHING).query_hash == action.query_hash
    others = (kept(flow.RETRIEVE, hat, NOTHING), kept(flow.RETRIEVE, lamp, NOTHING, key=b"other"))
    assert len({action.query_hash, *(one.query_hash for one in others)}) == 3
    assert (action.verb, action.count, action.correlation_id, action.credential) == ("retrieve", 0, "c1", "key:7")
    assert action.latency_ms == 250


def test_of_an_incognito_retrieval_not_even_the_hash_is_kept() -> None:
    request = RetrieveRequest(user_id="ann", query="where?", asked_in="chat")
    assert kept(flow.RETRIEVE, request, RetrieveReply.nothing(request, "incognito")).query_hash is None


@pytest.mark.parametrize(
    ("answer", "request_", "about"),
    [
        (flow.ERASE, EraseRequest(user_id="ann"), ()),
        (flow.ERASE, EraseRequest(user_id="ann", requested_at=NOW), None),
        (flow.LIST, ListRequest(user_id="ann"), None),
        (flow.LIST, ListRequest(user_id="ann", q="lamp"), ()),
        (flow.BULK, BulkRequest(user_id="ann", ids=("e1", "my lamp"), action="pin"), ("pin", "e1", HASHED)),
        (
            flow.BULK,
            BulkRequest(user_id="ann", ids=("e1",), action="forget", whole="conversation"),
            ("forget", "conversation", "e1"),
        ),
        (flow.PIN, PinRequest(user_id="ann", id="my lamp"), (HASHED,)),
        (flow.SETTINGS, SettingsRequest(user_id="ann"), None),
        (
            flow.SETTINGS,
            SettingsRequest(user_id="ann", change=SettingsChange(soft_cap=3), reset=("memory_enabled",)),
            ("memory_enabled", "soft_cap"),
        ),
        (flow.RECONCILE, ReconcileRequest(side="log"), None),
        (flow.RECONCILE, ReconcileRequest(side="log", fix=True), ()),
        (flow.RETRIEVE, None, None),
    ],
)
def test_what_only_looks_is_not_kept(
    answer: flow.Answer[Any, Any], request_: Any, about: tuple[str, ...] | None
) -> None:
    action = action_of(answered(answer, request_), KEY)
    assert (action and action.about) == about


def test_a_chat_command_is_kept_once_it_is_done_or_shows_something() -> None:
    entry = an_entry("ann", "the lamp")
    request = CommandRequest(user_id="ann", text="forget the lamp")
    asked = CommandReply(understood=True, verb="forget", items=(entry,), needs_confirmation=True, token="t")
    shown = kept(flow.COMMANDS, request, asked)
    assert (shown.about, shown.count) == (("forget", "unconfirmed", entry.id), 1)
    for nothing in (asked.model_copy(update={"items": ()}), CommandReply(understood=False)):
        assert action_of(answered(flow.COMMANDS, request, nothing), KEY) is None
    action = kept(flow.COMMANDS, request, asked.model_copy(update={"needs_confirmation": False}))
    assert action.about == ("forget", entry.id)
    assert "lamp" not in action.model_dump_json()


@given(st.text(alphabet="xyz", min_size=8), st.sampled_from(["ok", "not_found"]))
def test_no_word_of_a_request_is_kept(text: str, outcome: str) -> None:
    secret = f"zq{text}"
    for action in (
        kept(
            flow.CREATE,
            CreateRequest(user_id="ann", text=secret, tags=(secret,), correlation_id=f"key {secret}"),
            outcome=outcome,
        ),
        kept(flow.LIST, ListRequest(user_id="ann", q=secret), outcome=outcome),
        kept(flow.FORGET, ForgetRequest(user_id="ann", id=secret), outcome=outcome),
        kept(flow.RETRIEVE, RetrieveRequest(user_id="ann", query=secret, tags=(secret,)), NOTHING, outcome=outcome),
    ):
        assert secret not in action.model_dump_json()


@pytest.fixture
def trail(store: SqliteTextStore) -> AuditTrail:
    return AuditTrail(store, "key")


async def of(store: SqliteTextStore, **given: Any) -> AuditReply:
    return await audit.audit(AuditRequest.model_validate({"user_id": "ann", **given}), records=store)


def done(minute: int, verb: str = "entries.pin", user: str = "ann") -> Action:
    return Action(at=NOW + timedelta(minutes=minute), user_id=user, verb=verb, about=(f"e{minute}",))


async def test_what_was_done_is_read_page_by_page_the_latest_first(store: SqliteTextStore, trail: AuditTrail) -> None:
    actions = [done(n, "entries.pin" if n % 3 else "entries.forget") for n in range(20)]
    for action in [*actions, done(3, user="bob")]:
        trail.note(action)
    await trail.flush()
    page = await of(store, limit=7)
    found = [*page.items]
    while page.next_cursor is not None:
        page = await of(store, limit=7, cursor=page.next_cursor)
        found += page.items
    assert found == actions[::-1]
    assert (await of(store, verbs=["entries.forget"], limit=3)).items == tuple(actions[n] for n in (18, 15, 12))
    assert (await of(store, since=actions[15].at)).items == tuple(actions[:14:-1])
    everybody = await audit.audit(OpsAuditRequest(limit=100), records=store)
    assert len(everybody.items) == 21


async def test_operators_are_kept_account_of_and_so_is_whom_it_concerned(
    store: SqliteTextStore, trail: AuditTrail
) -> None:
    await audit.note(AuditNoteRequest(verb="dead.show", users=("ann", "bob"), about=("17",)), trail=trail)
    await audit.note(AuditNoteRequest(verb="dead.drop", about=("18",)), trail=trail)
    assert [(one.verb, one.about) for one in (await of(store)).items] == [("dead.show", ("17",))]
    everybody = (await audit.audit(OpsAuditRequest(), records=store)).items
    assert [(one.user_id, one.verb) for one in everybody] == [
        ("", "dead.drop"), ("bob", "dead.show"), ("ann", "dead.show"),
    ]  # fmt: skip


def test_an_erase_that_is_noted_late_counts_from_when_it_began() -> None:
    began = datetime.now(UTC) - timedelta(seconds=3)
    receipt = EraseReceipt(removed={}, left={}, drained=True, swept=True, requested_at=began)
    erased = kept(flow.ERASE, EraseRequest(user_id="ann"), EraseReply(receipt=receipt), asked_at=began)
    assert erased.at == began


async def test_an_erase_leaves_of_the_audit_only_that_it_was_done(store: SqliteTextStore, trail: AuditTrail) -> None:
    trail.note(done(-2))
    await trail.flush()
    trail.note(done(-1))  # waits in a process that knows nothing of the erase
    stores = Stores(store, None, FakeInFlight(), say_nothing)
    mark = await privacy.begin("ann", stores=stores)
    await privacy.complete(mark, stores=stores)
    await trail.flush()
    assert (await of(store)).items == ()
    assert (await of(store)).erased_at == mark.requested_at
    assert set((await store.count_remaining("ann")).values()) == {0}
    (left,) = (await audit.audit(OpsAuditRequest(), records=store)).items
    assert (left.verb, "ann" in left.model_dump_json()) == ("memory.erase", False)
    later = done(1).model_copy(update={"at": datetime.now(UTC)})
    trail.note(later)
    await trail.flush()
    assert (await of(store)).items == (later,)


async def test_who_is_erased_while_the_trail_is_slow_is_not_brought_back(
    store: SqliteTextStore, trail: AuditTrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = Stores(store, None, FakeInFlight(), say_nothing)
    add = store.add_records

    async def late(records: Sequence[Record]) -> None:
        await privacy.complete(await privacy.begin("ann", stores=stores), stores=stores)
        await add(records)

    monkeypatch.setattr(store, "add_records", late)
    trail.note(done(-1))
    await trail.flush()
    assert (await of(store)).items == ()
    assert set((await store.count_remaining("ann")).values()) == {0}


async def test_what_cannot_be_written_waits_and_at_last_the_latest_is_lost(
    store: SqliteTextStore, trail: AuditTrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_: object) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(trails, "_MOST_WAITING", 3)
    lost = telemetry.AUDIT_LOST._value.get()
    with monkeypatch.context() as patch:
        patch.setattr(store, "add_records", away)
        for minute in range(5):
            trail.note(done(minute))
        with pytest.raises(Unavailable):
            await trail.flush()
    await trail.flush()
    assert [one.about for one in (await of(store)).items] == [("e2",), ("e1",), ("e0",)]
    assert telemetry.AUDIT_LOST._value.get() - lost == 2


async def test_the_audit_ages_by_whole_days(store: SqliteTextStore, trail: AuditTrail) -> None:
    for days in (1, 179, 182):
        trail.note(done(-days * 24 * 60))
    await trail.flush()
    assert await audit.expire_audit(records=store, days=0) == 0
    assert await audit.expire_audit(records=store, days=180) == 1
    assert len((await of(store)).items) == 2


async def test_noting_a_retrieval_asks_nothing_of_the_store(
    store: SqliteTextStore, trail: AuditTrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Sequence[Record]] = []

    async def add_records(records: Sequence[Record]) -> None:
        written.append(records)

    monkeypatch.setattr(store, "add_records", add_records)
    for _ in range(100):
        trail.heard(answered(flow.RETRIEVE, asking("where is my lamp?"), NOTHING))
    assert written == []
    await trail.flush()
    assert len(written) == 1


async def test_an_audit_that_does_not_fit_is_a_shorter_page_of_whole_lines(
    store: SqliteTextStore, trail: AuditTrail
) -> None:
    for _ in range(5):
        await audit.note(AuditNoteRequest(verb="dead.drop", users=("ann",), about=("a", "b")), trail=trail)
    request = AuditRequest(user_id="ann")
    read = partial(audit.audit, records=store)
    whole = await read(request)
    for room in (2500, 100):
        shorter = await commands.shorten_page(request, whole, room, ask=read)
        assert shorter.items == whole.items[: len(shorter.items)]
        assert 1 <= len(shorter.items) < len(whole.items)
        assert shorter == AuditReply.model_validate(shorter.model_dump())
