"""Small instruments: percentiles, fsync rate, histograms of a running process."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def fsyncs_per_second(folder: Path) -> float:
    """How often this disk can write 512 bytes and be sure of it."""
    path = folder / "fsync.tmp"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        count, started = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - started) < 1.0:
            os.write(descriptor, b"x" * 512)
            os.fsync(descriptor)
            count += 1
        return count / elapsed
    finally:
        os.close(descriptor)
        path.unlink()


def stage_percentiles(exposition: str, metric: str, shares: Sequence[float]) -> dict[str, list[float]]:
    """Percentiles by stage from a Prometheus histogram, linear within its buckets; seconds."""
    buckets: dict[str, list[tuple[float, float]]] = {}
    for family in text_string_to_metric_families(exposition):
        for sample in family.samples:
            if sample.name == f"{metric}_bucket":
                pair = (float(sample.labels["le"]), sample.value)
                buckets.setdefault(sample.labels["stage"], []).append(pair)
    return {stage: [_quantile(sorted(pairs), share) for share in shares] for stage, pairs in buckets.items()}


def _quantile(pairs: Sequence[tuple[float, float]], share: float) -> float:
    wanted = share * pairs[-1][1]
    low, seen = 0.0, 0.0
    for high, count in pairs:
        if count >= wanted:
            if high == float("inf") or count == seen:
                return low
            return low + (high - low) * (wanted - seen) / (count - seen)
        low, seen = high, count
    return low
