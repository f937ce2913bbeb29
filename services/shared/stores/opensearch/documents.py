"""Turns, proposals and entries as documents, and the hashes they are found by.

A document keeps the whole model in one string, `body`; its other fields are what searches ask for, and are made anew
from the body whenever that changes.

One field, `digest`, packs all that a search has to know of an entry into one word of the index. A search reads the
digests of some thousand turns, and one aggregation over one field gives them three times faster than hits do. Sorted as
words, digests are in the order of sessions, and of time within each:

    session created_at seq length| term term=2 term |id
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal, entry_id
from services.shared.dedup.fingerprint import digests_of, near_keys, nearness
from services.shared.ranking.bm25 import MOST
from services.shared.ranking.capacity import is_held
from services.shared.ranking.neighbour_tags import filed_under
from services.shared.stores.moments import microseconds, now
from services.shared.stores.opensearch.errors import Json
from services.shared.stores.scopes import hashed, scope_key, scope_keys
from services.shared.stores.tombstones import Digest
from services.shared.stores.words import words_of

CHANGING: Final = ("words", "length", "digest", "near", "session")
"""What an entry may have and have no more after a change."""

STORED: Final = ("user_id", "body", "seq", "merged")
"""The fields of an entry's document that a replacement of it needs."""

_MOST_MERGED = 256
_LONGEST_WORD = 1024


def label(value: str) -> str:
    """What a filter asks for in place of a value: the value itself, or its hash when the engine would not take it."""
    return value if len(value) <= _LONGEST_WORD else hashed(value)


def session_key(user_id: str, space: str, session_id: str) -> str:
    """One keyword for a session."""
    return hashed(user_id, space, session_id)


def conversation_key(user_id: str, space: str, conversation_id: str) -> str:
    """One keyword for a conversation."""
    return hashed(user_id, space, conversation_id)


def turn_document_id(turn: LoggedTurn) -> str:
    """The id of a turn's document: that of the entry it may become."""
    return entry_id(turn.user_id, turn.space, turn.turn_id)


def turn_document(turn: LoggedTurn, *, seq: int) -> Json:
    """A turn, not proposed yet."""
    return {
        "kind": "turn",
        "user_id": turn.user_id,
        "space": turn.space,
        "scope": scope_key(turn.user_id, turn.space, turn.persona_id),
        "conversation": conversation_key(turn.user_id, turn.space, turn.conversation_id),
        "turn_id": turn.turn_id,
        "said_at": microseconds(turn.created_at),
        "logged_at": now(),
        "seq": seq,
        "ordinal": 0,
        "proposed": False,
        "body": turn.model_dump_json(exclude_none=True),
    }


def proposed(proposal: Proposal) -> Json:
    """The fields by which a turn's document says that the turn proposes itself; its text, when it is another."""
    text = {"text": proposal.text} if proposal.text != proposal.turn.text else {}
    return {"proposed": True, **text}


def fact_document(proposal: Proposal, *, seq: int) -> Json:
    """A fact drawn from a turn, which has a document of its own."""
    turn = proposal.turn
    return {
        "kind": "fact",
        "user_id": turn.user_id,
        "space": turn.space,
        "scope": scope_key(turn.user_id, turn.space, turn.persona_id),
        "logged_at": now(),
        "seq": seq,
        "ordinal": proposal.ordinal,
        "turn": turn_document_id(turn),
        "proposed": True,
        "text": proposal.written,
    }


def entry_document(entry: Entry, *, seq: int, merged: Sequence[str] = (), stamp: str = "") -> Json:
    """An entry; `merged` are the proposals counted in it, `stamp` names the write."""
    session = session_key(entry.user_id, entry.space, entry.session_id) if entry.session_id is not None else None
    document: Json = {
        "id": entry.id,
        "user_id": entry.user_id,
        "space": entry.space,
        "scope": scope_keys(entry),
        "seq": seq,
        "created_at": microseconds(entry.created_at),
        "last_said_at": microseconds(entry.last_said_at),
        "conversations": list(map(label, entry.conversations)),
        "updated_at": microseconds(entry.updated_at),
        "status": entry.status,
        "type": entry.type,
        "tags": list(map(label, filed_under(entry))),
        "themes": list(map(label, entry.themes)),
        "pinned": entry.pinned,
        "manually_saved": entry.manually_saved,
        "held": is_held(entry),
        "enriched": entry.enriched,
        "embedding_state": entry.embedding_state,
        "version": entry.version,
        "importance": entry.importance,
        "text": entry.text,
        "merged": list(merged[-_MOST_MERGED:]),
        "stamp": stamp,
        "body": entry.model_dump_json(exclude_none=True),
    }
    if entry.persona_id is not None:
        document["persona_id"] = entry.persona_id
    if session is not None:
        document["session"] = session
    if entry.status == "active":
        document |= _found_by(entry, session or hashed(entry.id), seq)
    return document


def _found_by(entry: Entry, session: str, seq: int) -> Json:
    words = words_of(entry)
    digest = digests(entry.id, session, microseconds(entry.created_at), seq, words)
    return {"words": " ".join(words), "length": len(words), "digest": digest, "near": list(near_labels(entry))}


def statement_id(entry: Entry) -> str:
    """The id of the document that names who makes a statement, among those of one voice."""
    scope = scope_key(entry.user_id, entry.space, entry.persona_id)
    return hashed("claim", scope, entry.role, entry.speaker or "", entry.statement_hash)  # as of schema 5: ids stay


def near_labels(entry: Entry) -> dict[str, int]:
    """What near copies of one voice share one of, and how much each counts."""
    voice = (scope_key(entry.user_id, entry.space, entry.persona_id), entry.role, entry.speaker or "")
    return {hashed(*voice, key): nearness(key) for key in near_keys(entry)}


