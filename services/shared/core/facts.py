"""Facts that a person tells of themselves and of those around them: rules on English wording, no model.

Only what a user states as being so now makes a fact. When in doubt there is none: a fact that is not known costs a
question, a wrong one is believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Literal, get_args

from contracts.v1.entries import Entry, Subject
from contracts.v1.facts import FactType
from contracts.v1.turns import Role
from services.shared.core import wordlists
from services.shared.core.bounded import as_read, place_in
from services.shared.core.fact_predicates import Found
from services.shared.core.fact_rules import event_moved_in, found_in, new_time_in, people_in
from services.shared.core.fact_subjects import BASE_VERBS, THIRD_VERBS, Subjects, subject_matches
from services.shared.core.fact_values import PERSON_NAME, is_name, one_of
from services.shared.core.frames import as_stated
from services.shared.core.joined import own_statements
from services.shared.core.lower_names import with_names
from services.shared.core.names import plain_name
from services.shared.core.notes import as_user_says
from services.shared.core.own_words import QUOTED, SENTENCE_END, opens_others_words
from services.shared.core.pinning import own_importance
from services.shared.core.statements import (
    AFTER_NOW,
    ASKING,
    UNSURE,
    is_joking,
    without_retracted,
)
from services.shared.core.traits import ByText

EntityType = Literal["person", "org", "place", "project", "event"]

ME = "me"
"""Slug of the user in keys and references; a named speaker has one of their own."""

_LONGEST, _LONGEST_CLAUSE, _MOST_CLAUSES = 10_000, 240, 200
_pattern = partial(wordlists.pattern, "facts")

_STRAIGHT = str.maketrans("’‘“”„", '\'\'"""')
SENTENCE = re.compile(rf"{SENTENCE_END}|\s[–—]\s|\n")
_IS_NOW = r"now (?:it|[\w.]+(?: [\w.]+)? (?:is|has))"
_WHICH_TIME = "(?:date|day|time|slot)"
CLAUSE = re.compile(
    r"(?<!\bnumber):\s|;\s|\s\(|\)"
    rf"|,\s(?=what an?\s)|,\s{{1,3}}(?:but|so|because|which)\s|,\s{{1,3}}(?=(?:i|we|my|our)\b)"
    rf"|(?<=after all),\s"
    rf"|{AFTER_NOW}"
    rf"|,\s{{1,3}}(?=(?:{BASE_VERBS}|{THIRD_VERBS}|dislikes?) )"
    rf"|,\s{{1,3}}(?={_IS_NOW}\b|it(?:'s| is) (?:now|on|at|\d|mon|tue|wed|thu|fri|sat|sun)|the new {_WHICH_TIME}\b)"
    rf"|,?\s{{1,3}}(?=and {_IS_NOW}\b)"
    r"|,?\s{1,3}(?:and|but|so|because|though|while)\s{1,3}(?:(?:by the way|btw),?\s)?"
    r"(?!i (?:\w+ )?(?:got|are now) married\b)"
    rf"(?=(?:i|we|my|our|he|she|it|they|you|this|that|{BASE_VERBS}|{THIRD_VERBS})\b)",
    re.IGNORECASE,
)
_CARRIED = re.compile(rf"(?:(?P<mine>{BASE_VERBS}|dislike)|(?P<theirs>{THIRD_VERBS}|dislikes))\b", re.IGNORECASE)
_UNSAID_I = re.compile(
    r"(?i:(?:just |finally |recently )*started (?:(?:(?:(?:a|my) )?new )?job |working )?at) (?=[A-Z])"
    r"(?!(?:Uni|University|School|College|Kindergarten|Nursery)\b)"
    r"|(?i:(?:just |finally |officially )?turned (?=\d{1,3}(?: (?:yesterday|today|on|last|this|now)\b|$)))"
)
_I_AM = re.compile(r"\b(i)'?m\b", re.IGNORECASE)
_CONTRACTIONS = tuple(
    (re.compile(pattern, re.IGNORECASE), spelled)
    for pattern, spelled in (
        (r"'ve\b", " have"),
        (r"'re\b", " are"),
        (r"'ll\b", " will"),
        (r"\b(i|we|you|he|she|they)'d\b", r"\1 would"),
        (r"\bwon't\b", "will not"),
        (r"\bcan't\b", "can not"),
        (r"(\w)n't\b", r"\1 not"),
        (r"(\w)'s (?=(?:just |now |already |finally )?(?:moved|joined|quit|become|retired|switched)\b)", r"\1 has "),
        (r"\b(she|he|it|that|there|name)'s\b", r"\1 is"),
    )
)
_SPELT = re.compile(
    r"(?:, | spelled | spelt | written )with(?:out)? (?:an? |one |two |double )?(?!(?:me|us|it|my|no)\b)[a-z]{1,2}s?\b"
    r".{0,40}$"
    r"| with(?:out)? (?:(?:an?|one|two) [b-z]s?|double [a-z])(?: at the (?:end|start|beginning)| in the middle)?$",
    re.IGNORECASE,
)
_CORRECTED = wordlists.pattern("changes", "corrected")
_OPENING = re.compile(
    rf"(?:{_pattern('opening')}|{wordlists.pattern('changes', 'filler')}|{_CORRECTED}(?: no)?[,:.]* +)", re.IGNORECASE
)
_CUED = re.compile(
    rf"\b(?:no longer|any ?more(?! than)|any longer|after all|turn(?:s|ed) out)\b|{_CORRECTED}", re.IGNORECASE
)
_SINCE = re.compile(r"\s(?:any ?more|any longer|after all)$", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:no longer|(?:do|does) not|(?<=am )not|(?<=is )not|(?<=are )not|(?<=have )not) ", re.IGNORECASE
)
_NOT_BUT = re.compile(
    r"((?:my|our) [\w ]{2,30}? (?:is|are) )not [^,]{1,40}(?:, (?:it is|they are|but)|\sbut) ", re.IGNORECASE
)
GONE = re.compile(_pattern("long gone"))
_PRETENDING = re.compile(_pattern("pretending"))
_ANYBODY = "|".join(map(one_of, ("family", "partner", "acquainted")))
_OTHER_RELATION = (
    rf"{_pattern('hesitating')}*(?:my |our )?(?:ex|former|late)(?:[- ](?:{_ANYBODY}))?(?:,|{_pattern('of course')})"
    r"|(?:(?:sorry|no|wait|i mean|i meant|well|or rather|oops)[,.:! -]+)+(?:my |our )?(?:(?:step|half)-?)?"
    rf"(?:{_ANYBODY}){_pattern('of course')}"
)
_TAKEN_BACK = re.compile(f"{_pattern('taken back')}|{_OTHER_RELATION}")
_DENIED_BACK = re.compile(_pattern("denied back"))
_LEFT_AGAIN = re.compile(rf"(?:(?:i|we|have|then|later|since|soon) )*{_pattern('left again')}")
_ALSO_JOKING = re.compile(_pattern("joking more"))
_LIKING_TO = re.compile(r"\b(i (?:\w+ )?(?:like|love|enjoy)) to\b")
_TAGGED = re.compile(r", (?:right|correct|(?:is|are|do|does|have|am|was) ?n.t \w+)\W*$", re.IGNORECASE)
_NAME_ALONE = re.compile(rf"\b({PERSON_NAME})(?=(?:'s)? [a-z])")
_AN = re.compile(r"\bis a (?=[aeio]|un(?!i))", re.IGNORECASE)
_NOT_SLUG = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement of what is so: whose and of what (`memory_key`), its value, and where the text says it.

    `holds_many`: another value of the same key stands beside this one, and does not replace it.
    """

    subject: Subject
    entity_refs: tuple[str, ...]
    entity_label: str
    fact_type: FactType
    memory_key: str
    value: str
    text: str
    holds_many: bool
    level: int
    confidence: float
    span: tuple[int, int]
    said_at: datetime

    @property
    def plain_key(self) -> str:
        """Its key in plain letters: José and Jose are one."""
        return plain_name(self.memory_key)

    @property
    def slot(self) -> str:
        """Of what it gives a value: home, employer."""
        return self.memory_key.rpartition("|")[2]


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause spelled out, the sentence that it is of, and where it stands in the text.

    `opens`: it is the first of its sentence; `is_carried`: its subject is that of what comes before it.
    """

    words: str
    sentence: str
    begin: int
    end: int
    opens: bool
    is_carried: bool


