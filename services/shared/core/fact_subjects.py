"""Whom an English text speaks of: whose a verb without a subject is, and whom "he" or "she" means.

Where that is not clear it is nobody's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from services.shared.core import wordlists
from services.shared.core.fact_values import CAPITAL, PERSON_NAME, is_known_place, is_name, one_of
from services.shared.core.names import plain_name, relation_of

BASE_VERBS = "work|joined|live|have|love|like|hate|speak|study|play|drive|own|prefer|am|enjoy"
THIRD_VERBS = "works|lives|has|loves|likes|hates|speaks|studies|plays|drives|prefers|enjoys"
_VERB = (
    rf"(?:(?:just|now|also|still|really|both|all|always|never|recently|currently|\w+ly) )?"
    rf"(?:is|are|was|were|had|do|does|did|will|can|could|would|may|got|came|comes|went|goes|calls|{BASE_VERBS}|{THIRD_VERBS}"
    r"|[a-z]{2,}(?:ed|[^\W\ds]s)(?= (?!(?:and|or|in|on|of)\b)\w))\b"
)
_BOUNDARY = (
    r"(?:^|[,:] |\b(?:and|but|while|whereas|because|since|as|though|although|so|that|when|where|says?|said|thinks"
    r"|knows|if|unless|until|after|before) )(?:now |then |luckily |sadly )?"
)
_NP_WORD = r"(?!(?:and|or|but|who|which|that|whose|while|because)\b)[\w'-]+"
_DETERMINER = (
    r"(?:his|her|their|its|whose|my|our|the|an?|another|one|some|both|all|most|many|each|every|this|that|these|those|no"
    r"|two|three)"
)
_ANYONE = r"(?:they|it|i|we|you|hers|theirs|mine|(?:(?:every|some|any|no)(?:one|body)|all|both|one)(?: [a-z]+)??)"
_SUBJECT = re.compile(
    rf"{_BOUNDARY}(?P<who>(?P<pronoun>he|she)|(?:my|our) (?:[\w-]+ ){{1,3}}?(?P<own>{PERSON_NAME})|{_ANYONE}"
    rf"|{_DETERMINER} (?:{_NP_WORD} ){{0,4}}?{_NP_WORD}"
    rf"|(?P<name>{PERSON_NAME})(?P<of>'s (?:{_NP_WORD} ){{0,3}}?{_NP_WORD})?)(?= (?P<verb>{_VERB}))",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"(?<= )(?P<whom>[\w-]+),? (?P<who>who) ")
_SET_APART = re.compile(r"\b(?:and|but|while) (?P<who>(?:his|her|their|the|my|our) (?:[\w-]+ ){0,2}?[\w-]+), [^,]*$")
_HAS_SOMEBODY = re.compile(
    rf"(?<!\b[Ii] )(?<!\b[Ww]e )\b(?:has|have|had|got|met|married|dating|with) (?:{_DETERMINER}|{CAPITAL}\w+'s)"
    r" (?P<of>\w+(?: [\w-]+)?)"
)
_CALLED = re.compile(r"^(?:(?:called|named|now|still|actually) )*")
_PRONOUN = re.compile(r"(?P<who>he|she)\b", re.IGNORECASE)
_HE = wordlists.words("names", "he") | frozenset("boyfriend man guy boy fiancé grandpa dad landlord".split())
_SHE = wordlists.words("names", "she") | frozenset("girlfriend woman girl lady fiancée grandma mum landlady".split())
_PEOPLE = (_HE | _SHE | frozenset("person one ex hers theirs who someone somebody baby".split())).union(
    *(wordlists.words("facts", section) for section in ("family", "partner", "acquainted", "occupations"))
)
_OBJECT = re.compile(r"\b(?:(?P<he>him)|her(?=$| (?:every|each|on|at|and|often|a lot|in|to|for|with|twice|daily)\b))")
_POSSESSED = re.compile(rf"\b(?:his|her|their) (?:[\w-]+ )?(?P<of>{one_of('family')}|{one_of('partner')})\b")


class _One(NamedTuple):
    """Somebody or something spoken of: by which name, if as one of the speaker's; he, she or "" if either."""

    name: str | None
    gender: str
    is_person: bool = True
    is_pronoun: bool = False


