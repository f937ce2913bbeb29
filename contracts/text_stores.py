"""The text store as seven ports: what each service may ask of the system of record.

Every write is durable when the call returns, and safe to repeat: the second time changes nothing. An id alone opens
nothing: what is another user's is missing from every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal
from contracts.values import (
    Change,
    Conversation,
    Decision,
    EmbeddingIdentity,
    Erasure,
    Filters,
    Forgotten,
    Key,
    LastTurn,
    LexicalHit,
    LogRecord,
    Outcome,
    Overview,
    Page,
    Place,
    ProposalRecord,
    Record,
    RecordKey,
    RecordKind,
    RecordPage,
    Ref,
    Scope,
    Selection,
    Similar,
    SpaceSize,
    StageCounts,
    Stuck,
)


class ConversationLog(Protocol):
    """Turns as they were said, what they propose, and what became of it."""

    async def last_turns(self, moments: Sequence[tuple[Conversation, datetime]]) -> list[LastTurn | None]:
        """For each conversation and moment, the latest logged turn at or before it."""
        ...

    async def append(self, turns: Sequence[LoggedTurn], proposals: Sequence[Proposal]) -> list[LoggedTurn]:
        """Append turns and what they propose; the new ones. A known turn (user, space, turn_id) stays as it was."""
        ...

    async def withdraw(self, turns: Sequence[LoggedTurn]) -> None:
        """Take turns off the log with all they propose: they were logged just now, and nothing was made of them yet."""
        ...

    async def pending(self, proposals: Sequence[Ref], *, may_lag: bool = False) -> dict[str, ProposalRecord]:
        """The logged proposals, in the order asked, with what became of each; unknown ones are missing.

        With `may_lag` they may be as this process logged them a moment ago, for those who go on to `find_similar` and
        `apply`: these see what became of them meanwhile.
        """
        ...

    async def reopen(self, proposals: Sequence[Ref]) -> None:
        """Take back the outcomes of proposals whose effect was lost, so that they are judged again."""
        ...

    async def export_log(self, user_id: str, *, after: Place | None, limit: int) -> list[LogRecord]:
        """The logged turns of a user after a place, the oldest first: for moving a memory elsewhere."""
        ...


class DedupeStore(Protocol):
    """Similar entries, and decisions that let every statement in only once."""

    async def find_similar(self, candidates: Sequence[Entry]) -> list[Similar]:
        """For each candidate the active entries of its scope, role and speaker that make the same statement or may be
        near-copies of it, and whether the statement was forgotten, by whomever it was said, and may not come back now.

        Near-copies are the nearest few; one that was stored a moment ago may be missing.
        """
        ...

    async def apply(self, decisions: Sequence[Decision]) -> list[Outcome]:
        """Carry out decisions, in order. A proposal that has an outcome keeps it; what is returned is what holds.

        Left out is what has to be judged again: merged into an entry that is not active any more or was corrected to
        say something else, or accepted though
        an entry that makes the same statement came in, or the statement was forgotten, meanwhile.
        """
        ...


class EntryStore(Protocol):
    """Entries by id, changed one version at a time."""

    async def get(self, refs: Sequence[Ref], *, may_lag: Callable[[Entry], bool] | None = None) -> dict[str, Entry]:
        """The stored entries by id, in any status, in the order asked; unknown ones are missing.

        Those of which `may_lag` holds may be as this process stored them a moment ago, for those who go on to `replace`
        them, which tells what has changed meanwhile.
        """
        ...

    async def replace(self, changes: Sequence[Change]) -> set[str]:
        """Store the new entry of each change as the next version of the old one; the ids of conflicts.

        A conflict is an entry that has another version by now, or is gone, or whose new statement cannot be made (see
        `Change`): it stays as it is.

        Raises:
            ValueError: a change makes an entry another one, or somebody else's.
        """
        ...

    async def remove(self, entries: Sequence[Entry]) -> set[str]:
        """Remove entries as if they had never been stored; the ids of conflicts.

        A conflict is an entry that has another version by now, or is gone: it stays as it is. What said a removed entry
        is judged again once it is reopened.
        """
        ...

    async def ids_beginning(self, user_id: str, beginning: str, *, limit: int) -> list[str]:
        """The ids of the user's entries, in any status, that begin so, in order."""
        ...

    async def page(self, selection: Selection, *, limit: int, cursor: str | None) -> Page:
        """One page of entries, those said last first.

        Raises:
            ValueError: the cursor is not one that a page gave, or the limit is below 1.
        """
        ...

    async def pinned(self, scope: Scope, *, limit: int) -> list[Entry]:
        """The pinned active entries of a scope that were said last; one that was pinned a moment ago may be missing."""
        ...

    async def scan(self, *, after: str, limit: int) -> list[Entry]:
        """The active entries of all users whose ids come after this one, in the order of ids."""
        ...

    async def export_entries(self, user_id: str, *, after: Place | None, limit: int) -> list[Entry]:
        """The entries of a user in any status after a place, the oldest first."""
        ...


