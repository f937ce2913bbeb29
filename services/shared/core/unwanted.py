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
_WISH = re.compile(
    rf"{_OPENING}{_NOT} (?:ever )?(?:{_VERB} {_THIS}|{_STORING} (?:{_THIS}|that|it)){_CLOSING}"
    rf"|{_OPENING}{_NOT} (?:ever )?(?:add|commit|put|keep|save|store) (?:this|that|it|any of this) {_INTO_MEMORY}"
    rf"|{_OPENING}{_NOT} write (?:this|that|it) down{_CLOSING}"
    rf"|{_PLEASE} (?:don't|dont|do not) (?:ever )?{_VERB} (?:that|it)(?=\s*(?:$|[.!,;]|that\b|i\b|my\b|we\b))"
    rf"|{_OPENING}{_NOT} (?:ever )?{_VERB} (?:that|it),? {_PLEASE}\b"
    rf"|{_OPENING}you (?:must not|mustn't) {_VERB} (?:that|it){_CLOSING}"
    rf"|{_OPENING}(?:make sure|see to it)(?: that)? (?:this|that|it) (?:isn't|is not|doesn't get|does not get|is never)"
    r" (?:saved|stored|kept|remembered|recorded|logged)\b"
    rf"|{_OPENING}keep (?:this|that|it) out of (?:your |the |my )?memory\b"
    rf"|{_OPENING}(?:let's |let us )?keep {_IT} (?:strictly |totally )?off[- ](?:the[- ])?record(?! ?\w)(?!')"
    rf"|{_OPENING}(?:{_PLEASE} )?forget (?:that )?i (?:ever )?said (?:that|this|it)(?=\s*[.!]*\s*$)"
    rf"|{_OPENING}(?:{_PLEASE} )?forget {_IT} (?:right away|immediately|at once|afterwards)\b"
    rf"|{_OPENING}{_DO_NOT} keep (?:it|this|that)(?=\s*[.!]*\s*$)"
    rf"|{_OPENING}(?:not for (?:your|the) memory|no memory,? please|strike (?:this|that) from the record)\b"
    rf"|\b(?:this|that)(?: (?:{_MESSAGE}))?(?: is)? you(?: are|'re) (?:not|never) to {_VERB}\b"
    rf"|{_OPENING}you(?: are|'re) (?:not|never) to {_VERB} {_THIS}{_CLOSING}"
    rf"|{_OPENING}you (?:must not|mustn't|should not|shouldn't|{_ARE_NOT} to) remember that (?:i|my|we|our)\b"
    rf"|{_PLEASE},? (?:you )?{_DO_NOT} (?:remember|note|retain|log) this\b"
    rf"|{_PLEASE},? (?:you )?{_DO_NOT} keep this (?:{_MESSAGE})\b"
    rf"|{_OPENING}not (?:to )?{_VERB} (?:this|that){_CLOSING}"
    rf"|{_OPENING}you (?:must|should|have)(?: to)? forget this{_CLOSING}"
    rf"|{_OPENING}{_DO_NOT} (?:log|record|store|remember|save|persist|keep|note)\s*:"
    rf"|{_OPENING}(?:delete|forget|erase) this (?:after|afterwards|later)\b"
    rf"|{_OPENING}{_NOT} (?:ever )?{_VERB} (?:that|it)(?:{_AT_END}|(?=\s*:))"
    rf"|{_OPENING}{_NOT} (?:ever )?(?:{_VERB}|{_STORING}) (?:{_SECRET}|{_ANYTHING})\b"
    rf"|{_PLEASE} {_DO_NOT} (?:{_VERB}|{_STORING})(?=[\s]*(?:$|[.!,;:)]))"
    rf"|{_OPENING}(?:{_DO_NOT} make a|make no) note of {_IT}\b"
    rf"|{_OPENING}{_NOT} (?:add|{_STORING}|{_VERB}) {_IT} (?:in|to|on|into) (?:my|your|any|the)?"
    r" ?(?:profile|memories|notes|records?|files?)\b"
    rf"|{_OPENING}(?:{_PLEASE} )?{_NOT} keep {_IT} on (?:record|file)\b"
    rf"|\b(?:this (?:{_MESSAGE})|the following|{_SAYING}) (?:is not|isn't|must not|mustn't|should not|shouldn't)"
    rf"(?: to)? be {_KEPT}{_CLOSING}|{_OPENING}(?:should|must) not be {_KEPT}{_CLOSING}"
    rf"|\bnothing of (?:this|that) (?:should|must|is to) \b"
    rf"|\b(?:not|isn't|is not) for (?:your|the) (?:memory|notes|records?)(?=\s*(?:$|[.!,;:)–—-]|but\b))"
    rf"|\bfor your ears only\b"
    rf"|{_OPENING}let (?:this|that)(?: one)? not go into (?:your |the )?memory\b"
    rf"|\bcould you (?:{_PLEASE} )?not (?:{_VERB}|{_STORING}) {_SAYING}\b"
    rf"|^(?:{_PLEASE} )?forget (?:(?:what|that|everything) i(?: have|'ve)? (?:just )?(?:said|told you)"
    r"|(?:that )?i (?:ever )?said anything)\b"
    rf"|{_OPENING}(?:delete|erase) {_IT} from (?:your|the) memory\b"
    rf"|[(\[](?:{_PLEASE} )?{_NOT} (?:{_VERB}|{_STORING})(?: {_IT})?[)\]]"
    rf"|\b{_WANT} (?:{_VERB}|{_STORING}) (?:{_IT}|my)\b"
    rf"|\bi (?:don't|dont|do not) want {_IT} (?:to be )?{_KEPT}{_CLOSING}"
    rf"|\b(?:i'd|i would) (?:rather|prefer(?: it)?(?: if)?) you (?:didn't|did not|don't|do not|not)"
    rf" (?:{_VERB}|{_STORING}) (?:{_IT}|my)\b"
    rf"|\b{_IT} (?:is not|isn't|is never) to be {_KEPT}{_CLOSING}|{_OPENING}not to be {_KEPT}{_CLOSING}"
    rf"|\b{_IT} (?:must not|mustn't|should not|shouldn't|must never|should never) be {_KEPT}{_CLOSING}"
    rf"|{_OPENING}(?:leave|keep) {_IT} out of (?:your|the|my) memor(?:y|ies)\b"
    rf"|{_OPENING}{_NOT} include {_IT} in (?:your|the|my) memor(?:y|ies)\b"
    rf"|\b(?:can|could|would|will) you (?:{_PLEASE} )?(?:not|never) (?:{_VERB}|{_STORING}) {_IT}\b"
    rf"|\bwould you mind not {_KEEPING} {_IT}\b|{_OPENING}(?:refrain from|avoid) {_KEEPING} {_IT}\b"
    rf"|{_OPENING}make sure (?:that )?you {_DO_NOT} (?:{_VERB}|{_STORING}) {_IT}\b"
    rf"|{_OPENING}(?:now |then )?(?:forget|erase|delete) (?:{_IT}(?: from (?:your |the )?memory)?|this message"
    rf"|that i (?:told you|said (?:that|this|it)|mentioned (?:that|this|it)))(?:,? please)?{_AT_END}"
)
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
    return any(_WISH.search(said) or _OFF_THE_RECORD.search(said) for said in map(_plain, ends))


def _plain(text: str) -> str:
    lines = (
        " ".join(line.split()) for line in _SIGNS.sub("", unfolded(text)).translate(_APOSTROPHES).lower().splitlines()
    )
    return ". ".join(filter(None, lines))
