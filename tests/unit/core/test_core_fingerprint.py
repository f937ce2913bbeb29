"""Fingerprints: the same everywhere, and alike for alike texts, as often as theory says."""

import random
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from services.shared.core.fingerprint import LONG, Fingerprint, fingerprint, hamming

SENTENCE = "i prefer uv over pip"
GOLDEN = Fingerprint(
    exact_hash="9774328a36ede4d8dfef9eb49640910b",
    statement_hash="9774328a36ede4d8dfef9eb49640910b",
    simhash="1533288c38e4da79",
    typo_hash="",
)
LONG_GOLDEN = "8b6095e7a7b4c5507a7d49e8e290a73e"


def sketch(text: str) -> Fingerprint:
    """The fingerprint of a text as if it were long, so that it has all hashes."""
    return fingerprint(text, ["w"] * LONG)


def _words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 8))) for _ in range(count)]


def test_a_fingerprint_never_changes() -> None:
    assert fingerprint(SENTENCE, SENTENCE.split()) == GOLDEN
    assert fingerprint(SENTENCE, [*SENTENCE.split(), *["prefer"] * LONG]).typo_hash == LONG_GOLDEN


def test_another_process_finds_the_same_fingerprint() -> None:
    call = f"fingerprint({SENTENCE!r}, {SENTENCE.split()!r})"
    code = f"from services.shared.core.fingerprint import fingerprint; print({call})"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == repr(GOLDEN)


@given(st.text(st.characters()))
def test_every_text_has_a_well_formed_fingerprint(text: str) -> None:
    found = sketch(text)
    hashes = (found.exact_hash, found.statement_hash, found.typo_hash)
    assert [len(bytes.fromhex(hash_)) for hash_ in hashes] == [16] * 3
    assert len(bytes.fromhex(found.simhash)) == 8
    assert sketch(text) == found


def test_only_a_long_text_has_a_typo_hash() -> None:
    words = [f"w{n}" for n in range(LONG)]
    assert fingerprint(" ".join(words[1:]), words[1:]).typo_hash == ""
    assert fingerprint(" ".join(words), words).typo_hash != ""


def typo_hash_of(*words: str) -> str:
    said = ["so"] * LONG + list(words)
    return fingerprint(" ".join(said), said).typo_hash


def test_letters_that_changed_places_make_no_difference_to_the_typo_hash() -> None:
    assert typo_hash_of("library") == typo_hash_of("libarry") == typo_hash_of("lirbary")
    assert typo_hash_of("library", "garden") != typo_hash_of("garden", "library")


def test_what_is_no_typing_error_makes_a_difference_to_the_typo_hash() -> None:
    for one, other in [("library", "ilbrary"), ("boiled", "broiled"), ("form", "from"), ("123456", "124356")]:
        assert typo_hash_of(one) != typo_hash_of(other)


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
