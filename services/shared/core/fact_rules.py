"""What an English clause tells, whoever it is about: its speaker, people of theirs, their things, projects, dates."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import takewhile

from services.shared.core import wordlists
from services.shared.core.fact_predicates import Found, timed_habits, told_of
from services.shared.core.fact_values import (
    ADVERBS,
    ARTICLE,
    CAPITAL,
    PERSON_NAME,
    Clean,
    as_car,
    as_day,
    as_employer,
    as_languages,
    as_name,
    as_occupation,
    as_owned,
    as_place,
    as_said_name,
    as_several,
    as_whole,
    is_denied,
    is_name,
    one_of,
    trimmed,
    words_of,
)
from services.shared.core.names import plain_name
from services.shared.core.statements import kinds

_KIN, _PARTNER, _ACQUAINTED = one_of("family"), one_of("partner"), one_of("acquainted")
_ANYBODY = f"{_KIN}|{_PARTNER}|{_ACQUAINTED}"
_PET, _PLURALS = one_of("pets"), one_of("plural people")
_ADJECTIVE = (
    r"(?:best |older |elder |younger |little |big |oldest |youngest |good |close |old |dear |twin |new |only |half-)?"
)
_BEFORE_KIN = rf"\b(?:my|our) {_ADJECTIVE}"
_HAVE = rf"(?:(?:have|has)(?: got)?|got) {ADVERBS}"

_PERSON = re.compile(rf"{_BEFORE_KIN}(?P<kin>{_ANYBODY})(?P<comma>,)? (?P<name>{PERSON_NAME})", re.IGNORECASE)
_PEOPLE = re.compile(
    rf"{_BEFORE_KIN}(?P<kin>{_PLURALS}) (?P<name>{PERSON_NAME}) and (?P<other>{PERSON_NAME})", re.IGNORECASE
)
_OF_A_NAME = re.compile(
    rf"(?:^|[,;] |\b(?:and|but|so|that) )(?P<name>{PERSON_NAME}) (?:is|was)(?: now| still)? $", re.IGNORECASE
)
_POINTING = frozenset("this that here there it he she".split())
_NEXT_NAMED = re.compile(r" (?:and|or|&) (?:i\b|(?-i:[^\W\da-z]))", re.IGNORECASE)
_SAYS_MORE = re.compile(r"'s\b| (?!(?:and|or|who|but|in|at|on|from|with|because|since|for|to)\b)[a-z]")
_KIN_IS = re.compile(
    rf"{_BEFORE_KIN}(?P<kin>{_ANYBODY})(?: at work)?"
    r"(?:'s name is| is named| is called|(?: is|'s)(?: still| now| actually| currently)?|'s name's) "
    rf"(?:spelled |spelt |called )?(?P<name>{PERSON_NAME})(?:$|, (?=(?:his|her|their) ))",
    re.IGNORECASE,
)
_IS_KIN = re.compile(
    rf"(?P<name>{PERSON_NAME})(?: is|'s)(?: now| still)? (?:my|our) {_ADJECTIVE}(?P<kin>{_ANYBODY}|{_PET})"
    rf"(?: now| again)?(?:$|, (?={PERSON_NAME} (?:is|was|has|lives|works)\b))",
    re.IGNORECASE,
)
_HAVE_KIN = re.compile(
    rf"(?:i|we) {_HAVE}an? {_ADJECTIVE}(?P<kin>{_ANYBODY})(?: named| called|,) "
    rf"(?P<name>{PERSON_NAME})"
    rf"(?:,? and an? (?P<kin2>{_KIN})(?: named| called|,) (?P<other>{PERSON_NAME}))?",
    re.IGNORECASE,
)
_MARRIED = re.compile(
    rf"(?:i|we) (?:(?:am|have been|got) (?:married|engaged) to|(?:am|have been) dating|married) "
    rf"(?P<name>{PERSON_NAME})",
    re.IGNORECASE,
)
_MARRIED_TOGETHER = re.compile(
    rf"(?P<name>{PERSON_NAME}) and (?:i|me) (?:(?:have|finally|just|recently) )*(?:got|are|are now) married"
    r"(?:$|[,!]| (?:now|on (?!the same)|last|yesterday|today|this|in)\b)",
    re.IGNORECASE,
)
_PETS = re.compile(
    rf"(?:(?:i|we) (?:(?:have|have got|got|adopted|'ve got) an? |(?:have|'ve) adopted an? )(?:\w+ )?(?P<kind>{_PET})"
    rf"(?:(?: named| called|,|:) (?P<name>{PERSON_NAME}))?$)",
    re.IGNORECASE,
)
_MY_PET = re.compile(
    rf"{_BEFORE_KIN}(?P<kind>{_PET})(?:'s name is| is called| is named|'s called)? (?P<name>{PERSON_NAME})",
    re.IGNORECASE,
)
_PARTNERS = words_of("facts", "partner")
_PETS_KNOWN = words_of("facts", "pets")
_SINGULAR = {"children": "child", "kids": "child"}


def people_in(words: str) -> Iterator[tuple[str, str]]:
    """The people whom a clause names as the speaker's own, each with what they are to them."""
    for found in _PEOPLE.finditer(words):
        kin = found["kin"].lower()
        for name in (found["name"], found["other"]):
            yield name, _SINGULAR.get(kin, kin.removesuffix("s"))
    for pattern in (_PERSON, _HAVE_KIN):
        for found in pattern.finditer(words):
            if pattern is _PERSON and found["comma"] and _is_another(words, found):
                continue
            yield found["name"], _kin(found)
            if pattern is _HAVE_KIN and found["other"]:
                yield found["other"], found["kin2"].lower()
    for pattern in (_KIN_IS, _IS_KIN):
        if named := pattern.match(trimmed(words)):
            yield named["name"], _kin(named)
    if married := _MARRIED.match(words) or _MARRIED_TOGETHER.match(words):
        yield married["name"], "partner"


