"""Whether a turn asserts what a language model drew from it: the whole clause around the words is judged, not these.

A clause that asks, supposes, denies, quotes or jokes asserts nothing. What it says has to be said of the one whom the
fact is about, as its subject, and in words for what the value is of. When in doubt nothing is asserted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from services.shared.core import wordlists
from services.shared.core.bounded import as_read
from services.shared.core.fact_values import CAPITAL, is_name, one_of
from services.shared.core.facts import (
    CLAUSE,
    GONE,
    SENTENCE,
    is_joke,
    is_stated,
    pieces_between,
    spelled_out,
)
from services.shared.core.joined import own_statements
from services.shared.core.statements import JOKING, LIGHT, UNSURE, VERBS

_pattern = partial(wordlists.pattern, "extraction")
_PREDICATES = {
    name: words for names, words in wordlists.pairs("extraction", "predicates").items() for name in names.split("/")
}
_DENIED_BY_NATURE = frozenset("allergy allergies intolerance dislikes diet".split())
"""Of these a clause that denies gives a value: "I can't eat walnuts"."""

_HOMES = frozenset("home city country location".split())
_NAMES = frozenset("name nickname".split())
_KIN = wordlists.words("facts", "family") | wordlists.words("facts", "partner")
_RELATIONS = frozenset({"relationship", "relation", *_KIN})
_WISHES = wordlists.words("extraction", "wishes")
_DENYING, _ENDING = re.compile(_pattern("denying")), re.compile(_pattern("ending"))
_CALLED = re.compile(r"calls? me", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:in|at|to|from|for|with|on|near|of|by|around|since|until)(?: the)?\s+$", re.IGNORECASE)
_ALLOWING = re.compile(r"\byou (?:can|may|could) ")
_POLITE = re.compile(_pattern("polite"), re.IGNORECASE)
_WISHING = re.compile(
    r"\b(?:want|wants|love|loves|like|likes|plan|plans|planning|going|need|trying|about|must) (?:to )?"
)
_ANSWER = re.compile(r"^\W*(?:no|nope|nah|not yet|never mind|no idea|no problem)[,.!;:]+ ", re.IGNORECASE)
_OPPOSITE = re.compile(r"\b(?:can|do|does) not (?:\w+ )?(?:eat|drink|have|touch|tolerate|stand|like|enjoy|want|care)\b"
                       r"|\bnever (?:eats?|drinks?)\b|\bnot an? (?:big )?fan\b")  # fmt: skip
_QUOTE = re.compile(r'"[^"]+"|«[^»]+»|(?<!\w)\'\w[^\']{3,}\'(?!\w)')
_ASIDE = re.compile(r"\([^()]*\)|, (?:my|our|his|her|the|an?) [^,]{1,40},", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_PEOPLE = re.compile(rf"\b(?:{one_of('family')}|{one_of('partner')}|{one_of('acquainted')}|{one_of('pets')})s?\b")
_SUBJECT = re.compile(
    r"\b(?P<me>I|i|we|We)\b(?!-)|\b(?P<mine>(?i:my|our))\b|\b(?P<they>(?i:he|she|they|you))\b"
    r"|\b(?P<their>(?i:his|her|their|your))\b|\b(?P<who>who|which|everybody|everyone|people|somebody|someone|nobody)\b"
    rf"|\b(?P<name>{CAPITAL}[^\W\d_]*(?:[ -]{CAPITAL}[^\W\d_]*)*)"
)
_BESIDE = frozenset(
    "just now also recently still currently really finally already always usually originally actually so ok okay yes"
    " yeah yep btw oh well hi hello hey and but then severely very deathly newly soon today yesterday had have been got"
    " to a an the in on at with for from of by as".split()
)
_OPENINGS = frozenset(
    "also and but so well actually today yesterday since because when where while then now after before if as it its"
    " this that these those there here yes no ok okay please thanks hello hi hey oh just not dear remember note what"
    " how why sorry new both all one two in on at for from with by of to".split()
)
_THIRD = re.compile(r"(?:live|work|love|like|hate|speak|drive|prefer|enjoy|eat|move|own|adore|take|drink)s|has|is")


@dataclass(frozen=True)
class Claim:
    """What a model drew from a part of a turn (`span`): a value, what it is of, and whose ("" is the user)."""

    span: str
    value: str
    about: str
    attribute: str
    is_person: bool = True

    @cached_property
    def slots(self) -> frozenset[str]:
        """The words of the attribute."""
        return frozenset(_words(self.attribute))

    @property
    def is_relation(self) -> bool:
        """Whether it says what somebody is to somebody."""
        return not self.slots.isdisjoint(_RELATIONS) and self.slots.isdisjoint(_PREDICATES)


def is_asserted(claim: Claim, turn: str) -> bool:
    """Whether a turn says this outright, anywhere."""
    text = spelled_out(own_statements(as_read(turn)))
    return JOKING.search(text.lower()) is None and any(
        _Place(claim, text, *place).is_assertion() for place in _places(claim, text)
    )


def _places(claim: Claim, text: str) -> Iterator[tuple[int, int]]:
    """Where the value stands in the words that the model pointed at."""
    value = _anywhere(spelled_out(claim.value))
    for span in _anywhere(spelled_out(claim.span)).finditer(text):
        for found in value.finditer(text, span.start(), span.end()):
            yield found.span()


def _anywhere(words: str) -> re.Pattern[str]:
    return re.compile(r"(?<![^\W_])" + r"\s+".join(map(re.escape, words.split())) + r"(?![^\W_])", re.IGNORECASE)


class _Place:
    """A value where it stands in a text, with the sentence, the clause and the word for what it is of around it."""

    def __init__(self, claim: Claim, text: str, begin: int, end: int) -> None:
        self._claim, self._text, self._value = claim, text, (begin, end)
        bounds = [*pieces_between(text, SENTENCE, 0, len(text))]
        self._sentence = next(((a, b) for a, b in bounds if a <= begin < b), (begin, end))
        self._patterns = [_PREDICATES[slot] for slot in sorted(claim.slots & _PREDICATES.keys())]
        self._predicate = self._found_predicate()

    def is_assertion(self) -> bool:
        """Whether what is said there is meant, is said of whom the claim is about, and in words for it."""
        if self._is_quoted() or not self._is_stated() or (self._patterns and not self._predicate):
            return False
        if self._claim.is_relation:
            return self._is_meant() and self._is_beside()
        return self._is_meant() and self._is_of_whom()

    def _found_predicate(self) -> tuple[int, int] | None:
        """The word for what the value is of that is nearest before the value, or after it in the same clause."""
        a, b = self._sentence
        begin, end = self._value
        value = re.escape(self._text[begin:end].lower())
        about = re.escape(self._claim.about.lower()) or "(?!)"
        words = "|".join(self._patterns).replace("{value}", value).replace("{about}", about)
        found = (
            [one.span() for one in re.finditer(rf"\b(?:{words})(?!\w)", self._text[a : max(b, end)].lower())]
            if words
            else []
        )
        places = [(start + a, stop + a) for start, stop in found]
        before = [one for one in places if one[0] < end]
        within = [
            one
            for one in places
            if one[0] >= end and any(x <= one[0] < y and x <= begin < y for x, y in self._clauses())
        ]
        return before[-1] if before else next(iter(within), None)

    def _clauses(self) -> list[tuple[int, int]]:
        return [*pieces_between(self._text, CLAUSE, *self._sentence)]

    def _is_quoted(self) -> bool:
        begin, end = self._value
        for quoted in _QUOTE.finditer(self._text):
            if quoted.start() < begin < quoted.end() and quoted[0].strip("\"' ,.") != self._text[begin:end]:
                return True
        return False

    def _is_stated(self) -> bool:
        a, b = self._sentence
        if is_joke(self._text if self._patterns else self._text[a:b]):
            return False
        sentence = _QUOTE.sub(lambda quoted: quoted[0].strip("\"'«»"), self._text[a:b])
        return is_stated(_POLITE.sub("", sentence))

    def _is_meant(self) -> bool:
        """Whether the clauses from the word for it to the value put nothing in doubt; what a value says itself is told
        with it, where it is of nothing that a profile knows."""
        said = _POLITE.sub("", self._judged()).lower()
        if not self._claim.slots.isdisjoint(_WISHES):
            said = _WISHING.sub("", said)
        if not self._claim.slots.isdisjoint(_NAMES):
            said = _ALLOWING.sub("", said)
        if not self._claim.slots.isdisjoint(_DENIED_BY_NATURE):
            said = _OPPOSITE.sub("", said)
        if UNSURE.search(said) or _DENYING.search(said):
            return False
        return not self._patterns or not (GONE.search(said) or _ENDING.search(said) or self._is_left())

    def _judged(self) -> str:
        begin, end = self._value
        first, last = self._predicate or (begin, end)
        if not (begin <= first and last <= end):
            first, last = min(first, begin), max(last, end)
        parts = []
        for a, b in self._clauses():
            if a < last and first < b:
                part = self._text[a:b]
                if not self._patterns:
                    part = f"{self._text[a : max(a, min(begin, b))]} {self._text[min(b, max(end, a)) : b]}"
                parts.append(_ANSWER.sub("", part))
        return " ".join(" ".join(parts).split())

    def _is_left(self) -> bool:
        before = self._text[: self._value[0]].lower().split()[-2:]
        return (
            not self._claim.slots.isdisjoint(_HOMES)
            and before[-1:] in (["from"], ["of"])
            and (
                self._predicate is not None
                and re.match(r"mov|reloc|from", self._text[slice(*self._predicate)].lower()) is not None
                and "hometown" not in self._claim.slots
            )
        )

    def _is_beside(self) -> bool:
        """Whether nothing but words like "is my" stands between somebody and what they are."""
        begin, end = self._value
        a, b = self._sentence
        names = [self._claim.about] if self._claim.about else sorted(self._claim.slots & _KIN)
        for name in names:
            for found in re.finditer(rf"(?<!\w){re.escape(name)}(?:s|'s)?(?!\w)", self._text[a:b], re.IGNORECASE):
                first, last = a + found.start(), a + found.end()
                between = self._text[last:begin] if last <= begin else self._text[end:first]
                if set(_words(between)) <= _LINKING:
                    return True
        return False

    def _is_of_whom(self) -> bool:
        a, _ = self._sentence
        at, end = self._predicate or self._value
        if not self._claim.about and _CALLED.fullmatch(self._text[at:end]):
            return True
        before = _ASIDE.sub(lambda aside: " " * len(aside[0]) if aside.end() <= at - a else aside[0], self._text[a:at])
        subjects = [one for one in _SUBJECT.finditer(before) if self._may_be_subject(one, before)]
        if not subjects:
            return self._is_without_subject(before, self._text[at:end])
        nearest = subjects[-1]
        phrase = (before[nearest.start() :] + " " + self._text[at:end]).lower()
        return self._is_user(nearest, phrase) if not self._claim.about else self._is_about(nearest, before, phrase)

    def _may_be_subject(self, found: re.Match[str], before: str) -> bool:
        name = found["name"]
        if name is None:
            return True
        word = name.split()[0]
        is_first = not before[: found.start()].strip(" ,.!-*>")
        if is_first and (word.lower() in _OPENINGS | LIGHT | VERBS or word.endswith(("ly", "ing"))):
            return False
        return is_name(name) and _AFTER.search(before[: found.start()]) is None

    def _is_user(self, subject: re.Match[str], phrase: str) -> bool:
        if subject["me"]:
            return True
        others = {*_PEOPLE.findall(phrase)} - self._claim.slots
        if subject["mine"]:
            return not others and (not self._patterns or len(phrase.split()) <= 6)
        return not self._claim.slots.isdisjoint(_words(phrase)) and not self._patterns

    def _is_about(self, subject: re.Match[str], before: str, phrase: str) -> bool:
        if not self._claim.is_person:
            return True
        about = {*_words(self._claim.about)} - LIGHT
        if subject["who"]:
            return bool(about & {*_words(before[: subject.start()])[-1:]})
        if subject["they"] and subject[0].lower() != "you":
            return self._is_last_named(about, before[: subject.start()])
        return subject["me"] is None and bool(about & {*_words(phrase)})

    def _is_last_named(self, about: set[str], before: str) -> bool:
        earlier = self._text[: self._sentence[0]] + before
        named = [one[0] for one in _SUBJECT.finditer(earlier) if one["name"] and is_name(one["name"])]
        if about.isdisjoint(_words(earlier)):
            return not named or named[-1].split()[0].lower() in _OPENINGS
        people = [
            word
            for word in _words(earlier)
            if word in about or word in {*_words(" ".join(named))} or _PEOPLE.fullmatch(word)
        ]
        return bool(people) and people[-1] in about

    def _is_without_subject(self, before: str, predicate: str) -> bool:
        """Whether a clause that leaves out its subject can be of whom the claim is about."""
        plain = {*_words(before[_start_of_clause(before) :])}
        if self._claim.about:
            about = {*_words(self._claim.about)} - LIGHT
            return not self._claim.is_person or bool(
                about & {*_words(before), *_words(self._text[slice(*self._value)])}
            )
        if not self._patterns:
            return _PEOPLE.search(before.lower()) is None or not self._claim.slots.isdisjoint(_words(before))
        return plain <= _BESIDE | self._claim.slots and not _THIRD.fullmatch(predicate.lower())


_LINKING = frozenset(
    "is am are my our the an a who called named name best older elder younger little big twin new old close good s"
    " dear".split()
)


def _start_of_clause(text: str) -> int:
    return max((found.end() for found in CLAUSE.finditer(text)), default=0)


def _words(text: str) -> list[str]:
    return [word.removesuffix("'s") for word in _WORD.findall(text.casefold())]
