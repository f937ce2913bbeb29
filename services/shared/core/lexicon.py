"""English words that decide whether two texts state the same: what may be left out, and what never may."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words("not no never none nobody nothing nowhere neither nor without hardly barely scarcely ain't")

NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
NUMERIC = _words(
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty"
    " ninety hundred hundreds thousand thousands million millions billion billions dozen dozens half quarter third"
    " first second fourth fifth sixth seventh eighth ninth tenth once twice thrice double triple single couple pair"
    " few several many more less most least fewer all some any every each both"
)

TIMES = _words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
    " january february march april may june july august september october november december jan feb mar apr jun jul"
    " aug sep sept oct nov dec spring summer autumn fall winter today tomorrow yesterday tonight now later soon ago"
    " before after since until till during morning afternoon evening night noon midnight midday daily weekly monthly"
    " yearly annually hourly always never often sometimes usually rarely seldom already yet still again next last"
    " previous early earlier late am pm second seconds minute minutes hour hours day days week weeks weekend weekends"
    " month months year years decade decades century centuries"
)

PRONOUNS = _words(
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we us"
    " our ours ourselves they them their theirs themselves who whom whose this that these those"
)

MODALS = _words("can could may might must shall should will would ought need dare want wants wanted")

DIRECTIONS = _words(
    "on off in out up down left right above below over under inside outside into onto from to with within toward"
    " towards north south east west northern southern eastern western forward backward backwards open closed near far"
)

CRITICAL = NEGATIONS | NUMBER_WORDS.keys() | NUMERIC | TIMES | PRONOUNS | MODALS | DIRECTIONS
"""Words that are never taken for a typing error of another."""

ARTICLES = _words("a an the")
INTENSIFIERS = _words("really very just actually basically please")
LINKING = _words("am is are was were be been feel feels felt look looks looked")
NOT_AFTER_SO = _words("that far much many long")
INTERJECTIONS = _words("oh well hey um uh umm uhh hm hmm ah")
SUBJECTS = _words("i you he she it we they there this the a an my your his her its our their")
SAYING = _words(
    "think thinks thought know knows knew say says said believe believes believed hope hopes hoped feel feels felt"
    " guess mean means meant remember remembers remembered sure glad heard hear noticed told"
)
LETTERED = _words(
    "plan vitamin type class grade group hepatitis option section team exhibit side category block building level tier"
    " series model appendix schedule column row point letter influenza an"
)
"""Words after which "a" is a name: plan A, vitamin A."""

NOT_AFTER_ARTICLE = (
    CRITICAL | LINKING | _words("little lot bit m and or but at of for by as about has have had do does did")
)
"""Words before which an article is none, as the name An, or matters: a few, the last, the US; and "m" of 10 a.m."""

SWAPPED_BUT_WORDS = _words(
    "causal casual marital martial united untied unites unties silver sliver slivers silvers sacred scared barely"
    " barley singing signing singer signer singers signers signed singed resigned resinged bleated belated carved"
    " craved carving craving carver craver farmed framed farming framing farmer framer farmers framers perfect"
    " prefect perfects prefects perform preform performs preforms performed preformed trials trails trailing trialing"
    " trialed trailed dairies diaries slated salted calming clamming compiler complier nuclear unclear angles angels"
    " saliva salvia martian martina"
)
"""Words that become another word when two neighbouring letters change places: never a typing error."""

_CONTRACTIONS = {
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
    "ain't": ("ain't",),
    "let's": ("let", "us"),
    "i'm": ("i", "am"),
}
_WITHOUT_APOSTROPHE = _words(
    "im ive dont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wouldnt couldnt shouldnt youre theyre youve"
    " theyve"
)
_ENDINGS = {"n't": "not", "'re": "are", "'ll": "will", "'ve": "have"}  # 'd is had or would, and stays as it is
_TAKES_IS = _words("it that there here what who where how when why he she")

_BRITISH = {
    "centre": "center", "centres": "centers", "theatre": "theater", "theatres": "theaters", "metre": "meter",
    "metres": "meters", "kilometre": "kilometer", "kilometres": "kilometers", "litre": "liter", "litres": "liters",
    "fibre": "fiber", "analyse": "analyze", "analysed": "analyzed",
    "programme": "program", "programmes": "programs", "jewellery": "jewelry", "aluminium": "aluminum",
}  # fmt: skip
_LONGEST_CACHED = 64  # hostile lengths stay out of the cache
_OUR = re.compile(
    r"^(colo|flavo|favo|hono|labo|neighbo|humo|behavio|harbo|rumo|vapo|armo|savo|endeavo|odo|glamo|splendo|vigo)u(?=r)"
)
_ISE = re.compile(
    r"^(organ|real|recogn|apolog|memor|priorit|custom|optim|minim|maxim|summar|categor|final|emphas|critic|special"
    r"|standard|synchron|visual|util|normal|initial|social|author|character)is(?=(?:e|ed|es|ing|ation|ations)$)"
)
_DOUBLE_L = re.compile(
    r"^(travel|cancel|label|model|signal|fuel|level|counsel|marvel|quarrel|dial)l(?=(?:ed|ing|er|ers)$)"
)


def plain_words(tokens: Sequence[str]) -> list[str]:
    """Tokens of a normalized text in full words: contractions spelled out, American spelling, small numbers in digits.

    The inflection stays: "I worked there" and "I work there" say different things.
    """
    spelled = _plain_words if max(map(len, tokens), default=0) <= _LONGEST_CACHED else _plain_words_of_any_length
    return list(chain.from_iterable(map(spelled, tokens)))


def _plain_words_of_any_length(token: str) -> tuple[str, ...]:
    return _plain_words(token) if len(token) <= _LONGEST_CACHED else (token,)


@lru_cache(maxsize=1 << 14)
def _plain_words(token: str) -> tuple[str, ...]:
    if token in _WITHOUT_APOSTROPHE:
        token = re.sub(r"(?=m$|ve$|re$|t$)", "'", token, count=1)
    if token in _CONTRACTIONS:
        return _CONTRACTIONS[token]
    stem, ending = token[:-3], token[-3:]
    if stem and ending in _ENDINGS:
        return (stem, _ENDINGS[ending])
    if token.endswith("'s") and token[:-2] in _TAKES_IS:
        return (token[:-2], "is")
    return (NUMBER_WORDS.get(token) or _american(token),)


def _american(word: str) -> str:
    if not word.isascii() or not word.isalpha():
        return word
    word = _BRITISH.get(word, word)
    return _DOUBLE_L.sub(r"\1", _ISE.sub(r"\1iz", _OUR.sub(r"\1", word)))