def _is_another(words: str, found: re.Match[str]) -> bool:
    """Whether a name behind a comma is not that of the relative before it: "Anna is my wife, Ben is her brother"."""
    before, after = words[: found.start()], words[found.end() :]
    says_more = bool(before.strip()) and _SAYS_MORE.match(after)
    if (of := _OF_A_NAME.search(before)) and of["name"].lower() not in _POINTING:
        return True
    return bool(_NEXT_NAMED.match(after) or says_more)


def _kin(found: re.Match[str]) -> str:
    kin = found["kin"].lower()
    return "best friend" if kin == "friend" and "best friend" in found[0].lower() else kin


def _relations(words: str) -> Iterator[Found]:
    for name, kin in people_in(words):
        if not is_name(name) or kin in _PETS_KNOWN or re.search(rf"\bold {re.escape(kin)}\b(?<!friend)", words.lower()):
            continue
        if kin in _PARTNERS:
            yield Found("partner", name, f"{name} is their {kin}", fact_type="relationship", level=2,
                        refs=(("person", name),))  # fmt: skip
        else:
            yield Found("relationship", kin, f"is their {kin}", of=name, subject="people",
                        fact_type="relationship", level=2)  # fmt: skip


def _pets(words: str) -> Iterator[Found]:
    for pattern in (_PETS, _MY_PET):
        if found := pattern.match(words):
            yield _pet(found["kind"].lower(), found["name"])
    if (owned := _IS_KIN.match(words)) and owned["kin"].lower() in _PETS_KNOWN:
        yield _pet(owned["kin"].lower(), owned["name"])


def _pet(kind: str, name: str | None) -> Found:
    value = f"{name} ({kind})" if name else kind
    text = f"has a {kind} named {name}" if name else f"has a {kind}"
    return Found("pet", value, text, fact_type="relationship", level=2, holds_many=True)


_PERSON_SAYS = re.compile(
    rf"{_BEFORE_KIN}(?:{_ANYBODY})(?:,)? (?P<name>{PERSON_NAME}),? (?P<predicate>.+)$",
    re.IGNORECASE,
)
_KIN_SAYS = re.compile(
    rf"(?:my|our) {_ADJECTIVE}(?P<kin>{_KIN}|{_PARTNER})(?P<is>'s)? (?P<predicate>.+)$", re.IGNORECASE
)
_BIRTHDAY_OF = re.compile(
    rf"{_BEFORE_KIN}(?P<kin>{_ANYBODY})(?:,)?(?: (?P<name>{PERSON_NAME}))?'s birthday is (?P<v>.+)$",
    re.IGNORECASE,
)
_NAMED_SAYS = re.compile(rf"(?P<name>{PERSON_NAME}) (?P<predicate>.+)$")
_HE = re.compile(r"(?:he|she) (?P<predicate>.+)$", re.IGNORECASE)


