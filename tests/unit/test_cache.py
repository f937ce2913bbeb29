"""A cache holds so many values for so long, and never more."""

from __future__ import annotations

import pytest

from services.shared.cache import Cache


def test_the_oldest_goes_when_there_are_too_many() -> None:
    cache: Cache[str, int] = Cache(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        cache.put(key, value)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]
    assert len(cache) == 2


def test_what_is_popped_does_not_stay() -> None:
    cache: Cache[str, int] = Cache(2)
    cache.put("a", 1)
    assert [cache.pop("a"), cache.pop("a")] == [1, None]
    assert "a" not in cache


def test_what_is_too_old_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    cache: Cache[str, int] = Cache(2, seconds=5)
    cache.put("a", 1)
    now = 4.9
    assert (cache.get("a"), "a" in cache) == (1, True)
    now = 5.0
    assert (cache.get("a"), "a" in cache, cache.pop("a")) == (None, False, None)
