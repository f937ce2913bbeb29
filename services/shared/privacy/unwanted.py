"""Whether a user says of what they say that it is not to be remembered: rules on English wording, in `data`.

"Don't remember this: …", "off the record, …", "…, please do not save that". When in doubt it is: what is not kept may
be said again, what is kept against a wish breaks a promise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Literal

from contracts.v1.turns import Turn
from services.shared.language import wordlists
from services.shared.language.text import unfolded
from services.shared.privacy.command_spelling import wishes_respelled

Meant = Literal["chat", "before", "next"]
"""What a wish is about: the whole conversation, what was said before, or what is said next."""

_LOOKED_AT = 400
"""Characters at either end of a text: what is quoted in its midst is no wish."""

_HEAD = 160
"""Characters at the beginning of a line in its midst: somebody who writes much may say it of a paragraph."""

_LONGEST = 200
"""Characters of a text that may be nothing but a wish."""

_section = partial(wordlists.pattern, "unwanted")
_CLASSES = {
    "O": "off record",
    "M": "its memory",
    "B": "memory",
    "W": "said before",
    "T": "saying",
    "A": "all i say",
    "C": "chat",
    "Q": "please do not",
    "X": "you should not",
    "Y": "do not",
    "G": "keeping",
    "P": "kept",
    "V": "remember",
    "K": "keep",
    "S": "save",
    "R": "record",
    "D": "this thing",
    "J": "this",
    "I": "that",
}
"""What is written as one letter before wishes are looked for; the letter, and the section of its wordings."""

_LETTERS = tuple((letter, re.compile(rf"\b{_section(name)}(?!\w|'(?!s\b))")) for letter, name in _CLASSES.items())
_OPENING, _BID = _section("opening"), "(?:Y|never)"
_WISH = re.compile(
    rf"{_OPENING}(?:[XQ](?:{_section('done')}|{_section('surely done')})|{_BID}{_section('done')}"
    rf"|{_section('ask')}?{_section('openings')})"
    rf"|{_section('anywhere')}"
)
_CLOSING = (
    rf"{_section('later')}(?=\s*(?:$|[.!?,;:()\]–—…-]"
    r"|(?:please|pls|plz|kindly|but|though|ok|okay|and|thanks|thx|because|as|since|from (?:here|now)|my|i|i'm|I)\b))"
)
_OFF_THE_RECORD = re.compile(rf"{_OPENING}{_section('is off record')}{_CLOSING}")
_WHOLE_CHAT = re.compile(
    rf"{_OPENING}{_section('shall we')}?{_section('whole chat')}{_CLOSING}|^incognito ?[:,–-]"
    rf"|^{_section('shall we')}?{_section('go incognito')}(?=\s*[.!:])"
)
_ABROAD = re.compile(_section("abroad opening") + _section("abroad"))
_MAY_BE_ABROAD = re.compile(
    r"\b(?:n(?:ichts?|ie|irgend\w+|e|'|on|ão|iets?|ergens|o (?:(?:te|me|se|lo|la|te lo|quiero|quisiera|quede) )*"
    r"(?:guard|rec|me|al|reg|an|ap|ret|con|ac|que))|не|bu\w*|unut|vergiss|oublie|esque|dimentica|olv[ií]d|vergeet|zapomnij"
    r"|забудь|(?:garde|note|retien|enregistre)\w* pas)"
)
"""One of these is in every wish of another language."""

_MAY_BE = re.compile(
    "mem|rember|keep|kept|log|not[ei]|retain|writ|down|sav|stor|record|persist|forg|eras|delet|add|learn|hold|hang|wip"
    "|incognito|archiv|privat|temporary|futur|other|scra|file|filing|safe|pretend|treat|act (?:as|like)|chat only"
    "|only for|preserv|unsaved|coming up|comes up|brought up|(?:ears|eyes) only|without"
)
"""One of these is in every such wish."""

_OF_CHAT = re.compile(
    r"chat|conv|session|thread|talk|dis[ck]us|dialog|incognito|privat|tempor|\boff\b|thing|none|whatever|\ball\b|messages"
    r"|\bwords?\b|prompts|texts|inputs|\bwhat (?:we|i)\b|\bi (?:say|tell|write|type)",
    re.IGNORECASE,
)
"""One of these is in every wish about a whole conversation."""

_Part = Meant | Literal["ahead", "it", "nothing"]

_ALONE: tuple[tuple[_Part, re.Pattern[str]], ...] = (
    ("chat", re.compile(rf"{_section('shall we')}?(?:{_section('whole chat')}|{_section('go incognito')})")),
    ("before", re.compile(_section("wished before"))),
    ("next", re.compile(_section("wished next"))),
    ("ahead", re.compile(_section("ahead"))),
    ("it", re.compile(f"Y{_section('adverb')} [VKR] I")),
    ("nothing", re.compile(_section("filler"))),
)
"""What the parts of a text are that is nothing but a wish; "nothing" may stand beside one, and what tells that
something is going to be said makes that what the wish is about. Beside that alone "don't keep it" is one, too."""

_BEFORE_PART = re.compile(
    rf"(?:(?:{_section('please')}|and|so|but|now|well|just|actually|ok|okay|hey|hi|oh|no|sorry|then|also"
    rf"|{_section('from the start')}),? )+"
)
_SINCE = re.compile(rf"^({_section('from the start')}) (.+)$")
_SINCE_COMMA = re.compile(rf"\b({_section('from the start')}),")
_AFTER_PART = re.compile(
    rf"(?:,? (?:{_section('please')}|thanks?|thank you|thx|ok|okay|again|for me|at all|anywhere))+$"
)
_ASKS_FOR = re.compile(rf"(?:(?:{_section('please')}|hey|hi|ok|okay|so|and),? )*(?:Q|can|could|may|might|would|will)\b")
_ASKS_BACK = re.compile(rf"\b(?:{_section('please')}|ok|okay|alright|all right|right|yeah|deal)\s*\?\s*$")
_PARTS = re.compile(
    rf"\s*[.!?;,:–—…]+(?:\s+|$)|\s+-+\s+|\s+(?:but|so|and)\s+(?=(?:[XQY]|never|K|{_section('please')})\b)"
)
_ANNOUNCES = re.compile(r"(?:[:–—-]|\.\.+|…)\s*$")
_OF_THIS = re.compile(r"\bthis\b[^.!?]{0,20}[.!\s]*$", re.IGNORECASE)
_SPEAKER = re.compile(
    r"^[^\w\n]*(?:user|human|me|you|assistant|ai|bot|model|system|response)\b[^\w\n:]{0,4}(?:\([^)\n]*\))?[*_\]\s]*:"
    r"|\\?\"(?:content|text|value)\\?\"\s*:\s*\\?\"|</?(?:user|human|assistant|message|msg|turn)\b[^>\n]{0,80}>",
    re.IGNORECASE | re.MULTILINE,
)
"""What stands before a message in a conversation that is written down."""

_LINE = re.compile(r"[^\n]+")
_APOSTROPHES = str.maketrans("’`´", "'''")
_SIGNS = re.compile(r"[*_\"“”„«»‹›「」『』#<>~|]")
_PICTURES = re.compile(r"[^\w\s.,;:!?'()\[\]{}–—…&/%+=@$€£°-]+")
_QUOTED = re.compile(r"[\"“”„«»‹›「」『』>]|(?:^|\s)'")
_STOPS = str.maketrans({"。": ". ", "、": ", ", "，": ", ", "：": ": ", "！": "! ", "；": "; ", "．": ". "})


def refuses_itself(turn: Turn) -> Literal["asked"] | None:
    """Why a turn may not be kept by what it says: its user asks for that, and has not saved it on purpose."""
    return "asked" if turn.role == "user" and not turn.manually_saved and is_unwanted(turn.text) else None


def is_unwanted(text: str) -> bool:
    """Whether what a user says is not to be kept, as they say in it."""
    pieces = _looked_at(text)
    if any(_MAY_BE_ABROAD.search(piece) and _ABROAD.search(piece) for piece in pieces):
        return True
    looked_at = [said for said in map(_lettered, pieces) if said]
    wishes = (_WISH.search(said) or _OFF_THE_RECORD.search(said) or _WHOLE_CHAT.search(said) for said in looked_at)
    return any(wishes) or bool(looked_at and _alone(text, looked_at[0]))


def is_of_whole_chat(text: str) -> bool:
    """Whether what a user says has a wish that nothing of the conversation be kept."""
    return bool(_OF_CHAT.search(text)) and any(map(_WHOLE_CHAT.search, map(_lettered, _looked_at(text))))


def wish_alone(text: str) -> Meant | None:
    """What a text is about that is nothing but such a wish; None where it is none, or tells something else."""
    return _alone(text, _lettered(_lowered(text))) if len(text) <= _LONGEST else None


def _alone(text: str, plain: str) -> Meant | None:
    if len(text) > _LONGEST or _QUOTED.search(text):
        return None
    found = {_meant(part) for part in _PARTS.split(_SINCE_COMMA.sub(r"\1", plain)) if part}
    if None in found or ("?" in plain and not (_ASKS_FOR.match(plain) or _ASKS_BACK.search(plain))):
        return None
    if "ahead" in found and not found.isdisjoint(("before", "next", "it")):
        return "next"
    if "it" in found:
        return None
    order: tuple[Meant, ...] = ("chat", "before", "next")
    return next((meant for meant in order if meant in found), None)


def announces(text: str) -> bool:
    """Whether a text says nothing but that what is said next is not to be kept."""
    if len(text) > _LONGEST or not is_unwanted(text):
        return False
    meant = wish_alone(text)
    return bool(_ANNOUNCES.search(text) or meant == "next" or (meant == "before" and _OF_THIS.search(text)))


def _meant(part: str) -> _Part | None:
    said = _AFTER_PART.sub("", part)
    readings = (_SINCE.sub(r"\2 \1", said), _BEFORE_PART.sub("", said, count=1), said)
    return next((meant for meant, rule in _ALONE if any(map(rule.fullmatch, readings))), None)


def _looked_at(text: str) -> list[str]:
    """The pieces of a text in which a wish may stand: both ends, and each line in its midst as far as that is short."""
    pieces = [text[:_LOOKED_AT]]
    if len(text) > _LOOKED_AT:
        pieces += [*_midst(text), text[-_LOOKED_AT:]]
    return [said for said in map(_lowered, pieces) if said]


def _midst(text: str) -> Iterator[str]:
    """The beginnings of the lines of a text; of a conversation that is written down the ends, too."""
    is_talk = _SPEAKER.search(text) is not None
    for line in _LINE.findall(text):
        yield line[:_HEAD]
        if is_talk and len(line) > _HEAD:
            yield line[-_HEAD:]


def _lowered(text: str) -> str:
    """A text in one line of lower case, without signs of quotation and emphasis."""
    text = _SPEAKER.sub("\n", unfolded(text).translate(_STOPS))
    text = _PICTURES.sub(". ", _SIGNS.sub("", text).translate(_APOSTROPHES).lower())
    lines = (" ".join(line.split()) for line in text.splitlines())
    return ". ".join(filter(None, lines))


def _lettered(said: str) -> str:
    """What is said in lower case, with letters for what wishes are made of; nothing where it can be no wish."""
    said = wishes_respelled(said)
    if not _MAY_BE.search(said):
        return ""
    for letter, wording in _LETTERS:
        said = wording.sub(letter, said)
    return said
