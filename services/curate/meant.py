"""What a command said in a chat means: "that", places in a list, a topic, a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from contracts.ports import Filters, Key, Scope, Selection, TextStore
from contracts.v1.chat import ChatCommand, CommandRequest
from contracts.v1.entries import Entry, Status
from contracts.v1.turns import EVERY_PERSONA
from services.curate.sessions import newest_in
from services.shared.decided import read_decisions
from services.shared.entities.mentions import Word, has, is_found_by_terms, words_in, words_of_topic
from services.shared.erasures import is_hidden
from services.shared.knowledge.facts import known_of
from services.shared.knowledge.people import names_of
from services.shared.language import wordlists
from services.shared.language.analysis import analyze, telling_terms
from services.shared.language.traits import is_mere_request
from services.shared.privacy.chat_commands import asks_to_forget, is_wish, states_something
from services.shared.tasks import apart, beside_the_loop
from services.shared.temporal.time_spans import spans_named

MOST_LISTED = 50
LOOKED_THROUGH = 200
"""Entries said last in which "that", and what tells something, is looked for."""

_MOST_ALIKE = 20
"""Entries in which what a correction resembles is looked for."""

_MOST_READ = 2000
"""Entries of a status, said last, that are read for a topic where no index has them."""

_OUT_OF_USE: tuple[Status, ...] = ("superseded", "archived")
_STATUSES: tuple[Status, ...] = ("active", *_OUT_OF_USE)

_SEVERAL = re.compile(r"^(?>.*?\bforget about\b).*(?:,| and | or )", re.IGNORECASE | re.MULTILINE)
_POINTS = re.compile(r"(?:please )?correct (?:that|this)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(?:its?|that|this|he|she|they|his|hers?|theirs?)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_COMPOUND = re.compile(r"\b(?:step|half|ex|god)[- ]?\w+|\w+[- ]in[- ]law\b", re.IGNORECASE)
_OWN = ("my ", "our ")
_WEAK = wordlists.words("chat_commands", "weak words")
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """A command, as it was said, and where what it means is."""

    request: CommandRequest
    command: ChatCommand
    store: TextStore

    @property
    def persona(self) -> str:
        """Whose memories are meant: what is to be forgotten by topic, whoever was told it."""
        return EVERY_PERSONA if self.is_of_all else self.request.persona_id or ""

    @property
    def is_of_all(self) -> bool:
        """Whether all is meant that the user said, in whichever space that they are let into."""
        return self.command.verb == "forget_about"

    def sees(self, space: str) -> bool:
        """Whether what is in a space may be meant."""
        here, others = self.request.space, self.request.spaces
        return space == here or (self.is_of_all and (others is None or space in others))

    def said_here(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Of the entries of a conversation those of what was said in it, not in another of its name."""
        if self.request.said is None:
            return entries
        said = [_plain(text) for text in self.request.said]
        return [entry for entry in entries if any(_plain(entry.text) in text for text in said)]

    async def spaces(self) -> list[str]:
        """Where what is meant may be in use, first where it was said."""
        held = [one.space for one in await self.store.spaces(self.request.user_id)] if self.is_of_all else []
        return list(dict.fromkeys((self.request.space, *filter(self.sees, held))))


async def meant(said: Said, *, by_answer: bool = False, like: str = "") -> list[Entry]:
    """The entry that "that" is: what was said last in the conversation, or what the last answer rests on; after a
    list of several all of these.

    The user points at what they said or, where they only asked, at what the answer rests on; with `by_answer`, at what
    the assistant used. `like`: of what was listed, stated or shown, what shares most words with this.
    """
    request = said.request
    if await is_hidden(said.store, request.user_id):
        return []
    pointed_at = await entries_of(said, _pointed_at(said))
    scope = Scope(request.user_id, request.space, said.persona)
    shown = [entry for entry in pointed_at if entry.status == "active" and scope.sees(entry)]
    listed = shown if request.listed else []
    if (listed and not like) or said.command.of_list:
        return listed
    if shown and not listed and not like and (by_answer or request.conversation_id is None):
        return shown[:1]
    persona = said.persona if request.conversation_id is None else None  # a conversation is its persona's
    selection = Selection(request.user_id, request.space, persona, conversation_id=request.conversation_id)
    page = await said.store.page(selection, limit=LOOKED_THROUGH, cursor=None)
    told = [entry for entry in said.said_here(page.entries) if not (is_wish(entry.text) or asks_to_forget(entry.text))]
    if by_answer and (used := [entry for entry in told if entry.last_scores and entry.last_scores.computed_at]):
        return [max(used, key=_used_at)]
    by_user = [entry for entry in told if entry.role == "user"] or told
    only_asked = request.conversation_id is None or (by_user and is_mere_request(by_user[0].text))
    answered = [entry for entry in shown if not is_mere_request(entry.text)] if only_asked else []
    if not like:
        return (answered or by_user or shown)[:1]
    return _nearest(
        said, [entry for entry in (*listed, *answered, *by_user, *shown) if not is_mere_request(entry.text)]
    )


