"""Whom a user means by what somebody is to them: "my brother" is Heinz, if they said so and have no other brother."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.aliases import People, are_of_several
from services.shared.core.fact_values import PERSON_NAME, is_name
from services.shared.core.facts import people_named
from services.shared.core.lower_names import with_names
from services.shared.core.names import plain_name, plain_words_of, relation_of
from services.shared.core.notes import as_user_says
from services.shared.core.own_words import QUOTED, own_words
from services.shared.core.statements import MONTHS_AND_DAYS, terms
from services.shared.core.text import unfolded

_ROOTS = wordlists.words("names", "around").union(
    *(wordlists.words("facts", kind) for kind in ("family", "partner", "acquainted", "pets", "occupations"))
)
_CALLED = [line.split() for line in wordlists.sections("names")["called"]]
_ONE_OF = {line.split()[0]: frozenset(line.split()) for line in wordlists.sections("names")["one of"]}
_LONGEST = 10_000

_ROOT = "|".join(sorted(map(re.escape, _ROOTS), key=len, reverse=True))
_WHO = rf"(?:(?:ex|step|half|great)[- ]?)?(?:{_ROOT})(?:[- ]in[- ]law)?"
_PLURAL = rf"(?P<kin>(?:{_WHO}|children))s?(?![\w-])(?! in[- ]law)"
_WHICH = "|".join(wordlists.words("names", "which one"))
_HOW = rf"(?P<how>(?:(?:{_WHICH}) ){{0,2}}(?:(?!(?:and|or|ex|step|half|great)\b)[a-z][\w-]* )?)"
_KIN = rf"(?P<kin>{_WHO})(?![\w-])(?! in[- ]law)"
_NAME = rf"(?<!\w){PERSON_NAME}(?![\w'’])"
_NAMES = rf"(?P<name>{_NAME}(?:(?:,? and|,| &) {_NAME})*)"
_ONE = rf"(?P<name>{_NAME})"
_OWN = r"\b(?:my|our) "
_NAMED = (
    r"(?:(?:(?:'s| is| are| was| were)(?: now| also)?|,|, who is|, who's)? (?:called|named)"
    r"|(?:'s|s'|,? whose) names? (?:is|are|was))"
)
_ENDS = r"(?=\s*(?:$|[.,;!?)\n]| (?:and|but) (?:i|we|he|she|it|they|my)\b))"
_NOT_OF_OTHERS = "".join(rf"(?<!{word} )" for word in (r"['’]s", "s['’]", "her", "his", "their", "your", "the", r"\ba"))
_ALONE = rf"{_NOT_OF_OTHERS}\b"
_ADDRESSED = "|".join(chain.from_iterable(_CALLED))
_HAVING = r"\b(?:i|we)(?:'ve| have)?(?: got| adopted| have)? (?:also |now |just )?"
_A_KIN = (
    rf"(?:an?|one|two|three|four|five) {_HOW}{_PLURAL}(?:,|:| -| \(|,? (?:called|named)"
    rf"|,? who(?:'s| is) (?:called|named)|,? whose names? (?:is|are)|\. (?:her|his|its|their) names? (?:is|are)"
    rf"|\. (?:she|he|it|they)(?:'s| is| are|'re) (?:called|named)) {_NAMES}"
)
_A_KIN_PLAIN = re.sub(r"\(\?P<\w+>", "(?:", _A_KIN)
_TOLD = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_OWN}{_HOW}{_KIN} {_ONE}",
        rf"{_OWN}{_HOW}{_PLURAL}{_NAMED} {_NAMES}",
        rf"{_OWN}{_HOW}(?P<kin>{_WHO})s,? {_NAMES}",
        rf"{_OWN}{_HOW}{_KIN}(?:,| \(| -) ?{_ONE}(?=[,)]| -|[.!?]?\s*$)",
        rf"{_OWN}{_HOW}{_PLURAL}(?: is|'s| are| was| were)(?: now| still)? {_NAMES}{_ENDS}",
        rf"{_NAMES}(?: is| was| are|'s)(?: now| still| also)? (?:my|our) {_HOW}{_PLURAL}(?!'s| (?-i:[A-Z]))",
        rf"{_ONE}(?:,| \() ?(?:my|our) {_HOW}{_KIN}(?=[,)]|[.!?]?\s*$)",
        rf"{_ALONE}(?P<how>)(?P<kin>{_ADDRESSED}){_NAMED} {_ONE}",
    )
)
"""How somebody who is something to a user is told by name."""

_HAVE = re.compile(rf"{_HAVING}{_A_KIN_PLAIN}(?:,? and {_A_KIN_PLAIN})*", re.IGNORECASE)
_HAD = re.compile(_A_KIN, re.IGNORECASE)
_AND = re.compile(r",? and |, | & ")
_TOPIC = re.compile(rf"(?:my|our) {_HOW}(?P<kin>{_WHO}|children)(?P<all>s?)(?:,? (?P<name>{PERSON_NAME}))?", re.I)
_WORDS = re.compile(rf"(?:(?:step|half|ex) (?=(?:{_ROOT})\b))?[\w-]+(?: in law)?")
_NO_NAMES = wordlists.words("names", "no names") | wordlists.words("names", "before names")
_BRIEF = re.compile(
    rf"\b(?:{'|'.join(wordlists.words('facts', 'events') | wordlists.words('names', 'spoken of briefly'))})\b", re.I
)
_OF_OWN = re.compile(r"(?:my|our|the) \w", re.IGNORECASE)
_TIME = rf"(?:{MONTHS_AND_DAYS}|\d|the (?:morning|afternoon|evening)|spring|summer|autumn|winter)"
_BASE = re.compile(r"(?:\b(?:step|half|ex|god)[- ]?)?\b(\w+)(?=[- ]in[- ]law)|\b(?:step|half|ex|god)[- ]?(\w+)", re.I)


@dataclass(frozen=True, slots=True)
class Relation:
    """What somebody is to the user: which one (`how`), called `name` if that is said, or all that are."""

    word: str
    name: str
    are_all: bool
    how: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """All relations that are meant by it: by a partner, a wife, too."""
        return _ONE_OF.get(self.word, frozenset()) | {self.word}

    def may_be_in(self, text: str) -> bool:
        """Whether a text has a word for it."""
        said = _WORDS.findall(text.lower())
        return any(not self.words.isdisjoint({_kin(one), _kin(one.removesuffix("s"))}) for one in said)


@dataclass(frozen=True, slots=True)
class _Link:
    """Somebody's name, what they are to the user, and by which words they are told from others who are the same."""

    name: str
    kin: str
    how: frozenset[str]

    def is_meant(self, relation: Relation) -> bool:
        return self.kin in relation.words or bool(self.how & relation.words)


