"""How often a tag that is proposed from the nearest neighbours is the one that its user would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.ports import Vector
from contracts.v1.entries import Entry
from services.shared.embedders.minilm import MiniLmEmbedder
from services.shared.ranking.neighbour_tags import proposed
from tests.stores.builders import an_entry


@dataclass(frozen=True, slots=True)
class Said:
    """What a user said, with the tag that it has for them, and its vector."""

    entries: Sequence[Entry]
    vectors: Vector

    def proposals(self) -> list[tuple[str | None, list[str]]]:
        """The tag of each entry and those that are proposed for it, where all others have theirs."""
        alike = self.vectors @ self.vectors.T
        made = []
        for i, entry in enumerate(self.entries):
            near = [(one, float(alike[i, j])) for j, one in enumerate(self.entries) if i != j]
            bare = entry.model_copy(update={"tags": ()})
            made.append((next(iter(entry.tags), None), [one.tag for one in proposed(bare, near)]))
        return made


async def users(folder: Path) -> list[Said]:
    """Both users of the file."""
    lines = Path(__file__).with_name("neighbour_tags.tsv").read_text().splitlines()
    parts = "\n".join(lines[1:]).split("# The second user")
    embedder = await MiniLmEmbedder.open(folder)
    said = [[line.split("\t") for line in part.splitlines() if "\t" in line] for part in parts]
    found = []
    for own in said:
        entries = [an_entry("ann", text, tags=() if tag == "-" else (tag,)) for tag, text in own]
        found.append(Said(entries, await embedder.embed([entry.text for entry in entries])))
    await embedder.close()
    return found


def quality(said: Sequence[Said]) -> tuple[float, float]:
    """The share of proposals that are right, and of the tagged entries for which the right one is proposed."""
    made = [one for its in said for one in its.proposals()]
    right = sum(tag in tags for tag, tags in made if tag)
    return right / sum(len(tags) for _, tags in made), right / sum(tag is not None for tag, _ in made)


async def test_what_is_proposed_is_mostly_right_and_found_for_half_of_the_entries(tmp_path: Path) -> None:
    precision, recall = quality(await users(tmp_path))
    assert precision >= 0.85
    assert recall >= 0.55
