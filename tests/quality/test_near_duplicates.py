"""What is kept once and what is kept apart, on chat sentences labelled by hand."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from contracts.ports import Merged, Similar
from contracts.v1.entries import Entry
from contracts.v1.turns import LoggedTurn, Proposal
from services.bench.duplicates import Merges, Pair, exactly, judged, read_pairs, simhash_alike
from services.dedupe.handler import candidate_entry, judge
from services.shared.dedup.fingerprint import near_keys
from services.shared.dedup.similarity import agreement, same_statement

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAIRS = read_pairs(Path(__file__).with_name("near_duplicates.tsv"))
LEAST = {"repeated": 120, "conflicting": 120, "reworded": 60, "unrelated": 120}


@pytest.fixture(scope="module")
def quality() -> Merges:
    """What the rule of memorybus makes of the pairs."""
    return judged(PAIRS, same_statement)


def entry(text: str, name: str) -> Entry:
    turn = LoggedTurn(user_id="u", role="user", text=text, turn_id=name, session_id="s", created_at=NOW)
    return candidate_entry(Proposal(id=name, turn=turn, text=text))


def merges(first: str, second: str) -> bool:
    """Whether dedupe merges the second text into the first, looking it up by its keys."""
    verdicts = judge([entry(first, "first"), entry(second, "second")], [Similar(), Similar()])
    return isinstance(verdicts[1], Merged)


def test_every_label_has_its_share() -> None:
    counts = Counter[str](pair.label for pair in PAIRS)
    assert {label: counts[label] >= least for label, least in LEAST.items()} == dict.fromkeys(LEAST, True)
    assert max(counts.values()) <= len(PAIRS) * 0.4


def test_no_pair_comes_twice_and_none_is_the_same_text_twice() -> None:
    texts = [frozenset((pair.a, pair.b)) for pair in PAIRS]
    assert [both for both, count in Counter(texts).items() if count > 1 or len(both) < 2] == []


def test_the_texts_are_as_long_as_chat_messages() -> None:
    lengths = [len(text.split()) for pair in PAIRS for text in (pair.a, pair.b)]
    assert min(lengths) == 2
    assert 45 <= max(lengths) <= 60


def test_unrelated_pairs_share_words_so_that_they_can_be_confused() -> None:
    unrelated = [pair for pair in PAIRS if pair.label == "unrelated"]
    assert [pair for pair in unrelated if set(pair.a.lower().split()).isdisjoint(pair.b.lower().split())] == []


def test_what_is_merged_is_a_repeat_and_repeats_are_found(quality: Merges) -> None:
    assert quality.precision >= 0.99
    assert quality.recall >= 0.90


def test_no_conflict_is_merged(quality: Merges) -> None:
    assert [pair for pair in quality.wrong if pair.label == "conflicting"] == []


def test_the_order_of_the_two_texts_does_not_matter() -> None:
    assert [pair for pair in PAIRS if agreement(pair.a, pair.b) != agreement(pair.b, pair.a)] == []


def test_simhash_alone_and_equal_normal_forms_alone_do_worse(quality: Merges) -> None:
    simhash, exact = judged(PAIRS, simhash_alike), judged(PAIRS, exactly)
    assert simhash.precision < 0.99
    assert simhash.recall < quality.recall / 2
    assert simhash.wrongly("conflicting") > 0
    assert exact.recall < quality.recall / 2


@pytest.mark.parametrize("turned", [False, True], ids=["as written", "the other text first"])
def test_dedupe_decides_each_pair_by_the_same_rule(turned: bool) -> None:
    sides = [(pair, pair.b, pair.a) if turned else (pair, pair.a, pair.b) for pair in PAIRS]
    assert [pair for pair, first, second in sides if merges(first, second) != same_statement(first, second)] == []


def test_what_is_the_same_is_found_by_a_shared_key() -> None:
    def share_a_key(pair: Pair) -> bool:
        a, b = entry(pair.a, "a"), entry(pair.b, "b")
        return a.statement_hash == b.statement_hash or not set(near_keys(a)).isdisjoint(near_keys(b))

    assert [pair for pair in PAIRS if same_statement(pair.a, pair.b) and not share_a_key(pair)] == []


def test_conflicts_stay_apart_when_one_speaker_says_everything() -> None:
    texts = list(dict.fromkeys(text for pair in PAIRS for text in (pair.a, pair.b)))
    verdicts = judge([entry(text, text) for text in texts], [Similar()] * len(texts))
    kept = {
        text: verdict.canonical_id if isinstance(verdict, Merged) else text
        for text, verdict in zip(texts, verdicts, strict=True)
    }
    conflicting = [pair for pair in PAIRS if pair.label == "conflicting"]
    assert [pair for pair in conflicting if kept[pair.a] == kept[pair.b]] == []