def slug_of(name: str) -> str:
    """A name as keys and references have it: lower case, words joined by underscores."""
    return _NOT_SLUG.sub("_", name.casefold().replace("i\u0307", "i").strip()).strip("_")


def facts_in(
    text: str, *, role: Role, speaker: str | None, said_at: datetime, known: Collection[str] = ()
) -> tuple[Fact, ...]:
    """The facts that a turn states about its speaker; none in what an assistant, a tool or the system says.

    `known`: the names, in plain letters, of those whom the speaker told of before: of nobody else is anything read
    where a name stands alone.
    """
    if role != "user" or not (known or _tells_anything(text)):
        return ()
    facts: dict[tuple[str, str], Fact] = {}
    read = as_read(text)
    for found, said in _told_in(read, known):
        fact = _fact(found, said, speaker, said_at)
        if read != text:
            fact = replace(fact, span=place_in(text, read[said.begin : said.end]))
        facts.setdefault((fact.memory_key, fact.value.casefold()), fact)
    return tuple(facts.values())


def facts_of(entry: Entry, known: Collection[str] = ()) -> tuple[Fact, ...]:
    """The facts that an entry states: the one that a model drew, or those that the rules find in its text."""
    if entry.source != "model":
        said = as_user_says(entry)
        found = facts_in(said, role=entry.role, speaker=entry.speaker, said_at=entry.created_at, known=known)
        if said == as_stated(entry):
            return found
        return tuple(replace(fact, span=place_in(entry.text, said[slice(*fact.span)])) for fact in found)
    if entry.memory_key is None or entry.role != "user":
        return ()
    return (
        Fact(
            subject=entry.subject,
            entity_refs=entry.entity_refs,
            entity_label=entry.entity_label or ME,
            fact_type=next((kind for kind in get_args(FactType) if kind == entry.fact_type), "fact"),
            memory_key=entry.memory_key,
            value=value_of(entry.text),
            text=entry.text,
            holds_many=entry.holds_many,
            level=round(3 * own_importance(entry)),
            confidence=entry.metadata_confidence,
            span=(0, len(entry.text)),
            said_at=entry.created_at,
        ),
    )


