"""What a person said in a text that a program made of it without marks: below labels, beside JSON, below a note.

A template is told by what nobody types of their own: an introduction of what is handed over, and a label of a question
or an empty one of an answer. Where the introduction is in the first person, a person wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

from services.shared.language import wordlists
from services.shared.privacy.marks import split
from services.shared.privacy.wordings import compiled, slots

_IS = compiled(
    "wrappers",
    """
    introduces, introduces a block, names what is handed over, names a source, slot, empty label,
    label of an answer, asked at once, note, last note, label of a note, turn of a user, end of a turn,
    said of data, persons
    """,
    flags=re.IGNORECASE | re.MULTILINE,
)
_FIRST_PERSON = compiled("front_ends", "first person")["first person"]
_SENTENCE = re.compile(r"[^.!?]+")
_words = partial(wordlists.words, "wrappers")
_NOTED, _SAID_BY_USER = _words("noted by a program"), _words("said by a user in data")
_SAID_IN_DATA, _NOT_SAID_IN_DATA = _words("said in data"), _words("not said in data")
_BY_USER = re.compile(r"\b(?:user|human)(?:\b|_)", re.IGNORECASE)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_LINES_OF_INTRODUCTION = 5
_LONGEST_LINE = 400
_LEAST_WORDS = 3
_LONGEST_NOTE = 700
_MOST_NOTES = 8


def introduces(sentence: str) -> bool:
    """Whether a program says in a sentence what it hands over; in the first person, a person does."""
    return _IS["introduces"].match(sentence) is not None and not _is_own(sentence)


def introduces_block(line: str) -> bool:
    """Whether a line says of the block below that a program handed it over."""
    return line.endswith(":") and _IS["introduces a block"].match(line) is not None and not _is_own(line)


def is_handed_over(part: str) -> bool:
    """Whether a part of a message begins with a label, on a line of its own, of what a program hands over."""
    first = _first_line(part)
    is_telling = " " in first or _IS["names a source"].fullmatch(first) is not None
    is_label = is_telling and _IS["names what is handed over"].fullmatch(first) is not None
    return is_label and not _is_own(first) and part.strip() != first


def without_preface(text: str) -> str:
    """A text without the notes and the JSON that a program put before it; what was said in it, where all is JSON."""
    text = _of_user(text) if text.startswith("<|") else text
    for _ in range(_MOST_NOTES):
        if not (first := _IS["note"].match(text)) or not _is_note(first):
            break
        text = text[first.end() :]
    if (last := _IS["last note"].search(text[-_LONGEST_NOTE:])) and _is_note(last):
        text = text[: len(text) - len(last[0])]
    return _beside_data(text) if text.lstrip().startswith(("{", "[{")) else text


def _of_user(text: str) -> str:
    """The last turn of a user between the tokens of a model; the whole text where there is none."""
    turns = [found.end() for found in _IS["turn of a user"].finditer(text)]
    return _IS["end of a turn"].split(text[turns[-1] :], maxsplit=1)[0].strip() or text if turns else text


def in_template(text: str) -> str:
    """What was said in a template of a program; the whole text where it is none."""
    empty = _IS["empty label"].search(text)
    body = text[: empty.start()] if empty else text
    found = [slot for slot in _IS["slot"].finditer(body) if empty or not slot["bare"]]
    found = found or [*_IS["asked at once"].finditer(body)]
    if not found:
        return text
    head, said = body[: found[-1].start()].strip(), body[found[-1].end() :].strip()
    return said if said and (empty or head) and _is_template(head, slots(found[-1]), is_answered=bool(empty)) else text


def below_label(text: str) -> str:
    """A text behind what a program wrapped, without the label with which it begins, unless it goes on to others."""
    found = [slot for slot in _IS["slot"].finditer(text) if not slot["bare"]]
    is_only = len(found) == 1 and not text[: found[0].start()].strip() and not _IS["label of an answer"].search(text)
    return text[found[0].end() :] if is_only else text


def _is_template(head: str, slot: Mapping[str, str], *, is_answered: bool) -> bool:
    """Whether a program wrote what stands above the label of what was said."""
    first = _first_line(head)
    if _is_own(first):
        return False
    if is_answered or any(
        introduces(one[0].lstrip()) for line in _first_lines(head) for one in _SENTENCE.finditer(line)
    ):
        return True
    if "by" in slot:
        return " " in slot["by"] or _IS["names what is handed over"].match(first) is not None
    return bool(slot) and _IS["names a source"].fullmatch(first) is not None and not _is_own(head)


def _first_lines(text: str) -> Iterator[str]:
    lines = islice(_LINE.finditer(text), _LINES_OF_INTRODUCTION)
    return (found[0].strip()[:_LONGEST_LINE] for found in lines)


def _first_line(text: str) -> str:
    return next(_first_lines(text), "")


def _is_own(text: str) -> bool:
    return _IS["persons"].search(text) is not None or _FIRST_PERSON.search(text) is not None


def _is_note(found: re.Match[str]) -> bool:
    """Whether a note in a bracket is a program's, by a label in it."""
    note = slots(found)["note"]
    labels = [set(split(label)) for label in _IS["label of a note"].findall(note)]
    return not _is_own(note) and any(words & _NOTED or words > {"user"} for words in labels)


def _beside_data(text: str) -> str:
    """What stands below JSON with which a text begins, unless it tells of it."""
    text = text.strip()
    try:
        data, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return text
    rest = text[end:]
    if not rest:
        return _said_in(data) or text
    is_apart = data and rest.lstrip(" \t\r").startswith("\n")
    return text if not is_apart or _IS["said of data"].search(_first_line(rest)) else rest.strip()


def _said_in(data: object) -> str:
    """The only part of JSON that is named as what was said, beside others."""
    if not isinstance(data, dict) or len(data) == 1 or not _NOT_SAID_IN_DATA.isdisjoint(map(str.lower, data)):
        return ""
    is_users = any(isinstance(value, str) and _BY_USER.match(value) for value in data.values())
    names = _SAID_IN_DATA | _SAID_BY_USER if is_users else _SAID_IN_DATA
    said = [value for key, value in data.items() if key.lower() in names and isinstance(value, str)]
    return said[0].strip() if len(said) == 1 and len(said[0].split()) >= _LEAST_WORDS else ""
