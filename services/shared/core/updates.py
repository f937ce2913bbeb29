"""Whether a newer statement of somebody changes an older one of theirs: rules on English wording, no model.

Only what is said outright changes anything: a cue ("has moved to", "no longer", "my new …", "actually", "instead of"),
and the same thing in both. When in doubt it does not: a wrong change hides a memory that is true.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import chain, takewhile
from typing import Literal, TypeAlias

from services.shared.core import wordlists
from services.shared.core.claims import ADDING, PASSING, Claim, claims, clauses_of
from services.shared.core.fact_values import may_be_a_place
from services.shared.core.having import BEING, JOINING, PLACING, is_called, is_had, verb_and_name
from services.shared.core.occasions import RECURRING, is_once
from services.shared.core.renewals import (
    MADE,
    counts_at_another_time,
    is_another_dose,
    is_of_another_kind,
    takes_the_place,
)
from services.shared.core.statements import (
    KIN,
    NEGATIONS,
    SPEAKERS,
    STATIVE,
    Clause,
    Sentence,
    differ,
    is_one_of_several,
    kinds,
    parsed,
    stem,
    subject_of,
    terms,
    things,
    things_stated,
    without_light,
)

Relation: TypeAlias = Literal["update", "contradiction", "compatible", "unrelated"]

_section = partial(wordlists.pattern, "changes")
_AUX = f"{_section('auxiliaries')}*"
_BY = re.compile(
    rf"(?:the |my |our )?(?P<by>(?!i |we )[\w.'-]+(?: [\w.'-]+){{0,3}}?)"
    rf" (?:{_AUX}(?:{_section('moved')}|{_section('called off')}|called off|cancel) (?:my|our|the) \w"
    r"|(?:called|rang|phoned|wrote|emailed|texted|messaged|says|said|told (?:me|us)|informed (?:me|us))\b(?! off))"
)
_OF_NEW = re.compile(r"(?:my|our) new ")
_IS_OURS = re.compile(r"(?:.+ and )?(?P<who>\w[\w.]*(?: [\w.]+)?) is (?:still )?(?P<own>(?:my|our) \w+(?: \w+){0,3})$")
_NAME_OF = re.compile(
    r"^(?P<whose>(?:my|our|the) (?!(?:first|last|middle|full|family|user|maiden|pet)\b)\w+(?: \w+)?) name$"
)
_ORDINAL = re.compile(r"\b(\d\d?)(?:st|nd|rd|th)\b")
_SINGLE = wordlists.words("changes", "single")
_BELONGING = wordlists.words("changes", "belonging")
_DETERMINED = re.compile(r"(?:my|our|the) |\w.* (?:for|of) \w")
_DESCRIBED = re.compile(r"\w+ an? ")
_TELLERS = frozenset({"i", "we", "my", "our", "the"})
_LONGEST_QUERY = 300  # characters
_MOST_WORDS = 40
_DETERMINERS = frozenset("my our the this that".split())
_TO_PLACE = re.compile(r"\b(?:moved?|moving|relocated|shifted)\b")
_AND = re.compile(r",? (?:and|&) |, ")
_PLACED_AT = re.compile(r"\b(?:on|at|in|for|with|to) ")
_PLACED = frozenset("is are live lives meet meets sit sits happens takes runs".split())
_STARTING = frozenset("starts start begins begin leaves leave departs".split())
_OF_OTHERS = frozenset("my our the his her their many most some".split())
_PAST = frozenset("was were came went".split())
_NAMED_WITH = 1
"""Words that may stand before a name, as the make before the Golf."""

_NAMED_OTHERWISE = 3
"""Things of a statement besides what is over, where that is named in other words."""

_LEFT_BESIDE = 4
"""Terms of a statement besides what is over."""

_OF_WORK = frozenset(map(stem, "work live study teach write learn know want need".split()))
_LEFT_WORK = re.compile(r"\b(?:quit|left|resigned|retired|moved|lost)\b")
_OF_TASTE = re.compile(r"\b(?:favourite|favorite|called|named|nickname|hint|dream)\b")
_SPECIFIC = re.compile(r"\b(?:the (?:last|latest|new|newest|first|second|third|next)|this|that|one of)\b")
_AT_HOUR = re.compile(r"at \d\d?(?:[:.]\d\d)? ?(?:am|pm)?")
_AT_WORK = re.compile(r"\b(?:at|for) work\b")
_DOSE = re.compile(r"(?<=\w) (?:dose|dosage)$")
_MADE_OTHERWISE = re.compile(r"\b(?:switched|changed|migrated|ported|rewritten|rewrote)\b")
_MADE_WITH = re.compile(rf"{MADE} (?:in|on|with|at) |runs? on ")
_NO_PERSON = re.compile(r"\b(?:password|package|file|window|task) manager\b")
_OF_AGE = frozenset(map(stem, "year old".split()))
_LEAST_DENIED = 2  # things that a negation has in common with what it denies in part
_LEFT_OUT = 2  # things of a plan that need not be named to say that nothing comes of it
_PRONOUNS = frozenset("it he she they him her them us that this there you everything which".split())


def to_compare(text: str) -> str | None:
    """The words by which to look for older statements that a text may change or contradict; None if it cannot."""
    comparable = [claim.said for claim in claims(text) if claim.form or _tells_one_thing(claim.said)]
    return " ".join(comparable)[:_LONGEST_QUERY] or None


def _tells_one_thing(said: str) -> bool:
    """Whether a statement without a cue tells of its speaker, or of something of theirs, what can only be so or not."""
    if said.split(maxsplit=1)[0] not in _TELLERS or ADDING.search(said):
        return False
    sentence = parsed(said)
    return not NEGATIONS.isdisjoint(said.split()) or (sentence is not None and sentence.verb in _SINGLE)


def tells_more(text: str) -> bool:
    """Whether a text states several things, so that a change of one of them leaves others that are still so."""
    return sum(things_stated(clause.text) for clause in clauses_of(text)) > 1 or len(text.split()) > _MOST_WORDS


def leaves_some(old: str, new: str) -> bool:
    """Whether an older text states more than what a newer one changes: something else, or the same of another thing."""
    if tells_more(old):
        return True
    told = [replace(claim, topic="") if claim.form == "instead" else claim for claim in claims(new) if claim.form]
    amounts = [claim for claim in told if claim.form == "moved" and kinds(claim.new).keys() == {"number"}]
    if amounts and any(
        sum("number" in kinds(part) for part in _AND.split(clause.text)) > 1 for clause in clauses_of(old)
    ):
        return True
    ended = [verb_and_name(claim.old)[1] for claim in told if claim.form in ("ended", "switched")]
    changed = [part for claim in told for part in (claim.old, claim.topic, _upgraded(claim)) if part]
    changed += [name for name in (*ended, *chain(*map(_PLACED_AT.split, ended))) if terms(name)]
    return any(is_one_of_several(one, clause.text) for one in changed for clause in clauses_of(old))


def subjects_of(text: str) -> frozenset[str]:
    """What the statements of a text are about, without what they say of it."""
    sentences = [parsed(clause.text) for clause in clauses_of(text)]
    return frozenset(term for sentence in sentences if sentence for term in terms(sentence.subject))


def relation(old: str, new: str) -> Relation:
    """How the newer statement of a speaker relates to an older one of the same speaker."""
    related = False
    contradicted = False
    party = _party(new)
    for before in clauses_of(old):
        for claim in claims(new):
            changes = claim.form is not None and _changes(claim, before)
            if claim.form == "renewed" and (
                is_of_another_kind(_stated(claim.said), _stated(before.text), new, old)
                or counts_at_another_time(claim.said, before.text)
            ):
                continue
            changes = changes and not is_once(claim, before, new, does=is_stative(before))
            if changes and not _is_beside(claim, before, new) and not _is_with_another(claim, before, party):
                return "update"
            contradicted = contradicted or (claim.form is None and _contradicts(claim, before))
        related = related or any(before.terms & after.terms for after in clauses_of(new))
    if contradicted:
        return "contradiction"
    return "compatible" if related else "unrelated"


def _changes(claim: Claim, before: Clause) -> bool:
    """Whether the change is one of what was said before."""
    if before.past or not before.meant or claim.form == "begun":
        return False
    if claim.form == "renewed":
        if claim.old and not _is_found(claim.old, before.text):
            return False
        return _contradicts(claim, before) or _replaces(claim, before) or takes_the_place(claim.said, before.text)
    if claim.form == "instead":
        return _takes_the_place(claim, before)
    if claim.form == "moved":
        return _moves(claim, before) or is_another_dose(claim.said, before.text)
    if claim.form == "upgraded":
        return _is_another_version(claim, before)
    if claim.form == "returned":
        return _returns(claim, before)
    if claim.form == "called off":
        return _is_called_off(claim, before)
    return _gives_up(claim, before)


def _replaces(claim: Claim, before: Clause) -> bool:
    """Whether what is told to be so in place of an old value is said of nothing but what had it."""
    said = things(claim.said)
    return bool(claim.old and said) and said <= before.things and not _is_found(claim.old, claim.said)


def _party(text: str) -> frozenset[str]:
    """Who made or told of a change, as the garage that moved an appointment; nobody of the speaker's own people."""
    named = (found["by"] for clause in clauses_of(text) if (found := _BY.match(clause.text)))
    return frozenset().union(*(terms(by) - KIN for by in named if by not in _PRONOUNS | SPEAKERS))