def value_of(text: str) -> str:
    """The value in the text of a fact that a model drew: what follows the colon."""
    return text.partition(": ")[2] or text


class FactsOf:
    """The facts of entries, each read once, for as long as one question takes: no word is kept for longer."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str, frozenset[str]], tuple[Fact, ...]] = {}

    def __call__(self, entry: Entry, known: Collection[str] = ()) -> tuple[Fact, ...]:
        """The facts that an entry states; `known` as in `facts_in`."""
        named = frozenset(known).intersection(names_alone(entry.text)) if known else frozenset()
        key = entry.id, entry.text, named
        if key not in self._read:
            self._read[key] = facts_of(entry, named)
        return self._read[key]


def names_alone(text: str) -> frozenset[str]:
    """What may be names, in plain letters, of those whom a text tells something of."""
    return frozenset(plain_name(found[1]) for found in _NAME_ALONE.finditer(as_read(text)[:_LONGEST]))


def _fact(found: Found, said: _Clause, speaker: str | None, said_at: datetime) -> Fact:
    owner, label = (slug_of(speaker), speaker) if speaker else (ME, "")
    slug = slug_of(found.of) or owner
    kind: EntityType = "event" if found.slot == "time" else "project" if found.subject == "project" else "person"
    subject = "people" if found.subject == "profile" and speaker else found.subject
    whose = f"{found.of[:1].upper()}{found.of[1:]}" if found.of else label
    told = _AN.sub("is an ", found.text.replace("their", f"{speaker}'s") if speaker else found.text)
    is_whole = not whose or found.text.startswith(f"{found.value} ")  # as "Elke is their wife"
    return Fact(
        subject=subject,
        entity_refs=(f"{kind}:{slug}", *(f"{of}:{slug_of(name)}" for of, name in found.refs)),
        entity_label=whose or ME,
        fact_type=found.fact_type,
        memory_key=f"{subject}|{kind}|{slug}|{found.slot}",
        value=found.value,
        text=f"{told[:1].upper()}{told[1:]}" if is_whole else f"{whose} {told}",
        holds_many=found.holds_many,
        level=found.level,
        confidence=found.confidence,
        span=(said.begin, said.end),
        said_at=said_at,
    )


def _told_in(text: str, known: Collection[str] = ()) -> Iterator[tuple[Found, _Clause]]:
    """What a text states outright and does not take back in its next sentence, and the clauses that state it."""
    last: list[tuple[Found, _Clause]] = []
    for said, told in _told_by_clause(text, known):
        if last and _LEFT_AGAIN.match(said.words.lower()):
            last = [(found, at) for found, at in last if found.slot != "home" or "move" not in at.words]
        if said.opens:
            yield from last if not (last and _takes_back(said.sentence, last[-1][1].sentence)) else ()
            last = []
        apart = said.sentence.split(" - ")
        if not any(_takes_back(one, apart[0]) for one in apart[1:]):
            last += ((found, said) for found in told)
    yield from last


def _takes_back(sentence: str, before: str) -> bool:
    """Whether a sentence says that the one before it is not so after all: "Not mine, my neighbour's."."""
    lower = sentence.lower().lstrip(" .,;!?-*>(")
    is_denial = {"not", "no", "never"} & set(spelled_out(before).lower().split())
    return _TAKEN_BACK.match(lower) is not None or (not is_denial and _DENIED_BACK.match(lower) is not None)


def _told_by_clause(text: str, known: Collection[str]) -> Iterator[tuple[_Clause, list[Found]]]:
    """Each clause of a text with what it states outright.

    Most clauses tell nothing. So whether a clause is meant is asked only of one that tells something, and whether the
    text is a joke at the first of these.
    """
    text = _readable(text)
    subjects = Subjects(known)
    moved: str | None = None
    in_earnest = False
    for said in islice(_clauses_of(text), _MOST_CLAUSES):
        people = list(people_in(said.words))
        meant = subjects.meant(said.words, is_carried=said.is_carried)
        told = (*found_in(said.words, meant, known), *(new_time_in(said.words, moved) if moved else ()))
        moved = event_moved_in(said.words) or moved
        is_meant = bool(people or told) and _is_meant(said)
        is_denied = bool(people) and _DENIAL.search(said.words) is not None and is_stated(said.sentence)
        subjects.read(said.words, people, meant, opens=said.opens, is_stated=is_meant or is_denied)
        if is_meant and not in_earnest and is_joke(text):
            return
        in_earnest = in_earnest or is_meant
        yield said, list(told) if is_meant else []


def _readable(text: str) -> str:
    """The beginning of a text as it is read, each character where it was."""
    return with_names(without_retracted(own_statements(as_read(text)[:_LONGEST].translate(_STRAIGHT))))


def people_named(text: str) -> dict[str, frozenset[str]]:
    """Whom a text names as the speaker's own, in plain letters, and what they are to them, whatever it says of them."""
    found: dict[str, set[str]] = {}
    for name, kin in people_in(_readable(text)):
        if is_name(name):
            found.setdefault(plain_name(name), set()).add(kin)
    return {name: frozenset(kins) for name, kins in found.items()}


