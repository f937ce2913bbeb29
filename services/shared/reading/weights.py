"""The trained file: a low-rank adapter of the encoder, the heads on its states, and how sure they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from services.shared.reading.claims import Calibration, Calibrations
from services.shared.reading.decode import COLUMNS

READER = Path(__file__).with_name("reader.safetensors")
"""The one that memorybus ships; `reader.md` beside it says what it was trained on, and how well it reads."""

FORMER = READER.parent / "former"
"""Those of earlier versions, whose vectors some memories have: each goes on to make them until they are made anew."""

_HEADS = ("read.w", "read.b", "out.w", "left.w", "right.w", "out.b")

_VERSION = re.compile("reader-[0-9a-f]{8}")

Weights = Mapping[str, NDArray[np.float32]]
T = TypeVar("T", bound="Adapted")


@dataclass(frozen=True, eq=False)
class Adapted:
    """What makes the vectors. `version` tells one training from another."""

    version: str
    adapter: Weights


@dataclass(frozen=True, eq=False)
class Trained(Adapted):
    """All that `scripts/train` makes."""

    heads: Weights
    calibrations: Calibrations


class ReaderDamaged(Exception):
    """The trained file is missing, cut off, or of another version of memorybus."""


def load_trained(file: Path = READER) -> Trained:
    """Read the trained file.

    Raises:
        ReaderDamaged: it cannot be read, or has not what the heads of this version have.
    """
    return _loaded(file, _reading)


def load_former(version: str) -> Adapted:
    """What makes the vectors of an earlier version.

    Raises:
        ReaderDamaged: it cannot be read, or there is none of this version.
    """
    if not _VERSION.fullmatch(version):
        raise ReaderDamaged(f"this version of memorybus has no model {version!r}")
    return _loaded(FORMER / f"{version}.safetensors", _adapting)


def _loaded(file: Path, made: Callable[[str, Weights], T]) -> T:
    try:
        version, arrays = _read(file)
        if damaged := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
            raise ValueError(f"{damaged[0]} has what is no number")
        return made(version, arrays)
    except Exception as error:  # safetensors has a class of its own for what is wrong within
        raise ReaderDamaged(f"the trained file {file} cannot be used ({error}): install memorybus anew") from error


def _read(file: Path) -> tuple[str, dict[str, NDArray[np.float32]]]:
    from safetensors import safe_open  # half a second is spared where no model is loaded

    with safe_open(file, framework="numpy") as opened:
        version = (opened.metadata() or {})["version"]
        return version, {name: opened.get_tensor(name).astype(np.float32) for name in opened.keys()}  # noqa: SIM118


def _reading(version: str, arrays: Weights) -> Trained:
    if arrays["out.b"].shape != (len(COLUMNS),):
        raise ValueError(f"it has {len(arrays['out.b'])} outputs, where there should be {len(COLUMNS)}")
    calibrations = Calibrations(_calibration(arrays["sure.facts"]), _calibration(arrays["sure.tasks"]))
    return Trained(version, _adapter(arrays), {name: arrays[name] for name in _HEADS}, calibrations)


def _adapting(version: str, arrays: Weights) -> Adapted:
    return Adapted(version, _adapter(arrays))


def _adapter(arrays: Weights) -> dict[str, NDArray[np.float32]]:
    return {name: array for name, array in arrays.items() if name.endswith((".a", ".b")) and name not in _HEADS}


def _calibration(rows: NDArray[np.float32]) -> Calibration:
    """From weights, means and spreads, a row each; the constant has the mean 0 and the spread 1."""
    weights, mean, spread = rows
    return Calibration(weights, mean[1:], spread[1:])
