"""Fingerprints of a text: one for equality, and two sketches by which similar texts find each other.

Everything here is the same in every process and on every machine: no `hash()`, no byte order of the host.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

BANDS = 8
ROWS = 8

LONG = 40
"""Words from which on a text gets MinHash bands: only such texts may repeat each other without equal words."""

Hashes: TypeAlias = NDArray[np.uint64]
"""Unsigned 64-bit integers, shape (n,)."""

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_30, _27, _31, _32 = (np.uint64(bits) for bits in (30, 27, 31, 32))
_21, _42 = np.uint64(21), np.uint64(42)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a normalized text is looked up by.

    `exact_hash` and `statement_hash` are BLAKE2b-128 in 32 hex digits, of the normal form and of the words that make
    the statement; `simhash` is 64 bits in 16 hex digits. `minhash_bands` are 8 band hashes of 8 hex digits, of which
    two texts with Jaccard similarity s share at least one with probability 1 − (1 − s⁸)⁸: .99 at .9, .03 at .5. A text
    of fewer than 40 words has none.
    """

    exact_hash: str
    statement_hash: str
    simhash: str
    minhash_bands: tuple[str, ...]


def fingerprint(normalized: str, words: Sequence[str]) -> Fingerprint:
    """The fingerprint of a text in its normal form (`text.normalize`) and its words (`similarity.statement`)."""
    bands = _minhash_bands(_mixed(_trigrams(normalized))) if len(words) >= LONG else ()
    return Fingerprint(_digest(normalized), _digest(" ".join(words)), _simhash(normalized.split(" ")), bands)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def hamming(a: str, b: str) -> int:
    """The number of bits in which two SimHashes (hex) differ, 0 to 64."""
    return (int(a, 16) ^ int(b, 16)).bit_count()


def shingles(text: str) -> Hashes:
    """The distinct character 3-grams of a text with a space at either end, sorted, each packed into 63 bits."""
    return np.unique(_trigrams(text))


def jaccard(a: str, b: str) -> float:
    """The Jaccard similarity of two texts' character 3-grams, 0 to 1; exact, not an estimate."""
    left, right = shingles(a), shingles(b)
    shared = np.intersect1d(left, right, assume_unique=True).size
    union = left.size + right.size - shared
    return float(shared / union) if union else 1.0


def _trigrams(text: str) -> Hashes:
    points: Hashes = np.frombuffer(f" {text} ".encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    packed: Hashes = points[:-2] | points[1:-1] << _21 | points[2:] << _42
    return packed


def _mixed(values: Hashes) -> Hashes:
    """The splitmix64 output function (Steele, Lea and Flood 2014): a bijection that spreads every bit."""
    values = values + _GOLDEN_GAMMA
    values = (values ^ values >> _30) * _MIX[0]
    values = (values ^ values >> _27) * _MIX[1]
    return values ^ values >> _31


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


def _octets(word: str) -> int:
    return _octets_of_short(word) if len(word) <= _LONGEST_CACHED else _spread(word)


_LONGEST_CACHED = 32


@lru_cache(maxsize=1 << 14)
def _octets_of_short(word: str) -> int:
    return _spread(word)


def _spread(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    bits = np.unpackbits(np.frombuffer(digest, np.uint8), bitorder="little")
    return int.from_bytes(bits.tobytes(), "little")


def _constants(*shape: int, seed: int) -> Hashes:
    """The first outputs of splitmix64 from a seed: constants that nobody chose."""
    steps = np.arange(np.prod(shape), dtype=np.uint64)
    return _mixed(steps * _GOLDEN_GAMMA + np.uint64(seed)).reshape(shape)


_PERMUTE = (_constants(BANDS * ROWS, 1, seed=1) | np.uint64(1)).astype(np.uint32)
_SHIFT = _constants(BANDS * ROWS, 1, seed=2).astype(np.uint32)
_BAND_KEYS = _constants(BANDS, ROWS, seed=3)
_BAND_OFFSETS = _constants(BANDS, seed=4)
_CHUNK = 8192  # bounds the memory for a long text to a few megabytes


def _minhash(hashes: Hashes) -> NDArray[np.uint32]:
    """Broder's MinHash (1997), shape (64,): of each of 64 permutations a·x + b mod 2³², a odd, the least value."""
    values = (hashes >> _32).astype(np.uint32)
    least = _least(values[:_CHUNK])
    for start in range(_CHUNK, len(values), _CHUNK):
        least = np.minimum(least, _least(values[start : start + _CHUNK]))
    return least


def _least(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    least: NDArray[np.uint32] = (_PERMUTE * values + _SHIFT).min(axis=1, initial=0xFFFFFFFF)
    return least


def _minhash_bands(hashes: Hashes) -> tuple[str, ...]:
    """Each band of eight MinHashes by multilinear hashing (Lemire and Kaser 2014) with keys of its own.

    The keys stand for the band's number: equal rows in different bands have different hashes.
    """
    rows = _minhash(hashes).reshape(BANDS, ROWS)
    bands = (_BAND_KEYS * rows).sum(axis=1) + _BAND_OFFSETS >> _32
    digits = bands.astype(">u4").tobytes().hex()
    return tuple([digits[i : i + 8] for i in range(0, 8 * BANDS, 8)])