def _plain(text: str) -> str:
    """The words of a text between blanks: repeats of what is told are written in other ways."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _nearest(said: Said, entries: Sequence[Entry]) -> list[Entry]:
    """Of these, the entry that shares most words with a correction; the first of them where that points at it."""
    about = said.command.about
    shared = _shared(entries, set(telling_terms(about)))
    if not _POINTS.match(said.request.text.strip()) and not _PRONOUN.match(about):
        entries = [entry for entry in entries if shared[entry.id]]
    return sorted(entries, key=lambda entry: -shared[entry.id])[:1]


def _shared(entries: Sequence[Entry], terms: set[str]) -> dict[str, int]:
    """By id, how many of these terms each entry has."""
    return {entry.id: len(terms.intersection(analyze(entry.text))) for entry in entries}


async def alike(said: Said) -> list[Entry]:
    """What the user stated in the space, in whatever conversation, that says most of a correction in the same words."""
    terms = set(telling_terms(said.command.about))
    if _POINTS.match(said.request.text.strip()) or await is_hidden(said.store, said.request.user_id):
        return []
    entries = [entry for entry in await _found(said, said.request.space, _MOST_ALIKE) if entry.status == "active"]
    stated = [entry for entry in entries if entry.role == "user" and not is_mere_request(entry.text)]
    shared = _shared(stated, terms)
    return sorted((one for one in stated if 2 * shared[one.id] >= len(terms)), key=lambda one: -shared[one.id])[:1]


async def about(said: Said, names: Sequence[str] = ()) -> list[Entry]:
    """The entries that mention all words of the topic themselves, or one of the `names` of whom it means, of the space
    or, to be forgotten, of all: first those in use, then the others."""
    if await is_hidden(said.store, said.request.user_id):
        return []
    own = [one for one in await _about(said) if not _is_of_others(said.command.about, one.text)]
    named = [replace(said, command=said.command.model_copy(update={"about": name})) for name in names]
    found = {entry.id: entry for entry in own} | {entry.id: entry for one in named for entry in await _about(one)}
    in_use = [entry for entry in found.values() if entry.status == "active"]
    return [*in_use, *(entry for entry in found.values() if entry.status != "active")][:MOST_LISTED]


def _is_of_others(topic: str, text: str) -> bool:
    """Whether a text has the word of a relation only in that of another one: the sister in "my sister-in-law"."""
    if _COMPOUND.search(topic):
        return False
    word = topic.split()[-1].casefold() if topic else ""
    return any(word in one[0].casefold() for one in _COMPOUND.finditer(text)) and not re.search(
        rf"\b{re.escape(word)}", _COMPOUND.sub(" ", text), re.IGNORECASE
    )


async def _about(said: Said) -> list[Entry]:
    words = words_of_topic(said.command.about)
    if not words:
        return []
    look = _found if is_found_by_terms(words) else _newest
    active = [entry for space in await said.spaces() for entry in await look(said, space)]
    others = [entry for status in _OUT_OF_USE for entry in await _newest(said, None, status)]
    entries = list({entry.id: entry for entry in (*active, *others)}.values())  # one may go out of use meanwhile
    in_any = bool(_SEVERAL.search(said.request.text))
    chars = sum(len(entry.text) for entry in entries)
    find = _saying_most if said.command.in_clause else partial(_mentioning, in_any=in_any)
    return await beside_the_loop(lambda: find(entries, words), chars)


async def names_meant(said: Said) -> list[str]:
    """The names of whom a topic means by what they are to the user, as their claims say: by "my brother" Heinz."""
    topic = said.command.about
    if not topic.casefold().startswith(_OWN) or await is_hidden(said.store, said.request.user_id):
        return []
    entries = [entry for status in _STATUSES for entry in await _newest(said, None, status)]
    decisions = await read_decisions(said.request.user_id, said.store)
    known, people = await apart(known_of, entries, decisions, now=datetime.now(UTC))
    return names_of(topic, [one.fact for one in known], people)


async def said_then(said: Said, now: datetime) -> list[Entry]:
    """What the user said within a time, or in this conversation in the space: first what is in use, newest first."""
    request, when = said.request, said.command.when.lower()
    in_talk = when.endswith(("chat", "conversation"))
    if await is_hidden(said.store, request.user_id) or (in_talk and request.conversation_id is None):
        return []
    here = (request.space, request.conversation_id) if in_talk else (None, None)
    selection = Selection(request.user_id, here[0], conversation_id=here[1])
    found: dict[str, Entry] = {}
    for status in _STATUSES:
        page = await said.store.page(replace(selection, status=status), limit=LOOKED_THROUGH, cursor=None)
        found |= {entry.id: entry for entry in page.entries if said.sees(entry.space)}
    since, until = (_EVER, None) if in_talk else _stretch(when, now)
    then = [one for one in found.values() if since <= one.last_said_at and (not until or one.last_said_at < until)]
    return [
        entry
        for entry in (said.said_here(then) if in_talk else then)
        if entry.role == "user" and states_something(entry.text)
    ][:MOST_LISTED]


async def entries_of(said: Said, ids: Sequence[str]) -> list[Entry]:
    """The entries of these ids, in order, as far as they are the user's and not forgotten."""
    keys = [Key(said.request.user_id, id_) for id_ in dict.fromkeys(ids)]
    found = await said.store.get(keys)
    entries = (found.get(key.id) for key in keys)
    return [entry for entry in entries if entry and entry.status != "forgotten"]


