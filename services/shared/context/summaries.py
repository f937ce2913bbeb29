"""Extractive summaries: the sentences that matter of what was said, as they were said. Pure, no model.

Every sentence is a verbatim part of an entry and names it. What was read in the entries, as their claims, tells what
matters; where nothing was read, the words that most of it has in common do.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice, pairwise

from contracts.v1.claims import Place
from contracts.v1.entries import Entry
from services.shared.context.words import SENTENCE_END
from services.shared.language.analysis import telling_terms
from services.shared.lifecycle.salience import is_small_talk
from services.shared.privacy.frames import as_stated
from services.shared.privacy.own_words import own_words
from services.shared.ranking.fusion import maximal_marginal_relevance, pairwise_similarity

LONGEST, ONE_LINE, ROLLING = 200, 120, 600
"""Characters of a sentence, of the line that stands for a session, and of a rolling summary."""

EVERY = 4
"""Turns after which a rolling summary changes."""

_NAMED, _NEWEST, _CANDIDATES = 12, 24, 300
_READ, _PER_ENTRY = 4000, 40
_LAMBDA = 0.7
_END = re.compile(rf"(?:(?<!\b[A-Z]\.)|(?=\n))(?:{SENTENCE_END})")  # nor after "J."


@dataclass(frozen=True, slots=True)
class Sentence:
    """A verbatim part of the text of each of its sources, unless a model wrote it from all of them."""

    text: str
    source_ids: tuple[str, ...]
    role: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Rolling:
    """A conversation in a few lines, as of its last turn whose number is a multiple of `EVERY`."""

    sentences: tuple[Sentence, ...] = ()
    turns: int = 0

    @property
    def text(self) -> str:
        """The sentences in the order in which they were said."""
        return " ".join(one.text for one in self.sentences)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence, the entry that it counts for, its terms, and how sure the surest claim is that it makes."""

    sentence: Sentence
    entry: Entry
    terms: frozenset[str]
    sure: float


def rolling_summary(entries: Iterable[Entry], *, turns: int | None = None, length: int = ROLLING) -> Rolling:
    """The rolling summary of the newest entries of a conversation that has so many `turns`, these if it is None.

    It has at most so many characters as `length` says.
    """
    said, count = rolled_up(entries, turns)
    return Rolling(most_telling(said, length=length), count)


def rolled_up(entries: Iterable[Entry], turns: int | None = None) -> tuple[list[Entry], int]:
    """The newest entries of a conversation as of its last turn whose number is a multiple of `EVERY`, and that."""
    said = in_order(entries)
    count = len(said) if turns is None else max(turns, len(said))
    return said[: len(said) - count % EVERY][-_NEWEST:], count - count % EVERY


def most_telling(entries: Iterable[Entry], *, length: int | None = None, limit: int = _NEWEST) -> tuple[Sentence, ...]:
    """The sentences that stand for all of these entries, as they were said and in that order, each once.

    Those that surely state something go before the most central others, and none repeats another. They have at most
    `length` characters together, and one between two.
    """
    chosen = _choose(_candidates(in_order(entries)), limit)
    return in_time(chosen if length is None else within(chosen, length))


def within(sentences: Iterable[Sentence], length: int) -> list[Sentence]:
    """Those of the sentences, the first before the others, that have room in so many characters."""
    chosen: list[Sentence] = []
    for sentence in sentences:
        if len(sentence.text) <= length:
            chosen.append(sentence)
            length -= len(sentence.text) + 1
    return chosen


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """The entries in the order in which they were said."""
    return sorted(entries, key=lambda entry: (entry.created_at, entry.ordinal, entry.id))


