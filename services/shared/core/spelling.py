"""One spelling for words that are written in several ways: contractions, British and American, numbers in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = {
    word: 10 * tens
    for tens, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
    " sixteenth seventeenth eighteenth nineteenth"
).split()
_TENTHS = {f"{word[:-1]}ieth": value for word, value in _TENS.items()}
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def _ordinal(value: int) -> str:
    return f"{value}{'th' if 11 <= value <= 13 else _SUFFIXES.get(value % 10, 'th')}"


NUMBER_WORDS = {
    **{word: str(value) for value, word in enumerate(_UNITS)},
    **{word: str(value) for word, value in _TENS.items()},
    **{word: _ordinal(value) for value, word in enumerate(_ORDINALS, start=1)},
    **{word: _ordinal(value) for word, value in _TENTHS.items()},
}

_CONTRACTIONS = {
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("ain't",),
    "let's": ("let", "us"),
    "i'm": ("i", "am"),
    "gonna": ("going", "to"),
    "wanna": ("want", "to"),
    "gotta": ("got", "to"),
    "gimme": ("give", "me"),
    "lemme": ("let", "me"),
    "dunno": ("do", "not", "know"),
}
_WITHOUT_APOSTROPHE = {
    word.replace("'", ""): word
    for word in _words(
        "i'm i've don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't won't can't wouldn't couldn't"
        " shouldn't mustn't needn't you're they're you've they've we've you'll they'll it'll that'll that's what's"
        " there's here's where's how's who's he's she's"
    )
}  # not of those that are words without it: its, were, well, ill, id, shed, lets
_ENDINGS = {"n't": "not", "'re": "are", "'ll": "will", "'ve": "have"}
_TAKES_IS = _words("it that there here what who where how when why he she name")
_BETWEEN = _words("always already also ever just never only still")
_AFTER_WOULD = _words(
    "like love prefer rather be have hate appreciate need want go do see make say tell take give eat write forget know"
    " grow show break choose drive fly hide speak steal throw wear begin lose meet pay sell send spend sleep think"
    " teach buy bring catch hear keep"
)
_AFTER_HAD = _words(
    "better been gone done seen had made said told taken given eaten written forgotten known grown shown broken chosen"
    " driven fallen flown hidden spoken stolen thrown worn begun lost met paid sold sent spent slept thought taught"
    " bought brought caught heard kept"
)
_AFTER_IS = _words(
    "a an the not too so very really my your his her our their in on at from with for about always never already still"
    " asleep awake here there gone ill away broken"
)
"""Words that do not follow a possessive: "the soup's too salty", unlike "the dog's bed"."""


_BRITISH = {
    "centre": "center", "centres": "centers", "theatre": "theater", "theatres": "theaters", "litre": "liter",
    "litres": "liters", "fibre": "fiber", "fibres": "fibers", "programme": "program", "programmes": "programs",
    "jewellery": "jewelry", "aluminium": "aluminum", "tyre": "tire", "tyres": "tires", "cheque": "check",
    "cheques": "checks", "licence": "license", "licences": "licenses", "defence": "defense", "offence": "offense",
    "catalogue": "catalog", "catalogues": "catalogs", "dialogue": "dialog", "dialogues": "dialogs",
    "analogue": "analog", "mum": "mom", "mums": "moms", "cosy": "cozy", "moustache": "mustache", "yoghurt": "yogurt",
    "kerb": "curb", "kerbs": "curbs", "grey": "gray",
    "doughnut": "donut", "doughnuts": "donuts", "aeroplane": "airplane", "aeroplanes": "airplanes",
    "artefact": "artifact", "artefacts": "artifacts", "ageing": "aging", "judgement": "judgment", "enrol": "enroll",
    "enrolment": "enrollment", "fulfil": "fulfill", "fulfilment": "fulfillment", "skilful": "skillful",
    "instalment": "installment",
    "woollen": "woolen", "learnt": "learned", "dreamt": "dreamed", "burnt": "burned", "spoilt": "spoiled",
    "leant": "leaned", "leapt": "leaped", "practise": "practice", "practised": "practiced",
    "practising": "practicing", "manoeuvre": "maneuver", "sulphur": "sulfur",
}  # fmt: skip
_LONGEST_CACHED = 64  # hostile lengths stay out of the cache
_PATTERNS = tuple(
    (re.compile(british), american)
    for british, american in (
        (
            r"^(colo|flavo|favo|hono|labo|neighbo|humo|behavio|harbo|rumo|vapo|armo|savo|endeavo|odo|glamo|splendo"
            r"|vigo)u(?=r)",
            r"\1",
        ),
        (
            r"^(organ|real|recogn|apolog|memor|priorit|custom|optim|minim|maxim|summar|categor|final|emphas|critic"
            r"|special|standard|synchron|visual|util|normal|initial|social|author|character|modern|popular|local"
            r"|global|mobil|stabil|steril|hospital|harmon|general|digit|energ|equal|formal|human|item|legal|victim"
            r"|sympath|fantas|hypnot|immun|random|privat|public|personal|computer|reorgan|revital|subsid|vandal)is"
            r"(?=(?:e|ed|es|er|ers|ing|ation|ations)$)",
            r"\1iz",
        ),
        (r"^(anal|paral|catal)ys(?=(?:e|ed|ing|er|ers)$)", r"\1yz"),
        (
            r"^(travel|cancel|label|model|signal|fuel|level|counsel|marvel|quarrel|dial|tunnel|panel|pedal|shovel"
            r"|snorkel|channel|spiral|total|unravel|jewel|equal)l(?=(?:ed|ing|er|ers)$)",
            r"\1",
        ),
        (r"^((?:kilo|centi|milli)?met)re(?=s?$)", r"\1er"),
        (r"^(s?mo)u(?=l(?:d|t|der))", r"\1"),
        (r"^plough(?=(?:s|ed|ing)?$)", "plow"),
        (r"^sceptic", "skeptic"),
        (r"^pyjama(?=s?$)", "pajama"),
        (r"^(an|leuk)ae(?=mi)|^(p|orthop)ae(?=di)", r"\1\2e"),
    )
)


def plain_words(tokens: Sequence[str]) -> list[str]:
    """Tokens of a normalized text in full words: contractions spelled out, American spelling, numbers in digits.

    Numbers in words up to 99, whole hundreds and thousands and ordinals become digits. The inflection stays: "I worked
    there" and "I work there" say different things.
    """
    spelled = _plain_words if max(map(len, tokens), default=0) <= _LONGEST_CACHED else _plain_words_of_any_length
    tokens = _in_context(tokens)
    if TITLES.isdisjoint(tokens):
        return list(chain.from_iterable(map(spelled, tokens)))
    named = [i > 0 and tokens[i - 1] in TITLES for i in range(len(tokens))]
    return list(chain.from_iterable((t,) if name else spelled(t) for t, name in zip(tokens, named, strict=True)))


TITLES = _words("dr mr mrs ms prof professor sir lady st herr frau mme")
"""Words before a name: it is never respelt, and a full stop between them ends no sentence."""


_LAST_DIGITS = {word: value for value, word in enumerate(_UNITS[:10]) if value}
_LAST_ORDINALS = {word: value for value, word in enumerate(_ORDINALS[:9], start=1) if word != "second"}
"""Without "second": a twenty second timer is not the 22nd."""

_POWERS = {"hundred": 100, "thousand": 1000}
_NOT_AFTER_POWER = _words("and hundred thousand million billion hundredth thousandth") | NUMBER_WORDS.keys()


def _in_context(tokens: Sequence[str]) -> Sequence[str]:
    """Tokens with what only the next word makes clear: twenty five is 25, I'd like is I would like."""
    if not any("'" in token or token in _TENS or token in _POWERS for token in tokens):
        return tokens
    plain: list[str] = []
    for i, token in enumerate(tokens):
        after, later = (*tokens[i + 1 : i + 3], "", "")[:2]
        if plain and (number := _number(plain[-1], token, after)):
            plain[-1] = number
        else:
            plain += _with_auxiliary(token, after, later)
    return plain


