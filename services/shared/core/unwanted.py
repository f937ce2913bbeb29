"""Whether a user says of a message itself that it is not to be remembered: rules on English wording.

"Don't remember this: …", "off the record, …", "…, please do not save that". When in doubt it is: what is not kept may
be said again, what is kept against a wish breaks a promise.
"""

from __future__ import annotations

import re
from typing import Literal

from contracts.v1.turns import Turn
from services.shared.core.text import unfolded

_LOOKED_AT = 400
"""Characters at either end of a text: what is quoted in its midst is no wish."""

_PLEASE = "(?:please|pls|plz|kindly)"
_OPENING = (
    rf"(?:^|[.!?;,(\[–—-]\s*|\b(?:but|and|so|ok|okay|hey|well|hi|lol|from (?:now|here) on,?) )"
    rf"(?:(?:{_PLEASE}|just|really)[, ]\s*)*"
)
_HAVE_TO = "(?:don't|dont|do not) (?:need|have) to"
_WANT = "i (?:don't|dont|do not) want you to"
_NOT = rf"(?:don't|dont|do not|never|no need to|{_WANT}|you (?:must not|mustn't|should not|shouldn't|{_HAVE_TO}))"
_DO_NOT = "(?:don't|dont|do not)"
_ARE_NOT = "(?:are not|aren't|are never)"
_SAYING = "what i(?:'m about to| am about to| will)? (?:say|tell you|type|write|said|told you)(?: now| next)?"
_MESSAGE = "message|one|part|bit|thing|chat|conversation|info|information|detail|number|code|secret"
_THIS = rf"(?:(?:this|that)(?: (?:{_MESSAGE}))|this|any of (?:this|it)|the following|what follows|{_SAYING})"
_POLITELY = "please|pls|but|though|ok|okay"
_CLOSING = (
    r"(?=\s*(?:$|[.!,;:()–—-]"
    rf"|(?:{_POLITELY}|plz|and|anywhere|thanks|that|my|i|in (?:your |the )?memory)\b))"
)
_VERB = "(?:remember|rember|remeber|keep|log|note|retain|write down|take note of)"
_STORING = "(?:save|store|record|memori[sz]e|persist)"
_KEEPING = "(?:remembering|saving|storing|keeping|recording|logging|noting|memori[sz]ing)"
_KEPT = "(?:remembered|saved|stored|kept|recorded|logged|memori[sz]ed)"
_SECRET = (
    "(?:my|the|this|these|those) (?!old|former|previous|last)(?:[a-z]+ ){0,2}"
    "(?:pin|password|passcode|codes?|numbers?|cards?|details?|address|iban|salary|secrets?)"
)
_ANYTHING = "anything (?:(?:i|we) (?:say|tell|write|type)|(?:in|of|from) this (?:chat|conversation))"
_IT = "(?:this|that|it)"
_AT_END = r"(?=[\s.!)\]]*$)"
_INTO_MEMORY = r"(?:in|into|to|in your|to your|into your|in the) memory\b"
_NOT_TO_BE_DONE = (
    rf"(?:{_VERB} {_THIS}|{_STORING} (?:{_THIS}|that|it)){_CLOSING}",
    rf"(?:add|commit|put|keep|save|store) (?:{_IT}|any of this) {_INTO_MEMORY}",
    rf"write {_IT} down{_CLOSING}",
    rf"{_VERB} (?:that|it)(?:,? {_PLEASE}\b|{_AT_END}|(?=\s*:))",
    rf"(?:{_VERB}|{_STORING}) (?:{_SECRET}|{_ANYTHING})\b",
    rf"(?:add|{_STORING}|{_VERB}) {_IT} (?:in|to|on|into) (?:my|your|any|the)?"
    r" ?(?:profile|memories|notes|records?|files?)\b",
    rf"keep {_IT} on (?:record|file)\b",
    rf"include {_IT} in (?:your|the|my) memor(?:y|ies)\b",
)
"""What somebody says is not to be done, behind "do not" or "never"."""

_OPENINGS = (
    rf"you (?:must not|mustn't) {_VERB} (?:that|it){_CLOSING}",
    rf"(?:make sure|see to it)(?: that)? {_IT} (?:isn't|is not|doesn't get|does not get|is never) {_KEPT}\b",
    rf"make sure (?:that )?you {_DO_NOT} (?:{_VERB}|{_STORING}) {_IT}\b",
    rf"(?:leave|keep) {_IT} out of (?:your |the |my )?memor(?:y|ies)\b",
    rf"(?:let's |let us )?keep {_IT} (?:strictly |totally )?off[- ](?:the[- ])?record(?! ?\w)(?!')",
    rf"(?:{_PLEASE} )?forget (?:that )?i (?:ever )?said {_IT}(?=\s*[.!]*\s*$)",
    rf"(?:{_PLEASE} )?forget {_IT} (?:right away|immediately|at once|afterwards)\b",
    rf"{_DO_NOT} keep {_IT}(?=\s*[.!]*\s*$)",
    r"(?:not for (?:your|the) memory|no memory,? please|strike (?:this|that) from the record)\b",
    rf"you(?: are|'re) (?:not|never) to {_VERB} {_THIS}{_CLOSING}",
    rf"you (?:must not|mustn't|should not|shouldn't|{_ARE_NOT} to) remember that (?:i|my|we|our)\b",
    rf"not (?:to )?{_VERB} (?:this|that){_CLOSING}",
    rf"you (?:must|should|have)(?: to)? forget this{_CLOSING}",
    rf"{_DO_NOT} (?:log|record|store|remember|save|persist|keep|note)\s*:",
    r"(?:delete|forget|erase) this (?:after|afterwards|later)\b",
    rf"(?:{_DO_NOT} make a|make no) note of {_IT}\b",
    rf"(?:should|must) not be {_KEPT}{_CLOSING}",
    rf"not to be {_KEPT}{_CLOSING}",
    r"let (?:this|that)(?: one)? not go into (?:your |the )?memory\b",
    rf"(?:delete|erase) {_IT} from (?:your|the) memory\b",
    rf"(?:refrain from|avoid) {_KEEPING} {_IT}\b",
    rf"(?:now |then )?(?:forget|erase|delete) (?:{_IT}(?: from (?:your |the )?memory)?|this message"
    rf"|that i (?:told you|said {_IT}|mentioned {_IT}))(?:,? please)?{_AT_END}",
)
"""How a sentence or a part of one opens that is such a wish."""

