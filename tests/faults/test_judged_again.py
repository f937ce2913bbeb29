"""What dedupe cannot decide at once, as others change what a decision rests on, it decides a little later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from contracts.ports import Accepted, Decision, Outcome, TextStore
from contracts.v1.entries import EntryAccepted, EntryEvent, EntryProposed, EntryRef, EntryRepeated
from contracts.v1.turns import LoggedTurn, Proposal
from services.dedupe.handler import judge_proposals
from services.ingest.handler import propose
from services.shared.stores.opensearch import statements
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.statements import enlist
from services.shared.stores.sqlite import SqliteTextStore
from tests.servers import opensearch
from tests.stores.opensearch_openers import a_store

pytestmark = pytest.mark.timeout(300)


def proposals(user_id: str, *texts: str) -> list[Proposal]:
    """One proposal for each text, as ingest makes them."""
    at = datetime(2026, 2, 1, 12, 0, tzinfo=UTC)
    turns = [
        LoggedTurn(user_id=user_id, role="user", text=text, turn_id=str(uuid4()), created_at=at, session_id="s")
        for text in texts
    ]
    return [propose(turn) for turn in turns]


class Died(Exception):
    """A replica ended here."""


async def enlist_and_die(engine: Engine, accepted: Sequence[Accepted]) -> set[str]:
    """List entries as makers of their statements, and store none of them."""
    await enlist(engine, accepted)
    raise Died


async def judged(store: TextStore, proposal: Proposal) -> EntryEvent:
    """What dedupe says about one proposal."""
    ref = EntryRef(user_id=proposal.user_id, id=proposal.id)
    events = await judge_proposals([EntryProposed.of([ref], at=proposal.turn.created_at)], store=store)
    (said,) = [event for event in events if proposal.id in {ref.id for ref in event.entries}]
    return said


async def test_what_others_keep_changing_is_judged_until_it_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteTextStore.open(tmp_path / "memory.sqlite3")
    settle, in_vain = store.apply, iter(range(5))

    async def settle_after_others(decisions: Sequence[Decision]) -> list[Outcome]:
        return [] if next(in_vain, None) is not None else await settle(decisions)

    monkeypatch.setattr(store, "apply", settle_after_others)
    (proposal,) = proposals("ann", "I live in Porto")
    await store.append([proposal.turn], [proposal])
    assert isinstance(await judged(store, proposal), EntryAccepted)
    await store.close()


async def test_what_a_replica_that_died_was_about_to_store_is_stored_by_whoever_repeats_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, where = opensearch.server_url()
    if url is None:
        pytest.skip(where)
    async with a_store(url) as store:
        first, second = proposals(f"u-{uuid4().hex}", "I live in Porto", "Well, I live in Porto!")
        await store.append([first.turn, second.turn], [first, second])
        with monkeypatch.context() as broken:
            broken.setattr(statements, "enlist", enlist_and_die)
            with pytest.raises(Died):
                await judged(store, first)
        assert isinstance(await judged(store, second), EntryRepeated)
        assert isinstance(await judged(store, first), EntryAccepted)
        (entry,) = (await store.get([first])).values()
        assert entry.repeat_count == 1