def denied_in(text: str) -> Iterator[Found]:
    """What a text says is not so any more, or after all: each as if it were so."""
    text = _readable(text)
    if not _CUED.search(text) or is_joke(text):
        return
    for said in islice(_clauses_of(text), _MOST_CLAUSES):
        if _CUED.search(text[said.begin : said.end].lstrip()):
            yield from _denied(said)


def _denied(said: _Clause) -> Iterator[Found]:
    words, denials = _DENIAL.subn("", _SINCE.sub("", said.words))
    if denials == 1 and _is_meant(replace(said, words=words)):
        stated = set(found_in(said.words, None))
        yield from (found for found in found_in(words, None) if found not in stated)


def _clauses_of(text: str) -> Iterator[_Clause]:
    for begin, end in pieces_between(text, SENTENCE, 0, len(text)):
        if not opens_others_words(text[begin:end]):
            yield from _clauses(text, begin, end)


def is_joke(text: str) -> bool:
    """Whether a text says itself that it is no earnest."""
    lower = text.lower()
    return is_joking(lower) or _ALSO_JOKING.search(lower) is not None


def _is_meant(said: _Clause) -> bool:
    """Whether a clause states what is so: it is not asked, supposed, quoted or long gone."""
    lower = _LIKING_TO.sub(r"\1", said.words.lower())
    if UNSURE.search(lower) or ASKING.match(lower) or GONE.search(lower):
        return False
    return is_stated(said.sentence)