def relation_in(topic: str) -> Relation | None:
    """The relation that a topic names, and nothing beside it: "my brother", "my brothers", "my brother Heinz"."""
    if not (found := _TOPIC.fullmatch(topic.strip())):
        return None
    name, are_all = found["name"] or "", bool(found["all"]) or found["kin"].lower() == "children"
    if name and are_all:
        return None
    return Relation(_kin(found["kin"]), name, are_all, frozenset(found["how"].lower().split()))


def names_of(relation: Relation, entries: Iterable[Entry], people: People) -> list[str]:
    """The names of whom a user means, as their own statements link these with the relation; none where that is unclear.

    A name by which they call somebody else, too, is not theirs alone. `people` tells which names are of one person.
    """
    by_name = _links_of(relation, list(entries))
    alike = _meant(relation, by_name)
    of = {plain_name(label): person for person in people.persons for label in person.names.values()}
    if len({of[name].slug if name in of else name for name in alike}) > 1 and not relation.are_all:
        return []
    sure = [name for name in alike if not are_of_several({_former(link.kin) for link in by_name[name]})]
    labels = [label for name in sure for label in (of[name].names.values() if name in of else (by_name[name][0].name,))]
    first = [_first_name(label, [*by_name, *of]) for label in labels]
    return list(dict.fromkeys(filter(None, (*labels, *first))))


def _links_of(relation: Relation, entries: Sequence[Entry]) -> dict[str, list[_Link]]:
    """Whoever may be this to the user, by name in plain letters, with all that they are to them."""
    found = [link for entry in entries if relation.may_be_in(entry.text) for link in _links(entry)]
    names = [plain_name(link.name).split()[0] for link in found if link.is_meant(relation)]
    by_name: dict[str, list[_Link]] = defaultdict(list)
    for entry in entries if names else ():
        if any(name in plain_name(entry.text) for name in names):
            for link in _links(entry):
                by_name[plain_name(link.name)].append(link)
    return by_name


