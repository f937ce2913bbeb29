"""The weights of the profile: those that were fitted on judged questions of one's own, or those of memorybus."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError

from services.shared.ranking.model import WEIGHTS
from services.shared.settings import UnusableSetting

_LARGEST = 1024 * 1024

Weight = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]


class WeightsFile(BaseModel):
    """Weights by feature: among people, and with an assistant."""

    weights: dict[str, tuple[Weight, Weight]]


def load_weights(name: str | None) -> Mapping[str, tuple[float, float]]:
    """The weights in a file, for the features that it does not name those of memorybus; without a file all of these.

    Raises:
        UnusableSetting: the file cannot be read, or holds something else.
    """
    if not name:
        return WEIGHTS
    path = Path(name)
    try:
        with path.open("rb") as file:
            given = WeightsFile.model_validate_json(file.read(_LARGEST)).weights
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _unusable(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}".removeprefix(": ")) from None
    if unknown := sorted(set(given) - set(WEIGHTS)):
        raise _unusable(path, f"there is no feature {unknown[0][:40]!r}; there are {', '.join(WEIGHTS)}")
    return {**WEIGHTS, **given}


def _unusable(path: Path, why: str) -> UnusableSetting:
    return UnusableSetting(f"MEMORYBUS_RETRIEVE_WEIGHTS: {path}: {why}; `memorybus eval fit` writes such a file")