class Subjects:
    """Whom the clauses of a text speak of, one after the other."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._spoken_of: list[list[_One]] = []
        self._subject: str | None = None

    def meant(self, words: str, *, is_carried: bool) -> str | None:
        """Whom a clause is about that begins with "he" or "she", or with a verb that goes on after another clause."""
        if is_carried:
            return self._subject
        found = _PRONOUN.match(words)
        return self._called(found["who"].lower()) if found else None

    def _called(self, pronoun: str) -> str | None:
        for group in reversed(self._spoken_of):
            if fitting := [one for one in group if one.gender in ("", pronoun)]:
                return fitting[0].name if len(fitting) == 1 else None
        return None

    def read(
        self, words: str, people: Sequence[tuple[str, str]], meant: str | None, *, opens: bool, is_stated: bool
    ) -> None:
        """Go on behind a clause, which names these people and is about whom it `meant`; it may open a sentence."""
        named = {name: _gender_of(kin) for name, kin in people}
        found = [self._one(words, one, named) for one in subject_matches(words)]
        own = [_One(name if is_stated else None, gender) for name, gender in named.items()]
        others = [one for one in found if one.is_person and one.name not in named]
        group = [*own, *others, *_introduced(words, own)]
        if group:
            self._spoken_of.append(list(dict.fromkeys(group)))
        if found:
            last = found[-1]
            is_meant = len(found) == 1 and _PRONOUN.match(words) is not None
            pronoun = last.gender if last.is_pronoun else ""
            self._subject = last.name or (meant if is_meant else self._called(pronoun) if pronoun else None)
        elif own or opens:
            self._subject = own[0].name if own else None

    def _one(self, words: str, found: re.Match[str], named: dict[str, str]) -> _One:
        groups = found.groupdict()
        if own := self._own(words, found, groups, named):
            return own
        if (name := groups.get("name")) and is_name(name) and not groups["of"]:
            return _One(None, "", not is_known_place(name))
        if pronoun := groups.get("pronoun"):
            return _One(None, pronoun.lower(), is_person=False, is_pronoun=True)
        head = found["who"].lower().removesuffix("'s").split()[-1]
        return _One(None, _gender_of(head), head in _PEOPLE)

    def _own(
        self, words: str, found: re.Match[str], groups: dict[str, str | None], named: dict[str, str]
    ) -> _One | None:
        """Who of the speaker's the subject of a clause is, by their name or by what they are to the speaker."""
        name = groups.get("own") or (not groups.get("of") and groups.get("name")) or groups.get("whom")
        if name and (name in named or plain_name(name) in self._known or self._is_spoken_of(name)):
            return _One(name, named.get(name, ""))
        after = _CALLED.sub("", words[found.end("verb") :].strip(), count=1) if "verb" in groups else ""
        if not found["who"].lower().startswith(("my ", "our ")):
            return None
        return next((_One(one, gender) for one, gender in named.items() if after.startswith(one)), None)

    def _is_spoken_of(self, name: str) -> bool:
        return any(one.name == name for group in self._spoken_of for one in group)


def subject_matches(words: str) -> list[re.Match[str]]:
    """The subjects of a clause that have a verb, in order."""
    found = [*_SUBJECT.finditer(words), *_SET_APART.finditer(words)]
    found += [
        one for one in _RELATIVE.finditer(words) if one["whom"] not in _PEOPLE or "my " not in words[: one.start()]
    ]
    return sorted(found, key=lambda one: one.start("who"))


def _introduced(words: str, own: Sequence[_One]) -> Iterator[_One]:
    """Whom a clause says that somebody has, and those around them who may be meant as well by "he" or "she"."""
    for found in _HAS_SOMEBODY.finditer(words):
        head = next((word for word in reversed(found["of"].lower().split()) if word in _PEOPLE), None)
        is_new = not found[0].lower().startswith("with ")
        if head and (is_new or all(one.gender == "" for one in own)):
            yield _One(None, _gender_of(head))
    for found in _OBJECT.finditer(words) if own else ():
        yield _One(None, "he" if found["he"] else "she")
    for found in _POSSESSED.finditer(words):
        gender = _gender_of(found["of"].lower())
        if own and gender not in {one.gender for one in own}:
            yield _One(None, gender)


def _gender_of(kin: str) -> str:
    words = {kin, relation_of(kin)}
    return "he" if words & _HE else "she" if words & _SHE else ""
