"""A memory that is talked to: the commands over a real store, and what they asked of others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from contracts import flow
from contracts.ports import Key, Selection, TextStore
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest
from contracts.v1.control import (
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
    SpaceSettings,
)
from contracts.v1.entries import Entry
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from services.curate import chat_commands, conflicts
from services.curate.edits import Editor
from services.retrieve.reply import item_of
from services.shared.ranking.scoring import Candidate, Ranked
from tests.apps.fakes import FakeReader
from tests.apps.settling import settle
from tests.apps.test_forgetting import DAY, places, say, the_entry
from tests.stores.builders import NOON, an_entry, minutes, store_entries


@contextmanager
def _finishing(entry: Key, again: Callable[[], Awaitable[object]]) -> Iterator[None]:
    yield


@dataclass
class Memory:
    """A store behind the commands, and what was asked of the others."""

    store: TextStore
    found: list[Entry] = field(default_factory=list)
    cosine: float | None = 0.5
    asked: list[RetrieveRequest] = field(default_factory=list)
    erased: list[str] = field(default_factory=list)
    decided: list[Any] = field(default_factory=list)
    waited_for: list[str] = field(default_factory=list)
    zone: str | None = None

    async def hears(self, *texts: str, user: str = "ann", **fields: Any) -> list[Entry]:
        """A user says this, one text a minute after the other."""
        begin = fields.pop("created_at", NOON)
        turns = [
            await say(self.store, text, user, created_at=begin + minutes(n), **fields) for n, text in enumerate(texts)
        ]
        return [await the_entry(self.store, turn) for turn in turns]

    async def hears_change(self, old: str, new: str, *, at: timedelta = timedelta(0), **fields: Any) -> None:
        """A text, and a day later one that changes it, as a reader sees."""
        told = {"conversation_id": "c1", "role": "user"}
        older = an_entry("ann", old, created_at=NOON + at, **told, **fields)
        entries = [older, an_entry("ann", new, created_at=NOON + at + DAY, **told)]
        await store_entries(self.store, entries)
        await settle(self.store, entries, FakeReader(updates=[(old, new)]))

    async def says(self, text: str, **fields: Any) -> CommandReply:
        request = CommandRequest(user_id="ann", text=text, **fields)
        return await chat_commands.answer(request, store=self.store, ask=self._ask, until_heard=self._until_heard)

    async def lists(self, text: str, **fields: Any) -> list[str]:
        """The texts that are answered."""
        return [entry.text for entry in (await self.says(text, **fields)).items]

    async def entries(self) -> list[Entry]:
        return list((await self.store.page(Selection("ann"), limit=100, cursor=None)).entries)

    async def texts(self) -> set[str]:
        return {entry.text for entry in await self.entries()}

    async def pinned(self) -> set[str]:
        return {entry.text for entry in await self.entries() if entry.pinned}

    async def _until_heard(self, user_id: str) -> None:
        self.waited_for.append(user_id)

    async def _ask(self, answer: Any, request: Any) -> Any:
        stores = places(self.store)[0]
        editor = Editor(stores, _finishing, DAY, 16_384)
        answers: dict[Any, Callable[[Any], Awaitable[Any]]] = {
            flow.RETRIEVE: self._retrieve,
            flow.FORGET: editor.forget,
            flow.ERASE: self._erase,
            flow.PIN: editor.pin,
            flow.UNPIN: editor.unpin,
            flow.UPDATE: editor.update,
            flow.SETTINGS: self._settings,
            flow.INCOGNITO_START: self._incognito,
            flow.INCOGNITO_END: self._incognito,
            flow.CONFLICTS: partial(conflicts.list_conflicts, store=self.store),
            flow.RESOLVE: partial(conflicts.resolve, stores=stores),
        }
        return await answers[answer](request)

    async def _retrieve(self, request: RetrieveRequest) -> RetrieveReply:
        self.asked.append(request)
        ranked = [
            (Ranked(Candidate(entry.id, cosine=self.cosine), 0.5, 0.5, 0.5, 1.5, NOON), entry) for entry in self.found
        ]
        items = tuple(item_of(one, entry, (), explain=request.explain) for one, entry in ranked)
        return RetrieveReply.nothing(request, "").model_copy(update={"items": items, "degraded": ()})

    async def _settings(self, request: SettingsRequest) -> SettingsReply:
        if request.change is not None:
            self.decided.append(request)
        return SettingsReply(space=request.space, settings=SpaceSettings(time_zone=self.zone), own=SpaceSettings())

    async def _incognito(self, request: IncognitoStartRequest | IncognitoEndRequest) -> IncognitoReply:
        self.decided.append(request)
        is_on = isinstance(request, IncognitoStartRequest)
        return IncognitoReply(conversation_id=request.conversation_id, incognito=is_on, until=NOON)

    async def _erase(self, request: EraseRequest) -> EraseReply:
        self.erased.append(request.user_id)
        return EraseReply(receipt=EraseReceipt(removed={}, left={}, drained=True, swept=True))
