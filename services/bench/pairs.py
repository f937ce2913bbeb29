"""Labelled pairs of texts: read from a table in a file, judged, and counted."""

from __future__ import annotations

import csv
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError

from contracts.errors import Unavailable
from contracts.ports import Reader
from services.cli.common import fail, run
from services.shared.embedders import open_embedder
from services.shared.settings import Settings

P = TypeVar("P")
T = TypeVar("T")

PairsFile = Annotated[Path, typer.Argument(help="A labelled pair a line, with tabs; the first line names the columns.")]
WrongOption = Annotated[bool, typer.Option("--wrong", help="Also show each one that memorybus gets wrong.")]


@dataclass(frozen=True, slots=True)
class Quality:
    """How many there are of what is looked for, how many were found, and how many of those are right."""

    there: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        """The share of what was found that is right; 1 if nothing was."""
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        """The share of what is there that was found; 1 if there is nothing."""
        return self.right / self.there if self.there else 1.0


def read_by_the_built_in_model(work: Callable[[Reader], Awaitable[T]]) -> T:
    """What comes of work with the built-in model; where that cannot be used the command ends with the reason."""

    async def read() -> T:
        model = await open_embedder("memorybus", cache_dir=Settings().cache)
        if model is None or not isinstance(model, Reader):
            raise Unavailable("the built-in model reads nothing")
        try:
            return await work(model)
        finally:
            await model.close()

    return run(read())


def pairs_or_fail(file: Path, read: Callable[[Path], list[P]]) -> list[P]:
    """The pairs of a file; where it has none the command ends with the reason."""
    try:
        return read(file)
    except (ValueError, OSError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        fail(f"{file}: {reason}")


def labelled_pairs(path: Path, model: type[P], labels: Sequence[str]) -> list[P]:
    """The pairs of a tab-separated file whose columns are the fields of the model, a dataclass.

    Raises:
        ValueError: the file is no such table, or has no pairs; the text says where and what to do.
        OSError: the file cannot be read.
    """
    columns, adapter = _columns(model), TypeAdapter(model)
    csv.field_size_limit(min(sys.maxsize, 1 << 20))
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE, restkey="beyond")
        pairs = [_pair(row, rows.line_num, adapter, columns, labels) for row in rows]
    if not pairs:
        raise ValueError(f"no pairs: the first line names the columns {columns}, each other line is a pair")
    return pairs


def _columns(model: Any) -> str:
    *names, last = (each.name for each in fields(model))
    return f"{', '.join(names)} and {last}"


def _pair(row: Mapping[str, object], line: int, adapter: TypeAdapter[P], columns: str, labels: Sequence[str]) -> P:
    try:
        return adapter.validate_python(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(
            f"line {line}, {where}: {first['msg']}; a line is {columns} with tabs between them, and the"
            f" label is one of {', '.join(labels)}"
        ) from error
