"""Statements freed of what is joined to them: a question, request or wish after a comma, marks before and within them.

"I've moved to Porto, any good bank there?" states and asks; "If I moved to Porto, would it rain?" only asks. English
wording. When in doubt a sentence is one question.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import pairwise

from services.shared.language import wordlists
from services.shared.privacy.own_words import QUOTED, SENTENCE_END, own_words

_pattern = partial(wordlists.pattern, "joined")
_SENTENCE = re.compile(rf"{SENTENCE_END}|\n|\s[–—]\s")
_LONGEST = 600
"""Characters of a sentence that is looked at: a longer one is no message of somebody who asks something in passing."""

_JOINT = re.compile(r"(?P<mark>,| --?| …|…|\s(?=\s))\s+|\s(?P<word>so|and|but)\s")
_LINKS = re.compile(_pattern("links"))
_QUESTION = re.compile(_pattern("questions"))
_IN_FULL = re.compile(_pattern("asked in full"))
_NO_QUESTION = re.compile(_pattern("no questions"))
_REQUEST = re.compile(_pattern("requests"))
_WISH = re.compile(rf"{_pattern('wishes')}(?:[ ,]+{_pattern('wishes')})*\W*")
_NO_STATEMENT = re.compile(rf"\W*{_pattern('openings')}{_pattern('no statements')}(?![\w'])")
_SUPPOSED = re.compile(_pattern("supposed"))
_REASON = re.compile(rf"\W*{_pattern('openings')}(?P<reason>{_pattern('reasons')})")
_BLANKS = re.compile(rf"^(?:{_pattern('marks before')})|(?:{_pattern('marks anywhere')})", re.MULTILINE | re.IGNORECASE)
_DASHED = re.compile(r"^[ \t]*[–—] ", re.MULTILINE)
_EMPHASIS = re.compile(
    r"(?<![\w*_])(?P<sign>\*{1,3}|_{1,3})(?=[^\s*_])(?P<said>[^*_\n]{1,200})(?<=\S)(?P=sign)(?!\w)(?P<end>[.,;:!?]*)"
)
_STRAIGHT = str.maketrans("’‘", "''")


@lru_cache(maxsize=256)
def own_statements(text: str) -> str:
    """A user's own words with a semicolon between a statement and what is asked or wished after it, and blanks for
    marks; each letter where it was."""
    plain = _without_marks(own_words(text))
    bounds = (0, *(found.start() for found in _SENTENCE.finditer(plain)), len(plain))
    return "".join(_apart(plain[begin:end]) for begin, end in pairwise(bounds))


def _without_marks(text: str) -> str:
    """The text without what only lets it look otherwise: bold letters, bullets, emoji, "PS" and the like."""
    text = _EMPHASIS.sub(_plain, text)
    if len(_DASHED.findall(text)) == 1:  # several are a dialogue
        text = _DASHED.sub(_blank, text)
    return _BLANKS.sub(_blank, text)


def _plain(found: re.Match[str]) -> str:
    sign = " " * len(found["sign"])
    return f"{sign}{found['said']}{found['end']}{sign}"


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _apart(sentence: str) -> str:
    """A sentence with a semicolon where its statement ends and a question or a wish begins."""
    before, after = _parted(sentence)
    return f"{before}{';':>{len(sentence) - len(before) - len(after)}}{after}" if after else sentence


def _parted(sentence: str) -> tuple[str, str]:
    """The statement of a sentence, and what is asked or wished after it; that is empty where there is no such thing."""
    lower = sentence.translate(_STRAIGHT).lower()
    if len(lower) != len(sentence) or len(sentence) > _LONGEST or QUOTED.search(lower):
        return sentence, ""
    for joint in _JOINT.finditer(lower):
        if _is_apart(lower[joint.end() :], is_marked=joint["word"] is None):
            begin, end = joint.span("mark" if joint["mark"] else "word")
            before = _without_reason(sentence[:begin], lower[:begin])
            return (before, sentence[end:]) if _is_statement(before.lower()) else (sentence, "")
    return sentence, ""


def _is_apart(after: str, *, is_marked: bool) -> bool:
    """Whether what follows a joint is a question of its own, a request or a wish."""
    if is_marked and _WISH.fullmatch(after):
        return True
    asked = after[_LINKS.match(after).end() :]  # type: ignore[union-attr]  # it matches nothing, too
    if is_marked and _REQUEST.match(after):
        return _NO_QUESTION.match(asked) is None
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
    return " " in plain and _NO_STATEMENT.match(plain) is None and _SUPPOSED.search(plain) is None
