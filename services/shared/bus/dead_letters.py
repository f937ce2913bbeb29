"""Dead letters: read what could not be digested, say it again where it came from, or let it go."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from nats.errors import BadHeaderError, MaxPayloadError
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError, ServiceUnavailableError
from pydantic import ValidationError

from contracts import subjects
from contracts.ports import Unavailable
from contracts.v1.dead import DeadLetter
from services.shared.bus.concerns import is_about, users_of
from services.shared.bus.failures import NO_MEMORYBUS
from services.shared.bus.jetstream import JetStream
from services.shared.errors import describe_error

_STREAM = subjects.DEAD_STREAM.name
_TURNS = subjects.TURNS_STREAM.name
_TIMEOUT = 5.0
_READ_TOGETHER = 64
_NO_SUCH_STREAM = 10059
_TURN_SUBJECT = re.compile(re.escape(subjects.TURNS) + r"\.[^\s.*>\x00-\x20\x7f]+")
_EVENT_SUBJECTS = frozenset(one.subject for one in subjects.CONSUMERS if one.stream == subjects.EVENTS_STREAM.name)
_OF_THE_BUS = "nats-"  # headers that tell the bus what to do: it would obey those of the first time once more


class NoSuchLetter(Exception):
    """No letter has this number, or it was retried, dropped, or too old."""

    def __init__(self, number: int) -> None:
        super().__init__(f"there is no dead letter {number}: `memorybus dead list` shows those that are there")


class NotRetryable(Exception):
    """This letter cannot be said again, and is kept; the text says why."""


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A message of the stream of dead letters. `problem` says why it cannot be read, in place of letter and body."""

    number: int
    kept_at: datetime
    subject: str
    raw: bytes
    letter: DeadLetter | None = None
    body: bytes = b""
    problem: str = ""

    @property
    def stage(self) -> str:
        """Who set it aside: the subject says so, which the bus lets only that service publish on."""
        return self.subject.removeprefix(f"{subjects.DEAD}.").partition(".")[0]

    @property
    def reason(self) -> str:
        """Why it was set aside."""
        return self.letter.reason if self.letter else f"unreadable: {self.problem}"

    def is_of_turn_after(self, number: int) -> bool:
        """Whether the original is a turn with a higher number."""
        return self.letter is not None and self.letter.stream == _TURNS and self.letter.sequence > number

    @property
    def users(self) -> tuple[str, ...]:
        """Whose memory it is about, as far as subject or body say so; each once."""
        if self.letter is None:
            return ()
        return users_of(self.letter, self.body)

    def is_about(self, user_id: str) -> bool:
        """Whether anything in it names this user."""
        return is_about(self.letter, self.body, self.raw, user_id)


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """Which letters are meant; what is None does not matter. `reason` is a part of it, in whatever case."""

    stage: str | None = None
    user: str | None = None
    since: datetime | None = None
    reason: str | None = None

    def includes(self, kept: StoredLetter) -> bool:
        """Whether this letter is one of them."""
        return (
            (self.stage is None or kept.stage == self.stage)
            and not self.is_before(kept)
            and (self.reason is None or self.reason.casefold() in kept.reason.casefold())
            and (self.user is None or kept.is_about(self.user))
        )

    def is_before(self, kept: StoredLetter) -> bool:
        """Whether this letter is too old, and with it all that were set aside earlier."""
        return self.since is not None and kept.kept_at < self.since