def _of_others(words: str, last_person: str | None, known: Container[str]) -> Iterator[Found]:
    if found := _BIRTHDAY_OF.match(words):
        for day in as_day(found["v"]):
            yield Found("birthday", day, f"has their birthday on {day}", of=found["name"] or found["kin"].lower(),
                        subject="people", level=2)  # fmt: skip
    elif found := _PERSON_SAYS.match(words):
        if is_name(found["name"]):
            yield from told_of(found["predicate"], found["name"])
    elif (found := _NAMED_SAYS.match(words)) and plain_name(found["name"]) in known:
        yield from told_of(found["predicate"], found["name"])
    elif (found := _HE.match(words)) and last_person:
        yield from told_of(found["predicate"], last_person)
    elif (found := _KIN_SAYS.match(words)) and not found["predicate"].startswith(("and ", "who ")):
        predicate = f"is {found['predicate']}" if found["is"] else found["predicate"]
        if not found["is"] or re.match(r"is an? ", predicate):
            yield from told_of(predicate, found["kin"].lower())


_MY = re.compile(
    r"(?:my|our) (?:(?:new|current) )?(?P<what>[\w' -]{2,40}?)(?: is|'s| are|:)(?: now)? (?P<v>.+)$", re.IGNORECASE
)
_ATTRIBUTE = re.compile(wordlists.pattern("facts", "attributes"), re.IGNORECASE)
_NUMBERS = frozenset({"number", "mobile", "mobile number", "cell number", "cell phone number"})
_DIALLED = re.compile(r"\+?[\d(][\d /()-]{4,20}\d")
_A_NEW_NUMBER = re.compile(
    r"(?:(?:i|we) (?:have|have got|got|have gotten) )?(?:a |my )?new (?P<what>(?:phone |mobile |cell )?number)"
    r"(?:,|:| is) (?P<v>.+)$",
    re.IGNORECASE,
)
_A_FAVOURITE = r"(?:(?:all-time|absolute|new|current) ){0,2}favou?rite (?P<what>\w+(?: \w+)??)"
_FAVOURITE = re.compile(rf"{_A_FAVOURITE}$", re.IGNORECASE)
_IS_FAVOURITE = re.compile(
    rf"(?P<v>[^,]{{2,60}}) is my {_A_FAVOURITE}(?: (?:now|nowadays|these days|at the moment))?$", re.IGNORECASE
)
_NAME = re.compile(
    r"(?:(?:my|the)(?: full| first| real)? name is (?P<v>.+)"
    r"|(?:my friends|everybody|everyone|people|they) calls? me (?P<c>.+)"
    rf"|(?:please |you can |you may |just )*call me (?P<d>{PERSON_NAME})(?:$|,.*)|(?P<e>{PERSON_NAME}) is my name)$",
    re.IGNORECASE,
)
_I_AM = re.compile(rf"i am (?P<v>{PERSON_NAME})(?:$|,| and )", re.IGNORECASE)


def _names(words: str) -> Iterator[Found]:
    found = _NAME.match(words)
    values = as_said_name(next(part for part in found.groups() if part)) if found else []
    if not values and (called := _I_AM.match(words)):
        values = as_name(called["v"])
    for value in values:
        yield Found("name", value, f"is called {value}", level=3, refs=(("person", value),))


