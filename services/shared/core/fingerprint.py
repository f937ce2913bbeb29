"""Fingerprints of a text: what texts that may state the same have in common, and a sketch of its words.

Everything here is the same in every process and on every machine: no `hash()`, no byte order of the host.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache

import numpy as np

LONG = 40
"""Words from which on a text gets a typo hash: only such texts may repeat each other without equal words."""

MOST_SIMILAR = 16
"""The newest so many entries that share a hash are compared with a new text. Seldom are there more than one."""

_SWAPPABLE = 6  # letters of the shortest word in which a typing error is forgiven


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a normalized text is looked up by.

    All hashes are BLAKE2b-128 in 32 hex digits: `exact_hash` of the normal form, `statement_hash` of the words that
    make the statement, `typo_hash` of the same words with the letters after the first in alphabetical order, so that
    letters that changed places make no difference. A text of fewer than 40 words has no typo hash, "". `simhash` is
    64 bits in 16 hex digits.
    """

    exact_hash: str
    statement_hash: str
    simhash: str
    typo_hash: str


def fingerprint(normalized: str, words: Sequence[str]) -> Fingerprint:
    """The fingerprint of a text in its normal form and its words (`reading.Reading`)."""
    typo_hash = _digest(" ".join(map(_in_order, words))) if len(words) >= LONG else ""
    return Fingerprint(_digest(normalized), _digest(" ".join(words)), _simhash(normalized.split(" ")), typo_hash)


def _in_order(word: str) -> str:
    """A long word with its letters after the first in alphabetical order; other words as they are."""
    return word[0] + "".join(sorted(word[1:])) if len(word) >= _SWAPPABLE and word.isalpha() else word


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def on_day(prints: Fingerprint, day: date) -> Fingerprint:
    """The fingerprint of a statement that another day makes another one.

    `exact_hash` stays that of the wording alone: who has it forgotten is not told it again a minute after midnight.
    """
    typo_hash = prints.typo_hash and _digest(f"{prints.typo_hash} {day.isoformat()}")
    return replace(prints, statement_hash=_digest(f"{prints.statement_hash} {day.isoformat()}"), typo_hash=typo_hash)


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