def in_time(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    """The sentences in the order in which they were said."""
    return tuple(sorted(sentences, key=lambda one: (one.said_at, one.source_ids, one.text)))


def spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text begin and end; of a long sentence and of a long text the first part."""
    read = text[:_READ]
    bounds = [0, *(found.end() for found in islice(_END.finditer(read), _PER_ENTRY)), len(read)]
    return [_trimmed(text, *span) for span in pairwise(bounds) if any(map(str.isalnum, text[slice(*span)]))]


def _trimmed(text: str, begin: int, end: int, limit: int = LONGEST) -> tuple[int, int]:
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    if end - begin > limit:
        space = text.rfind(" ", begin, begin + limit)
        end = space if space > begin + limit // 2 else begin + limit
    return begin, begin + len(text[begin:end].rstrip())


def clipped(sentence: Sentence, limit: int) -> Sentence:
    """The sentence in so many characters at most."""
    begin, end = _trimmed(sentence.text, 0, len(sentence.text), limit)
    return replace(sentence, text=sentence.text[begin:end])


def sentence_at(entry: Entry, place: Place, value: Place) -> Sentence:
    """A sentence of an entry, of a long one the part from its value on if it would have no room else."""
    begin = place[0] if value[1] - place[0] <= LONGEST else value[0]
    begin, end = _trimmed(entry.text, begin, place[1])
    return Sentence(entry.text[begin:end], (entry.id,), entry.role, entry.created_at)


def _sentences(entry: Entry) -> list[tuple[str, float]]:
    """The sentences of an entry with how sure each states something; of a user's those that are theirs, and not of
    what they pasted."""
    text, stated = entry.text[:_READ], as_stated(entry)[:_READ]
    own = own_words(stated) if entry.role == "user" else stated
    its = [place for place in spans(text) if own[slice(*place)] == text[slice(*place)]]
    return [(text[slice(*place)], _sure(entry, place)) for place in its]


def _sure(entry: Entry, place: Place) -> float:
    """How sure the surest claim is that has its value there."""
    there = (one.confidence for one in entry.claims if one.value[0] < place[1] and place[0] < one.value[1])
    return max(there, default=0.0)


def _candidates(said: Sequence[Entry]) -> list[_Candidate]:
    """The newest sentences that state something, each once."""
    found: dict[str, list[tuple[Entry, float]]] = {}
    for entry in reversed(said):
        if len(found) >= _CANDIDATES:
            break
        for text, sure in _sentences(entry) if entry.role != "tool" else ():
            if sure or _states(text):
                found.setdefault(text, []).append((entry, sure))
    return [_candidate(text, its) for text, its in reversed(found.items())]


def _candidate(text: str, said: Sequence[tuple[Entry, float]]) -> _Candidate:
    """A sentence of these entries, the newest first: it counts as its user's where they said it ever."""
    newest = said[0][0]
    ids = tuple(dict.fromkeys(entry.id for entry, _ in said))[:_NAMED]
    own = next((entry for entry, _ in said if entry.role == "user"), newest)
    sentence = Sentence(text, ids, newest.role, newest.created_at)
    return _Candidate(sentence, own, _terms(text), max(sure for _, sure in said))


def _states(text: str) -> bool:
    return not text.rstrip("\"'”’)").endswith("?") and not is_small_talk(text) and len(_terms(text)) > 1


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(telling_terms(text))


def _choose(candidates: Sequence[_Candidate], limit: int) -> list[Sentence]:
    """The most telling sentences that do not repeat each other, the best first."""
    if not candidates:
        return []
    alike = pairwise_similarity([None] * len(candidates), [sorted(one.terms) for one in candidates])
    taken = maximal_marginal_relevance(_values(candidates), alike, lambda_=_LAMBDA, limit=limit)
    return [candidates[i].sentence for i in taken]


def _values(candidates: Sequence[_Candidate]) -> list[float]:
    """What each sentence is worth: half at most for how central it is, so that what is surely stated is worth more."""
    counts = Counter(term for one in candidates for term in one.terms)
    shared = [_shared(one.terms, counts) for one in candidates]
    most = max(shared) or 1.0
    central = [_weight(one.entry) * (0.1 + share / most) for one, share in zip(candidates, shared, strict=True)]
    best = 2 * max(central)
    return [one.sure + value / best for one, value in zip(candidates, central, strict=True)]


def _shared(terms: frozenset[str], counts: Counter[str]) -> float:
    """How much the words of a sentence are those of all of them."""
    return sum(math.log1p(counts[term]) for term in sorted(terms)) / math.sqrt(max(1, len(terms)))


def _weight(entry: Entry) -> float:
    """How much a sentence counts for what it is in: the user's own statements more than an assistant's."""
    voice = 1.0 if entry.role == "user" else 0.4
    return voice * (0.5 + entry.importance + 0.2 * math.log1p(entry.repeat_count) + entry.pinned)
