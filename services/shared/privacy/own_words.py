"""A user's own words in what they send: what is pasted, quoted or only to be worked on says nothing of them.

English wording and the form of a text tell which is which: lines with their speakers, quotation marks, and what
announces a text. When in doubt about a text that is announced it is somebody else's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from services.shared.entities.names import FIRST_NAMES
from services.shared.language import wordlists
from services.shared.language.bounded import masked

_Span = tuple[int, int]
_pattern = partial(wordlists.pattern, "pasted")


def _not_after(section: str) -> str:
    return "".join(rf"(?<!\b{re.escape(word)})" for word in wordlists.listed("pasted", section))


_BEFORE_NUMBER = rf"(?:(?!\s+\d)|(?i:{_not_after('abbreviations before numbers')}))"
NO_ABBREVIATION = rf"(?i:{_not_after('abbreviations')}){_BEFORE_NUMBER}"
"""A condition on a place in a text: no "Dr." stands before it, no "e.g.", and no "No." before a number."""

SENTENCE_END = rf"(?<=[.!?;\n]){NO_ABBREVIATION}\s+"
"""Where a sentence ends: not at the full stop of "Dr. Klein", "No. 5" or "e.g. nuts"."""

_SENTENCE = re.compile(SENTENCE_END)


@lru_cache(maxsize=256)
def own_words(text: str) -> str:
    """The text with blanks for what is not its user's own, each character where it was."""
    own = text
    for others in (_marked, _said_in_lines, _of_letters, _worked_on):
        own = _blanked(own, others(masked(own)))
    return _without_announced(text, own)


def is_text_to_come(sentence: str, rest: str) -> bool:
    """Whether a sentence in lower case hands over a text that is still to come: a letter or the like, and no more than
    one sentence follows."""
    if not _AT_LENGTH.match(sentence.lstrip()):
        return False
    return _SENTENCE.search(rest.strip()) is None and "\n" not in rest.strip()


def _blanked(text: str, spans: Iterator[_Span]) -> str:
    for begin, end in [*spans]:
        text = f"{text[:begin]}{_NOT_BLANK.sub(' ', text[begin:end])}{text[end:]}"
    return text


_NOT_BLANK = re.compile(r"[^\n]")

# --- marks of a quotation -----------------------------------------------------------------------------------------

_MARKED = re.compile(
    r"^[ \t]{0,8}>[^\n]*"
    r"|^[ \t]{0,3}(?P<fence>```+|~~~+)[^\n]*\n(?:.*?)(?:^[ \t]{0,3}(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_QUOTE = re.compile(
    r"(?<![\w\"])\"(?=[^\s\"])[^\"]{1,4000}?(?<=[^\s\"])\"(?!\w)|[“„][^“”„]{1,4000}[”“]|«[^«»]{1,4000}»"
)
_OF_SEVERAL_SENTENCES = re.compile(r"[.!?…][\"')]*\s+\S|\n")


def _marked(text: str) -> Iterator[_Span]:
    """Lines that begin with ">", fenced blocks, and what stands in quotation marks and has several sentences."""
    for found in _MARKED.finditer(text):
        yield found.span()
    for found in _QUOTE.finditer(text):
        if _OF_SEVERAL_SENTENCES.search(text, found.start() + 1, found.end() - 1):
            yield found.start() + 1, found.end() - 1


# --- lines with their speakers ------------------------------------------------------------------------------------

