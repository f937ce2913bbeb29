"""The wordings in the files of `data` as expressions, one for each section that is asked for."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import count

from services.shared.language import wordlists

_SLOT = re.compile(r"\(\?P<(\w+)>")
_DIGITS = "0123456789"


def compiled(name: str, sections: str, flags: re.RegexFlag = re.IGNORECASE) -> dict[str, re.Pattern[str]]:
    """The expressions of some sections of a file, named between commas. A slot, (?P<name>…), may stand in any number
    of their lines."""
    named = map(str.strip, sections.split(","))
    return {section: re.compile(_numbered(wordlists.pattern(name, section)), flags) for section in named}


def alternatives(name: str, section: str) -> list[str]:
    """The words of a section that has them as alternatives, in order."""
    return "|".join(wordlists.sections(name)[section]).split("|")


def _numbered(pattern: str) -> str:
    numbers: defaultdict[str, count[int]] = defaultdict(count)
    return _SLOT.sub(lambda slot: f"(?P<{slot[1]}{next(numbers[slot[1]]) or ''}>", pattern)


def slots(found: re.Match[str]) -> dict[str, str]:
    """What stands in the slots of what was found, by their names."""
    return {name.rstrip(_DIGITS): value for name, value in found.groupdict().items() if value}


def kind(found: re.Match[str]) -> str:
    """The slot that what was found stands in."""
    return (found.lastgroup or "").rstrip(_DIGITS)
