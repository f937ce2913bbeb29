"""Of memories that give different values of one thing, the newer first, where its words tell that something changed.

Similarity cannot tell "moved to quarter past ten" from "standup is at half past nine": both are about the question.
Nothing is hidden here; the order among those that are shown anyway is another.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from itertools import chain
from typing import NamedTuple

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.analysis import analyze, telling_terms, words_asked
from services.shared.core.dates import DATE
from services.shared.core.fact_ends import ends_anything
from services.shared.core.frames import as_stated
from services.shared.core.identifiers import identifiers_in, named_in
from services.shared.core.lineage import changed_in_part_by, outdated_facts
from services.shared.core.own_words import own_words
from services.shared.core.owners import are_of_different_people
from services.shared.core.ranking import Matrix
from services.shared.core.statements import LIGHT, differ, kinds
from services.shared.core.traits import CAPITALIZED_WITHIN, ByText, words_of

_LOOKED_AT = 10
"""Memories from the best on that may go before others."""

_ALIKE = 0.3
"""Least cosine of two memories that may be about one thing: in a chat, two turns seldom share more than their topic."""

_ALIKE_OR_RELEVANT = 0.95
"""Least sum of that cosine and of the relevance of the newer one as a share of the older one's: what answers half as
well has to be very much about the same."""

_STILL = re.compile(r"\b(?:still|any ?more|any longer|yet)\b", re.IGNORECASE)
_LATEST, _FORMERLY = (
    re.compile(rf"\b{wordlists.pattern('asked_times', section)}(?!\w)") for section in ("latest", "first")
)
_STATE = re.compile(
    rf"\b(?:{'|'.join(wordlists.pattern('asked_times', it) for it in ('latest', 'beginning', 'state'))})(?!\w)"
)
_AS_RELEVANT = 0.9
"""Share of the older one's relevance from which on a newer one needs no word in common with it or the question."""

_ENOUGH_SHARED = 2
"""Words of a question in both of two memories by which they are about the same, be there more in the older one."""

_BEGINNING = 2000
"""Characters of a text in which words in common are looked for."""

_WHETHER = re.compile(
    r"\W*(?:(?:and|so|hey|ok|is it true(?: that)?)\W+)?"
    r"(?:is|are|am|was|were|do|does|did|have|has|can|will|should|would)(?:n't)?\b",
    re.IGNORECASE,
)
_OF_OWN = re.compile(r"\b(?:my|our|i|we)\b", re.IGNORECASE)
OF_PAST = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)
_SECTIONS = ("moved", "switched", "replaced", "stopped", "called off")
_CUE = re.compile(
    rf"\b(?:{'|'.join(wordlists.pattern('changes', section) for section in _SECTIONS)}"
    r"|change|no longer|any ?more|again|instead|new|earlier|later|actually|update|correction|oops|whoops"
    r"|turn(?:s|ed) out)\b"
    rf"|{wordlists.pattern('changes', 'renewed')}"
)
_END = re.compile(
    rf"\b(?:{'|'.join(wordlists.pattern('changes', section) for section in ('over', 'let go of', 'ended'))})\b"
)
_TIME_IN_WORDS = re.compile(r"\b(?:half|quarter|five|ten|twenty) (?:past|to) (?:\d\d?|[a-z]+)\b")
_DATE = re.compile(DATE)
_NUMBER = re.compile(r"(?<![\w.:/-])\d+(?:[.,]\d+)*(?![\w:/-])")
_IN_WORDS = re.compile(
    r"\b(?:two|three|five|(?:four|six|seven|eight|nine)(?:teen|ty)?|ten|eleven|twelve|(?:thir|fif)(?:teen|ty)|twenty|forty"
    r"|eighteen|eighty|hundred|dozen)\b"
)
"""Numbers that only what is asked for as a number differs by: "on one leg" and "the two of us" are no values."""

_CODE = re.compile(r"\b[a-z]\d\b")
_ANY = frozenset({"day", "clock", "number", "code"})
_ASKED = (
    (
        re.compile(r"\bhow (?:many|much|old|long|tall|big|far|heavy)\b", re.I),
        frozenset({"number", "in words"}),
    ),
    (re.compile(r"\b(?:when|what time|what date|which day|what day)\b", re.I), _ANY - {"code"}),
)
_TOKEN = re.compile(r"\w+")
_COMPARED = 40
"""Words of two texts that are held against each other."""

_MUCH_THE_SAME = 0.5
_PRONOUNS = frozenset("it its he she they him her them his their this that".split())
_TIMES = wordlists.words("names", "times")


