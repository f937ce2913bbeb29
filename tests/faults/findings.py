"""What the checker may find, kind by kind."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal, get_args

Kind = Literal[
    "lost", "duplicated", "zombie", "foreign", "merged_wrongly", "went_back", "vectors_differ", "letters_differ"
]

KINDS: tuple[Kind, ...] = get_args(Kind)
_SHOWN = 5


@dataclass(slots=True)
class Findings:
    """What is not as it was promised. `places` counts what was lost at the beginning of what was published
    (prefix), at the end (postfix), and in between (middle).
    """

    acknowledged: int = 0
    by_kind: dict[Kind, list[str]] = field(default_factory=lambda: defaultdict(list))
    places: dict[str, int] = field(default_factory=dict)

    def add(self, kind: Kind, what: str) -> None:
        """Note one finding."""
        self.by_kind[kind].append(what)

    def count(self, kind: Kind) -> int:
        """How many there are of a kind."""
        return len(self.by_kind.get(kind, ()))

    @property
    def clean(self) -> bool:
        """Whether everything is as promised."""
        return not any(self.by_kind.values())

    def __str__(self) -> str:
        lines = [f"{self.acknowledged} acknowledged"]
        for kind in KINDS:
            if found := self.by_kind.get(kind):
                more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
                lines.append(f"{kind}: {len(found)}: " + "; ".join(found[:_SHOWN]) + more)
        if self.places:
            lines.append(f"lost where: {self.places}")
        return "\n".join(lines)
