"""What an English clause tells of somebody after the word for them: "lives in Oslo", "am allergic to peanuts"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from contracts.v1.entries import Subject
from services.shared.core import wordlists
from services.shared.core.bounded import as_read
from services.shared.core.fact_values import (
    ADVERBS,
    CAPITAL,
    CLAUSE_END,
    Clean,
    as_age,
    as_allergens,
    as_birthplace,
    as_car,
    as_condition,
    as_day,
    as_disliked,
    as_employer,
    as_job,
    as_languages,
    as_learnt,
    as_liked,
    as_moved_to,
    as_occupation,
    as_owned,
    as_place,
    as_preferred,
    as_studied,
    as_whole,
    is_denied,
    one_of,
)

FactType: TypeAlias = Literal["fact", "preference", "relationship", "friction", "habit"]
_OFTEN = wordlists.pattern("facts", "frequencies")
_USUALLY = wordlists.pattern("facts", "how often")
_DIET = one_of("diets").replace(r"\-", "[- ]")


@dataclass(frozen=True, slots=True)
class Found:
    """What a clause tells: of whom ("" is the speaker), in which slot, and the value in its own words."""

    slot: str
    value: str
    text: str
    of: str = ""
    subject: Subject = "profile"
    fact_type: FactType = "fact"
    level: int = 1
    holds_many: bool = False
    confidence: float = 0.8
    refs: tuple[tuple[str, str], ...] = ()


_NO_FOOD = (
    "(?:before|after|now|until|at|in|on|there|here|much|anything|something|today|tonight|yet|well|more$|alone|out|with|like"
    "|from|while|when|because|and|or|very|enough|it|this|that)"
)
_AM = rf"(?:am|is|are|'s) {ADVERBS}"
_HAVE = rf"(?:(?:have|has)(?: got)?|'ve(?: got)?|got) {ADVERBS}"


@dataclass(frozen=True, slots=True)
class _Rule:
    slot: str
    pattern: re.Pattern[str]
    clean: Clean
    text: str
    level: int = 1
    many: bool = False
    type: FactType = "fact"
    ref: str = ""


def _rules(slot: str, clean: Clean, text: str, *patterns: str, **more: Any) -> list[_Rule]:
    whole = (re.compile(rf"{ADVERBS}{pattern}$", re.IGNORECASE) for pattern in patterns)
    return [_Rule(slot, pattern, clean, text, **more) for pattern in whole]


_PREDICATES = (
    *_rules(
        "home",
        as_place,
        "lives in {v}",
        r"(?:live|lives|am living|is living|are living|have been living|has been living|reside) "
        rf"{ADVERBS}(?:just )?(?:in|outside|near) (?P<v>.+)",
        rf"{_AM}(?:based|living) in (?P<v>.+)",
        rf"lives? (?:with|alone|together with) (?:(?!\bin\b).){{0,40}}?\bin (?P<v>{CAPITAL}.*)",
        level=2,
        ref="place",
    ),
    *_rules(
        "home",
        as_moved_to,
        "lives in {v}",
        rf"(?:have |has )?{ADVERBS}(?:moved|relocated|(?:had|managed|was forced|were forced) to (?:move|relocate))"
        rf" (?:from {CAPITAL}[^,]{{1,30}}? )?(?:back |over )?to (?P<v>.+)",
        level=2,
        ref="place",
    ),
    *_rules(
        "origin",
        as_birthplace,
        "comes from {v}",
        rf"(?:{_AM}from|come from|comes from) (?P<v>.+)",
        r"(?:was|were) (?:born|raised)(?: and raised)? in (?P<v>.+)",
        r"grew up in (?P<v>.+)",
        level=2,
        ref="place",
    ),
    *_rules(
        "employer",
        as_employer,
        "works for {v}",
        rf"(?:work|works|working|am working|is working) {ADVERBS}(?:as .{{1,40}}? )?(?:at|for) (?P<v>.+)",
        r"(?:have |has )?(?:just |recently )?(?:started working|started|joined) (?:at|for)? ?(?P<v>.+)",
        r"(?:have |has )?(?:just |recently )?(?:started|got|began) (?:a|my|his|her|their) (?:new )?(?:job|position)"
        r" (?:at|with) (?P<v>.+)",
        rf"{_AM}employed (?:at|by) (?P<v>.+)",
        rf"{_AM}an? (?!(?:[\w-]+ ){{0,3}}(?:student|pupil|member|patient|customer|regular|guest)\b)[\w -]{{3,40}}?"
        rf" (?:at|with) (?P<v>{CAPITAL}.*)",
        level=3,
        ref="org",
    ),
    *_rules("occupation", as_occupation, "is a {v}", rf"{_AM}an? (?P<v>.+)", level=3),
    *_rules(
        "occupation",
        as_job,
        "is a {v}",
        r"(?:work|works|am working|is working) (?:part-time |full-time |freelance )?as an? (?P<v>.+)",
        rf"{_AM}(?:self-employed|employed|freelancing) as an? (?P<v>.+)",
        r"(?:have |has )?(?:just |recently )?started (?:at|with) .{1,30}? as an? (?P<v>.+)",
        level=3,
    ),
    *_rules(
        "studies",
        as_studied,
        "studies {v}",
        rf"(?:study|studies|{_AM}studying|{_AM}doing an? degree in) (?P<v>.+)",
        level=2,
    ),
    *_rules(
        "birthday",
        as_day,
        "has their birthday on {v}",
        r"(?:was|were) born on (?P<v>.+)",
        r"(?:has|have) (?:his|her|their|my) birthday (?P<v>.+)",
        level=2,
    ),
    *_rules(
        "age",
        as_age,
        "is {v} years old",
        rf"(?:{_AM}|(?:just )?turned |has just turned |have just turned )(?P<v>\d.*)",
        level=2,
    ),
    *_rules(
        "allergy",
        as_allergens,
        "is allergic to {v}",
        rf"{_AM}allergic to (?P<v>.+)",
        rf"{_HAVE}(?:an? )?(?:\w+ )?allergy to (?P<v>.+)",
        rf"{_HAVE}an? (?:severe |bad |strong )?(?P<v>\w+) allergy",
        rf"{_AM}(?P<v>\w+)[ -]intolerant",
        level=3,
        many=True,
        type="friction",
    ),
    *_rules(
        "diet",
        as_whole,
        "eats {v}",
        rf"{_AM}(?:an? )?(?:strict )?(?P<v>{_DIET})(?:(?:,| for| since| now| by| these days| and).{{0,40}})?",
        rf"(?:(?:have|has) (?:been|gone|turned|become)|went|turned|became) {ADVERBS}(?:an? )?(?P<v>{_DIET})\b.{{0,40}}",
        rf"(?:eat|eats|{_AM}on an?) (?:strictly )?(?P<v>{_DIET})(?: diet| food)?",
        level=2,
        type="preference",
    ),
    *_rules(
        "avoids",
        as_disliked,
        "avoids {v}",
        rf"(?:do|does|can) ?not (?:eat|drink) (?:any )?(?!{_NO_FOOD}\b)(?P<v>.+)",
        level=2,
        many=True,
        type="preference",
    ),
    *_rules(
        "avoids",
        as_liked,
        "avoids {v}",
        r"(?:never eat|never drink|avoid|avoids) (?P<v>meat|pork|dairy|alcohol|gluten|sugar|beef|fish|caffeine|eggs)",
        level=2,
        many=True,
        type="preference",
    ),
    *_rules(
        "dislikes",
        as_disliked,
        "dislikes {v}",
        r"(?:(?:do|does) not (?:really )?(?:like|enjoy)|can ?not stand|hates?|(?:really )?dislikes?|detests?|despises?"
        rf"|{_AM}not an? (?:big )?fan of) (?P<v>.+)",
        many=True,
        type="preference",
    ),
    *_rules(
        "likes",
        as_liked,
        "likes {v}",
        rf"(?:likes?|loves?|enjoys?|adores?|{_AM}(?:an? )?(?:big |huge )?fan of|{_AM}fond of|{_AM}into) (?P<v>.+)",
        many=True,
        type="preference",
    ),
    *_rules(
        "prefers",
        as_preferred,
        "prefers {v}",
        r"(?:prefers?|would rather have) (?P<v>.+)",
        many=True,
        type="preference",
    ),
    *_rules(
        "language",
        as_languages,
        "speaks {v}",
        r"speaks? (?P<v>.+)",
        rf"{_AM}(?:fluent in|a native speaker of) (?P<v>.+)",
        level=2,
        many=True,
    ),
    *_rules(
        "learning",
        as_learnt,
        "is learning {v}",
        rf"(?:{_AM}(?:learning|teaching myself)|(?:have|has) been learning) (?P<v>.+)",
        many=True,
    ),
    *_rules(
        "health",
        as_condition,
        "has {v}",
        rf"(?:{_HAVE}|suffers? from |live with |lives with )(?P<v>.+)",
        level=2,
        many=True,
    ),
    *_rules(
        "health",
        lambda value: [re.sub(r"^an? ", "", one) for one in as_whole(value, 4)],
        "has {v}",
        r"(?:was|were|have been|has been|got) (?:just |recently )?diagnosed with (?P<v>.+)",
        level=2,
        many=True,
    ),
    *_rules("health", as_whole, "is {v}", rf"{_AM}(?P<v>{one_of('adjectives of health')})", level=2, many=True),
    *_rules(
        "medication",
        as_whole,
        "takes {v}",
        rf"(?:take|takes) (?P<v>{one_of('medicines')})\b.{{0,30}}",
        level=2,
        many=True,
    ),
    *_rules("car", as_car, "drives a {v}", r"drives? an? (?P<v>.+)"),
    *_rules(
        "owns",
        as_owned,
        "has a {v}",
        rf"(?:{_HAVE}|owns?|(?:just )?bought|got myself) (?:me )?(?:an?|my own|two) (?P<v>.+)",
        rf"{_HAVE}(?:an?|two) (?P<v>.+)",
        many=True,
    ),
    *_rules(
        "commute",
        as_whole,
        "commutes by {v}",
        r"commutes? (?:to work )?by (?P<v>\w+)(?: now| these days)?",
        r"(?:takes?|rides?) the (?P<v>train|bus|tram|metro|subway|ferry|bike|underground|tube) to work",
        type="habit",
    ),
)

_HABIT = re.compile(rf"(?:(?P<often>{_USUALLY}) )?(?P<v>(?P<verb>[a-z]+)(?P<rest> .+|))$", re.IGNORECASE)
_FREQUENT = re.compile(rf" (?:{_OFTEN})$", re.IGNORECASE)
_TIMED = re.compile(
    r"(?P<when>on \w+days|every \w+|in the (?:mornings?|evenings?)|at (?:night|weekends))"
    r",? (?:i|we) (?P<v>[a-z]+ .+|[a-z]+)$",
    re.IGNORECASE,
)
_NO_HABIT = frozenset(
    "am is are was were have had has do did get need want think know mean love like hate prefer would will can could"
    " must may might should shall never not see feel seem hear guess hope believe owe live enjoy got speak own use"
    " forget lose".split()
)


_BROKEN_OFF = re.compile(r"\b(?:an?|the|my|our|his|her|their|in|on|at|of|to|for|with|by|from)$", re.IGNORECASE)
_VAGUE = frozenset("it this that them you your just error errors".split())


def _habits(predicate: str) -> Iterator[Found]:
    found = _HABIT.match(predicate)
    if (
        not found
        or found["verb"].lower().endswith("ed")
        or is_denied(predicate)
        or not 3 <= len(predicate.split()) <= 9
    ):
        return
    verb = found["verb"].lower()
    if not _VAGUE.isdisjoint(predicate.lower().split()):
        return
    is_often = found["often"] is not None or _FREQUENT.search(found["rest"]) is not None
    if is_often and (verb not in _NO_HABIT or (verb == "get" and " up " in f"{found['rest']} ")):
        done = CLAUSE_END.split(found["v"])[0]
        if not _BROKEN_OFF.search(done):
            yield _habit(done)


def timed_habits(words: str) -> Iterator[Found]:
    """What the speaker does "on Fridays", where that comes first."""
    found = _TIMED.match(words)
    if found and found["v"].split(" ", 1)[0].lower() not in _NO_HABIT and not is_denied(found["v"]):
        when = f"{found['when'][:1].lower()}{found['when'][1:]}"
        yield _habit(f"{found['v']} {when}")


def _habit(value: str) -> Found:
    value = value.removeprefix("now ")
    return Found("habit", value, f"habit: {value}", fact_type="habit", holds_many=True, confidence=0.7)


_POINTING = re.compile(r"(?:it|this|that|these|those|them|him|her|us|you|me|everything|something)\b", re.IGNORECASE)


def told_of(predicate: str, of: str = "") -> Iterator[Found]:
    """What a predicate ("lives in Oslo") tells of somebody; the first rule of each slot that fits counts."""
    done: set[str] = set()
    predicate = as_read(predicate)
    for rule in _PREDICATES:
        found = rule.pattern.match(predicate) if rule.slot not in done else None
        values = [one for one in rule.clean(found["v"]) if not _POINTING.match(one)] if found else []
        for value in values:
            done.add(rule.slot)
            yield Found(
                rule.slot, value, rule.text.format(v=value), of=of, subject="people" if of else "profile",
                fact_type=rule.type, level=rule.level, holds_many=rule.many,
                refs=((rule.ref, value),) if rule.ref and value[:1].isupper() else (),
            )  # fmt: skip
    if not done and not of:
        yield from _habits(predicate)
