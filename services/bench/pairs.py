"""Labelled pairs of texts, read from a table in a file."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

P = TypeVar("P")


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
