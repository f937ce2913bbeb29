"""What tells of a candidate that it answers a question: words and meaning in context, who speaks, when, and how.

A feature is 0, or the same for all candidates, where its data is missing: no speakers, no sessions, no vectors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import cached_property
from itertools import chain

import numpy as np

from contracts.v1.entries import Entry
from services.shared.entities.identifiers import Identifier, identifiers_in, named_in
from services.shared.entities.names import Name
from services.shared.language import wordlists
from services.shared.language.analysis import is_english, telling_terms
from services.shared.language.language import STOP_WORDS
from services.shared.language.spelling import TITLES
from services.shared.language.traits import (
    FIRST_PERSON,
    TOKEN,
    ByText,
    Traits,
    asks_only_for,
    traits_of,
    words_in,
    words_of,
)
from services.shared.lifecycle.salience import is_small_talk
from services.shared.lifecycle.sayings import as_there
from services.shared.ranking.scoring import Candidate, Columns, Floats, known
from services.shared.temporal.asked_times import OF_PAST
from services.shared.temporal.dates import NamedDate, named_dates, nearness, nearness_to_span
from services.shared.temporal.time_spans import Span, spans_named, without

_NOBODY = -1
_MOST_NAMED = 16
"""So many names are in a question that is about somebody; one with more is a list."""

_NAME = re.compile(r"\b(\w+)\s++(?=([^\W\d_]{2,})(?!\w))")
_WHERE = frozenset("at from in into near on to via".split())
_NO_NAMES = TITLES.union(*(wordlists.words("names", section) for section in ("no names", "times", "kin")))
_ALSO_WORDS = STOP_WORDS["english"].union(*(wordlists.words("names", of) for of in ("times", "also words")))
"""What is a name only where it is written as one."""

_MENTIONED_AS = {line.split()[0]: frozenset(line.split()) for line in wordlists.sections("names")["mentioned as"]}
_OF_MINE = re.compile(rf"\b(?:my|our) (?:\w+ )?({'|'.join(_MENTIONED_AS)})(?:'?s)?\b")
_ALONE: Mapping[int, str] = {}
_OF_QUESTIONS = frozenset("ask asked asking question questions".split())
_BRIEF = 90
"""Characters below which an assistant mostly confirms what it was told: "Noted: the locker is 12."."""

_SECOND_PERSON = frozenset("you your yours".split())
_TOLD_YOU = re.compile(
    r"\b(?:i|we)(?:'ve)? (?:(?:have|had|just|already|once|ever|last|first) )*"
    r"(?:tell|told|ask|asked|send|sent|show|showed|shown|give|gave|given|write|wrote|(?:mention(?:ed)?|sa(?:y|id)) to) "
    r"(?:(?:it|that|this|them) )?(?:to )?you\b",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"\b(?:when|what (?:time|date|day|month|year)|which (?:date|day|month|year)|how long)\b", re.IGNORECASE
)
_ASKS_HOW_MANY = re.compile(
    r"\bhow (?:many|much|often|old|long|far|big|tall|fast|heavy|high|wide)\b"
    r"|\b(?:what|which)\b.{0,60}?\b(?:amount|budget|code|cost|deposit|distance|dos(?:e|age)|fee|height|length|limit|number|pin|port"
    r"|price|rate|rent|salary|score|size|speed|temperature|timeout|version|weight|width)\b",
    re.IGNORECASE,
)
_FEW = 2
"""Candidates that may have a word for it to be a name of them."""
_BEGINNING = 3
"""Letters that two forms of a name share, as Mel and Melanie."""

_IN_FIRST_PERSON = [
    (re.compile(rf"\b(?:{form})\b", re.IGNORECASE), own)
    for form, own in (
        ("himself|herself", "myself"),
        ("he|she", "I"),
        (r"his|her(?= [a-z])", "my"),
        ("him|her", "me"),
        ("hers", "mine"),
    )
]
_is_small_talk = ByText(is_small_talk)


@dataclass(frozen=True)
class Found:
    """The candidates for a question with their entries, in the same order, and what is known around them.

    `neighbours` are the ids around each in its session by distance, `cosines` those that are known by id, `now` is when
    the question is asked, in the zone of who asks. `corrections` are words of the question that were taken for others,
    `speakers` are known to speak in the memory, whether or not they say one of the entries. `is_understood` is False
    where the vectors are of a model that does not know the language of the question. `former` are the entries that some
    of them superseded, by id: "Clara has moved" says no more that she is the sister, and answers where she lives.
    """

    question: str
    candidates: Sequence[Candidate]
    entries: Sequence[Entry]
    neighbours: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    cosines: Mapping[str, float] = field(default_factory=dict)
    now: datetime | None = None
    corrections: Mapping[str, str] = field(default_factory=dict)
    speakers: Collection[str] = ()
    is_understood: bool = True
    former: Mapping[str, Sequence[Entry]] = field(default_factory=dict)

    @property
    def told(self) -> Iterable[Entry]:
        """The entries, and those that they superseded."""
        return chain(self.entries, chain.from_iterable(self.former.values()))

    @cached_property
    def codes(self) -> tuple[Identifier, ...]:
        """The codes that the question names."""
        return tuple(one for one in identifiers_in(self.question) if one.is_code)

    @cached_property
    def columns(self) -> Columns:
        """The numbers of the candidates."""
        return Columns.of(self.candidates)


def features_of(found: Found) -> dict[str, Floats]:
    """Each feature of each candidate."""
    of, around = found.columns, [found.neighbours.get(one.id, _ALONE) for one in found.candidates]
    earlier, later = ([near.get(distance, "") for near in around] for distance in (-1, 1))
    features = told_by_searches(of) | _of_texts(found) | _of_surroundings(found, of, earlier, later)
    features |= _of_voices(found) | _of_time(found)
    row = {candidate.id: i for i, candidate in enumerate(found.candidates)}
    before, after = ([row.get(name, _NOBODY) for name in names] for names in (earlier, later))
    answers, said_before = _lent(features["endq"], before), _lent(features["bm_turn"], before)
    return features | {
        "bm_prev": said_before,
        "bm_next": _lent(features["bm_turn"], after),
        "prevq_bm": answers * said_before,
        "prevq_cos": answers * features["cos_prev"],
    }


def told_by_searches(of: Columns) -> dict[str, Floats]:
    """The features of candidates that are known before their entries: words and meaning, alone and in context."""
    turn, in_context = _over_highest(known(of.bm25_turn)), _over_highest(known(of.bm25))
    cosine, around = _filled(of.cosine), _filled(of.in_context)
    return {
        "bm_ctx": in_context,
        "bm_turn": turn,
        "bm_turn_rank": _reciprocal_ranks(turn),
        "bm_none": np.isnan(of.bm25).astype(np.float64),
        "cov": known(of.coverage),
        "cos": cosine,
        "cos_ctx": around,
        "bmcos": turn * np.maximum(cosine, 0),
        "bmcos_ctx": in_context * np.maximum(around, 0),
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
    read = np.array(traits, np.float64).reshape(-1, len(Traits._fields)).T
    ends_in_question, length, names_time, has_number = read
    return {
        "endq": ends_in_question,
        "loglen": np.log1p(length),
        "num": has_number,
        "when_date": names_time * _asks(_ASKS_WHEN, found),
        "many_num": has_number * _asks(_ASKS_HOW_MANY, found),
        "news": np.array([float(any(claim.is_new for claim in entry.claims)) for entry in found.entries]),
        "brief": np.array([float(entry.role == "assistant" and len(entry.text) < _BRIEF) for entry in found.entries]),
    }


def named_alone(found: Found) -> Floats:
    """The share of the codes that the question names, as AB-18 or locker 12, which is in each text itself.

    Of a question of one word that tells something ("who is Renate?") whether that is, where few have it.
    """
    asked = found.codes
    if not asked:
        have_it = known(found.columns.bm25_turn) > 0
        is_name = len(telling_terms(found.question)) == 1 and np.count_nonzero(have_it) <= _FEW
        return np.where(is_name & have_it, 1.0, 0.0)
    named = named_in(asked, [entry.text for entry in found.entries])
    return np.array([len(its) / len(asked) for its in named])


def _asks(form: re.Pattern[str], found: Found) -> float:
    return float(form.search(found.question) is not None)


def _of_surroundings(found: Found, of: Columns, earlier: Sequence[str], later: Sequence[str]) -> dict[str, Floats]:
    """Cosines of what was said before, after, and in the session of each turn."""
    return {
        "cos_sess": _best_of_session(found.entries, _filled(of.cosine)),
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
    """1 for the voice that the question is about, 0 for another one, 0.5 when that is nobody's or unclear.

    Of several speakers it is about the one whom it names first, and perhaps about the others.
    """
    named = named_speakers(found.question, {entry.speaker for entry in found.entries if entry.speaker})
    if named:
        voices = {speaker: 1.0 if place == min(named.values()) else 0.5 for speaker, place in named.items()}
        return {"spk": np.array([voices.get(entry.speaker or "", 0.0) for entry in found.entries])}
    role = _role_meant(found.question)
    if role is None or all(entry.role != "assistant" for entry in found.entries):
        return {"spk": np.full(len(found.entries), 0.5)}
    return {"spk": np.array([float(entry.role == role) for entry in found.entries])}


def _role_meant(question: str) -> str | None:
    words = words_of(question)
    if not words.isdisjoint(_SECOND_PERSON):
        return "user" if _TOLD_YOU.search(question) else "assistant"
    return None if words.isdisjoint(FIRST_PERSON) else "user"


def names_strangers(found: Found) -> bool:
    """Whether an English question is about somebody or something, and the entries mention none of those that it names.

    Two names may be of one person: Mel or Bob, and Melanie or Robert; Catherine and Kathryn; Zoe and Zoë. A name is
    misspelt where what it was taken for is one. Where something happens is not what a question is about: a seat on the
    flight to Lisbon is like any other.
    """
    named = {name.lower(): before for before, name in _names_asked(found.question)}
    names = named.keys()
    if len(names) > _MOST_NAMED or all(named[name] in _WHERE for name in names) or not is_english(found.question):
        return False
    if any(_mentions(entry, names) for entry in found.told):
        return False
    known = {*found.speakers, *(one.text for entry in found.told for one in entry.entities)}
    known.update(entry.speaker for entry in found.told if entry.speaker)
    meant = (found.corrections.get(name, name) for name in names)
    asked = frozenset(chain.from_iterable(map(_keys_of, meant)))
    return all(asked.isdisjoint(_keys_of(name)) for name in known)


def _mentions(entry: Entry, names: Iterable[str]) -> bool:
    """Whether an entry has one of these names, in lower case, in its words."""
    said = words_in(entry.text)
    return any(hash(form) in said for name in names for form in (name, f"{name}s"))


def of_the_former(found: Found) -> list[int]:
    """The candidates that superseded what mentions a name of the question, where no other mentions it: of "Who is
    Petra?" nothing else is left than who took her place."""
    if not any(found.former.values()):
        return []
    named = {name.lower() for before, name in _names_asked(found.question) if before not in _WHERE}
    if not 0 < len(named) <= _MOST_NAMED or any(_mentions(entry, named) for entry in found.entries):
        return []
    told = (found.former.get(entry.id, ()) for entry in found.entries)
    return [i for i, former in enumerate(told) if any(_mentions(one, named) for one in former)]


