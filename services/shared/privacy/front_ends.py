"""Whether a request is a task that a program sets a model by itself, as for a title, a summary, a commit message.

What tells is how a program asks: for something about the chat, and in a form that only a program needs. Either may be
in the system prompt, in a message before, or in the format that the answer has to have. Persons ask for the same
without the form, or for something of their own. The wordings are tables in `data/front_ends.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.shared.language import wordlists
from services.shared.privacy.wordings import compiled

_HEAD = 1000
"""Characters in which a task is told; behind them is what was said, as often as not."""

_SYSTEM_HEAD, _SYSTEM = 700, 3000
"""Characters of a system prompt in which it says what its model is for, and those in which how it has to answer."""

_MOST_TOKENS = 4
"""An answer of so many tokens tells nobody anything: it is wanted as a sign of life."""

_LONGEST = 32_768
"""Characters of a text in which what was said is looked for."""

_AGREED_WITHIN = 100
"""Characters of an answer that only agrees."""

_HEARD, _LEAST_TOLD = 12, 12
"""Characters from which on what was said is known again within another text, and something is told of it."""

_OF_TEMPLATE = 2
"""Labels with something behind them that only a template has."""

_MOST_TAGS = 16
_QUOTES = {'"': '"', "”": "“", "“": "„", "»": "«", "」": "「", "`": "`"}
"""Marks at the end of a quotation, and those at its beginning."""

_FIELDS = wordlists.words("front_ends", "fields")
_TAG = re.compile(r"<([A-Za-z]\w{0,40})")
_SENTENCES = re.compile(r"(?<=[.!?。！？\]])\s+|\n|(?<=[。！？])")
_IS = compiled(
    "front_ends",
    """
    task in its frame, in parts, wanted, change, diff, own, by a program,
    said by a person, by a person, chat, broad chat, aside of a chat, label or summary, label, summary,
    aside, summary alone, thing, form, count, maker, for persons, makes, machine, handover, continued, first person,
    of something, invented, handed, agreed, list item, turn of the user,
    turn of the model, quoted, labelled, slot begins, open label, filled label
    """,
)


@dataclass(frozen=True, slots=True)
class Request:
    """What tells a task from what somebody said.

    `text` is the newest message of the user as it was sent; `before` are those before it without an answer; `heard`
    what the user and the assistant said lately, where the request has nothing that was said before; `most_tokens` how
    long the answer may be, `fields` the names of its fields where it has to be JSON.
    """

    text: str
    system: str = ""
    before: Sequence[str] = ()
    heard: Sequence[str] = ()
    most_tokens: int | None = None
    fields: frozenset[str] = frozenset()
    has_tools: bool = False


def sets_task(request: Request) -> bool:
    """Whether nobody said what a request asks."""
    text, fields = request.text.strip(), {re.sub("[_-]", "", field.lower()) for field in request.fields}
    if request.most_tokens is not None and request.most_tokens <= _MOST_TOKENS:
        return True
    return (
        is_task(text)
        or (bool(fields) and fields <= _FIELDS)
        or (not request.has_tools and _is_for_tasks(request.system))
        or _is_of_transcript(text, request)
        or any(_asks_for_what_follows(before, text) for before in request.before)
        or _repeats(text, request.heard)
    )


def is_task(text: str) -> bool:
    """Whether nobody said this: it asks for something about the chat, in a form that only a program needs."""
    text = text.lstrip()
    is_framed = _IS["task in its frame"].match(text) is not None
    if is_framed or _is_in_parts(text) or _is_quoted_whole(text) or _is_handover(text) or _continues(text):
        return True
    head = _plain(text[:_HEAD])
    asking = next(_asking(head), "")
    if asking and not _has("own", asking) and _is_formal(asking, head):
        return True
    if _works_on_slot(text):
        return True
    told = _plain(_instruction(text))
    if _has("said by a person", told):
        return False
    if _has("diff", text[:_HEAD]) and any(map(_IS["change"].match, _sentences(told))):
        return _has("form", told)
    has_chat = _has("chat", told) or _has("labelled", text[: 2 * _HEAD])
    return has_chat and _has("aside of a chat", told) and _is_formal(told, told)


def is_handed(text: str, answer: str) -> bool:
    """Whether a program sends a message in every chat, as files to which it invents a "Good", or it is a task."""
    is_given = _is_agreed(answer) and _has("handed", _plain(text[:_HEAD]))
    return is_given or is_task(text) or _asks_for_what_follows(text, "``")


def ends_examples(text: str, answer: str) -> bool:
    """Whether a message says that what stands before it was only an example, and the answer is invented as well."""
    return _is_agreed(answer) and len(text) <= _HEAD and _has("invented", _plain(text))


def _has(section: str, text: str) -> bool:
    return _IS[section].search(text) is not None


def _is_agreed(answer: str) -> bool:
    return len(answer) <= _AGREED_WITHIN and _IS["agreed"].match(answer.lstrip()) is not None


def _asking(head: str) -> Iterator[str]:
    """The sentence that asks, where only what a program says stands before it."""
    for sentence in _sentences(head):
        if _IS["wanted"].match(sentence):
            yield sentence
        if not (_IS["by a program"].match(sentence) or _IS["list item"].match(sentence) or _has("form", sentence)):
            return


def _instruction(text: str) -> str:
    """What is told to the model, at the head or the end of a text, without what it is told it of."""
    ends = text if len(text) <= 2 * _HEAD else f"{text[:_HEAD]}\n{text[-_HEAD:]}"
    for tag in [*dict.fromkeys(_TAG.findall(ends))][:_MOST_TAGS]:
        begins, ended = ends.find(f"<{tag}"), ends.rfind(f"</{tag}>")
        ends = f"{ends[:begins]} {ends[ended + len(tag) + 3 :]}" if 0 <= begins < ended else ends
    return _IS["labelled"].sub("\n", _IS["quoted"].sub(" ", " ".join(ends.split("```")[::2])))


def _works_on_slot(text: str) -> bool:
    """Whether a form is wanted, and nothing else, of what stands behind a label or in a tag, and nobody says "I"."""
    text = text[:_LONGEST].strip()
    slot = _IS["slot begins"].search(text[: 2 * _HEAD])
    if not slot or not text[slot.end() :].strip():
        return False
    told = _plain(text[: slot.start()])
    if len(told) < _LEAST_TOLD:
        told = _plain(text[-_HEAD:].rpartition("\n\n")[2])
    if len(told) < _LEAST_TOLD or told[:1].islower() or _has("by a person", told):
        return False
    is_named = not slot["named"] or slot["named"].lower() in told.lower()
    if not is_named and len(_IS["filled label"].findall(text[: 2 * _HEAD])) < _OF_TEMPLATE:
        return False
    return _has("form", told) or _IS["open label"].fullmatch(text[-_HEAD:].rpartition("\n")[2]) is not None


def _is_formal(asking: str, head: str) -> bool:
    """Whether the answer has to have a form; how short it has to be persons say, too, of a summary."""
    return _has("form", head) or (_has("count", head) and not _has("summary alone", asking))


def _is_for_tasks(system: str) -> bool:
    """Whether a system prompt says that its model is there for a task alone."""
    head, whole = _plain(system[:_SYSTEM_HEAD]), _plain(system[:_SYSTEM])
    if _has("maker", head):
        return True
    if not head or _has("for persons", head):
        return False
    asking = (one for one in _sentences(head) if _IS["wanted"].match(one) or _IS["change"].match(one))
    if sentence := next((one for one in asking if not _has("own", one)), ""):
        return _is_formal(sentence, whole)
    if any(map(_IS["makes"].match, _sentences(head))) or _has("machine", head):
        return _has("form", whole)
    is_aside = len(system) <= _SYSTEM and _has("broad chat", head) and _has("aside of a chat", head)
    return is_aside and _is_formal(head, head) and not _has("own", head)


def _is_of_transcript(text: str, request: Request) -> bool:
    """Whether a chat is in the text, turn by turn, and a title or a summary is wanted of it."""
    text = text[:_LONGEST]
    if not (begins := _IS["turn of the user"].search(text)) or not _has("turn of the model", text):
        return False
    head = _plain(text[: min(_HEAD, begins.start())])
    is_for_it = not request.has_tools and _has("label or summary", request.system[:_SYSTEM_HEAD])
    return is_for_it or (_has("label or summary", head) and _has("form", head))


def _is_handover(text: str) -> bool:
    """Whether a summary is wanted in parts and for somebody else, by nobody who says "I"."""
    lines = text[: 4 * _HEAD].splitlines()
    prose = [line for line in lines if not _IS["list item"].match(line)]
    told = "\n".join(prose)
    is_in_parts = len(lines) - len(prose) > 1
    return (
        is_in_parts and _has("summary", told) and _has("handover", text[: 4 * _HEAD]) and not _has("first person", told)
    )


def _continues(text: str) -> bool:
    """Whether a summary is handed over, behind some sentences on where it is from that nobody says "I" in."""
    told, ended, _ = text[:_HEAD].partition(":\n")
    is_handed = ended and len([*_sentences(told)]) > 2 and _has("continued", told) and _has("summary", told)
    return bool(is_handed) and not _has("first person", told)


def _asks_for_what_follows(before: str, text: str) -> bool:
    """Whether a message asks for something about the next one: "Generate a title for this conversation:"."""
    head = _plain(before.strip()[:_HEAD])
    if not head.endswith((":", "：")) or not _IS["wanted"].match(head) or _has("own", head):
        return False
    return is_task(head) or (text[-1:] in _QUOTES and text.startswith(_QUOTES[text[-1]]))


def _is_in_parts(text: str) -> bool:
    """Whether headings part a task, with what it is about, from the form of the answer."""
    if not (found := _IS["in parts"].match(text)):
        return False
    if any(letter.isalnum() for letter in text[text.rfind("</") :].partition(">")[2] if "</" in text):
        return False  # a question stands behind what belongs to it
    task = next(_sentences(found["task"].partition("\n#")[0]), "")
    is_label = _has("label", task) and not _has("own", task)
    return is_label or any(_has(one, task) for one in ("thing", "summary", "aside"))


def _is_quoted_whole(text: str) -> bool:
    """Whether a form and what was said in quotation marks is all: 'Give the title only. "I have moved to Leeds"'."""
    text = text.rstrip()
    begins = text[:_HEAD].find(_QUOTES.get(text[-1:], "\0"))
    if not 0 < begins < len(text) - 1:
        return False
    asked = _plain(text[:begins])
    is_label = all(_has(one, asked) for one in ("label", "form", "count"))
    return is_label and not (_has("of something", asked) or _has("own", asked))


def _repeats(text: str, heard: Sequence[str]) -> bool:
    """Whether a text has what the user said lately and what was answered, and does not begin with it."""
    text = text[:_LONGEST]
    return any(
        min(len(said), len(answer)) >= _HEARD and said in text and answer in text and not text.startswith(said)
        for said, answer in pairwise(heard)
    )


def _sentences(head: str) -> Iterator[str]:
    return (sentence.strip() for sentence in _SENTENCES.split(head) if sentence and sentence.strip())


def _plain(text: str) -> str:
    """A text without marks of emphasis, its blanks made one."""
    return re.sub(r"[ \t]+", " ", text.replace("*", "").replace("`", "")).strip()
