"""Dead letters: messages that no stage could handle, with the reason. Made, found by user, sent again, dropped.

Every byte of a letter may be a stranger's.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from nats.aio.msg import Msg
from nats.errors import BadHeaderError
from nats.js.api import RawStreamMsg
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from contracts import subjects
from contracts.v1.dead import DeadLetter
from contracts.v1.entries import EntryEvent
from services.shared.bus.connection import asking_for
from services.shared.bus.streams import HEADERS, Bus
from services.shared.errors import Poison, TooLarge, describe_error
from services.shared.redaction import redact_text

LARGEST_BODY = 128 * 1024
"""Bytes of a message that a letter keeps at most: twice the longest text that is taken by default."""

_LONGEST_REASON = 2000
_DEEPEST = 16
"""Levels of JSON that are searched for users; what is deeper is found by its bytes."""

_STREAM = subjects.DEAD_STREAM.name
_TURNS = subjects.TURNS_STREAM.name
_READ_TOGETHER = 64
_OF_A_USER = tuple(f"{root}." for root in (subjects.TURNS, subjects.RETRIEVE, subjects.ENTRIES, subjects.MEMORY))
_TURN_SUBJECT = re.compile(re.escape(subjects.TURNS) + r"\.[^\s.*>\x00-\x20\x7f]+")
_EVENT_SUBJECTS = frozenset(one.subject for one in subjects.CONSUMERS if one.stream == subjects.EVENTS_STREAM.name)
_OF_THE_BUS = "nats-"  # headers that tell the bus what to do: it would obey those of the first time once more


class NoSuchLetter(Exception):
    """No letter has this number, or it was retried, dropped, or too old."""

    def __init__(self, number: int) -> None:
        super().__init__(f"there is no dead letter {number}: `memorybus dead list` shows those that are there")


class NotRetryable(Exception):
    """This letter cannot be sent again, and is kept; the text says why."""


def number_of(msg: Msg) -> int:
    """The number of this message in its stream."""
    return int(msg.metadata.sequence.stream)


def attempts_of(msg: Msg) -> int:
    """How often the bus has delivered this message, this time included."""
    return int(msg.metadata.num_delivered or 1)


def is_permanent(error: Exception) -> bool:
    """Whether trying again is pointless."""
    return isinstance(error, Poison | ValidationError | TooLarge)


def reason_of(error: Exception) -> str:
    """The error in words for the reader of the letter; a validation error without the offending text."""
    if isinstance(error, ValidationError):
        return describe_error(error)[:_LONGEST_REASON]
    return redact_text(str(error))[:_LONGEST_REASON] or type(error).__name__


def dead_letter(msg: Msg, stage: str, error: Exception, *, part: BaseModel | None = None, room: int) -> DeadLetter:
    """A letter of at most `room` bytes: the message, where it came from, and why it could not be handled.

    With `part` its body is that part of the message. Of a large body the beginning is kept.
    """
    whole = msg.data if part is None else part.model_dump_json().encode()
    headers = dict(msg.headers or {})
    kept = headers if len(str(headers)) <= min(room, LARGEST_BODY) // 8 else {}
    letter = DeadLetter(
        subject=subjects.published_as(msg.subject),
        stream=msg.metadata.stream,
        sequence=number_of(msg),
        stage=stage,
        reason=reason_of(error),
        permanent=is_permanent(error),
        attempts=attempts_of(msg),
        body="",
        headers=kept,
        died_at=datetime.now(UTC),
    )
    left = room - len(letter.model_dump_json().encode()) - HEADERS
    body = whole[: min(LARGEST_BODY, max(0, left) // 4 * 3)]  # base64 takes four bytes for three
    cut = len(body) < len(whole) or kept != headers
    return letter.model_copy(update={"body": base64.b64encode(body).decode(), "cut": cut})


def letter_id(letter: DeadLetter, part: BaseModel | None) -> str:
    """The message id of a letter: the same for the same message, or part of it, however often it is dead-lettered.

    A message that is published once more under its message id, as the promise was not heard, is the same message.
    """
    if isinstance(part, EntryEvent):
        return f"dead:{letter.stream}:{letter.sequence}:{letter.stage}:{part.event_id}"
    given = letter.headers.get(subjects.MSG_ID_HEADER)
    said = f"{given}\x1f{letter.subject}\x1f{letter.body}" if given else str(letter.sequence)
    return f"dead:{letter.stream}:{letter.stage}:{blake2b(said.encode(), digest_size=16).hexdigest()}"


def share_of(letter: DeadLetter, body: bytes) -> str:
    """The part of the room for dead letters that this one counts in: a hash of its user, else of its subject."""
    users = users_of(letter, body)
    whose = f"user {users[0]}" if users else f"subject {letter.subject}"
    return blake2b(whose.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def subject_of(stage: str, raw: bytes) -> str:
    """The subject that a stored letter belongs under; one that cannot be read is in nobody's share."""
    try:
        letter = DeadLetter.model_validate_json(raw)
        return subjects.dead(stage, share_of(letter, base64.b64decode(letter.body, validate=True)))
    except ValueError:
        return subjects.dead(stage)


