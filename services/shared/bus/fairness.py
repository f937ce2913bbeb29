"""Users take turns within a stage: thousands of waiting messages of one delay another by a batch, not by all of them.

Events are shared out by user when they are published: a user with many entries in one gets events apart, all others
stay together. A reader then takes of the messages that it holds one of each user in turn, each user's in the order in
which they came.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias, TypeVar

from nats.aio.msg import Msg

from contracts.envelope import derived_id
from contracts.v1.entries import EntryEvent, EntryRef

E = TypeVar("E", bound=EntryEvent)

MANY = 32
"""Most entries of one user that travel in an event with those of others."""

TOGETHER = 256
"""Most entries of an event."""


class Load(NamedTuple):
    """Whose work a message is, "" for that of several, and how much: entries it names, or kilobytes of a turn."""

    lane: str
    items: int


LoadOf: TypeAlias = Callable[[Msg], Load]


def load_of_turn(msg: Msg) -> Load:
    """The load of a turn: its subject names the user, and a long text counts as many short ones."""
    return Load(msg.subject, 1 + len(msg.data) // 1024)


def load_of_event(msg: Msg) -> Load:
    """The load of an event; one that cannot be read is nobody's."""
    try:
        users = [str(ref["user_id"]) for ref in json.loads(msg.data)["entries"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        return Load("", 1)
    return Load(users[0] if len(set(users)) == 1 else "", len(users))


def shares(event: E) -> Iterator[E]:
    """The event as several: for each user with many entries their own, and one for all others."""
    of_user: dict[str, list[EntryRef]] = defaultdict(list)
    for ref in event.entries:
        of_user[ref.user_id].append(ref)
    few = [ref for ref in event.entries if len(of_user[ref.user_id]) <= MANY]
    many = [refs for refs in of_user.values() if len(refs) > MANY]
    parts = [*_parts(few, TOGETHER), *(part for refs in many for part in _parts(refs, MANY))]
    for part in parts:
        yield event if len(parts) == 1 else _share(event, part)


def written(event: E, most_bytes: int) -> Iterator[tuple[E, bytes]]:
    """The event with its JSON, in halves where that is longer; an event of one entry is whole whatever its length."""
    body, refs = event.model_dump_json().encode(), list(event.entries)
    if len(body) <= most_bytes or len(refs) < 2:
        yield event, body
        return
    middle = len(refs) // 2
    for half in (refs[:middle], refs[middle:]):
        yield from written(_share(event, half), most_bytes)


def _parts(refs: list[EntryRef], most: int) -> Iterator[list[EntryRef]]:
    return (refs[start : start + most] for start in range(0, len(refs), most))


def _share(event: E, refs: list[EntryRef]) -> E:
    """An event of some entries. Its id is made from that of the whole and theirs, and so is the same every time."""
    event_id = derived_id(event.subject, (str(event.event_id), *(ref.id for ref in refs)))
    return event.model_copy(update={"event_id": event_id, "entries": tuple(refs)})


class Lanes:
    """Messages that wait, one lane for each user."""

    def __init__(self, load_of: LoadOf) -> None:
        self._load_of = load_of
        self._lanes: OrderedDict[str, deque[tuple[Msg, int]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Msg]:
        return (msg for lane in self._lanes.values() for msg, _ in lane)

    def extend(self, messages: Iterable[Msg]) -> None:
        """Put messages at the end of their lanes."""
        for msg in messages:
            lane, items = self._load_of(msg)
            self._lanes.setdefault(lane, deque()).append((msg, items))
            self._count += 1

    def take(self, most: int) -> list[Msg]:
        """The next messages, one of each lane in turn, that name at most so many items together; at least one."""
        taken: list[Msg] = []
        room = most
        while self._lanes:
            lane, waiting = next(iter(self._lanes.items()))
            msg, items = waiting[0]
            if taken and items > room:
                break
            waiting.popleft()
            self._count -= 1
            room -= items
            taken.append(msg)
            self._lanes.move_to_end(lane)
            if not waiting:
                del self._lanes[lane]
        return taken

    def clear(self) -> list[Msg]:
        """Take all of them."""
        everything = list(self)
        self._lanes.clear()
        self._count = 0
        return everything
