"""Whatever two users do to entries: each changes only their own, twice is once, and no history is lost."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.v1.commands import ForgetRequest
from contracts.v1.edits import BulkRequest, PinRequest, UpdateRequest
from contracts.v1.entries import Entry
from services.shared.errors import Rejected
from services.shared.stores.sqlite import SqliteTextStore
from tests.apps.test_edits import Desk
from tests.apps.test_forgetting import say, the_entry
from tests.sizes import sized

USERS = ("ann", "bob")
ENTRIES = 3
TEXTS = [f"I live in {town}" for town in ("Porto", "Faro", "Lagos", "Braga", "Évora")]

ACTIONS = st.tuples(
    st.sampled_from(USERS),
    st.sampled_from(["say", "redact", "pin", "unpin", "tag", "untag", "forget"]),
    st.sampled_from([(user, n) for user in USERS for n in range(ENTRIES)]),
    st.sampled_from(TEXTS),
)


@dataclass(slots=True)
class Known:
    """What an entry must be."""

    texts: list[str]
    pinned: bool = False
    forgotten: bool = False


class World:
    """The entries of both users as they are, beside what they must be."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.entries: dict[tuple[str, int], Entry] = {}
        self.known: dict[tuple[str, int], Known] = {}
        self._gone: set[tuple[str, str]] = set()

    async def begin(self) -> None:
        for user in USERS:
            for n in range(ENTRIES):
                entry = await the_entry(self.desk.store, await say(self.desk.store, f"I own the number {n}", user))
                self.entries[user, n] = entry
                self.known[user, n] = Known([entry.text])

    async def do(self, user: str, action: str, target: tuple[str, int], text: str) -> None:
        entry, wanted = self.entries[target], None
        for _ in range(2):  # twice is once
            found = await self._answer(user, action, entry, text)
            wanted = wanted or self._expect(user, action, target, text)
            assert found == wanted, (user, action, target, text)
        await self.check()

    async def _answer(self, user: str, action: str, entry: Entry, text: str) -> str:
        editor = self.desk.editor
        try:
            match action:
                case "say" | "redact":
                    redact = action == "redact"
                    await editor.update(UpdateRequest(user_id=user, id=entry.id, text=text, redact=redact, by=user))
                case "pin":
                    await editor.pin(PinRequest(user_id=user, id=entry.id))
                case "unpin":
                    await editor.unpin(PinRequest(user_id=user, id=entry.id))
                case "forget":
                    await editor.forget(ForgetRequest(user_id=user, id=entry.id))
                case "tag" | "untag":
                    ids = (entry.id,)
                    asked = {"user_id": user, "ids": ids, "action": action, "tags": (text,)}
                    failed = (await editor.bulk(BulkRequest.model_validate(asked))).failed
                    return failed[0].code if failed else "ok"
        except Rejected as error:
            return error.info.code
        return "ok"

    def _expect(self, user: str, action: str, target: tuple[str, int], text: str) -> str:
        """What is answered, and what is so from then on."""
        known = self.known[target]
        if target[0] != user or (known.forgotten and action != "forget"):
            return "not_found"
        match action:
            case "say" | "redact":
                if refused := self._why_not(target, text):
                    return refused
                if action == "redact":
                    self._gone |= {(user, one) for one in known.texts if one != text}
                    known.texts = [text]
                elif text != known.texts[-1]:
                    known.texts.append(text)
            case "pin" | "unpin":
                known.pinned = action == "pin"
            case "forget":
                self._gone |= {(user, one) for one in known.texts}
                known.forgotten, known.texts = True, []
        return "ok"

    def _why_not(self, target: tuple[str, int], text: str) -> str | None:
        user = target[0]
        if self.known[target].texts[-1] == text:
            return None
        others = (known for key, known in self.known.items() if key[0] == user and key != target)
        if any(known.texts and known.texts[-1] == text for known in others):
            return "conflict"
        return "refused" if (user, text) in self._gone else None

    async def check(self) -> None:
        for target, known in self.known.items():
            entry = await self.desk.stored(self.entries[target])
            if known.forgotten:
                assert (entry.status, entry.text, entry.revisions) == ("forgotten", "", ())
                continue
            assert (entry.status, entry.pinned) == ("active", known.pinned)
            assert (entry.importance == 1.0) >= known.pinned
            assert [entry.text, *(one.text for one in entry.revisions)] == known.texts[::-1]


@settings(max_examples=sized(40), deadline=None)
@given(st.lists(ACTIONS, max_size=12))
def test_each_changes_only_their_own_twice_is_once_and_no_history_is_lost(
    actions: list[tuple[str, str, tuple[str, int], str]],
) -> None:
    async def live() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await SqliteTextStore.open(Path(folder) / "memory.sqlite3", synchronous="normal")
            world = World(Desk(store))
            await world.begin()
            for action in actions:
                await world.do(*action)
            await store.close()

    asyncio.run(live())
