"""What searches have read a moment ago: the question about neighbours that follows a search needs no second look."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts.ports import Ref, Scope
from services.shared.stores.opensearch.digest import Digests

_MOST = 256  # users


@dataclass(frozen=True, slots=True)
class _Read:
    digests: Digests
    places: dict[str, int]
    until: float


class Recent:
    """The whole sessions that the last search of each user has read, for so many seconds.

    An index shows what is new after so long anyhow. Searches of a persona are left out: around an entry of nobody's
    they see more than it is surrounded by.

    What is forgotten by this process is dropped at once. Another process that searched before may name it as a
    neighbour for these seconds: by its id alone, under which only a tombstone is found.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._reads: OrderedDict[str, _Read] = OrderedDict()

    def keep(self, scope: Scope, digests: Digests) -> None:
        """Remember what a search has read."""
        if self._seconds <= 0 or scope.persona_id is not None:
            return
        places = {id_: place for place, id_ in enumerate(digests.ids)}
        self._reads[scope.user_id] = _Read(digests, places, time.monotonic() + self._seconds)
        self._reads.move_to_end(scope.user_id)
        while len(self._reads) > _MOST:
            self._reads.popitem(last=False)

    def drop(self, user_ids: Iterable[str]) -> None:
        """Let go of what was read for these users."""
        for user_id in user_ids:
            self._reads.pop(user_id, None)

    def around(self, refs: Sequence[Ref], reach: int) -> dict[str, dict[int, str]]:
        """What is around those of the entries that were read."""
        now, found = time.monotonic(), {}
        for ref in refs:
            read = self._reads.get(ref.user_id)
            if read is not None and now < read.until and ref.id in read.places:
                found[ref.id] = read.digests.around(read.digests.spot(read.places[ref.id]), reach)
        return found