_TIME = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:\s?[APap]\.?[Mm]\.?)?"
_DATE = (
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}\.? [A-Z][a-z]{2,8}\.?(?:,? \d{4})?"
    r"|[A-Z][a-z]{2,8}\.? \d{1,2}(?:,? \d{4})?|(?:[Tt]oday|[Yy]esterday)(?: at)?)"
)
_STAMP = rf"(?:\[(?:{_DATE},? {{0,2}})?{_TIME}\]|(?:{_DATE}(?:,? {{0,2}}|T){_TIME}Z?)|{_TIME})"
_DATED = re.compile(_DATE)
_WORD = r"[^\W\d_][\w.'’/-]*"
_WHO = rf"[<~]?(?P<who>@?{_WORD}(?: {_WORD}){{0,3}}?)>?(?: \([^()\n]{{1,20}}\))?"
_LABELLED = re.compile(
    rf"^[ \t*_•-]{{0,4}}(?:(?P<stamp>{_STAMP})[ \t]*[-–—]?[ \t]*)?[*_]{{0,2}}{_WHO}(?:[*_]{{0,2}}:[*_]{{0,2}}|(?<=>))"
    r"(?:[ \t]+(?P<said>\S[^\n]*)|[ \t]*$)",
    re.MULTILINE,
)
_HEADED = re.compile(
    rf"^(?P<who>{_WORD}(?: {_WORD}){{0,2}}),?[ \t]*[·—–|-]?[ \t]*[\[(]?"
    rf"(?P<stamp>(?:{_DATE},? {{0,2}})?{_TIME})[\])]?[ \t]*$(?P<said>(?!))?",
    re.MULTILINE,
)
_SENDERS, _VOICES = wordlists.words("pasted", "senders"), wordlists.words("pasted", "voices")
_NO_SENDERS = wordlists.words("pasted", "no senders")
_DETERMINER = re.compile("(?:the|my|our) ")
_HANDLE = re.compile(r"^@\w|^u/\w|^[a-z]{3,}\d|\w_\w")
_PARTICLES = frozenset("de del della di da dos van von der den ter la le al el bin ibn".split())
_TWO_VOICES = 2
_IN_DIALOGUE = re.compile(
    r"\b(?:you|your|u|ur)\b|^(?:hi|hey|hello|ok|okay|yes|yep|no|nope|lol|haha\w*|thanks?|thx"
    r"|congrats|congratulations|bye|np|good (?:morning|evening|night)|see you)\b"
)
_OF_SPEAKER = re.compile(r"\b(?:i|i['’](?:m|ve|ll|d)|we|we['’](?:re|ve|ll))\b")
_OF_ANOTHER = re.compile(r"\b(?:he|she|him|her|his|hers|i (?:need|must|should|owe|forgot|promised|have to))\b")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that begins with what may name who says it; `said` is what follows on the line."""

    who: str
    said: str
    is_stamped: bool
    begin: int
    end: int

    @property
    def is_voice(self) -> bool:
        """Whether it is said by "me", "him", Q and A, or somebody with a user name."""
        return self.who in _VOICES or _HANDLE.search(self.who) is not None

    @property
    def is_person(self) -> bool:
        """Whether a person is named for sure."""
        return self.who.split()[0] in FIRST_NAMES or _DETERMINER.sub("", self.who) in _SENDERS


def _said_in_lines(text: str) -> Iterator[_Span]:
    """A chat, an interview or a transcript, up to an empty line below; and a lone line in which somebody speaks."""
    lines = [*_labelled(text)]
    lines = [line for line in lines if line.is_stamped] or lines
    if lines and _is_conversation(lines):
        yield lines[0].begin, _end_of_paragraph(text, lines[-1])
        return
    for line in lines:
        end = line.end if line.said else _end_of_paragraph(text, line)
        said = text[line.begin : end].lower()
        if line.is_person and _OF_SPEAKER.search(said) and not _OF_ANOTHER.search(said):
            yield line.begin, end


def _labelled(text: str) -> Iterator[_Line]:
    found = sorted((*_LABELLED.finditer(text), *_HEADED.finditer(text)), key=lambda one: one.start())
    for one in found:
        who, stamp = one["who"], one["stamp"] or ""
        words = who.split()
        first = words[0].lower().strip(".@")
        is_named = first not in ("my", "our") and all(word[0].isupper() or word in _PARTICLES for word in words)
        is_known = first in FIRST_NAMES or _DETERMINER.sub("", who.lower()) in _SENDERS | _VOICES
        is_dated = _DATED.search(stamp) is not None and (is_known or one["said"] is not None)
        is_stamped = is_dated or stamp.startswith("[")
        is_somebody = is_known or is_named or is_stamped or _HANDLE.search(who)
        if is_somebody and (first in _VOICES or first not in _NO_SENDERS):
            yield _Line(who.lower(), one["said"] or "", is_stamped, one.start(), one.end())


def _is_conversation(lines: list[_Line]) -> bool:
    counts = Counter(line.who for line in lines)
    if lines[0].is_stamped or len(counts) < _TWO_VOICES:
        return lines[0].is_stamped
    if any(line.is_voice and line.who not in ("me", "us", "we") for line in lines) or max(counts.values()) > 1:
        return True
    return any(_IN_DIALOGUE.search(line.said.lower()) for line in lines)


def _end_of_paragraph(text: str, line: _Line) -> int:
    """Where the paragraph ends that a line is of, or the next one where it only names who speaks."""
    begin = line.end if line.said else len(text) - len(text[line.end :].lstrip())
    empty = _EMPTY_LINE.search(text, begin)
    return empty.start() if empty else len(text)


_EMPTY_LINE = re.compile(r"\n[ \t]*(?:\n|\Z)")


# --- letters ------------------------------------------------------------------------------------------------------

_DEAR = re.compile(
    r"^[ \t]*(?:Dear (?!(?i:diary|claude|chatgpt|gpt|gemini|copilot|siri|alexa|assistant|ai|bot|memory|friend)\b)"
    r"[^\n,:.!?]{1,60}|To whom it may concern)[,:][ \t]*$"
    r"|^[ \t]*(?:Fwd?|FWD?|WG): ",
    re.MULTILINE,
)


def _of_letters(text: str) -> Iterator[_Span]:
    """What follows "Dear Mrs Smith," on a line of its own, or is forwarded."""
    if found := _DEAR.search(text):
        yield found.start(), len(text)


_LAST_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*(?P<asked>[^\n]{1,200})\s*\Z")
_WORKED_ON = re.compile(_pattern("worked on afterwards"))


def _worked_on(text: str) -> Iterator[_Span]:
    """What stands before a last line that asks for it to be translated, corrected, or made more formal."""
    found = _LAST_PARAGRAPH.search(text)
    if found and any(map(_WORKED_ON.search, _SENTENCE.split(found["asked"].lower()))):
        yield 0, found.start()


# --- what is announced --------------------------------------------------------------------------------------------

_TELLING, _HANDING_OVER = re.compile(_pattern("telling")), re.compile(_pattern("handing over"))
_AT_LENGTH = re.compile(_pattern("handing over at length"))
_I_SAID = re.compile(
    r"\b(?:i|we)(?: have| already| just|'ve)* (?:said|told|wrote|mentioned|asked|replied|answered|texted)\b"
)
_OF_USER = re.compile(_pattern("of the user"))
_LISTED = re.compile(_pattern("liked or to be done"))
_ASKING = re.compile(_pattern("asking about a text"))
_WORKING = re.compile(_pattern("working on it"))
_ARRIVING = re.compile(_pattern("arriving"))
_ARRIVING_TEXTS = re.compile(_pattern("arriving texts"))
_NO_HEADING = re.compile(rf"\b(?:{'|'.join(wordlists.listed('pasted', 'no heading'))})\b")
_SOMEBODY_NOW = re.compile(
    rf"\W*(?:(?:my|our|the) )?(?:{'|'.join(sorted(_SENDERS - _NO_SENDERS))})(?: (?:on|over|via|by) (?:the )?\w+| at \w+"
    r"| just now| right now| today| yesterday| tonight| (?:this|last) \w+)+"
)
_FROM_SOMEBODY = re.compile(rf"\W*from (?:my|our|his|her|their|the) (?:{'|'.join(sorted(_SENDERS))})")
_HEADING = re.compile(
    rf"(?:[-*#•\d.]+ )?(?P<before>(?:[\w'’&.-]+ ){{0,4}}?)(?P<text>{_pattern('texts')}|{_pattern('other texts')})"
    r"(?: (?:chain|thread|draft|body))?(?P<after>\W*|[,(:].*"
    r"| (?:from|by|of|on|in|at|under|about|for|to|with|between|i|we|he|she|they|that|which|my|our|his|her|the|number"
    r"|chapter|part|version|so far|today|yesterday|\d+|#\d+|[-–—])(?!\w).*)"
)
_OF_ANYBODY = re.compile(f"{_pattern('texts of anybody')}|{_pattern('other texts')}")
_WHOSE = re.compile(_pattern("whose"))
_FROM_WHOM = re.compile(
    r" ?(?:(?:from|by|of)(?! (?:me|us|today|(?:the|this|last) (?:day|week|month|year))\b)|under|on my|i found"
    rf"|i got|we got|he|she|they|for (?:my|our|his|her|their|an?|the) (?:\w+ )?(?:{'|'.join(sorted(_SENDERS))}))\b"
)
_LONGEST_HEADING = 14  # words
_BESIDE = re.compile(_pattern("announcing beside"))
_FOR_A_STORY = re.compile(r"\b(?:for|from|of|in) (?:my|our)(?: \w+)? story\b")
_GOES_ON = re.compile(
    rf"\b(?:it|its|it['’]s|them|they|you|your)\b|\b(?:this|that)(?=[^\w ]| (?:is|was|sounds?|seems?|made|makes)\b)"
    rf"|\b(?:this|that|the) {_pattern('judged texts')}\b|\?$"
)
_LONGEST_BESIDE = 400  # characters of the sentence behind it
_SHORTEST_BELOW = 80  # characters: shorter is "Thanks!", or what is asked about the text
_POLITE = re.compile(rf"(?:{_pattern('politely')} )*{_pattern('working on it')}|.*\bplease\b")
_COLON = re.compile(r":(?=[\s\"“'„«*_]|$)")
_ANY_LINE = re.compile(r"[^\n]*\S[^\n]*")


def _without_announced(text: str, own: str) -> str:
    """The text without what an announcement is followed by, unless marks or speakers tell already what that is."""
    read = masked(own)
    for line in _ANY_LINE.finditer(read):
        begin = next(_announced(read, line), None)
        if begin is None:
            continue
        follows = len(text) - len(text[begin:].lstrip())
        if follows < len(text) and own[follows] != " ":
            return _blanked(own, iter([(begin, len(own))]))
    return own


def _announced(own: str, line: re.Match[str]) -> Iterator[int]:
    """Where on or below a line what is announced on it begins."""
    begin, end = line.span()
    for stop in (*(found.start() for found in _SENTENCE.finditer(own, begin, end)), end):
        sentence = own[begin:stop]
        if (opened := _opened_in(sentence)) is not None:
            if not is_text_to_come(sentence.lower(), own[stop:]):
                yield begin + opened
        elif stop < end and _announces_beside(sentence, own, stop):
            yield stop
        if own[end:].strip() and _announces(sentence, is_apart=_EMPTY_LINE.match(own, end) is not None):
            yield end
        begin = stop


def _opened_in(sentence: str) -> int | None:
    """Where in a sentence somebody else's words begin, or that follow it."""
    lower = sentence.lower()
    colon = _COLON.search(lower) or re.search(":", lower)
    opening = lower[: colon.start()] if colon else lower
    if colon and (_TELLING.search(_I_SAID.sub("", opening)) or _names_a_text(opening)):
        return colon.end()
    if _HANDING_OVER.match(opening.lstrip()):
        return colon.end() if colon else len(sentence)
    return None


