"""Commands in natural language: what a text asks of the memory, or that it asks nothing of it.

A command is the whole of a text. One that stands within a longer text, a quotation or a question about commands is
none: a command that is not understood costs the user another sentence, one that was not meant costs a memory. Their
wordings are tables in `data/chat_commands.txt`.
"""

from __future__ import annotations

import re
from typing import cast

from contracts.v1.chat import ChatCommand, ChatVerb
from services.shared.language.language import language_of
from services.shared.language.text import fold
from services.shared.privacy.command_spelling import respelled
from services.shared.privacy.unwanted import Meant, wish_alone
from services.shared.privacy.wordings import alternatives, compiled, kind, slots

_LONGEST = 200  # characters; only a correction may be longer
_APOSTROPHES = str.maketrans("’‘`´“”„", "''''\"\"\"")
_IS = compiled(
    "chat_commands",
    """
    commands, correction, wish to forget, polite before, polite after, asks whether, of the user, in doubt,
    general knowledge, with a statement, verbs of other languages
    """,
)
_WISHED: dict[Meant | None, ChatVerb] = {"chat": "incognito_start", "before": "forget"}
"""The commands that wishes are that nothing of the conversation be kept, or not what was said before."""

_NUMBERS = {"last": -1} | {
    f"{before}{word}": number
    for section, lead in (("ordinal", ("",)), ("cardinal", ("number ", "option ")))
    for number, word in enumerate(alternatives("chat_commands", section), 1)
    for before in lead
}
_NUMBER = re.compile(r"(?:number |option )?[a-z]+|\d+")


def command_in(text: str) -> ChatCommand | None:
    """The command that a text is, or None."""
    said = text.translate(_APOSTROPHES).strip()
    if found := _IS["correction"].fullmatch(said):
        return ChatCommand(verb="correct", about=slots(found)["about"])
    if len(said) > _LONGEST or "\n" in said:
        return None
    plain = respelled(said)
    if command := _understood(said) or (_understood(plain) if plain.lower() != said.lower() else None):
        return command
    verb = _WISHED.get(wish_alone(said))
    return ChatCommand(verb=verb) if verb else None


def _understood(said: str) -> ChatCommand | None:
    words = without_manners(said)
    if not (found := _IS["commands"].fullmatch(words)):
        return None
    its, verb = slots(found), cast(ChatVerb, kind(found))
    if verb in ("erase", "forget_about") and _IS["asks whether"].search(said):
        return None
    if "all" in its or "places" in its:
        return ChatCommand(verb=verb, of_list=True, places=places_in(its.get("places", "")))
    if when := its.get("when"):
        return ChatCommand(verb=verb, about=f"what you said {when}", when=when)
    about = next((its[slot] for slot in ("about", "loose", "asked", "clause") if slot in its), "")
    is_loose = "loose" in its or ("clause" in its and _IS["in doubt"].search(its["clause"]) is not None)
    if verb == "recall":
        is_loose = not _IS["of the user"].search(words)
    in_clause = verb == "forget_about" and not {"asked", "clause"}.isdisjoint(its)
    return ChatCommand(verb=verb, about=about, in_clause=in_clause, or_chat=bool(about) and is_loose)


def is_wish(text: str) -> bool:
    """Whether a text is a command that tells nothing new, as a correction does."""
    found = command_in(text)
    return found is not None and found.verb != "correct"


def states_something(text: str) -> bool:
    """Whether a text tells something that may be remembered: it is no command, or one with a statement in it."""
    return not is_wish(text) or _IS["with a statement"].search(text) is not None


def asks_in_general(text: str) -> bool:
    """Whether a question is one of general knowledge unless a memory mentions what it names: "what do you know …?"."""
    return _IS["general knowledge"].search(respelled(text)) is not None


def asks_to_forget(text: str) -> bool:
    """Whether a text is a wish to have something forgotten, understood or not, and tells nothing beside it."""
    said = text.translate(_APOSTROPHES).strip()
    if len(said) > _LONGEST or "\n" in said:
        return False
    words = without_manners(respelled(said))
    found = _IS["wish to forget"].fullmatch(words)
    return found is not None and ("sure" in slots(found) or not _is_of_other_language(words))


def _is_of_other_language(words: str) -> bool:
    """Whether a sentence that begins with an English verb is of another language: "Forget Paris war ein Film."."""
    is_other = language_of(re.findall(r"\w+", fold(words))) not in (None, "english")
    return is_other and _IS["verbs of other languages"].search(words) is not None


def without_manners(said: str) -> str:
    """What is said without "please" and the like around it."""
    said = " ".join(said.split())
    while found := _IS["polite before"].match(said):
        said = said[found.end() :]
    return _IS["polite after"].sub("", said)


def places_in(words: str) -> tuple[int, ...]:
    """The places of a list that are named, from 1 on, in order; -1 is the last."""
    found = (int(one) if one.isdecimal() else _NUMBERS.get(one) for one in _NUMBER.findall(words.lower()))
    return tuple(dict.fromkeys(place for place in found if place is not None))
