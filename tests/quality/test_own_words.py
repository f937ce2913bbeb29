"""What users paste and what they say of themselves, in labelled messages."""

from datetime import UTC, datetime
from pathlib import Path

from services.shared.core.facts import facts_in

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LINES = [
    line.split("\t")
    for line in (Path(__file__).parent / "own_words.tsv").read_text("utf-8").splitlines()
    if not line.startswith("# ")
]


def messages(label: str) -> list[str]:
    found = [text.replace("\\n", "\n") for kind, text in LINES if kind == label]
    assert len(found) >= 150
    return found


def told(text: str) -> set[str]:
    return {fact.text for fact in facts_in(text, role="user", speaker=None, said_at=NOON)}


def test_what_is_pasted_mostly_tells_nothing() -> None:
    texts = messages("pasted")
    taken = [text for text in texts if told(text)]
    assert len(taken) <= 0.11 * len(texts)


def test_hardly_anything_that_a_user_says_of_themselves_is_taken_for_pasted() -> None:
    texts = messages("own")
    lost = [text for text in texts if not {"Lives in Lisbon", "Is a nurse"} <= told(text)]
    assert len(lost) <= 0.02 * len(texts)
