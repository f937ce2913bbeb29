"""Errors that every adapter may raise; they stand apart, so that a client need not import the ports to catch them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Unavailable(Exception):
    """A store, model or server could not answer now. The same call may succeed later."""


class UnusableStore(Exception):
    """A store holds something that this program cannot work with; the text says what, and what to do."""


class ModelFailed(Exception):
    """A language model gave no answer, after several attempts. It may answer the same later."""


class NoAnswer(Exception):
    """What a language model answered is no answer. The same call will fail again."""


class TextRefused(Exception):
    """A model cannot handle one of these texts, though it handles others. The same call will fail again.

    `passed` are the vectors of those that it has handled, by their place, as far as they are known.
    """

    def __init__(self, reason: str, passed: Mapping[int, Any] | None = None) -> None:
        super().__init__(reason)
        self.passed = passed or {}
