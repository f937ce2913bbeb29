"""Commands about a user's memory as a whole: themes, a summary, an export, each with its reply."""

from __future__ import annotations

from pydantic import Field

from contracts.envelope import IrreversibleRequest, Message, Moment, Reply, Request
from contracts.v1.sessions import Spine

_SLUG = r"^[a-z0-9][a-z0-9_-]*$"


class Theme(Message):
    """A subject that entries are filed under: `count` active ones are. One that nobody described is called its slug."""

    slug: str
    display_name: str
    description: str = ""
    count: int = 0


class ThemesRequest(Request):
    """List the themes of a user, each with its entries in a space; null: in all. `persona_id`: as in a list."""

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)


class ThemesReply(Reply):
    """All themes, those with most entries first."""

    items: tuple[Theme, ...]


class ThemeSaveRequest(Request):
    """Describe a theme; one that is described already is described so from now on. `ids`: entries to file under it."""

    slug: str = Field(min_length=1, max_length=64, pattern=_SLUG)
    display_name: str = Field(min_length=1, max_length=128)
    description: str = Field(default="", max_length=1000)
    ids: tuple[str, ...] = Field(default=(), max_length=200)


class ThemeProposalsRequest(Request):
    """Ask which themes the entries of a space that are filed under none suggest; null: of all spaces."""

    space: str | None = Field(default=None, min_length=1, max_length=256)
    limit: int = Field(default=8, ge=1, le=20)


class ThemeProposal(Message):
    """A theme that entries which are alike suggest: saved with its `ids`, they are filed under it."""

    slug: str
    display_name: str
    count: int
    ids: tuple[str, ...]
    examples: tuple[str, ...]


class ThemeProposalsReply(Reply):
    """Those of most entries first."""

    items: tuple[ThemeProposal, ...]


class ThemeReply(Reply):
    """The theme as it is now."""

    theme: Theme


class ThemeRemoveRequest(IrreversibleRequest):
    """Remove a theme; its entries stay, and are not filed under it any more."""

    slug: str = Field(min_length=1, max_length=256)


class ThemeRemoveReply(Reply):
    """How many entries were filed under it."""

    slug: str
    entries: int


class SummaryRequest(Request):
    """Ask what there is in a space; null: in all.

    `persona_id`: as in retrieve, null or empty means entries of no persona, a name those and the persona's own, `"*"`
    all of the user's.
    """

    space: str | None = Field(default=None, min_length=1, max_length=256)
    persona_id: str | None = Field(default=None, max_length=256)


class SummaryReply(Reply):
    """The active entries, counted by what they are; `text` says it in a few sentences.

    `states` counts by embedding state: what is not `ready` is found by its words alone. `spine` is what it amounts to.
    """

    text: str
    entries: int
    pinned: int
    manually_saved: int
    types: dict[str, int]
    themes: dict[str, int]
    states: dict[str, int]
    latest: Moment | None = None
    spine: Spine = Spine()


class ExportRequest(Request):
    """Ask for the next lines of an export: all that is kept of the user, as `memorybus export` writes it to a file."""

    cursor: str | None = None
    limit: int = Field(default=200, ge=1, le=1000)


class ExportReply(Reply):
    """Lines, without line breaks; fewer than asked for where more do not fit into a message.

    The first page begins with a header, and the last one, which has no `next_cursor`, ends with the counts of all.
    """

    lines: tuple[str, ...]
    next_cursor: str | None = None