def _mine(words: str) -> Iterator[Found]:
    if found := _IS_FAVOURITE.match(words):
        yield from _favourite(found["what"], found["v"])
    found = _MY.match(words) or _A_NEW_NUMBER.match(words)
    if not found or is_denied(found["v"]):
        return
    what = found["what"].lower()
    if what in _NUMBERS and _DIALLED.fullmatch(found["v"]):
        what = "phone number"
    if favourite := _FAVOURITE.match(what):
        yield from _favourite(favourite["what"], found["v"])
    elif _ATTRIBUTE.fullmatch(what):
        yield from _attribute(what, found["v"])
    elif what in _OF_MINE:
        slot, clean, text, many, level = _OF_MINE[what]
        for value in clean(found["v"]):
            yield Found(slot, value, text.format(v=value), level=level, holds_many=many)


_OF_MINE: dict[str, tuple[str, Clean, str, bool, int]] = {
    "birthday": ("birthday", as_day, "has their birthday on {v}", False, 2),
    "date of birth": ("birthday", as_day, "has their birthday on {v}", False, 2),
    "employer": ("employer", as_employer, "works for {v}", False, 3),
    "home": ("home", lambda value: as_place(re.sub("^in ", "", value)), "lives in {v}", False, 2),
    "car": ("car", as_car, "drives a {v}", False, 1),
    "phone": ("owns", as_owned, "has a {v}", True, 1),
    "laptop": ("owns", as_owned, "has a {v}", True, 1),
    "native language": ("language", as_languages, "speaks {v}", True, 2),
    "mother tongue": ("language", as_languages, "speaks {v}", True, 2),
    "first language": ("language", as_languages, "speaks {v}", True, 2),
    "languages": ("language", as_languages, "speaks {v}", True, 2),
    "job": ("occupation", lambda value: as_occupation(ARTICLE.sub("", value, count=1)), "is a {v}", False, 3),
}  # fmt: skip


_LEFT_OPEN = re.compile(r"(?:what|who|which)ever\b|anything\b", re.IGNORECASE)


def _favourite(what: str, value: str) -> Iterator[Found]:
    what = what.lower()
    for one in as_whole(value) if not _LEFT_OPEN.match(value) else ():
        text = f"has {one} as their favourite {what}"
        yield Found(f"favourite_{what.replace(' ', '_')}", one, text, fact_type="preference", level=1)


def _attribute(what: str, value: str) -> Iterator[Found]:
    for one in as_whole(value, 5):
        if not re.search(r"[\dA-Z@/]", one):
            continue
        yield Found(re.sub(r"\W", "_", what), one, f"has the {what} {one}", level=2, confidence=0.9)


_PROJECT_NOUNS = one_of("projects")
_ANY = re.IGNORECASE
_WORKING = (
    re.compile(r"(?:i|we) (?:am|are) (?:currently )?(?:working on|building|writing|developing) (?:an? |the |our |my )?"
               rf"(?:\w+ )?project (?:called|named) (?P<p>{CAPITAL}\w*)", _ANY),
    re.compile(rf"my (?:current |new |side )?project is (?:called|named) (?P<p>{CAPITAL}\w*)", _ANY),
    re.compile(r"(?:i|we) (?:am|are) (?:working on|building|writing|developing) (?:an? |the |our |my )"
               rf"(?P<p>(?:\w+ )?{_PROJECT_NOUNS})$", _ANY),
)  # fmt: skip
_NO_NAME = "(?:the|an?|my|our|his|her|their|this|that|each|every|another|whole|new|old|current|first)"
_PROJECT = (
    rf"(?:(?:the )?(?P<p>(?!{_NO_NAME}\b){CAPITAL}\w*) project|project (?P<q>{CAPITAL}\w*)"
    rf"|(?:my|our|the) (?P<r>(?:\w+ )?{_PROJECT_NOUNS}))"
)
_STACK = re.compile(
    rf"{_PROJECT} (?:uses|is (?:written|built|implemented|made|running) (?:in|with|on)|runs on) (?P<v>.+)$", _ANY
)
_DUE = re.compile(
    rf"{_PROJECT} (?:is due|has to be finished|must be finished|launches"
    r"|goes live|ships|will launch|is launching) (?:on|by) (?P<v>.+)$",
    _ANY,
)
_LAUNCH = re.compile(rf"(?:i|we) (?:launch|ship|release|are launching) {_PROJECT} on (?P<v>.+)$", _ANY)
_DEADLINE = re.compile(r"the deadline (?:for|of) (?:the |my |our )?(?P<p>[\w -]{2,30}?) is (?:on )?(?P<v>.+)$", _ANY)
_STATUS = re.compile(
    rf"{_PROJECT} is (?:now |currently )?(?P<v>(?:in|on) "
    r"(?:beta|alpha|hold|production|review|testing|progress)|live|finished|paused)$",
    _ANY,
)


