"""The fact that a question asks for: "Where do I live?" asks for a home. English wording, as that of the facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from contracts.v1.entries import Entry
from services.shared.core.fact_values import PERSON_NAME, one_of
from services.shared.core.facts import ME, Fact, slug_of
from services.shared.core.names import relation_of
from services.shared.core.traits import words_of
from services.shared.core.wordlists import words

_OPENING = r"(?:(?:and|so|hey|hi|remind me|tell me|do you (?:still )?(?:know|remember)),? )*"
_END = r"(?: (?:now|nowadays|these days|currently|at the moment|right now|today|again|by the way))*[\s?!.]*"
_WHO = rf"(?P<who>i|we|(?:my|our) (?:\w+ )?[\w-]+|{PERSON_NAME})"
_WHOSE = rf"(?P<whose>my|our|(?:my|our) (?:\w+ )?[\w-]+'s|{PERSON_NAME}'s?)"
_DO, _BE = "(?:do|does|did)", "(?:am|is|are|was|were)"
_WHAT = "(?:what|which)"
_KIN = f"{one_of('family')}|{one_of('acquainted')}|best friend"

_FORMS: Mapping[str, tuple[str, ...]] = {
    "home": (
        rf"(?:where|in {_WHAT} \w+|{_WHAT} (?:city|town|village|country|place|street|area|part of \w+)) {_DO} {_WHO} "
        r"(?:live|stay|reside)(?: in)?",
        rf"(?:where|{_WHAT} (?:city|town|village|country|place)) {_BE} {_WHO} (?:living|based|located)(?: in)?",
        rf"where is {_WHOSE} (?:home|house|flat|apartment|place)",
        rf"where {_WHO} lives?",
    ),
    "origin": (
        rf"(?:where|{_WHAT} (?:city|town|country|place)) {_BE} {_WHO} (?:from|born(?: and raised)?|raised)(?: in)?",
        rf"(?:where|{_WHAT} (?:city|town|village|country|place)) {_DO} {_WHO} (?:come from|grow up)(?: in)?",
    ),
    "employer": (
        rf"where {_DO} {_WHO} work",
        rf"where {_BE} {_WHO} (?:working|employed)",
        rf"(?:who|{_WHAT} (?:company|firm|employer|organi[sz]ation)) {_DO} {_WHO} work (?:for|at)",
        rf"(?:who|what|which)(?: is|'s) {_WHOSE} (?:employer|company)",
    ),
    "occupation": (
        rf"what {_DO} {_WHO} do(?: for (?:a living|work|a job)| professionally| at work)?",
        rf"{_WHAT}(?: is|'s) {_WHOSE} (?:job|profession|occupation|work|line of work|trade)",
        rf"{_WHAT} (?:kind of |sort of )?(?:job|work) {_DO} {_WHO} (?:have|do)",
    ),
    "studies": (
        rf"what {_BE} {_WHO} studying(?: at \w+)?",
        rf"what {_DO} {_WHO} study",
        rf"{_WHAT} (?:subject|degree) {_BE} {_WHO} (?:studying|doing)",
    ),
    "birthday": (
        rf"when(?: is|'s) {_WHOSE} (?:birthday|date of birth)",
        rf"(?:when|on {_WHAT} day) {_BE} {_WHO} born",
        rf"what(?: is|'s) {_WHOSE} (?:birthday|date of birth)",
    ),
    "age": (rf"how old {_BE} {_WHO}", rf"what(?: is|'s) {_WHOSE} age"),
    "allergy": (
        rf"(?:what|which \w+) {_BE} {_WHO} allergic to",
        rf"{_BE} {_WHO} allergic to (?:anything|something|any .{{1,20}})",
        rf"{_DO} {_WHO} have (?:any|an) (?:\w+ )?allerg(?:y|ies)",
        rf"what (?:\w+ )?allerg(?:y|ies) {_DO} {_WHO} have",
        rf"(?:what are|what(?: is|'s)) {_WHOSE} (?:\w+ )?allerg(?:y|ies)",
    ),
    "diet": (
        rf"{_BE} {_WHO} (?:an? )?{one_of('diets')}",
        rf"what(?: is|'s) {_WHOSE} diet",
        rf"{_DO} {_WHO} eat (?:meat|fish)",
    ),
    "language": (rf"{_WHAT} languages? (?:{_DO}|can) {_WHO} speak", rf"how many languages (?:{_DO}|can) {_WHO} speak"),
    "car": (rf"{_WHAT}(?: kind of| make of)? car {_DO} {_WHO} (?:drive|have|own)", rf"what {_DO} {_WHO} drive"),
    "pet": (rf"{_WHAT} (?:kind of )?(?:pets?|animals?) {_DO} {_WHO} have", rf"{_DO} {_WHO} have (?:any pets|a pet)"),
    "medication": (
        rf"{_WHAT} (?:medication|medications|medicine|medicines|drugs|tablets|pills) {_DO} {_WHO} take",
        rf"{_WHAT} (?:medication|medications|medicine|medicines) {_BE} {_WHO} (?:on|taking)",
    ),
    "name": (r"what(?: is|'s) my (?:\w+ )?name", r"who am i", r"what am i called"),
    "commute": (
        rf"how {_DO} {_WHO} (?:get to|commute to|travel to) (?:the )?(?:work|office)",
        rf"how {_DO} {_WHO} commute",
    ),
    "partner": (rf"(?:who|what)(?: is|'s) (?:my|our) {one_of('partner')}(?:'s name| called)?",),
    "relationship": (
        rf"(?:who|what)(?: is|'s) (?:my|our) (?:\w+ )?(?P<kin>{_KIN})(?:'s name| called)?",
        rf"who(?: is|'s| was) (?P<who>{PERSON_NAME})",
    ),
}

_RELATIVES = words("facts", "family") | words("facts", "partner") | words("facts", "acquainted")
_LONGEST = 120  # characters


@dataclass(frozen=True, slots=True)
class Asked:
    """A fact that is asked for: its slot, and whose it is: a name or a kind of relative, "" for the one who asks."""

    slot: str
    of: str = ""
    kin: str = ""


@lru_cache(maxsize=16)  # one question is looked at once for each space
def asked_in(question: str) -> Asked | None:
    """The fact that a question asks for; None where it asks for something else, or for more."""
    said = " ".join(question.replace("\u2019", "'").split())
    if len(said) > _LONGEST:
        return None
    for slot, form in _forms():
        if found := form.fullmatch(said):
            groups = found.groupdict()
            return Asked(
                slot, _holder(groups.get("who") or groups.get("whose") or ""), (groups.get("kin") or "").lower()
            )
    return None


@cache
def _forms() -> list[tuple[str, re.Pattern[str]]]:
    return [
        (slot, re.compile(f"{_OPENING}{form}{_END}", re.IGNORECASE)) for slot, forms in _FORMS.items() for form in forms
    ]


def _holder(said: str) -> str:
    name = (said or "my").removesuffix("'s").removesuffix("'")
    *before, last = name.split()
    if not before and last.lower() in ("i", "we", "my", "our"):
        return ""
    return slug_of(last if before and before[0].lower() in ("my", "our") else name)


def told_in(asked: Asked, entry: Entry, stated: Collection[Fact], former: Sequence[Entry] = ()) -> Fact | None:
    """The fact that is asked for, among those that an entry states; what it superseded may tell of whom."""
    said = " ".join(one.text for one in (entry, *former))
    return next((fact for fact in stated if _is_asked_for(fact, asked, said)), None)


def is_of_another(asked: Asked, entry: Entry, stated: Collection[Fact]) -> bool:
    """Whether an entry states such a fact, and surely of others than of whom it is asked: my mother's birthday is not
    mine, nor my father's. Who has a name may be any relative."""
    if asked.kin or entry.speaker or not words_of(entry.text).isdisjoint(("i", "we", asked.of)):
        return False
    holders = [_holder_in(fact) for fact in stated if fact.slot == asked.slot]
    return bool(holders) and all(_are_two(asked.of or ME, holder) for holder in holders)


def _are_two(one: str, other: str) -> bool:
    are_told_apart = ME in (one, other) or {one, other} <= _RELATIVES
    return are_told_apart and relation_of(one) != relation_of(other)


def _holder_in(fact: Fact) -> str:
    return fact.memory_key.split("|")[2]


def _is_asked_for(fact: Fact, asked: Asked, said: str) -> bool:
    whose = _holder_in(fact)
    if fact.slot == "partner" and asked.slot == "relationship" and asked.of:
        return asked.of in slug_of(fact.value).split("_")
    if fact.slot != asked.slot:
        return False
    if asked.kin:
        return relation_of(fact.value.lower()) == relation_of(asked.kin)
    if not asked.of:
        return whose == ME
    named = relation_of(whose) == relation_of(asked.of) or whose.startswith(f"{asked.of}_")
    return named or (whose != ME and asked.of in slug_of(said).split("_"))
