"""Wordings that tell what kind of memory a text is. They are searched in clauses as `salience` prepares them:

lower case, straight apostrophes, single spaces, and " ¶ " at the start of every clause. No cue repeats without a
bound, so each takes linear time.
"""

from __future__ import annotations

import re


def _cue(*alternatives: str) -> re.Pattern[str]:
    """Any of the alternatives. All start with a space, by which the search skips what cannot match."""
    return re.compile("|".join(alternatives))


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_START = r" ¶ (?:[-*•>\"'(] ?)?(?:" + _any("and but so also ok okay please kindly just") + " (?:¶ )?){0,2}"
_ASKED = _START + r"(?:(?:can|could|would|will) you (?:please )?)?"


def _asked(*orders: str) -> str:
    """Any of the orders where a clause starts, perhaps as a polite question."""
    return f"{_ASKED}(?:{'|'.join(orders)})"


_I = " (?:i|we)"
_I_AM = " (?:i'm|i am|we're|we are)"
_I_WILL = " (?:i'll|i will|we'll|we will|i'm going to|i am going to|we're going to|we are going to)"
_ADVERB = _any("really always usually still also just much personally generally absolutely definitely never")
_OFTEN = f"(?:{_ADVERB} ){{0,2}}"
_NOUN = r"(?:[\w'-]{1,40} ){1,4}"

PREFERENCE = _cue(
    rf"{_I}(?:'d| would| do)? {_OFTEN}(?:(?:don't|do not) {_OFTEN})?"
    + r"(?:prefer|enjoy|hate|dislike|adore|detest|rather|favou?r|can't stand|cannot stand|can't bear)\b",
    rf"{_I} (?:do )?{_OFTEN}(?:(?:don't|do not) {_OFTEN})?(?:like|love)\b",
    rf"{_I_AM} (?:not )?(?:a (?:big |huge )?fan of|into|fond of|keen on)\b",
    r" (?:favou?rite|preference|preferred)\b",
    r" (?<! it )(?<! that )(?<! this )(?<! who )(?:prefers|loves|likes|hates|enjoys|dislikes)\b",
)

DECISION = _cue(
    rf"{_I}(?:'ve| have)? (?:finally |all )?(?:decided|agreed|chosen|chose|settled on|picked|opted)\b",
    r" let's (?:go with|use|stick with|stick to|settle on|keep|switch to)\b",
    rf"{_I_WILL} (?:go with|use|stick with|stick to|switch to)\b",
    rf"{_I_AM} going with\b",
    r" (?:my|our|the) (?:final )?(?:decision|choice) (?:is|was)\b",
    r" it(?:'s| is| was| has been) decided\b",
)

_NOT_AN_ORDER = _any(
    "worry know think forget mind you we i they like want have tell remember see feel believe need care"
)
_NOT_NEVER = _any("been had seen heard thought mind knew liked really again did was would ever i")
_MANNER = "(?:(?:to me|me|only|always|everything|back) )?" + _any("in with as like using without more less")

INSTRUCTION = _cue(
    _asked(
        r"(?:from now on|going forward|always|call me|address me as|make sure)\b",
        r"be (?:more |less )?(?:concise|brief|polite|honest|kind|formal|informal|short|specific)\b",
        rf"never (?!{_NOT_NEVER}\b)\w",
        rf"(?:don't|do not) (?:ever )?(?!{_NOT_AN_ORDER}\b)\w",
        rf"(?:answer|reply|respond|write|speak|talk|explain) {_MANNER}\b",
        r"(?:keep (?:your|the|answers|replies)|stop \w{1,20}ing|use)\b",
    ),
    r" (?:from now on|whenever i|every time i|each time i)\b",
    r" you (?:should|must) (?:always|never)\b",
    r" (?:i want|i need|i'd like|i would like) you to \w",
)

NOTE = _cue(
    rf"{_START}(?:note|todo|to-do|to do|reminder|memo|nb|fyi)(?: to self)?(?: ¶| ?[:–—-])",
    r" note to self\b",
    r" remind me (?:to|that|about)\b",
    rf"{_START}note that\b",
)