def pieces_between(text: str, between: re.Pattern[str], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the pieces of a part of a text begin and end, that a pattern tells apart."""
    for found in between.finditer(text, begin, end):
        if found.start() > begin:
            yield begin, found.start()
        begin = found.end()
    if begin < end:
        yield begin, end


def is_stated(sentence: str) -> bool:
    """Whether a sentence neither asks, quotes nor supposes."""
    plain = sentence.rstrip(" '\")")
    if plain.endswith("?") or QUOTED.search(sentence) or _TAGGED.search(plain):
        return False
    lower = _spelled(sentence).lower()
    return not (ASKING.match(lower) or _PRETENDING.search(lower))


def _clauses(text: str, begin: int, end: int) -> Iterator[_Clause]:
    before = ""
    for start, stop in pieces_between(text, CLAUSE, begin, end):
        words = _spelled(text[start:stop])
        if len(words) > _LONGEST_CLAUSE:
            continue
        if not before and _UNSAID_I.match(words):
            words = f"I {words[:1].lower()}{words[1:]}"
        carried, opens = _CARRIED.match(words), not before
        if carried:
            words = _with_subject(words, before, is_of_speaker=carried["mine"] is not None)
        is_carried = carried is not None and words.startswith("he ")
        before = _last_subject(words)
        if words:
            yield _Clause(words, text[begin:end], start, stop, opens, is_carried)


def _last_subject(words: str) -> str:
    """The first word of what the last verb of a clause is said of, in lower case."""
    subjects = subject_matches(words)
    return (subjects[-1]["who"] if subjects else words).split(" ", 1)[0].lower()


def _with_subject(words: str, before: str, *, is_of_speaker: bool) -> str:
    if is_of_speaker:
        return f"I {words}" if before in ("i", "we") else words
    return f"he {words}" if before and before not in ("i", "we", "they", "you") else words


def _spelled(part: str) -> str:
    said = spelled_out(" ".join(part.split()).strip(" .,;!?-*>"))
    for _ in range(3):
        found = _OPENING.match(said)
        if not found:
            break
        said = said[found.end() :]
    return _SPELT.sub("", _NOT_BUT.sub(r"\1", said, count=1))


def spelled_out(text: str) -> str:
    """The text without contractions, with straight quotes."""
    said = _I_AM.sub(r"\1 am", text.translate(_STRAIGHT))
    if "'" in said:
        for pattern, spelled in _CONTRACTIONS:
            said = pattern.sub(spelled, said)
    return said


_tells_anything = ByText(lambda text: any(True for _ in _told_in(text)))
"""Whether a text states a fact about anybody, as far as it tells by itself whom it names."""
