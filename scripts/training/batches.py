"""Batches of fixed shapes: texts with their tags for the reader, questions with turns for retrieval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from chats import Chat, Label, Turn, near, place_of
from numpy.random import Generator
from numpy.typing import NDArray
from pairs import BESIDE, Pair
from tokenizers import Tokenizer

from services.shared.reading.by_model import places_of
from services.shared.reading.decode import RELATIONS, SLOTS

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

LENGTHS = (32, 64, 96, 160, 256)
"""Tokens of a batch: few shapes, so that few are compiled."""

STRETCHES = 128
_FIRST, _INSIDE = 1, 2
_QUESTIONS, _TURNS, _CHATS = 8, 40, 2
_TURN_TOKENS, _QUESTION_TOKENS, _PAIR_TOKENS = 48, 32, 96
_OF_RELATION = (2, 4, 3, 7, 8)
"""Pairs of a batch: of each relation, and of what stands beside each other in a chat."""
_EMPTY = 101  # the token that every text begins with


class Texts(NamedTuple):
    """Tokens of texts, and which are no padding: (texts, tokens) each."""

    ids: Ints
    mask: Floats


class Stretches(NamedTuple):
    """Stretches of the texts of a batch; what is not known of one is -1, and one that is only padding has no slot and
    is neither meant nor not."""

    text: Ints
    begin: Ints
    end: Ints
    slot: Ints
    of_user: Floats
    is_new: Floats
    is_meant: Floats


class Reading(NamedTuple):
    """Texts and what is to be read in them. Tags: 0 outside, 1 first, 2 further inside, -1 padding."""

    texts: Texts
    claims: Ints
    tasks: Ints
    names_whose: Floats
    ends: Floats
    is_wish: Floats
    stretches: Stretches


class Compared(NamedTuple):
    """Pairs of texts as one text each, and what the second is to the first, by its place in `RELATIONS`."""

    texts: Texts
    relation: Ints


class Retrieval(NamedTuple):
    """Turns, questions, which turns answer which question, (questions, turns), and which are no padding."""

    turns: Texts
    questions: Texts
    answers: Floats
    is_turn: Floats


@dataclass(slots=True)
class Example:
    """A turn as tokens, with its labels at their tokens."""

    turn: Turn
    chat: str
    ids: list[int]
    offsets: list[tuple[int, int]]
    claims: Ints
    tasks: Ints
    names_whose: Floats
    stretches: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)


def examples(chats: Sequence[Chat], tokenizer: Tokenizer) -> list[Example]:
    """The turns of labelled chats."""
    return [_example(turn, chat.name, tokenizer) for chat in chats if chat.is_labelled for turn in chat.turns]


def _example(turn: Turn, chat: str, tokenizer: Tokenizer) -> Example:
    encoding = tokenizer.encode(turn.text)
    count = len(encoding.ids)
    made = Example(
        turn,
        chat,
        encoding.ids,
        encoding.offsets,
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.float32),
    )
    for label, begin, end in _placed(turn.claims, turn, made):
        made.claims[begin:end] = _INSIDE
        slot = SLOTS.index(label.slot) if label.slot in SLOTS else -1
        made.stretches.append((begin, end, slot, label.of_user, label.is_new, 1))
        for place in places_of(turn.text, label.about, len(turn.text)):
            made.names_whose[_within(place, made)] = 1
    for begin, *_ in made.stretches:
        made.claims[begin] = _FIRST
    if not turn.is_read:
        made.claims[:] = made.tasks[:] = made.names_whose[:] = -1
        return made
    for _, begin, end in _placed(turn.tasks, turn, made):
        made.tasks[begin:end] = _INSIDE
        made.tasks[begin] = _FIRST
    made.stretches += [(begin, end, -1, -1, -1, 0) for _, begin, end in _placed(turn.not_claims, turn, made)]
    return made


def _placed(labels: Sequence[Label], turn: Turn, example: Example) -> Iterator[tuple[Label, int, int]]:
    """Labels with their tokens, the longest first: of two that overlap the shorter begins within the other."""
    placed = [(label, *found) for label in labels if (found := _tokens(turn.text, label.value, example))]
    yield from sorted(placed, key=lambda one: one[1] - one[2])


def _tokens(text: str, value: str, example: Example) -> tuple[int, int] | None:
    if (place := place_of(text, value)) is None:
        return None
    within = _within(place, example)
    return (within[0], within[-1] + 1) if within else None


def _within(place: tuple[int, int], example: Example) -> list[int]:
    return [n for n, (begin, end) in enumerate(example.offsets) if end > begin and begin < place[1] and end > place[0]]


def reading_batch(chosen: Sequence[Example], length: int) -> Reading:
    """A batch of turns, cut to so many tokens."""
    stretches = [
        (n, begin, min(end, length), *told)
        for n, one in enumerate(chosen)
        for begin, end, *told in one.stretches
        if begin < length
    ][:STRETCHES]
    columns = np.array(stretches + [(0, 0, 1, -1, -1, -1, -1)] * (STRETCHES - len(stretches)), np.int32).T
    kinds = (np.int32, np.int32, np.int32, np.int32, np.float32, np.float32, np.float32)
    return Reading(
        texts_of([one.ids for one in chosen], length),
        _padded([one.claims for one in chosen], length).astype(np.int32),
        _padded([one.tasks for one in chosen], length).astype(np.int32),
        _padded([one.names_whose for one in chosen], length),
        np.array([one.turn.ends if one.turn.is_read else -1 for one in chosen], np.float32),
        np.array([one.turn.is_wish for one in chosen], np.float32),
        Stretches(*(column.astype(kind) for column, kind in zip(columns, kinds, strict=True))),
    )


def length_for(count: int) -> int:
    """The least length of a batch that has room for so many tokens, or the greatest."""
    return next((length for length in LENGTHS if count <= length), LENGTHS[-1])


def texts_of(texts: Sequence[Sequence[int]], length: int) -> Texts:
    """Tokens of texts, cut or padded to a length."""
    ids, mask = np.zeros((len(texts), length), np.int32), np.zeros((len(texts), length), np.float32)
    ids[:, 0], mask[:, 0] = _EMPTY, 1
    for row, text in enumerate(texts):
        cut = text[:length]
        ids[row, : len(cut)], mask[row, : len(cut)] = cut, 1
    return Texts(ids, mask)


def _padded(rows: Sequence[NDArray[np.generic]], length: int) -> Floats:
    padded = np.full((len(rows), length), -1, np.float32)
    for place, row in enumerate(rows):
        padded[place, : min(len(row), length)] = row[:length]
    return padded


class Comparing:
    """Pairs of texts, of which batches are drawn: as many that update as that do not; some are of no one chat."""

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        kinds = (*RELATIONS, BESIDE)
        self._groups = [[pair for pair in pairs if pair.relation == kind] for kind in kinds]
        self._all = list(pairs)

    def batch(self, random: Generator) -> Compared:
        """So many of each relation as `_OF_RELATION` says."""
        drawn: list[Pair] = []
        for group, count in zip(self._groups, _OF_RELATION, strict=True):
            drawn += [group[n] for n in random.integers(0, len(group), count)] if group else []
        ends = [self._all[n] for n in random.integers(0, len(self._all), 2)]
        drawn.append(Pair(ends[0].old, ends[1].new, RELATIONS[0]))
        texts = [self._encode(pair.old, pair.new).ids for pair in drawn]
        rows = texts + [[]] * (sum(_OF_RELATION) + 1 - len(texts))
        known = [_place(pair.relation) for pair in drawn] + [-1] * (len(rows) - len(texts))
        length = length_for(min(max(map(len, texts)), _PAIR_TOKENS))
        return Compared(texts_of(rows, length), np.array(known, np.int32))


def _place(relation: str) -> int:
    return RELATIONS.index(RELATIONS[0] if relation == BESIDE else relation)


class Asked:
    """Questions with the turns of their chats, of which batches are drawn: of chats with many more often."""

    def __init__(self, chats: Sequence[Chat], tokenizer: Tokenizer) -> None:
        self._chats = []
        for chat in chats:
            if questions := [question for question in chat.questions if question.evidence]:
                turns = [tokenizer.encode(turn.text).ids for turn in chat.turns]
                asked = [(tokenizer.encode(one.text).ids, one.evidence, one.stale) for one in questions]
                self._chats.append((turns, asked))
        counts = np.sqrt([len(asked) for _, asked in self._chats])
        self._shares = counts / counts.sum()

    def batch(self, random: Generator) -> Retrieval:
        """Questions to a few chats, each to be answered among turns of all of them."""
        turns: list[list[int]] = []
        questions: list[list[int]] = []
        answers = np.zeros((_CHATS * _QUESTIONS, _CHATS * _TURNS), np.float32)
        for chat in random.choice(len(self._chats), _CHATS, p=self._shares, replace=False):
            said, asked = self._chats[chat]
            drawn = [asked[n] for n in random.permutation(len(asked))[:_QUESTIONS]]
            needed = {place for _, evidence, _ in drawn for place in evidence}
            former = {place for _, _, stale in drawn for place in stale} - needed
            shown = self._shown(needed, former, len(said), random)
            for question, evidence, _ in drawn:
                answers[len(questions), [len(turns) + shown.index(p) for p in evidence if p in shown]] = 1
                questions.append(question)
            turns += [said[place] for place in shown]
        is_turn = np.zeros(_CHATS * _TURNS, np.float32)
        is_turn[: len(turns)] = 1
        return Retrieval(
            texts_of(turns + [[]] * (_CHATS * _TURNS - len(turns)), _TURN_TOKENS),
            texts_of(questions + [[]] * (_CHATS * _QUESTIONS - len(questions)), _QUESTION_TOKENS),
            answers,
            is_turn,
        )

    @staticmethod
    def _shown(needed: set[int], former: set[int], count: int, random: Generator) -> list[int]:
        """The places of turns that answer, of those that once did, of some around them, and of others."""
        shown = [*sorted(needed), *sorted(former)][:_TURNS]
        around = random.permutation(sorted(near(needed, count) - former))[: (_TURNS - len(shown)) // 2]
        shown += [int(place) for place in around]
        others = [place for place in random.permutation(count) if place not in shown]
        return shown + [int(place) for place in others[: _TURNS - len(shown)]]
