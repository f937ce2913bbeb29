"""The memory of one user, for programs with an event loop."""

# A method that `asks` is its signature alone.
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from functools import wraps
from inspect import signature
from types import TracebackType
from typing import Any, Literal, ParamSpec, Self, TypeVar

from contracts import flow
from contracts.flow import Answer
from contracts.paths import TruncateReply
from contracts.v1.audit import AuditReply
from contracts.v1.cards import CardsReply, NamesReply
from contracts.v1.chat import CommandReply
from contracts.v1.commands import EraseReceipt, ForgetReceipt, ListReply, StatusReply
from contracts.v1.conflicts import ConflictsReply, ResolveReply
from contracts.v1.control import IncognitoReply, SettingName, SettingsChange, SettingsReply
from contracts.v1.edits import BulkReply, HistoryReply
from contracts.v1.entries import Entry, Status
from contracts.v1.loops import LoopsReply, OpenLoop, State, Wanted
from contracts.v1.overview import SummaryReply, Theme, ThemeRemoveReply, ThemesReply
from contracts.v1.profile import DecideReply, ProfileReply, SeedReply
from contracts.v1.retrieval import RetrieveReply
from contracts.v1.sessions import SessionsReply
from contracts.v1.turns import EntryType, Role
from memorybus_client.caller import Caller, TurnId, address

P = ParamSpec("P")
T = TypeVar("T")


