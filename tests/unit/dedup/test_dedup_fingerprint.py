"""Fingerprints: the same everywhere, alike for alike texts as often as theory says, and shared by what is merged."""

import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.entries import Entry
from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import LONG, Fingerprint, fingerprint, hamming, near_keys
from services.shared.dedup.similarity import same_statement
from tests.stores.builders import an_entry

SENTENCE = "i prefer uv over pip"
GOLDEN = Fingerprint(
    exact_hash="9774328a36ede4d8dfef9eb49640910b",
    statement_hash="9774328a36ede4d8dfef9eb49640910b",
    simhash="1533288c38e4da79",
    minhash_bands=(),
)
LONG_GOLDEN = ("m0:0f7d6ae46295be97", "m1:1cc6ab938ecbbd42")


def sketch(text: str) -> Fingerprint:
    """The fingerprint of a text as if it were long, so that it has all hashes."""
    return fingerprint(text, ["w"] * LONG)


def _words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 8))) for _ in range(count)]


def test_a_fingerprint_never_changes() -> None:
    assert fingerprint(SENTENCE, SENTENCE.split()) == GOLDEN
    assert fingerprint(SENTENCE, [*SENTENCE.split(), *["prefer"] * LONG]).minhash_bands == LONG_GOLDEN


def test_accents_do_not_change_it_and_what_capitals_do_not_tell_apart_is_one() -> None:
    called = "käthe mag crème brûlée"
    assert fingerprint(called, called.split()).exact_hash == "82a750bcb7c53c64f1ecc1c8698fbd67"
    assert fingerprint("straße", ["straße"]) == fingerprint("strasse", ["strasse"])


def test_another_process_finds_the_same_fingerprint() -> None:
    call = f"fingerprint({SENTENCE!r}, {SENTENCE.split()!r})"
    code = f"from services.shared.dedup.fingerprint import fingerprint; print({call})"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == repr(GOLDEN)


@given(st.text(st.characters()))
def test_every_text_has_a_well_formed_fingerprint(text: str) -> None:
    found = sketch(text)
    assert [len(bytes.fromhex(hash_)) for hash_ in (found.exact_hash, found.statement_hash)] == [16] * 2
    assert [len(bytes.fromhex(band[3:])) for band in found.minhash_bands] == [8] * 2
    assert len(bytes.fromhex(found.simhash)) == 8
    assert sketch(text) == found


def a_text(count: int, seed: int = 3) -> list[str]:
    return _words(random.Random(seed), count)


def with_swapped_letters(words: list[str]) -> list[str]:
    place = next(place for place, word in enumerate(words) if len(word) >= 6 and word[2] != word[3])
    word = words[place]
    return [*words[:place], word[:2] + word[3] + word[2] + word[4:], *words[place + 1 :]]


def bands_of(words: list[str]) -> tuple[str, ...]:
    return fingerprint(" ".join(words), words).minhash_bands


def entry_of(words: list[str]) -> Entry:
    prints = fingerprint(" ".join(words), words)
    known = {"simhash": prints.simhash, "minhash_bands": prints.minhash_bands}
    return an_entry("ann", " ".join(words), **known)


def test_only_a_long_text_has_a_minhash() -> None:
    words = a_text(LONG)
    assert bands_of(words[1:]) == ()
    assert len(bands_of(words)) == 2


@pytest.mark.parametrize("count", [LONG, 150, 3000])
def test_letters_that_changed_places_make_no_difference_to_the_minhash(count: int) -> None:
    words = a_text(count)
    assert with_swapped_letters(words) != words
    assert bands_of(with_swapped_letters(words)) == bands_of(words)


@pytest.mark.parametrize("place", [0, 17, LONG - 1])
@pytest.mark.parametrize(
    ("one", "other"), [("library", "ilbrary"), ("boiled", "broiled"), ("form", "from"), ("123456", "124356")]
)
def test_what_is_no_typing_error_makes_a_difference_to_the_minhash(one: str, other: str, place: int) -> None:
    words = a_text(LONG)
    said = [[*words[:place], word, *words[place + 1 :]] for word in (one, other)]
    assert bands_of(said[0]) != bands_of(said[1])


@pytest.mark.parametrize("count", [LONG, 150, 3000])
def test_texts_of_a_template_seldom_share_a_band_however_long_they_are(count: int) -> None:
    words, bands = a_text(count), Counter[str]()
    for number in range(100):
        words[count // 3], words[2 * count // 3] = str(1000 + number), str(7 * number)
        bands.update(bands_of(words))
    assert max(bands.values()) < 20


@given(st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63), max_size=3))
def test_simhashes_that_differ_in_three_bits_share_a_key(simhash: int, flipped: set[int]) -> None:
    other = simhash ^ sum(1 << bit for bit in flipped)
    one, two = (an_entry("ann", simhash=f"{value:016x}", minhash_bands=(str(value),)) for value in (simhash, other))
    assert set(near_keys(one)) & set(near_keys(two))


def test_unlike_texts_share_no_key() -> None:
    keys = Counter(key for seed in range(300) for key in near_keys(entry_of(a_text(60, seed))))
    assert keys.most_common(1)[0][1] == 1


def test_a_short_text_has_no_near_keys() -> None:
    assert near_keys(an_entry("ann", simhash="00ff00ff00ff00ff")) == ()


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


LIGHT = ["", "really ", "just ", "very ", "actually ", "the ", "a "]
STARTS = ["", "oh ", "well, ", "hey ", "um, "]
ENDS = ["", ".", "!", " :)", " https://example.org/a?b=1", " [1]"]
BODIES = ["I live {}in Porto", "my {}sister plays {}the cello", "we have {}four cats", "I don't {}like {}coriander"]

disguised = st.builds(
    lambda start, body, one, two, end, loud: (
        f"{start}{body.format(one, two)}{end}".upper() if loud else f"{start}{body.format(one, two)}{end}"
    ),
    *(st.sampled_from(words) for words in (STARTS, BODIES, LIGHT, LIGHT, ENDS)),
    st.booleans(),
)


def keys(text: str) -> set[str]:
    reading = read(text)
    prints = fingerprint(reading.normal, reading.words)
    return {prints.statement_hash, *prints.minhash_bands}


@given(disguised, disguised)
def test_what_states_the_same_shares_a_key(one: str, other: str) -> None:
    assert not same_statement(one, other) or keys(one) & keys(other)


@given(st.text(), st.sampled_from(ENDS), st.booleans())
def test_a_repeat_in_other_case_or_punctuation_shares_a_key(text: str, end: str, loud: bool) -> None:
    other = f"{text.upper() if loud else text}{end}"
    assert not same_statement(text, other) or keys(text) & keys(other)


def test_a_long_text_with_a_typing_error_always_shares_a_key() -> None:
    rng = random.Random(5)
    met = tried = 0
    for _ in range(300):
        words = _words(rng, LONG + 10)
        place = max(range(len(words)), key=lambda i: len(words[i]))
        word = words[place]
        misspelt = [*words[:place], word[0] + word[2] + word[1] + word[3:], *words[place + 1 :]]
        one, other = " ".join(words), " ".join(misspelt)
        if same_statement(one, other) and one != other:
            tried += 1
            met += bool(keys(one) & keys(other))
    assert tried > 200
    assert met == tried
