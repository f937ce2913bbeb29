"""What users say of what is not to be remembered, and what only sounds like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.shared.privacy.unwanted import is_unwanted

LINES = (Path(__file__).parent / "unwanted.tsv").read_text().splitlines()
SAID = [tuple(line.split("\t")) for line in LINES if not line.startswith("#")]


@pytest.mark.parametrize(("sign", "text"), SAID, ids=lambda part: part[:60])
def test_a_text_is_not_to_be_kept_or_is(sign: str, text: str) -> None:
    assert is_unwanted(text.replace("\\n", "\n")) == (sign == "+")


def test_of_many_texts_half_only_sound_like_it() -> None:
    assert len({text for _, text in SAID}) == len(SAID) >= 400
    assert 2 * sum(sign == "-" for sign, _ in SAID) >= len(SAID)
