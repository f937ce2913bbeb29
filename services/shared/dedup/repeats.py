"""Which entry already says what a new one would: hashes tell what may repeat what, the words decide."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Literal

from contracts.v1.entries import Entry
from contracts.v1.turns import Frame
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import LONG, SIMHASH_BITS, Fingerprint, apart, fingerprint, hamming
from services.shared.dedup.similarity import same_statement
from services.shared.temporal.relative_time import names_relative_time

Likeness = Literal["exact", "statement", "simhash", "minhash"]
"""What two entries have in common: the normal form, the words of the statement, nearly the SimHash, the MinHash."""


def find_canonical(candidate: Entry, similar: Iterable[Entry]) -> Entry | None:
    """The entry that already says the same: an exact repeat before a near one, the oldest first."""
    alike = [entry for entry in similar if likeness(candidate, entry) is not None]
    ranked = sorted(alike, key=lambda e: (e.exact_hash != candidate.exact_hash, e.created_at, e.id))
    said = read(candidate.text) if ranked else candidate.text
    for entry in ranked:
        if same_statement(entry.text, said) and not _mean_other_days(entry, candidate):
            return entry
    return None


def likeness(a: Entry, b: Entry) -> Likeness | None:
    """By what two entries may state the same; None of those that cannot, so that nobody need read them.

    A typing error that is forgiven leaves the MinHash as it is, so two texts whose MinHashes differ at all state
    something else, however near their SimHashes are.
    """
    if a.statement_hash == b.statement_hash:
        return "exact" if a.exact_hash == b.exact_hash else "statement"
    if not a.minhash_bands or a.minhash_bands != b.minhash_bands:
        return None
    return "simhash" if hamming(a.simhash, b.simhash) <= SIMHASH_BITS else "minhash"


def prints_of(text: str, said_at: datetime, frame: Frame | None = None) -> Fingerprint:
    """The fingerprint of a raw text, and of what else makes another statement of it.

    That is the day on which it was said, if it names a time relative to that, and the frame in which nothing is so.
    """
    reading = read(text)
    prints = fingerprint(reading.normal, reading.words)
    if names_relative_time(text):
        prints = apart(prints, _day(said_at).isoformat())
    return apart(prints, frame) if frame in ("fiction", "awaited") else prints


def with_bands(entry: Entry) -> Entry:
    """An entry of an earlier version as this one looks it up."""
    bands = prints_of(entry.text, entry.created_at, entry.frame).minhash_bands if len(entry.text) > LONG else ()
    return entry.model_copy(update={"minhash_bands": bands})


def _day(moment: datetime) -> date:
    """The calendar day of a time, in UTC: turns keep no other zone."""
    return moment.astimezone(UTC).date()


def _mean_other_days(entry: Entry, candidate: Entry) -> bool:
    """Whether they were said on different days and name a time relative to it: "tomorrow" is another day then."""
    if _day(entry.created_at) == _day(candidate.created_at):
        return False
    return names_relative_time(candidate.text) or names_relative_time(entry.text)
