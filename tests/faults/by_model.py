"""Claims that a model reads while memorybus is killed: each entry in use has those of its text, once."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from contracts.v1.entries import Entry
from services.shared.context.embedding import is_read_by_model
from tests.faults.findings import Findings
from tests.stores.drawing import a_claim

_STATED = re.compile(r"called (qq\w+) has the code (\d+)", re.IGNORECASE)


def claims_of(text: str) -> list[dict[str, Any]]:
    """What a model that is right reads in a turn of the load."""
    said = _STATED.search(text)
    return [a_claim(said[2], "identifier", said[0], said[1])] if said else []


def check_claims(entries: Sequence[Entry], *, unsure: Collection[str], findings: Findings) -> None:
    """Compare the claims of entries in use with their texts. Users who are `unsure` decided that nothing is kept."""
    for entry in entries:
        said = _STATED.search(entry.text) if entry.status == "active" and entry.user_id not in unsure else None
        if said is None:
            continue
        values = [entry.text[slice(*claim.value)] for claim in entry.claims]
        if not is_read_by_model(entry) or said[2] not in values:
            findings.add("lost", f"entry {entry.id} of {entry.user_id!r} lacks what a model reads in it")
        elif len(values) > 1:
            findings.add("duplicated", f"entry {entry.id} has {len(values)} claims")