SAVING = _cue(
    _asked(
        r"(?:remember|memori[sz]e|bear in mind|keep in mind)(?: this| that| ¶| my| i| i'm| we| for later)(?= )",
        r"(?:save|store|note down|write down|make a note of|take a note of|pin) (?:this|that|it)\b",
        r"(?:don't|do not|never) (?:you )?forget (?!about it\b|¶)\w",
        r"(?:don't|do not|never) (?:you )?forget(?: this| that)?(?= ¶)",
    ),
    r" (?:i want|i need|i'd like|i would like) you to (?:remember|save)\b",
)

_TOWARDS = _any("planning training saving aiming working determined committed trying going") + " (?:to|for|towards?)"

COMMITMENT = _cue(
    rf"{_I}(?:'ll| will| shall) (?!(?:see|be|talk|let|think|check|try|never|miss|have|know)\b)\w",
    rf"{_I_AM} (?:also |now |still )?{_TOWARDS}\b",
    rf"{_I} (?:also |really |still )?(?:plan|intend|aim|hope|want|promised?|vow|vowed|swore|pledged?|committed) to\b",
    rf"{_I}(?:'ve| have)? (?:signed up|committed|promised|enrolled)\b",
    r" (?:my|our) (?:\w{1,30} )?(?:goal|aim|dream|ambition|resolution|deadline|target)s?\b",
    r" (?:i promise|deadline)\b",
)

_PASSING = _any(
    "sorry glad happy sure afraid just here back fine good ok okay great done ready curious wondering looking so not"
    " excited tired kidding thinking thrilled"
)
_DID = _any(
    "was were live lived work worked moved grew study studied have had own got speak started joined bought adopted"
    " married met lost went visited graduated drive play teach taught run been turned quit use used named weigh earn"
    " pay take eat don't can't cannot"
)
_IS = _any(
    "is are was were has have had live lives lived work works worked called named born will starts ends costs runs"
)

FACT = _cue(
    rf"{_I_AM} (?!{_PASSING}\b)\w",
    rf"{_I}(?:'ve| have| had)? (?:(?:also|now|just|recently|currently|still) )?{_DID}\b",
    rf" (?:my|our|his|her|their|the) {_NOUN}{_IS}\b",
    r" (?:was|were) born\b| born (?:in|on)\b",
)

_NO_NAME = _any(
    "It This That There What Here Who How Where When Why Everything Nothing Which Something Today He She They You"
)
_DOES = _any(
    "is was has had lives lived works worked moved studies studied owns got plays speaks started joined bought runs"
)
NAMED_FACT = re.compile(rf"\b(?!{_NO_NAME}\b)[A-Z][\w-]{{1,40}} {_DOES}\b")
"""A statement about a name, searched in the text as it was written."""

_GREETING = "(?:hi|hello|hey|howdy|thanks|thank you|bye|goodbye|cheers|good (?:morning|afternoon|evening|night))"
_CHATTER = (
    rf"{_GREETING}(?: so much| very much| a lot| again| there)?(?: [^\W\d]+$)?",
    _any("ok okay k sure yes yeah yep yup no nope nah right exactly indeed alright cool great nice awesome perfect"),
    _any("wonderful amazing excellent fantastic wow oh ah lol hm hmm welcome anytime please so too then"),
    "(?:ha|he){1,8}|good(?: luck)?|how are you(?: doing)?(?: today)?|how's it going|what's up|and you",
    "see you(?: later| soon| tomorrow| around)?|(?:talk|speak) to you (?:later|soon)|take care",
    "have a (?:nice|good|great|lovely) (?:day|one|evening|weekend|night|time)|no (?:problem|worries)|never mind",
    "got it|i see|sounds (?:good|great)|me too|of course|my pleasure|not much|(?:you're|you are) welcome",
    "(?:that's|that is) (?:great|awesome|nice|cool|good|wonderful|amazing|fine)",
)
SMALL_TALK = re.compile(rf"(?:(?:{'|'.join(_CHATTER)})(?: |$))+")
"""Greetings, thanks and approvals, matched against a whole short text in its normal form."""
