"""The trained file: a low-rank adapter of the encoder, the heads on its states, and how sure they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.shared.reading.claims import Calibration, Calibrations
from services.shared.reading.decode import COLUMNS

READER = Path(__file__).with_name("reader.safetensors")
"""The one that memorybus ships; `reader.md` beside it says what it was trained on, and how well it reads."""

_HEADS = ("read.w", "read.b", "out.w", "left.w", "right.w", "out.b")

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What `scripts/train` makes. `version` tells one training from another."""

    version: str
    adapter: Weights
    heads: Weights
    calibrations: Calibrations


class ReaderDamaged(Exception):
    """The trained file is missing, cut off, or of another version of memorybus."""


def load_trained(file: Path = READER) -> Trained:
    """Read the trained file.

    Raises:
        ReaderDamaged: it cannot be read, or has not what the heads of this version have.
    """
    try:
        return _trained(*_read(file))
    except Exception as error:  # safetensors has a class of its own for what is wrong within
        raise ReaderDamaged(f"the trained file {file} cannot be used ({error}): install memorybus anew") from error


def _read(file: Path) -> tuple[str, dict[str, NDArray[np.float32]]]:
    from safetensors import safe_open  # half a second is spared where no model is loaded

    with safe_open(file, framework="numpy") as opened:
        version = (opened.metadata() or {})["version"]
        return version, {name: opened.get_tensor(name).astype(np.float32) for name in opened.keys()}  # noqa: SIM118


def _trained(version: str, arrays: Weights) -> Trained:
    if arrays["out.b"].shape != (len(COLUMNS),):
        raise ValueError(f"it has {len(arrays['out.b'])} outputs, where there should be {len(COLUMNS)}")
    if damaged := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise ValueError(f"{damaged[0]} has what is no number")
    return Trained(
        version,
        {name: array for name, array in arrays.items() if name.endswith((".a", ".b")) and name not in _HEADS},
        {name: arrays[name] for name in _HEADS},
        Calibrations(_calibration(arrays["sure.facts"]), _calibration(arrays["sure.tasks"])),
    )


def _calibration(rows: NDArray[np.float32]) -> Calibration:
    """From weights, means and spreads, a row each; the constant has the mean 0 and the spread 1."""
    weights, mean, spread = rows
    return Calibration(weights, mean[1:], spread[1:])
