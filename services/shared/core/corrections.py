"""Corrections that name no other value, or not of what: "No, it is 8:40", "Mia is not allergic to peanuts"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from services.shared.core import wordlists
from services.shared.core.names import Name, likeness
from services.shared.core.spelling import NUMBER_WORDS
from services.shared.core.statements import LIGHT, NEGATIONS, SPEAKERS, Clause, clauses, kinds, subject_of, terms
from services.shared.core.traits import ByText

_LONGEST = 80  # characters
_FIXED = re.compile(
    r"(?:(?:no|nope|sorry|oops|wait|actually|correction|i meant?|(?:or )?rather|ah|oh|hm|my mistake)\b[,.:!–-]* *)+"
    r"(?:(?:make|i meant?|it should be) (?:it|that)? ?)?"
    r"(?:(?:it|that|this|they)(?: is| was| are|'s|'re)|(?:his|her|its|their|the) \w+ (?:is|was)"
    r"|(?:(?:it|that|he|she)(?: is|'s) )(?P<called>called|named))? ?"
    r"(?:actually |really |on |at |in |for )*"
    r"(?P<value>[^\s,;?]+(?: [^\s,;?]+){0,4}?)(?:,? (?:and )?not .{1,30})?[.! ]*",
    re.IGNORECASE,
)
_SPELT = re.compile(
    r"(?:(?:no|nope|sorry|oops|wait|actually|correction)\b[,.:!–-]* *)*"
    r"(?:(?:his|her|its|their) name|it|he|she|that)(?: is|'s) (?:actually |really |in fact )?(?:spelled|spelt|written)"
    r" (?:as |like )?(?P<value>[^\W\d]{2,20}(?: [^\W\d]{2,20})?)\b(?:,? (?:with|not|without) .{1,40})?[.! ]*",
    re.IGNORECASE,
)
_BE = "(?: is|'s| was| are|'re| were)"
_NOT_THAT = re.compile(
    r"(?:(?:no|nope|sorry|oops|wait|actually|correction)\b[,.:!–-]* *)*"
    rf"(?:(?:it|that|this|he|she|they){_BE}?(?:n't| not)|not) (?P<old>[^,;.]{{1,40}}?)"
    rf"(?:,? but|[,;.–-]{{1,3}} ?(?:(?:it|that|he|she|they){_BE})?) (?P<value>[^,;?]{{1,40}}?)[.! ]*",
    re.IGNORECASE,
)
_NAME = re.compile(r"\bname (?:is|was)\b", re.IGNORECASE)
_section = partial(wordlists.pattern, "changes")
_REPORTED = re.compile(rf"^(?:{_section('reporting')}|{_section('corrected')},?:? ?)+")
_DENIAL = re.compile(
    r"(?P<who>.{1,60}?) (?:(?:(?P<is>am|is|are|was|were)|do|does|have|has|can|will) (?:not|no longer|never|no)"
    r"|no longer|never)(?: actually| in fact)? (?P<what>.+?)(?:(?:,| but) .*)?"
)
_NO_DENIAL = re.compile(rf"{_section('no denial')}|{_section('passing')}|{_section('meanwhile')}")
_STOOD_FOR = frozenset("it he she they that this these those there you".split())
_COUNT = re.compile(rf"\d+|{'|'.join(NUMBER_WORDS)}")
_NAMED = re.compile(r"\b(?:called|named|name is|name was)\b")


def may_correct_unnamed(text: str) -> bool:
    """Whether a text may give another value to something without saying to what."""
    return len(text) <= _LONGEST and any(form.fullmatch(text.strip()) for form in (_FIXED, _NOT_THAT, _SPELT))


def corrects_unnamed(before: str, text: str) -> bool:
    """Whether a text that names nothing gives another value to a statement said just before it.

    The value has to be of a kind of which that statement tells one other: a day, a time of day, a number with the same
    words beside it, a name. Or the text says which value it is not.
    """
    if not may_correct_unnamed(text):
        return False
    told = [clause for clause in clauses(before) if clause.meant and not clause.past]
    if replaced := _NOT_THAT.fullmatch(text.strip()):
        old, new = terms(replaced["old"].lower()), terms(replaced["value"].lower())
        return bool(old and new) and sum(old <= clause.terms and not new <= clause.terms for clause in told) == 1
    if spelt := _SPELT.fullmatch(text.strip()):
        return any(_is_spelt_otherwise(clause, spelt["value"]) for clause in told)
    fixed = _FIXED.fullmatch(text.strip())
    if fixed is None:
        return False
    value = fixed["value"].lower()
    if fixed["called"] or _NAME.search(text):
        return any(_NAMED.search(clause.text) and not terms(value) <= clause.terms for clause in told)
    return sum(_has_another(clause, value) for clause in told) == 1


def _is_spelt_otherwise(clause: Clause, value: str) -> bool:
    """Whether a clause has a word that sounds like this one, and is written in another way."""
    name = Name.of(value)
    words = [word for word in clause.words if word not in LIGHT]
    return any(likeness(name, Name.of(word)) in ("sound", "vowel") for word in words)


def _has_another(clause: Clause, value: str) -> bool:
    is_, was = kinds(value), kinds(clause.text)
    if len(is_) != 1:
        return False
    ((kind, values),) = is_.items()
    if kind == "day":  # several words tell one: Tuesday, 12 March
        return kind in was and not values <= was[kind]
    if len(values) != 1 or len(was.get(kind, ())) != 1 or values == was[kind]:
        return False
    return kind == "clock" or terms(value) - values <= clause.terms


def _denials(text: str) -> Iterator[re.Match[str]]:
    """Of what the clauses of a text say that something is not so, without who told its speaker."""
    for clause in clauses(text):
        if clause.meant and not clause.past and not NEGATIONS.isdisjoint(clause.words):
            denial = _DENIAL.fullmatch(_REPORTED.sub("", clause.text))
            if denial and denial["who"] not in _STOOD_FOR and not _NO_DENIAL.search(clause.text):
                yield denial


def denied_by(text: str) -> str | None:
    """The words by which to look for what a text says is not so; None if it says so of nothing."""
    return " ".join(f"{denial['who']} {denial['what']}" for denial in _denials(text)) or None


denies_anything = ByText(lambda text: denied_by(text) is not None)
"""Whether a text says of something, whatever that is, that it is not so."""


def denies(before: str, text: str) -> bool:
    """Whether a text says that what its speaker stated before, or a part of it, is not so."""
    if not denies_anything(text):
        return False
    return any(_is_denied(clause, denial) for denial in _denials(text) for clause in clauses(before))


def _is_denied(before: Clause, denial: re.Match[str]) -> bool:
    if before.past or not before.meant or not NEGATIONS.isdisjoint(before.words):
        return False
    what, who = terms(denial["what"]), terms(denial["who"])
    if not what or not what <= before.terms:
        return False
    if _COUNT.fullmatch(denial["what"]) and not re.search(
        rf"\b(?:is|am|are|was|were|turned) {denial['what']}\b", before.text
    ):
        return False  # five dolls are no five years
    subject = subject_of(before.text)
    if denial["who"] in SPEAKERS or subject in SPEAKERS:
        return denial["who"] in SPEAKERS and subject in SPEAKERS
    of = terms(subject)
    is_turned = denial["is"] is not None and what <= of and who <= before.terms
    return bool(who and of) and (who <= of or of <= who or is_turned)
