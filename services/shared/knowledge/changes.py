"""Which claims of earlier entries a new text ends: what is worth comparing, and what follows from it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from contracts.v1.claims import Change, Claim, Place, Reading, Relation, Slot
from contracts.v1.entries import Entry
from services.shared.knowledge.profile import LIKELY, is_outdated

UPDATE, UNSURE, CONTRADICTION = 0.85, 0.6, 0.7
"""From these on an update is believed, is for the user to decide, and two statements contradict each other."""

ENDS = 0.15
"""From this on a text may say that something is so no longer, and is compared with what was said before."""

MOST_PAIRS = 24
_STAYING = frozenset[Slot | None](("name", "birthday", "origin", "family", "partner", "friend", "colleague", "pet"))
"""Slots whose values mostly are a name, or have one in them: it being said again changes none of them."""

_LONGEST_NEW = 300
_SHORTEST_WORD = 4
_FEWEST_WORDS = 2
_SHORTEST_CODE = 4
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+")
_JOINED = re.compile(r"\w+(?:[.@-]\w+)*")
_OF_CODE = re.compile(r"[^\W\d_][-_.]?\d|@")
"""Letters and digits in one word, as OPS-482, b659fe and kim.428@shop.example, which name one thing among many."""


Effect: TypeAlias = Literal["superseded", "in part"]


class Pair(NamedTuple):
    """A sentence of an older entry, the new text that it is compared with, and which of its claims that may end."""

    older: Entry
    sentence: Place
    new: str
    claims: tuple[Claim, ...]

    @property
    def texts(self) -> tuple[str, str]:
        """What the reader compares."""
        return self.older.text[slice(*self.sentence)], self.new


def may_change(reading: Reading, *, contradictions: bool) -> bool:
    """Whether a text is worth comparing with what was said before; any claim is, where contradictions are asked for."""
    return reading.ends >= ENDS or any(one.is_new or contradictions for one in reading.claims)


def compared_text(own: str, claims: Iterable[Claim]) -> str:
    """Of what a user says in their own words as much as is compared; of a long text the sentences that claim anything.

    The others' words are blanks in it.
    """
    whole = _plain(own)
    if len(whole) <= _LONGEST_NEW:
        return whole
    sentences = sorted({one.sentence for one in claims})
    return (" ".join(_plain(own[slice(*one)]) for one in sentences) or whole)[:_LONGEST_NEW]


def _plain(text: str) -> str:
    return " ".join(text.split())


def stated(entry: Entry) -> tuple[Claim, ...]:
    """What an entry says is so, or is to be done, as far as nothing has ended it."""
    return tuple(one for one in _claimed(entry) if not is_outdated(entry, _value(one, entry)))


def _claimed(entry: Entry) -> tuple[Claim, ...]:
    decided = [one.claim for one in entry.decided_claims if one.is_so]
    likely = [one for one in entry.claims if one.confidence >= LIKELY and not _is_decided(one, entry)]
    return (*likely, *decided)


def _is_decided(claim: Claim, entry: Entry) -> bool:
    return claim.kind == "fact" and any(one.claim.overlaps(claim.value, claim.slot) for one in entry.decided_claims)


def to_compare(older: Iterable[Entry], new: str, claims: Collection[Claim]) -> list[Pair]:
    """One pair for each sentence of these entries, given the nearest first, of which the new text may end something.

    Those claims are meant of whose slot it claims something itself, or of whose value it has a word: where a locker is
    ends no code of it, and that somebody's wedding was moved not that she is a sister. What claims nothing itself ("it
    is over") means the only claim of a sentence.
    """
    if not new:
        return []
    of: defaultdict[tuple[str, Place], list[Claim]] = defaultdict(list)
    entries = {one.id: one for one in older}
    for one in entries.values():
        for claim in stated(one):
            of[one.id, claim.sentence].append(claim)
    slots, words = {(claim.kind, claim.slot) for claim in claims}, words_of(new)

    def meant(entry: Entry, here: Sequence[Claim]) -> tuple[Claim, ...]:
        if len(here) == 1 and not claims:
            return tuple(here)
        return tuple(
            one
            for one in here
            if (one.kind, one.slot) in slots or (one.slot not in _STAYING and words & words_of(_value(one, entry)))
        )

    pairs = (Pair(entries[id_], at, new, meant(entries[id_], here)) for (id_, at), here in of.items())
    kept = (one for one in pairs if one.claims and one.texts[0].strip() and not are_of_two_codes(*one.texts))
    return list(islice(kept, MOST_PAIRS))


def are_of_two_codes(one: str, other: str) -> bool:
    """Whether two texts name things by codes of one series, or of different kinds, and none in both.

    OPS-482 is neither OPS-956 nor kim.482@shop.example; where rose88 stood, tulip77 may.
    """
    codes, others = _codes(one), _codes(other)
    if not codes or not others or not codes.isdisjoint(others):
        return False
    is_of_one_series = not set(map(_series, codes)).isdisjoint(map(_series, others))
    return is_of_one_series or set(map(_kind, codes)).isdisjoint(map(_kind, others))


def _series(code: str) -> str:
    return _DIGITS.sub("0", code)


def _kind(code: str) -> str:
    """What joins the parts of a code: an address has an @, a ticket a hyphen, and a hash nothing."""
    return "@" if "@" in code else "-" if not code.isalnum() else ""


def _codes(text: str) -> set[str]:
    words = (word for word in _JOINED.findall(text.casefold()) if len(word) >= _SHORTEST_CODE)
    return {word for word in words if _OF_CODE.search(word) and any(map(str.isdigit, word))}


def _change(claim: Claim, entry: Entry, relation: Relation) -> Change:
    sure = round(min(1.0, relation.update), 3)
    return Change(entry_id=entry.id, kind=claim.kind, slot=claim.slot, value=claim.value, confidence=sure)


def _value(claim: Claim, entry: Entry) -> str:
    return entry.text[slice(*claim.value)]


def words_of(text: str) -> set[str]:
    """Words of a text that tell one value from another: short ones stand everywhere, but for numbers."""
    found = _WORD.findall(text.casefold())
    return {word for word in found if len(word) >= _SHORTEST_WORD or any(map(str.isdigit, word))}


class Judgement(NamedTuple):
    """What a new text is to an older entry: what it ends there, and whether only its user can tell."""

    older: Entry
    changes: tuple[Change, ...] = ()
    in_doubt: bool = False


def judge(pairs: Sequence[Pair], relations: Sequence[Relation], *, contradictions: bool) -> list[Judgement]:
    """The entries that a new text changes or may change, in the order of the pairs."""
    found: dict[str, Judgement] = {}
    for pair, relation in zip(pairs, relations, strict=True):
        before = found.get(pair.older.id, Judgement(pair.older))
        is_unsure = UNSURE <= relation.update < UPDATE
        in_doubt = is_unsure or (contradictions and relation.contradiction >= CONTRADICTION)
        ended = pair.claims if relation.update >= UPDATE else ()
        changes = (*before.changes, *(_change(one, pair.older, relation) for one in ended))
        found[pair.older.id] = Judgement(pair.older, changes, before.in_doubt or in_doubt)
    return [one for one in found.values() if one.changes or one.in_doubt]


def effect(older: Entry, changes: Iterable[Change]) -> Effect | None:
    """What becomes of an entry in use by what another one changes: all that it says has ended, or a part has."""
    gone = {(one.kind, one.slot, one.value) for one in changes if one.entry_id == older.id}
    is_gone = [(one.kind, one.slot, one.value) in gone for one in stated(older)]
    if not any(is_gone):
        return None
    return "superseded" if all(is_gone) and not _says_more(older) else "in part"


def _says_more(entry: Entry) -> bool:
    """Whether an entry has more to say than the sentences of its claims: what was not read there may be asked for."""
    rest = list(entry.text)
    for claim in entry.claims:
        rest[slice(*claim.sentence)] = " " * (claim.sentence[1] - claim.sentence[0])
    return len(words_of("".join(rest))) >= _FEWEST_WORDS


def outdated_by(older: Entry, changes: Iterable[Change]) -> tuple[str, ...]:
    """The values in an entry that these changes ended, and those that had ended before."""
    values = {older.text[slice(*one.value)] for one in changes if one.entry_id == older.id}
    before = {value for value in older.outdated if is_outdated(older, value)}
    return tuple(sorted(values | before))
