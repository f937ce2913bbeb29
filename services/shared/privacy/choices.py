"""Which of a list somebody chooses who is asked whether all of it is meant: by place, or by a word of only one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.shared.entities.mentions import mentions
from services.shared.language import wordlists
from services.shared.privacy.chat_commands import without_manners
from services.shared.privacy.listed_places import PLACES, places_in

_LONGEST, _MOST_WORDS = 80, 4


def _compiled(section: str) -> str:
    return wordlists.pattern("chat_commands", section)


_LEAD = re.compile(rf"(?:(?P<excepts>{_compiled('choice excepts')})|{_compiled('choice lead')})\b[,.!:;]* *", re.I)
_TRAIL = re.compile(rf"[ ,]+{_compiled('choice trail')}$", re.IGNORECASE)
_POINTS = re.compile(rf"{_compiled('choice points')} ", re.IGNORECASE)
_PLACES = re.compile(PLACES, re.IGNORECASE)
_NO_CHOICE = re.compile(rf"\b{_compiled('no choice')}\b|\?", re.IGNORECASE)


def chosen(text: str, listed: Sequence[str]) -> tuple[int, ...]:
    """The places, from 1 on, of what is chosen of these texts; none where a text chooses nothing."""
    if len(text) > _LONGEST or "?" in text:
        return ()
    words, excepts = without_manners(text), False
    while (lead := _LEAD.match(words)) and not _PLACES.fullmatch(words):
        words, excepts = words[lead.end() :], excepts or bool(lead["excepts"])
    words = words if _PLACES.fullmatch(words) else _TRAIL.sub("", words)
    named = _at_places(words, len(listed)) if _PLACES.fullmatch(words) else _by_word(words, listed)
    if not named or not excepts:
        return named
    return tuple(place for place in range(1, len(listed) + 1) if place not in named)


def _at_places(words: str, length: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(length if place < 0 else place for place in places_in(words)))


def _by_word(words: str, listed: Sequence[str]) -> tuple[int, ...]:
    """The place of the only text that has these words."""
    words = _POINTS.sub("", words)
    if len(words.split()) > _MOST_WORDS or _NO_CHOICE.search(words):
        return ()
    having = [place for place, text in enumerate(listed, 1) if mentions(text, words)]
    return tuple(having) if len(having) == 1 else ()