def _meant(relation: Relation, by_name: dict[str, list[_Link]]) -> list[str]:
    """The names of those who are this to the user; of several those who are told by the same words."""
    alike = {name: [link for link in links if link.is_meant(relation)] for name, links in by_name.items()}
    named = [name for name, links in alike.items() if links]
    if relation.name:
        return [name for name in named if name == plain_name(relation.name)]
    told = [name for name in named if any(relation.how & link.how for link in alike[name])]
    return told or named


def _first_name(name: str, others: Iterable[str]) -> str:
    """The first name of a full one, if no other full name begins with it."""
    first, *more = plain_words_of(name)
    alike = {words for words in map(plain_words_of, others) if words[0] == first and len(words) > 1}
    return name.split()[0] if more and len(alike) == 1 and name[: len(first)].lower() == first else ""


def _links(entry: Entry) -> Iterator[_Link]:
    """Whom an entry by the user names as theirs."""
    said = as_user_says(entry)
    if entry.role != "user" or entry.speaker or QUOTED.search(said):
        return
    text = with_names(own_words(unfolded(said[:_LONGEST]).replace("’", "'")))
    for found in chain.from_iterable(pattern.finditer(text) for pattern in _TOLD):
        yield from _linked(found)
    for having in _HAVE.finditer(text):
        for found in _HAD.finditer(having[0]):
            yield from _linked(found)
    for name, kins in people_named(said).items():
        yield from (_Link(name.title(), relation_of(kin.removeprefix("best ")), frozenset()) for kin in kins)


def _linked(found: re.Match[str]) -> Iterator[_Link]:
    for name in _AND.split(found["name"]):
        words = name.split()
        while words and words[0].lower() in _NO_NAMES:
            del words[0]
        if words and is_name(" ".join(words)):
            yield _Link(" ".join(words), _kin(found["kin"]), frozenset(found["how"].lower().split()))


def _kin(said: str) -> str:
    """A relation by the words that it was told in: "Sister in law" is "sister-in-law", and "step-dad" a stepfather."""
    word = "child" if said.lower() == "children" else said.lower().replace(" ", "-")
    return relation_of(word.replace("step-", "step"))


def _former(kin: str) -> str:
    return relation_of(kin.removeprefix("ex-"))


def called_otherwise(relation: Relation, entries: Sequence[Entry]) -> list[Entry]:
    """What a user says of whom they mean by another word for the same: of "Mum", who asked for their mother."""
    same = next((words for words in _CALLED if relation.word in words), ())
    if not same or relation.name:
        return []
    own = re.compile(rf"(?:{_OWN}(?:\w+ )?|{_ALONE})(?:{'|'.join(same)})(?:['’]s)?(?![\w-])(?! in[- ]law)", re.I)
    return [entry for entry in entries if entry.role == "user" and not entry.speaker and own.search(entry.text)]


def is_of_others(relation: Relation, text: str) -> bool:
    """Whether a text has the word of a relation only in that of another one: the sister in "my sister-in-law"."""
    if relation.name:
        return False
    said = [one or other for one, other in _BASE.findall(text.lower())]
    return not relation.may_be_in(text) and any(
        relation.word in (_kin(root), _kin(root.removesuffix("s"))) for root in said
    )


def is_of_own(topic: str) -> bool:
    """Whether a topic is what is the user's, as they may have told it before: "my sister", "the knee operation"."""
    return _OF_OWN.match(topic) is not None


def spoken_of_briefly(topic: str, entries: Iterable[Entry]) -> list[Entry]:
    """What a user says of what a topic names, in brief: of "the operation", after "my knee operation", and before any
    other operation is spoken of."""
    told = _BRIEF.search(topic)
    of = terms(_BRIEF.sub(" ", topic.lower())) if told else frozenset()
    if told is None or not of or not is_of_own(topic):
        return []
    is_named = re.compile(rf"\b{told[0]}\b", re.IGNORECASE)
    in_brief = re.compile(
        rf"\b(?:my|our|the|this|that) {told[0]}\b(?! (?:of|with|at|for|in (?!{_TIME}))\b)", re.IGNORECASE
    )
    found, is_it = [], False
    for entry in sorted(entries, key=lambda one: (one.created_at, one.id)):
        if entry.role != "user" or entry.speaker or not is_named.search(entry.text):
            continue
        is_brief = in_brief.search(entry.text) is not None
        is_it = of <= terms(entry.text.lower()) or (is_it and is_brief)
        if is_it:
            found.append(entry)
    return found