def _is_with_another(claim: Claim, before: Clause, party: frozenset[str]) -> bool:
    """Whether an older clause tells of an appointment, a lesson or the like with others than the party that changed one
    which has no other name."""
    about = terms(claim.topic)
    if not party or len(about) != 1 or not party.isdisjoint(before.terms):
        return False
    is_amount = claim.form == "moved" and kinds(claim.new).keys() == {"number"}
    return not is_amount and not before.things <= about


def _is_pronoun(topic: str) -> bool:
    return topic in _PRONOUNS or not terms(topic)


def _is_about(topic: str, before: Clause) -> bool:
    """Whether an older clause is about this thing: it has all of its terms, and is nobody else's."""
    about = terms(topic)
    return bool(about) and about <= before.terms and _owners(topic) == _owners(before.text) & (about | KIN)


_MANY_AT_A_TIME = frozenset(map(stem, wordlists.listed("changes", "many at a time")))


def _owners(said: str) -> frozenset[str]:
    return terms(_NO_PERSON.sub("", said)) & KIN


def _moves(claim: Claim, before: Clause) -> bool:
    if not _is_about(claim.topic, before):
        claim = replace(claim, topic=_DOSE.sub("", claim.topic))
    if _is_pronoun(claim.topic) or not _is_about(claim.topic, before):
        return False
    if claim.old and not _is_found(claim.old, before.text):
        return False
    was, is_ = kinds(before.text), kinds(claim.new)
    if was.keys() & is_.keys():
        return differ(is_, was) and _is_when(claim.topic, before)
    sentence = parsed(before.text)
    if sentence is None or (is_ and not ("clock" in was and is_.keys() == {"number"})):
        others = before.things - terms(claim.topic) - terms(claim.old)
        return bool(claim.old) and (sentence is not None or len(others) <= _LEFT_OUT)
    if is_:
        return True
    is_made = _MADE_WITH.match(f"{sentence.verb} {sentence.value}") and _MADE_OTHERWISE.search(claim.said)
    if is_made and things(claim.topic) == things(sentence.subject):
        return True
    if terms(claim.topic) != terms(sentence.subject) or terms(claim.new) <= terms(sentence.value):
        return False
    is_somebody = claim.topic.split()[0] not in _DETERMINERS or bool(_owners(claim.topic))
    is_moved = _TO_PLACE.search(claim.said) is not None
    if is_moved and not is_somebody and sentence.preposition in ("in", "at") and not may_be_a_place(claim.new):
        return False
    return _tells_place(sentence, is_somebody) if is_somebody or is_moved else not was


