"""Corrections that name no other value, or not of what: "No, it is 8:40", "Mia is not allergic to peanuts"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial

from services.shared.core import wordlists
from services.shared.core.names import Name, likeness
from services.shared.core.spelling import NUMBER_WORDS
from services.shared.core.statements import LIGHT, NEGATIONS, SPEAKERS, Clause, clauses, kinds, subject_of, terms
from services.shared.core.traits import CAPITALIZED_WITHIN, ByText

_LONGEST = 80  # characters
_NEARLY = 0.65
"""Least share of letters that two words have in common, in order, where one is the other mistyped."""

_SENTENCE = 3
"""So many words may be a sentence of their own: "Wilf has 18, not 17"."""

_BE = "(?: is|'s| was| are|'re| were)"
_OPENING = re.compile(
    r"(?:(?:no|nope|sorry|apologies|w?oops|wait|hang on|hold on|actually|correction|edit|typo|ah|oh|ugh|hm"
    r"|(?:or )?rather|my (?:mistake|bad)|(?:scratch|strike) that|i (?:lied?|tell a lie|misspoke|mistyped)"
    rf"|i me(?:an|ant|nt)(?: to (?:say|write|type))?"
    rf"|(?:that|it){_BE} wrong|i (?:typed|wrote|put|said) (?:that|it) wrong)\b[,.:;!–…-]* *)+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:[,.;!– -]*\b(?P<cue>sorry|typo|i me(?:an|ant|nt)|my (?:mistake|bad)|(?:\w{4,8} )?autocorrect|oops))?[.! ]*$",
    re.IGNORECASE,
)
_RETYPED = re.compile(r"(?i:\b(?:typo|autocorrect|me(?:an|ant|nt)|mistyped)\b)|^\*|\*(?!.*\*)")
_SURE = re.compile(r"\b(?:(?:scratch|strike) that|no,? wait|i me(?:an|ant|nt)|tell a lie|correction|misspoke)\b", re.I)
_STARRED = re.compile(r"\*([^*]+)|([^*]+)\*")
_FIXED = re.compile(
    r"(?:(?P<ought>(?:(?:it|that|this|they) )?should (?:be|have been|say)|make (?:it|that)"
    r"|(?:it|that)(?: is|'s) actually)"
    rf"|(?:it|that|this|they){_BE}|(?:his|her|its|their|the) \w+ (?:is|was)"
    r"|(?:(?:it|that|he|she)(?: is|'s) )(?P<called>called|named))? ?"
    r"(?:actually |really |on |at |in |for )*(?P<value>[^\s,;?]+(?: [^\s,;?]+){0,4})(?P<more>, (?:i|it|my) .{1,40})?",
    re.IGNORECASE,
)
_SPELT = re.compile(
    r"(?:(?:his|her|its|their) name|it|he|she|that)(?: is|'s) (?:actually |really |in fact )?(?:spelled|spelt|written)"
    r" (?:as |like )?(?P<value>[^\W\d]{2,20}(?: [^\W\d]{2,20})?)\b(?:,? (?:with|not|without) .{1,40})?",
    re.IGNORECASE,
)
_INSTEAD = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?:(?:it|that|this|he|she|they){_BE}?(?:n't| not)|not) (?P<old>[^,;.]{{1,40}}?)"
        rf"(?:,? but|[,;.–-]{{1,3}} ?(?:(?:it|that|he|she|they){_BE})?) (?P<value>[^,;?]{{1,40}})",
        rf"(?:(?:it|that|he|she|they){_BE} )?(?P<value>[^,;?.]{{1,40}}?)"
        r"(?: (?:that )?i(?:'m| am|'ve| have) .{1,30}?)?(?:,| and)* not (?P<old>[^,;.?]{1,40})",
        r"i (?:said|wrote|put|typed) (?P<old>[^,;?]{1,40}?)(?:,| but| and)+ "
        rf"(?:(?:i )?meant?|(?:i meant? )?(?:it|that|they){_BE}|(?:it|that) should be) (?P<value>[^,;?]{{1,40}})",
    )
]
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


@dataclass(frozen=True, slots=True)
class _Correction:
    """What a text gives as another value, what it says that it is in place of, and how it tells that."""

    value: str
    old: str = ""
    is_spelling: bool = False
    is_name: bool = False
    is_retyped: bool = False
    is_sure: bool = False


def may_correct_unnamed(text: str) -> bool:
    """Whether a text may give another value to something without saying to what."""
    return _correction_in(text) is not None


def corrects_unnamed(before: str, text: str) -> bool:
    """Whether a text that names nothing gives another value to a statement said just before it.

    The value has to be of a kind of which that statement tells one other: a day, a time of day, a number with the same
    words beside it, a name. Or the text says which value it is not, or that another was typed by mistake.
    """
    if (one := _correction_in(text)) is None:
        return False
    told = [clause for clause in clauses(before) if clause.meant and not clause.past]
    if one.is_spelling:
        return any(_is_spelt_otherwise(clause, one.value) for clause in told)
    if one.is_name:
        return any(_NAMED.search(clause.text) and not terms(one.value.lower()) <= clause.terms for clause in told)
    if one.old:
        old, new = terms(one.old.lower()), terms(one.value.lower())
        return bool(old and new) and sum(old <= clause.terms and not new <= clause.terms for clause in told) == 1
    if one.is_sure and one.value.istitle() and not kinds(one.value.lower()):
        names = set(CAPITALIZED_WITHIN.findall(before))
        return len(names) == 1 and one.value not in names
    retyped = [clause for clause in told if one.is_retyped and _is_typed_otherwise(clause, one.value.lower())]
    return len(retyped) == 1 or sum(_has_another(clause, one.value) for clause in told) == 1


def _correction_in(text: str) -> _Correction | None:
    said = text.strip()
    if len(said) > _LONGEST:
        return None
    opening, closing = _OPENING.match(said), _CLOSING.search(said, 1)
    rest = said[opening.end() if opening else 0 : closing.start() if closing else None]
    starred = _STARRED.fullmatch(rest)
    is_cued = bool(starred or opening or (closing and closing["cue"]))
    rest = "".join(filter(None, starred.groups())) if starred else rest
    instead = next(filter(None, (form.fullmatch(rest) for form in _INSTEAD)), None)
    if instead and (is_cued or len(instead["value"].split()) < _SENTENCE):
        return _Correction(instead["value"], instead["old"])
    if spelt := _SPELT.fullmatch(rest):
        return _Correction(spelt["value"], is_spelling=True)
    fixed = _FIXED.fullmatch(rest)
    if fixed is None or not (is_cued or fixed["ought"]) or (fixed["more"] and not opening):
        return None
    is_name = bool(fixed["called"] or _NAME.search(rest))
    is_retyped, is_sure = _RETYPED.search(said) is not None, _SURE.search(said) is not None
    return _Correction(fixed["value"], is_name=is_name, is_retyped=is_retyped, is_sure=is_sure)


def _is_spelt_otherwise(clause: Clause, value: str) -> bool:
    """Whether a clause has a word that sounds like this one, and is written in another way."""
    name = Name.of(value)
    words = [word for word in clause.words if word not in LIGHT]
    return any(likeness(name, Name.of(word)) in ("sound", "vowel") for word in words)


def _is_typed_otherwise(clause: Clause, value: str) -> bool:
    """Whether a clause has one word that is nearly this one."""
    words = (word for word in clause.words if word not in LIGHT)
    alike = [word for word in words if SequenceMatcher(None, word, value, autojunk=False).ratio() >= _NEARLY]
    return len(alike) == 1 and value not in clause.words


def _has_another(clause: Clause, written: str) -> bool:
    value, words = written.lower(), written.split()
    is_, was = kinds(value), kinds(clause.text)
    if not is_ and len(words) > 1 and written.istitle():  # Mrs Okafor, where it was Mrs Okoro
        return 0 < sum(word.lower().strip(".") in clause.words for word in words) < len(words)
    if len(is_) != 1:
        return False
    ((kind, values),) = is_.items()
    if not terms(value) - values <= clause.terms:
        return False
    if kind == "day":  # several words tell one: Tuesday, 12 March
        return kind in was and not values <= was[kind]
    return len(values) == len(was.get(kind, ())) and values != was[kind]


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
