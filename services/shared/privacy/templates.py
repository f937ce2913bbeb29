"""What a person said in a text that a program made of it without marks: below labels, beside JSON, below a note.

A template is told by what nobody types of their own: an introduction of what is handed over, and a label of a question
or an empty one of an answer. Where the introduction is in the first person, a person wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from services.shared.language import wordlists
from services.shared.privacy.marks import split

_PERSON = re.compile(
    f"{wordlists.pattern('front_ends', 'first person')}|{wordlists.pattern('wrappers', 'persons')}", re.IGNORECASE
)
_MARGIN = r"(?:[#*>_=-]{1,6}[ \t]{0,2}){0,2}"
_COLON = r"[*_ \t]{0,3}(?:\([^()\n]{1,40}\)[ \t]?)?[:：][*_]{0,3}"
_LABEL = r"(?=[^\n:：]{1,160}[:：]|#|(?-i:[A-Z' ]{1,60}[ \t]{0,3}(?:\n|\Z)))"
"""What a label has: a colon, or the signs of a heading, or capitals alone."""


def _compiled(form: str, *sections: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(
        form.format(
            *(wordlists.pattern("wrappers", one) for one in sections), margin=_MARGIN, colon=_COLON, label=_LABEL
        ),
        flags,
    )


_INTRODUCTION = _compiled(r"{margin}{0}", "introduction")
_CAPTION_OF_BLOCK = _compiled(r"{margin}{0}", "caption of a block")
_HANDED_LABEL = _compiled(r"{margin}{0}{colon}", "handed label")
_SOURCE_LABEL = _compiled(r"{label}{margin}{0}(?:{colon})?", "source label")
_SLOT = _compiled(
    r"^{label}{margin}(?:(?P<by>{0})|(?P<said>{1})|(?P<bare>{2}))(?:{colon}[ \t]{{0,4}}|[*_ \t]{{0,3}}$)",
    *("said by", "said label", "said before an answer"),
    flags=re.IGNORECASE | re.MULTILINE,
)
_EMPTY_LABEL = _compiled(
    r"(?:\n|\A){label}{margin}(?:(?:[^\W_]{{1,20}} ){{0,2}}(?:{0}|{1})(?:{colon}|[*_ \t]{{0,3}})|{2}{colon})[\s*_]*\Z",
    *("answer label", "said label", "answers in short"),
)
_ANSWER = _compiled(r"\n{margin}{0}{colon}", "answer label")
_ASKED = _compiled(
    r"^{margin}{0}[^\n:]{{0,120}}:[ \t]{{1,4}}(?=\S)", "introduction", flags=re.IGNORECASE | re.MULTILINE
)
_USERS_TURN = re.compile(
    r"<\|(?:(?:user|human)|\w{0,20}start\w{0,20}\|>[ \t]{0,4}(?:user|human)[ \t]{0,4}(?:<\|\w{1,40})?)(?:\|>|\n)",
    re.IGNORECASE,
)
_TURNS_END = re.compile(r"<\|\w{1,40}\|>|</s>")
_SAID_OF_DATA = _compiled("{0}", "said of data")
_IN_BRACKET = r"[ \t]{0,8}(?:\[([^\[\]]{1,600})\]|\(([^()]{1,600})\)|<!--([^<>]{1,600})-->)"
_NOTE = re.compile(rf"\s{{0,8}}{_IN_BRACKET}[ \t]{{0,8}}\r?\n(?=\s{{0,80}}\S)")
_LAST_NOTE = re.compile(rf"(?<=\S)\s{{0,8}}\n{_IN_BRACKET}\s{{0,8}}\Z")
_SENTENCE = re.compile(r"[^.!?]+")
_NOTE_LABEL = re.compile(r"([^\W\d_][\w ]{0,30})(?:[:=：]| [-–—] )")
_NOTED = wordlists.words("wrappers", "noted by a program")
_SAID_IN_DATA = wordlists.words("wrappers", "said in data")
_NOT_SAID_IN_DATA = wordlists.words("wrappers", "not said in data")
_SAID_BY_USER = wordlists.words("wrappers", "said by a user in data")
_BY_USER = re.compile(r"\b(?:user|human)(?:\b|_)", re.IGNORECASE)
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_LINES_OF_INTRODUCTION = 5
_LONGEST_LINE = 400
_LEAST_WORDS = 3
_LONGEST_NOTE = 700
_MOST_NOTES = 8


def introduces(sentence: str) -> bool:
    """Whether a program says in a sentence what it hands over; in the first person, a person does."""
    return _INTRODUCTION.match(sentence) is not None and not _is_own(sentence)


def introduces_block(line: str) -> bool:
    """Whether a line says of the block below that a program handed it over."""
    return line.endswith(":") and _CAPTION_OF_BLOCK.match(line) is not None and not _is_own(line)


def is_handed_over(part: str) -> bool:
    """Whether a part of a message begins with a label, on a line of its own, of what a program hands over."""
    first = _first_line(part)
    label = _HANDED_LABEL.fullmatch(first)
    is_label = label is not None and (" " in first or _SOURCE_LABEL.fullmatch(first) is not None)
    return is_label and not _is_own(first) and part.strip() != first


def without_preface(text: str) -> str:
    """A text without the notes and the JSON that a program put before it; what was said in it, where all is JSON."""
    text = _of_user(text) if text.startswith("<|") else text
    for _ in range(_MOST_NOTES):
        found = _NOTE.match(text)
        if found is None or not _is_note(found):
            break
        text = text[found.end() :]
    last = _LAST_NOTE.search(text[-_LONGEST_NOTE:])
    if last is not None and _is_note(last):
        text = text[: len(text) - len(last[0])]
    return _beside_data(text) if text.lstrip().startswith(("{", "[{")) else text


def _of_user(text: str) -> str:
    """The last turn of a user between the tokens of a model; the whole text where there is none."""
    turns = [*_USERS_TURN.finditer(text)]
    return _TURNS_END.split(text[turns[-1].end() :], maxsplit=1)[0].strip() or text if turns else text


def in_template(text: str) -> str:
    """What was said in a template of a program; the whole text where it is none."""
    empty = _EMPTY_LABEL.search(text)
    body = text[: empty.start()] if empty else text
    slots = [slot for slot in _SLOT.finditer(body) if empty or not slot["bare"]] or [*_ASKED.finditer(body)]
    if not slots:
        return text
    head, said = body[: slots[-1].start()].strip(), body[slots[-1].end() :].strip()
    return said if said and (empty or head) and _is_template(head, slots[-1], is_answered=bool(empty)) else text


def below_label(text: str) -> str:
    """A text behind what a program wrapped, without the label with which it begins, unless it goes on to others."""
    slots = [slot for slot in _SLOT.finditer(text) if not slot["bare"]]
    is_only = len(slots) == 1 and not text[: slots[0].start()].strip() and not _ANSWER.search(text)
    return text[slots[0].end() :] if is_only else text


def _is_template(head: str, slot: re.Match[str], *, is_answered: bool) -> bool:
    """Whether a program wrote what stands above the label of what was said."""
    first = _first_line(head)
    if _is_own(first):
        return False
    if is_answered or any(
        introduces(one[0].lstrip()) for line in _first_lines(head) for one in _SENTENCE.finditer(line)
    ):
        return True
    if slot.re is not _SLOT:
        return False
    if slot["by"]:
        return " " in slot["by"] or _HANDED_LABEL.match(first) is not None
    return _SOURCE_LABEL.fullmatch(first) is not None and not _is_own(head)


def _first_lines(text: str) -> Iterator[str]:
    lines = _LINE.finditer(text)
    for _, found in zip(range(_LINES_OF_INTRODUCTION), lines, strict=False):
        yield found[0].strip()[:_LONGEST_LINE]


def _first_line(text: str) -> str:
    return next(_first_lines(text), "")


def _is_own(text: str) -> bool:
    return _PERSON.search(text) is not None


def _is_note(found: re.Match[str]) -> bool:
    """Whether a note in a bracket is a program's, by a label in it."""
    note = found[found.lastindex or 0]
    labels = [set(split(label)) for label in _NOTE_LABEL.findall(note)]
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
    return text if not is_apart or _SAID_OF_DATA.search(_first_line(rest)) else rest.strip()


def _said_in(data: object) -> str:
    """The only part of JSON that is named as what was said, beside others."""
    if not isinstance(data, dict) or len(data) == 1 or not _NOT_SAID_IN_DATA.isdisjoint(map(str.lower, data)):
        return ""
    is_users = any(isinstance(value, str) and _BY_USER.match(value) for value in data.values())
    names = _SAID_IN_DATA | _SAID_BY_USER if is_users else _SAID_IN_DATA
    said = [value for key, value in data.items() if key.lower() in names and isinstance(value, str)]
    return said[0].strip() if len(said) == 1 and len(said[0].split()) >= _LEAST_WORDS else ""
