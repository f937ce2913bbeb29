"""mem0's memories: what `get_all` gives, or an export of its platform, as JSON or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from contracts.v1.turns import Turn
from services.shared.commands.formats.documents import documents
from services.shared.commands.formats.elsewhere import (
    DELETED,
    ENDING,
    MORE,
    OUTDATED,
    ROLES,
    Statement,
    each,
    each_readable,
    fact_type,
    turns,
)
from services.shared.commands.formats.source import FormatError, Source
from services.shared.commands.formats.times import When

_UNCHANGED = "without a change"
_EVENTS = {"DELETE": DELETED, "NONE": _UNCHANGED}  # what `add` answers of memories that are gone, or were there before


class _Memory(BaseModel):
    """One memory. Its time is the one of its last change, for that is how long its text has been true."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    memory: str = Field(validation_alias=AliasChoices("memory", "data", "text"))
    id: str | None = None
    user_id: str | None = None
    run_id: str | None = None
    agent_id: str | None = None
    role: str | None = None
    created_at: When | None = None
    updated_at: When | None = None
    expiration_date: date | None = None
    event: Any = None
    categories: list[str] | None = None
    metadata: dict[str, Any] | None = None

    def why_not(self) -> str | None:
        """Why it is no memory any more, or told of for another reason."""
        if self.expiration_date is not None and self.expiration_date < datetime.now(UTC).date():
            return OUTDATED
        return _EVENTS.get(self.event) if isinstance(self.event, str) else None


def read_mem0(source: Source) -> Iterator[Turn]:
    """A fact of each memory. A user, a run and an agent that it names are kept, categories become tags."""
    for name, document in documents(source):
        yield from turns(source, _statements(source, document, name))


def _statements(source: Source, document: Any, name: str) -> Iterator[Statement]:
    source.notes.update([MORE] if _is_page(document) else [])
    for where, memory in each_readable(source, _Memory, _memories(document, name), f"{name}: memory"):
        why = memory.why_not()
        source.notes.update([ENDING] if memory.expiration_date and not why else [])
        categories = memory.categories or []
        yield Statement(
            where,
            memory.id,
            ROLES.get(memory.role or "user", "user"),
            memory.memory,
            memory.run_id or "mem0",
            memory.updated_at or memory.created_at,
            user_id=memory.user_id,
            persona_id=memory.agent_id or None,
            tags=categories,
            type=fact_type(memory.memory, (memory.metadata or {}).get("type"), *categories),
            left_out=why,
        )


def _memories(document: Any, name: str) -> Iterator[Any]:
    """The memories of one answer, or of the pages of several."""
    for part in each(document, "results", "memories"):
        if isinstance(part, dict) and isinstance(part.get("results"), list):
            yield from part["results"]
        elif isinstance(part, dict) and isinstance(part.get("payload"), dict):
            yield {"id": part.get("id")} | part["payload"]
        elif isinstance(part, dict) and not {"memory", "data", "text"} & part.keys():
            wanted = "write what get_all gives into a file: see services/cli/README.md"
            raise FormatError(f"{name}: has no memories in it; {wanted}")
        else:
            yield part


def _is_page(document: Any) -> bool:
    """Whether there are more memories than the pages of the file have."""
    given = document if isinstance(document, list) else [document]
    pages = [page for page in given if isinstance(page, dict) and isinstance(page.get("results"), list)]
    counts: list[int] = [page["count"] for page in pages if isinstance(page.get("count"), int)]
    if counts:
        return max(counts) > sum(len(page["results"]) for page in pages)
    return bool(pages and pages[-1].get("next"))
