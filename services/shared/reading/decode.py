"""From the logits of a text's tokens to the stretches that state something.

Each token has logits for being outside, first or further inside of a claim's value, and the same for a task. What is
told of a stretch (its slot, whose it is, whether it is new) are means over its tokens. How sure it is, is a logistic
fit on stretches of chats that the heads had not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from contracts.v1.claims import Relation, Slot
from services.shared.language.sentences import NO_ABBREVIATION

Floats = NDArray[np.float32]

SLOTS: tuple[Slot, ...] = get_args(Slot)
TAGS = ("outside", "first", "inside")
RELATIONS = Relation._fields
"""What a newer text is to an older one, where both are read as one text."""

COLUMNS = (
    *(f"claim:{tag}" for tag in TAGS),
    *(f"task:{tag}" for tag in TAGS),
    *(f"slot:{slot}" for slot in SLOTS),
    *("of_user", "is_new", "is_meant", "names_whose", "ends", "wish"),
    *(f"pair:{relation}" for relation in RELATIONS),
)
"""What the outputs of the heads mean, in their order."""

SIGNS = 6
"""How many numbers tell how sure a stretch is."""

_AT = {name: place for place, name in enumerate(COLUMNS)}
_SLOT = slice(_AT["slot:name"], _AT["slot:name"] + len(SLOTS))
SENTENCE_END = re.compile(rf"[.!?;]+(?=\s){NO_ABBREVIATION}|\n+")
_LEAST = 0.3
"""How likely a token must be inside for a stretch to begin or go on."""

_NAMES = 0.65
"""From this on a token names somebody: a fact of the wrong one is worse than one of nobody."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a text, from its first character to after the last, and what the heads tell of it.

    `signs` are what its confidence is made of: logits, and the length of the text. `whose` is where the text names whom
    it is about.
    """

    begin: int
    end: int
    slot: Slot
    of_user: float
    is_new: float
    signs: tuple[float, ...]
    whose: tuple[int, int] | None = None


def claims_in(logits: Floats, offsets: Sequence[tuple[int, int]], text: str) -> list[Stretch]:
    """The stretches of a text that state something, in their order; `logits` has shape (tokens, len(COLUMNS))."""
    found = list(_apart(logits, "claim", offsets, text))
    names = list(_named(_sigmoid(logits[:, _AT["names_whose"]]) > _NAMES, offsets, text)) if found else []
    return [_stretch(logits, offsets, text, "claim", *run, names) for run in found]


def tasks_in(logits: Floats, offsets: Sequence[tuple[int, int]], text: str) -> list[Stretch]:
    """The stretches of a text that say what its author has to do, in their order."""
    return [_stretch(logits, offsets, text, "task", *run, []) for run in _apart(logits, "task", offsets, text)]


def relation_in(logits: Floats) -> Relation:
    """What the second of two texts that were read as one is to the first."""
    start = _AT[f"pair:{RELATIONS[0]}"]
    return Relation(*map(float, _softmax(logits[:, start : start + len(RELATIONS)].mean(axis=0))))


def of_whole(logits: Floats, name: Literal["ends", "wish"]) -> float:
    """How likely a text says that something is over, or asks not to be remembered."""
    return float(_sigmoid(logits[:, _AT[name]].mean()))


def _apart(logits: Floats, kind: str, offsets: Sequence[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """The tokens of each stretch, of which those in parts of one word are one."""
    held: tuple[int, int] | None = None
    for first, after in _tagged(logits, kind, offsets, text):
        begin, _ = _whole_words(text, offsets[first][0], offsets[first][1])
        if held and begin < _whole_words(text, offsets[held[0]][0], offsets[held[1] - 1][1])[1]:
            held = held[0], after
        else:
            if held:
                yield held
            held = first, after
    if held:
        yield held


def _tagged(logits: Floats, kind: str, offsets: Sequence[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """The tokens of each stretch: the tags are read from left to right, a likely first tag or a line begins another."""
    start = _AT[f"{kind}:outside"]
    tags = _softmax(logits[:, start : start + len(TAGS)])
    inside = 1 - tags[:, 0]
    if not (inside > _LEAST).any():
        return
    begun = None
    for place, (begin, end) in enumerate(offsets):
        goes_on = end > begin and inside[place] > _LEAST
        is_first = tags[place, 1] > max(tags[place, 2], inside[place] / 2)
        if begun is not None and (not goes_on or is_first or "\n" in text[offsets[place - 1][1] : begin]):
            yield begun, place
            begun = None
        if goes_on and begun is None:
            begun = place
    if begun is not None:
        yield begun, len(offsets)


def _named(chosen: NDArray[np.bool_], offsets: Sequence[tuple[int, int]], text: str) -> Iterator[tuple[int, int]]:
    """The words of which a piece names somebody; those with only blanks between them are one name."""
    held: tuple[int, int] | None = None
    pieces = (offset for offset, names in zip(offsets, chosen, strict=True) if names and offset[1] > offset[0])
    for begin, end in (_whole_words(text, *piece, joined_by="-") for piece in pieces):
        if held and not text[held[1] : begin].strip():
            held = held[0], max(held[1], end)
        else:
            if held:
                yield held
            held = begin, end
    if held:
        yield held


def _stretch(
    logits: Floats,
    offsets: Sequence[tuple[int, int]],
    text: str,
    kind: str,
    first: int,
    after: int,
    names: Sequence[tuple[int, int]],
) -> Stretch:
    begin, end = _whole_words(text, offsets[first][0], offsets[after - 1][1])
    mean = logits[first:after].mean(axis=0)
    slots = mean[_SLOT]
    start = _AT[f"{kind}:outside"]
    inside = _inside_logit(logits[first:after, start : start + len(TAGS)])
    return Stretch(
        begin,
        end,
        SLOTS[int(slots.argmax())],
        float(_sigmoid(mean[_AT["of_user"]])),
        float(_sigmoid(mean[_AT["is_new"]])),
        (
            float(inside.mean()),
            float(inside.max()),
            float(inside.min()),
            float(mean[_AT["is_meant"]]),
            float(np.log(_softmax(slots).max())),
            float(np.log(len(offsets))),
        ),
        named_beside(names, begin, end, text),
    )


def named_beside(names: Sequence[tuple[int, int]], begin: int, end: int, text: str) -> tuple[int, int] | None:
    """Who is named in the value, before it in its sentence, or behind it there: the first of these.

    Who is named in another sentence is mostly somebody else: of 140 claims of chats for which nobody was named nearer,
    14 were of them.
    """
    within = [name for name in names if begin <= name[0] and name[1] <= end]
    before = [name for name in reversed(names) if name[0] < begin and not SENTENCE_END.search(text, name[1], begin)]
    behind = [name for name in names if name[0] >= end and not SENTENCE_END.search(text, end, name[0])]
    return next(iter((*within, *before, *behind)), None)


def _inside_logit(tags: Floats) -> Floats:
    return np.asarray(np.logaddexp(tags[:, 1], tags[:, 2]) - tags[:, 0], np.float32)


def _whole_words(text: str, begin: int, end: int, joined_by: str = "") -> tuple[int, int]:
    """The stretch, widened to the words that it cuts, as a tokenizer of word pieces may; signs may join several."""
    while begin > 0 and _is_within(text, begin, joined_by):
        begin -= 1
    while end < len(text) and _is_within(text, end, joined_by):
        end += 1
    return begin, end


def _is_within(text: str, place: int, joined_by: str) -> bool:
    """Whether a word is on both sides of a place, or, where one is a sign that joins words, on both sides of that."""
    before, after = text[place - 1], text[place]
    if before in joined_by:
        return after.isalnum() and text[place - 2 : place - 1].isalnum()
    if after in joined_by:
        return before.isalnum() and text[place + 1 : place + 2].isalnum()
    return before.isalnum() and after.isalnum()


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    found: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return found


def _sigmoid(logits: Floats) -> Floats:
    return np.asarray((1 + np.tanh(logits / 2)) / 2, np.float32)  # no exponential, which large logits would overflow