def _names_a_text(opening: str) -> bool:
    """Whether what stands before a colon names a text, or asks something about one, that follows."""
    opening = opening.strip()
    if _OF_USER.search(opening):
        return False
    if _FROM_SOMEBODY.fullmatch(opening) or _SOMEBODY_NOW.fullmatch(opening):
        return True
    arrives = _ARRIVING.search(f"{opening}:") or _ARRIVING_TEXTS.search(opening)
    return bool(arrives or _ASKING.search(opening) or _is_heading(opening))


def _announces(sentence: str, *, is_apart: bool) -> bool:
    """Whether a sentence says that a text follows on the next line; `is_apart`: after an empty one."""
    said = sentence.lower().strip()
    if _OF_USER.search(said):
        return False
    if _ARRIVING.search(said.rstrip(".!?")):
        return True
    is_ended = said.endswith((".", "!")) or (_OF_SPEAKER.match(said) is not None and " you " not in said)
    if _ASKING.search(said) and (said.endswith(("?", ":")) or not is_ended or _POLITE.match(said)):
        return said.endswith("?") or is_apart or _WORKING.search(said) is not None
    if is_ended:
        return False
    is_there = is_apart and _ARRIVING_TEXTS.search(said) is not None
    return is_there or _is_heading(said.rstrip("?:"))


