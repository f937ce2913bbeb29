"""Whether a text is a task that the front end of a chat sets a model by itself: a title, tags, further questions."""

from __future__ import annotations

import re

from services.shared.core import wordlists

_HEAD = 600
"""Characters in which a task is told; behind them is what was said, as often as not."""

_TASK = re.compile(wordlists.pattern("front_ends", "tasks"), re.IGNORECASE | re.DOTALL)
_WANTED = re.compile(wordlists.pattern("front_ends", "wanted"), re.IGNORECASE)
_FORM = re.compile(wordlists.pattern("front_ends", "form"), re.IGNORECASE)


def is_task(text: str) -> bool:
    """Whether nobody said this: it asks for something about the chat, in a form that only a program needs."""
    head = text[:_HEAD].lstrip()
    return _TASK.match(text.lstrip()) is not None or bool(_WANTED.match(head) and _FORM.search(head))