async def _found(said: Said, space: str, limit: int = 4 * MOST_LISTED) -> list[Entry]:
    """The entries in use in a space that have a word of the topic, the best first."""
    scope = Scope(said.request.user_id, space, said.persona)
    hits = await said.store.search(scope, said.command.about, limit=limit, filters=Filters())
    return await entries_of(said, [hit.id for hit in hits if hit.turn_score > 0])


async def _newest(said: Said, space: str | None, status: Status = "active") -> list[Entry]:
    """The newest entries of a space that are in use, or have another status; None: of all that may be meant."""
    within = space or (None if said.is_of_all else said.request.space)
    entries, _ = await newest_in(Selection(said.request.user_id, within, said.persona, status), said.store, _MOST_READ)
    return [entry for entry in entries if said.sees(entry.space)]


def _mentioning(entries: Sequence[Entry], words: Sequence[Word], *, in_any: bool) -> list[Entry]:
    """The entries that tell something with all of these words, or any of them where none has all and that will do."""
    known = [(entry, words_in(entry.text, entry.tags)) for entry in entries]
    for enough in (all, any) if in_any else (all,):
        mentioning = [entry for entry, its in known if enough(has(its, word) for word in words)]
        if found := [entry for entry in mentioning if states_something(entry.text)]:
            return found
    return []


def _saying_most(entries: Sequence[Entry], words: Sequence[Word]) -> list[Entry]:
    """The entries that tell something with all of these words or, where none has, with most of them and half at least.

    A word that many memories have, such as "like", counts as nothing where it stands alone. One with a digit in it is a
    number or a code, which no other stands for.
    """
    if found := _mentioning(entries, words, in_any=False):
        return found
    codes = [word for word in words if any(map(str.isdecimal, word.folded))]
    shared = {entry.id: _words_had(entry, words) for entry in entries if states_something(entry.text)}
    telling = {
        id_: its
        for id_, its in shared.items()
        if all(code in its for code in codes) and not _WEAK.issuperset(word.folded for word in its)
    }
    most = max(map(len, telling.values()), default=0)
    if not most or 2 * most < len(words):
        return []
    return [one for one in entries if len(telling.get(one.id, ())) == most]


def _words_had(entry: Entry, words: Sequence[Word]) -> list[Word]:
    said = words_in(entry.text, entry.tags)
    return [word for word in words if has(said, word)]


def _pointed_at(said: Said) -> Sequence[str]:
    """The ids of what was shown, or of those places in the list that the command names."""
    shown, places = said.request.shown, said.command.places
    named = [place - 1 if place > 0 else len(shown) + place for place in places]
    return [shown[place] for place in named if 0 <= place < len(shown)] if said.command.of_list and places else shown


def _used_at(entry: Entry) -> tuple[datetime, float]:
    assert entry.last_scores is not None
    assert entry.last_scores.computed_at is not None
    return entry.last_scores.computed_at, entry.last_scores.total


def _stretch(when: str, now: datetime) -> tuple[datetime, datetime | None]:
    """From when until when this is, in the zone of `now`."""
    span = next(iter(spans_named(when, now)), None)
    since = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return (span.since or _EVER, span.until) if span else (since, None)
