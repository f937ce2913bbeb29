"""Words of commands and wishes as they are typed in a hurry: with one typing error, or shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from services.shared.language.typing_errors import variants

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

_OF_WISHES = "remember memory record memorise memorize forget anything everything conversation incognito please".split()
_SHORT_OF_WISHES = "this that save keep store dont don't record message said".split()
"""Words so short that many others are one letter away: of these a letter left out, doubled, or swapped is meant."""

_WORDS_OF_WISHES = _OTHER_WORDS | frozenset(
    "his hat tat tha ave tore sore dot don ont sad aid sid sage massage messages records recorded saved keeps saves "
    "stores memories memoir memoirs memorial".split()
)
_SHORT_IN_WISHES = {
    **{
        f"{verb}nt": f"{verb}n't"
        for verb in "do does did is are was were wo would could should must need has have".split()
    },
    **{
        "dnt": "don't",
        "do'nt": "don't",
        "rmbr": "remember",
        "teh": "the",
        "dis": "this",
        "dat": "that",
        "msg": "message",
    },
    **{"u": "you", "ye": "you", "ya": "you", "ur": "your", "n": "and", "wud": "would", "cud": "could", "im": "i'm"},
    **{"ive": "i've", "thats": "that's", "whats": "what's", "msgs": "messages"},
}
_TYPED = re.compile(r"(?<![\w'-])[a-z][a-z']{0,13}(?![\w'-])")


def respelled(text: str) -> str:
    """The text with the words of commands spelled out; words with a capital stay, but for the first."""
    head = text[:1].lower() + text[1:]
    return _WORD.sub(lambda word: _spellings().get(word[0], word[0]), head)


@cache
def _spellings() -> Mapping[str, str]:
    """By other spellings, the words of commands."""
    found = {other: word for word in _OF_COMMANDS for other in variants(word)}
    return {**{other: word for other, word in found.items() if other not in _OTHER_WORDS}, **_SHORT, "u": "you"}


def wishes_respelled(text: str) -> str:
    """A text in lower case with the words spelled out in which it is wished that something is not remembered."""
    return _TYPED.sub(lambda word: _spellings_of_wishes().get(word[0], word[0]), text)


@cache
def _spellings_of_wishes() -> Mapping[str, str]:
    """By other spellings, the words of wishes."""
    found = {other: word for word in _OF_WISHES for other in variants(word)}
    found |= {other: word for word in _SHORT_OF_WISHES for other in _slips(word)}
    kept = (*_OF_WISHES, *_SHORT_OF_WISHES, *_WORDS_OF_WISHES)
    return {other: word for other, word in found.items() if other not in kept} | _SHORT_IN_WISHES


def _slips(word: str) -> set[str]:
    """A word with one letter left out, doubled, or swapped with the next."""
    splits = [(word[:i], word[i:]) for i in range(len(word))]
    found = {head + tail[1:] for head, tail in splits}
    found |= {head + tail[0] + tail for head, tail in splits}
    return found | {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
