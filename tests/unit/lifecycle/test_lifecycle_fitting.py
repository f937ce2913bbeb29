"""What fits into a message: as much as possible, and never more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from services.shared.lifecycle.fitting import cut, how_many_fit, size_of
from tests.stores.builders import an_entry

TEXTS = st.text(max_size=400)


@given(st.lists(st.integers(1, 100), max_size=20), st.integers(0, 1000))
def test_as_many_fit_as_can(sizes: list[int], room: int) -> None:
    count = how_many_fit(sizes, room)
    assert sum(sizes[:count]) + count <= room or count == 0
    assert count == len(sizes) or sum(sizes[: count + 1]) + count + 1 > room


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=9).map(tuple), st.integers(2000, 4000))
def test_what_is_cut_fits_and_keeps_what_fits_anyway(text: str, summary: str, tags: tuple[str, ...], room: int) -> None:
    entry = an_entry("ann").model_copy(update={"text": text * 20, "summary": summary, "tags": tags})
    left = cut(entry, room)
    assert size_of(left) <= room
    assert (left.id, left.user_id) == (entry.id, entry.user_id)
    assert (text * 20).startswith(left.text)
    assert left == entry or size_of(entry) > room
    assert cut(left, room) == left


def test_where_nothing_can_be_cut_it_comes_to_an_end() -> None:
    assert size_of(cut(an_entry("ann"), 10)) > 10