def _is_when(topic: str, before: Clause) -> bool:
    """Whether an older clause tells when something is to be, or how much it is: not what is about it, as the wedding
    dress, nor what was."""
    name = without_light(topic)
    if before.words[0] in SPEAKERS:
        is_paid = "pay" in before.words and name in before.text
        return is_paid or (is_stative(before) and is_had(name, before, most=_NAMED_WITH) is not None)
    if any(claim.form == "moved" and things(claim.topic) == things(topic) for claim in claims(before.text)):
        return True
    sentence = parsed(before.text)
    if sentence is None or sentence.verb in _PAST:
        return sentence is None and things(subject_of(before.text)) <= things(topic)
    subject = _DOSE.sub("", sentence.subject)
    head = list(takewhile(lambda word: word not in JOINING, subject.split()))
    is_whole = things(topic) <= things(subject) and head[-1:] == name.split()[-1:]
    return is_whole or things(subject) == things(_DOSE.sub("", topic))


def _tells_place(sentence: Sentence, is_somebody: bool) -> bool:
    """Whether a sentence tells where something is, or who goes by a name: no more than that changes when it moves."""
    if not is_somebody or "live" in sentence.verb:
        return sentence.verb in _PLACED and sentence.preposition in PLACING
    is_named = sentence.value.split()[1:2] not in (["a"], ["an"], ["the"])
    return sentence.verb in BEING and sentence.preposition in ("in", "at", "near") and is_named


