"""Which facts a statement ends without giving another value: "I quit my job at Siemens", "Muffin died".

A value is only compared with those that are known. So "the battery died" ends nothing unless that is somebody's pet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from services.shared.core import wordlists
from services.shared.core.fact_times import may_be_held_again
from services.shared.core.fact_values import one_of
from services.shared.core.facts import ME, Fact, denied_in
from services.shared.core.names import plain_name
from services.shared.core.statements import LONG_AGO, RECENTLY, clauses, terms
from services.shared.core.traits import ByText

_section = partial(wordlists.pattern, "changes")
_AUX = f"{_section('auxiliaries')}{{0,4}}"
_NAME = r"[^\W\d][\w-]*(?: [^\W\d][\w-]*)?"
_SHORT_NAME = f"{_NAME}?"
_KIND = rf"(?:(?:my|our) (?:old |dear |poor |beloved )?(?:{one_of('pets')} )?)?"
_PARTNER = rf"(?:my |our )?(?:(?:{one_of('partner')}) )?"
_JOB = r"(?:my|our|the) (?:old |current )?(?:job|position)"
_SEPARATED = (
    r"(?:(?:got |getting )?divorced|(?:getting|got|filed for) (?:a )?divorce|broke up|broken up|split up|separated"
    r"|(?:not|no longer) together(?: any ?more)?|called it quits|called off (?:our|the) engagement)"
)
_PARTED = "dumped|divorced|broke up with|broken up with"
_LET_GO = "(?:fired|laid off|sacked|let go|made redundant)"
_DISPOSED_OF = r"(?:sold|scrapped|got rid of|gave (?:up|away)|given (?:up|away)|traded in|wrote off|totall?ed)"
_NO_MEDICINE = r"(?!(?:bus|train|tram|plane|phone|clock|hook|grid|wagon|record|work|sick|to|for|on)\b)"
_GIVEN_UP = "(?:quit|stopped|gave up|given up)(?: the| my)?"
_DIED = r"(?:died|passed away|passed on|is dead|is no longer (?:alive|with us)|was euthani[sz]ed)"
_CURED = "(?:gone|went away|gone away|disappeared|cleared up|cured)"
TAIL = (
    r"(?: (?:yesterday|today|this (?:morning|afternoon|evening|week|month|year)|now|recently|already|for good|suddenly"
    r"|though"
    r"|(?:on |last )?(?:\w{3,6}day|mon|tues?|weds?|thurs?|fri|sat|sun)|last (?:week|month|year|night|nite)"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|(?:in|since)(?: the| last)? (?:spring|summer|autumn|winter)|since (?:last )?\w{3,6}day"
    r"|in (?:his|her|its) sleep|peacefully|of old age))*(?:,.*)?$"
)
_DEATH = re.compile(
    rf"(?:(?:my|our) (?:dear |poor |beloved )?(?P<kin>{one_of('family')}|{one_of('partner')})(?: (?P<name>{_NAME}))??"
    rf"|(?:{one_of('family')} )?(?P<alone>{_NAME})) {_AUX}{_DIED}{TAIL}"
)
_OF_THE_LIVING = frozenset(
    "home employer occupation age studies diet commute partner car allergy health learning habit".split()
)
_EATEN_AGAIN = re.compile(
    r"(?:i|we) (?:(?:have|am|are|just|now|recently|finally) ){0,3}"
    r"(?:(?:eat|eating) (?=.* again\b)|(?:started|began) (?:eating|to eat) "
    r"|(?:(?:went|gone|going) )?back (?:to|on)(?: eating)? )"
    rf"(?P<food>{wordlists.pattern('facts', 'foods given up')})(?: again)?{TAIL}"
)
_DIETS_WITHOUT = wordlists.pairs("facts", "diets without")
_SCHOOL = r"(?:(?:my|the|grad|high|law|medical|art) )?(?:uni|university|college|school|studies|degree|course|phd)"
_SHARE_A_HOME = ("flatmate", "roommate", "housemate")
_MOVED_OUT = re.compile(rf"(?:my (?:{'|'.join(_SHARE_A_HOME)}) )?(?P<name>{_NAME}) {_AUX}moved out{TAIL}")
_BORN = re.compile(
    rf"(?:(?:our|my) (?:baby|son|daughter|twins|little (?:one|boy|girl))(?: {_NAME})? (?:was|were|is|are) (?:born|here)"
    rf"|(?:our|my|the) (?:baby|twins|little (?:one|boy|girl)) {_AUX}(?:(?:born|here|arrived)|came(?: early)?)"
    rf"|(?:i|we) {_AUX}(?:lost (?:the|our|my) (?:baby|pregnancy)|had a miscarriage|miscarried|gave birth"
    r"|(?:had|delivered) (?:(?:the|our|my) (?:baby|twins)|a (?:healthy |little |baby )?(?:baby|boy|girl)|twins)))"
    rf"{TAIL}"
)
_AT_WORK = tuple("boss manager supervisor colleague coworker co-worker teammate assistant intern".split())
_LEFT_WORK = re.compile(
    rf"(?:my (?:old |dear )?(?:{'|'.join(_AT_WORK)}) )?(?P<name>{_SHORT_NAME}) {_AUX}"
    r"(?:retired|resigned|quit|left (?:the (?:company|firm|team|department|office)|us|for good)"
    rf"|{_LET_GO}){TAIL}"
)
_CANCELLED = "(?:(?<=had to )cancel|cancelled|canceled|called off|scrapped)"
_PLANNED = rf"(?P<what>(?:[\w-]+ ){{0,3}}?{one_of('events')}(?: (?:to|with|at) \w+)?)"
_CANCELLATIONS = (
    re.compile(rf"(?:my|our) {_PLANNED} {_AUX}{_CANCELLED}{TAIL}"),
    re.compile(rf"(?:i|we) {_AUX}{_CANCELLED} (?:my|our|the) (?P<what>[\w-]+(?: [\w-]+){{0,3}}?){TAIL}"),
    re.compile(rf"(?:(?:the|my|our) )?(?P<by>[\w-]+(?: [\w-]+)?) {_AUX}{_CANCELLED} (?:my|our) {_PLANNED}{TAIL}"),
)
_NOW_OVER = r"(?: (?:now|already|at last|finally|thank (?:god|goodness|heavens?)|luckily))*(?:[,!].*)?$"
_HELD = (
    re.compile(
        rf"(?:(?:my|our|the) )?{_PLANNED} (?:is|are|was|has been) (?:(?:now|finally|all|already|just) )?"
        rf"(?:over(?: and done with)?|behind (?:me|us)){_NOW_OVER}"
    ),
    re.compile(
        r"(?:my|our|the) (?P<what>(?:[\w-]+ ){0,3}?(?:exam|test|viva|interview|surgery|operation|appointment|checkup"
        r"|check-up|hearing|funeral|wedding|ceremony|flight))"
        rf" (?:is|was) (?:(?:now|finally|all|already|just) )?(?:done|finished){_NOW_OVER}"
    ),
    re.compile(
        r"(?:i|we) (?:(?:have|just|finally|already|actually) ){0,2}(?:passed|failed|flunked|aced|sat|took|survived)"
        rf" (?:my|our|the) (?P<what>(?:[\w-]+ ){{0,3}}?(?:exam|test|viva|interview)){TAIL}"
    ),
)
"""What says that an appointment has taken place."""

_DOCTOR = (
    r"(?:(?:(?:my|the|our) )?(?:doctor|doctors|gp|consultant|specialist|cardiologist|psychiatrist|nurse|hospital)"
    r"|dr\.? \w+)"
)
_STOPPING = (
    rf"(?:{_DOCTOR}|he|she|they|i) {_AUX}(?:(?:stopped|discontinued)(?: giving me)?|took me off|taken me off"
    r"|(?:came|come|went|gone) off|(?:told|asked|advised) me to (?:stop|come off)(?: taking)?)"
)
_STOPPED_IT = re.compile(rf"{_STOPPING} (?:it|them)\b")
_STOPPED = re.compile(
    rf"{_STOPPING} (?:(?:the|my) )?(?P<what>it|them|[\w-]{{4,}})"
    rf"(?: (?:and|so|but|because|due to|after|at once|completely|straight away)\b.*)?{TAIL}"
)
_MEDICINE = re.compile(
    rf"\b(?:{one_of('medicines')}|[a-z]{{3,}}(?:pril|statin|sartan|olol|formin|pam|zole|cillin|mycin|profen|oxin|parin"
    r"|etine|amide|azine|prazole|dipine|gliptin|flozin|tadine))\b"
)
_UNDONE = re.compile(_section("undone"))


def _ending(slot: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return slot, re.compile(pattern + TAIL)


_ENDINGS = (
    _ending(
        "employer",
        rf"i {_AUX}(?:quit|left|lost|resigned from|gave up) {_JOB}"
        r"(?: (?:at|with|for) (?P<v>.{1,60}?))?(?: (?:to|because|after|since|and) .*)?",
    ),
    _ending("employer", rf"(?:i {_AUX}|(?:just |finally )?got ){_LET_GO}(?: (?:from|by|at) (?P<v>.{{1,60}}?))?"),
    _ending("employer", rf"i {_AUX}(?:resigned|quit|retired)(?: from (?P<v>.{{1,60}}?))?"),
    _ending("employer", rf"(?P<v>{_NAME}) {_AUX}(?:fired me|laid me off|sacked me|let me go|made me redundant)"),
    _ending("car", rf"(?:i|we) {_AUX}{_DISPOSED_OF} (?:my|our|the) (?:old |beloved )?(?P<v>)car"),
    _ending("pet", rf"{_KIND}(?P<v>{_NAME}) {_AUX}{_DIED}"),
    _ending("pet", rf"{_KIND}(?P<v>{_NAME}) (?:had to be|has been|was|got) (?:put (?:down|to sleep)|run over)"),
    _ending("pet", rf"(?:i|we) {_AUX}(?:gave|given|give) {_KIND}(?P<v>{_NAME}) (?:away|up)(?: for adoption)?"),
    _ending("pet", rf"(?:i|we) {_AUX}(?:put {_KIND}(?P<v>{_NAME}) (?:down|to sleep))"),
    _ending("pet", rf"(?:i|we) {_AUX}(?:rehomed|sold) {_KIND}(?P<v>{_NAME})"),
    _ending("partner", rf"we {_AUX}{_SEPARATED}(?P<v>)"),
    _ending("partner", rf"my (?:{one_of('partner')})(?P<v>) {_AUX}(?:left|{_PARTED}) me"),
    _ending("partner", rf"{_PARTNER}(?P<v>{_NAME}) and (?:i|me) {_AUX}{_SEPARATED}"),
    _ending("partner", rf"(?:me|i) and {_PARTNER}(?P<v>{_NAME}) {_AUX}{_SEPARATED}"),
    _ending("partner", rf"i {_AUX}(?:broke up with|broken up with|split up with|divorced) {_PARTNER}(?P<v>{_NAME})"),
    _ending("partner", rf"{_PARTNER}(?P<v>{_NAME}) {_AUX}(?:{_PARTED}) me"),
    _ending("studies", rf"i {_AUX}dropped out(?P<v>)(?: of {_SCHOOL})?"),
    _ending("studies", rf"i {_AUX}(?:graduated|(?:finished|completed) {_SCHOOL})(?P<v>)"),
    _ending("avoids", rf"i {_AUX}(?:eat|drink|tak|us|hav)(?:e|ing)? (?P<v>\w+(?: \w+)?) again"),
    _ending(
        "avoids",
        rf"(?:i )?{_AUX}(?:started|begun|began|(?:gone |went )?back (?:to|on)) (?:(?:eating|drinking|taking|using) )?"
        r"(?P<v>\w+(?: \w+)??)(?: again)?",
    ),
    _ending("partner", rf"(?P<v>{_NAME})(?: is)? my ex(?:[- ]{one_of('partner')})?"),
    _ending("partner", rf"{_PARTNER}(?P<v>{_NAME}) and (?:i|me) {_AUX}(?:history|done|through|over)"),
    _ending("habit", rf"(?:i )?{_AUX}{_GIVEN_UP} (?!(?:it|that|this|work|school)\b)(?P<v>\w+(?: \w+){{0,3}}?)"),
    _ending("habit", rf"i {_AUX}(?:came |gone |went |come )?off (?:(?:the|my) )?{_NO_MEDICINE}(?P<v>\w+)"),
    _ending(
        "habit", rf"(?:he|she|they|(?:my|the) \w+) {_AUX}(?:took|taken) me off (?:(?:the|my) )?{_NO_MEDICINE}(?P<v>\w+)"
    ),
    _ending("allergy", rf"my (?P<v>\w+(?: \w+)?) allergy {_AUX}{_CURED}"),
    _ending("allergy", rf"my allergy to (?P<v>\w+(?: \w+)?) {_AUX}{_CURED}"),
    _ending("allergy", rf"i {_AUX}(?:outgrew|outgrown|grew out of|grown out of) my (?P<v>\w+(?: \w+)?) allergy"),
)  # fmt: skip
_PARTICIPLE = re.compile(r"i (?:fired|sacked|laid off|let go)\b")
_TOLD_IN_PART = frozenset({"employer", "pet", "partner", "habit"})
"""Slots of whose value an end names a part: Nordlicht of Nordlicht Energy, the gym of going to the gym on Mondays."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What is not so any more: of whom ("" is the speaker), in which slot, and the value; "": whatever it was.

    Without a slot it is all that is so of somebody only as long as they live. `once`: not of what is held again.
    """

    slot: str
    value: str
    of: str = ""
    once: bool = False

    def is_of(self, fact: Fact, speaker: str | None = None) -> bool:
        """Whether it ends this fact, which the same speaker stated before."""
        of = "" if fact.entity_label == (speaker or ME) else fact.entity_label
        if plain_name(self.of) != plain_name(of) or fact.slot not in ({self.slot} if self.slot else _OF_THE_LIVING):
            return self.slot == "medication" and _is_taking(fact) and terms(self.value) <= terms(fact.value.lower())
        if self.once and may_be_held_again(fact):
            return False
        said, known = terms(plain_name(self.value)), terms(plain_name(fact.value))
        return not self.value or (bool(said) and (said <= known if self.slot in _TOLD_IN_PART else said == known))


def _is_taking(fact: Fact) -> bool:
    return fact.entity_label == ME and fact.slot == "habit" and fact.value.startswith("take ")


@lru_cache(maxsize=256)
def ended_in(text: str, before: str = "") -> tuple[Ended, ...]:
    """What a statement of a user ends, said after another in the same conversation."""
    return tuple(_ended(text, before))


ends_anything = ByText(lambda text: any(True for _ in _ended(text)))
"""Whether a statement ends a fact, whichever is known."""


points_back = ByText(lambda text: any(_STOPPED_IT.match(clause.text) is not None for clause in clauses(text)))
"""Whether a statement says that "it" was stopped, which may be what was named before."""


def _ended(text: str, before: str = "") -> Iterator[Ended]:
    if _UNDONE.search(text.lower()):
        return
    for fact in denied_in(text):
        yield Ended(fact.slot, fact.value, fact.of)
    for clause in clauses(text):
        said = RECENTLY.sub("", clause.text)
        if clause.meant and not LONG_AGO.search(said) and not _PARTICIPLE.match(said):
            yield from _told(said)
            yield from _cancelled(said)
            yield from _held(said)
            yield from _medicine_stopped(said, before)
        before = f"{before} {said}"


def _cancelled(said: str) -> Iterator[Ended]:
    """An appointment that will not be: "my appointment" that a dentist cancelled is that with them."""
    found = next((found for form in _CANCELLATIONS if (found := form.match(said))), None)
    if found is None:
        return
    what = found["what"].removesuffix(" appointment")
    yield Ended("time", "", of=what)
    if what == "appointment" and (by := found.groupdict().get("by")):
        yield Ended("time", "", of=by)


def _held(said: str) -> Iterator[Ended]:
    """An appointment that has taken place."""
    if found := next((found for form in _HELD if (found := form.match(said))), None):
        yield Ended("time", "", of=found["what"].removesuffix(" appointment"), once=True)


def _medicine_stopped(said: str, before: str) -> Iterator[Ended]:
    """A medicine that a doctor or the speaker stopped; "it" is the one named last."""
    if found := _STOPPED.match(said):
        named = _MEDICINE.findall(before.lower()) if found["what"] in ("it", "them") else [found["what"]]
        if named:
            yield Ended("medication", named[-1])


def _told(said: str) -> Iterator[Ended]:
    if death := _DEATH.match(said):
        yield Ended("", "", of=death["name"] or death["kin"] or death["alone"])
    if (eaten := _EATEN_AGAIN.match(said)) and eaten["food"] in _DIETS_WITHOUT:
        yield Ended("avoids", eaten["food"])
        yield from (Ended("diet", diet) for diet in _DIETS_WITHOUT[eaten["food"]].split())
    if gone := _MOVED_OUT.match(said):
        yield from (Ended("relationship", shared, of=gone["name"]) for shared in _SHARE_A_HOME)
    if gone := _LEFT_WORK.match(said):
        yield from (Ended("relationship", relation, of=gone["name"]) for relation in _AT_WORK)
    if _BORN.match(said):
        yield Ended("health", "pregnant")
    for slot, pattern in _ENDINGS:
        if found := pattern.match(said):
            yield Ended(slot, found["v"] or "")
            return
