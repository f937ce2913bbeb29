"""From the logits of tokens to stretches of the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from services.shared.reading.decode import COLUMNS, SIGNS, SLOTS, Floats, Stretch, claims_in, tasks_in
from tests.unit.reading.tokens import Offsets, logits_of, read_texts, words

Found = Callable[[Floats, Offsets, str], list[Stretch]]

both = pytest.mark.parametrize("found", [claims_in, tasks_in])


@both
@given(read_texts())
def test_stretches_lie_in_order_within_the_text_and_cut_no_word(
    found: Found, read: tuple[Floats, Offsets, str]
) -> None:
    logits, offsets, text = read
    stretches = found(logits, offsets, text)
    assert all(one.end <= after.begin for one, after in pairwise(stretches))
    for one in stretches:
        assert 0 <= one.begin < one.end <= len(text)
        for place in (one.begin, one.end):
            beside = text[max(place - 1, 0) : place + 1] if place else ""
            assert len(beside) < 2 or not beside[0].isalnum() or not beside[1].isalnum()
        assert one.slot in SLOTS
        assert 0 <= one.of_user <= 1
        assert 0 <= one.is_new <= 1
        assert len(one.signs) == SIGNS
        assert np.isfinite(one.signs).all()
        assert one.whose is None or 0 <= one.whose[0] < one.whose[1] <= len(text)


TEXT = "Since May my sister Ines lives in Ghent, and I have to call the dentist."


def told(said: Mapping[str, tuple[str, ...]], text: str = TEXT, found: Found = claims_in) -> list[Stretch]:
    offsets = words(text)
    return found(logits_of(offsets, text, said), offsets, text)


def test_a_value_has_its_slot_its_owner_and_whether_it_is_new() -> None:
    (one,) = told({"claim": ("Ghent",), "slot:home": ("Ghent",), "is_new": ("Ghent",), "names_whose": ("sister Ines",)})
    assert TEXT[one.begin : one.end] == "Ghent"
    assert one.slot == "home"
    assert one.is_new > 0.99
    assert one.of_user < 0.01
    assert TEXT[slice(*one.whose or (0, 0))] == "sister Ines"


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("Ann has a cat, Ben has a dog and Cleo has a horse.", ["Ann", "Ben", "Cleo"]),
        ("Ann came. The cat is of Ben. The dog and the horse are of Cleo.", ["Ben", "Cleo", "Cleo"]),
        ("Ann came, and Ben. Their cat, their dog, their horse. Cleo did not.", []),
    ],
)
def test_of_several_who_are_named_the_one_of_the_sentence_is_meant(text: str, whose: list[str]) -> None:
    said = {"claim": ("cat", "dog", "horse"), "names_whose": ("Ann", "Ben", "Cleo")}
    assert [text[slice(*one.whose)] for one in told(said, text) if one.whose] == whose


@pytest.mark.parametrize("pieces", [("fi", "lo", "mena"), ("fi",), ("mena",), ("lo", "mena")])
def test_a_name_is_told_whole_whichever_of_its_pieces_names_somebody(pieces: tuple[str, ...]) -> None:
    text = "my mother filomena sends vinegar"
    offsets = [(0, 2), (3, 9), (10, 12), (12, 14), (14, 18), (19, 24), (25, 32)]
    (one,) = claims_in(logits_of(offsets, text, {"claim": ("vinegar",), "names_whose": pieces}), offsets, text)
    assert text[slice(*one.whose or (0, 0))] == "filomena"


@pytest.mark.parametrize("piece", ["Bruhl", "Wiś", "niewska"])
def test_a_name_with_a_hyphen_is_one(piece: str) -> None:
    text = "dr Wiśniewska-Bruhl on holiday"
    offsets = [(0, 2), (3, 6), (6, 13), (13, 14), (14, 19), (20, 22), (23, 30)]
    (one,) = claims_in(logits_of(offsets, text, {"claim": ("holiday",), "names_whose": (piece,)}), offsets, text)
    assert text[slice(*one.whose or (0, 0))] == "Wiśniewska-Bruhl"


def test_a_value_ends_with_its_line() -> None:
    text = "weight 4950 with dr\nteodozja gone home"
    stretches = told({"claim": ("4950 with dr\nteodozja gone home",)}, text)
    assert [text[one.begin : one.end] for one in stretches] == ["4950 with dr", "teodozja gone home"]


def test_who_is_named_within_a_value_is_meant() -> None:
    text = "Ann says that Ben is a nurse"
    (one,) = told({"claim": ("Ben is a nurse",), "names_whose": ("Ann", "Ben")}, text)
    assert text[slice(*one.whose or (0, 0))] == "Ben"


def test_a_first_tag_begins_another_value_beside_the_first() -> None:
    text = "I like tea coffee"
    stretches = told({"claim": ("tea", "coffee")}, text)
    assert [text[one.begin : one.end] for one in stretches] == ["tea", "coffee"]
    (one,) = told({"claim": ("tea coffee",)}, text)
    assert text[one.begin : one.end] == "tea coffee"


def test_tasks_are_no_claims() -> None:
    said = {"task": ("call the dentist",)}
    assert told(said) == []
    (one,) = told(said, found=tasks_in)
    assert TEXT[one.begin : one.end] == "call the dentist"
    assert one.whose is None


def test_the_pieces_of_a_word_are_one_value_whatever_each_of_them_is() -> None:
    text, offsets = "unbelievably", [(0, 0), (0, 2), (2, 7), (7, 10), (10, 12), (0, 0)]
    logits = logits_of(offsets, text, {"claim": ("un", "iev")})
    logits[[2, 4], COLUMNS.index("claim:first")] = 8
    (one,) = claims_in(logits, offsets, text)
    assert (one.begin, one.end) == (0, len(text))


def test_the_surer_a_token_is_inside_the_higher_is_the_sign_of_it() -> None:
    offsets = words(TEXT)
    weak = logits_of(offsets, TEXT, {"claim": ("Ghent",)})
    strong = weak.copy()
    strong[:, COLUMNS.index("claim:outside")] -= 4
    at = offsets.index((TEXT.index("Ghent"), TEXT.index("Ghent") + 5))
    (one,) = claims_in(weak, offsets, TEXT)
    (other,) = claims_in(np.where(np.arange(len(offsets))[:, None] == at, strong, weak), offsets, TEXT)
    assert other.signs[:3] == pytest.approx([sign + 4 for sign in one.signs[:3]], abs=1e-4)


@both
@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_text_without_words_states_nothing(found: Found, text: str) -> None:
    logits = np.full((2, len(COLUMNS)), 5, np.float32)
    assert found(logits, [(0, 0), (0, 0)], text) == []
    assert found(logits[:0], [], text) == []
