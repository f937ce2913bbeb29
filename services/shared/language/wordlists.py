"""The word lists and patterns in the files of `data`, each read once, when the module that needs it is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_REFERENCE = re.compile(r"\{([a-z][a-z ]*)\}")


@cache
def sections(name: str) -> Mapping[str, tuple[str, ...]]:
    """The lines of each [section] of a file, without empty ones and comments, which begin with "# "."""
    found: dict[str, list[str]] = {}
    text = (files("services.shared.language") / "data" / f"{name}.txt").read_text("utf-8")
    for line in text.splitlines():
        if re.fullmatch(r"\[[a-z][a-z ]+\]", line):
            found[line[1:-1]] = current = []
        elif line and not line.startswith("# "):
            current.append(line)
    return {section: tuple(lines) for section, lines in found.items()}


def listed(name: str, section: str) -> list[str]:
    """The words of a section, in order."""
    return " ".join(sections(name)[section]).split()


def words(name: str, section: str) -> frozenset[str]:
    """The words of a section."""
    return frozenset(listed(name, section))


def pairs(name: str, section: str) -> dict[str, str]:
    """What each line of a section says of its first word."""
    return dict(line.split(" ", 1) for line in sections(name)[section])


def pattern(name: str, section: str, language: str = "") -> str:
    """The lines of a section as alternatives of one regular expression; {name} stands for another section, each of the
    language where it has one.

    What follows a tab in a line are examples of it, see `examples`, or what it stands for, see `keys`.
    """
    lines = sections(name).get(f"{language} {section}") or sections(name)[section]
    expanded = (_expanded(name, line.partition("\t")[0], language) for line in lines)
    return f"(?:{'|'.join(expanded)})"


def any_of(name: str, *given: str) -> str:
    """The words of sections as alternatives of a regular expression."""
    return f"(?:{'|'.join(re.escape(word) for section in given for word in listed(name, section))})"


def expression(name: str, form: str, flags: int = 0, *, language: str = "") -> re.Pattern[str]:
    """A regular expression in which {name} stands for a section."""
    return re.compile(_expanded(name, form, language), flags)


def keys(name: str, section: str) -> dict[str, str]:
    """What the regular expression of each line stands for."""
    return dict(line.split("\t") for line in sections(name).get(section, ()))


def examples(name: str, section: str) -> dict[str, list[str]]:
    """The examples, " / " between two, by the regular expression of their line; none of what only names a section."""
    lines = (line.partition("\t") for line in sections(name)[section] if not _REFERENCE.fullmatch(line))
    return {_expanded(name, line): given.split(" / ") for line, _, given in lines}


def _expanded(name: str, line: str, language: str = "") -> str:
    return _REFERENCE.sub(lambda found: pattern(name, found[1], language), line)
