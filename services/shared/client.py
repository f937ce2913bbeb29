"""A client of memorybus: publishes turns, asks, commands. What the command line, the gateway and the benchmarks use."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contracts import flow, subjects
from contracts.envelope import ErrorReply
from contracts.errors import Unavailable
from contracts.flow import Answer, Q, R
from contracts.v1.audit import AuditNoteReply, AuditNoteRequest, AuditReply, AuditRequest, OpsAuditRequest
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    EraseReply,
    EraseRequest,
    ForgetReply,
    ForgetRequest,
    GetRequest,
    ListReply,
    ListRequest,
    ReconcileReply,
    ReconcileRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.control import (
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
)
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.turns import Turn
from services.shared import tracing
from services.shared.bus import nats
from services.shared.bus.connection import UNANSWERED, Access, connect
from services.shared.bus.nats_patches import NotAllowed
from services.shared.bus.streams import Bus
from services.shared.errors import RequestFailed as RequestFailed
from services.shared.settings import Settings

if TYPE_CHECKING:
    from nats.aio.client import Client


_OK = b'{"ok":true,'
"""How a reply begins that memorybus wrote; one in another form is read as a whole."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """What waits on the bus, by consumer, and how many dead letters there are."""

    by_consumer: dict[str, int]
    dead_letters: int

    @property
    def total(self) -> int:
        """All that waits."""
        return sum(self.by_consumer.values())


Answering = Callable[[Any, float, str | None], Awaitable[bytes]]
"""What answers a request within so many seconds, let in by a credential; raises RequestFailed."""


class MemoryClient:
    """Talks to a running memorybus over NATS.

    `here` tells what answers a request in this very process, if anything does: the way over the bus is spared then.
    """

    def __init__(self, client: Client, here: Callable[[Answer[Any, Any]], Answering | None] = lambda _: None) -> None:
        self.nats = client
        self.bus = Bus(client)
        self._here = here

    async def publish(self, turn: Turn, *, incognito: bool = False) -> None:
        """Publish one turn; returns when the bus has promised not to lose it.

        An incognito one goes where no stream keeps it: it is gone once those have heard it who listen now.

        Raises:
            TooLarge: the bus takes no message of this size.
            Unavailable: the bus did not take it.
        """
        await (self.bus.publish_unkept(turn) if incognito else self.bus.publish_turn(turn))

    async def publish_all(
        self,
        turns: Iterable[Turn],
        *,
        in_flight: int = 64,
        acknowledged: Callable[[], None] = lambda: None,
        incognito: bool = False,
    ) -> None:
        """Publish many turns, `in_flight` of them at a time; `acknowledged` is called once for each."""
        remaining = iter(turns)

        async def lane() -> None:
            for turn in remaining:
                await self.publish(turn, incognito=incognito)
                acknowledged()

        async with asyncio.TaskGroup() as lanes:
            for _ in range(in_flight):
                lanes.create_task(lane())

    async def retrieve(self, request: RetrieveRequest, *, patience: float = 2.0) -> RetrieveReply:
        """Ask what matters now."""
        return await self.request(flow.RETRIEVE, request, patience=patience)

    async def create(self, request: CreateRequest, *, patience: float = 5.0) -> EntryReply:
        """Remember a text."""
        return await self.request(flow.CREATE, request, patience=patience)

    async def get(self, request: GetRequest, *, patience: float = 2.0) -> EntryReply:
        """Show one entry."""
        return await self.request(flow.GET, request, patience=patience)

    async def list(self, request: ListRequest, *, patience: float = 5.0) -> ListReply:
        """Page through entries."""
        return await self.request(flow.LIST, request, patience=patience)

    async def forget(self, request: ForgetRequest, *, patience: float = 30.0) -> ForgetReply:
        """Forget an entry; what could not be removed now is said in the receipt."""
        return await self.request(flow.FORGET, request, patience=patience)

    async def erase(self, request: EraseRequest, *, patience: float = 5.0) -> EraseReply:
        """Remove everything of a user; what is under way after so long completes by itself, and may be asked for."""
        return await self.request(flow.ERASE, request, patience=patience)

    async def audit(self, request: AuditRequest | OpsAuditRequest, *, patience: float = 5.0) -> AuditReply:
        """What was done: with one user's memory, or with everybody's."""
        if isinstance(request, OpsAuditRequest):
            return await self.request(flow.AUDIT, request, patience=patience)
        return await self.request(flow.USER_AUDIT, request, patience=patience)

    async def note(self, request: AuditNoteRequest, *, patience: float = 5.0) -> AuditNoteReply:
        """Keep account of what an operator did beside memorybus."""
        return await self.request(flow.AUDIT_NOTE, request, patience=patience)

    async def settings(self, request: SettingsRequest, *, patience: float = 5.0) -> SettingsReply:
        """Show or change what holds in a space."""
        return await self.request(flow.SETTINGS, request, patience=patience)

    async def start_incognito(self, request: IncognitoStartRequest, *, patience: float = 5.0) -> IncognitoReply:
        """Keep nothing of a conversation from the reply on."""
        return await self.request(flow.INCOGNITO_START, request, patience=patience)

    async def end_incognito(self, request: IncognitoEndRequest, *, patience: float = 5.0) -> IncognitoReply:
        """Keep what is said in a conversation from the reply on."""
        return await self.request(flow.INCOGNITO_END, request, patience=patience)

    async def reconcile(self, request: ReconcileRequest, *, patience: float = 60.0) -> ReconcileReply:
        """Compare one page of one side of the stores."""
        return await self.request(flow.RECONCILE, request, patience=patience)

    async def status(self, user_id: str | None = None, *, patience: float = 10.0) -> StatusReply:
        """Count what is stored, for one user or for all."""
        if user_id is None:
            return await self.request(flow.STATUS, StatusRequest(), patience=patience)
        return await self.request(flow.USER_STATUS, UserStatusRequest(user_id=user_id), patience=patience)

    async def backlog(self) -> Backlog:
        """What waits on the bus.

        Raises:
            NotPermitted: this user may not look.
            Unavailable: the bus does not answer, or has no memorybus on it.
        """
        waiting = await self.bus.backlogs()
        return Backlog(waiting, (await self.bus.state(subjects.DEAD_STREAM.name)).messages)

    async def request(self, answer: Answer[Q, R], body: Q, *, patience: float) -> R:
        """Send one request with a deadline.

        Raises:
            RequestFailed: memorybus answered with an error.
            Unavailable: nobody answered, or the bus does not let this user ask.
        """
        return answer.reply.model_validate_json(await self.ask(answer, body, patience=patience))

    async def ask(self, answer: Answer[Q, R], body: Q, *, patience: float, credential: str | None = None) -> bytes:
        """Send one request with a deadline; the reply as it came. The audit tells by which credential it was let in.

        Raises:
            RequestFailed: memorybus answered with an error, or the request is too large for the bus.
            Unavailable: nobody answered, or the bus does not let this user ask.
        """
        if (answered_here := self._here(answer)) is not None:
            return await answered_here(body, patience, credential)
        subject = answer.subject_of(getattr(body, "user_id", None))
        headers = {subjects.DEADLINE_HEADER: str(int((time.time() + patience) * 1000)), **tracing.carried()}
        headers |= {subjects.CREDENTIAL_HEADER: credential} if credential else {}
        try:
            raw = await self.nats.request(
                subject, body.model_dump_json(exclude_none=True).encode(), timeout=patience + 0.5, headers=headers
            )
        except nats.errors.NoRespondersError as error:
            raise Unavailable("nobody answers: is `memorybus up` running on this bus?") from error
        except NotAllowed as error:
            raise Unavailable(str(error)) from error
        except UNANSWERED as error:
            raise Unavailable(
                f"no answer within {patience:.1f} s: it is busy, or hangs; try again, or see its log"
            ) from error
        if not raw.data.startswith(_OK) and json.loads(raw.data).get("ok") is not True:
            raise RequestFailed(ErrorReply.model_validate_json(raw.data).error)
        return raw.data


@asynccontextmanager
async def memory_client(
    url: str, *, name: str = "memorybus-client", access: Access | None = None
) -> AsyncIterator[MemoryClient]:
    """A connected client, closed at the end; without `access` it joins as whom the address or the settings name."""
    client = await connect(url, name=name, access=access or Access.of(Settings(), url))
    try:
        yield MemoryClient(client)
    finally:
        with suppress(ConnectionError):  # the bus may be gone
            await client.close()
