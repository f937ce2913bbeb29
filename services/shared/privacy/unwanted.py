"""Whether a user says of what they say that it is not to be remembered: rules on English wording, in `data`.

"Don't remember this: …", "off the record, …", "…, please do not save that". When in doubt it is: what is not kept may
be said again, what is kept against a wish breaks a promise.
"""

from __future__ import annotations

import re
from typing import Literal, get_args

from contracts.v1.turns import Turn
from services.shared.language.text import unfolded
from services.shared.privacy.command_spelling import wishes_respelled
from services.shared.privacy.wordings import compiled, kind

Meant = Literal["chat", "before", "next"]
"""What a wish is about: the whole conversation, what was said before, or what is said next."""

_LOOKED_AT = 400
"""Characters at either end of a text: what is quoted in its midst is no wish."""

_HEAD = 160
"""Characters at the beginning of a line in its midst: somebody who writes much may say it of a paragraph."""

_LONGEST = 200
"""Characters of a text that may be nothing but a wish."""

_IS = compiled(
    "unwanted",
    """
    letters, wish, wish for a chat, of a chat, wish abroad, may be a wish, may be a wish abroad, alone,
    between parts, since, polite question, before a message
    """,
    flags=re.NOFLAG,
)
_ANNOUNCES = re.compile(r"(?:[:–—-]|\.\.+|…)\s*$")
_OF_THIS = re.compile(r"\bthis\b[^.!?]{0,20}[.!\s]*$", re.IGNORECASE)
_PICTURES = re.compile(r"[^\w\s.,;:!?'()\[\]{}–—…&/%+=@$€£°-]+")
_QUOTED = re.compile(r"[\"“”„«»‹›「」『』>]|(?:^|\s)'")
_PLAIN = str.maketrans(
    {"。": ". ", "、": ", ", **dict.fromkeys("’`´", "'"), **dict.fromkeys('*_"“”„«»‹›「」『』#<>~|')}
)


def refuses_itself(turn: Turn) -> Literal["asked"] | None:
    """Why a turn may not be kept by what it says: its user asks for that, and has not saved it on purpose."""
    return "asked" if turn.role == "user" and not turn.manually_saved and is_unwanted(turn.text) else None


def is_unwanted(text: str) -> bool:
    """Whether what a user says is not to be kept, as they say in it."""
    pieces = _looked_at(text)
    if any(_IS["may be a wish abroad"].search(piece) and _IS["wish abroad"].search(piece) for piece in pieces):
        return True
    lettered = [said for said in map(_lettered, pieces) if said]
    wishes = (_IS["wish"].search(said) or _IS["wish for a chat"].search(said) for said in lettered)
    return any(wishes) or bool(lettered and _alone(text, lettered[0]))


def is_of_whole_chat(text: str) -> bool:
    """Whether what a user says has a wish that nothing of the conversation be kept."""
    wishes = map(_IS["wish for a chat"].search, map(_lettered, _looked_at(text)))
    return _IS["of a chat"].search(text) is not None and any(wishes)


def wish_alone(text: str) -> Meant | None:
    """What a text is about that is nothing but such a wish; None where it is none, or tells something else."""
    return _alone(text, _lettered(_lowered(text))) if len(text) <= _LONGEST else None


def announces(text: str) -> bool:
    """Whether a text says nothing but that what is said next is not to be kept."""
    if len(text) > _LONGEST or not is_unwanted(text):
        return False
    meant = wish_alone(text)
    return bool(_ANNOUNCES.search(text) or meant == "next" or (meant == "before" and _OF_THIS.search(text)))


def _alone(text: str, plain: str) -> Meant | None:
    if len(text) > _LONGEST or _QUOTED.search(text) or ("?" in plain and not _IS["polite question"].search(plain)):
        return None
    parts = filter(None, _IS["between parts"].split(_IS["since"].sub(r"\1", plain)))
    found = {_meant(part) for part in parts}
    if None not in found and "ahead" in found and not found.isdisjoint(("before", "next", "it")):
        return "next"
    order: tuple[Meant, ...] = get_args(Meant)
    return None if found & {None, "it"} else next((meant for meant in order if meant in found), None)


def _meant(part: str) -> str | None:
    """What a part of a text is that is nothing but a wish; "nothing" may stand beside one."""
    found = _IS["alone"].fullmatch(part)
    return kind(found) if found else None


def _looked_at(text: str) -> list[str]:
    """The pieces of a text in which a wish may stand: both ends, and of each line in its midst the beginning, in a
    conversation that is written down also the end."""
    pieces = [text[:_LOOKED_AT]]
    if len(text) > _LOOKED_AT:
        ends = (slice(_HEAD), slice(-_HEAD, None)) if _IS["before a message"].search(text) else (slice(_HEAD),)
        pieces += [line[end] for line in text.split("\n") for end in ends]
        pieces.append(text[-_LOOKED_AT:])
    return [said for said in map(_lowered, dict.fromkeys(pieces)) if said]


def _lowered(text: str) -> str:
    """A text in one line of lower case, without signs of quotation and emphasis."""
    text = _PICTURES.sub(". ", _IS["before a message"].sub("\n", unfolded(text)).translate(_PLAIN).lower())
    lines = (" ".join(line.split()) for line in text.splitlines())
    return ". ".join(filter(None, lines))


def _lettered(said: str) -> str:
    """What is said in lower case, with letters for what wishes are made of; nothing where it can be no wish."""
    said = wishes_respelled(said)
    if not _IS["may be a wish"].search(said):
        return ""
    return _IS["letters"].sub(kind, said)
