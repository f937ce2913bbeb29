"""What one says who is asked whether something shall be done: a yes, a no, or which of a list, and nothing else.

What goes on ("yes, but …"), what tells something ("no, Thursday") and what asks is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.shared.entities.mentions import mentions
from services.shared.language.text import unfolded
from services.shared.privacy.chat_commands import places_in, without_manners
from services.shared.privacy.wordings import compiled, slots

_LONGEST, _MOST_WORDS = 80, 12
"""Of characters and of words, so that no text can be read in very many ways."""

_SIGNS = {
    **dict.fromkeys("👍✅✔☑👌🆗", " yes "),
    **dict.fromkeys("👎❌✖✗✘❎🙅🚫⛔🛑✋🖐🤚🚷🙊☠", " no "),
}
_ASKS = re.compile("[?\N{BLACK QUESTION MARK ORNAMENT}\N{WHITE QUESTION MARK ORNAMENT}\N{THINKING FACE}]")
_BETWEEN = re.compile(r"[^\w']+|(?<!\w)'|'(?!\w)")
_PLAIN = str.maketrans({**dict(zip("’‘`´íìÍÌ", "''''iiII", strict=True)), **_SIGNS})
_IS = compiled("chat_commands", "yes to forgetting, yes to changing, no, choice")


def is_yes(text: str, *, to_change: bool = False) -> bool:
    """Whether a text agrees that something is forgotten, or with `to_change` that it is changed."""
    return _IS["yes to changing" if to_change else "yes to forgetting"].fullmatch(_words(text)) is not None


def is_no(text: str) -> bool:
    """Whether a text asks for something not to be done."""
    return _IS["no"].fullmatch(_words(text)) is not None


def chosen(text: str, listed: Sequence[str]) -> tuple[int, ...]:
    """The places, from 1 on, of what is chosen of these texts; none where a text chooses nothing."""
    found = _IS["choice"].fullmatch(without_manners(text)) if len(text) <= _LONGEST and "?" not in text else None
    if not found:
        return ()
    choice, every = slots(found), range(1, len(listed) + 1)
    named = [len(listed) if place < 0 else place for place in places_in(choice.get("places", ""))]
    if "word" in choice:
        having = [place for place in every if mentions(listed[place - 1], choice["word"])]
        named = having if len(having) == 1 else []
    if named and "excepts" in choice:
        return tuple(place for place in every if place not in named)
    return tuple(dict.fromkeys(named))


def _words(text: str) -> str:
    """The words of a short text that does not ask, in lower case, with single spaces."""
    text = unfolded(text[: _LONGEST + 1])
    if len(text) > _LONGEST or _ASKS.search(text):
        return ""
    words = _BETWEEN.sub(" ", text.translate(_PLAIN).lower()).strip()
    return words if words.count(" ") < _MOST_WORDS else ""
