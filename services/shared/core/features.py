"""What tells of a candidate that it answers a question: words and meaning in context, who speaks, when, and how.

A feature is 0, or the same for all candidates, where its data is missing: no speakers, no sessions, no vectors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import chain

import numpy as np

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.analysis import is_english, telling_terms
from services.shared.core.dates import NamedDate, named_dates, nearness, nearness_to_span
from services.shared.core.names import is_short_form
from services.shared.core.salience import is_small_talk
from services.shared.core.scoring import Candidate, Columns, Floats, known
from services.shared.core.time_spans import Span, spans_named, without
from services.shared.core.traits import FIRST_PERSON, TOKEN, ByText, asks_only_for, traits_of, words_of

_NOBODY = -1
_NAME = re.compile(r"\b(\w+) (?=([A-Za-z]{2,})(?!\w))")
_WHERE = frozenset("at from in into near on to via".split())
_NAME_OR_BEGINNING = re.compile(r"\b[A-Z][a-z]{2,}\b")
_NO_NAMES = wordlists.words("names", "no names") | wordlists.words("names", "times")
_ALONE: Mapping[int, str] = {}
_OF_QUESTIONS = frozenset("ask asked asking question questions".split())
_SECOND_PERSON = frozenset("you your yours".split())
_ASKS_WHEN = re.compile(
    r"\b(?:when|what (?:time|date|day|month|year)|which (?:date|day|month|year)|how long)\b", re.IGNORECASE
)


_is_small_talk = ByText(is_small_talk)


@dataclass(frozen=True)
class Found:
    """The candidates for a question with their entries, in the same order, and what is known around them.

    `neighbours` are the ids around each in its session by distance, `cosines` those that are known by id, `now` is when
    the question is asked, in the zone of who asks. `misspelt` are words of the question that were taken for others.
    """

    question: str
    candidates: Sequence[Candidate]
    entries: Sequence[Entry]
    neighbours: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)
    now: datetime | None = None
    misspelt: Collection[str] = ()

    @cached_property
    def columns(self) -> Columns:
        """The numbers of the candidates."""
        return Columns.of(self.candidates)


def features_of(found: Found) -> dict[str, Floats]:
    """Each feature of each candidate."""
    of, around = found.columns, [found.neighbours.get(one.id, _ALONE) for one in found.candidates]
    earlier, later = ([near.get(distance, "") for near in around] for distance in (-1, 1))
    features = _of_words(of) | _of_texts(found) | _of_meaning(found, of, earlier, later)
    features |= _of_voices(found) | _of_time(found)
    row = {candidate.id: i for i, candidate in enumerate(found.candidates)}
    before, after = ([row.get(name, _NOBODY) for name in names] for names in (earlier, later))
    answers, said_before = _lent(features["endq"], before), _lent(features["bm_turn"], before)
    return features | {
        "bmcos": features["bm_turn"] * np.maximum(features["cos"], 0),
        "bm_prev": said_before,
        "bm_next": _lent(features["bm_turn"], after),
        "prevq_bm": answers * said_before,
        "prevq_cos": answers * features["cos_prev"],
    }


def _of_words(of: Columns) -> dict[str, Floats]:
    context, turn = _over_highest(known(of.bm25)), _over_highest(known(of.bm25_turn))
    return {
        "bm_ctx": context,
        "bm_turn": turn,
        "bm_ctx_rank": _reciprocal_ranks(context),
        "bm_turn_rank": _reciprocal_ranks(turn),
        "cov": known(of.coverage),
    }


def _over_highest(values: Floats) -> Floats:
    highest = values.max(initial=0.0)
    return values / highest if highest > 0 else values


def _reciprocal_ranks(values: Floats) -> Floats:
    """1 for the highest, 1/2 for the next, 0 for what is 0."""
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return np.where(values > 0, 1 / ranks, 0.0)


def _of_texts(found: Found) -> dict[str, Floats]:
    traits = list(chain.from_iterable(traits_of(entry.text) for entry in found.entries))
    ends_in_question, length, in_first_person, names_time, has_number = np.array(traits, np.float64).reshape(-1, 5).T
    return {
        "endq": ends_in_question,
        "loglen": np.log1p(length),
        "first": in_first_person,
        "date": names_time,
        "num": has_number,
        "when_date": names_time * float(_ASKS_WHEN.search(found.question) is not None),
    }


def _of_meaning(found: Found, of: Columns, earlier: Sequence[str], later: Sequence[str]) -> dict[str, Floats]:
    """Cosines of the turn, and of what was said around it and in its session."""
    own = _filled(of.cosine)
    return {
        "cos": own,
        "cos_ctx": _filled(of.in_context),
        "cos_sess": _best_of_session(found.entries, own),
        "cos_prev": _cosines(found, earlier),
        "cos_next": _cosines(found, later),
    }


def _filled(values: Floats) -> Floats:
    """The values, the unknown ones taken for the middle of the known."""
    unknown = np.isnan(values)
    if not unknown.any():
        return values
    return np.where(unknown, np.median(values[~unknown]) if not unknown.all() else 0.0, values)


def _lent(values: Floats, rows: Sequence[int]) -> Floats:
    """What the candidates of these rows have of a feature; 0 where a row is nobody's."""
    return np.append(values, 0.0)[np.array(rows, np.intp)]  # the last is nobody