def _announces_beside(sentence: str, own: str, end: int) -> bool:
    """Whether a sentence, which ends there, says that a text begins behind it, and what follows may be one.

    It is none where it goes on about the text, or where the text stands below.
    """
    said = sentence.lower().strip()
    if _OF_USER.search(_FOR_A_STORY.sub("", said)) or not _BESIDE.search(said):
        return False
    first = _SENTENCE.split(own[end : end + _LONGEST_BESIDE].lower().lstrip(), maxsplit=1)[0]
    below = _EMPTY_LINE.search(own, end)
    return _GOES_ON.search(first) is None and (below is None or len(own) - below.end() < _SHORTEST_BELOW)


def _is_heading(said: str) -> bool:
    """Whether this only names a text, and not one of the user's about themselves."""
    found = _HEADING.fullmatch(said.strip())
    if not found or len(said.split()) > _LONGEST_HEADING or _LISTED.search(said):
        return False
    if _NO_HEADING.search(found["before"]) or _NO_HEADING.search(_RELATIVE.sub("", found["after"])):
        return False
    is_anybodys = _OF_ANYBODY.fullmatch(found["text"]) is not None
    return not is_anybodys or bool(_WHOSE.search(found["before"]) or _FROM_WHOM.match(found["after"]))


_RELATIVE = re.compile(
    r" (?:that |which )?(?:i|we|he|she|they) (?:\w+ ){0,2}?(?:got|found|received|wrote|read|saw|sent|made|am writing)\b"
)
