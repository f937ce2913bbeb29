"""Tags that the nearest entries in meaning have, proposed for one that lacks them, beside its own. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from contracts.v1.entries import Entry, NeighbourTag
from services.shared.language.analysis import analyze
from services.shared.lifecycle.lineage import is_key_tag
from services.shared.lifecycle.salience import is_small_talk

NEAREST = 8
"""Entries that are looked at, the nearest ones."""

_ALIKE = 0.25
"""The cosine from which on a neighbour counts: chosen, as the share, with `tests/quality/neighbour_tags.tsv`."""

_HAVE_IT = 2
"""Neighbours that must have a tag: one alone is an accident."""

_SHARE = 0.5
"""Of what the neighbours weigh, by cosine, those with the tag must have so much."""

_MOST = 3
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")


def wants_tags(entry: Entry) -> bool:
    """Whether tags may be proposed: for what was said, and not where its user has decided about the tags."""
    return is_evidence(entry) and not entry.tags_edited and not is_small_talk(entry.text)


def is_evidence(entry: Entry) -> bool:
    """Whether the tags of an entry tell anything of its neighbours: it holds, and was said."""
    return entry.status == "active" and entry.source == "turn" and entry.type != "summary"


def proposed(entry: Entry, neighbours: Sequence[tuple[Entry, float]]) -> tuple[NeighbourTag, ...]:
    """The tags that most of the neighbours have, which are given with their cosines; the surest first.

    Only what they have themselves counts, and neither names nor numbers: that two texts are alike does not tell who
    and how many are meant.
    """
    near = [(one, cosine) for one, cosine in neighbours if cosine >= _ALIKE and one.id != entry.id]
    near = sorted((pair for pair in near if is_evidence(pair[0])), key=lambda pair: (-pair[1], pair[0].id))[:NEAREST]
    total = sum(cosine for _, cosine in near)
    known = set(analyze(" ".join((entry.text, *entry.tags))))
    having: dict[str, list[tuple[Entry, float]]] = defaultdict(list)
    for one, cosine in near:
        for tag in dict.fromkeys(one.tags):
            if _may_pass_on(tag, one) and not known.issuperset(analyze(tag)):
                having[tag].append((one, cosine))
    sure = [
        _tag(tag, its, total) for tag, its in having.items() if len(its) >= _HAVE_IT and _share(its, total) >= _SHARE
    ]
    return tuple(sorted(sure, key=lambda one: (-one.confidence, one.tag))[:_MOST])


def _share(having: Sequence[tuple[Entry, float]], total: float) -> float:
    return sum(cosine for _, cosine in having) / total


def _tag(tag: str, having: Sequence[tuple[Entry, float]], total: float) -> NeighbourTag:
    alike = sum(cosine for _, cosine in having) / len(having)
    confidence = min(1.0, max(0.0, alike * _share(having, total)))
    return NeighbourTag(tag=tag, confidence=round(confidence, 3), source_ids=tuple(one.id for one, _ in having))


def _may_pass_on(tag: str, of: Entry) -> bool:
    names = _words(" ".join((*(entity.text for entity in of.entities), of.speaker or "")))
    is_plain = _words(tag).isdisjoint(names) and not _DIGIT.search(tag) and not is_key_tag(tag)
    return is_plain and bool(analyze(tag))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def with_proposed(entry: Entry, tags: tuple[NeighbourTag, ...]) -> Entry:
    """The entry with these tags proposed in place of former ones, unless its user has decided meanwhile."""
    own = set(entry.tags)
    tags = tuple(one for one in tags if one.tag not in own) if wants_tags(entry) else ()
    return entry if tags == entry.neighbour_tags else entry.model_copy(update={"neighbour_tags": tags})


def without_sources(entry: Entry, gone: Collection[str]) -> Entry | None:
    """The entry without what these entries (by id) bear out; None when that is nothing."""
    left = tuple(
        one.model_copy(update={"source_ids": sources})
        for one in entry.neighbour_tags
        if len(sources := tuple(id_ for id_ in one.source_ids if id_ not in gone)) >= _HAVE_IT
    )
    return None if left == entry.neighbour_tags else entry.model_copy(update={"neighbour_tags": left})


def source_label(entry_id: str) -> str:
    """Under which the entries are filed for which this one bears out a tag."""
    return f"neighbour of {entry_id}"


def filed_under(entry: Entry) -> tuple[str, ...]:
    """The labels that an entry is found by: its own tags, and of those that are proposed where they come from."""
    sources = {source_label(id_) for one in entry.neighbour_tags for id_ in one.source_ids}
    return (*entry.tags, *sorted(sources))