class DeadLetterQueue:
    """The dead letters of a bus. Every method raises `Unavailable` when the bus does not answer for them."""

    def __init__(self, js: JetStreamContext) -> None:
        self._js = js

    async def numbers(self) -> list[int]:
        """The numbers of all letters, newest first."""
        with _asking():
            span, removed = await JetStream(self._js).numbers(_STREAM)
        return [number for number in reversed(span) if number not in removed]

    async def get(self, number: int) -> StoredLetter:
        """One letter.

        Raises:
            NoSuchLetter: it is not there.
        """
        with _asking():
            try:
                return opened(await self._js.get_msg(_STREAM, number))
            except NotFoundError as error:
                if error.err_code == _NO_SUCH_STREAM:
                    raise
                raise NoSuchLetter(number) from None

    async def newest_first(
        self, wanted: LetterFilter, *, looked: Callable[[int, int], None] = lambda done, total: None
    ) -> AsyncIterator[StoredLetter]:
        """The letters that are wanted; `looked` is told how many of how many have been looked at."""
        numbers = await self.numbers()
        for start in range(0, len(numbers), _READ_TOGETHER):
            some = await self._some(numbers[start : start + _READ_TOGETHER])
            for kept in filter(wanted.includes, some):
                yield kept
            looked(min(start + _READ_TOGETHER, len(numbers)), len(numbers))
            if some and all(map(wanted.is_before, some)):
                return

    async def retry(self, number: int) -> None:
        """Say the original once more where it was published; the letter goes when the bus has promised to keep it.

        The message id is the letter's own, so that two who retry the same letter at once say it once.

        Raises:
            NoSuchLetter: it is not there.
            NotRetryable: it cannot be read, or would not reach a stage.
        """
        kept = await self.get(number)
        subject, stream = destination(kept)
        await self._say(subject, kept.body, stream=stream, headers=headers_again(kept))
        with suppress(NoSuchLetter):
            await self.drop(number)

    async def drop(self, number: int) -> None:
        """Remove a letter for good.

        Raises:
            NoSuchLetter: it is not there.
        """
        with _asking():
            try:
                await self._js.delete_msg(_STREAM, number)
            except ServiceUnavailableError:
                raise
            except APIError:
                await self.get(number)  # one server and a cluster refuse differently to remove what is gone
                raise

    async def _some(self, numbers: Sequence[int]) -> list[StoredLetter]:
        found = await asyncio.gather(*map(self._get_if_there, numbers))
        return [kept for kept in found if kept is not None]

    async def _get_if_there(self, number: int) -> StoredLetter | None:
        try:
            return await self.get(number)
        except NoSuchLetter:
            return None

    async def _say(self, subject: str, body: bytes, *, stream: str, headers: dict[str, str]) -> None:
        with _asking():
            try:
                await self._js.publish(subject, body, timeout=_TIMEOUT, stream=stream, headers=headers)
            except (BadHeaderError, MaxPayloadError) as error:
                raise NotRetryable(f"the bus does not take it as it is: {error}") from error


def opened(message: RawStreamMsg) -> StoredLetter:
    """A message of the stream of dead letters, whatever is in it."""
    assert message.seq is not None
    assert message.subject is not None
    assert message.time is not None
    number, kept_at, subject, raw = message.seq, message.time, message.subject, message.data or b""
    try:
        letter = DeadLetter.model_validate_json(raw)
        return StoredLetter(number, kept_at, subject, raw, letter, base64.b64decode(letter.body, validate=True))
    except ValidationError as error:
        return StoredLetter(number, kept_at, subject, raw, problem=describe_error(error))
    except (binascii.Error, ValueError):
        return StoredLetter(number, kept_at, subject, raw, problem="its body is not base64")


def destination(kept: StoredLetter) -> tuple[str, str]:
    """The subject that the original is said on again, and the stream that must take it.

    Raises:
        NotRetryable: the letter cannot be read, or no stage reads that subject.
    """
    if kept.letter is None:
        raise NotRetryable(f"it cannot be read ({kept.problem})")
    if kept.letter.cut:
        raise NotRetryable("it was too large to be kept whole")
    subject = subjects.published_as(kept.letter.subject)
    if _TURN_SUBJECT.fullmatch(subject):
        return subject, subjects.TURNS_STREAM.name
    if subject in _EVENT_SUBJECTS:
        return subject, subjects.EVENTS_STREAM.name
    raise NotRetryable(f"it came on {subject!r}, which no stage reads")


def headers_again(kept: StoredLetter) -> dict[str, str]:
    """The original headers without those meant for the bus, and with a message id that only this letter has.

    Who does not know the letter cannot guess it, and so not use it first to have the bus drop what is said again.
    """
    assert kept.letter is not None
    given = kept.letter.headers
    own = {name: value for name, value in given.items() if not name.strip().lower().startswith(_OF_THE_BUS)}
    return {**own, subjects.MSG_ID_HEADER: f"retry:{kept.number}:{blake2b(kept.raw, digest_size=16).hexdigest()}"}


@contextmanager
def _asking() -> Iterator[None]:
    """Turn what the client raises into one helpful line."""
    try:
        yield
    except NotFoundError as error:
        raise Unavailable(NO_MEMORYBUS) from error
    except (ServiceUnavailableError, NoStreamResponseError) as error:
        raise Unavailable("the bus keeps no streams now: is JetStream on, and do enough of its servers run?") from error
    except APIError as error:
        raise Unavailable(f"the bus refused: {error.description}; the letter is kept") from error
    except (NatsError, TimeoutError, OSError) as error:
        raise Unavailable(
            f"the bus did not answer for its dead letters ({error!r}): try again, nothing is lost or said twice; "
            "a bus with users must let this one read and remove them and publish what is retried"
        ) from error
