"""Statements freed of what is joined to them: a question or a wish after a comma, marks at their beginning and within.

"I've moved to Porto, any good bank there?" states and asks; "If I moved to Porto, would it rain?" only asks. English
wording. When in doubt a sentence is one question.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from services.shared.core import wordlists
from services.shared.core.own_words import SENTENCE_END, own_words

_pattern = partial(wordlists.pattern, "joined")
_SENTENCE = re.compile(rf"{SENTENCE_END}|\n|\s[–—]\s")
_LONGEST = 600
"""Characters of a sentence that is looked at: a longer one is no message of somebody who asks something in passing."""

_JOINT = re.compile(r"(?P<mark>,| --?| …|…)\s+|\s(?P<word>so|and|but)\s")
_LINKS = re.compile(_pattern("links"))
_QUESTION = re.compile(_pattern("questions"))
_IN_FULL = re.compile(_pattern("asked in full"))
_NO_QUESTION = re.compile(_pattern("no questions"))
_WISH = re.compile(rf"{_pattern('wishes')}(?:[ ,]+{_pattern('wishes')})*\W*")
_NO_STATEMENT = re.compile(rf"\W*{_pattern('openings')}{_pattern('no statements')}(?![\w'])")
_SUPPOSED = re.compile(_pattern("supposed"))
_REASON = re.compile(rf"\W*{_pattern('openings')}(?P<reason>{_pattern('reasons')})")
_QUOTED = re.compile(r"[\"“”«»„]|(?<!\w)'\w[^']{3,}'(?!\w)")
_STRAIGHT = str.maketrans("’‘", "''")


@lru_cache(maxsize=256)
def own_statements(text: str) -> str:
    """A user's own words with a semicolon between a statement and what is asked or wished after it, and blanks for
    marks; each letter where it was."""
    plain = own_words(text)
    begin = 0
    for end in (*(found.start() for found in _SENTENCE.finditer(plain)), len(plain)):
        if end - begin <= _LONGEST:
            plain = f"{plain[:begin]}{_apart(plain[begin:end])}{plain[end:]}"
        begin = end
    return plain


def _apart(sentence: str) -> str:
    """A sentence with a semicolon where its statement ends and a question or a wish begins."""
    lower = sentence.translate(_STRAIGHT).lower()
    if len(lower) != len(sentence) or _QUOTED.search(lower):
        return sentence
    for joint in _JOINT.finditer(lower):
        if _is_apart(lower[joint.end() :], is_marked=joint["word"] is None):
            begin, end = joint.span("mark" if joint["mark"] else "word")
            before = _without_reason(sentence[:begin], lower[:begin])
            return f"{before}{';':>{end - begin}}{sentence[end:]}" if _is_statement(before.lower()) else sentence
    return sentence


def _is_apart(after: str, *, is_marked: bool) -> bool:
    """Whether what follows a joint is a question of its own, or a wish."""
    if is_marked and _WISH.fullmatch(after):
        return True
    asked = after[_LINKS.match(after).end() :]  # type: ignore[union-attr]  # it matches nothing, too
    is_asked = is_marked and after.rstrip(" '\")*_").endswith("?")
    begins = _QUESTION if is_asked else _IN_FULL
    return begins.match(asked) is not None and _NO_QUESTION.match(asked) is None


def _without_reason(before: str, lower: str) -> str:
    """What stands before a question without "as" or "since", where that makes it the reason of the question."""
    found = _REASON.match(lower)
    if not found:
        return before
    begin, end = found.span("reason")
    return f"{before[:begin]}{' ' * (end - begin)}{before[end:]}"


def _is_statement(before: str) -> bool:
    plain = " ".join(before.translate(_STRAIGHT).split())
    return _NO_STATEMENT.match(plain) is None and _SUPPOSED.search(plain) is None
