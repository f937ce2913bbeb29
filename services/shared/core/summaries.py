"""Extractive summaries: the sentences that matter of what was said, as they were said. Pure, no model.

Every sentence is a verbatim part of an entry and names it. Nothing here judges a tone: no rule on words does so
honestly.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

import numpy as np

from contracts.ports import Vector
from contracts.v1.entries import Entry
from services.shared.core import loops
from services.shared.core.deeds import State
from services.shared.core.facts import facts_of
from services.shared.core.frames import as_stated
from services.shared.core.own_words import own_words
from services.shared.core.persons import people_of
from services.shared.core.ranking import maximal_marginal_relevance, pairwise_similarity
from services.shared.core.salience import is_small_talk
from services.shared.core.statements import clauses, parsed, terms

LONGEST, ONE_LINE, ROLLING = 200, 120, 600
"""Characters of a sentence, of the line that stands for a session, and of a rolling summary."""

EVERY = 4
"""Turns after which a rolling summary changes."""

_MATTERS, _IN_A_SECTION, _NAMED, _NEWEST, _CANDIDATES = 5, 8, 12, 24, 300
_READ, _PER_ENTRY = 4000, 40
_LAMBDA = 0.7
_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+|\s*\n\s*")
_ABBREVIATION = re.compile(r"\b(?:dr|mr|mrs|ms|prof|st|vs|approx|etc|e\.g|i\.e|[A-Z])\.$", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*\d{1,2}\.")
_WORD = re.compile(r"\w")
_KIN = (
    "sister|brother|mother|father|mum|mom|dad|son|daughter|wife|husband|partner|girlfriend|boyfriend|friend|boss|"
    "manager|colleague|neighbour|neighbor|cousin|aunt|uncle|grandma|grandpa|niece|nephew|flatmate|roommate"
)
_RELATED = re.compile(rf"\b(?:my|our) (?:\w+ )?(?:{_KIN})s?\b", re.IGNORECASE)
_KIN_NAMED = re.compile(rf"\b(?:[Mm]y|[Oo]ur) (?:{_KIN}),? ([A-Z]\w{{1,30}})\b")
_PLACED = (
    r"\b(?:(?:live|lives|lived|living|born|based|stay\w*|flat|house|home|office|studio|weekend|holidays?|winter|summer"
    r"|spring|autumn) in|(?:mov|relocat|travel|driv|fly|flew|commut|head)\w* (?:back )?(?:to|from)"
    r"|(?:trip|train|flight|bus|ferry|move) (?:to|from)|city of|streets of|outside of?|suburb of) {name}\b"
    r"|\b{name}(?: is|'s|’s) (?:\w+ )?(?:lovely|beautiful|nice|great|pretty|gorgeous|wonderful|crowded|sunny|rainy"
    r"|windy|expensive|stunning|full of \w+) in (?:the )?(?:spring|summer|autumn|fall|winter|january|february|march"
    r"|april|may|june|july|august|september|october|november|december)\b"
)
"""How a place is spoken of: where one lives or goes, and what has seasons."""

_PROJECT = re.compile(
    r"\b(?:project|deadline|launch\w*|releas\w+|milestone|prototype|sprint|client|thesis|dissertation|start-?up|"
    r"(?:working|worked|works?) on|building|roadmap|migration|refactor\w*|deploy\w*)\b",
    re.IGNORECASE,
)
_OWN = ("i", "we", "my", "our")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A verbatim part of the text of each of its sources, unless a model wrote it from all of them."""

    text: str
    source_ids: tuple[str, ...]
    role: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a session amounts to. `open_loops` are what nobody did or called off later in it."""

    one_liner: Sentence | None = None
    what_mattered: tuple[Sentence, ...] = ()
    open_loops: tuple[Sentence, ...] = ()
    commitments: tuple[Sentence, ...] = ()
    people: tuple[Sentence, ...] = ()


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
class Spine:
    """All sessions of a space in four sections; a sentence stands in one of them."""

    profile: tuple[Sentence, ...] = ()
    projects: tuple[Sentence, ...] = ()
    people: tuple[Sentence, ...] = ()
    open_loops: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    sentence: Sentence
    entry: Entry
    terms: frozenset[str]
    alone: bool


def session_summary(
    entries: Iterable[Entry], vectors: Mapping[str, Vector], settled: Mapping[str, State] | None = None
) -> SessionSummary:
    """The summary of the entries of a session; `vectors` are unit vectors by entry, where there are any.

    `settled` is what the user decided of open loops, by id.
    """
    said = _in_order(entries)
    matters = _in_time(_choose(_candidates(said), vectors, _MATTERS))
    best = _choose(_candidates(said), vectors, 1)
    found = loops.loops_in(sayings(said), settled)
    return SessionSummary(
        one_liner=_clipped(best[0], ONE_LINE) if best else None,
        what_mattered=matters,
        open_loops=_newest(one for one in found if one.is_open),
        commitments=_newest(one for one in found if one.promised),
        people=_people(said),
    )


def rolling_summary(
    entries: Iterable[Entry], vectors: Mapping[str, Vector], *, turns: int | None = None, length: int = ROLLING
) -> Rolling:
    """The rolling summary of the newest entries of a conversation that has so many `turns`, these if it is None.

    It has at most so many characters as `length` says.
    """
    said, count = rolled_up(entries, turns)
    return Rolling(most_central(said, vectors, length=length), count)


def rolled_up(entries: Iterable[Entry], turns: int | None = None) -> tuple[list[Entry], int]:
    """The newest entries of a conversation as of its last turn whose number is a multiple of `EVERY`, and that."""
    said = _in_order(entries)
    count = len(said) if turns is None else max(turns, len(said))
    return said[: len(said) - count % EVERY][-_NEWEST:], count - count % EVERY


def most_central(
    entries: Iterable[Entry], vectors: Mapping[str, Vector], *, length: int, limit: int = _NEWEST
) -> tuple[Sentence, ...]:
    """The sentences that stand for all of these entries, as they were said and in that order, each once.

    They have at most `length` characters together, and one between two.
    """
    return _in_time(within(_choose(_candidates(_in_order(entries)), vectors, limit), length))


def within(sentences: Iterable[Sentence], length: int) -> list[Sentence]:
    """Those of the sentences, the first before the others, that have room in so many characters."""
    chosen: list[Sentence] = []
    for sentence in sentences:
        if len(sentence.text) <= length:
            chosen.append(sentence)
            length -= len(sentence.text) + 1
    return chosen


def spine_of(
    entries: Iterable[Entry],
    settled: Mapping[str, State] | None = None,
    former: Mapping[str, Collection[str]] | None = None,
) -> Spine:
    """The spine of a space, of what its user said about themselves, others and their projects, and is still to be done.

    `settled` is what the user decided of open loops, by id; `former` are the facts of entries that are not so any more.
    """
    said = [entry for entry in _in_order(entries) if entry.role == "user"]
    open_loops = _newest(one for one in loops.loops_in(sayings(said), settled) if one.is_open)
    taken = {one.text for one in open_loops}
    sections: dict[str, list[_Candidate]] = {"people": [], "projects": [], "profile": []}
    for one in _candidates(said, most=_CANDIDATES * 10):
        section = _section(one)
        if section is not None and one.sentence.text not in taken and not _is_former(one, former or {}):
            sections[section].append(one)
    best = {name: _choose(_most_telling(found), {}, _IN_A_SECTION) for name, found in sections.items()}
    return Spine(open_loops=open_loops, **{name: _in_time(found) for name, found in best.items()})


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.created_at, entry.ordinal, entry.id))


def spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text begin and end; of a long sentence and of a long text the first part."""
    found: list[tuple[int, int]] = []
    begin, read = 0, min(len(text), _READ)
    for end in _END.finditer(text, 0, read):
        if _ABBREVIATION.search(text, max(begin, end.start() - 8), end.start()):
            continue
        if _NUMBERED.fullmatch(text, begin, end.start()) and "\n" not in end[0]:
            continue  # of a list
        found.append((begin, end.start() + len(end[0].rstrip()) if end[0].strip() else end.start()))
        begin = end.end()
        if len(found) >= _PER_ENTRY:
            break
    else:
        found.append((begin, read))
    return [_trimmed(text, *span) for span in found if _WORD.search(text, *span)]


