"""Notes about a user as assistants and other memories write them ("User prefers tea"), read as the user would say it.

Only what was kept as a note is read so: in a chat "the user" is mostly the user of something else.
"""

from __future__ import annotations

import re
from functools import partial

from contracts.v1.entries import Entry
from services.shared.core import wordlists
from services.shared.core.bounded import as_read
from services.shared.core.frames import as_stated

_ELSEWHERE = ("mem0:", "zep:", "letta:", "langgraph:")
"""How the sources of what another memory kept begin."""

_LONGEST = 10_000
_section = partial(wordlists.pattern, "notes")
_BETWEEN = re.compile(r"([.!;]\s+|\n)")
_START = r"(?P<start>\s*(?:[-*] )?)"
_ADVERBS = rf"(?P<adverbs>(?:{_section('adverbs')} )*)"
_NOT = r"(?:is|has|does)n['’]t"
_USER = r"(?:the )?user(?: \([^()]{1,40}\))? "
_WHOSE = re.compile(rf"{_START}(?:(?:the )?user['’]s )", re.IGNORECASE)
_SLOT = re.compile(
    rf"{_START}(?=(?:(?i:{_section('slots')})|(?i:{_section('kin')})(?: [A-Z][\w'-]+)?)"
    rf" (?:are|{_section('verbs')})\b)"
)
_DOES = re.compile(
    rf"{_START}{_USER}{_ADVERBS}(?P<verb>[a-z]+s|{_NOT}|{_section('auxiliaries')}|{_section('past')})\b"
    r"(?! (?:is|are|was|were)\b)",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"{_START}{_ADVERBS}(?P<verb>{_NOT}|{_section('verbs')})\b", re.IGNORECASE)
_CALLED = re.compile(
    rf"{_START}{_USER}(?:is (?:called|named)|goes by|(?:prefers|likes|wants) to be called) (?=(?-i:[A-Z]))",
    re.IGNORECASE,
)
_COLON = re.compile(rf"(?<=My )({_section('slots')}):(?= )")
_STATE = re.compile(rf"{_START}(?={_section('states')}\b)", re.IGNORECASE)
_AND = re.compile(rf"(?P<start>(?:,|,? and|,? but) ){_ADVERBS}(?P<verb>{_section('verbs')})\b")
_WITH = re.compile(rf"\bwith (?={_section('kin')}\b)")
_THEIR = re.compile(r"\b(?:their|his|her)\b")
_FIRST_PERSON = {"is": "am", "has": "have", "does": "do"}


def is_note(entry: Entry) -> bool:
    """Whether an entry was kept on request, or comes from another memory: who wrote it need not be the user."""
    return entry.manually_saved or any(source.startswith(_ELSEWHERE) for source in entry.source_ids)


def as_user_says(entry: Entry) -> str:
    """What an entry states as it is read, and nothing of a fiction in it; of a note in the first person."""
    text = as_read(as_stated(entry))
    return in_first_person(text) if is_note(entry) else text


def in_first_person(text: str) -> str:
    """A note as its user would say it: "I prefer tea". Sentences about anybody else stay as they are."""
    said = map(_said, _BETWEEN.split(text[:_LONGEST]))
    return "".join([*said, text[_LONGEST:]])


def _said(sentence: str) -> str:
    if found := _WHOSE.match(sentence) or _SLOT.match(sentence):
        return _COLON.sub(r"\1 is", f"{found['start']}My {_lowered(sentence[found.end() :])}")
    if found := _CALLED.match(sentence):
        return f"{found['start']}My name is {sentence[found.end() :]}"
    if found := _STATE.match(sentence):
        return f"{found['start']}I am {_lowered(sentence[found.end() :])}"
    if found := _DOES.match(sentence) or _ALONE.match(sentence):
        rest = _AND.sub(lambda more: f"{more['start']}{_doing(more)}", sentence[found.end() :])
        return f"{found['start']}I {_doing(found)}{_WITH.sub('with my ', _THEIR.sub('my', rest))}"
    return sentence


def _lowered(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _doing(found: re.Match[str]) -> str:
    """What somebody does as they say it of themselves: "no longer eats" as "no longer eat"."""
    adverbs, verb = found["adverbs"].lower(), found["verb"].lower()
    if re.fullmatch(_NOT, verb):
        return f"{adverbs}{_FIRST_PERSON[verb[:-3]]} not"
    return adverbs + (verb if re.fullmatch(_section("auxiliaries"), verb) else _own(verb))


def _own(verb: str) -> str:
    """The first person of a verb in the third: "carries" as "carry", "watches" as "watch"."""
    if verb in _FIRST_PERSON:
        return _FIRST_PERSON[verb]
    if len(verb) > 4 and verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if re.search(r"(?:ss|sh|ch|x|z|o)es$", verb):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
