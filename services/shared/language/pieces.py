"""What stands between two spaces: the marks before, the tokens, the marks after."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from services.shared.language.spelling import without_separators
from services.shared.language.text import CURRENCY, MONEY, remembered

LEAD = "\"'`([{)]},;*_"
TAIL = ".,:;!?\"'`)]}*_"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_BELONGING = tuple(
    (opening, closing, re.compile(inner))
    for opening, closing, inner in (
        ("[", "]", r"[0-9]{1,4}(?:[,;-][0-9]{1,4})*"),
        ("__", "__", r"[^\W\d]\w*"),
        ("{", "}", r"[^\W\d]\w*"),
    )
)
"""Marks that belong to what they wrap."""


class Piece(NamedTuple):
    """What stood between two spaces: the marks before, the tokens, the marks after; without tokens it is all marks."""

    lead: str
    tokens: tuple[str, ...]
    tail: str


@remembered(longest=64)
def split_piece(chunk: str) -> Piece:
    """The piece that stands there."""
    if mood := _mood(chunk):
        return Piece("", (mood,), "")
    rest = chunk.lstrip(LEAD)
    lead, core = chunk[: len(chunk) - len(rest)], rest.rstrip(TAIL)
    tail = rest[len(core) :]
    if not is_word(core) and (core.isascii() or core == "\u2014"):
        return Piece("", (), "")
    if core.startswith("..") and core.lstrip(".")[:1].isalnum():
        core = core.lstrip(".")
    for opening, closing, inner in _BELONGING:
        if lead.endswith(opening) and tail.startswith(closing) and inner.fullmatch(core):
            return Piece(lead[: -len(opening)], (f"{opening}{core}{closing}",), tail[len(closing) :])
    after = count_closing(core, tail)
    return Piece(lead, _tokens(core + tail[:after]), tail[after:])


def count_closing(core: str, tail: str) -> int:
    """How many brackets after a word belong to it: f(x) and a[0], unlike (x) and [a]."""
    unclosed = {mark: core.count(opening) - core.count(mark) for mark, opening in _PAIRS.items()}
    for i, mark in enumerate(tail):
        if unclosed.get(mark, 0) <= 0:
            return i
        unclosed[mark] -= 1
    return len(tail)


_Rules = tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]


def _rules(*rules: tuple[str, str | Callable[[re.Match[str]], str]]) -> _Rules:
    return tuple((re.compile(form), written) for form, written in rules)


def _rewritten(text: str, rules: _Rules) -> str:
    for form, written in rules:
        text = form.sub(written, text)
    return text


_CODE_MARKS, _CODE_LEADS = frozenset("/\\_@=(["), tuple("-.~$")
_E_WORD = _rules(("^[eE]-(?=[A-Za-z]{2})", "e"))
_HYPHEN = _rules((r"(?<=[^\W\d_])-(?=[^\W\d_])", " "))
_BETWEEN_WORDS = _rules((r"(?<=[^\W\d])(?:[,;]|\.{2,})(?=\w)|(?<=\w)(?:[,;]|\.{2,})(?=[^\W\d])", " "))
_UNITS = (
    "km/h|kmh|kwh|mph|ghz|mhz|khz|hz|km|cm|mm|nm|kg|mg|lbs?|oz|ml|cl|kb|mb|gb|tb|kw|mw|ms|mins?|hrs?|ft|px|[ap]\\.?m"
)
_SET_APART = _rules(
    (r"([<>=!]=+|[-=]>|<-|[<>=])", r" \1 "),
    (rf"((?:(?<!\w)-)?[{CURRENCY}])(?=[0-9.])|(?<=[0-9])([{CURRENCY}%])", r" \1\2 "),
    (rf"(?i)(?<![\w.,:])([0-9][0-9.,:]*)({_UNITS}|[mglhsvw])(?!\w)", r"\1 \2"),
    (r"(?<!\S)0(?=[0-9]:[0-5][0-9](?::[0-5][0-9])?(?!\S))", ""),
    (r"(?<!\S)([apAP])\.[mM](?!\S)", lambda half: f"{half[1].lower()}m"),
)
"""Operators, money, measures, times of the day."""


def _tokens(core: str) -> tuple[str, ...]:
    if core.isalpha():
        return (core,)
    if address := _canonical_address(core):
        return (address,)
    core = _rewritten(core, _E_WORD)
    if _CODE_MARKS.isdisjoint(core) and not core.startswith(_CODE_LEADS):
        is_one = len(core) == 3 or core.partition("'")[0].istitle()  # A-B, Anne-Marie
        core = _rewritten(core, _BETWEEN_WORDS if is_one else (*_HYPHEN, *_BETWEEN_WORDS))
    tokens = tuple(_rewritten(core, _SET_APART).split())
    return tuple(map(_amount, tokens)) if MONEY.search(core) else tokens


def _amount(token: str) -> str:
    """An amount of money without separators of thousands and without ".00"."""
    plain = without_separators(token)
    return plain.removesuffix(".00") if plain[0].isdigit() else plain


_MAIL = re.compile(r"(?:mailto:)?([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:https?://|(?P<scheme>ftp://)|(?=www\.[^/]|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,}(?::[0-9]{1,5})?[/?#]))"
    r"(?P<host>[^/?#]+)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?P<fragment>#.*)?",
    re.IGNORECASE | re.DOTALL,
)
_TRACKING = frozenset("fbclid gclid dclid msclkid yclid mc_cid mc_eid igshid _ga ref_src".split())


def _canonical_address(word: str) -> str | None:
    """A web or mail address without scheme (http, https), case of the host, "www." and tracking parameters.

    Path, query and fragment keep their case. None if the word is no address.
    """
    if mail := _MAIL.fullmatch(word):
        return mail[1].lower()
    if not (found := _ADDRESS.fullmatch(word)):
        return None
    scheme, host, path, query, fragment = found.groups(default="")
    user, at, domain = host.rpartition("@")
    kept = "&".join(part for part in query.split("&") if part and not _is_tracking(part.partition("=")[0].lower()))
    tail = (f"?{kept}" if kept else "") + (fragment if fragment != "#" else "")
    where = path if tail else path.rstrip("/")
    return f"{scheme.lower()}{user}{at}{domain.lower().removeprefix('www.')}{where}{tail}"


def _is_tracking(parameter: str) -> bool:
    return parameter.startswith("utm_") or parameter in _TRACKING


_CODE = re.compile(
    r"(?![ie][A-Z][a-z]+\Z)"  # iPhone
    r"(?:[a-z]+[A-Z].*"  # fooBar
    r"|(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])(?![vV][0-9])[A-Za-z0-9]{5,}"  # Hunter2
    r"|(?:\.{0,2}|~|[A-Za-z]:)[/\\].*|[^/]*/[^.]*\..*"  # paths
    r"|--?[A-Za-z].*|\$[{(]?[A-Za-z].*|.*(?:\(|::|_).*"
    r"|[a-z]\w*\.(?:\w+\.)*[A-Z].*"  # os.Path
    r"|[a-z0-9.-]+\.[a-z]{2,}(?::[0-9]+)?[/?#].*)"  # addresses
)


def keyed(token: str, shouts: bool) -> str:
    """A token without case, unless it is code; where a whole text is in capitals, only code with digits keeps them."""
    is_code = _CODE.fullmatch(token) and not (shouts and not any(map(str.isdecimal, token)))
    return token if is_code else token.lower()


_MOOD = re.compile(
    r"(?P<happy>[:=][-^']?[)\]D]+|\(+[-^]?[:=]|\^_?\^|🙂)"
    r"|(?P<sad>>?[:=]['’]?-?[(\[]+|[)]+-?[:=]|D:|[🙁☹])"
    r"|>?[:;=][-^o']?[)\]DPpOo/\\|*3$@sSxX]+|[xX]D+|</?3"
)
_PLEASED = frozenset("🙂😊😀😃😄😁☺🤗✨🎉🎊🥳🎈💫❤♥💕💖🌸🌺🌼")
"""Emoji that only decorate a sentence when they stand at its end or before it."""

_SMILE = "\u263a"
_FROWN = "\u2639"


def _mood(chunk: str) -> str | None:
    """What an emoticon expresses, as one token; None if a piece is no emoticon."""
    face = chunk.rstrip(".,!?")
    found = _MOOD.fullmatch(face)
    return found and (_SMILE if found["happy"] else _FROWN if found["sad"] else face.lower())


def is_word(token: str) -> bool:
    """Whether a token has a letter or digit."""
    return any(map(str.isalnum, token))


def is_decoration(token: str) -> bool:
    """Whether a token is a smile or the like."""
    return token == _SMILE or token in _PLEASED
