"""The overview at the head of a block of memories: cards of whom it is about, and the latest summary. Pure.

Its lines are like those of memories, so that whatever reads or cuts a block knows them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from contracts.ports import TokenCounter
from contracts.v1.profile import ProfileReply
from contracts.v1.sessions import RollingSummary
from services.shared.context.block import HEAD, TAIL, line_of
from services.shared.language.analysis import analyze

CARDS, SUMMARY = "## people, places and projects", "## this conversation so far"
"""The headings of an overview."""

_THE_USER = "person:me"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an overview: below which heading it stands, its words, how it reads, and the entries it is from.

    `about`: whom or what a fact is about; an empty text where that is the user, and of a summary.
    """

    heading: str
    words: str
    text: str
    ids: tuple[str, ...]
    about: str = ""


def card_lines(profile: ProfileReply) -> list[Line]:
    """The facts of the cards of a user, a line each."""
    sources = {(fact.entity_refs[0], fact.text): fact.source_ids for fact in profile.facts}
    made: list[Line] = []
    for card in profile.cards:
        about = "" if card.entity_ref == _THE_USER else card.label
        for fact in card.facts:
            if ids := sources.get((card.entity_ref, fact)):
                text = line_of((about or "the user", "card", ids[0][:8]), fact)
                made.append(Line(CARDS, fact, text, ids, about))
    return made


def summary_lines(summary: RollingSummary) -> list[Line]:
    """The sentences of a summary, a line each."""
    return [
        Line(
            SUMMARY,
            " ".join(one.text.split()),
            line_of((f"{one.said_at.date()}", one.role, "summary", one.source_ids[0][:8]), one.text),
            one.source_ids,
        )
        for one in summary.sentences
        if one.source_ids
    ]


def telling_lines(
    lines: Iterable[Line],
    *,
    about: str,
    with_user: bool,
    shown: Collection[str],
    sent: Collection[str],
    changed: Collection[str] = (),
) -> list[Line]:
    """The lines that add something: facts of what these words are `about`, and nothing that the prompt has anyhow.

    `with_user`: it is about the user, too. `shown`: the entries that are told already; `sent`: texts of the prompt;
    `changed`: the entries that are told as what held before.
    """
    named = frozenset(analyze(about))
    return [
        line
        for line in lines
        if (line.heading == SUMMARY or _is_meant(line.about, named, with_user=with_user))
        and not set(line.ids) <= set(shown)
        and set(line.ids).isdisjoint(changed)
        and not any(line.words in text for text in sent)
    ]


@lru_cache(maxsize=4096)
def _words(about: str) -> tuple[str, ...]:
    return tuple(analyze(about))


def _is_meant(about: str, named: frozenset[str], *, with_user: bool) -> bool:
    words = _words(about)
    return named.issuperset(words) if words else with_user and not about


def with_overview(
    context: str, lines: Sequence[Line], *, room: int, token_budget: int, counter: TokenCounter
) -> tuple[str, list[Line]]:
    """The block with as many of these lines at its head as `room` holds, cards before the summary; and those lines.

    Cards get half of the room where there is a summary, too. The whole block stays within its budget.
    """
    of_cards = room // 2 if any(line.heading == SUMMARY for line in lines) else room
    chosen = list[Line]()
    for line in sorted(lines, key=lambda line: line.heading != CARDS):
        if counter.count(_told([*chosen, line])) <= (of_cards if line.heading == CARDS else room):
            chosen.append(line)
    while chosen and counter.count(_rendered(context, chosen)) > token_budget:
        chosen.pop()
    return (_rendered(context, chosen), chosen) if chosen else (context, [])


def _rendered(context: str, lines: Sequence[Line]) -> str:
    return f"{HEAD}{_told(lines)}{context.removeprefix(HEAD).removesuffix(TAIL)}{TAIL}"


def _told(lines: Sequence[Line]) -> str:
    """Lines below their headings."""
    groups = groupby(lines, key=lambda line: line.heading)
    return "".join("\n".join((heading, *(line.text for line in its), "")) for heading, its in groups)
