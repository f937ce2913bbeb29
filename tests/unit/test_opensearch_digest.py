"""Digests: what is packed into words of the index comes out of them again, in the order of sessions."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from services.shared.stores.opensearch.documents import digests, unpacked

SESSIONS = ("0" * 32, "f" * 32)
WORDS = st.lists(st.sampled_from(["tea", "te", "10:30", "c++", "äpfel", "don't", "茶"]), max_size=90)
ENTRIES = st.lists(
    st.tuples(
        st.text(min_size=1, max_size=20),
        st.sampled_from(SESSIONS),
        st.integers(-6 * 10**16, 25 * 10**16),
        st.integers(0, 4 * 10**15),
        WORDS,
    ),
    max_size=8,
    unique_by=(lambda entry: entry[0], lambda entry: entry[3]),
)


@given(entries=ENTRIES, passing=st.integers(0, 255))
def test_what_is_packed_comes_out_again(entries: list[tuple[str, str, int, int, list[str]]], passing: int) -> None:
    packed = [digests(*entry) for entry in entries]
    passes = [bool(passing >> i & 1) for i in range(len(entries))]
    found = unpacked(
        [word for words, yes in zip(packed, passes, strict=True) if yes for word in words],
        [word for words, yes in zip(packed, passes, strict=True) if not yes for word in words],
    )
    ordered = sorted(zip(entries, passes, strict=True), key=lambda pair: pair[0][1:4])
    assert found.ids == [entry[0] for entry, _ in ordered]
    assert found.sessions == [entry[1][:16] for entry, _ in ordered]
    assert [found.created_at(i) for i in range(len(ordered))] == [entry[2] for entry, _ in ordered]
    assert found.lengths == [min(len(entry[4]), 63) for entry, _ in ordered]
    assert found.passing.tolist() == [yes for _, yes in ordered]
    for term in ("tea", "te", "10:30", "10", "c++", "c", "äpfel", "don't", "茶", "unheard"):
        having, times = found.having(term)
        expected = {i: min(entry[4].count(term), 63) for i, (entry, _) in enumerate(ordered) if term in entry[4]}
        assert dict(zip(having.tolist(), times, strict=True)) == expected


@given(distinct=st.integers(0, 400), repeats=st.integers(1, 70), longest=st.integers(1, 255))
def test_no_digest_is_longer_than_the_engine_takes(distinct: int, repeats: int, longest: int) -> None:
    words = [f"{i:x}".rjust(longest, "茶") for i in range(distinct)] * repeats
    packed = digests("an id", SESSIONS[0], 0, 0, words)
    assert max(len(word.encode()) for word in packed) <= 32_766
    found = unpacked(packed, [])
    assert found.ids == ["an id"]
    for word, count in Counter(words).items():
        having, times = found.having(word)
        assert (having.tolist(), times) == ([0], [min(count, 63)])