def _cosines(found: Found, names: Sequence[str]) -> Floats:
    return np.array([found.cosines.get(name, 0.0) for name in names])


def _best_of_session(entries: Sequence[Entry], cosines: Floats) -> Floats:
    sessions = [entry.session_id or entry.id for entry in entries]
    best: dict[str, float] = {}
    for session, cosine in zip(sessions, cosines.tolist(), strict=True):
        best[session] = max(cosine, best.get(session, -1.0))
    return np.array([best[session] for session in sessions])


def _of_voices(found: Found) -> dict[str, Floats]:
    """1 for the voice that the question is about, 0 for another one, 0.5 when that is nobody's or unclear."""
    named = named_speakers(found.question, {entry.speaker for entry in found.entries if entry.speaker})
    if len(named) == 1:
        return {"spk": np.array([float(entry.speaker in named) for entry in found.entries])}
    role = _role_meant(found.question)
    if named or role is None or all(entry.role != "assistant" for entry in found.entries):
        return {"spk": np.full(len(found.entries), 0.5)}
    return {"spk": np.array([float(entry.role == role) for entry in found.entries])}


def _role_meant(question: str) -> str | None:
    words = words_of(question)
    if not words.isdisjoint(_SECOND_PERSON):
        return "assistant"
    return None if words.isdisjoint(FIRST_PERSON) else "user"


def names_strangers(found: Found) -> bool:
    """Whether an English question is about somebody or something, and the entries mention none of those that it names.

    Of two names one may be short for the other: Mel or Bob, and Melanie or Robert. Where something happens is not
    what a question is about: a seat on the flight to Lisbon is like any other.
    """
    named = {name.lower(): before.lower() for before, name in _NAME.findall(found.question) if name.istitle()}
    names = named.keys() - _NO_NAMES
    if all(named[name] in _WHERE for name in names) or not names.isdisjoint(found.misspelt):
        return False
    if not is_english(found.question):
        return False
    said = "\n".join(f"{entry.speaker or ''} {entry.text}" for entry in found.entries)
    if re.search(rf"\b(?:{'|'.join(names)})(?:'?s)?\b", said.lower()):
        return False
    known = set(map(str.lower, _NAME_OR_BEGINNING.findall(said)))
    return not any(_may_be_one(name, word) for word in known for name in names)


def _may_be_one(name: str, other: str) -> bool:
    return other.startswith(name) or name.startswith(other) or is_short_form(name, other)


def named_speakers(question: str, speakers: Collection[str]) -> set[str]:
    """The speakers whose name, or first name, is in the question."""
    said = {token.lower().removesuffix("'s") for token in TOKEN.findall(question)}
    return {speaker for speaker in speakers if (first := TOKEN.findall(speaker)) and first[0].lower() in said}


def that_tell(entries: Mapping[str, Entry], question: str) -> dict[str, Entry]:
    """The entries without small talk, and without questions of the user that ask for the same as this one: whoever
    asks again wants what answers it, and what was asked before would come first. Who asks what they asked sees it."""
    asked = frozenset(telling_terms(question)) if words_of(question).isdisjoint(_OF_QUESTIONS) else frozenset()
    return {i: entry for i, entry in entries.items() if not _is_echo(entry, asked) and not _is_small_talk(entry.text)}


def _is_echo(entry: Entry, asked: frozenset[str]) -> bool:
    return entry.role == "user" and not entry.speaker and asks_only_for(entry.text, asked)


def in_first_person(question: str, speakers: Collection[str]) -> str:
    """The question as those whom it names would ask it: memory is told in the first person."""
    for speaker in named_speakers(question, speakers):
        name = "|".join(sorted({re.escape(speaker), re.escape(TOKEN.findall(speaker)[0])}, key=len, reverse=True))
        question = re.sub(rf"\b(?:{name})['’]s?\b", "my", question, flags=re.IGNORECASE)
        question = re.sub(rf"\b(?:{name})\b", "I", question, flags=re.IGNORECASE)
    return question


def _of_time(found: Found) -> dict[str, Floats]:
    moments = np.array([entry.created_at.timestamp() for entry in found.entries])
    span = float(np.ptp(moments)) if len(moments) else 0.0
    spans = spans_named(found.question, found.now) if found.now else []
    dates, zone = named_dates(without(found.question, spans)), found.now.tzinfo if found.now else None
    return {
        "pos": (moments - moments.min()) / span if span > 0 else np.zeros(len(moments)),
        "sprox": np.array([_near(entry.created_at, dates, spans, zone) for entry in found.entries])
        if spans or dates
        else np.zeros(len(moments)),
    }


def _near(moment: datetime, dates: Sequence[NamedDate], spans: Sequence[Span], zone: tzinfo | None) -> float:
    """1 within what is named, 0 far from all of it."""
    spanned = max((nearness_to_span(moment, span.since, span.until) for span in spans), default=0.0)
    return max(spanned, nearness(moment, dates, zone))
