"""Whether what one says, asked whether something shall be done, is a yes or a no, and nothing else.

What goes on ("yes, but …"), what tells something ("no, Thursday") and what asks is neither.
"""

from __future__ import annotations

import re

from services.shared.language.text import unfolded

_LONGEST, _MOST_WORDS = 80, 12
"""Of characters and of words, so that no text can be read in very many ways."""

_SIGNS = {
    **dict.fromkeys("👍✅✔☑👌🆗", " yes "),
    **dict.fromkeys("👎❌✖✗✘❎🙅🚫⛔🛑✋🖐🤚🚷🙊☠", " no "),
}
_ASKS = re.compile("[?\N{BLACK QUESTION MARK ORNAMENT}\N{WHITE QUESTION MARK ORNAMENT}\N{THINKING FACE}]")
_BETWEEN = re.compile(r"[^\w']+|(?<!\w)'|'(?!\w)")
_PLAIN = str.maketrans("’‘`´íìÍÌ", "''''iiII")

_IT = (
    r"(?:(?:it|them|those|these|this|that)(?: (?:all|both|one|two|three))?|both(?: of (?:it|them|those|these))?"
    r"|all(?: of)? (?:it|that|them|those|these|two|three|four|five)"
    r"|(?:the|that|this|those|these|all|both)(?: of)?(?: the| those| these)?"
    r"(?: (?:two|three|four|five|\d{1,3}|listed))? (?:memory|memories|entry|entries|ones?|statements?|things?|list))"
)
_ALL = "(?:all|(?:all|everything)(?: you)? listed|everything|the lot|my memory|my memories|all my memories)"
_REMOVE = "(?:forget(?: about)?|delete|erase|remove|wipe|drop|clear|discard|get rid of)"
_CHANGE = "(?:correct|change|update|fix|replace|overwrite)"
_FROM = "(?: from (?:your |the |my )?memory| away)?"
_SO = (
    "(?:please|pls|plz|bitte|now|then|so|already|just|really|right now|right away|at once|permanently|for good|forever"
    "|completely|for me|oh|ah|well|hm+|and|sir|man|mate|dude|bro)"
)
_THANKS = "(?:thanks|thank you|thanks a lot|thank you very much|thx|ty|danke)"
_LEAD = "(?:you (?:can|may|should)|i(?: want| would like|'d like) you to|go (?:on|ahead) and|do|let's|i said)"

_STRONG = (
    "(?:y|yh|ye+|yes+|yea+h*|yeh|ye+p+|yu+p+|ya+|yah|aye|ja|oui|si|sure|surely|sure thing|of course|definitely"
    "|absolutely|certainly|affirmative|by all means|i (?:do|agree|confirm)(?: (?:it|that|this))?|confirm(?:ed)?|agreed"
    "|i(?:'m| am|m)(?: (?:very|quite|totally|absolutely|pretty|100))? (?:sure|certain|positive)"
    "|go(?: on| ahead| for it)?|proceed|continue|carry on|(?:do|make)(?: just)? (?:it|that|this|so)|please do"
    "|let's (?:do|go)(?: (?:it|that|this))?)"
)
_WEAK = "(?:ok+|okay|okey|okie|oki|k|kk|alright|all right|fine|sounds good)"
_AGREES = (
    "(?:you (?:can|may|should)|let's|it'?s (?:ok|okay|fine)|(?:the )?deletion|exactly|correct|right|indeed"
    "|perfect|great|good|do|why not|no (?:problem|worries)"
    "|that(?:'s|s| is)(?: (?:right|correct|fine|ok|okay|good|it|the one|what i (?:want|meant|mean)))"
    "|i (?:want|would like)(?: (?:to|it|that|this))?|i'd like(?: (?:to|it|that|this))?)"
)