def _names_asked(question: str) -> Iterable[tuple[str, str]]:
    """What may be names in a question, as they are written, each behind the word before it in lower case."""
    pairs = _NAME.findall(question)
    return ((before.lower(), name) for before, name in pairs if name.istitle() and name.lower() not in _NO_NAMES)


def names_unmentioned_kin(found: Found) -> bool:
    """Whether a question is about a relative, the boss or the like of who asks, of whom none of the entries speaks."""
    asked = [frozenset(map(hash, _MENTIONED_AS[kin])) for kin in _OF_MINE.findall(found.question.lower())]
    if not asked:
        return False
    said = frozenset[int]().union(*(words_in(entry.text) for entry in found.told))
    return all(words.isdisjoint(said) for words in asked)


def _keys(name: str) -> frozenset[int]:
    """Hashes of what other forms of a name have in common with it: its sound, its beginning."""
    known = Name.of(name)
    return frozenset(map(hash, chain(known.keys, (word[:_BEGINNING] for word in known.words))))


_keys_of = ByText(_keys)


def named_speakers(question: str, speakers: Collection[str]) -> dict[str, int]:
    """The speakers whose name, or first name, is in the question, with the place of that word."""
    said: dict[str, int] = {}
    for place, token in enumerate(TOKEN.findall(question)):
        name = token.lower().removesuffix("'s")
        if name not in _ALSO_WORDS or (place and token[0].isupper()):
            said.setdefault(name, place)
    first = {speaker: words[0].lower() for speaker in speakers if (words := TOKEN.findall(speaker))}
    return {speaker: said[name] for speaker, name in first.items() if name in said}