def suppression_ids(entry: Entry) -> list[str]:
    """The documents that say, each by one digest, whether the statement of an entry may come back to its space."""
    return [suppression_id((entry.user_id, entry.space, digest)) for digest in digests_of(entry)]


def suppression_id(digest: Digest) -> str:
    """The document that says whether what has a digest may come back."""
    return hashed("forgotten", *digest)


_LONGEST = 30_000
"""Bytes; the engine takes no word longer than 32,766. More terms go into further digests of the same entry."""

_SESSION = 16
"""Digits of the session's hash: enough to tell the sessions of one user apart."""

_SORT_KEY = _SESSION + 1 + 15 + 1 + 14
"""Characters of a head that say where an entry stands."""

_BEFORE_ALL_TIME = 10**17
"""Added to times, so that none is negative. Microseconds."""


def digests(id_: str, session: str, created_at: int, seq: int, words: Sequence[str]) -> list[str]:
    """The digests of an entry: its id, the hash of its session, microseconds, order stored, analysed words."""
    head = f"{sort_key(session, created_at, seq)} {min(len(words), MOST):02d}"
    room = _LONGEST - len(f"{head}|  |{id_}".encode())
    return [f"{head}|{terms}|{id_}" for terms in _packed(words, room)]


def sort_key(session: str, created_at: int, seq: int) -> str:
    """What entries are sorted by: session, time, order stored."""
    return f"{session[:_SESSION]} {created_at + _BEFORE_ALL_TIME:015x} {seq:014x}"


def _packed(words: Sequence[str], room: int) -> Iterator[str]:
    """Terms with their counts, each with a space on both sides, in strings of at most `room` bytes."""
    terms, size = [""], 0
    for term, count in Counter(words).items():
        packed = term if count == 1 else f"{term}={min(count, MOST)}"  # "=" is in no term
        size += len(packed.encode()) + 1
        if size > room:
            yield " ".join([*terms, ""])
            terms, size = [""], len(packed.encode()) + 1
        terms.append(packed)
    yield " ".join([*terms, ""])


@dataclass(frozen=True, slots=True)
class Digests:
    """What digests say of n entries, in the order of their sessions and of time within each."""

    ids: list[str]
    heads: list[str]
    passing: NDArray[np.bool_]
    """Which of them pass the filters of the search."""

    _terms: str
    """The terms of all digests one after the other; where those of each begin, and which entry it is of."""

    _starts: NDArray[np.int64]
    _owners: NDArray[np.int64]

    @property
    def sessions(self) -> list[str]:
        """Which session each is of."""
        return [head[:_SESSION] for head in self.heads]

    @property
    def lengths(self) -> list[int]:
        """How many words each has, at most `MOST`."""
        return [int(head[-2:]) for head in self.heads]

    def created_at(self, index: int) -> int:
        """When it was said, in microseconds since 1970."""
        return int(self.heads[index].split(" ")[1], 16) - _BEFORE_ALL_TIME

    def sort_key(self, place: int) -> str:
        """Where the entry at a place stands."""
        return self.heads[place][:_SORT_KEY]

    def around(self, sort_key: str, reach: int) -> dict[int, str]:
        """Distance to id of the entries of its session before and after a place; what stands there itself has none."""
        session, middle = sort_key[:_SESSION], bisect_left(self.heads, sort_key)
        after = middle + (middle < len(self.heads) and self.heads[middle].startswith(sort_key))
        before = _same_session(self.heads[max(0, middle - reach) : middle][::-1], session)
        later = _same_session(self.heads[after : after + reach], session)
        found = {-distance: self.ids[middle - distance] for distance in range(1, before + 1)}
        return found | {distance: self.ids[after + distance - 1] for distance in range(1, later + 1)}

    def having(self, term: str) -> tuple[NDArray[np.int64], list[int]]:
        """Which entries have a term, and how often each."""
        once, often = _places(self._terms, f" {term} "), _places(self._terms, f" {term}=")
        counts = [int(self._terms[place + len(term) + 2 : place + len(term) + 4]) for place in often]
        digests = np.searchsorted(self._starts, np.array(once + often, np.int64), "right") - 1
        return self._owners[digests], [1] * len(once) + counts


def unpacked(passing: Sequence[str], others: Sequence[str]) -> Digests:
    """Read the digests of entries that pass the filters of a search, and of others."""
    words = sorted([*passing, *others])
    entries: dict[tuple[str, str], int] = {}
    terms: list[str] = []
    owners = np.empty(len(words), np.int64)
    for index, (head, its, id_) in enumerate(word.split("|", 2) for word in words):
        owners[index] = entries.setdefault((head, id_), len(entries))
        terms.append(its)
    sizes = np.fromiter(map(len, terms), np.int64, len(terms))
    ids, heads = [id_ for _, id_ in entries], [head for head, _ in entries]
    passes = np.ones(len(ids), np.bool_)
    if others:
        passes[owners[np.fromiter(map(frozenset(others).__contains__, words), np.bool_, len(words))]] = False
    return Digests(ids, heads, passes, "".join(terms), np.cumsum(sizes) - sizes, owners)


def _same_session(heads: Sequence[str], session: str) -> int:
    """How many of the heads, from the first on, are of this session."""
    return next((n for n, head in enumerate(heads) if not head.startswith(session)), len(heads))


def _places(text: str, wanted: str) -> list[int]:
    found, place = [], text.find(wanted)
    while place >= 0:
        found.append(place)
        place = text.find(wanted, place + 1)
    return found
