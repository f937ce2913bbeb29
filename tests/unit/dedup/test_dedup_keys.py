"""What states the same is found by the same keys: nothing that would be merged is overlooked."""

import random

from hypothesis import given
from hypothesis import strategies as st

from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import LONG, fingerprint
from services.shared.dedup.similarity import same_statement

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
        words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(LONG + 10)]
        place = max(range(len(words)), key=lambda i: len(words[i]))
        word = words[place]
        misspelt = [*words[:place], word[0] + word[2] + word[1] + word[3:], *words[place + 1 :]]
        one, other = " ".join(words), " ".join(misspelt)
        if same_statement(one, other) and one != other:
            tried += 1
            met += bool(keys(one) & keys(other))
    assert tried > 200
    assert met == tried


def test_unlike_texts_share_no_key() -> None:
    assert not keys("I live in Porto") & keys("I live in Lisbon")
