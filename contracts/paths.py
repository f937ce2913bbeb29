"""The paths over HTTP: each is a request of the bus. A verb of the bus is offered over HTTP by a row here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from contracts import flow
from contracts.envelope import Reply
from contracts.flow import Answer
from contracts.v1.control import SettingsChange
from contracts.v1.edits import BulkFailure

Json = dict[str, Any]

PREFIX = "/v1/memory"
USER_HEADER = "memory-user"
"""Names the user on a server that asks for no credential."""


class TurnReply(Reply):
    """The bus has the turn and will not lose it; not `kept`, it is gone, as its user wants.

    It was published as incognito, its conversation is, memory is off, or its user said that it is not to be remembered,
    or what it answers. Where nobody says in time what the user wants a turn is `kept` as yet, and
    overwritten before it is stored if it may not be.
    """

    turn_id: str
    kept: bool = True


class TruncateReply(Reply):
    """What became of the entries of a conversation. `kept`: pinned, saved, or said in another conversation as well.

    `left`: there were more than one request forgets; ask again.
    """

    conversation_id: str
    forgotten: int
    kept: int
    left: int = 0
    failed: tuple[BulkFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb:
    """A path that is one request of the bus: what is not in the path comes from query or body, by the same names.

    `confined_by`: what keeps a request within the spaces of a credential: the space that it names, or the entries;
    None: nothing does, and who is let into some spaces only may not ask. `renamed`: fields that are called otherwise in
    the query. `idempotent_by`: the field that the header Idempotency-Key becomes. `leave`: fields that no caller gives.
    `flat`: a field of the body, and its model, whose own fields may stand in its place. A `version` is also the header
    If-Match.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    answer: Answer[Any, Any]
    summary: str
    confined_by: Literal["space", "id", "ids"] | None = None
    status: int = 200
    patience: float = 5.0
    renamed: Mapping[str, str] = field(default_factory=dict)
    idempotent_by: str | None = None
    leave: tuple[str, ...] = ()
    flat: tuple[str, type[BaseModel]] | None = None
    example: Json | None = None

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET" or self.answer is flow.RETRIEVE

    @property
    def words(self) -> list[str]:
        """Method and path, as names of operations and models are made of them."""
        return re.findall(r"\w+", f"{self.method.lower()} {self.path}")

    @property
    def in_path(self) -> list[str]:
        """The fields of the request that the path names."""
        return [name for name in self.answer.request.model_fields if f"{{{name}}}" in self.path]