def _is_called_off(claim: Claim, before: Clause) -> bool:
    """Whether an older clause tells when what was called off is to be, or that its speaker has it or goes there.

    Others may still do so, what is called after it goes on, and so does the gym whose member one is no more.
    """
    if _is_pronoun(claim.topic) or not _is_about(claim.topic, before):
        return False
    name = without_light(claim.topic)
    if before.words[0] in SPEAKERS:
        is_there = name in before.text and "pay" not in before.words
        main = is_had(name, before, most=_NAMED_WITH) if is_there else ""
        return is_stative(before) and main is not None and main not in _OF_WORK
    if (sentence := parsed(before.text)) is None:
        return False
    is_own = before.words[0] in ("my", "our")
    if things(sentence.subject) == things(name) or (not is_own and sentence.subject.endswith(name)):
        return is_own or claim.said.split()[0] not in SPEAKERS or bool(kinds(sentence.value))
    return is_own and sentence.value == name


def _is_found(value: str, said: str) -> bool:
    wanted = terms(_ORDINAL.sub(r"\1", value))
    return bool(wanted) and wanted <= terms(_ORDINAL.sub(r"\1", said))


def _gives_up(claim: Claim, before: Clause) -> bool:
    """Whether an older clause tells that the speaker has, does or is what is so no more."""
    if _SPECIFIC.search(claim.old) and not _SPECIFIC.search(before.text):
        return False
    if claim.form == "switched" and _TO_PLACE.search(claim.said) and not terms(claim.topic) <= before.terms:
        return False  # the photos moved, and nothing else that was there
    purpose = claim.new.partition(" for ")[2] if claim.form == "switched" else ""
    if not terms(purpose) <= before.terms or (_AT_WORK.search(claim.new) and not _AT_WORK.search(before.text)):
        return False
    if not _is_found(claim.old, before.text) or not is_stative(before) or _owners(before.text) - terms(claim.said):
        return False
    if set(claim.old.split()) & _PRONOUNS - set(before.words):
        return False
    if claim.form == "left" and not (before.terms & _BELONGING or parsed(before.text) is None):
        return False
    topic = "" if claim.topic in SPEAKERS else claim.topic
    if topic and _owners(topic) and before.text.startswith(f"{topic} "):  # as who is told of would say it
        before, topic = replace(before, text=f"i{before.text.removeprefix(topic)}"), ""
    if claim.form == "ended" and topic:
        return not _is_pronoun(topic) and _is_found(topic, before.text)
    return _is_what_one_had(claim, topic, before)


def _is_what_one_had(claim: Claim, topic: str, before: Clause) -> bool:
    """Whether an older clause tells that the speaker has, uses or does what is over, and of nothing that is only called
    after it: of giving up coffee neither a dog called Coffee knows, nor who works for a coffee shop."""
    verb, name = verb_and_name(claim.old)
    if len(before.terms - terms(claim.old) - terms(topic)) > _LEFT_BESIDE or not name:
        return False
    if " " in name and name not in before.text:  # the university gym, which was the gym at the university
        return before.words[0] in SPEAKERS and len(before.things - terms(name)) <= _NAMED_OTHERWISE
    if before.words[0] in SPEAKERS:
        main = is_had(name, before, verb=verb, beside=topic, most=_NAMED_WITH)
        return main is not None and (main not in _OF_WORK or main == verb or _LEFT_WORK.search(claim.said) is not None)
    if claim.form == "left" or verb or (claim.form != "switched" and before.words[0] not in ("my", "our")):
        return False
    sentence = parsed(before.text)
    is_used = sentence.verb not in BEING if sentence else "uses" in before.words
    runs_on = claim.form == "switched" and is_used
    return (is_called(name, before) and not _OF_TASTE.search(before.text)) or (runs_on and before.text.endswith(name))


