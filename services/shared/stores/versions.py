"""What may change about an entry, whatever the engine that keeps it."""

from __future__ import annotations

from contracts.v1.entries import Entry


def successor(old: Entry, new: Entry) -> Entry:
    """`new` as the next version of `old`.

    Raises:
        ValueError: it has another id, or belongs to another user, space or persona.
    """
    if _identity(old) != _identity(new):
        raise ValueError(f"entry {old.id!r} cannot change its id, user, space or persona")
    return new.model_copy(update={"version": old.version + 1})


def _identity(entry: Entry) -> tuple[str, str, str, str]:
    return entry.id, entry.user_id, entry.space, entry.persona_id or ""
