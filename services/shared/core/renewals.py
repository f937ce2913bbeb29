"""Whether what somebody says is so now takes the place of what they said before, by its own words, not by its subject.

"I have four cats now" changes "I have three cats", as "I love olives now" does "I hate olives".
"""

from __future__ import annotations

import re

from services.shared.core import wordlists
from services.shared.core.statements import SPEAKERS, Clause, kinds, stem, things

_DIGITS = {word: str(number) for number, word in enumerate(wordlists.listed("changes", "numbers"), start=1)}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_DIGITS)})\b")
_TASTE = re.compile(
    r"(?:i|we) (?:(?:really|just|absolutely|actually|quite|totally|always) )*(?P<not>(?:do not|never|cannot) )?"
    r"(?:(?:really|particularly) )?(?P<verb>like|love|enjoy|adore|hate|dislike|detest|stand)"
    r" (?P<what>\w[\w' -]*?)(?: (?:so much|a lot|very much|at all|anymore))?$"
)
_DISLIKES = frozenset("hate dislike detest".split())
_ASKED_FOR = re.compile(
    r"(?:please )?(?:always )?(?P<how>(?:call|address) me(?: as)?"
    r"|(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? in) (?P<what>\w+)(?: please)?"
)
_LIVES = re.compile(r"(?:i|we) live (?:with \w.*|alone|on my own|by myself)")
_LANGUAGES = wordlists.words("changes", "languages")


def takes_the_place(said: str, before: Clause) -> bool:
    """Whether what is said to be so now is another value of what an older clause tells in the same words."""
    lives_otherwise = said != before.text and all(map(_LIVES.fullmatch, (said, before.text)))
    return (
        lives_otherwise
        or _counts_otherwise(said, before.text)
        or _likes_otherwise(said, before.text)
        or _asks_otherwise(said, before)
    )


def _counts_otherwise(said: str, before: str) -> bool:
    """Whether both tell how many, or when, a speaker has or does one thing, and not the same."""
    new, old = said.split(), before.split()
    if not {new[0], old[0]} <= SPEAKERS or len(new) < len(old[:3]) or new[1] != old[1] or old[1] in ("am", "are"):
        return False
    was, is_ = (kinds(_NUMBER_WORD.sub(lambda found: _DIGITS[found[0]], text)) for text in (before, said))
    same = things(_NUMBER_WORD.sub("", said))
    return (
        bool(same) and was.keys() == is_.keys() != set() and was != is_ and same == things(_NUMBER_WORD.sub("", before))
    )


def _likes_otherwise(said: str, before: str) -> bool:
    """Whether both tell if a speaker likes one thing, and not the same."""
    new, old = _TASTE.fullmatch(said), _TASTE.fullmatch(before)
    if new is None or old is None or not things(new["what"]) or things(new["what"]) != things(old["what"]):
        return False
    return _likes(new) != _likes(old)


def _likes(taste: re.Match[str]) -> bool:
    return (taste["verb"] in _DISLIKES) == (taste["not"] is not None)


def _asks_otherwise(said: str, before: Clause) -> bool:
    """Whether both ask to be called by a name, or answered in a language, and not the same."""
    new, old = _ASKED_FOR.fullmatch(said), _ASKED_FOR.fullmatch(before.text)
    if new is None or old is None or stem(new["how"].split()[0]) != stem(old["how"].split()[0]):
        return False
    is_name = " in" not in new["how"]
    return new["what"] != old["what"] and (is_name or {new["what"], old["what"]} <= _LANGUAGES)
