"""Fingerprints of a text: what texts that may state the same have in common, and a sketch of its words.

Everything here is the same in every process and on every machine: no `hash()`, no byte order of the host.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec, module_from_spec
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

from contracts.v1.entries import Entry
from services.shared.language.text import remembered

if TYPE_CHECKING:
    from datasketch import MinHash

LONG = 40
"""Words from which on a text may have near copies: only such texts may repeat each other without equal words."""

MOST_SIMILAR = 16
"""So many entries at most that may be near copies are looked at, the nearest first. Seldom are there more than one."""

SIMHASH_BITS = 3
"""SimHashes that differ in no more bits are those of near copies, the usual bound for web pages."""

_SWAPPABLE = 6  # letters of the shortest word in which a typing error is forgiven
_BANDS, _ROWS = 2, 32
_LEAST_SHINGLE, _SHINGLES = 3, 25


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a normalized text is looked up by.

    Hashes are BLAKE2b-128 in 32 hex digits: `exact_hash` of the normal form, `statement_hash` of the words that make
    the statement. `simhash` is 64 bits in 16 hex digits. `minhash_bands` are those of the MinHash of a text of 40 words
    and more, () of others.
    """

    exact_hash: str
    statement_hash: str
    simhash: str
    minhash_bands: tuple[str, ...]


def fingerprint(normalized: str, words: Sequence[str]) -> Fingerprint:
    """The fingerprint of a text in its normal form and its words (`reading.Reading`)."""
    normalized, words = in_one_case(normalized), [in_one_case(word) for word in words]
    bands = _minhash_bands(words) if len(words) >= LONG else ()
    return Fingerprint(_digest(normalized), _digest(" ".join(words)), _simhash(normalized.split(" ")), bands)


def in_one_case(text: str) -> str:
    """Text in lower case with what capitals do not tell apart as one: ß and ss, ı and i."""
    return text if text.isascii() else text.replace("ß", "ss").replace("ı", "i").replace("i\u0307", "i")


def _minhash_bands(words: Sequence[str]) -> tuple[str, ...]:
    """Hashes of the two halves of a MinHash over shingles; a typing error that is forgiven changes neither.

    The shingles of a longer text are longer, so that a single other word is in one of a dozen of them in any text: what
    is made from a template meets there seldom.
    """
    sums = np.cumsum(np.fromiter(chain((0,), map(_number_of, words)), np.uint64, len(words) + 1))
    length = max(_LEAST_SHINGLE, len(words) // _SHINGLES)
    sketch = _empty_sketch().copy()
    sketch.update_batch(((sums[length:] - sums[:-length]) >> np.uint64(32)).tolist())
    bands = sketch.hashvalues.astype("<u4").reshape(_BANDS, _ROWS)
    return tuple(f"m{n}:{blake2b(band.tobytes(), digest_size=8).hexdigest()}" for n, band in enumerate(bands))


@cache
def _empty_sketch() -> MinHash:
    """Takes MinHash from its module alone: the package imports scipy for the others, 60 MB and two seconds."""
    if "datasketch" not in sys.modules and (spec := find_spec("datasketch")) is not None:
        sys.modules["datasketch"] = module_from_spec(spec)  # not executed, and gone before anybody else looks for it
        try:
            from datasketch.minhash import MinHash
        finally:
            del sys.modules["datasketch"]
    else:
        from datasketch.minhash import MinHash
    return MinHash(_BANDS * _ROWS, seed=1, scheme="affine32", hashfunc=int)


def digests_of(entry: Entry) -> tuple[str, ...]:
    """Hashes by which the same statement is known again without its words."""
    return tuple(dict.fromkeys(filter(None, (entry.exact_hash, entry.statement_hash))))


def all_digests_of(entry: Entry) -> tuple[str, ...]:
    """The same of all that an entry ever said."""
    former = (digest for one in entry.revisions for digest in (one.exact_hash, one.statement_hash))
    return tuple(dict.fromkeys((*digests_of(entry), *filter(None, former))))


def warm_up() -> None:
    """Get ready what the first long text would wait for."""
    _empty_sketch()


@remembered(longest=32)
def _number_of(word: str) -> int:
    """64 bits of a word; of a long one without the order of its letters after the first."""
    folded = word[0] + "".join(sorted(word[1:])) if len(word) >= _SWAPPABLE and word.isalpha() else word
    return int.from_bytes(_hash(folded, 8), "little")


def near_keys(entry: Entry) -> tuple[str, ...]:
    """What entries share at least one of that may be near copies of each other: all whose MinHashes are nearly equal,
    and all whose SimHashes differ in at most three bits."""
    if not entry.minhash_bands or not entry.simhash:
        return entry.minhash_bands
    bits = int(entry.simhash, 16)
    blocks = [bits >> 13 * n & 0x1FFF for n in range(5)]  # of five blocks at least two are equal then
    pairs = combinations(range(5), 2)
    return (*entry.minhash_bands, *(f"s{one}{other}:{blocks[one]:04x}{blocks[other]:04x}" for one, other in pairs))


def nearness(key: str) -> int:
    """How much it counts that two entries share a key: a band of the MinHash more than all of the SimHash."""
    return MOST_SIMILAR if key.startswith("m") else 1


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _digest(text: str) -> str:
    return _hash(text, 16).hex()


def apart(prints: Fingerprint, by: str) -> Fingerprint:
    """The fingerprint of a statement that something beside its words makes another one, as the day of "tomorrow" does.

    `exact_hash` stays that of the wording alone: who has it forgotten is not told it again a minute after midnight.
    """
    bands = tuple(f"{band}:{by}" for band in prints.minhash_bands)
    return replace(prints, statement_hash=_digest(f"{prints.statement_hash} {by}"), minhash_bands=bands)


def hamming(a: str, b: str) -> int:
    """The number of bits in which two SimHashes (hex) differ, 0 to 64."""
    return (int(a, 16) ^ int(b, 16)).bit_count()


def _simhash(words: Sequence[str]) -> str:
    """Charikar's similarity estimation (STOC 2002): each bit by majority over all words, repeats counted.

    A word's 64 bits lie in the octets of one large number, so that adding numbers counts all bits at once.
    """
    ones = np.zeros(64, dtype=np.int64)
    for start in range(0, len(words), _MOST_COUNTED):
        total = sum(map(_octets, words[start : start + _MOST_COUNTED]))
        ones += np.frombuffer(total.to_bytes(64, "little"), np.uint8)
    return np.packbits(2 * ones > len(words), bitorder="little").tobytes()[::-1].hex()


_MOST_COUNTED = 255  # what an octet can count


@remembered(longest=32)
def _octets(word: str) -> int:
    bits = np.unpackbits(np.frombuffer(_hash(word, 8), np.uint8), bitorder="little")
    return int.from_bytes(bits.tobytes(), "little")
