"""From stretches to claims: how sure each is, and the sentence around it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given

from contracts.v1.claims import MOST_CLAIMS, Claim
from services.shared.reading.claims import Calibration, Calibrations, reading_of
from services.shared.reading.decode import COLUMNS, SIGNS, Floats
from tests.unit.reading.tokens import Offsets, logits_of, read_texts, words


def calibration(constant: float, *weights: float) -> Calibration:
    """A fit with these weights, of signs as they are."""
    filled = np.array([constant, *weights, *[0.0] * (SIGNS - len(weights))], np.float32)
    return Calibration(filled, np.zeros(SIGNS, np.float32), np.ones(SIGNS, np.float32))


SURE = Calibrations(calibration(4), calibration(4))
TEXT = "Hi! We moved last year; I live in Ghent now. My sister Ines has a boat.\nCall the dentist?"


def read(text: str, said: Mapping[str, tuple[str, ...]], calibrations: Calibrations = SURE) -> tuple[Claim, ...]:
    offsets = words(text)
    return reading_of(logits_of(offsets, text, said), offsets, text, calibrations).claims


def test_a_claim_has_the_sentence_around_its_value() -> None:
    said = {"claim": ("Ghent", "boat"), "task": ("Call the dentist",), "slot:home": ("Ghent",), "of_user": ("Ghent",)}
    claims = read(TEXT, said)
    assert [TEXT[slice(*claim.value)] for claim in claims] == ["Ghent", "boat", "Call the dentist"]
    assert [TEXT[slice(*claim.sentence)] for claim in claims] == [
        "I live in Ghent now.",
        "My sister Ines has a boat.",
        "Call the dentist?",
    ]
    assert [claim.kind for claim in claims] == ["fact", "fact", "task"]
    assert claims[0].slot == "home"
    assert [claim.of_user for claim in claims[:2]] == [True, False]


def test_whose_it_is_is_told_of_others_alone() -> None:
    named = {"claim": ("Ghent", "boat"), "names_whose": ("Ines",), "of_user": ("Ghent",)}
    mine, hers = read(TEXT, named)
    assert (mine.of_user, mine.whose) == (True, None)
    assert hers.whose is not None
    assert TEXT[slice(*hers.whose)] == "Ines"


def test_a_value_over_several_sentences_has_them_all() -> None:
    (claim,) = read("I like tea. And coffee. Bye.", {"claim": ("tea. And coffee",)})
    assert "I like tea. And coffee. Bye."[slice(*claim.sentence)] == "I like tea. And coffee."


def test_confidence_is_what_the_calibration_makes_of_the_signs() -> None:
    said = {"claim": ("Ghent",)}
    assert read(TEXT, said, Calibrations(calibration(0), calibration(9)))[0].confidence == 0.5
    shifted = Calibration(calibration(0, 1).weights, np.full(SIGNS, 3, np.float32), np.full(SIGNS, 4, np.float32))
    (claim,) = read(TEXT, said, Calibrations(shifted, shifted))
    offsets = words(TEXT)
    tags = logits_of(offsets, TEXT, said)[offsets.index((TEXT.index("Ghent"), TEXT.index("Ghent") + 5)), :3]
    inside = np.logaddexp(tags[1], tags[2]) - tags[0]
    assert claim.confidence == pytest.approx(1 / (1 + np.exp(-(inside - 3) / 4)), abs=1e-3)


def test_facts_and_tasks_are_calibrated_each() -> None:
    said = {"claim": ("Ghent",), "task": ("Call the dentist",)}
    fact, task = read(TEXT, said, Calibrations(calibration(2), calibration(-0.5)))
    assert fact.confidence == pytest.approx(1 / (1 + np.exp(-2)), abs=1e-3)
    assert task.confidence == pytest.approx(1 / (1 + np.exp(0.5)), abs=1e-3)


def test_what_is_hardly_likely_is_no_claim() -> None:
    said = {"claim": ("Ghent",)}
    assert read(TEXT, said, Calibrations(calibration(-1.2), calibration(9))) == ()
    assert len(read(TEXT, said, Calibrations(calibration(-1), calibration(9)))) == 1


def test_of_too_many_the_surest_are_taken_in_the_order_of_the_text() -> None:
    text = " ".join(f"thing{n}." for n in range(3 * MOST_CLAIMS))
    named = tuple(f"thing{n}" for n in range(3 * MOST_CLAIMS))
    offsets = words(text)
    logits = logits_of(offsets, text, {"claim": named})
    surer = {f"thing{n}" for n in range(0, 3 * MOST_CLAIMS, 3)}
    for token, (begin, end) in enumerate(offsets):
        if text[begin:end] in surer:
            logits[token, COLUMNS.index("is_meant")] = 4
    meant = Calibrations(calibration(0, 0, 0, 0, 0.5), calibration(0))
    claims = reading_of(logits, offsets, text, meant).claims
    assert [text[slice(*claim.value)] for claim in claims] == sorted(surer, key=text.index)


def test_punctuation_alone_is_no_claim() -> None:
    assert read("Yes ... no", {"claim": (".",)}) == ()


@given(read_texts())
def test_claims_of_any_text_lie_within_it(told: tuple[Floats, Offsets, str]) -> None:
    logits, offsets, text = told
    claims = reading_of(logits, offsets, text, Calibrations(calibration(0, 0.3), calibration(0, -0.3))).claims
    assert len(claims) <= MOST_CLAIMS
    assert list(claims) == sorted(claims, key=lambda claim: claim.value)
    for claim in claims:
        assert 0 <= claim.sentence[0] <= claim.value[0] < claim.value[1] <= claim.sentence[1] <= len(text)
        said = text[slice(*claim.sentence)]
        assert said == said.strip() != ""
        assert 0.25 <= claim.confidence <= 1


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\n", "🙂🙂 👩‍👧", "אני גר בחיפה. יש לי כלב!", "x" * 100_000, "a. " * 33_333]
)
def test_texts_of_all_kinds_are_read_quickly(text: str) -> None:
    offsets = words(text)[:256]
    logits = np.full((len(offsets), len(COLUMNS)), 3, np.float32)
    started = time.thread_time()
    claims = reading_of(logits, offsets, text, SURE).claims
    assert time.thread_time() - started < 2
    assert all(0 <= claim.value[0] < claim.value[1] <= len(text) for claim in claims)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("I saw Dr. Klein on Tuesday. It rains.", "I saw Dr. Klein on Tuesday."),
        ("So. I moved to St. Louis on Tuesday! Yes.", "I moved to St. Louis on Tuesday!"),
    ],
)
def test_an_abbreviation_ends_no_sentence(text: str, sentence: str) -> None:
    (one,) = read(text, {"claim": ("Tuesday",)})
    assert text[slice(*one.sentence)] == sentence


def test_of_a_long_sentence_what_is_around_the_value_is_taken_in_whole_words() -> None:
    text = f"{'and then it went on without an end ' * 20}in Ghent {'where nobody ever ends what they say ' * 20}"
    (one,) = read(text, {"claim": ("Ghent",)})
    cut = text[slice(*one.sentence)]
    assert "in Ghent" in cut
    assert len(cut) < 300
    assert cut == cut.strip()
    assert set(cut.split()) <= set(text.split())


def test_blanks_within_a_value_are_gone_through_once() -> None:
    text = f"My name is Anna{' ' * 30_000}Schmidt"
    offsets = [(0, 0), (11, 15), (len(text) - 7, len(text)), (0, 0)]
    started = time.thread_time()
    reading_of(logits_of(offsets, text, {"claim": (text[11:],)}), offsets, text, SURE)
    assert time.thread_time() - started < 1