def _is_another_version(claim: Claim, before: Clause) -> bool:
    """Whether an older clause tells another version of what was upgraded, and names whose it is."""
    if not is_stative(before):
        return False
    name, version = _upgraded(claim), claim.new.split()[-1].removeprefix("v")
    was = re.search(rf"(?<!\w){re.escape(name)} (?:version )?v?(?P<version>\d[\w.]*)", before.text) if name else None
    topic = frozenset() if _is_pronoun(claim.topic) else terms(claim.topic)
    return was is not None and was["version"].rstrip(".") != version and topic <= before.terms


def _upgraded(claim: Claim) -> str:
    """Of what a claim tells another version: what it names with it, or is about."""
    if claim.form != "upgraded":
        return ""
    *words, _ = claim.new.split()
    return " ".join(words) or ("" if _is_pronoun(claim.topic) else claim.topic)


def _returns(claim: Claim, before: Clause) -> bool:
    """Whether an older clause tells of a change away from what its speaker has or does again."""
    again = terms(claim.new)
    return any(
        earlier.form in ("switched", "moved", "ended") and bool(again) and again == terms(earlier.old)
        for earlier in claims(before.text)
    )


def is_stative(before: Clause) -> bool:
    """Whether a clause tells what its speaker, or something of theirs, does or is as a rule."""
    if any(claim.new and claim.said == before.text for claim in claims(before.text)):
        return True  # it tells itself of a change, to what is so since then
    sentence = parsed(before.text)
    verb = sentence.verb if sentence and before.words[0] not in SPEAKERS else ""
    words = [*before.words[1:4], verb]
    return any(word in STATIVE or word.removesuffix("s") in STATIVE for word in words)


def _takes_the_place(claim: Claim, before: Clause) -> bool:
    if PASSING.search(claim.said) or not _is_found(claim.old, before.text):
        return False
    who = subject_of(claim.topic)
    first = claim.topic.split()[0]
    is_own = {first, before.words[0]} <= SPEAKERS
    if before.words[0] in SPEAKERS and first in _OF_OTHERS and len(claim.topic.split()) > 2:
        return False
    if not is_own and who != claim.topic and not terms(who) <= terms(subject_of(before.text)):
        return False  # what others do instead
    was = terms(claim.old)
    kept = terms(claim.topic) & before.terms - was
    does_it = is_own and claim.topic.split()[1:2] == before.words[1:2] and before.terms <= was
    return does_it or (bool(kept) and len(before.terms - was - kept) <= 2)


def _is_beside(claim: Claim, before: Clause, text: str) -> bool:
    """Whether what the text says of "my new …" leaves the older statement be: there may be several, or it was as new,
    and the text only tells what that is like, and no name."""
    new = _stated(claim.said) if claim.form == "renewed" and _OF_NEW.match(claim.said) else None
    if new is None:
        return False
    if not terms(new.subject).isdisjoint(_MANY_AT_A_TIME):
        return True
    first = new.value.split(" ", 1)[0]
    written = re.search(rf"(?<![.!?] )\b{re.escape(first)}", text, re.IGNORECASE) if first else None
    return _OF_NEW.match(before.text) is not None and (written is None or written[0][0].islower())


def _contradicts(claim: Claim, before: Clause) -> bool:
    """Whether it gives the same subject another value, or says that it is not so."""
    if before.past or not before.meant:
        return False
    return _gives_another_value(claim.said, before) or _denies(claim, before)