_CHAT = {"conversation_id": "c1"}
EXPORT = Verb("GET", "/export", flow.EXPORT, "Export everything of the user", patience=15.0)
VERBS = (
    Verb(
        "GET",
        "/entries",
        flow.LIST,
        "List entries, those said last first",
        "space",
        renamed={"types": "type", "tags": "tag"},
    ),
    Verb(
        "POST",
        "/entries",
        flow.CREATE,
        "Remember a text",
        "space",
        status=201,
        patience=12.0,
        idempotent_by="correlation_id",
        example={"text": "I prefer uv over pip", "space": "default", "tags": ["tools"]},
    ),
    Verb("GET", "/entries/{id}", flow.GET, "Show one entry", "id"),
    Verb("DELETE", "/entries/{id}", flow.FORGET, "Forget an entry, with all that says it", "id", patience=30.0),
    Verb(
        "POST",
        "/search",
        flow.RETRIEVE,
        "Ask what matters now",
        "space",
        example={"query": "which package manager?", "limit": 5, "explain": True},
    ),
    Verb(
        "PATCH",
        "/entries/{id}",
        flow.UPDATE,
        "Correct an entry; a new text is a new version",
        "id",
        patience=10.0,
        leave=("by",),
        example={"text": "I prefer uv over pip and poetry", "tags": ["tools"]},
    ),
    Verb("GET", "/entries/{id}/history", flow.HISTORY, "Show what an entry said before", "id"),
    Verb("POST", "/entries/{id}/pin", flow.PIN, "Pin an entry", "id"),
    Verb("DELETE", "/entries/{id}/pin", flow.UNPIN, "Unpin an entry", "id"),
    Verb(
        "POST",
        "/entries/bulk",
        flow.BULK,
        "Do the same to many entries",
        "ids",
        patience=30.0,
        leave=("whole", "conversation_id", "space"),
        example={"ids": ["…"], "action": "pin"},
    ),
    Verb("GET", "/themes", flow.THEMES, "List themes", "space"),
    Verb("GET", "/themes/proposals", flow.THEME_PROPOSALS, "Propose themes", "space", patience=10.0),
    Verb("POST", "/themes", flow.THEME_SAVE, "Describe a theme", example={"slug": "tools", "display_name": "Tools"}),
    Verb(
        "PATCH",
        "/themes",
        flow.THEME_SAVE,
        "Describe a theme anew",
        example={"slug": "tools", "display_name": "My tools"},
    ),
    Verb("DELETE", "/themes", flow.THEME_REMOVE, "Remove a theme; its entries stay", patience=30.0),
    Verb("GET", "/summary", flow.SUMMARY, "Sum up what there is", "space"),
    Verb("GET", "/profile", flow.PROFILE, "Show what is known of the user, fact by fact", "space", patience=15.0),
    Verb(
        "POST",
        "/profile",
        flow.SEED,
        "Give what is known of the user from the start",
        "space",
        patience=15.0,
        example={"facts": ["I live in Lisbon", "My sister Clara lives in Oslo"]},
    ),
    Verb(
        "POST",
        "/profile/decide",
        flow.DECIDE,
        "Say whether something that is told of the user is so",
        patience=10.0,
        example={"id": "…", "is_so": True},
    ),
    Verb("GET", "/cards", flow.CARDS, "Show the cards of people, projects and events", "space", patience=15.0),
    Verb(
        "POST",
        "/cards/names",
        flow.NAMES,
        "Decide whether two names are of one person",
        example={"one": "Makesh", "other": "Mukesh", "same": True},
    ),
    Verb("GET", "/loops", flow.LOOPS, "List what is still to be done", "space", patience=10.0),
    Verb(
        "POST",
        "/loops/settle",
        flow.SETTLE,
        "Say what became of what was to be done",
        patience=10.0,
        example={"id": "…", "state": "done"},
    ),
    Verb("GET", "/sessions/{id}", flow.SESSIONS, "Sum up a session", "space", leave=("limit", "cursor")),
    Verb("GET", "/sessions", flow.SESSIONS, "List sessions, the latest first", "space", leave=("id",)),
    Verb("GET", "/conflicts", flow.CONFLICTS, "List statements that cannot both be true", "space"),
    Verb(
        "POST",
        "/conflicts/resolve",
        flow.RESOLVE,
        "Decide which of two statements holds, or both",
        patience=10.0,
        example={"newer": "…", "older": "…", "keep": "new"},
    ),
    Verb("GET", "/rollups", flow.ROLL_UPS, "List roll-ups, those made last first", "space", patience=10.0),
    Verb(
        "POST",
        "/rollups",
        flow.ROLL_UP,
        "Roll up what is said of a topic, or show what would be",
        "space",
        patience=30.0,
        example={"topic": "sourdough", "space": "default", "preview": True},
    ),
    Verb("POST", "/rollups/{id}/undo", flow.ROLL_UP_UNDO, "Take back a roll-up", "id", patience=30.0),
    Verb("GET", "/settings", flow.SETTINGS, "Show what holds in a space", "space", leave=("change", "reset")),
    Verb(
        "POST",
        "/settings",
        flow.SETTINGS,
        "Decide what holds in a space",
        "space",
        patience=10.0,
        flat=("change", SettingsChange),
        example={"space": "default", "memory_enabled": True, "incognito_default": False},
    ),
    Verb(
        "POST", "/incognito/start", flow.INCOGNITO_START, "Keep nothing of a conversation", patience=10.0, example=_CHAT
    ),
    Verb("POST", "/incognito/end", flow.INCOGNITO_END, "Keep a conversation again", patience=10.0, example=_CHAT),
    Verb("GET", "/audit", flow.USER_AUDIT, "Show what was done with the memory", renamed={"verbs": "verb"}),
    Verb(
        "POST",
        "/commands",
        flow.COMMANDS,
        "Do what a user says in a chat about their memory",
        patience=30.0,
        leave=("spaces",),
        example={"text": "what do you remember about uv?", "conversation_id": "c1"},
    ),
    Verb("GET", "/status", flow.USER_STATUS, "Count what is stored", patience=10.0),
    Verb("POST", "/erase", flow.ERASE, "Remove everything of the user for good", example={}),
)
VERB_OF = {verb.answer.subject: verb for verb in VERBS}
"""By subject; of two paths for one request the one that changes something."""
