"""English statements taken apart: clauses, whether they are meant, what they are about, and the value they give it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, takewhile

from services.shared.context.joined import own_statements
from services.shared.language import wordlists
from services.shared.language.analysis import stems
from services.shared.language.bounded import as_read
from services.shared.language.text import unfolded
from services.shared.privacy.own_words import QUOTED, SENTENCE_END, opens_others_words

_LONGEST = 2000
"""Characters of a text that are read: who tells of a change says so in a few lines."""

_LONGEST_CLAUSE = 400


AFTER_NOW = rf"(?<=\w now),\s(?={wordlists.pattern('changes', 'after now')})"
"""Between a statement of what is so now and another one."""

_SENTENCE = re.compile(rf"{SENTENCE_END}|\s+[–—]\s+|\n")
_CLAUSE = re.compile(
    r":\s|,\s+(?:but|so|and|because|she|he|thank)\s|,\s(?=what an?\s)|\s+because\s|\s\(|\)"
    r"|(?<!\bno)(?<!\bnope)(?<!\bwait),\s(?=(?:now )?(?:my|our) \w+(?: \w+){0,3} (?:is|are)\b"
    r"|now \w+(?: \w+)? (?:is|are|has|have)\b"
    r"|[\w.]+(?: [\w.]+)? (?:is|are) (?:now |still )?(?:my|our) \w"
    r"|[\w.]+(?: [\w.]+)? (?:is|are) (?:now (?:at|on)\b|[\w:. ]{1,20} now\b)"
    r"|(?:(?:my|our|the) )?new \w+(?: \w+)? (?:is|are)\b"
    r"|(?:now )?(?:it|the new (?:date|day|time|slot))(?:'s| is| was| will be)\b|its )"
    rf"|{AFTER_NOW}"
    r"|\sand\s(?=now it(?:'s| is)\b|it(?:'s| is) now\b)"
    r"|\sand\s(?=(?:my|our) \w+ (?:is|has|lives|works|drives|plays|likes|loves|hates|studies|teaches|speaks|owns"
    r"|prefers|uses|eats|drinks)\b)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[#€$£]?[\w][\w@#&+']*(?:[.:/,-][\w@]+)*")
ASKING = re.compile(
    r"(?:what|when|where|which|who|whom|whose|why|how|is|are|am|was|were|do|does|did|has|have|had|can|could|should|would"
    r"|will)\s(?:the |my |our |a )?\w+"
)
_ANYMORE = re.compile(r"\bany more\b|\bany longer\b")
_SPELLED = (
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"(\w)n't\b"), r"\1 not"),
    (re.compile(r"'(?:s) (?=been\b|got\b|gone\b)"), " has "),
    (
        re.compile(
            r"'s (?=now\b|no longer\b|not\b|off\b|moved\b|cancel|postponed\b|rescheduled\b|(?:over|done|finished)$)"
        ),
        " is ",
    ),
    (re.compile(r"\b(she|he|it|that|there|here)'s\b"), r"\1 is"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (_ANYMORE, "anymore"),
    (re.compile(r"'s\b|s'(?=\s)"), lambda found: "s" if found[0].startswith("s") else ""),
)
_WITHOUT_APOSTROPHES = ((_ANYMORE, "anymore"),)

_DONE = wordlists.pairs("changes", "had to")
_HAD_TO = re.compile(
    r"^(?P<who>(?:i|we|they|he|she|(?:my|our|the) [\w-]+)(?: (?:just|finally|sadly|also|unfortunately|actually|then))?)"
    r"(?P<have> have| has)? (?:had|was forced|were forced|ended up having|managed) to"
    r" (?!(?:call|get|let|take) (?!(?:\w+ ){0,3}(?:off|rid|go|back)\b))"
    rf"(?P<do>{'|'.join(_DONE)})\b(?! (?:for|at|by)\b)"
)
"""What somebody had to do, where it opens a clause, and so did."""

_words = wordlists.words
LIGHT = _words("changes", "light")
VERBS = _words("changes", "verbs")
STATIVE = _words("changes", "stative")
NEGATIONS = frozenset({"not", "never", "no", "cannot"})
SPEAKERS = frozenset({"i", "we"})

UNSURE = re.compile(wordlists.pattern("changes", "unsure"))
JOKING = re.compile(wordlists.pattern("changes", "joking"))
_JOKED_BEFORE = re.compile(wordlists.pattern("changes", "joked before"))
LONG_AGO = re.compile(wordlists.pattern("changes", "long ago"))
RECENTLY = re.compile(wordlists.pattern("changes", "recently"))
"""When something came about that is still so, to be left out where only what came about counts."""

_FILLER = re.compile(wordlists.pattern("changes", "filler"))

_HAVE_NEW = re.compile(
    r"(?:\b(?:I(?: have|'ve)(?: got)?|\w+ (?:gave|sent|issued) (?:me|us))|\b(?:I )?[Gg]ot) a new"
    r" ([\w-]+(?: [\w-]+){0,2})(?:: |, )(?=\S*\d)"
    r"|\b(?<![a-z] )[Nn]ew ([\w-]+(?: [\w-]+)?): (?=\S*\d)"
)

_DAYS = "mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug"
    "|sep|sept|oct|nov|dec"
)
MONTHS_AND_DAYS = f"{_MONTHS}|{_DAYS}"
_SHORT_MONTHS = {short: month for month in _MONTHS.split("|")[:12] for short in (month[:3], month[:4])}
_DAY = re.compile(rf"(?:{_DAYS})s?|(?:{_MONTHS})|\d\d?(?:st|nd|rd|th)|tomorrow|\d{{4}}-\d\d-\d\d|\d\d?/\d\d?(?:/\d+)?")
_CLOCK = re.compile(r"\d\d?[:.]\d\d|\d\d?(?::\d\d)?(?:am|pm)|noon|midnight|am|pm|o'clock")
_SHORT_MONTH = re.compile(r"(?<=\d )(?:{0})\b\.?|\b(?:{0})\b\.?(?= \d)".format("|".join(_SHORT_MONTHS)))
_ONE = r"(?:[^,.:;!?\s]|[.,:](?=\d))+"
_RETRACTED = re.compile(
    r"(?:(?<![ \t])[ \t]++|(?<![ \t,.;…–-]))[,.;…–-]++[ \t]*+"
    r"(?:(?:(?P<surely>no,? wait|wait,? no|(?:no,? )?i (?:lied?|tell a lie)|actually,? no"
    r"|(?:scratch|strike) that|make that|correction|i me(?:an|ant|nt)(?: to say)?|or rather)"
    r"|not really|no|sorry|oops|er+m?|um)\b[,.:;…–-]*[ \t]+){1,3}(?:(?:it|that)'?s )?"
    rf"(?P<instead>{_ONE}(?: {_ONE}){{0,2}})(?=[ \t]*(?:[,.;!?\n]|$))",
    re.IGNORECASE,
)
_PLACED = frozenset("in at on to for with from near by".split())
_VALUE_RETRACTED = 60  # characters
_SIGNS_AT_END = re.compile(r"(?: (?:btw|by the way|tho|lol|haha+|fyi)\b)?[^\w'\"%€$£]*$")
_NUMBER = re.compile(r"[#€$£]?\d[\d.,]*\w{0,3}")


def without_retracted(text: str) -> str:
    """The text with blanks for what its speaker takes back on the spot: "Leeds, sorry," before Leicester.

    Each character stays where it was. What is taken back is as the other is: names, days, times of day, numbers, or a
    single word where the words leave no doubt.
    """
    for found in _RETRACTED.finditer(text):
        before = text[max(0, found.start() - _VALUE_RETRACTED) : found.start()]
        if value := _retracted(before, found["instead"], is_sure=found["surely"] is not None or text.islower()):
            begin, end = found.start() - len(value), found.start("instead")
            text = f"{text[:begin]}{' ' * (end - begin)}{text[end:]}"
    return text


def _retracted(before: str, instead: str, *, is_sure: bool) -> str:
    """The end of what was said that is taken back for another value; empty where it is not."""
    words = list(re.finditer(r"\S+", before))
    names = len(list(takewhile(str.istitle, (word[0] for word in reversed(words)))))
    count = names if instead.istitle() and not kinds(instead.lower()) else len(instead.split())
    if not 0 < count <= len(words):
        return ""
    kind, of_other = (kinds(said.lower()).keys() for said in (before[words[-count].start() :], instead))
    while kind and count < len(words) and kinds(words[-count - 1][0].lower()):
        count += 1  # all of "Monday 5 October at 9"
    last = before[words[-count].start() :]
    is_word = is_sure and instead.isalpha() and last.isalpha()
    is_name = names == count and (is_sure or not instead[0].islower())
    is_placed = count > 1 and words[-count][0] == instead.split()[0] and words[-count][0] in _PLACED
    return last if kind == of_other and (kind or is_name or is_word or is_placed) else ""


def is_joking(lower: str) -> bool:
    """Whether a text in lower case is no earnest; what follows "I was joking, …" is."""
    return JOKING.search(_JOKED_BEFORE.sub("", lower, count=1)) is not None


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement: its words in lower case, spelled out, and whether it states something that is so, or long was."""

    text: str
    meant: bool
    past: bool

    @property
    def words(self) -> list[str]:
        """Its words, in order."""
        return _TOKEN.findall(self.text)

    @property
    def terms(self) -> frozenset[str]:
        """The stems of the words that say what it is about."""
        return terms(self.text)

    @property
    def things(self) -> frozenset[str]:
        """Those of its terms that are no day, time or number."""
        return things(self.text)