def users_of(letter: DeadLetter, body: bytes) -> tuple[str, ...]:
    """The users whose memory a letter is about: by its subject, then by its body; each once."""
    return tuple(dict.fromkeys((*_in_subject(letter.subject), *_in_body(body))))


def is_about(letter: DeadLetter | None, body: bytes, raw: bytes, user_id: str) -> bool:
    """Whether anything names this user: subject, headers, or any `user_id` in the body, also one that was cut.

    Without a letter, as the message cannot be read as one, the bytes alone are searched.
    """
    if letter is None:
        return is_named(raw, "user_id", user_id)
    token = subjects.user_token(user_id)
    headers = letter.headers.values()
    return (
        user_id in users_of(letter, body)
        or any(value in (user_id, token) or value.startswith(f"{token}/") for value in headers)
        or any(user_id in _in_subject(value) for value in headers)
        or is_named(body, "user_id", user_id)
    )


def _in_subject(subject: str) -> list[str]:
    published = subjects.published_as(subject)
    if published.startswith(_OF_A_USER):
        with suppress(ValueError):
            return [subjects.user_of(published.rpartition(".")[2])]
    return []


def _in_body(body: bytes, depth: int = _DEEPEST) -> Iterator[str]:
    with suppress(ValueError):
        yield from _in_json(from_json(body), depth)


def _in_json(said: Any, depth: int) -> Iterator[str]:
    """Every `user_id`, the outermost first; also in a dead letter that became a message itself."""
    if depth == 0:
        return
    if isinstance(said, dict):
        user_id = said.get("user_id")
        if isinstance(user_id, str) and user_id:
            yield user_id
        if isinstance(said.get("body"), str):
            with suppress(ValueError):
                yield from _in_body(base64.b64decode(said["body"], validate=True), depth - 1)
    parts = said.values() if isinstance(said, dict) else said if isinstance(said, list) else ()
    for part in parts:
        yield from _in_json(part, depth - 1)


def is_named(data: bytes, field: str, value: str) -> bool:
    """Whether this field in half a JSON text has this value."""
    written = {json.dumps(value, ensure_ascii=plain).encode(errors="surrogatepass") for plain in (True, False)}
    return any(re.search(rb'"%s"\s*:\s*' % field.encode() + re.escape(one), data) for one in written)


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
        """The stage that could not handle the message: the subject, which only that service may publish on, says so."""
        return self.subject.removeprefix(f"{subjects.DEAD}.").partition(".")[0]

    @property
    def reason(self) -> str:
        """Why the message could not be handled."""
        return self.letter.reason if self.letter else f"unreadable: {self.problem}"

    def is_of_turn_after(self, number: int) -> bool:
        """Whether the original is a turn with a higher number."""
        return self.letter is not None and self.letter.stream == _TURNS and self.letter.sequence > number

    @property
    def users(self) -> tuple[str, ...]:
        """The users whose memory it is about, as far as subject or body say so; each once."""
        return users_of(self.letter, self.body) if self.letter else ()

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

    def includes(self, stored: StoredLetter) -> bool:
        """Whether this letter is one of them."""
        return (
            (self.stage is None or stored.stage == self.stage)
            and not self.is_before(stored)
            and (self.reason is None or self.reason.casefold() in stored.reason.casefold())
            and (self.user is None or stored.is_about(self.user))
        )

    def is_before(self, stored: StoredLetter) -> bool:
        """Whether this letter is too old, and with it all that were stored earlier."""
        return self.since is not None and stored.kept_at < self.since