_NO_CORE = (
    "(?:no+|nope|nah+|naw|n|nay|nein|non|nee|cancel|cancel (?:it|that|this)|stop|stop (?:it|that)|abort|negative"
    "|(?:wait|hold (?:on|it)|hang on)(?: (?:a|one) (?:sec|second|moment|minute))?|never|nothing|scratch that"
    "|never ?mind|nvm|let it be|let me think|not (?:now|yet|today|really|sure|at all)"
    "|(?:maybe )?later|(?:i(?:'d| would) )?rather not|better not|(?:absolutely|definitely|certainly|of course) not"
    "|forget (?:about )?it|(?:on )?second thoughts?|i(?:'m| am) not sure|no way|no need|i don'?t(?: think so)?"
    "|i take it back|i(?:'ve| have)? changed my mind|i don'?t want (?:to|it|that|this)|do nothing|let's not"
    "|i(?:'d| would) prefer not(?: to)?"
    "|i did(?:n'?t| not) mean (?:to|it|that|this)|(?:that'?s )?not what i (?:meant|mean|wanted|want|said)"
    rf"|i (?:still )?need {_IT}|i still want {_IT}"
    rf"|not {_IT}|(?:do not|don'?t)(?: (?:do|{_REMOVE}|{_CHANGE}|touch|lose)(?: (?:{_IT}|{_ALL}|anything))?)?"
    rf"|(?:i(?:'d| would) rather |i want to |i(?:'d| would) like to )?(?:keep|leave) (?:{_IT}|{_ALL})"
    "(?: (?:alone|be|as (?:it|they) (?:is|are|was|were)|as is|there|untouched|in(?: your)? memory))?)"
)
_BESIDE_NO = (
    "(?:please|pls|plz|oh|ah|well|hm+|uh+|um+|oops|sorry|actually|ok|okay|alright|fine|then|but|now|for now|really|just"
    "|on|thanks|thank you|thx|danke|yes|yeah|all good|it'?s (?:fine|ok|okay)|that'?s (?:fine|ok|okay|wrong)"
    "|wrong(?: one)?|undo)"
)


def _sequence(*pieces: str) -> re.Pattern[str]:
    return re.compile(rf"(?:(?:{'|'.join(pieces)})(?: |$))+")


def _within(*pieces: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^| )(?:{'|'.join(pieces)})(?: |$)")


def _act(verbs: str) -> str:
    return f"(?:{_LEAD} )*{verbs}(?: (?:{_IT}|{_ALL}){_FROM})?"


def _points(verbs: str) -> str:
    """What is asked for without a yes: "forget that" is another wish, and "forget it" the opposite."""
    return rf"(?!forget (?:about )?(?:it|that|this)(?: |$)){verbs} {_IT}"


_YES_OF = {
    verbs: (_sequence(_STRONG, _WEAK, _AGREES, _SO, _THANKS, _IT, _ALL, _act(verbs)), _within(_STRONG, _points(verbs)))
    for verbs in (_REMOVE, _CHANGE)
}
_HAS_WEAK, _LETS_GO = _within(_WEAK), _within(_THANKS, "forget (?:about )?(?:it|that|this)")
_NO, _HAS_NO = _sequence(_NO_CORE, _BESIDE_NO), _within(_NO_CORE)


def is_yes(text: str, *, to_change: bool = False) -> bool:
    """Whether a text agrees that something is forgotten, or with `to_change` that it is changed."""
    words = _words(text)
    every, strong = _YES_OF[_CHANGE if to_change else _REMOVE]
    if not every.fullmatch(words):
        return False
    return bool(strong.search(words) or (_HAS_WEAK.search(words) and not _LETS_GO.search(words)))


def is_no(text: str) -> bool:
    """Whether a text asks for something not to be done."""
    words = _words(text)
    return bool(_NO.fullmatch(words) and _HAS_NO.search(words))


def _words(text: str) -> str:
    """The words of a short text that does not ask, in lower case, with single spaces."""
    text = unfolded(text[: _LONGEST + 1])
    if len(text) > _LONGEST or _ASKS.search(text):
        return ""
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    words = _BETWEEN.sub(" ", text.translate(_PLAIN).lower()).strip()
    return words if words.count(" ") < _MOST_WORDS else ""