def that_tell(entries: Mapping[str, Entry], question: str) -> dict[str, Entry]:
    """The entries without small talk, and without questions of the user that ask for the same as this one: whoever
    asks again wants what answers it, and what was asked before would come first. Who asks what they asked sees it."""
    asked = frozenset(telling_terms(question)) if words_of(question).isdisjoint(_OF_QUESTIONS) else frozenset()
    return {i: entry for i, entry in entries.items() if not _is_echo(entry, asked) and not _is_small_talk(entry.text)}


def _is_echo(entry: Entry, asked: frozenset[str]) -> bool:
    return entry.role == "user" and not entry.speaker and asks_only_for(entry.text, asked)


def in_first_person(question: str, speakers: Collection[str]) -> str:
    """The question as whom it is about would ask it: memory is told in the first person.

    That is who is named first; others become "you". A question of which nothing would be left stays as it is.
    """
    asked, named = question, named_speakers(question, speakers)
    for speaker, place in named.items():
        whose, who = ("my", "I") if place == min(named.values()) else ("your", "you")
        first = TOKEN.findall(speaker)[0]
        name = "|".join(sorted({re.escape(speaker), re.escape(first)}, key=len, reverse=True))
        case = re.NOFLAG if first.lower() in _ALSO_WORDS else re.IGNORECASE
        question = re.sub(rf"\b(?:{name})['’]s?\b", whose, question, flags=case)
        question = re.sub(rf"\b(?:{name})\b", who, question, flags=case)
    if len(named) == 1:
        for third, first in _IN_FIRST_PERSON:
            question = third.sub(first, question)
    return question if not named or telling_terms(question) else asked


def _of_time(found: Found) -> dict[str, Floats]:
    moments = np.array([entry.created_at.timestamp() for entry in found.entries])
    span = float(np.ptp(moments)) if len(moments) else 0.0
    spans = spans_named(found.question, found.now) if found.now else []
    dates, zone = named_dates(without(found.question, spans)), found.now.tzinfo if found.now else None
    place = (moments - moments.min()) / span if span > 0 else np.zeros(len(moments))
    return {
        "pos": place,
        "pos_past": place * _asks(OF_PAST, found),
        "sprox": np.array([_near(as_there(one.created_at, one, zone), dates, spans, zone) for one in found.entries])
        if spans or dates
        else np.zeros(len(moments)),
    }


def _near(moment: datetime, dates: Sequence[NamedDate], spans: Sequence[Span], zone: tzinfo | None) -> float:
    """1 within what is named, 0 far from all of it."""
    spanned = max((nearness_to_span(moment, span.since, span.until) for span in spans), default=0.0)
    return max(spanned, nearness(moment, dates, zone))
