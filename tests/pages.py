"""How long the pages are, and how hard they read: what `tests.house` prints and `tests/test_docs.py` holds them to."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = 400
PAGE = 12_000
README_CHARACTERS = 16_000
README_LINES = 200
README_MEDIAN = 16
README_SENTENCE = 40

_ENDS = re.compile(r"(?<=[.!?…])[\"”)*]*\s+(?=[\"“(\[*`]*[A-ZÀ-Ý0-9])")


def pages() -> list[Path]:
    """Every page of the tree, tracked or new."""
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return sorted(path for name in names if (path := ROOT / name).exists())


def without_code(text: str) -> str:
    """A page without its blocks of code, in which links, headings and sentences mean nothing."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """The sentences of paragraphs and lists; a link is its text, and code between backticks one word."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) |\||#)", without_code(text)):
        if not re.match(r"\s*(?:\||#|<!--|$)", block):
            yield from _split(re.sub(r"^\s*(?:[-*]|\d+\.) ", "", block))


def cells(text: str) -> Iterator[str]:
    """The sentences within tables."""
    for row in re.findall(r"^\|(.*)\|$", without_code(text), flags=re.MULTILINE):
        for cell in re.split(r"(?<!\\)\|", row):
            yield from _split(cell)


def _split(text: str) -> Iterator[str]:
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`+[^`]*`+", "code", text))
    yield from (sentence for sentence in _ENDS.split(plain) if re.search(r"\w", sentence))


@dataclass(frozen=True, slots=True)
class PageSize:
    """What a page measures. Cells of tables count for the longest sentence, not for the median: they are short."""

    lines: int
    characters: int
    longest_line: int
    median_sentence: float
    longest_sentence: int

    @classmethod
    def of(cls, text: str) -> PageSize:
        """Measure a page."""
        words = [len(sentence.split()) for sentence in sentences(text)]
        within = [len(cell.split()) for cell in cells(text)]
        lines = text.splitlines()
        return cls(
            len(lines),
            len(text),
            max(map(len, lines), default=0),
            statistics.median(words or [0]),
            max(words + within, default=0),
        )

    def missed(self, is_readme: bool) -> list[str]:
        """The bars that it misses, in words; how long sentences are is a bar of the README alone."""
        bars = [("longest line", self.longest_line, LINE)]
        bars += [("characters", self.characters, README_CHARACTERS if is_readme else PAGE)]
        if is_readme:
            bars += [
                ("lines", self.lines, README_LINES),
                ("longest sentence", self.longest_sentence, README_SENTENCE),
            ]
        told = [f"{what} {value:,} > {bar:,}" for what, value, bar in bars if value > bar]
        is_heavy = is_readme and self.median_sentence > README_MEDIAN
        return told + ([f"median sentence {self.median_sentence:g} > {README_MEDIAN}"] if is_heavy else [])


def sizes_of_pages() -> dict[str, tuple[PageSize, list[str]]]:
    """Each page by its path from the root, with its size and the bars that it misses."""
    found = {}
    for path in pages():
        name = str(path.relative_to(ROOT))
        size = PageSize.of(path.read_text())
        found[name] = size, size.missed(name == "README.md")
    return found