_UPGRADED = r"(?:(?:has|have|just|now|recently|finally|already) ){0,3}(?:upgraded|downgraded|migrated)"
_VERSION = (
    rf"(?:from [\w.]+(?: [\w.]+)? )?to (?P<v>{CAPITAL}[\w+#-]* v?\d[\w.]*)"
    r"(?: from .+| now| today| yesterday| last \w+)?$"
)
_UPGRADABLE = words_of("facts", "tools") - words_of("facts", "devices")
_PROJECT_UPGRADED = (
    re.compile(rf"{_PROJECT} {_UPGRADED} {_VERSION}", _ANY),
    re.compile(rf"(?:i|we|they) {_UPGRADED} {_PROJECT} {_VERSION}", _ANY),
    re.compile(rf"(?P<p>{CAPITAL}\w+) {_UPGRADED} {_VERSION}", _ANY),
    re.compile(rf"(?:i|we|they) {_UPGRADED} (?P<p>{CAPITAL}\w+) {_VERSION}", _ANY),
)


def _upgrades(words: str, known: Container[str]) -> Iterator[Found]:
    """Which version of something a project uses from now on; a bare name is a project's if it is nobody's."""
    for pattern in _PROJECT_UPGRADED:
        if found := pattern.match(words):
            name = next(found[group] for group in "pqr" if found.groupdict().get(group))
            value = found["v"].rstrip(".")
            if plain_name(name) not in known and is_name(name) and value.split(" ", 1)[0].lower() in _UPGRADABLE:
                yield _of_project(name, "stack", value, f"uses {value}")
            return


def _projects(words: str) -> Iterator[Found]:
    for pattern in _WORKING:
        if found := pattern.match(words):
            name = found["p"]
            yield _of_project(name, "working_on", name, "is being worked on")
            return
    for pattern, slot, clean, text in _PROJECT_RULES:
        if found := pattern.match(words):
            name = next(found[group] for group in "pqr" if found.groupdict().get(group))
            for value in clean(found["v"]):
                yield _of_project(name, slot, value, text.format(v=value))


_TIME = re.compile(r"(?:(?:to|until|for) )?(?:(?:on|at|by|in(?= [a-z]+$)) )?", _ANY)


_FIXED = re.compile(r",? (?:final(?:ly)?|for good|instead|sharp|latest|at the latest|confirmed|fixed)[.!]*$", _ANY)


_WHERE_AT = re.compile(rf" (?:(?:at|with) (?=(?:the|my|our) (?!latest)|{CAPITAL})|in (?=(?:room|the|my|our) ))")


def _tells_time(part: str) -> bool:
    return not kinds(part.lower()).keys().isdisjoint(("day", "clock"))


def _time(value: str) -> list[str]:
    value = _WHERE_AT.split(value, maxsplit=1)[0]
    value = trimmed(_FIXED.sub("", re.split(r" to (?!the\b)", value)[-1]))
    value = _TIME.sub("", ", ".join(takewhile(_tells_time, value.split(", "))), count=1)
    known = kinds(value.lower())
    return [value] if len(value.split()) <= 5 and known.keys() & {"day", "clock"} and not is_denied(value) else []


_PROJECT_RULES: tuple[tuple[re.Pattern[str], str, Clean, str], ...] = (
    (_STACK, "stack", lambda value: [v for v in as_several(value) if v[0].isupper()], "uses {v}"),
    (_DUE, "deadline", _time, "is due on {v}"),
    (_LAUNCH, "deadline", _time, "is due on {v}"),
    (_DEADLINE, "deadline", _time, "is due on {v}"),
    (_STATUS, "status", as_whole, "is {v}"),
)


def _of_project(name: str, slot: str, value: str, text: str) -> Found:
    return Found(slot, value, text, of=name, subject="project", level=2, holds_many=slot == "stack")