@lru_cache(maxsize=512)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses of a text in its user's own words, in order; those of a joke are not meant."""
    own = as_read(own_statements(unfolded(as_read(text)[:_LONGEST])))  # what is not theirs became blanks
    plain = _HAVE_NEW.sub(r"My new \1\2 is ", without_retracted(own))
    joking = is_joking(plain.lower())
    found = []
    for sentence in _SENTENCE.split(plain):
        told = opens_others_words(sentence)
        asked = sentence.rstrip(" '\")").endswith("?")
        quoted = QUOTED.search(sentence) is not None
        for part in _CLAUSE.split(sentence):
            if said := _spelled(part[:_LONGEST_CLAUSE]):
                unmeant = joking or told or asked or quoted or ASKING.match(said) or UNSURE.search(said)
                found.append(Clause(said, not unmeant, LONG_AGO.search(said) is not None))
    return tuple(found)


def _spelled(part: str) -> str:
    said = _SIGNS_AT_END.sub("", " ".join(part.lower().split()).strip(" .,;!?-*>"))
    for pattern, replacement in _SPELLED if "'" in said else _WITHOUT_APOSTROPHES:
        said = pattern.sub(replacement, said)
    said = _SHORT_MONTH.sub(lambda found: _SHORT_MONTHS[found[0].rstrip(".")], said)
    if opening := _FILLER.match(said):
        said = said[opening.end() :]
    return _HAD_TO.sub(lambda had: f"{had['who']}{had['have'] or ''} {_DONE[had['do']]}", said, count=1)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """The stem by which forms of a word are the same."""
    return stems([word], "")[0] if len(word) > 2 and word.isalpha() else word


