"""Words of commands and wishes as they are typed in a hurry: with one typing error, or shortened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial

from services.shared.language import wordlists
from services.shared.language.typing_errors import variants

_TYPED = re.compile(r"(?<![\w'-])[a-z][a-z']{0,13}(?![\w'-])")
_listed = partial(wordlists.listed, "chat_commands")


def respelled(text: str) -> str:
    """The text with the words of commands spelled out; words with a capital stay, but for the first."""
    return _spelled_out(text[:1].lower() + text[1:], "commands")


def wishes_respelled(text: str) -> str:
    """A text in lower case with the words spelled out in which it is wished that something is not remembered."""
    return _spelled_out(text, "wishes")


def _spelled_out(text: str, what: str) -> str:
    return _TYPED.sub(lambda word: _spellings(what).get(word[0], word[0]), text)


@cache
def _spellings(what: str) -> Mapping[str, str]:
    """By other spellings, the words of commands or wishes."""
    words, short = _listed(f"words of {what}"), _listed(f"short words of {what}")
    found = {other: word for word in words for other in variants(word)}
    found |= {other: word for word in short for other in _slips(word)}
    kept = {*words, *short, *_listed("words alike")}
    lines = map(str.split, wordlists.sections("chat_commands")[f"spellings of {what}"])
    typed = {other: word for word, *others in lines for other in others}
    return {other: word for other, word in found.items() if other not in kept} | typed


def _slips(word: str) -> set[str]:
    """A word with one letter left out, doubled, or swapped with the next."""
    splits = [(word[:i], word[i:]) for i in range(len(word))]
    found = {head + tail[1:] for head, tail in splits}
    found |= {head + tail[0] + tail for head, tail in splits}
    return found | {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
