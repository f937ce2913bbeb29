"""What processes of the annotator load instead of models. It is imported there, so it imports little."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import cast

from services.shared.annotators.reading import Found, Reader


class _FakeReader:
    """Does what a text tells it to."""

    def read(self, texts: Sequence[str]) -> list[Found]:
        return [self._found(text) for text in texts]

    def _found(self, text: str) -> Found:
        if text == "die":
            os._exit(3)
        if text == "sleep":
            time.sleep(60)
        return ([(text, "PERSON", 0.5)], [])


def load() -> Reader:
    return cast(Reader, _FakeReader())


def load_nothing() -> Reader:
    raise SystemExit(7)


def load_slowly() -> Reader:
    time.sleep(60)
    raise AssertionError("waited for")