def newest_first(
    entries: Sequence[Entry], similarity: Matrix, relevance: Sequence[float], question: str = ""
) -> list[int]:
    """The places of entries, given best first, with each that tells of a change before what it may have changed.

    It goes before a better one when they are a conflict, or a user said it later, it is alike and not much less
    relevant, has a word of change, names another day, time of day or number, and is not about what is another person's;
    and once only. Nor does what names others than the question does: the flight to Porto before that to Lisbon.
    Where the question is whether something is so, or for something of one's own as it is now, it is enough to tell of a
    change or an end, and of two words that the older one has of the question, or all; where it is whether something is
    still so, of all its words, be they alike or not. Where it is for the latest of something, no word of change is
    needed, and where it is what was so at first, nothing goes before another.
    Nothing goes before what has an identifier of the question that it lacks, or a word of it in whose place it says
    another: truck 284 before 482.
    `similarity` has shape (n, n), `relevance` (n,).
    """
    order, asked = list(range(len(entries))), _asked_in(question)
    if asks_for_former(question):
        return order
    named = named_in(identifiers_in(question), [one.text for one in entries[:_LOOKED_AT]])
    said = set(_TOKEN.findall(question.lower())) - LIGHT
    doubted = _doubted_in(question)
    ended = {i for i, one in enumerate(entries[:_LOOKED_AT]) if doubted and _tells_of_end(one, doubted)}
    looked_at = enumerate(entries[:_LOOKED_AT])
    changes = ended | {i for i, one in looked_at if one.conflicts_with or one.supersedes or asked.is_news(one)}

    def goes_before(i: int, here: int) -> bool:
        newer, older = entries[i], entries[here]
        lacks_named = bool(named[here] - named[i])
        return not lacks_named and may_change(i, here) and not _is_of_another(newer.text, older.text, said)

    def may_change(i: int, here: int) -> bool:
        newer, older = entries[i], entries[here]
        is_asked = changed_in_part_by(older) == newer.id and asks_for_outdated(question, older)
        is_at_odds = older.id in newer.conflicts_with or is_asked
        if (i in ended or is_at_odds) and newer.created_at > older.created_at:
            return True
        if similarity[i, here] < _ALIKE:
            return False
        makes_up = relevance[i] >= (_ALIKE_OR_RELEVANT - similarity[i, here]) * relevance[here]
        is_near = makes_up and (relevance[i] >= _AS_RELEVANT * relevance[here] or asked.is_near(newer, older))
        return is_near and _may_change(newer, older, asked)

    for place in range(min(len(order), _LOOKED_AT)):
        here = order[place]
        newer = [i for i in order[place + 1 : _LOOKED_AT] if i in changes and goes_before(i, here)]
        if newer:
            latest = max(newer, key=lambda i: entries[i].created_at)
            order.remove(latest)
            order.insert(place, latest)
            changes.remove(latest)  # it moves once only
    return order


def is_of_another(newer: str, older: str, question: str) -> bool:
    """Whether a text lacks an identifier that the question and the older text have, or says another word in the place
    of one, in a statement that is otherwise much the same: "The van is at the depot" where the bus is asked for."""
    new, old = named_in(identifiers_in(question), [newer, older])
    return bool(old - new) or _is_of_another(newer, older, set(_TOKEN.findall(question.lower())) - LIGHT)


def _is_of_another(newer: str, older: str, asked: Collection[str]) -> bool:
    old, new = (_TOKEN.findall(text[:_BEGINNING].lower())[:_COMPARED] for text in (older, newer))
    missing = {word for word in old if word in asked}.difference(new)
    if not missing:
        return False
    match = SequenceMatcher(None, old, new, autojunk=False)
    if match.quick_ratio() < _MUCH_THE_SAME or match.ratio() < _MUCH_THE_SAME:
        return False
    return any(
        kind == "replace" and not missing.isdisjoint(old[start:end]) and not LIGHT.issuperset(new[first:last])
        for kind, start, end, first, last in match.get_opcodes()
    )


def asks_for_former(question: str) -> bool:
    """Whether a question is for what was so at first, or before something."""
    return _FORMERLY.search(question.lower()) is not None


def asks_for_latest(question: str) -> bool:
    """Whether a question is for the latest of something, or for what is so now."""
    return _LATEST.search(question.lower()) is not None


def without_state(question: str) -> str:
    """A question without its words for the first, the latest and the state of something; the same where it has none."""
    return _STATE.sub(" ", question.lower())


def asks_for_outdated(question: str, entry: Entry) -> bool:
    """Whether a question may be for what of an entry is so no longer: always, where nobody knows what that is."""
    outdated = " ".join(outdated_facts(entry))
    return not outdated or not _terms_in(question).isdisjoint(_terms_in(outdated))