def asks(
    answer: Answer[Any, Any], part: str = ""
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Make a method of a signature: its arguments are fields of the request, and it gives this part of the reply."""

    def method_of(declared: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        parameters = signature(declared)

        @wraps(declared)
        async def ask(*given: P.args, **named: P.kwargs) -> T:
            arguments = parameters.bind(*given, **named)
            arguments.apply_defaults()
            memory = arguments.arguments.pop("self")
            reply = await memory._caller.call(answer, **arguments.arguments)
            return getattr(reply, part) if part else reply  # type: ignore[no-any-return]

        return ask

    return method_of


class AsyncMemory:
    """What a running memorybus keeps of one user.

    `url` is the HTTP edge (`http://…`) or the bus (`nats://…`, as `memorybus address` prints it); without one it is
    MEMORYBUS_URL, else the HTTP edge on this machine. Give `key`, an API key or a JWT, which names the user, or else
    `user`; never both. A call takes no longer than `timeout` seconds in all; it is tried again `retries` times at
    most, where that does no harm. `options` go to `httpx.AsyncClient` or `nats.connect`: certificates, credentials,
    proxies.

    It belongs to the event loop that uses it first: in any other one, and once closed, every method raises `Misused`.

    Every method raises `Unavailable` where nothing answers and `RequestFailed` where memorybus answers with an error.
    Arguments that are None are not sent; what they mean stands in the contract, at the request of the same name.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        user: str | None = None,
        key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._caller = Caller(address(url), user=user, key=key, timeout=timeout, retries=retries, options=options or {})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of every connection."""
        await self._caller.close()

    @asks(flow.CREATE, "entry")
    async def remember(
        self,
        text: str,
        *,
        type: EntryType | None = None,
        tags: Sequence[str] | None = None,
        space: str | None = None,
        source_ids: Sequence[str] | None = None,
        persona_id: str | None = None,
        speaker: str | None = None,
        manually_saved: bool | None = None,
    ) -> Entry:
        """Remember this; the entry that now says it, which may be an older one that said the same."""

    @asks(flow.RETRIEVE)
    async def recall(
        self,
        query: str,
        *,
        space: str | None = None,
        limit: int | None = None,
        token_budget: int | None = None,
        types: Sequence[EntryType] | None = None,
        theme: str | None = None,
        tags: Sequence[str] | None = None,
        recency_days: float | None = None,
        min_score: float | None = None,
        persona_id: str | None = None,
        conversation_id: str | None = None,
        now: datetime | None = None,
        time_zone: str | None = None,
        explain: bool | None = None,
        asked_in: str | None = None,
        incognito: bool | None = None,
    ) -> RetrieveReply:
        """Ask what matters now; `context` of the reply is ready to inject into a prompt."""

    async def publish(
        self,
        text: str,
        *,
        role: Role = "user",
        conversation_id: str | None = None,
        turn_id: str | None = None,
        created_at: datetime | None = None,
        space: str | None = None,
        type: EntryType | None = None,
        tags: Sequence[str] | None = None,
        source_ids: Sequence[str] | None = None,
        persona_id: str | None = None,
        speaker: str | None = None,
        manually_saved: bool | None = None,
        incognito: bool = False,
    ) -> TurnId:
        """Publish a turn of a chat; its id. From then on it is not lost, and a moment later it is found.

        The same `turn_id` again has no further effect. An incognito turn is kept nowhere. Whether another is `kept`,
        as far as its user has decided, the id tells over HTTP; over the bus it is None, and ingest decides.
        """
        return await self._caller.publish(
            incognito=incognito,
            text=text,
            role=role,
            conversation_id=conversation_id,
            turn_id=turn_id,
            created_at=created_at,
            space=space,
            type=type,
            tags=tags,
            source_ids=source_ids,
            persona_id=persona_id,
            speaker=speaker,
            manually_saved=manually_saved,
        )

    @asks(flow.GET, "entry")
    async def get(self, id: str) -> Entry:
        """One entry, by its id or a beginning of eight characters or more."""

    @asks(flow.LIST)
    async def list(
        self,
        *,
        space: str | None = None,
        q: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        types: Sequence[EntryType] | None = None,
        tags: Sequence[str] | None = None,
        theme: str | None = None,
        persona_id: str | None = None,
        conversation_id: str | None = None,
        pinned: bool | None = None,
        manually_saved: bool | None = None,
        status: Status | None = None,
    ) -> ListReply:
        """One page of entries, those said last first, `limit` at most and no more than a reply holds.

        While there is a `next_cursor` there are more: given as `cursor` it asks for the next page.
        """

    @asks(flow.UPDATE, "entry")
    async def update(
        self,
        id: str,
        *,
        text: str | None = None,
        type: EntryType | None = None,
        tags: Sequence[str] | None = None,
        themes: Sequence[str] | None = None,
        manually_saved: bool | None = None,
        version: int | None = None,
        redact: bool | None = None,
    ) -> Entry:
        """Correct an entry; with `version` only while nobody changed it since."""

    @asks(flow.PIN, "entry")
    async def pin(self, id: str) -> Entry:
        """Pin an entry: it is never trimmed, and every context begins with it."""

    @asks(flow.UNPIN, "entry")
    async def unpin(self, id: str) -> Entry:
        """Unpin an entry."""

    async def forget(self, id: str, *, may_return: bool = False) -> ForgetReceipt:
        """Forget an entry, with all that says it: for 24 hours the same is refused, unless it `may_return`."""
        return (await self._caller.call(flow.FORGET, id=id, may_return=may_return or None)).receipt

    async def forget_conversation(self, conversation_id: str, *, space: str | None = None) -> TruncateReply:
        """Forget what was said in a conversation alone, in one space or in all, but what is pinned or saved."""
        return await self._caller.forget_conversation(conversation_id, space)

    @asks(flow.HISTORY)
    async def history(self, id: str) -> HistoryReply:
        """Ask what an entry said before."""

    @asks(flow.BULK)
    async def bulk(
        self,
        ids: Sequence[str],
        action: Literal["pin", "unpin", "forget", "tag", "untag"],
        *,
        tags: Sequence[str] | None = None,
    ) -> BulkReply:
        """Do the same to entries, by their whole ids."""

    @asks(flow.THEMES)
    async def themes(self, *, space: str | None = None) -> ThemesReply:
        """List the themes, those with most entries first."""

    @asks(flow.THEME_SAVE, "theme")
    async def save_theme(self, slug: str, display_name: str, *, description: str | None = None) -> Theme:
        """Describe a theme."""

    @asks(flow.THEME_REMOVE)
    async def remove_theme(self, slug: str) -> ThemeRemoveReply:
        """Remove a theme; its entries stay."""

    @asks(flow.SUMMARY)
    async def summary(self, *, space: str | None = None, persona_id: str | None = None) -> SummaryReply:
        """Ask what there is, in numbers and a few sentences; of what this persona knows."""

    @asks(flow.PROFILE)
    async def profile(self, *, space: str | None = None, as_of: datetime | None = None) -> ProfileReply:
        """Ask what is known of the user, fact by fact, now or as of a moment."""

    @asks(flow.DECIDE)
    async def decide_fact(self, id: str, *, is_so: bool | None) -> DecideReply:
        """Say whether a fact of the profile is so, by its id; None leaves it to what is read in its entry."""

    @asks(flow.SEED)
    async def seed(self, facts: Sequence[str], *, space: str | None = None) -> SeedReply:
        """Give what is known of the user from the start, a sentence each; given again, it changes nothing."""

    @asks(flow.CARDS)
    async def cards(self, *, name: str | None = None, space: str | None = None) -> CardsReply:
        """Show what matters of each person, project and event, and which names may be of one person."""

    @asks(flow.NAMES)
    async def decide_names(self, one: str, other: str, *, same: bool | None) -> NamesReply:
        """Decide whether two names are of one person; None leaves it to memorybus again."""

    @asks(flow.LOOPS)
    async def loops(
        self, *, state: Wanted = "open", space: str | None = None, persona_id: str | None = None
    ) -> LoopsReply:
        """List what is still to be done; with another state what is done or dropped, or all of it."""

    @asks(flow.SETTLE, "loop")
    async def settle(self, id: str, state: State | None) -> OpenLoop:
        """Say what became of what was to be done; None leaves it to what is said later."""

    @asks(flow.CONFLICTS)
    async def conflicts(
        self, *, space: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> ConflictsReply:
        """List statements that cannot both be true and that nobody has decided about, the latest first."""

    @asks(flow.RESOLVE)
    async def resolve(self, newer: str, older: str, *, keep: Literal["new", "old", "both", "open"]) -> ResolveReply:
        """Decide which of two statements holds, by their ids."""

    @asks(flow.SESSIONS)
    async def sessions(
        self,
        *,
        id: str | None = None,
        space: str | None = None,
        persona_id: str | None = None,
        rolling: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionsReply:
        """List sessions, the latest first; with `id`, one and its summary; with `rolling`, that of a conversation."""

    @asks(flow.USER_STATUS)
    async def status(self) -> StatusReply:
        """Count what is stored, and what is still on its way."""

    @asks(flow.SETTINGS)
    async def settings(self, *, space: str | None = None, conversation_id: str | None = None) -> SettingsReply:
        """Show what holds in a space; with a conversation also why nothing of it is kept, if so (`refuses`)."""

    async def change_settings(
        self,
        change: SettingsChange | None = None,
        *,
        space: str | None = None,
        reset: Sequence[SettingName] | None = None,
    ) -> SettingsReply:
        """Decide what holds in a space."""
        given = change and change.model_dump(exclude_unset=True)
        return await self._caller.call(flow.SETTINGS, space=space, change=given, reset=reset)

    @asks(flow.INCOGNITO_START)
    async def start_incognito(self, conversation_id: str, *, hours: float | None = None) -> IncognitoReply:
        """Keep nothing of a conversation from now on."""

    @asks(flow.INCOGNITO_END)
    async def end_incognito(self, conversation_id: str, *, hours: float | None = None) -> IncognitoReply:
        """Keep what is said in a conversation from now on."""

    @asks(flow.COMMANDS)
    async def command(
        self,
        text: str,
        *,
        conversation_id: str | None = None,
        space: str | None = None,
        shown: Sequence[str] | None = None,
        listed: bool | None = None,
        confirm: str | None = None,
        persona_id: str | None = None,
    ) -> CommandReply:
        """Do what a user says in a chat about their memory: "forget that", "what do you remember about …?"."""

    @asks(flow.USER_AUDIT)
    async def audit(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        since: datetime | None = None,
        verbs: Sequence[str] | None = None,
    ) -> AuditReply:
        """Ask what was done with the memory, the latest first."""

    def export(self) -> AsyncIterator[str]:
        """Everything of the user, as lines that `memorybus import` reads."""
        return self._caller.export()

    @asks(flow.ERASE, "receipt")
    async def erase(self, *, requested_at: datetime | None = None) -> EraseReceipt:
        """Remove everything of the user for good; with the `requested_at` of a receipt, how that one stands."""
