"""What was promised against what is there, in the style of Jepsen: lost, duplicated, foreign, zombie, and more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from contracts import subjects
from contracts.ports import Key, LogRecord
from contracts.v1.entries import Entry
from tests.faults.by_model import check_claims
from tests.faults.findings import Findings, Kind
from tests.faults.journal import UNKEPT, Promise
from tests.faults.journal import Kind as Step

TurnKey: TypeAlias = tuple[str, str, str]
"""User, space, turn id."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was found when nothing ran any more.

    `points` is None without a vector store; `lacking` are entries whose point is filtered by something else. `versions`
    are the highest seen of each entry while it ran, `left` the markers found in the raw bytes of the data folder;
    `letters` counts the dead letters by what they carry; `decided` are the users who want nothing kept, and how;
    `by_model` says whether there was a language model.
    """

    records: Sequence[LogRecord]
    entries: Sequence[Entry]
    points: Sequence[Key] | None = None
    lacking: frozenset[str] = frozenset()
    letters: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    left: frozenset[str] = frozenset()
    decided: frozenset[tuple[Step, str]] = frozenset()
    by_model: bool = False


def check(promises: Iterable[Promise], observed: Observed) -> Findings:
    """Everything that is not as promised."""
    check = _Check(tuple(promises), observed)
    if observed.by_model:
        check.claims()
    check.log()
    check.outcomes()
    check.entries()
    check.edits()
    check.decisions()
    check.repeats()
    check.points()
    check.letters()
    check.raw_bytes()
    check.places()
    return check.findings


class _Check:
    def __init__(self, promises: Sequence[Promise], observed: Observed) -> None:
        self.findings = Findings(acknowledged=len(promises))
        self._observed = observed
        self._erased = {one.user_id for one in promises if one.kind == "erase"}
        self._forgotten = {one.statement for one in promises if one.kind == "forget"}
        self._edited = [one for one in promises if one.kind in ("pin", "update") and not self._is_gone(one)]
        self._corrected = {one.statement for one in promises if one.kind == "update"}
        self._said = {
            (one.user_id, one.space, one.turn_id): one
            for one in promises
            if one.kind in ("say", "create") and one.user_id not in self._erased
        }
        self._gone_markers = {one.marker for one in promises if one.marker and self._is_gone(one)}
        self._spoiled = [one for one in promises if one.kind == "spoil" and one.user_id not in self._erased]
        self._unkept = [one for one in promises if one.kind in UNKEPT and one.user_id not in self._erased]
        self._records = {_key(record): record for record in self._observed.records}
        self._entries = {entry.id: entry for entry in observed.entries}
        self._lost: set[TurnKey] = set()

    def _is_gone(self, said: Promise) -> bool:
        return said.user_id in self._erased or said.statement in self._forgotten or said.kind in UNKEPT

    def claims(self) -> None:
        """What a model read is as the texts say; see `by_model`."""
        unsure = {user_id for _, user_id in self._observed.decided}
        check_claims(self._observed.entries, unsure=unsure, findings=self.findings)

    def log(self) -> None:
        """Each turn is logged once, as its user's, and nothing else is."""
        for key, times in Counter(map(_key, self._observed.records)).items():
            if times > 1:
                self.findings.add("duplicated", f"turn {key} is logged {times} times")
        for key in self._said.keys() - self._records.keys():
            self._lose(key, "is not in the log")
        for key, record in self._records.items():
            said = self._said.get(key)
            if said is None:
                kind: Kind = "zombie" if key[0] in self._erased else "foreign"
                self.findings.add(kind, f"turn {key} is in the log, and nobody said it")
            elif not self._is_gone(said) and said.marker not in record.turn.text.lower():
                self.findings.add("foreign", f"turn {key} is in the log with other words: {record.turn.text!r}")
            elif said.statement in self._forgotten and said.marker in record.turn.model_dump_json().lower():
                self.findings.add("zombie", f"turn {key} of a forgotten entry keeps its words in the log")

    def outcomes(self) -> None:
        """Each logged turn is stored, merged into what says the same, or refused for a reason that holds."""
        for key, record in self._records.items():
            if key not in self._said:
                continue
            if not record.proposals:
                self._lose(key, "has no proposal")
            for decision in record.proposals:
                settled = decision.outcome
                if settled is None:
                    self._lose(key, "is undecided")
                elif settled.kind == "refused":
                    self._refused(key, settled.reason)
                elif settled.entry_id not in self._entries:
                    self._lose(key, f"was {settled.kind}, but its entry is missing")
                elif settled.kind == "merged":
                    self._merged(key, self._entries[settled.entry_id])

    def _refused(self, key: TurnKey, reason: str | None) -> None:
        if self._said[key].statement not in self._forgotten:
            self._lose(key, f"was refused, though nobody forgot it: {reason!r}")

    def _merged(self, key: TurnKey, canonical: Entry) -> None:
        origin = self._said.get(_origin(canonical))
        if origin is not None and origin.statement != self._said[key].statement:
            self.findings.add("merged_wrongly", f"{self._said[key].statement} into {origin.statement}")

    def entries(self) -> None:
        """Each statement has one entry in use, of the user who said it; none when it was forgotten."""
        in_use: Counter[str] = Counter()
        for entry in self._observed.entries:
            said = self._said.get(_origin(entry))
            if said is None:
                kind: Kind = "zombie" if entry.user_id in self._erased else "foreign"
                self.findings.add(kind, f"entry {entry.id} of {entry.user_id!r} comes from nothing that was said")
                continue
            if said.statement in self._forgotten:
                self._check_forgotten(entry, said)
            else:
                self._check_kept(entry, said)
                # What is corrected may be said once more in its old words, which make another entry then.
                is_counted = said.statement not in self._corrected or entry.edited_at is not None
                in_use[said.statement] += entry.status == "active" and is_counted
        for statement, times in in_use.items():
            if times > 1:
                self.findings.add("duplicated", f"{statement} has {times} entries")

    def _check_forgotten(self, entry: Entry, said: Promise) -> None:
        if entry.status == "active":
            self.findings.add("zombie", f"entry {entry.id} was forgotten and is active")
        elif said.marker in entry.model_dump_json().lower():
            self.findings.add("zombie", f"entry {entry.id} was forgotten and keeps its words")

    def _check_kept(self, entry: Entry, said: Promise) -> None:
        if said.marker not in entry.text.lower():
            self.findings.add("foreign", f"entry {entry.id} has other words than {said.marker}: {entry.text!r}")
        if entry.status != "active":
            self._lose(_origin(entry), f"has an entry that is {entry.status}")
        elif self._observed.points is not None and entry.embedding_state != "ready":
            self._lose(_origin(entry), f"has an entry without a vector: {entry.embedding_state}")
        seen = self._observed.versions.get(entry.id, 0)
        if entry.version < seen:
            self.findings.add("went_back", f"entry {entry.id} from version {seen} to {entry.version}")

    def edits(self) -> None:
        """What was pinned is pinned, and what was corrected says something else, and tells what it said before."""
        entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in self._observed.entries:
            if (said := self._said.get(_origin(entry))) is not None:
                entries[said.statement].append(entry)
        for promise in self._edited:
            its = entries[promise.statement]
            if promise.kind == "pin" and not any(one.pinned and one.importance == 1.0 for one in its):
                self.findings.add("lost", f"{promise.statement} was pinned, and is not")
            if promise.kind == "update" and not any(one.edited_at and len(one.revisions) == 1 for one in its):
                self.findings.add("lost", f"{promise.statement} was corrected, and is not, or its history is not whole")

    def decisions(self) -> None:
        """Who wanted nothing kept wants it still."""
        for promise in self._unkept:
            if (promise.kind, promise.user_id) not in self._observed.decided:
                self.findings.add("lost", f"{promise.user_id!r} decided on {promise.kind}, which is forgotten")

    def repeats(self) -> None:
        """Each repeat is counted once."""
        merged: Counter[str] = Counter()
        refused: Counter[str | None] = Counter()
        for record in self._observed.records:
            said = self._said.get(_key(record))
            for settled in (decision.outcome for decision in record.proposals):
                if settled is not None and settled.kind == "merged":
                    merged[settled.entry_id or ""] += 1
                elif settled is not None and said is not None:
                    refused[said.statement] += settled.kind == "refused"
        for entry in self._observed.entries:
            difference = entry.repeat_count - merged[entry.id]
            if entry.status == "forgotten" and difference < 0:
                continue  # merged while it was forgotten, when nobody counts any more
            if entry.status == "forgotten" and difference <= self._refused_of(entry, refused):
                continue  # counted by who was killed before noting it, and refused once it was forgotten
            if difference:
                kind: Kind = "duplicated" if difference > 0 else "lost"
                counted = f"counts {entry.repeat_count} repeats of {merged[entry.id]}"
                self.findings.add(kind, f"{entry.status} entry {entry.id} of turn {_origin(entry)} {counted}")

    def _refused_of(self, entry: Entry, refused: Mapping[str | None, int]) -> int:
        """How many proposals were refused that say what an entry says."""
        said = self._said.get(_origin(entry))
        return refused[said.statement] if said is not None else 0

    def points(self) -> None:
        """The vector store holds exactly the active, embedded entries."""
        if self._observed.points is None:
            return
        points = {point.id: point.user_id for point in self._observed.points}
        wanted = {
            entry.id: entry.user_id
            for entry in self._observed.entries
            if entry.status == "active" and entry.embedding_state == "ready"
        }
        wanted = {id_: user for id_, user in wanted.items() if user not in self._erased}
        for id_ in wanted.keys() - points.keys():
            self.findings.add("vectors_differ", f"entry {id_} has no vector")
        for id_ in self._observed.lacking & points.keys():
            self.findings.add("vectors_differ", f"entry {id_} has a vector that is filtered by something else")
        for id_ in points.keys() - wanted.keys():
            is_gone = (
                id_ not in self._entries or self._entries[id_].status == "forgotten" or points[id_] in self._erased
            )
            self.findings.add("zombie" if is_gone else "vectors_differ", f"vector {id_} is of no active entry")
        for id_ in wanted.keys() & points.keys():
            if wanted[id_] != points[id_]:
                self.findings.add("foreign", f"vector {id_} is of {points[id_]!r}, its entry of {wanted[id_]!r}")

    def letters(self) -> None:
        """Each message that could not be digested is a dead letter, once; of a user with many, a full share is kept."""
        spoiled = {one.letter: one.user_id for one in self._spoiled}
        room = dict.fromkeys(spoiled.values(), subjects.DEAD_STREAM.share)
        for letter, user_id in spoiled.items():
            times = self._observed.letters.get(letter, 0)
            room[user_id] -= times
            if times > 1:
                self.findings.add("letters_differ", f"{letter} is {times} times among the dead letters")
        for letter, user_id in spoiled.items():
            if letter not in self._observed.letters and room[user_id] > 0:
                self.findings.add("letters_differ", f"{letter} is not among the dead letters, where there is room")
        others = {one: times for one, times in self._observed.letters.items() if one not in spoiled}
        if others:
            self.findings.add("letters_differ", f"{len(others)} dead letters of messages that were good: {others}")

    def raw_bytes(self) -> None:
        """Nothing of what was forgotten or erased, or not to be kept, is left in a file."""
        for marker in sorted(self._gone_markers & self._observed.left):
            self.findings.add("zombie", f"{marker} is in the raw bytes of the data folder")

    def places(self) -> None:
        """Where in the order of publishing turns were lost: before all that survived, after it, or in between."""
        if not self._lost:
            return
        order = list(self._said)
        kept = [number for number, key in enumerate(order) if key not in self._lost] or [len(order)]
        counted = Counter(
            "prefix" if number < kept[0] else "postfix" if number > kept[-1] else "middle"
            for number, key in enumerate(order)
            if key in self._lost
        )
        self.findings.places = dict(counted)

    def _lose(self, key: TurnKey, why: str) -> None:
        self._lost.add(key)
        self.findings.add("lost", f"turn {key} {why}")


def _key(record: LogRecord) -> TurnKey:
    return record.turn.user_id, record.turn.space, record.turn.turn_id


def _origin(entry: Entry) -> TurnKey:
    return entry.user_id, entry.space, entry.turn_id or ""