KIN = frozenset(map(stem, wordlists.listed("changes", "people")))
"""The stems of words for those around somebody."""


@lru_cache(maxsize=2048)
def terms(said: str) -> frozenset[str]:
    """The stems of the words in a piece of a clause that say what it is about."""
    return frozenset(stem(word) for word in _TOKEN.findall(said) if word not in LIGHT)


def without_light(said: str) -> str:
    """The words of a piece of a clause from the first on that says what it is about."""
    return " ".join(dropwhile(LIGHT.__contains__, said.split()))


def things(said: str) -> frozenset[str]:
    """Those of the terms that are no day, time or number."""
    return terms(" ".join(word for word in _TOKEN.findall(said) if not kinds(word)))


def kinds(said: str) -> dict[str, frozenset[str]]:
    """The days, times and numbers of a piece of a clause, by kind."""
    found: dict[str, set[str]] = {}
    for word in _TOKEN.findall(said):
        kind = _kind_of(word)
        if kind:
            found.setdefault(kind, set()).add(stem(word))
    if "day" in found:  # 12 March
        found["day"] |= found.pop("number", set())
    return {kind: frozenset(words) for kind, words in found.items()}


def differ(new: Mapping[str, object], old: Mapping[str, object]) -> bool:
    """Whether two statements give another day, time or number, of a kind that both have."""
    return any(new[kind] != old[kind] for kind in new.keys() & old.keys())


