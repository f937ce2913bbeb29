"""Words of commands as they are typed in a hurry: with one typing error, or shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from services.shared.core.typing_errors import variants

_OF_COMMANDS = "forget delete erase remove everything anything remember about memory memories please".split()
_OTHER_WORDS = frozenset(
    "forgets forgot forge forged forger forges deleted deletes deplete erased erases eraser ease rase removed removes "
    "remover remote remembers abort abut bout abouts pleased pleases lease memory's".split()
)
"""Words of their own that are one error away from those."""

_SHORT = {
    **dict.fromkeys("wat wut wot wht waht".split(), "what"),
    **dict.fromkeys("knwo konw".split(), "know"),
    **{"whats": "what's", "abt": "about", "ur": "your", "yuo": "you", "rember": "remember"},
}
_WORD = re.compile(r"\b(?:[a-z]{4,12}|wat|wut|wot|wht|abt|yuo|ur|u(?= \w))\b")


def respelled(text: str) -> str:
    """The text with the words of commands spelled out; words with a capital stay, but for the first."""
    head = text[:1].lower() + text[1:]
    return _WORD.sub(lambda word: _spellings().get(word[0], word[0]), head)


@cache
def _spellings() -> Mapping[str, str]:
    """By other spellings, the words of commands."""
    found = {other: word for word in _OF_COMMANDS for other in variants(word)}
    return {**{other: word for other, word in found.items() if other not in _OTHER_WORDS}, **_SHORT, "u": "you"}
