"""Fingerprint keys, and the entries that claim them: what finds the same statement at once, and lets it in only once.

Every key of a voice (scope, role, speaker) is a document that lists the entries that have it, the newest last. An
entry is listed before it is stored. As a list only grows at its end, of two entries with a common key at least the
one that was listed second sees the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from contracts.ports import Unavailable
from contracts.v1.entries import Entry
from services.shared.core.fingerprint import MOST_SIMILAR
from services.shared.stores.opensearch.documents import USER, claim_ids, now
from services.shared.stores.opensearch.engine import Engine
from services.shared.stores.opensearch.transport import CAS_ATTEMPTS, Client, Document, Version, Write, backoff

MOST_LISTED = 2 * MOST_SIMILAR
"""The newest so many entries of a key are known, among them some that are not stored yet. All of them are looked at:
who did not see one that is listed would be told to judge again for ever."""

ABANDONED = 30_000_000
"""Microseconds after which an entry that was listed but is not stored counts as given up, and is fenced off."""

_RENEWED = ABANDONED // 2
_ENTRIES, _AT = "entries", "at"
_CROWDED = "other processes keep storing the same statements: try again"


@dataclass(slots=True)
class Claim:
    """The entries that claim a key, each with the time it was listed (microseconds since 1970), the newest last."""

    id: str
    user_id: str
    listed: dict[str, int] = field(default_factory=dict)
    seen: Version | None = None

    def list(self, id_: str, at: int) -> bool:
        """Put an entry at the end; False when it is listed well enough.

        One that was listed long ago loses its place, as others may have taken it for abandoned.
        """
        if at - self.listed.get(id_, 0) < _RENEWED:
            return False
        self.listed.pop(id_, None)
        self.listed[id_] = at
        for oldest in list(self.listed)[:-MOST_LISTED]:
            del self.listed[oldest]
        return True

    def write(self) -> Write:
        """The write that stores the list, unless it was changed meanwhile; nothing is kept of an empty one."""
        if self.seen and not self.listed:
            return Write("delete", "claims", self.user_id, self.id, seen=self.seen)
        body = {USER: self.user_id, _ENTRIES: list(self.listed), _AT: list(self.listed.values())}
        return Write("index" if self.seen else "create", "claims", self.user_id, self.id, body, self.seen)


def who_says_what(entry: Entry) -> tuple[object, ...]:
    """What an entry is looked up by as the same statement as another."""
    return entry.status, entry.role, entry.speaker, entry.fingerprint_keys


async def read(client: Client, users: Mapping[str, str]) -> dict[str, Claim]:
    """The claims asked for as user by id; unknown ones are without entries."""
    documents = await client.mget("claims", users.items())
    return {
        id_: _claim(id_, user_id, document) for (id_, user_id), document in zip(users.items(), documents, strict=True)
    }


def _claim(id_: str, user_id: str, document: Document | None) -> Claim:
    if document is None:
        return Claim(id_, user_id)
    listed = zip(document.source[_ENTRIES], document.source[_AT], strict=True)
    return Claim(id_, user_id, dict(listed), document.version)


async def stake(engine: Engine, entries: Sequence[Entry]) -> dict[str, Claim]:
    """List entries under all of their keys, in order; the claims as they were when the last of them was written.

    Raises:
        Unavailable: others keep changing the same claims, or they cannot be written now.
    """
    claimants: dict[str, list[Entry]] = {}
    for entry in entries:
        for id_ in claim_ids(entry):
            claimants.setdefault(id_, []).append(entry)
    staked: dict[str, Claim] = {}
    left = {id_: its[0].user_id for id_, its in claimants.items()}
    async with engine.locks.hold(left):
        for _ in range(CAS_ATTEMPTS):
            staked |= await read(engine.client, left)
            left = await _write(engine.client, [staked[id_] for id_ in left], claimants)
            if not left:
                return staked
            await backoff()
    raise Unavailable(_CROWDED)


async def _write(client: Client, found: Iterable[Claim], claimants: Mapping[str, Sequence[Entry]]) -> dict[str, str]:
    """List the claimants; the claims (user by id) that were changed meanwhile."""
    at = now()
    changed = [claim for claim in found if any([claim.list(entry.id, at) for entry in claimants[claim.id]])]
    made = await client.bulk([claim.write() for claim in changed])
    return {claim.id: claim.user_id for claim, version in zip(changed, made, strict=True) if version is None}


async def release(engine: Engine, entries: Sequence[Entry]) -> None:
    """Take entries off the lists of all of their keys.

    Raises:
        Unavailable: others keep changing the same claims, or they cannot be written now.
    """
    released = {entry.id for entry in entries}
    left = {id_: entry.user_id for entry in entries for id_ in claim_ids(entry)}
    async with engine.locks.hold(left):
        for _ in range(CAS_ATTEMPTS):
            found = await read(engine.client, left)
            left = await _take_off(engine.client, found.values(), released)
            if not left:
                return
            await backoff()
    raise Unavailable(_CROWDED)


async def _take_off(client: Client, found: Iterable[Claim], released: set[str]) -> dict[str, str]:
    """Store the lists without some entries; the claims (user by id) that were changed meanwhile."""
    changed = [claim for claim in found if not released.isdisjoint(claim.listed)]
    for claim in changed:
        claim.listed = {id_: at for id_, at in claim.listed.items() if id_ not in released}
    made = await client.bulk([claim.write() for claim in changed])
    return {claim.id: claim.user_id for claim, version in zip(changed, made, strict=True) if version is None}


def others(entry: Entry, claims: Mapping[str, Claim]) -> dict[str, int]:
    """Who else claims a key of this entry: id and the time it was listed last."""
    found: dict[str, int] = {}
    for id_ in claim_ids(entry):
        for other, at in claims[id_].listed.items():
            if other != entry.id:
                found[other] = max(at, found.get(other, 0))
    return found


def comes_first(entry: Entry, other: str, claims: Mapping[str, Claim]) -> bool:
    """Whether an entry was listed before another one at the first key, in the order of claims, that both claim.

    Of two that see each other, not both come first: who is behind at that key was listed there when the other was,
    and so sees it.
    """
    shared = min(id_ for id_ in claim_ids(entry) if other in claims[id_].listed)
    listed = list(claims[shared].listed)
    return entry.id in listed and listed.index(entry.id) < listed.index(other)
