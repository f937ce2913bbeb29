"""Other settings to run the same questions with: components switched off, values swept over, engines away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from services.retrieve.settings import RetrieveSettings
from services.shared.settings import UnusableSetting

_PREFIX = RetrieveSettings.prefix


class BadSweep(Exception):
    """What is to be swept over cannot be; the text says what can."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A run: the environment variables that differ, another limit of items, the features of the profile that are left
    out, and the share of vectors that are there.
    """

    table: str
    name: str
    settings: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    without: Sequence[str] = ()
    vectors: float = 1.0


def _retrieve(**settings: object) -> dict[str, str]:
    return {f"{_PREFIX}{name.upper()}": str(value) for name, value in settings.items()}


_ABLATION: dict[str, Mapping[str, str]] = {
    "words alone (BM25 in context)": _retrieve(relevance="blend") | {"MEMORYBUS_VECTOR_STORE": "none"},
    "meaning alone (cosine)": _retrieve(relevance="cosine", lexical_weight=0, with_context=0),
    "order of both (RRF)": _retrieve(relevance="rrf", min_score=0),
    "blend of both": _retrieve(relevance="blend"),
    "blend, without neighbours": _retrieve(relevance="blend", with_context=0),
    "without neighbours' meaning": _retrieve(with_context=0),
    "without recency, importance": _retrieve(beta=0, gamma=0),
    "recency, importance in full": _retrieve(beta=1, gamma=1),
    "without diversity (MMR)": _retrieve(mmr_lambda=1),
    "without changes first": _retrieve(newest_first=False),
    "without threshold": _retrieve(min_score=0),
}

_FEATURES: dict[str, str] = {
    "words": "bm_ctx bm_turn_rank bm_none cov bmcos bmcos_ctx bm_prev bm_next prevq_bm",
    "meaning": "cos cos_ctx cos_sess cos_prev cos_next bmcos bmcos_ctx prevq_cos",
    "neighbours": "bm_ctx bmcos_ctx cos_ctx bm_prev bm_next cos_prev cos_next prevq_bm prevq_cos",
    "session": "cos_sess",
    "speakers": "spk",
    "form": "endq loglen num many_num brief",
    "what is new": "news",
    "dates": "when_date sprox",
    "age": "pos pos_past",
}
"""What of the profile is left out together; the other weights stay, so that a fit without them would lose less."""

_OUTAGES: dict[str, Mapping[str, str]] = {
    "vector store off": {"MEMORYBUS_VECTOR_STORE": "none"},
    "embedder off": {"MEMORYBUS_EMBEDDER": "none"},
}

_SWEPT: dict[str, Sequence[str]] = {
    "alpha": ("0.5", "1", "2"),
    "beta": ("0", "0.02", "0.05", "0.1", "0.3", "1"),
    "gamma": ("0", "0.02", "0.05", "0.1", "0.3", "1"),
    "tau_days": ("1", "3", "7", "30", "90"),
    "rrf_k": ("10", "30", "60", "120"),
    "lexical_weight": ("0.5", "1", "2"),
    "semantic_weight": ("0.5", "1", "2"),
    "mmr_lambda": ("0.5", "0.7", "0.8", "0.9", "1"),
    "min_score": ("0", "0.1", "0.2", "0.3", "0.4", "0.5"),
    "candidates": ("20", "40", "80", "120", "200"),
    "with_context": ("0", "16", "48", "80"),
    "limit": ("1", "3", "5", "8", "12", "20"),
}
_SHORT = {"tau": "tau_days"}


def ablation() -> list[Variant]:
    """Each component switched off, or alone."""
    parts = [Variant("ablation", f"profile without {name}", without=of.split()) for name, of in _FEATURES.items()]
    return [*(Variant("ablation", name, settings) for name, settings in _ABLATION.items()), *parts]


def outages() -> list[Variant]:
    """Engines switched off, at last half of the vectors gone: the memory is not whole any more after that."""
    off = [Variant("outages", name, settings) for name, settings in _OUTAGES.items()]
    return [*off, Variant("outages", "half of the vectors missing", vectors=0.5)]


def sweep(wanted: str) -> list[Variant]:
    """A run for each value of each setting, one setting at a time: `alpha,tau=1:7:30`; without values usual ones.

    Raises:
        BadSweep: a setting is unknown, or may not have that value.
    """
    return [variant for part in wanted.split(",") if part.strip() for variant in _values_of(part.strip())]


def _values_of(part: str) -> Iterable[Variant]:
    given, _, listed = part.partition("=")
    name = _SHORT.get(given.strip(), given.strip())
    if name != "limit" and name not in RetrieveSettings.model_fields:
        raise BadSweep(f"--sweep: there is no setting {given!r}; there are {', '.join(_known())}")
    values = [value.strip() for value in listed.split(":") if value.strip()] or _SWEPT.get(name)
    if not values:
        raise BadSweep(f"--sweep: name the values of {name}, for example {name}=1:2:3")
    for value in values:
        yield _variant(name, value)


def _variant(name: str, value: str) -> Variant:
    if name == "limit":
        if not value.isdecimal() or not 1 <= int(value) <= 200:
            raise BadSweep(f"--sweep: limit is a whole number from 1 to 200, not {value!r}")
        return Variant("limit", f"limit {value}", limit=int(value))
    try:
        RetrieveSettings(**{name: value})
    except UnusableSetting as error:
        raise BadSweep(f"--sweep: {name} cannot be {value!r}: {error}") from None
    return Variant(name, f"{name} {value}", _retrieve(**{name: value}))


def _known() -> list[str]:
    return sorted({*_SWEPT, *_SHORT, *RetrieveSettings.model_fields})