_WORDINGS = (
    rf"{_PLEASE} {_DO_NOT} (?:ever )?{_VERB} (?:that|it)(?=\s*(?:$|[.!,;]|that\b|i\b|my\b|we\b))",
    rf"{_PLEASE},? (?:you )?{_DO_NOT} (?:(?:remember|note|retain|log) this|keep this (?:{_MESSAGE}))\b",
    rf"{_PLEASE} {_DO_NOT} (?:{_VERB}|{_STORING})(?=[\s]*(?:$|[.!,;:)]))",
    rf"\b(?:this|that)(?: (?:{_MESSAGE}))?(?: is)? you(?: are|'re) (?:not|never) to {_VERB}\b",
    rf"\b(?:this (?:{_MESSAGE})|the following|{_SAYING}) (?:is not|isn't|must not|mustn't|should not|shouldn't)"
    rf"(?: to)? be {_KEPT}{_CLOSING}",
    rf"\b{_IT} (?:is not|isn't|is never) to be {_KEPT}{_CLOSING}",
    rf"\b{_IT} (?:must not|mustn't|should not|shouldn't|must never|should never) be {_KEPT}{_CLOSING}",
    r"\bnothing of (?:this|that) (?:should|must|is to) \b",
    r"\b(?:not|isn't|is not) for (?:your|the) (?:memory|notes|records?)(?=\s*(?:$|[.!,;:)–—-]|but\b))",
    r"\bfor your ears only\b",
    rf"\b(?:can|could|would|will) you (?:{_PLEASE} )?(?:not|never) (?:{_VERB}|{_STORING}) (?:{_IT}\b|{_SAYING}\b)",
    rf"\bwould you mind not {_KEEPING} {_IT}\b",
    rf"^(?:{_PLEASE} )?forget (?:(?:what|that|everything) i(?: have|'ve)? (?:just )?(?:said|told you)"
    r"|(?:that )?i (?:ever )?said anything)\b",
    rf"[(\[](?:{_PLEASE} )?{_NOT} (?:{_VERB}|{_STORING})(?: {_IT})?[)\]]",
    rf"\b{_WANT} (?:{_VERB}|{_STORING}) (?:{_IT}|my)\b",
    rf"\bi (?:don't|dont|do not) want {_IT} (?:to be )?{_KEPT}{_CLOSING}",
    rf"\b(?:i'd|i would) (?:rather|prefer(?: it)?(?: if)?) you (?:didn't|did not|don't|do not|not)"
    rf" (?:{_VERB}|{_STORING}) (?:{_IT}|my)\b",
)
"""How such a wish is worded wherever it stands."""

_WISH = re.compile(
    rf"{_OPENING}(?:{_NOT} (?:ever )?(?:{'|'.join(_NOT_TO_BE_DONE)})|{'|'.join(_OPENINGS)})|{'|'.join(_WORDINGS)}"
)
_MAY_BE = re.compile(
    "mem|rember|keep|kept|log|not[ei]|retain|writ|down|sav|stor|record|persist|forget|eras|delet|add|ears only"
)
"""One of these is in every such wish."""

_OFF_THE_RECORD = re.compile(
    rf"{_OPENING}(?:(?:this|that|it)(?:'s| is| stays) )?(?:strictly |totally |completely )?off[- ](?:the[- ])?record"
    rf"(?=\s*(?:$|[.!,;:)–—-]|(?:{_POLITELY})\b))"
)


_APOSTROPHES = str.maketrans("’`´", "'''")
_SIGNS = re.compile(r"[*_\"“”„]")


def refuses_itself(turn: Turn) -> Literal["asked"] | None:
    """Why a turn may not be kept by what it says: its user asks for that, and has not saved it on purpose."""
    return "asked" if turn.role == "user" and not turn.manually_saved and is_unwanted(turn.text) else None


def is_unwanted(text: str) -> bool:
    """Whether what a user says is not to be kept, as they say in it."""
    ends = [text[:_LOOKED_AT], text[-_LOOKED_AT:] if len(text) > _LOOKED_AT else ""]
    said = [end for end in map(_plain, ends) if _MAY_BE.search(end)]
    return any(_WISH.search(end) or _OFF_THE_RECORD.search(end) for end in said)


def _plain(text: str) -> str:
    lines = (
        " ".join(line.split()) for line in _SIGNS.sub("", unfolded(text)).translate(_APOSTROPHES).lower().splitlines()
    )
    return ". ".join(filter(None, lines))