def _trimmed(text: str, begin: int, end: int, limit: int = LONGEST) -> tuple[int, int]:
    begin += len(text[begin:end]) - len(text[begin:end].lstrip())
    if end - begin > limit:
        space = text.rfind(" ", begin, begin + limit)
        end = space if space > begin + limit // 2 else begin + limit
    return begin, begin + len(text[begin:end].rstrip())


def _clipped(sentence: Sentence, limit: int) -> Sentence:
    begin, end = _trimmed(sentence.text, 0, len(sentence.text), limit)
    return replace(sentence, text=sentence.text[begin:end])


def _sentences(entry: Entry) -> list[Sentence]:
    """The sentences of an entry; of a user's those that are theirs, and not of what they pasted."""
    return [
        Sentence(entry.text[begin:end], (entry.id,), entry.role, entry.created_at) for begin, end in _own_spans(entry)
    ]


def _own_spans(entry: Entry) -> list[tuple[int, int]]:
    text, stated = entry.text[:_READ], as_stated(entry)[:_READ]
    own = own_words(stated) if entry.role == "user" else stated
    return [(begin, end) for begin, end in spans(text) if own[begin:end] == text[begin:end]]


def sayings(said: Iterable[Entry]) -> list[loops.Said]:
    """The sentences of users and assistants, as open loops are read off them."""
    return [
        loops.Said(
            entry.text[begin:end],
            entry.id,
            entry.role,
            entry.created_at,
            entry.conversation_id,
            _tasks_in(entry, begin, end),
        )
        for entry in said
        if entry.role in ("user", "assistant")
        for begin, end in _own_spans(entry)
    ]