class LexicalIndex(Protocol):
    """Search by words."""

    async def search(
        self, scope: Scope, query: str, *, limit: int, filters: Filters, reach: int = 0
    ) -> list[LexicalHit]:
        """The active entries of the scope that, or whose neighbours, share words with the query, best first.

        Each hit comes with what the scope sees up to `reach` entries before and after it in its session. Equal scores
        are ordered by time, the newest first, then by id.
        """
        ...

    async def frequencies(self, scope: Scope, terms: Sequence[str]) -> dict[str, int]:
        """How many active entries of the scope have each of these terms; those that none has are missing."""
        ...

    async def neighbours(self, refs: Sequence[Ref], *, reach: int) -> dict[str, dict[int, str]]:
        """The active entries around each entry in its session, as in `LexicalHit.neighbours`; unknown ones are missing.

        Around an entry of a persona are those of this persona and of none, around any other those of none.
        """
        ...


class Privacy(Protocol):
    """Forgetting, erasing, and leaving nothing of it in the files."""

    async def forget(self, refs: Sequence[Ref], *, until: datetime | None) -> list[Forgotten]:
        """Leave of each entry a tombstone, and of its turn and those merged into it a log without their words.

        Until `until` the statement may not come back; None lets it. Forgotten again, an entry stays as it is and is
        returned as it was the first time. Unknown ones are missing.
        """
        ...

    async def redact(self, changes: Sequence[Change], *, until: datetime) -> dict[str, tuple[str, ...]]:
        """Replace entries, as `EntryStore.replace` does, and leave in the log nothing of the turns that said them.

        What they said before, and do not say any more, may not come back until `until`. Returns the ids of those turns
        for each entry; conflicts are missing. Broken off, the same change made again completes it.
        """
        ...

    async def erasures(self, user_ids: Collection[str] | None = None) -> list[Erasure]:
        """The erasures of these users, or of anybody, that are not complete, as they were recorded last."""
        ...

    async def record_erasure(self, user_id: str, held: Erasure | None, new: Erasure | None) -> bool:
        """Replace the erasure of a user, None being none; False, and no change, when it is not the one held.

        One that None replaces is complete: what it removed can be asked for during the next 24 hours.
        """
        ...

    async def erased(self, user_id: str, requested_at: datetime) -> Mapping[str, int] | None:
        """What the erasure asked for at this time removed, when it was completed in the last 24 hours.

        The record of it is found by a hash of user and time; it names neither.
        """
        ...

    async def erase(self, user_id: str, *, mark: Erasure | None = None) -> None:
        """Remove everything of a user: log, entries in any status, tombstones, and whatever finds them.

        It is done in steps, so that others are answered meanwhile. With a mark it goes on only while that erasure is
        the recorded one: what the user says after its end stays.
        """
        ...

    async def count_remaining(self, user_id: str) -> Mapping[str, int]:
        """How much is found of a user in each place, counted by looking: all zero when nothing is."""
        ...

    async def compact(self) -> bool:
        """Leave nothing in the files of what was forgotten or erased; whether there is nothing now.

        Also drops suppressions whose time is over. It may take as long as writing the whole memory anew.
        """
        ...