def _kind_of(word: str) -> str | None:
    if _DAY.fullmatch(word):
        return "day"
    if _CLOCK.fullmatch(word):
        return "clock"
    return "number" if _NUMBER.fullmatch(word) else None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A clause as subject, verb and value: "my hourly rate", "is", "65 euros"."""

    subject: str
    verb: str
    value: str
    negated: bool

    @property
    def preposition(self) -> str:
        """The word that opens the value where that is a preposition."""
        first = self.value.partition(" ")[0]
        return first if first in ("in", "at", "on", "for", "with", "near", "by", "to", "from", "as") else ""


def parsed(said: str) -> Sentence | None:
    """A clause taken apart at its first verb; None when it has none that is known."""
    words = said.split()
    for i, word in enumerate(words[1:], 1):
        if word in VERBS:
            rest = words[i + 1 :]
            negated = bool(rest[:1] and rest[0] in NEGATIONS) or words[i - 1] in ("not", "never")
            value = rest[1:] if negated and rest[:1] and rest[0] in NEGATIONS else rest
            subject = [one for one in words[:i] if one not in ("do", "does", "not", "never", "now")]
            return Sentence(" ".join(subject), word, " ".join(value), negated)
    return None


_PARTS = re.compile(r"(,? and | but |[,;])")
_PREDICATES = wordlists.words("changes", "predicates") | VERBS | STATIVE | {f"{verb}s" for verb in STATIVE}
_OPINIONS = frozenset(map(stem, wordlists.listed("changes", "opinions")))
_PLACING = frozenset("in at on from with for".split())
_LONGEST_SUBJECT = 6  # words
_PURPOSES = frozenset({"as", "for"})
_ALSO_NAMED = r"(?:,? (?:and|or|&|plus|as well as)|,) "


def is_one_of_several(what: str, said: str) -> bool:
    """Whether a clause names other things in one breath with this one: "tea and coffee"."""
    name = without_light(what)
    if not name:
        return False
    named, also = rf"(?<!\w){re.escape(name)}s?", " (?:and|or) " if kinds(name) else _ALSO_NAMED  # Tuesday, 10 March
    return re.search(rf"{named}{also}\w|\w{also}(?:(?:my|our|the|an?) )?{named}(?!\w)", said) is not None


def things_stated(said: str) -> int:
    """How many things a clause states, without what its speaker only thinks of them."""
    first, *others = _PARTS.split(said)
    tells = _is_statement(first) or not _PREDICATES.isdisjoint(first.split()[1:4])
    stated = [first] if tells else []
    before = first
    for link, part in zip(others[::2], map(str.strip, others[1::2]), strict=True):
        if _states_more(part, before, is_joined="and" in link):
            stated.append(part)
        before = part
    return sum(not terms(part) <= _OPINIONS for part in stated)


def _states_more(part: str, before: str, *, is_joined: bool) -> bool:
    """Whether what follows "and" or a comma is a statement, a predicate, or an object with a purpose of its own."""
    if _is_statement(part) or (_opens_with(part, _PREDICATES) and " " in part):
        return True
    is_placed = _opens_with(part, _PLACING) and _is_statement(before)
    return is_joined and (is_placed or not _prepositions(before).isdisjoint(_prepositions(part)))


def subject_of(said: str) -> str:
    """What a clause says something of: its words before the first that may be a verb."""
    first, *others = said.split()
    return " ".join([first, *takewhile(lambda word: word not in _PREDICATES, others[:_LONGEST_SUBJECT])])


def _is_statement(part: str) -> bool:
    return parsed(part) is not None or _opens_with(part, SPEAKERS)


def _prepositions(part: str) -> frozenset[str]:
    """The prepositions within a part; those of a purpose are of one kind."""
    inner = frozenset(part.split()[1:-1])
    purposes = {"for"} if inner & _PURPOSES else set()
    return (inner & _PLACING) | purposes


def _opens_with(part: str, words: Collection[str]) -> bool:
    return part.split(" ", 1)[0] in words