def _gives_another_value(said: str, before: Clause) -> bool:
    new, old = _stated(said), _stated(before.text)
    if ADDING.search(said) or new is None or old is None or new.negated or old.negated:
        return False
    if old.verb not in _SINGLE or not _same_subject(new, old) or (_IS_OURS.match(before.text) and not _names(new)):
        return False
    was, is_ = kinds(old.value), kinds(new.value)
    if not (was or is_) or (
        _OF_NEW.match(said) and {*was, *is_} == {"number"} and things(new.value) != things(old.value)
    ):
        return _another_word(new, old)
    if stem(new.verb) != stem(old.verb) and not {new.verb, old.verb} <= BEING | _STARTING:
        return False
    if {"clock"} == was.keys() != is_.keys() and all(_AT_HOUR.fullmatch(one.value) for one in (old, new)):
        return True  # from 9:30 to 10
    if is_.keys() == was.keys() == {"number"} and not things(new.value) <= things(old.value):
        return False  # of another unit
    if not things(new.value) and _owners(new.subject) and not things(old.value) <= _OF_AGE:
        return False  # an age, and a height
    days, olds = is_.get("day", frozenset()), was.get("day", frozenset())
    if {"day", "clock"} <= is_.keys() & was.keys() and RECURRING.search(new.value) and is_["day"] != was["day"]:
        return False  # of another day of the week
    if RECURRING.search(new.value) and min(map(len, (days, olds))) > 1 and days.isdisjoint(olds):
        return False
    is_of_them = new.subject in SPEAKERS and stem(new.verb) in BEING and terms(new.value) - terms(old.value)
    return differ(is_, was) and not (is_of_them and things(new.value) != things(old.value))


def _stated(said: str) -> Sentence | None:
    """A clause as what is said of something: "Rita is my boss" is said of the boss, as is where something moved to."""
    for claim in claims(said):
        if claim.form == "moved" and claim.new:
            return Sentence(claim.topic, "is", claim.new, negated=False)
    turned = _IS_OURS.match(said)
    if turned and turned["who"] not in _PRONOUNS and not terms(turned["own"]) & _MANY_AT_A_TIME:
        return Sentence(f"{turned['own']} called", "is", turned["who"], negated=False)
    sentence = parsed(said)
    return sentence and replace(sentence, subject=_NAME_OF.sub(r"\g<whose>", sentence.subject))


def _names(new: Sentence) -> bool:
    """Whether a sentence surely tells who or what something is, and not only how."""
    return not {"new", "called", "named"}.isdisjoint([*new.subject.split(), *new.value.split()])


def _same_subject(new: Sentence, old: Sentence) -> bool:
    if new.subject in SPEAKERS and old.subject in SPEAKERS:
        return new.subject == old.subject and stem(new.verb) == stem(old.verb) and new.preposition == old.preposition
    return bool(terms(new.subject)) and terms(new.subject) == terms(old.subject)


def _another_word(new: Sentence, old: Sentence) -> bool:
    """Whether a value without numbers is another one, and of the same kind."""
    was, is_ = terms(old.value), terms(new.value)
    if not was or not is_ or was <= is_ or is_ <= was or new.preposition != old.preposition:
        return False
    if stem(new.verb) != stem(old.verb):
        return False
    if new.subject in SPEAKERS:
        of_one_kind = _DESCRIBED.match(new.value) is None and _DESCRIBED.match(old.value) is None
        return (new.verb in ("live", "work") and of_one_kind) or bool(new.preposition and was & is_)
    determined = any(_DETERMINED.match(one.subject) for one in (old, new))
    return determined or bool(was & is_)


def _denies(claim: Claim, before: Clause) -> bool:
    """Whether one is the other with a negation, which need not tell when, nor, with a cue, all that was planned."""
    new = claim.said.split()
    if NEGATIONS.isdisjoint(new) == NEGATIONS.isdisjoint(before.text.split()):
        return False
    denied = terms(claim.said)
    if denied == before.terms or len(denied) < _LEAST_DENIED or not denied < before.terms:
        return bool(denied) and denied == before.terms
    is_of_one = {new[0], *before.words[:1]} <= SPEAKERS and not NEGATIONS.isdisjoint(new) and "did" not in new
    return is_of_one and len(before.things - denied) <= (_LEFT_OUT if claim.form == "renewed" else 0)
