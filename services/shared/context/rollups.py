"""Roll-ups of what is old: which entries may be rolled up, and what then stands for them. Pure, no model.

Every line of a roll-up is a verbatim part of the entries that it names, all of one voice: what it says was said so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from contracts.v1.claims import Claim
from contracts.v1.entries import Entry
from contracts.v1.turns import EntryType, Role
from services.shared.context.summaries import Sentence, in_order, most_telling
from services.shared.dedup.repeats import prints_of
from services.shared.lifecycle.editing import UNREAD
from services.shared.lifecycle.importance import last_used
from services.shared.lifecycle.pinning import own_importance
from services.shared.privacy.frames import is_framed
from services.shared.ranking.capacity import is_protected

LENGTH, LINES = 1200, 16
"""Characters and lines of a roll-up at most."""

MOST = 64
"""Entries that go into one roll-up at most: more are a topic of several."""

LEAST = 2
"""Entries that are worth rolling up."""

_IN_USE = {"status": "active", "rolled_up_into": None}
_ROLES: tuple[Role, ...] = ("user", "assistant")
_LASTING: tuple[EntryType, ...] = ("preference", "instruction")


class Voice(NamedTuple):
    """Who speaks, and to which persona. What several say is never rolled up into one."""

    space: str
    persona_id: str | None
    role: Role
    speaker: str | None


@dataclass(frozen=True, slots=True)
class Draft:
    """Entries of one voice, those said first first, and the sentences that would stand for them."""

    entries: tuple[Entry, ...]
    sentences: tuple[Sentence, ...]


def may_be_rolled_up(entry: Entry, before: datetime | None = None) -> bool:
    """Whether something that was said may go into a roll-up: in earnest, and nobody asked for it to be kept.

    With `before` only what was last said, and last an answer, earlier.
    """
    said = entry.status == "active" and entry.source == "turn" and entry.role in _ROLES and entry.type != "summary"
    said = said and not (is_protected(entry) or is_framed(entry))
    return said and (before is None or last_used(entry) < before)


def may_age(entry: Entry, before: datetime) -> bool:
    """Whether it may go into a roll-up that nobody asked for: preferences and instructions hold until they change."""
    return entry.type not in _LASTING and may_be_rolled_up(entry, before)


def voices(entries: Iterable[Entry]) -> dict[Voice, list[Entry]]:
    """The entries of each voice."""
    found: dict[Voice, list[Entry]] = defaultdict(list)
    for one in entries:
        found[Voice(one.space, one.persona_id, one.role, one.speaker)].append(one)
    return found


def drafts(entries: Sequence[Entry]) -> Iterator[Draft]:
    """The roll-ups of what one voice said of one topic, the oldest first; none of what nothing can be told."""
    said = in_order(entries)
    size = math.ceil(len(said) / math.ceil(len(said) / MOST)) if said else 1
    yield from filter(None, (draft(said[start : start + size]) for start in range(0, len(said), size)))


def draft(entries: Sequence[Entry]) -> Draft | None:
    """What would stand for these entries; None where they are too few, or nothing can be told of them."""
    if len(entries) < LEAST:
        return None
    sentences = [one for one in most_telling(entries, length=LENGTH, limit=LINES) if "\n" not in one.text]
    return Draft(tuple(in_order(entries)), tuple(sentences)) if sentences else None


def rollup(of: Draft, id_: str, now: datetime) -> Entry:
    """The entry that stands for those of a draft, as old as the latest of them."""
    first, last = of.entries[0], max(of.entries, key=lambda one: one.last_said_at)
    return Entry(
        id=id_,
        user_id=first.user_id,
        space=first.space,
        role=first.role,
        speaker=first.speaker,
        persona_id=first.persona_id,
        type="summary",
        source="rollup",
        source_ids=tuple(one.id for one in of.entries),
        importance=max(map(own_importance, of.entries)),
        created_at=last.last_said_at,
        updated_at=now,
        **_said(of.sentences, of.entries, last.last_said_at),
    )


def _said(sentences: Sequence[Sentence], entries: Collection[Entry], at: datetime) -> dict[str, Any]:
    """What depends on the words: nothing but what these entries have in common is taken over from them."""
    text = "\n".join(one.text for one in sentences)
    return {
        "text": text,
        "line_sources": tuple(one.source_ids for one in sentences),
        "tags": _common([one.tags for one in entries]),
        "themes": _common([one.themes for one in entries]),
        **asdict(prints_of(text, at)),
    }


def _common(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(one for one in labels[0] if all(one in others for others in labels)) if labels else ()


def without(entry: Entry, gone: Collection[str], left: Collection[Entry], now: datetime) -> Entry | None:
    """The roll-up without what only the entries `gone` said, of which `left` has those that still have words.

    None where no line stays, or nobody can tell any more which line is from whom, as its text was changed.
    """
    kept = [(line, tuple(id_ for id_ in ids if id_ not in gone)) for line, ids in _lines_of(entry)]
    sentences = [Sentence(line, ids, entry.role, entry.created_at) for line, ids in kept if ids]
    if not sentences:
        return None
    return entry.model_copy(
        update={
            **UNREAD,
            **_said(sentences, left, entry.created_at),
            "source_ids": tuple(id_ for id_ in entry.source_ids if id_ not in gone),
            "decided_claims": (),
            "revisions": (),
            "updated_at": now,
        }
    )


def put_away(entry: Entry, into: str, now: datetime) -> Entry | None:
    """The entry out of use, for the roll-up that says it; None where it may not go."""
    if not may_be_rolled_up(entry):
        return None
    update = {"status": "archived", "rolled_up_into": into, "embedding_state": "pending", "updated_at": now}
    update["neighbour_tags"] = ()  # proposed anew with its vector, and taken back nowhere but from what is in use
    return entry.model_copy(update=update)


def is_original(entry: Entry | None, of: str) -> bool:
    """Whether the entry is archived for this roll-up, with its words."""
    return entry is not None and entry.status == "archived" and entry.rolled_up_into == of


def told_by(entries: Iterable[Entry], sources: Mapping[str, Entry]) -> list[Entry]:
    """What is read for facts and for what is to be done: in place of each roll-up its originals, as they were in use.

    `sources` are the originals as they are stored. Of one that has no words any more, the lines of the roll-up that
    say what it said stand for it, said when it was. A roll-up whose text the user changed tells that text alone.
    """
    direct = list(entries)
    found = {its.id: its for one in direct if _stands_for_others(one) for its in _originals(one, sources)}
    found |= {one.id: one for one in direct if not _stands_for_others(one)}
    return list(found.values())


def sources_told(entries: Iterable[Entry]) -> list[tuple[str, str]]:
    """User and id of the originals that tell something in place of roll-ups among these entries."""
    return [(one.user_id, id_) for one in entries if _stands_for_others(one) for id_ in one.source_ids]


def _stands_for_others(entry: Entry) -> bool:
    return entry.source == "rollup" and bool(entry.line_sources)


def _originals(of: Entry, sources: Mapping[str, Entry]) -> Iterator[Entry]:
    for id_ in of.source_ids:
        source = sources.get(id_)
        if source is not None and is_original(source, of.id):
            yield source.model_copy(update=_IN_USE)
        elif (source is None or source.status == "forgotten") and (told := _alone(of, id_))["text"]:
            said = {"id": id_, "speaker": of.speaker, "read_by": of.read_by, "decided_claims": (), **told}
            alone = {"source": "turn", "source_ids": (), "line_sources": ()}
            yield (source or of).model_copy(update={**said, **alone, **_IN_USE})


def _alone(rollup: Entry, source_id: str) -> dict[str, Any]:
    """The lines that stand for a source, and what was read in them, with the places that it has there."""
    lines, claims = list[str](), list[Claim]()
    begin = there = 0
    for line, ids in _lines_of(rollup):
        if source_id in ids:
            here = begin, begin + len(line)
            claims += [one.moved(there - begin) for one in rollup.claims if one.is_within(here)]
            lines.append(line)
            there += len(line) + 1
        begin += len(line) + 1
    return {"text": "\n".join(lines), "claims": tuple(claims)}


def _lines_of(rollup: Entry) -> Iterator[tuple[str, tuple[str, ...]]]:
    return zip(rollup.text.split("\n"), rollup.line_sources, strict=False)


def brought_back(entry: Entry, of: str, now: datetime) -> Entry | None:
    """The entry in use again, as it was before this roll-up; None where it is not archived for it."""
    if not is_original(entry, of):
        return None
    return entry.model_copy(update={**_IN_USE, "updated_at": now})
