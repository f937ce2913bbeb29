"""Typing errors in the questions of a dataset, the same for the same seed."""

from __future__ import annotations

import random
import re
import string
from dataclasses import replace

from services.eval.datasets import Dataset
from services.shared.language.analysis import words_asked

_WORD = re.compile(r"[A-Za-z]+")


def misspelt(dataset: Dataset, seed: int) -> Dataset:
    """The dataset with one typing error in the longest content word of each question.

    A letter is left out, added, changed or swapped with the next. Names count only where there is no other word.
    """
    return replace(dataset, questions=[replace(q, text=_with_error(q.text, seed)) for q in dataset.questions])


def _with_error(question: str, seed: int) -> str:
    asked = words_asked(question).keys()
    words = [found for found in _WORD.finditer(question) if found[0].lower() in asked]
    if not words:
        return question
    longest = max(words, key=lambda found: (found[0].islower(), len(found[0])))
    wrong = _wrong(longest[0], random.Random(f"{seed} {question}"))
    return question[: longest.start()] + wrong + question[longest.end() :]


def _wrong(word: str, chance: random.Random) -> str:
    place, letter = chance.randrange(len(word)), chance.choice(string.ascii_lowercase)
    head, char, tail = word[:place], word[place], word[place + 1 :]
    errors = (head + tail, head + letter + char + tail, head + letter + tail, head + tail[:1] + char + tail[1:])
    return chance.choice([error for error in errors if error != word])