_EVENT = one_of("events")
_WHEN = (
    r"(?:is|are|leaves|starts|begins|takes place|happens|has moved|has been moved|was moved|got moved|moved"
    r"|was rescheduled"
    r"|has been rescheduled|is scheduled for|is planned for|is set for)"
)
_EVENT_AT = re.compile(
    r"(?!(?:my |our |the )?new (?:date|day|time|slot)\b)"
    rf"(?:my |our |the )?(?:new )?(?P<e>[\w' -]{{0,30}}?\b{_EVENT}(?: (?:to|with|at) \w+)?) {_WHEN}"
    r" (?:now )?(?P<v>.+)$",
    _ANY,
)
_HAVE_EVENT = re.compile(
    rf"(?:i|we) (?:have|have got|'ve got) (?:an? |my |our )?"
    rf"(?P<e>[\w' -]{{0,30}}?\b{_EVENT}(?: (?:with|at) {CAPITAL}\w+)?) "
    r"(?P<v>(?:on|at|tomorrow) ?.+)$",
    _ANY,
)
_OF_ANYTHING = frozenset({"date", "deadline"})
_CALLED_APPOINTMENT = re.compile(r" appointment$", _ANY)


def _appointments(words: str) -> Iterator[Found]:
    found = _EVENT_AT.match(words) or _HAVE_EVENT.match(words)
    if found:
        yield from _planned(found["e"], found["v"])


def _planned(event: str, when: str) -> Iterator[Found]:
    event = _CALLED_APPOINTMENT.sub("", event.strip())
    if event.lower() in _OF_ANYTHING:
        return
    for value in _time(when):
        yield Found("time", value, f"is planned for {value}", of=event, subject="profile", level=1)


_MOVED = (
    r"(?:moved|changed|rescheduled|postponed|shifted|delayed|rebooked|(?:put|pushed|brought) (?:back|off|forward|out))"
)
_AGAIN = r"(?:,? (?:again|once (?:more|again)|yet again|for (?:a|the) (?:second|third) time|today|yesterday))*$"
_NAMED_EVENT = rf"(?:my |our |the )?(?P<e>[\w' -]{{0,30}}?\b{_EVENT})"
_EVENT_MOVED = (
    re.compile(rf"{_NAMED_EVENT} (?:(?:has|have|is|was|got|been|just) ){{1,3}}{_MOVED}{_AGAIN}", _ANY),
    re.compile(rf"[\w' -]{{1,30}}? {_MOVED} {_NAMED_EVENT}{_AGAIN}", _ANY),
)
_NEW_TIME = re.compile(
    r"(?:now )?(?:it|the new (?:date|day|time|slot))"
    r" (?:(?:is|will be|takes place|starts|leaves|now|on|at) )+(?P<v>.+)$",
    _ANY,
)


def event_moved_in(words: str) -> str | None:
    """The event that a clause says was moved, without saying when it is now."""
    return next((found["e"] for pattern in _EVENT_MOVED if (found := pattern.match(words))), None)


def new_time_in(words: str, event: str) -> Iterator[Found]:
    """When an event is that was just said to have moved, where a clause says "it is now on …"."""
    if found := _NEW_TIME.match(words):
        yield from _planned(event, found["v"])


_I = re.compile(r"(?:i|we) (?P<predicate>.+)$", _ANY)


@lru_cache(maxsize=4)
def _said_by_speaker(words: str) -> tuple[Found, ...]:
    found = _I.match(words)
    return tuple(told_of(found["predicate"])) if found else ()


def found_in(words: str, last_person: str | None, known: Container[str] = ()) -> Iterator[Found]:
    """What one clause tells; `last_person` is the one whom "he" or "she" means.

    `known`: the names, in plain letters, by which the speaker calls somebody of theirs without saying who that is.
    """
    yield from _names(words)
    yield from _relations(words)
    yield from _pets(words)
    yield from _of_others(words, last_person, known)
    yield from _mine(words)
    yield from _projects(words)
    yield from _upgrades(words, known)
    appointments = tuple(_appointments(words))
    yield from appointments
    if not appointments:
        yield from _said_by_speaker(words)
    yield from timed_habits(words)
