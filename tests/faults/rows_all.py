"""Every row of the matrix, and those of the quick part."""

from __future__ import annotations

from tests.faults import rows, rows_cluster, rows_erase, rows_stories

ROWS = {**rows.ROWS, **rows_erase.ROWS, **rows_stories.ROWS, **rows_cluster.ROWS}
"""By name, in the order in which they are carried out."""

QUICK = (
    "kill-anywhere",
    "bus-killed",
    "vector-store-fails",
    "twice",
    "reordered",
    "kill-rolling-up",
    "kill-superseding",
    "kill-sessions",
    "opensearch-writes",
)
"""Those of the quick part, each of which is smaller there."""