class _Asked(NamedTuple):
    """What a question tells of its answer: hashes of its terms and of the names in it, the kinds of values, whether the
    latest of several is wanted, which then needs no word of change, and whether it is if something is so, or for
    something of one's own as it is now, which needs no other value."""

    terms: frozenset[int]
    names: Collection[int]
    kinds: Collection[str]
    the_latest: bool
    is_of_now: bool

    def is_news(self, entry: Entry) -> bool:
        """Whether a user may tell of a change in an entry, or of an end where that is enough."""
        if entry.role != "user":
            return False
        said = as_stated(entry)
        is_latest = self.the_latest and bool(said.strip())
        return is_latest or has_word_of_change(said) or (self.is_of_now and _tells_an_end(said))

    def is_near(self, newer: Entry, older: Entry) -> bool:
        """Whether a newer entry has a word in common with the question or the older one, or says "it" beside that."""
        if newer.conversation_id == older.conversation_id and not _PRONOUNS.isdisjoint(words_of(newer.text)):
            return True
        return not _terms_in(newer.text).isdisjoint(self.terms | _terms_in(older.text))


def _asked_in(question: str) -> _Asked:
    kinds = next((kinds for form, kinds in _ASKED if form.search(question)), _ANY)
    is_of_own = _OF_OWN.search(question) is not None and not OF_PAST.search(question)
    is_of_now = is_of_own or _WHETHER.match(question) is not None
    the_latest = asks_for_latest(question)
    return _Asked(_terms_in(question), _names_in(question), kinds, the_latest, is_of_now)


def _doubted_in(question: str) -> list[frozenset[str]]:
    """The terms of each word of what may be so no longer, if a question is whether something still is."""
    if not _STILL.search(question):
        return []
    said = (word for word in _STILL.sub(" ", question.lower()).split() if word not in LIGHT)
    return [frozenset(chain.from_iterable(its)) for its in words_asked(" ".join(said)).values()]


def _tells_of_end(entry: Entry, doubted: Sequence[frozenset[str]]) -> bool:
    """Whether a user tells of a change or an end, and of all that is doubted."""
    said_so = as_stated(entry)
    if entry.role != "user" or not (has_word_of_change(said_so) or _tells_an_end(said_so)):
        return False
    said = frozenset(analyze(entry.text))
    return not any(said.isdisjoint(terms) for terms in doubted)


def _may_change(newer: Entry, older: Entry, asked: _Asked) -> bool:
    same_voice = older.role == "assistant" or older.speaker == newer.speaker
    is_later = newer.created_at > older.created_at and asked.is_news(newer)
    if not (is_later and same_voice and (_gives_another(newer, older, asked) or _undoes(newer, older, asked))):
        return False
    new, old = _names_in(newer.text), _names_in(older.text)
    if new and new.isdisjoint(asked.names) and not old.isdisjoint(asked.names):
        return False
    return not are_of_different_people(newer.text, older.text, newer.speaker)


def _gives_another(newer: Entry, older: Entry, asked: _Asked) -> bool:
    """Whether it names another value of a kind that is asked for; what tells of an end only gives none."""
    if not (asked.the_latest or has_word_of_change(newer.text)):
        return False
    named = ({kind: of[kind] for kind in of.keys() & asked.kinds} for of in map(_named_in, (newer.text, older.text)))
    return differ(*named)


def _undoes(newer: Entry, older: Entry, asked: _Asked) -> bool:
    """Whether it tells of a change or an end, and of what the older one has of a question for what is so now."""
    shared = asked.terms & _terms_in(older.text)
    told = shared & _terms_in(newer.text)
    return asked.is_of_now and bool(shared) and (told == shared or len(told) >= _ENOUGH_SHARED)


def _kinds(text: str) -> dict[str, frozenset[int]]:
    """Hashes of the days, times, numbers, in words, too, and codes of a text, by kind; a number near a day is also one
    by itself."""
    said = text.lower()
    found = {kind: set(words) for kind, words in kinds(said).items()}
    if "day" in found:
        found["number"] = set(_NUMBER.findall(_DATE.sub(" ", text).lower()))
    found["clock"] = found.get("clock", set()).union(_TIME_IN_WORDS.findall(said))
    found["code"] = set(_CODE.findall(said))
    found["in words"] = set(_IN_WORDS.findall(said))
    return {kind: frozenset(map(hash, words)) for kind, words in found.items() if words}


def _names(text: str) -> frozenset[int]:
    """Hashes of what is written with a capital within a sentence, and is no time; none where it may be of others."""
    names = map(str.lower, CAPITALIZED_WITHIN.findall(text))
    named = frozenset(hash(name) for name in names if name not in _TIMES and not kinds(name))
    return named if _PRONOUNS.isdisjoint(words_of(text)) else frozenset()


_names_in = ByText(_names)
_terms_in = ByText(lambda text: frozenset(map(hash, telling_terms(text[:_BEGINNING]))))
has_word_of_change = ByText(lambda text: _CUE.search(own_words(text).lower()) is not None)
_named_in = ByText(_kinds)
_tells_an_end = ByText(lambda text: _END.search(own_words(text).lower()) is not None or ends_anything(text))
