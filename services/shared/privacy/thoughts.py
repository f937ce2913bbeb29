"""What a model says in its answer, without what it thinks there: backends leave thoughts in the text in many forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from services.shared.language import wordlists
from services.shared.privacy.marks import TAG, Mark, Pair, fences, marked, split
from services.shared.privacy.wordings import compiled

_THOUGHTS, _BESIDE, _ANSWERS, _ANSWER_LABELS = (
    wordlists.words("wrappers", section) for section in ("thoughts", "thoughts beside", "answers", "answer labels")
)
_NEAR = 40
_LONGEST_MARK = 256  # characters from its first sign to the end of its name

_MAY_THINK = compiled("wrappers", "may think")["may think"]
_CHANNEL = re.compile(r"<\|channel\|>[ \t]*(\w+)[^<\n]{0,200}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>")
_LEAKED = re.compile(r"\s*analysis(?=[A-Z\W])[\s\S]*assistantfinal")
_SIGNS_OF_CHANNELS = re.compile(r"<\|(?:start|end|return|call|message|channel|constrain)\|>(?:assistant\b)?")
_LABEL = compiled("wrappers", "label of thoughts", flags=re.MULTILINE)["label of thoughts"]
_ENDS_SENTENCE = re.compile(r"[.!?…:。！？：][\"'”’)\]*_]*\s*$|^\s*$|\n[ \t]*$")
_INDENTED = re.compile(r"\n(?: {4}|\t)[ \t]*\Z")  # a block of code
_GOES_ON = re.compile(r"[ \t]+[^\W\d_A-ZÀ-Þ]|[ \t]*[,;.!?)`'’\"]")


def without_thoughts(answer: str) -> str:
    """An answer without its thoughts; one that only tells of their marks is as it was."""
    if not _MAY_THINK.search(answer):
        return answer.strip()
    text = _final_channel(answer)
    end = 0
    kept: list[str] = []
    for begin, until in _spans(text):
        kept.append(text[end:begin].strip())
        end = until
    said = "\n\n".join(filter(None, (*kept, text[end:].strip() if kept else text)))
    return _unwrapped(_behind_labels(said.strip()))


def _behind_labels(text: str) -> str:
    """What an answer says behind the label of an answer, where it begins with one of thoughts; or behind a first
    paragraph of thoughts that is quoted, or in stars or brackets."""
    first = _LABEL.match(text)
    if first is None or not _names(first, _THOUGHTS):
        return text
    answers = [label for label in _LABEL.finditer(text, first.end()) if _names(label, _ANSWER_LABELS)]
    if answers:
        return text[answers[-1].end() :].strip()
    aside, _, rest = text.partition("\n\n")
    is_aside = all(line.startswith(">") for line in aside.split("\n")) or aside[0] + aside[-1] in (
        "**",
        "()",
        "__",
        "[]",
    )
    return rest.strip() if is_aside and rest.strip() else text


def _names(label: re.Match[str], what: AbstractSet[str]) -> bool:
    """Whether a label says that thoughts follow, or the answer; one without a colon is a heading."""
    words = frozenset(label["words"].lower().split())
    is_label = label["colon"] or "#" in label["before"]
    return bool(is_label) and not words.isdisjoint(what) and words <= what | _BESIDE


def _final_channel(text: str) -> str:
    """What stands in the last channels of an answer in channels; other answers as they are."""
    channels = [*_CHANNEL.finditer(text)]
    if not channels:
        return _LEAKED.sub("", text, count=1) if _LEAKED.match(text) else text
    ends = [*(found.start() for found in channels[1:]), len(text)]
    final = [text[one.end() : end] for one, end in zip(channels, ends, strict=True) if one[1].lower() == "final"]
    said = (_SIGNS_OF_CHANNELS.sub("", part).strip() for part in (text[: channels[0].start()], *final))
    return "\n\n".join(said).strip()


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that are thoughts, in order; what stands in a block of code is none."""
    done = cut = 0
    for pair, is_sure in sorted(_candidates(text), key=lambda found: (found[0].begin, -found[0].end)):
        if pair.begin >= done and (is_sure or is_sure is None or _is_meant(text, pair, cut)):
            done = pair.end
            if is_sure is not None:
                yield pair.begin, pair.end
                cut = pair.end


def _candidates(text: str) -> Iterator[tuple[Pair, bool | None]]:
    """What may be thoughts, and whether it is so for sure; None for blocks of code."""
    marks = marked(text)
    for block in fences(text):
        has_thoughts = len(block.opener.words) == 1 and not _THOUGHTS.isdisjoint(block.opener.words)
        if has_thoughts or block.is_closed:
            yield block, has_thoughts or None
    for mark in filter(_is_thought, marks.unopened):
        if _ends_thought(text, mark):
            yield Pair(mark, 0, mark.end, (0, mark.begin)), True
    for pair in (*marks.pairs, *marks.unclosed):
        is_heading = not pair.is_closed and pair.opener.kind.endswith("\n")  # between rules
        if _is_thought(pair.opener) and not is_heading:
            yield pair, False


def _is_meant(text: str, pair: Pair, cut: int) -> bool:
    """Whether a part is one of thoughts, not between marks that a sentence tells of; what is before `cut` is out."""
    before, after = text[max(cut, pair.begin - _NEAR) : pair.begin], text[pair.end : pair.end + _NEAR]
    if not before.strip() and pair.begin - cut < _NEAR:
        return True
    if _INDENTED.search(before):
        return False
    ends_line = not after.strip(" \t") or after.lstrip(" \t").startswith("\n")
    if pair.is_closed and ends_line and before.rstrip(" \t").endswith("\n"):
        return True
    after = after if pair.is_closed else text[pair.opener.end : pair.opener.end + _NEAR]
    return _ENDS_SENTENCE.search(before) is not None and not _GOES_ON.match(after)


def _ends_thought(text: str, mark: Mark) -> bool:
    before, after = text[max(0, mark.begin - _NEAR) : mark.begin], text[mark.end : mark.end + _NEAR]
    is_glued = bool(before) and not before[-1].isspace() and before[-1] not in "`'\"“("
    return (is_glued or _ENDS_SENTENCE.search(before) is not None) and not _GOES_ON.match(after)


def _is_thought(mark: Mark) -> bool:
    """Whether a mark names thoughts: by its words, or by what is written in it."""
    parts = frozenset(mark.parts)
    if mark.kind == TAG and mark.words[:1] == ("details",):
        return not _THOUGHTS.isdisjoint(split(mark.note))
    return not parts.isdisjoint(_THOUGHTS) and parts <= _THOUGHTS | _BESIDE


def _unwrapped(text: str) -> str:
    """What is left of an answer, without marks around all of it that call it the answer."""
    head = text[:_LONGEST_MARK].lower()
    if not any(word in head for word in _ANSWERS):
        return text
    around = [pair for pair in marked(text).pairs[:1] if (pair.begin, pair.end) == (0, len(text))]
    is_answer = around and _ANSWERS.issuperset(around[0].opener.parts)
    return text[slice(*around[0].inner)].strip() if is_answer else text
