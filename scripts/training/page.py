"""What is known of a training: a card beside the file, and a page with its curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_WIDTH, _HEIGHT, _EDGE = 640, 260, 36
_BINS = 10

_OF_CLAIMS, _OF_TASKS = ("precision", "recall", "slot", "unreal"), ("precision", "recall", "unreal")
_OF_PAIRS = ("precision", "recall")

_CARD = """# {version}: what it is, and how well it reads

A low-rank adapter (rank 16) of all-MiniLM-L6-v2 (Apache-2.0) and heads on the states of its tokens: {size:,} bytes.
`scripts/train` makes it from {chats} chats in `tests/quality/chats` and the labelled sentences in
`tests/quality`{dialogues}{start}. It may be used as memorybus may.

{held} chats of the same writers were kept apart. Of them, by how sure it is:

{claims}

Tasks:

{tasks}

Turns that answer, by plain cosine among those of a chat: {retrieval}.

Pairs of sentences of which the later changes or ends the earlier, among those that are said to:

{comparing}
"""


def card(version: str, size: int, figures: Mapping[str, Any]) -> str:
    """A page of Markdown with the figures."""
    dialogues = f", and questions on {figures['dialogues']} dialogues (FriendsQA, Apache-2.0)" * bool(
        figures["dialogues"]
    )
    text = _CARD.format(
        version=version,
        size=size,
        chats=len(figures["chats"]),
        dialogues=dialogues,
        start=f", going on from {figures['start']}" * bool(figures["start"]),
        held=len(figures["held"]),
        claims=_rows(figures["claims"]),
        tasks=_rows(figures["tasks"], _OF_TASKS),
        retrieval=_line(figures["retrieval"]),
        comparing=_rows(figures["comparing"], _OF_PAIRS),
    )
    if unseen := figures.get("unseen"):
        text += (
            f"\nOf {len(unseen['held'])} chats whose writers and labellers it never met:\n\n"
            f"{_rows(unseen['claims'])}\n\nTasks:\n\n{_rows(unseen['tasks'], _OF_TASKS)}\n\n"
            f"Turns that answer: {_line(unseen['retrieval'])}.\n\nPairs:\n\n"
            f"{_rows(unseen['comparing'], _OF_PAIRS)}\n"
        )
    return text


def _rows(figures: Sequence[Mapping[str, float]], names: Sequence[str] = _OF_CLAIMS) -> str:
    head = f"| at least | told | {' | '.join(names)} |\n| --- | --- | {' | '.join('---' for _ in names)} |"
    rows = (
        f"| {one['cut']:.2g} | {one['told']} | {' | '.join(f'{one[name]:.3f}' for name in names)} |" for one in figures
    )
    return "\n".join([head, *rows])


def _line(figures: Mapping[str, float]) -> str:
    found = ", ".join(f"{name} {figures[name]:.3f}" for name in ("mrr", "first", "recall@10"))
    return f"{found} of {figures['questions']} questions"


def report(version: str, figures: Mapping[str, Any]) -> str:
    """A page with the losses by step, precision by recall, and how often what is so sure is right."""
    curve = figures["curve"]
    smooth = [_smoothed([losses[kind] for losses in curve]) for kind in (1, 2, 3)]
    parts = [
        _chart("Loss of reading by step", [list(enumerate(smooth[0]))]),
        _chart("Loss of retrieval by step", [list(enumerate(smooth[1]))]),
        _chart("Loss of telling changes by step", [list(enumerate(smooth[2]))]),
        _chart("Precision by recall, claims and tasks", [_pairs(figures["claims"]), _pairs(figures["tasks"])]),
        _chart(
            "Right, by how sure it is: claims and tasks", [_reliable(figures[f"{k}_sure"]) for k in ("claims", "tasks")]
        ),
    ]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{version}</title>"
        f"<style>body{{font:15px sans-serif;margin:2em}}</style><h1>{version}</h1>{''.join(parts)}</html>\n"
    )


def _smoothed(losses: Sequence[float]) -> list[float]:
    """Means of twenty; a step without a loss of this kind counts for nothing."""
    real = [loss for loss in losses if loss]
    return [sum(real[start : start + 20]) / len(real[start : start + 20]) for start in range(0, len(real), 20)]


def _pairs(figures: Iterable[Mapping[str, float]]) -> list[tuple[float, float]]:
    return [(one["recall"], one["precision"]) for one in figures]


def _reliable(sure: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    bins: dict[int, list[tuple[float, bool]]] = {}
    for one in sure:
        bins.setdefault(min(int(one[0] * _BINS), _BINS - 1), []).append(one)
    return [(_mean(a for a, _ in held), _mean(b for _, b in held)) for _, held in sorted(bins.items())]


def _mean(values: Iterable[float]) -> float:
    held = list(values)
    return sum(held) / len(held)


def _chart(title: str, lines: Sequence[Sequence[tuple[float, float]]]) -> str:
    points = [point for line in lines for point in line] or [(0.0, 0.0)]
    right, top = max(x for x, _ in points) or 1, max(y for _, y in points) or 1

    def place(x: float, y: float) -> str:
        across, up = (_WIDTH - 2 * _EDGE) * x / right, (_HEIGHT - 2 * _EDGE) * y / top
        return f"{_EDGE + across:.1f},{_HEIGHT - _EDGE - up:.1f}"

    colours = ("#1f6feb", "#d1242f")
    drawn = "".join(
        f'<polyline fill=none stroke-width=2 stroke="{colour}" points="{" ".join(place(*one) for one in line)}"/>'
        for colour, line in zip(colours, lines, strict=False)
    )
    marks = f"<text x=2 y={_EDGE}>{top:.2f}</text><text x={_WIDTH - _EDGE} y={_HEIGHT - 8}>{right:.2f}</text>"
    return f"<h2>{title}</h2><svg width={_WIDTH} height={_HEIGHT}>{drawn}{marks}</svg>"
