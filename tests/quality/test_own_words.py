"""What users paste and what they say of themselves, in labelled messages."""

from pathlib import Path

from services.shared.privacy.own_words import own_words

LINES = [
    line.split("\t")
    for line in (Path(__file__).parent / "own_words.tsv").read_text("utf-8").splitlines()
    if not line.startswith("# ")
]


def messages(label: str) -> list[str]:
    found = [text.replace("\\n", "\n") for kind, text in LINES if kind == label]
    assert len(found) >= 150
    return found


def test_what_is_pasted_is_mostly_told_from_what_is_a_user_s_own() -> None:
    texts = messages("pasted")
    taken = [text for text in texts if own_words(text).rstrip().endswith(text.rstrip()[-20:])]
    assert len(taken) <= 0.22 * len(texts)


def test_hardly_anything_that_a_user_says_of_themselves_is_taken_for_pasted() -> None:
    texts = messages("own")
    lost = [text for text in texts if "I live in Lisbon" in text and "I live in Lisbon" not in own_words(text)]
    assert len(lost) <= 0.02 * len(texts)
