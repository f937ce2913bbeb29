"""Whether a request is a task that a program sets a model by itself, as for a title, a summary, a commit message.

What tells is how a program asks: for something about the chat, and in a form that only a program needs. Either may be
in the system prompt, in a message before, or in the format that the answer has to have. Persons ask for the same
without the form, or for something of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.shared.language import wordlists

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

_HEARD = 12
"""Characters from which on what was said is known again within another text."""

_QUOTES = {'"': '"', "”": "“", "“": "„", "»": "«", "」": "「", "`": "`"}
"""Marks at the end of a quotation, and those at its beginning."""


def _compiled(section: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    return re.compile(wordlists.pattern("front_ends", section), flags)


_TASK = _compiled("tasks", re.IGNORECASE | re.DOTALL)
_WANTED, _MAKER, _CHANGE = _compiled("wanted"), _compiled("maker"), _compiled("change")
_SUMMARY, _LABEL, _THING = _compiled("summary"), _compiled("label"), _compiled("thing")
_OWN, _BY_PROGRAM, _DIFF = _compiled("own"), _compiled("by a program"), _compiled("diff")
_INVENTED, _HANDED, _AGREED = _compiled("invented"), _compiled("handed"), _compiled("agreed")
_ASIDE, _CHAT, _BROAD_CHAT, _FOR_PERSONS = map(_compiled, ("aside", "chat", "broad chat", "for persons"))
_MAKES, _HANDOVER, _CONTINUED = _compiled("makes"), _compiled("handover"), _compiled("continued")
_LIST = re.compile(r"[ \t]*(?:[-*•<#|]|\d+[.)]|\[)")
_FIRST_PERSON, _OF_SOMETHING = _compiled("first person"), _compiled("of something")
_MACHINE, _BY_PERSON = _compiled("machine"), _compiled("by a person")
_ANSWERS = _compiled("answers somebody")


def _labels(section: str) -> re.Pattern[str]:
    role = wordlists.pattern("front_ends", section)
    return re.compile(rf"(?:^|\n)[ \t]*(?:[>*\[#-]{{1,4}} ?)?{role}(?:[\]*]{{0,3}}[:：]|[\]*]{{0,3}}\n)", re.IGNORECASE)


_BY_ROLE, _BY_MODEL = _labels("by role"), _labels("by model")
_TAG = re.compile(r"<([A-Za-z]\w{0,40})")
_MOST_TAGS = 16
_QUOTED = re.compile(r"[\"“„«][^\"”“»\n]{12,400}[\"”“»]")
_LABELLED = re.compile(
    rf"(?:^|\n)\W{{0,4}}{wordlists.pattern('front_ends', 'slot')}\W{{0,2}}[:：][^\n]*", re.IGNORECASE
)
_SLOT = re.compile(
    rf"(?:^|\n)[ \t]*\W{{0,4}}(?:{wordlists.pattern('front_ends', 'slot')}"
    rf"|(?:[a-z]+ )?(?P<named>{wordlists.pattern('front_ends', 'named slot')}))\W{{0,3}}[:：]"
    rf"|<(?={wordlists.pattern('front_ends', 'handed tag')}>)|\"\"\"",
    re.IGNORECASE,
)
_OPEN_LABEL = re.compile(r"[^\w\n]{0,4}(?:[\w'-]{1,20} ){0,3}[\w'-]{1,20}[^\w\n]{0,2}[:：]\W{0,4}")
_FILLED = re.compile(r"(?:^|\n)(?:[\w'-]{1,20} ){0,3}[\w'-]{1,20}[:：][ \t]*\S")
_OF_TEMPLATE = 2
"""Labels with something behind them that only a template has."""

_LEAST_TOLD = 12
"""Characters from which on something is told of what is handed over."""

_COUNT, _FORM = _compiled("count"), _compiled("form")
_FIELDS = wordlists.words("front_ends", "fields")
_HEADING = re.compile(rf"#{{1,4}} \W{{0,3}}{wordlists.pattern('front_ends', 'heading')}\W{{0,4}}\n", re.IGNORECASE)
_FURTHER = re.compile(
    rf"\n#{{1,4}} \W{{0,3}}{wordlists.pattern('front_ends', 'further heading')}\W{{0,4}}(?:\n|\Z)", re.IGNORECASE
)
_SENTENCES = re.compile(r"(?<=[.!?。！？\]])\s+|\n|(?<=[。！？])")


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
    text = request.text.strip()
    if request.most_tokens is not None and request.most_tokens <= _MOST_TOKENS:
        return True
    return (
        is_task(text)
        or _is_for_a_list(request.fields)
        or (not request.has_tools and _is_for_tasks(request.system))
        or _is_of_transcript(text, request)
        or any(_asks_for_what_follows(before, text) for before in request.before)
        or _repeats(text, request.heard)
    )


def is_task(text: str) -> bool:
    """Whether nobody said this: it asks for something about the chat, in a form that only a program needs."""
    text = text.lstrip()
    if _TASK.match(text) or _is_in_parts(text) or _is_quoted_whole(text) or _is_handover(text) or _continues(text):
        return True
    head = _plain(text[:_HEAD])
    asking = next(_asking(head), "")
    if asking and not _OWN.search(asking) and _is_formal(asking, head):
        return True
    if _works_on_slot(text):
        return True
    told = _plain(_instruction(text))
    if _BY_PERSON.search(told) or _OWN.search(told):
        return False
    if _DIFF.search(text[:_HEAD]) and any(map(_CHANGE.match, _sentences(told))):
        return _FORM.search(told) is not None
    has_chat = _CHAT.search(told) or _LABELLED.search(text[: 2 * _HEAD])
    return bool(has_chat) and _is_aside(told) and _is_formal(told, told)


def is_handed(text: str, answer: str) -> bool:
    """Whether a program sends a message in every chat, as files to which it invents a "Good", or it is a task."""
    is_agreed = len(answer) <= _AGREED_WITHIN and _AGREED.match(answer.lstrip()) is not None
    is_given = is_agreed and _HANDED.search(_plain(text[:_HEAD])) is not None
    return is_given or is_task(text) or _asks_for_what_follows(text, "``")


def ends_examples(text: str, answer: str) -> bool:
    """Whether a message says that what stands before it was only an example, and the answer is invented as well."""
    is_agreed = len(answer) <= _AGREED_WITHIN and _AGREED.match(answer.lstrip()) is not None
    return is_agreed and len(text) <= _HEAD and _INVENTED.search(_plain(text)) is not None


def _asking(head: str) -> Iterator[str]:
    """The sentence that asks, where only what a program says stands before it."""
    for sentence in _sentences(head):
        if _WANTED.match(sentence):
            yield sentence
        if not (_BY_PROGRAM.match(sentence) or _LIST.match(sentence) or _FORM.search(sentence)):
            return


def _instruction(text: str) -> str:
    """What is told to the model, at the head or the end of a text, without what it is told it of."""
    ends = text if len(text) <= 2 * _HEAD else f"{text[:_HEAD]}\n{text[-_HEAD:]}"
    for tag in [*dict.fromkeys(_TAG.findall(ends))][:_MOST_TAGS]:
        begins, ended = ends.find(f"<{tag}"), ends.rfind(f"</{tag}>")
        ends = f"{ends[:begins]} {ends[ended + len(tag) + 3 :]}" if 0 <= begins < ended else ends
    unfenced = " ".join(ends.split("```")[::2])
    return _LABELLED.sub("\n", _QUOTED.sub(" ", unfenced))


def _works_on_slot(text: str) -> bool:
    """Whether a form is wanted, and nothing else, of what stands behind a label or in a tag, and nobody says "I"."""
    text = text[:_LONGEST].strip()
    slot = _SLOT.search(text[: 2 * _HEAD])
    if not slot or not text[slot.end() :].strip():
        return False
    told = _plain(text[: slot.start()])
    if len(told) < _LEAST_TOLD:
        told = _plain(text[-_HEAD:].rpartition("\n\n")[2])
    if len(told) < _LEAST_TOLD or told[:1].islower() or _BY_PERSON.search(told):
        return False
    is_named = not slot["named"] or slot["named"].lower() in told.lower()
    if not is_named and len(_FILLED.findall(text[: 2 * _HEAD])) < _OF_TEMPLATE:
        return False
    last = text[-_HEAD:].rpartition("\n")[2]
    is_open = _OPEN_LABEL.fullmatch(last) is not None and not _ANSWERS.search(last)
    return is_open or _FORM.search(told) is not None


def _is_aside(told: str) -> bool:
    """Whether something is wanted that answers nobody."""
    return any(kind.search(told) for kind in (_LABEL, _SUMMARY, _ASIDE))


def _is_formal(asking: str, head: str) -> bool:
    """Whether the answer has to have a form; how short it has to be persons say, too, of a summary."""
    if _FORM.search(head):
        return True
    is_summary = _SUMMARY.search(asking) and not _LABEL.search(asking)
    return not is_summary and _COUNT.search(head) is not None


def _is_for_tasks(system: str) -> bool:
    """Whether a system prompt says that its model is there for a task alone."""
    head = _plain(system[:_SYSTEM_HEAD])
    if _MAKER.search(head):
        return True
    if not head or _FOR_PERSONS.search(head):
        return False
    asking = (one for one in _sentences(head) if (_WANTED.match(one) or _CHANGE.match(one)) and not _OWN.search(one))
    sentence, whole = next(asking, ""), _plain(system[:_SYSTEM])
    if sentence:
        return _is_formal(sentence, whole)
    if any(map(_MAKES.match, _sentences(head))) or _MACHINE.search(head):
        return _FORM.search(whole) is not None
    is_short = len(system) <= _SYSTEM and _BROAD_CHAT.search(head)
    return bool(is_short) and _is_aside(head) and _is_formal(head, head) and not _OWN.search(head)


def _is_of_transcript(text: str, request: Request) -> bool:
    """Whether a chat is in the text, turn by turn, and a title or a summary is wanted of it."""
    text = text[:_LONGEST]
    if not (begins := _BY_ROLE.search(text)) or not _BY_MODEL.search(text):
        return False
    head = _plain(text[: min(_HEAD, begins.start())])
    if not request.has_tools and any(kind.search(request.system[:_SYSTEM_HEAD]) for kind in (_LABEL, _SUMMARY)):
        return True
    return (_LABEL.search(head) or _SUMMARY.search(head)) is not None and _FORM.search(head) is not None


def _is_handover(text: str) -> bool:
    """Whether a summary is wanted in parts and for somebody else, by nobody who says "I"."""
    lines = text[: 4 * _HEAD].splitlines()
    prose = "\n".join(line for line in lines if not _LIST.match(line))
    is_wanted = _SUMMARY.search(prose) and _HANDOVER.search(text[: 4 * _HEAD])
    return bool(is_wanted) and len(lines) - prose.count("\n") > 2 and not _FIRST_PERSON.search(prose)


def _continues(text: str) -> bool:
    """Whether a summary is handed over, behind some sentences on where it is from that nobody says "I" in."""
    told, ended, _ = text[:_HEAD].partition(":\n")
    is_handed = ended and len([*_sentences(told)]) > 2 and _CONTINUED.search(told) and _SUMMARY.search(told)
    return bool(is_handed) and not _FIRST_PERSON.search(told)


def _is_for_a_list(fields: frozenset[str]) -> bool:
    return bool(fields) and all(field.lower().replace("_", "").replace("-", "") in _FIELDS for field in fields)


def _asks_for_what_follows(before: str, text: str) -> bool:
    """Whether a message asks for something about the next one: "Generate a title for this conversation:"."""
    head = _plain(before.strip()[:_HEAD])
    if not head.endswith((":", "：")) or not _WANTED.match(head) or _OWN.search(head):
        return False
    return is_task(head) or (text[-1:] in _QUOTES and text.startswith(_QUOTES[text[-1]]))


def _is_in_parts(text: str) -> bool:
    """Whether headings part a task, with what it is about, from the form of the answer."""
    if not (begins := _HEADING.match(text)) or not (further := _FURTHER.search(text, begins.end() - 1, 4 * _HEAD)):
        return False
    if any(letter.isalnum() for letter in text[text.rfind("</") :].partition(">")[2] if "</" in text):
        return False  # a question stands behind what belongs to it
    task = next(_sentences(text[begins.end() : further.start()].partition("\n#")[0]), "")
    return any(kind.search(task) for kind in (_THING, _SUMMARY, _ASIDE))


def _is_quoted_whole(text: str) -> bool:
    """Whether a form and what was said in quotation marks is all: 'Give the title only. "I have moved to Leeds"'."""
    text = text.rstrip()
    quoted, begins = text[-1:] in _QUOTES, text[:_HEAD].find(_QUOTES.get(text[-1:], "\0"))
    if not quoted or not 0 < begins < len(text) - 1:
        return False
    asked = _plain(text[:begins])
    is_of_something = _OF_SOMETHING.search(asked)
    is_label = _LABEL.search(asked) and _FORM.search(asked) and _COUNT.search(asked)
    return bool(is_label) and not (is_of_something or _OWN.search(asked))


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
