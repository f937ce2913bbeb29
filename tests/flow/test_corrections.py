"""Corrections on real engines: what an entry says now is found by words and meaning; what it said before is its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts import flow
from contracts.v1.commands import ForgetRequest, ListRequest
from contracts.v1.edits import BulkRequest, HistoryRequest, PinRequest, UpdateRequest
from contracts.v1.entries import Entry
from contracts.v1.overview import ExportRequest, SummaryRequest, ThemeSaveRequest, ThemesRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.runtime import Running
from services.shared.client import MemoryClient, RequestFailed
from tests.flow.raw import a_marker, holding
from tests.polling import answered, digested, eventually

PATIENCE = 5.0


async def said(client: MemoryClient, text: str, user: str = "ann", **fields: object) -> Entry:
    await client.publish(Turn.model_validate({"user_id": user, "role": "user", "text": text, **fields}))
    await eventually(lambda: listed(client, user), lambda found: text in [one.text for one in found])
    await digested(client, turns=1)
    return next(one for one in await listed(client, user) if one.text == text)


async def listed(client: MemoryClient, user: str = "ann") -> tuple[Entry, ...]:
    return (await client.list(ListRequest(user_id=user))).items


async def update(client: MemoryClient, entry: Entry, **change: object) -> Entry:
    request = UpdateRequest.model_validate({"user_id": entry.user_id, "id": entry.id, **change})
    return (await client.request(flow.UPDATE, request, patience=PATIENCE)).entry


async def asked(client: MemoryClient, query: str) -> RetrieveReply:
    return await answered(client, RetrieveRequest(user_id="ann", query=query, min_score=0.0))


def by_words(found: RetrieveReply) -> bool:
    return bool(found.items) and found.items[0].signals.lexical


async def test_what_was_corrected_is_found_by_what_it_says_now(client: MemoryClient, instance: Running) -> None:
    entry, other = await said(client, "My bicycle is a red Gazelle."), await said(client, "I am allergic to nuts.")
    new = await update(client, entry, text="My boat is called Matilda.", version=entry.version, by="me")
    assert new.text == "My boat is called Matilda."
    found = await eventually(lambda: asked(client, "Matilda"), by_words)  # OpenSearch finds them within a second
    assert found.items[0].text == "My boat is called Matilda."
    await digested(client, turns=2)
    found = await asked(client, "the name of the ship")
    assert found.items[0].id == entry.id
    assert found.items[0].signals.semantic
    assert "Gazelle" not in (await asked(client, "Gazelle")).model_dump_json(exclude={"correlation_id"})
    history = await client.request(flow.HISTORY, HistoryRequest(user_id="ann", id=entry.id), patience=PATIENCE)
    assert [(item.text, item.by) for item in history.items] == [(new.text, "me"), (entry.text, None)]
    with pytest.raises(RequestFailed, match=f"conflict: entry {entry.id} says the same"):
        await update(client, other, text="my boat is called matilda")


async def test_entries_are_pinned_sorted_counted_and_exported(client: MemoryClient, instance: Running) -> None:
    first, second = await said(client, "I own a red bike."), await said(client, "I own a blue car.")
    pin = PinRequest(user_id="ann", id=first.id)
    held = (await client.request(flow.PIN, pin, patience=PATIENCE)).entry
    assert (held.pinned, held.importance) == (True, 1.0)
    bulk = BulkRequest(user_id="ann", ids=(first.id, second.id, "unknown"), action="tag", tags=("garage",))
    done = await client.request(flow.BULK, bulk, patience=PATIENCE)
    assert (done.done, [one.id for one in done.failed]) == ((first.id, second.id), ["unknown"])
    assert {item.id for item in (await client.list(ListRequest(user_id="ann", tags=("garage",)))).items} == {
        first.id,
        second.id,
    }
    theme = ThemeSaveRequest(user_id="ann", slug="vehicles", display_name="Vehicles")
    await client.request(flow.THEME_SAVE, theme, patience=PATIENCE)
    await update(client, second, themes=["vehicles"])
    themes = await client.request(flow.THEMES, ThemesRequest(user_id="ann"), patience=PATIENCE)
    assert [(one.display_name, one.count) for one in themes.items] == [("Vehicles", 1)]
    summary = await client.request(flow.SUMMARY, SummaryRequest(user_id="ann"), patience=PATIENCE)
    assert "2 memories" in summary.text
    assert "Vehicles (1)" in summary.text
    export = await client.request(flow.EXPORT, ExportRequest(user_id="ann", limit=1), patience=PATIENCE)
    assert export.lines[0].startswith('{"memorybus_export":1')
    assert export.next_cursor is not None
    free = (await client.request(flow.UNPIN, pin, patience=PATIENCE)).entry
    assert (free.pinned, free.importance) == (False, first.importance)


class TestFilesOfTheEmbeddedEngines:
    @pytest.fixture
    def engine(self) -> dict[str, str]:
        return {}

    @pytest.mark.parametrize("way", ["forget", "redact"])
    async def test_no_version_of_a_text_leaves_a_byte(
        self, instance: Running, client: MemoryClient, tmp_path: Path, way: str
    ) -> None:
        words = [a_marker() for _ in range(3)]
        text = "The code word of my locker is {}."
        entry = await said(client, text.format(words[0]), tags=(words[0], f"about {words[0]}"))
        await said(client, "I am allergic to nuts.")
        for word in words[1:]:
            await update(client, entry, text=text.format(word))
            await digested(client, turns=2)
        assert all(holding(tmp_path, word) for word in words), "the search must be able to find"
        if way == "forget":
            await client.forget(ForgetRequest(user_id="ann", id=entry.id))
        else:
            await update(client, entry, text="My locker has a code word.", redact=True)
        for word in words:
            await eventually(lambda: held(tmp_path, word), lambda found: not found, within=150)  # noqa: B023
        left = {one.text for one in await listed(client)}
        redacted = {"My locker has a code word."} if way == "redact" else set()
        assert left == {"I am allergic to nuts.", *redacted}


async def held(folder: Path, word: str) -> dict[str, int]:
    return holding(folder, word)