class Upkeep(Protocol):
    """What the memory as a whole holds: counts, spaces, ages, unfinished work, the model of its vectors."""

    async def counts(self, user_id: str | None = None) -> StageCounts:
        """Count what is stored, for one user or for all."""
        ...

    async def overview(self, user_id: str, space: str | None = None, persona_id: str | None = None) -> Overview:
        """Count the active entries of a user in a space, or in all, by what they are; those that a persona sees."""
        ...

    async def users(self, *, after: str, limit: int) -> list[str]:
        """The users of whom anything is stored and whose ids come after this one, in order."""
        ...

    async def unfinished(self, lacking: Stuck, *, before: datetime, limit: int) -> list[Key]:
        """What has lacked this since before a moment; the oldest first."""
        ...

    async def over_capacity(self, *, cap: int, limit: int, but: Collection[str] = ()) -> list[SpaceSize]:
        """Some spaces with more than `cap` active entries, the fullest first; none of the users `but`."""
        ...

    async def spaces(self, user_id: str) -> list[SpaceSize]:
        """The spaces of a user in which any entry has words, in order, with how many are active there."""
        ...

    async def expired(
        self, *, before: datetime, limit: int, but: Collection[str] = (), of: tuple[str, str] | None = None
    ) -> list[Key]:
        """Entries last said before a moment that are neither pinned nor manually saved, the oldest first.

        Those in use and those that are not, but for what stands behind a roll-up and goes with that.

        Those of everybody without the users `but`, or `of` one user in one space.
        """
        ...

    async def get_embedding_identity(self) -> EmbeddingIdentity | None:
        """The identity that the stored vectors were made by."""
        ...

    async def set_embedding_identity(self, identity: EmbeddingIdentity | None) -> None:
        """Record the identity that vectors are made by from now on."""
        ...


class UserRecords(Protocol):
    """Small records about users: settings, conversations that leave nothing, themes, and what was done.

    While all of a user is about to be erased, nothing new of them is stored.
    """

    async def records(self, user_id: str, kind: RecordKind, names: Collection[str] | None = None) -> list[Record]:
        """The records of a kind that have these names, as they were written last; without names all, as written up to
        a moment ago. In the order of names."""
        ...

    async def get_records(self, keys: Collection[RecordKey]) -> dict[RecordKey, Record]:
        """These records of any users, as they were written last, at once; unknown ones are missing."""
        ...

    async def put_record(self, record: Record, *, held: int | None) -> bool:
        """Store a record in place of the version held, None being none; False, and no change, when that is not there.

        The version stored is 1, or the one after `held`, whatever the record says.

        Raises:
            Unavailable: all of the user is about to be erased.
        """
        ...

    async def add_records(self, records: Sequence[Record]) -> None:
        """Store records that are new; those whose names are there already stay as they were.

        Those of users of whom everything is about to be erased are left out.
        """
        ...

    async def remove_records(self, user_id: str, kind: RecordKind, names: Collection[str] | None = None) -> int:
        """Remove the records of a kind that have these names, or all; how many there were."""
        ...

    async def page_records(
        self, kind: RecordKind, *, user_id: str | None, limit: int, cursor: str | None
    ) -> RecordPage:
        """One page of the records of a user, or of everybody, the newest first.

        Raises:
            ValueError: the cursor is not one that a page gave, or the limit is below 1.
        """
        ...

    async def expire_records(self, kind: RecordKind, *, before: datetime) -> int:
        """Remove the records of everybody that are older than a moment, in steps; how many there were."""
        ...


class TextStore(ConversationLog, DedupeStore, EntryStore, LexicalIndex, Privacy, Upkeep, UserRecords, Protocol):
    """All seven ports of one engine, for what opens and closes it."""

    async def close(self) -> None:
        """Finish what is under way and let go."""
        ...
