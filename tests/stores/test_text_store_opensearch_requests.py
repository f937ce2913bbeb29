"""How often OpenSearch is asked over all stages, and what is at hand from the stage before: never more than is true."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from contracts.v1.entries import EntryAccepted, EntryEnriched, EntryEvent, EntryProposed, EntryRef
from contracts.v1.turns import Proposal
from services.dedupe.handler import NotLogged, judge_proposals
from services.embed.handler import embed_entries
from services.enrich.handler import enrich_entries
from services.shared.stores.opensearch import OpenSearchTextStore, engine
from tests.faults.state_machine_ports import ExactVectors, TinyAnnotator, TinyEmbedder
from tests.house import opensearch_requests
from tests.polling import eventually
from tests.servers import opensearch
from tests.stores.builders import log_texts, tomorrow
from tests.stores.opensearch_openers import Another

BARS = {"a new statement": 8, "a repeat": 6}


@pytest.fixture
async def store(another: Another) -> OpenSearchTextStore:
    return await another()


async def test_requests_over_all_stages_are_few() -> None:
    url, where = opensearch.server_url()
    if url is None:
        pytest.skip(where)
    for what, requests in (await opensearch_requests(url)).items():
        print(f"\n{len(requests)} requests of {what}: {', '.join(requests)}")
        assert len(requests) <= BARS[what], requests


async def logged(store: OpenSearchTextStore, user: str) -> Proposal:
    (proposal,) = await log_texts(store, user, "I prefer uv over pip")
    return proposal


def refs(proposal: Proposal) -> list[EntryRef]:
    return [EntryRef(user_id=proposal.user_id, id=proposal.id)]


async def judged(store: OpenSearchTextStore, proposal: Proposal) -> list[EntryEvent]:
    said = await judge_proposals([EntryProposed.of(refs(proposal), at=proposal.turn.created_at)], store=store)
    return [event for event in said if event.entries]


async def enriched(store: OpenSearchTextStore, proposal: Proposal) -> None:
    event = EntryAccepted.of(refs(proposal), at=datetime.now(UTC))
    await enrich_entries([event], store=store, annotator=TinyAnnotator())


async def embedded(store: OpenSearchTextStore, proposal: Proposal) -> ExactVectors:
    event, vectors = EntryEnriched.of(refs(proposal), at=datetime.now(UTC)), ExactVectors()
    await embed_entries([event], store=store, vectors=vectors, embedder=TinyEmbedder())
    return vectors


async def test_what_was_taken_off_the_log_elsewhere_is_not_stored(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    proposal = await logged(store, user)
    await (await another()).withdraw([proposal.turn])
    with pytest.raises(NotLogged):
        await judged(store, proposal)
    assert set((await store.count_remaining(user)).values()) == {0}


async def test_what_was_decided_elsewhere_keeps_its_outcome(
    store: OpenSearchTextStore, another: Another, user: str
) -> None:
    proposal = await logged(store, user)
    expected = await judged(await another(), proposal)
    assert [event.subject for event in await judged(store, proposal)] == [event.subject for event in expected]
    (entry,) = (await store.get([proposal])).values()
    assert (entry.version, entry.repeat_count) == (1, 0)


@pytest.mark.parametrize("how", ["forgotten", "erased"])
@pytest.mark.parametrize("stage", ["enrich", "embed"])
async def test_what_went_out_of_use_elsewhere_does_not_come_back(
    store: OpenSearchTextStore, another: Another, user: str, stage: str, how: str
) -> None:
    proposal, other = await logged(store, user), await another()
    await judged(store, proposal)
    if stage == "embed":
        await enriched(store, proposal)
    if how == "forgotten":
        await other.forget([proposal], until=tomorrow())
    else:
        await other.erase(user)
    if stage == "enrich":
        await enriched(store, proposal)
    vectors = await embedded(store, proposal)
    assert vectors.points == {}
    assert [entry.text for entry in (await store.get([proposal])).values()] == ([""] if how == "forgotten" else [])


@pytest.mark.parametrize("may_lag", [True, False])
async def test_what_is_at_hand_is_taken_once_and_never_shown(
    store: OpenSearchTextStore, another: Another, user: str, *, may_lag: bool
) -> None:
    proposal, other = await logged(store, user), await another()
    await judged(store, proposal)
    await enriched(other, proposal)
    read = [(await store.get([proposal], may_lag=lambda _: may_lag))[proposal.id] for _ in range(2)]
    assert [entry.version for entry in read] == ([1, 2] if may_lag else [2, 2])


async def test_what_nobody_takes_is_dropped_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_SECONDS", 0.05)
    held: engine.Recent[str, str] = engine.Recent()
    held.put("a", "1")

    async def kept() -> int:
        return len(held._held)

    await eventually(kept, lambda count: count == 0)
