"""What stands between two spaces: the marks before, the tokens, the marks after."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from services.shared.language.text import CURRENCY

_LONGEST_CACHED = 64  # hostile lengths stay out of the caches

LEAD = "\"'`([{)]},;*_"
TAIL = ".,:;!?\"'`)]}*_"
_PAIRS = {")": "(", "]": "[", "}": "{"}
_NUMBERS = re.compile(r"[0-9]{1,4}(?:[,;-][0-9]{1,4})*")


@dataclass(frozen=True, slots=True)
class Piece:
    """What stood between two spaces: the marks before, the tokens, the marks after; or `marks` and nothing else."""

    lead: str
    tokens: tuple[str, ...]
    tail: str
    marks: bool = False


def split_piece(chunk: str) -> Piece:
    return _cached_piece(chunk) if len(chunk) <= _LONGEST_CACHED else _cached_piece.__wrapped__(chunk)


@lru_cache(maxsize=1 << 14)
def _cached_piece(chunk: str) -> Piece:
    if mood := _mood(chunk):
        return Piece("", (mood,), "")
    rest = chunk.lstrip(LEAD)
    lead, core = chunk[: len(chunk) - len(rest)], rest.rstrip(TAIL)
    tail = rest[len(core) :]
    if not is_word(core) and (core.isascii() or core == "\u2014"):
        return Piece("", (), "", marks=True)
    if core.startswith("..") and core.lstrip(".")[:1].isalnum():
        core = core.lstrip(".")
    if lead.endswith("[") and tail.startswith("]") and _NUMBERS.fullmatch(core):
        return Piece(lead[:-1], (f"[{core}]",), tail[1:])
    if lead.endswith("__") and tail.startswith("__") and core.isidentifier():
        return Piece(lead[:-2], (f"__{core}__",), tail[2:])
    if lead.endswith("{") and tail.startswith("}") and core.isidentifier():
        return Piece(lead[:-1], (f"{{{core}}}",), tail[1:])
    closing = count_closing(core, tail)
    return Piece(lead, _tokens(core + tail[:closing]), tail[closing:])


def count_closing(core: str, tail: str) -> int:
    """How many brackets after a word belong to it: f(x) and a[0], unlike (x) and [a]."""
    unclosed = {mark: core.count(opening) - core.count(mark) for mark, opening in _PAIRS.items()}
    for i, mark in enumerate(tail):
        if unclosed.get(mark, 0) <= 0:
            return i
        unclosed[mark] -= 1
    return len(tail)


_CODE_MARK = re.compile(r"[/\\_@=(\[]|^[-.~$]")
_E_WORD = re.compile(r"^e-(?=[a-z]{2})", re.IGNORECASE)
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_LETTERS_APART = re.compile(r"[^\W\d_]-[^\W\d_]")
_COMMA = re.compile(r"(?<=[^\W\d])[,;](?=\w)|(?<=\w)[,;](?=[^\W\d])|(?<=[^\W\d])\.{2,}(?=\w)|(?<=\w)\.{2,}(?=[^\W\d])")
_OPERATOR = re.compile(r"([<>=!]=+|[-=]>|<-|[<>=])")
_MONEY = re.compile(rf"((?:(?<!\w)-)?[{CURRENCY}])(?=[0-9.])|(?<=[0-9])([{CURRENCY}%])")
_UNITS = (
    "km/h|kmh|kwh|mph|ghz|mhz|khz|hz|km|cm|mm|nm|kg|mg|lbs?|oz|ml|cl|kb|mb|gb|tb|kw|mw|ms|mins?|hrs?|ft|px|[ap]\\.?m"
)
_MEASURE = re.compile(rf"(?<![\w.,:])([0-9][0-9.,:]*)({_UNITS}|[mglhsvw])(?!\w)", re.IGNORECASE)
_CLOCK = re.compile(r"0([0-9]:[0-5][0-9](?::[0-5][0-9])?)")
_HALF_OF_DAY = {"a.m": "am", "p.m": "pm"}


def _tokens(core: str) -> tuple[str, ...]:
    if core.isalpha():
        return (core,)
    if address := canonical_address(core):
        return (address,)
    core = _E_WORD.sub("e", core)
    if not _CODE_MARK.search(core):
        core = core if _LETTERS_APART.fullmatch(core) or core.partition("'")[0].istitle() else _HYPHEN.sub(" ", core)
        core = _COMMA.sub(" ", core)
    core = _MONEY.sub(r" \1\2 ", _OPERATOR.sub(r" \1 ", core))
    tokens = tuple(map(_token, _MEASURE.sub(r"\1 \2", core).split()))
    return tuple(map(_amount, tokens)) if _SIGN_OF_MONEY.search(core) else tokens


_SIGN_OF_MONEY = re.compile(f"[{CURRENCY}]")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")


def _amount(token: str) -> str:
    """An amount of money without separators of thousands and without ".00"."""
    plain = token.replace(",", "") if _GROUPED.fullmatch(token) else token
    return plain.removesuffix(".00") if plain[0].isdigit() else plain


def _token(token: str) -> str:
    if clock := _CLOCK.fullmatch(token):
        return clock[1]
    return _HALF_OF_DAY.get(token.lower(), token)


# --- addresses ------------------------------------------------------------------------------------------------

_SCHEME = re.compile(r"(?:(https?)|ftp)://", re.IGNORECASE)
_MAIL = re.compile(r"(?:mailto:)?([\w.+-]+@[\w-]+(?:\.[\w-]+)+)", re.IGNORECASE)
_WITHOUT_SCHEME = re.compile(r"www\.[^/].*|(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,}(?::[0-9]{1,5})?[/?#].*", re.IGNORECASE)
_PARTS = re.compile(r"([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?", re.DOTALL)
_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|yclid|mc_[ce]id|igshid|_ga|ref_src)(?:=|$)", re.IGNORECASE
)


def canonical_address(word: str) -> str | None:
    """A web or mail address without scheme (http, https), case of the host, "www." and tracking parameters.

    Path, query and fragment keep their case. None if the word is no address.
    """
    if mail := _MAIL.fullmatch(word):
        return mail[1].lower()
    scheme = _SCHEME.match(word)
    if not scheme and not _WITHOUT_SCHEME.fullmatch(word):
        return None
    prefix = scheme[0].lower() if scheme and not scheme[1] else ""
    parts = _PARTS.fullmatch(word, scheme.end() if scheme else 0)
    if parts is None or not parts[1]:
        return None
    host, path, query, fragment = parts.groups(default="")
    user, at, domain = host.rpartition("@")
    kept = "&".join(part for part in query.split("&") if part and not _TRACKING.match(part))
    tail = (f"?{kept}" if kept else "") + (fragment if fragment != "#" else "")
    return f"{prefix}{user}{at}{domain.lower().removeprefix('www.')}{path if tail else path.rstrip('/')}{tail}"


# --- code -----------------------------------------------------------------------------------------------------

_CODE = re.compile(
    r"[a-z]+[A-Z].*"  # fooBar
    r"|(?=[^0-9]*[0-9])(?=[^A-Z]*[A-Z])(?![vV][0-9])[A-Za-z0-9]{5,}"  # Hunter2
    r"|(?:\.{0,2}|~|[A-Za-z]:)[/\\].*|[^/]*/[^.]*\..*"  # paths
    r"|--?[A-Za-z].*|\$[{(]?[A-Za-z].*|.*(?:\(|::).*"
    r"|[a-z]\w*\.(?:\w+\.)*[A-Z].*"  # os.Path
)
_BRAND = re.compile(r"[ie][A-Z][a-z]+")
_DIGIT = re.compile("[0-9]")


def keyed(token: str, shouts: bool) -> str:
    """A token without case, unless it is code; where a whole text is in capitals, only code with digits keeps them."""
    lower = token.lower()
    if lower == token or _BRAND.fullmatch(token) or (shouts and not _DIGIT.search(token)):
        return lower
    is_code = "_" in token or _ADDRESS_LIKE.search(token) or _CODE.fullmatch(token)
    return token if is_code else lower


_ADDRESS_LIKE = re.compile(r"^[a-z0-9.-]+\.[a-z]{2,}(?::[0-9]+)?[/?#]")


# --- moods ----------------------------------------------------------------------------------------------------

_HAPPY = re.compile(r"[:=][-^']?[)\]D]+|\(+[-^]?[:=]|\^_?\^")
_SAD = re.compile(r">?[:=]['’]?-?[(\[]+|[)]+-?[:=]|D:")
_OTHER_MOOD = re.compile(r"[>]?[:;=][-^o']?[)\]DPpOo/\\|*3$@sSxX]+|[xX]D+|</?3")
_PLEASED = frozenset("🙂😊😀😃😄😁☺🤗✨🎉🎊🥳🎈💫❤♥💕💖🌸🌺🌼")
"""Emoji that only decorate a sentence when they stand at its end or before it."""

_SMILE = "\u263a"
_FROWN = "\u2639"


def _mood(chunk: str) -> str | None:
    """What an emoticon expresses, as one token; None if a piece is no emoticon."""
    face = chunk.rstrip(".,!?")
    if _HAPPY.fullmatch(face) or face in ("🙂",):
        return _SMILE
    if _SAD.fullmatch(face) or face in ("🙁", "☹"):
        return _FROWN
    return face.lower() if _OTHER_MOOD.fullmatch(face) else None


def is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def is_decoration(token: str) -> bool:
    return token == _SMILE or token in _PLEASED
