"""Fingerprints: the same everywhere, and alike for alike texts, as often as theory says."""

import random
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.shared.core.fingerprint import BANDS, LONG, ROWS, Fingerprint, fingerprint, hamming, jaccard, shingles

SENTENCE = "i prefer uv over pip"
GOLDEN = Fingerprint(
    exact_hash="9774328a36ede4d8dfef9eb49640910b",
    statement_hash="9774328a36ede4d8dfef9eb49640910b",
    simhash="1533288c38e4da79",
    minhash_bands=(),
)
LONG_GOLDEN = ("4d0085a5", "3b5fd370", "1ac0c88a", "783c78a2", "dbe58d76", "aa6de594", "b9b6413a", "ded5a456")


def sketch(text: str) -> Fingerprint:
    """The fingerprint of a text as if it were long, so that it has bands."""
    return fingerprint(text, ["w"] * LONG)


def _words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 8))) for _ in range(count)]


def _share_a_band(a: Fingerprint, b: Fingerprint) -> bool:
    return not set(a.minhash_bands).isdisjoint(b.minhash_bands)


def test_a_fingerprint_never_changes() -> None:
    assert fingerprint(SENTENCE, SENTENCE.split()) == GOLDEN
    assert sketch(SENTENCE).minhash_bands == LONG_GOLDEN


def test_another_process_finds_the_same_fingerprint() -> None:
    call = f"fingerprint({SENTENCE!r}, {SENTENCE.split()!r})"
    code = f"from services.shared.core.fingerprint import fingerprint; print({call})"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == repr(GOLDEN)


@given(st.text(st.characters()))
def test_every_text_has_a_well_formed_fingerprint(text: str) -> None:
    found = sketch(text)
    assert len(bytes.fromhex(found.exact_hash)) == len(bytes.fromhex(found.statement_hash)) == 16
    assert len(bytes.fromhex(found.simhash)) == 8
    assert [len(bytes.fromhex(band)) for band in found.minhash_bands] == [4] * BANDS
    assert sketch(text) == found


def test_only_a_long_text_has_bands() -> None:
    words = [f"w{n}" for n in range(LONG)]
    assert fingerprint(" ".join(words[1:]), words[1:]).minhash_bands == ()
    assert len(fingerprint(" ".join(words), words).minhash_bands) == BANDS


def test_the_statement_hash_is_that_of_the_words_alone() -> None:
    one, other = (
        fingerprint("i really live here", ["i", "live", "here"]),
        fingerprint("i live here", ["i", "live", "here"]),
    )
    assert one.statement_hash == other.statement_hash
    assert one.exact_hash != other.exact_hash


@given(st.text(max_size=40), st.text(max_size=40))
def test_only_equal_texts_have_equal_hashes(a: str, b: str) -> None:
    assert (sketch(a).exact_hash == sketch(b).exact_hash) == (a == b)


@given(st.text(max_size=40), st.text(max_size=40))
def test_jaccard_is_what_sets_of_trigrams_give(a: str, b: str) -> None:
    left, right = ({f" {t} "[i : i + 3] for i in range(len(t))} for t in (a, b))
    expected = len(left & right) / len(left | right) if left | right else 1.0
    assert jaccard(a, b) == jaccard(b, a) == expected
    assert len(shingles(a)) == len(left)


def test_equal_rows_in_different_bands_have_different_hashes() -> None:
    assert len(set(sketch("").minhash_bands)) == BANDS


def test_hamming_counts_the_bits_that_differ() -> None:
    assert hamming("0000000000000000", "0000000000000000") == 0
    assert hamming("8000000000000001", "0000000000000000") == 2
    assert hamming("ffffffffffffffff", "0000000000000000") == 64


def test_simhashes_are_nearer_the_more_the_texts_share() -> None:
    rng = random.Random(7)
    distances: dict[int, list[int]] = {1: [], 8: [], 30: []}
    for _ in range(100):
        words = _words(rng, 30)
        for changed, seen in distances.items():
            other = _words(rng, changed) + words[changed:]
            seen.append(hamming(sketch(" ".join(words)).simhash, sketch(" ".join(other)).simhash))
    means = {changed: np.mean(seen) for changed, seen in distances.items()}
    assert means[1] < 10 < means[8] < 26 < means[30] < 38


def test_alike_texts_share_a_band_as_often_as_theory_says() -> None:
    rng = random.Random(11)
    expected, met = 0.0, 0
    deviation = 0.0
    for _ in range(1500):
        words = _words(rng, 20)
        other = list(words)
        for place in rng.sample(range(20), rng.randint(1, 6)):
            other[place] = _words(rng, 1)[0]
        a, b = " ".join(words), " ".join(other)
        chance = 1 - (1 - jaccard(a, b) ** ROWS) ** BANDS
        expected += chance
        deviation += chance * (1 - chance)
        met += _share_a_band(sketch(a), sketch(b))
    assert abs(met - expected) < 4 * deviation**0.5 + 8


def test_a_very_long_text_is_sketched_like_its_parts_together() -> None:
    rng = random.Random(3)
    long = " ".join(_words(rng, 5000))
    assert _share_a_band(sketch(long), sketch(long[: len(long) - 200]))
    assert not _share_a_band(sketch(long), sketch("something else"))