def _tasks_in(entry: Entry, begin: int, end: int) -> tuple[str, ...]:
    """What was read in a sentence of an entry to be done."""
    places = (claim.value for claim in entry.claims if claim.kind == "task" and claim.confidence >= loops.SURE)
    return tuple(entry.text[slice(*place)] for place in places if begin <= place[0] < end)


def _candidates(said: Sequence[Entry], *, most: int = _CANDIDATES) -> list[_Candidate]:
    """The newest sentences that state something, each once."""
    found: dict[str, _Candidate] = {}
    for entry in reversed(said):
        if len(found) >= most:
            break
        sentences = [one for one in _sentences(entry) if _states(one.text)] if entry.role != "tool" else []
        for one in sentences:
            known = found.get(one.text)
            if known is not None and len(known.sentence.source_ids) < _NAMED:
                sources = tuple(dict.fromkeys((*known.sentence.source_ids, entry.id)))
                one = replace(known.sentence, source_ids=sources)
            if known is None or known.entry.role == "user" or entry.role != "user":
                entry_of = known.entry if known is not None else entry
            else:
                entry_of = entry
            found[one.text] = _Candidate(one, entry_of, _terms(one.text), len(sentences) == 1)
    return list(reversed(found.values()))


def _states(text: str) -> bool:
    return not text.rstrip("\"'”’)").endswith("?") and not is_small_talk(text) and len(_terms(text)) > 1


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return terms(text.lower())


def _choose(candidates: Sequence[_Candidate], vectors: Mapping[str, Vector], limit: int) -> list[Sentence]:
    """The most central sentences that do not repeat each other, the best first."""
    if not candidates:
        return []
    own = [vectors.get(one.entry.id) for one in candidates]
    central = _centrality(candidates, own)
    values = [_weight(one) * (0.1 + value) for one, value in zip(candidates, central, strict=True)]
    alike = pairwise_similarity(
        [vector if one.alone else None for one, vector in zip(candidates, own, strict=True)],
        [sorted(one.terms) for one in candidates],
    )
    taken = maximal_marginal_relevance(values, alike, lambda_=_LAMBDA, limit=limit)
    return [candidates[i].sentence for i in taken]


def _weight(one: _Candidate) -> float:
    """How much a sentence counts for what it is in: the user's own statements more than an assistant's."""
    entry = one.entry
    voice = 1.0 if entry.role == "user" else 0.4
    return voice * (0.5 + entry.importance + 0.2 * math.log1p(entry.repeat_count) + entry.pinned)