class DeadLetterQueue:
    """The dead letters of a bus. Every method raises `Unavailable` when the bus does not answer for them."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    async def numbers(self) -> list[int]:
        """The numbers of all letters, newest first."""
        span, removed = await self.bus.numbers(_STREAM)
        return [number for number in reversed(span) if number not in removed]

    async def get(self, number: int) -> StoredLetter:
        """One letter.

        Raises:
            NoSuchLetter: it is not there.
        """
        message = await self.bus.message(_STREAM, number)
        if message is None:
            raise NoSuchLetter(number)
        return opened(message)

    async def newest_first(
        self, wanted: LetterFilter, *, looked: Callable[[int, int], None] = lambda done, total: None
    ) -> AsyncIterator[StoredLetter]:
        """The letters that are wanted; `looked` is told how many of how many have been looked at."""
        numbers = await self.numbers()
        for start in range(0, len(numbers), _READ_TOGETHER):
            some = await self._some(numbers[start : start + _READ_TOGETHER])
            for stored in filter(wanted.includes, some):
                yield stored
            looked(min(start + _READ_TOGETHER, len(numbers)), len(numbers))
            if some and all(map(wanted.is_before, some)):
                return

    async def _some(self, numbers: Sequence[int]) -> list[StoredLetter]:
        found = await asyncio.gather(*(self.get(number) for number in numbers), return_exceptions=True)
        for one in found:
            if isinstance(one, BaseException) and not isinstance(one, NoSuchLetter):
                raise one
        return [one for one in found if isinstance(one, StoredLetter)]

    async def retry(self, number: int) -> None:
        """Publish the original once more where it came from; the letter goes when the bus has promised to keep it.

        The message id is the letter's own, so that two retries of the same letter at once are one message.

        Raises:
            NoSuchLetter: it is not there.
            NotRetryable: it cannot be read, or would not reach a stage.
        """
        stored = await self.get(number)
        subject, stream = destination(stored)
        await self._publish(subject, stored.body, stream=stream, headers=headers_again(stored))
        with suppress(NoSuchLetter):
            await self.drop(number)

    async def drop(self, number: int) -> None:
        """Remove a letter for good.

        Raises:
            NoSuchLetter: it is not there.
        """
        if not await self.bus.delete(_STREAM, number):
            raise NoSuchLetter(number)

    async def _publish(self, subject: str, body: bytes, *, stream: str, headers: dict[str, str]) -> None:
        with asking_for(subject):
            try:
                await self.bus.js.publish(subject, body, stream=stream, headers=headers)
            except (BadHeaderError, TooLarge) as error:
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


def destination(stored: StoredLetter) -> tuple[str, str]:
    """The subject that the original is published on again, and the stream that must take it.

    Raises:
        NotRetryable: the letter cannot be read, or no stage reads that subject.
    """
    if stored.letter is None:
        raise NotRetryable(f"it cannot be read ({stored.problem})")
    if stored.letter.cut:
        raise NotRetryable("it was too large to be kept whole")
    subject = subjects.published_as(stored.letter.subject)
    if _TURN_SUBJECT.fullmatch(subject):
        return subject, subjects.TURNS_STREAM.name
    if subject in _EVENT_SUBJECTS:
        return subject, subjects.EVENTS_STREAM.name
    if subject == subjects.EXTRACT_WANTED:
        return subject, subjects.EXTRACT_STREAM.name
    raise NotRetryable(f"it came on {subject!r}, which no stage reads")


def headers_again(stored: StoredLetter) -> dict[str, str]:
    """The original headers without those meant for the bus, and with a message id that only this letter has.

    Nobody who does not know the letter can guess it, and use it first to have the bus drop what is published again.
    """
    assert stored.letter is not None
    given = stored.letter.headers
    own = {name: value for name, value in given.items() if not name.strip().lower().startswith(_OF_THE_BUS)}
    return {**own, subjects.MSG_ID_HEADER: f"retry:{stored.number}:{blake2b(stored.raw, digest_size=16).hexdigest()}"}
