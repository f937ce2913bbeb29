"""The values of facts, as English clauses give them: where one ends, and whether it is one of its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import TypeAlias

from services.shared.core import wordlists
from services.shared.core.statements import kinds

Clean: TypeAlias = Callable[[str], list[str]]

words_of = wordlists.words
ADVERBS = (
    r"(?:(?:really|also|just|still|actually|absolutely|truly|severely|very|recently|only|originally|now|currently|so"
    r"|always|usually|much|definitely|totally|deathly|finally|already|both) )*"
)
_CAPITALS = "".join(char for char in map(chr, (*range(0x590), *range(0x1E00, 0x2000))) if char.isupper())
_CASELESS = "\u05d0-\u06ff\u0900-\u0dff\u0e01-\u0e30\u10d0-\u10ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
CAPITAL = f"(?-i:[{_CAPITALS}])"
_NAME = rf"[{_CAPITALS}{_CASELESS}][^\W\d]"
PERSON_NAME = rf"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_NAME}*(?:[-']{_NAME}+)?(?: {_NAME}+){{0,2}})"
"""A capital begins a name, or any letter of a script that has none."""


def one_of(section: str) -> str:
    """The words of a section of `data/facts.txt` as alternatives of a regular expression, the longest first."""
    words = sorted(wordlists.listed("facts", section), key=len, reverse=True)
    return "(?:" + "|".join(re.escape(word) for word in words) + ")"


CLAUSE_END = re.compile(
    r",? (?:since|because|when|where|which|who|while|but|although|even|except|unless|until|before|after) |, | - "
)
_PLACE_CUT = re.compile(
    r" (?:with|for|near|and|at|on|in|from|together|to|last|this|next|two|three|five|a|by|as|due|these|after|right"
    r"|instead|rather)\b|\d"
)
_TAIL = re.compile(
    r" (?:now|these days|nowadays|at the moment|right now|currently|too|either|as well|though|by the way|btw|actually"
    r"|again"
    r"|originally|already|of course|after all|yesterday|today|(?:last|this) (?:week|month|year)|recently|very much"
    r"|a lot|so much|daily"
    r"|for (?:a|an|one|two|three|four|five|ten|\d+|many|some) (?:years?|months?|weeks?|days?)"
    r"|in (?:spring|summer|autumn|winter|january|february|march|april|june|july|august|september|october|november"
    r"|december))$",
    re.IGNORECASE,
)
ARTICLE = re.compile(r"^(?:a|an|my|our|some|any) ", re.IGNORECASE)
_LIST = re.compile(r",? (?:and|&|as well as|plus) (?:also |even )?|, (?:also )?")
_OTHERWISE = re.compile(r",? (?:but|except|apart from) ")


def trimmed(value: str) -> str:
    value = value.strip(" ,.;:!?-")
    for _ in range(3):
        shorter = _TAIL.sub("", value).strip(" ,")
        if shorter == value:
            return value
        value = shorter
    return value


def as_whole(value: str, most: int = 6) -> list[str]:
    """The value as one, up to where another clause begins."""
    value = trimmed(CLAUSE_END.split(value, maxsplit=1)[0])
    return [value] if value and len(value.split()) <= most and not is_denied(value) else []


def is_denied(value: str) -> bool:
    return bool({"not", "no", "never", "neither", "nor", "nothing", "none"} & set(value.lower().split()))


def as_plain(value: str) -> list[str]:
    """The value without its article."""
    return [ARTICLE.sub("", one, count=1) for one in as_whole(value)]


_SAYS = re.compile(r"\w (?:is|are|was|were|has|have) \w")


def as_several(value: str) -> list[str]:
    """The values of a list, up to the first that is denied, or to a comma behind which something else is said."""
    listed = trimmed(_OTHERWISE.split(value, maxsplit=1)[0])
    first, *others = [trimmed(part) for part in _LIST.split(listed)]
    stated = takewhile(lambda part: not is_denied(part), [first, *takewhile(_goes_on, others)])
    return [part for part in stated if part and len(part.split()) <= 5 and not _SAYS.search(part)][:8]


def _goes_on(part: str) -> bool:
    return part.split(" ", 1)[0].lower() not in words_of("facts", "no more of a list")


_PLACES = frozenset(name for line in wordlists.sections("places")["places"] for name in line.split(", "))
_WHERE = re.compile(
    r"\b(?:\w*stra(?:ss|ß)e|streets?|st|roads?|rd|lanes?|avenue|square|rooms?|buildings?|floors?|halls?|cent(?:re|er)|town"
    r"|city|village|campus|offices?|house|flat|library|station|park|school|kitchen|basement|garden|corner|side|\w*platz"
    r"|\d+\w?|upstairs|downstairs|next door)\b|^the \w+$"
)
_WITHIN = re.compile(rf"¸ {CAPITAL}(?!.* (?:lives|works|has|goes|plays|hates|loves|moved)\b)")
_NO_PLACE = re.compile(rf"\w\.\w|[a-z]{{3}}{CAPITAL}")


def as_place(value: str) -> list[str]:
    """A place: written with a capital, or in a clause without any."""
    value = trimmed(_PLACE_CUT.split(CLAUSE_END.split(value.replace(", ", "¸ "), maxsplit=1)[0], maxsplit=1)[0])
    value = value.rstrip("¸")
    value = value.replace("¸ ", ", ") if _WITHIN.search(value) else value.split("¸", 1)[0]
    first = value.split(" ", 1)[0].lower()
    if (
        not value[:1].isalpha()
        or first in words_of("facts", "elsewhere") | words_of("facts", "tools")
        or len(value.split()) > 4
    ):
        return []
    if kinds(value.lower()) or _NO_PLACE.search(value) or value.rsplit(" ", 1)[-1] in words_of("facts", "no place"):
        return []
    return [value] if re.match(rf"(?:the )?{CAPITAL}", value) or value.islower() else []


_STAY_OVER = re.compile(wordlists.pattern("facts", "stay over"), re.IGNORECASE)
_THEN_TO = re.compile(rf",? (?:and )?(?:then |later )?(?:on |back )?to (?={CAPITAL})")


def as_moved_to(value: str) -> list[str]:
    """Where somebody moved to at last, unless they left again."""
    return [] if _STAY_OVER.search(value) else as_place(_THEN_TO.split(value)[-1])


def is_known_place(value: str) -> bool:
    """Whether this names a country, a region or a larger town, or a part of one, as "East Berlin" does."""
    said = value.lower().removeprefix("the ")
    return any(part in _PLACES for part in (said, *said.split(", "), *said.split()))


def may_be_a_place(value: str) -> bool:
    """Whether this may be a place where something is: one that is known, or what has a street, a room or a number."""
    return is_known_place(value) or _WHERE.search(value.lower()) is not None


def as_birthplace(value: str) -> list[str]:
    if found := re.match(rf"(an? (?:small )?(?:village|town|suburb) (?:near|in|outside) {CAPITAL}\w+)", value):
        return [found[1]]
    return [place for place in as_place(value) if place[0].isupper() or place.startswith("the ")]


_NO_EMPLOYER = re.compile(
    r"(?:home|night|nights|the moment|weekends?|it|this|that|my|a loss|least|all|full|half|\d)\b", re.I
)


_ORGANISATION = re.compile(rf"(?:an?|the) (?:\w+ ){{0,3}}{one_of('organisations')}\b")


def as_employer(value: str) -> list[str]:
    value = re.split(r" (?:as|in|on|since|for|and|with|(?:this|last|next) \w+\b,?) |, ", f"{value} ", maxsplit=1)[0]
    if _NO_EMPLOYER.match(value) or not (value[:1].isupper() or _ORGANISATION.match(value)):
        return []
    return as_whole(value, 5)


def as_occupation(value: str) -> list[str]:
    value = trimmed(re.split(r" (?:at|with|for|in|by|from|who|and|on|of|but|near) |, ", f"{value} ", maxsplit=1)[0])
    last = value.rsplit(" ", 1)[-1].lower()
    return [value] if last in words_of("facts", "occupations") and len(value.split()) <= 4 else []


def as_job(value: str) -> list[str]:
    value = re.split(r" (?:at|with|for|in|by|from|who|and|on|of) |, ", f"{value} ", maxsplit=1)[0].strip()
    return as_whole(value, 4)


def as_liked(value: str) -> list[str]:
    parts = as_several(re.sub(r",? (?:sadly|please|but|because) .*$", "", value))
    return [part for part in parts if not _is_for_now(part)] if parts and not _is_for_now(parts[0]) else []


def _is_for_now(part: str) -> bool:
    words = part.split()
    first = words[0].lower()
    if first == "the":
        return not (len(words) > 1 and words[1][0].isupper())
    return first in words_of("facts", "not liked") or bool(
        {"your", "you", "please", "this", "that"} & {*map(str.lower, words)}
    )


_NO_OBJECT = re.compile(
    r"(?:more than|to|for|up|without|in|on|at|with|by|here|there|either|much|anything|when|well)\b", re.I
)


_NO_LONGER = re.compile(r"^(?:any )?more (?!than\b)(?=\w)", re.I)
"""As not all say it: "I don't drink more wine"."""


def as_disliked(value: str) -> list[str]:
    value = _NO_LONGER.sub("", value)
    return [] if _NO_OBJECT.match(value) else as_liked(value)


def as_preferred(value: str) -> list[str]:
    return [
        one
        for one in as_liked(re.split(r" (?:over|to|rather than|instead of|than) ", value, maxsplit=1)[0])
        if not re.match(r"(?:option|to be)\b", one)
    ]


def as_day(value: str) -> list[str]:
    value = trimmed(re.sub(r"^(?:on|in) (?:the )?", "", value))
    known = kinds(value.lower())
    return [value] if len(value.split()) <= 4 and "day" in known and re.search(r"\d", value) else []


_AGE = re.compile(
    r"(\d{1,3})(?: (?:years?|yrs?)(?: old| of age)?| yo)?"
    r"(?: now| (?:this|last) \w+| today| yesterday| recently|(?P<when> (?:on|in) .+))?$"
)


def as_age(value: str) -> list[str]:
    found = _AGE.match(value)
    if not found or (found["when"] and "day" not in kinds(found["when"].lower())):
        return []  # 14 in line
    return [found[1]] if 0 < int(found[1]) < 120 else []


_NO_ALLERGEN = re.compile(
    r"^(?:nonsense|(?:no|every|any)thing|bullshit|early|your|this|the word|ha)\b"
    r"|\b(?:work|mondays?|mornings?|people|says?|small talk|bureaucracy|meetings?|jargon|paperwork|deadlines?|drama"
    r"|emails?|spreadsheets?)$",
    re.IGNORECASE,
)


def as_allergens(value: str) -> list[str]:
    return [one for one in (part.removeprefix("to ") for part in as_several(value)) if not _NO_ALLERGEN.search(one)]


def as_condition(value: str) -> list[str]:
    values = as_plain(re.sub(r" (?:for|since) .*$", "", value))
    if not values or len(values[0].split()) > 3 or not _LINKING.isdisjoint(values[0].split()):
        return []
    return values if values[0].rsplit(" ", 1)[-1].lower() in _CONDITIONS or _is_named_illness(values[0]) else []


_LINKING = frozenset("and about with of in to for been the".split())
_CONDITIONS = words_of("facts", "conditions")


def _is_named_illness(value: str) -> bool:
    return (
        re.fullmatch(r"type [12] diabetes|high blood pressure|low blood pressure|a heart condition", value) is not None
    )


def as_owned(value: str) -> list[str]:
    values = as_plain(value)
    words = values[0].split() if values else []
    if not 0 < len(words) <= 4 or not _LINKING.isdisjoint(words):
        return []
    branded = any(word.lower() in words_of("facts", "brands") and word != word.lower() for word in words)
    of_a_brand = branded and (not words[-1].isalpha() or words[-1][0].isupper())
    return values if words[-1].lower() in words_of("facts", "owned") or of_a_brand else []


def as_car(value: str) -> list[str]:
    values = as_plain(re.split(r" (?:to|for|and|with|in|on|from) ", value, maxsplit=1)[0])
    return [one for one in values if any(word[0].isupper() for word in one.split())]


def as_languages(value: str) -> list[str]:
    parts = as_several(re.sub(r"(?:fluent|native|some|a little|a bit of|basic|good) ", "", value))
    return [part for part in parts if re.fullmatch(rf"{CAPITAL}[^\W\d]+(?: {CAPITAL}[^\W\d]+)?", part)]


def as_learnt(value: str) -> list[str]:
    value = re.sub(r"^(?:how )?to play ", "", value)
    return [one for one in as_whole(value, 3) if one[0].isupper() or one.startswith("the ")]


def as_name(value: str) -> list[str]:
    value = trimmed(re.split(r",| and | but | from ", value, maxsplit=1)[0])
    return [value] if re.fullmatch(PERSON_NAME, value) and is_name(value) else []


def as_said_name(value: str) -> list[str]:
    value = trimmed(re.split(r",| and | but | from ", value, maxsplit=1)[0])
    if not 0 < len(value.split()) <= 3 or re.search(r"\d", value) or not is_name(value):
        return []
    is_lower = value.islower() and len(value.split()) <= 2 and not value.endswith(("ed", "ing", "wrong"))
    return [value] if (value[0].isalpha() and not value[0].islower()) or is_lower else []


def is_name(words: str) -> bool:
    """Whether words with a capital may be the name of a person."""
    return words.split(" ", 1)[0].lower().rstrip(".") not in words_of("facts", "no name") | words_of("facts", "tools")


def as_studied(value: str) -> list[str]:
    value = re.split(r" (?:at|in|with|for|part|right|on) ", f"{value} ", maxsplit=1)[0].strip()
    return [value] if len(value.split()) <= 3 and value.split(" ", 1)[0] not in ("the", "this", "these", "it") else []