def _centrality(candidates: Sequence[_Candidate], own: Sequence[Vector | None]) -> list[float]:
    """How near each sentence is to all of them, 0 to 1: by words, and by the vector of its entry where it has one."""
    counts = Counter(term for one in candidates for term in one.terms)
    words = [sum(math.log1p(counts[term]) for term in sorted(one.terms)) / len(one.terms) ** 0.5 for one in candidates]
    highest = max(words)
    shares = [value / highest for value in words]
    known = [vector for vector in own if vector is not None]
    if not known:
        return shares
    middle = np.mean(np.stack(known), axis=0)
    length = float(np.linalg.norm(middle)) or 1.0
    return [
        share if vector is None else (share + max(0.0, float(vector @ middle) / length)) / 2
        for share, vector in zip(shares, own, strict=True)
    ]


def _in_time(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    return tuple(sorted(sentences, key=lambda one: (one.said_at, one.source_ids, one.text)))


def _newest(found: Iterable[loops.Loop]) -> tuple[Sentence, ...]:
    listed = [Sentence(one.said.text, (one.said.entry_id,), one.said.role, one.said.at) for one in found]
    once = {one.text: one for one in listed}
    return _in_time(once.values())[-_IN_A_SECTION:]


def _people(said: Sequence[Entry]) -> tuple[Sentence, ...]:
    """The people who are named: those that the annotator found, and those called a relative or friend."""
    found: dict[str, Sentence] = {}
    texts = {entry.id: as_stated(entry)[:_READ] for entry in said}
    own = [texts[entry.id] for entry in said if entry.role == "user"]
    heard = [texts[entry.id] for entry in said if entry.role != "user"]
    for entry in said:
        names = [one.text for one in entry.entities if one.label == "PERSON" and one.text in texts[entry.id]]
        names += [match[1] for match in _KIN_NAMED.finditer(texts[entry.id])]
        for name in people_of(names, own, heard):
            begin, end = _trimmed(name, 0, len(name), ONE_LINE)
            if begin < end and name not in found and not _is_place(name, texts.values()):
                found[name[begin:end]] = Sentence(name[begin:end], (entry.id,), entry.role, entry.created_at)
    return tuple(found.values())[:_NAMED]


def _is_place(name: str, texts: Iterable[str]) -> bool:
    """Whether what an annotator took for a person is spoken of as a place."""
    placed = re.compile(_PLACED.format(name=re.escape(name)), re.IGNORECASE)
    return any(placed.search(text) for text in texts)


def _is_former(one: _Candidate, former: Mapping[str, Collection[str]]) -> bool:
    """Whether a sentence states facts, and none of them is so any more."""
    gone = former.get(one.entry.id)
    if not gone:
        return False
    said, entry = one.sentence.text, one.entry
    facts = [fact for fact in facts_of(entry) if entry.text[slice(*fact.span)].strip(" .,;!-") in said]
    return bool(facts) and all(fact.text in gone for fact in facts)


def _section(one: _Candidate) -> str | None:
    text, entry = one.sentence.text, one.entry
    persons = people_of([one.text for one in entry.entities if one.label == "PERSON" and one.text in text], [text])
    named = any(not _is_place(name, (text,)) for name in persons)
    if named or _RELATED.search(text):
        return "people"
    if _PROJECT.search(text):
        return "projects"
    return "profile" if entry.pinned or _is_about_the_user(text) else None


def _is_about_the_user(text: str) -> bool:
    for clause in clauses(text):
        sentence = parsed(clause.text)
        if clause.meant and not clause.past and clause.text.split(maxsplit=1)[0] in _OWN:
            return sentence is not None or bool(re.match(r"(?:i|we) (?:\w+ )?(?:like|love|prefer|hate)\b", clause.text))
    return False


def _most_telling(found: Sequence[_Candidate]) -> list[_Candidate]:
    """As many as are compared with each other: those that weigh most, of equal ones the latest."""
    newest = list(enumerate(found))
    best = sorted(newest, key=lambda pair: (-_weight(pair[1]), -pair[0]))[:_CANDIDATES]
    return [one for _, one in sorted(best, key=lambda pair: pair[0])]