def _number(before: str, token: str, after: str) -> str | None:
    """The number that two words make together, such as twenty five and two hundred; larger ones stay in words."""
    if before in _TENS and token in _LAST_DIGITS:
        return str(_TENS[before] + _LAST_DIGITS[token])
    if before in _TENS and token in _LAST_ORDINALS:
        return _ordinal(_TENS[before] + _LAST_ORDINALS[token])
    if token in _POWERS and after not in _NOT_AFTER_POWER and not after[:1].isdigit():
        count = NUMBER_WORDS.get(before, before)
        return str(int(count) * _POWERS[token]) if re.fullmatch("[1-9][0-9]?", count) else None
    return None


def _with_auxiliary(token: str, after: str, later: str) -> tuple[str, ...]:
    """The words of "I'd" and "the soup's" where the next words tell which they are; others stay as they are."""
    word, ending = token[:-2], token[-2:]
    if ending == "'s" and after in _AFTER_IS and word and token not in _CONTRACTIONS:
        return (word, "is")
    if ending == "'d" and word:
        verb = later if after in _BETWEEN else after
        return (word, "had") if verb in _AFTER_HAD else (word, "would") if verb in _AFTER_WOULD else (token,)
    return (token,)


def _plain_words_of_any_length(token: str) -> tuple[str, ...]:
    return _plain_words(token) if len(token) <= _LONGEST_CACHED else (token,)


_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")


@lru_cache(maxsize=1 << 14)
def _plain_words(token: str) -> tuple[str, ...]:
    token = _WITHOUT_APOSTROPHE.get(token, token)
    if token in _CONTRACTIONS:
        return _CONTRACTIONS[token]
    stem, ending = token[:-3], token[-3:]
    if stem and ending in _ENDINGS:
        return (stem, _ENDINGS[ending])
    if token.endswith("'s"):
        return (token[:-2], "is") if token[:-2] in _TAKES_IS else (f"{_american(token[:-2])}'s",)
    if _THOUSANDS.fullmatch(token):
        return (token.replace(",", ""),)
    return (NUMBER_WORDS.get(token) or _american(token),)


def _american(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    word = _BRITISH.get(word, word)
    for british, american in _PATTERNS:
        word = british.sub(american, word)
    return word
