"""The data flow as a table: who hears what and who says what. Documentation is made from it, wiring is held to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from contracts import subjects
from contracts.v1.audit import AuditNoteReply, AuditNoteRequest, AuditReply, AuditRequest, OpsAuditRequest
from contracts.v1.cards import CardsReply, CardsRequest, NamesReply, NamesRequest
from contracts.v1.chat import CommandReply, CommandRequest
from contracts.v1.commands import (
    CreateRequest,
    EntryReply,
    EraseReply,
    EraseRequest,
    ForgetReply,
    ForgetRequest,
    GetRequest,
    ListReply,
    ListRequest,
    ReconcileReply,
    ReconcileRequest,
    StatusReply,
    StatusRequest,
    UserStatusRequest,
)
from contracts.v1.conflicts import ConflictsReply, ConflictsRequest, ResolveReply, ResolveRequest
from contracts.v1.control import (
    IncognitoEndRequest,
    IncognitoReply,
    IncognitoStartRequest,
    SettingsReply,
    SettingsRequest,
)
from contracts.v1.edits import BulkReply, BulkRequest, HistoryReply, HistoryRequest, PinRequest, UpdateRequest
from contracts.v1.entries import (
    EntryAccepted,
    EntryEmbedded,
    EntryEnriched,
    EntryEvent,
    EntryProposed,
    EntryRefused,
    EntryRepeated,
    ExtractionWanted,
)
from contracts.v1.loops import LoopsReply, LoopsRequest, SettleReply, SettleRequest
from contracts.v1.overview import (
    ExportReply,
    ExportRequest,
    SummaryReply,
    SummaryRequest,
    ThemeProposalsReply,
    ThemeProposalsRequest,
    ThemeRemoveReply,
    ThemeRemoveRequest,
    ThemeReply,
    ThemeSaveRequest,
    ThemesReply,
    ThemesRequest,
)
from contracts.v1.profile import DecideReply, DecideRequest, ProfileReply, ProfileRequest, SeedReply, SeedRequest
from contracts.v1.retrieval import RetrieveReply, RetrieveRequest
from contracts.v1.rollups import (
    RollUpReply,
    RollUpRequest,
    RollUpsReply,
    RollUpsRequest,
    RollUpUndoReply,
    RollUpUndoRequest,
)
from contracts.v1.sessions import SessionsReply, SessionsRequest
from contracts.v1.turns import Turn

Q = TypeVar("Q", bound=BaseModel)
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Q, R]):
    """A request that a service answers. `<user>` in the subject stands for a user's token."""

    subject: str
    request: type[Q]
    reply: type[R]

    @property
    def name(self) -> str:
        """What is asked for, and not whose: `entries.create`."""
        return self.subject.removesuffix(".<user>").split(".", 2)[2]

    @property
    def pattern(self) -> str:
        """What to subscribe to: the subject of every user."""
        return self.subject.replace("<user>", "*")

    def subject_of(self, user_id: str | None) -> str:
        """Where to ask about this user; the user is of no account where the request is about none."""
        return self.subject.replace("<user>", subjects.user_token(user_id or ""))

    @property
    def is_of_one_user(self) -> bool:
        """Whether the subject names a user, whom the body must name too."""
        return self.subject.endswith(".<user>")


RETRIEVE = Answer(f"{subjects.RETRIEVE}.<user>", RetrieveRequest, RetrieveReply)
CREATE = Answer(f"{subjects.ENTRIES}.create.<user>", CreateRequest, EntryReply)
GET = Answer(f"{subjects.ENTRIES}.get.<user>", GetRequest, EntryReply)
LIST = Answer(f"{subjects.ENTRIES}.list.<user>", ListRequest, ListReply)
FORGET = Answer(f"{subjects.ENTRIES}.forget.<user>", ForgetRequest, ForgetReply)
UPDATE = Answer(f"{subjects.ENTRIES}.update.<user>", UpdateRequest, EntryReply)
PIN = Answer(f"{subjects.ENTRIES}.pin.<user>", PinRequest, EntryReply)
UNPIN = Answer(f"{subjects.ENTRIES}.unpin.<user>", PinRequest, EntryReply)
HISTORY = Answer(f"{subjects.ENTRIES}.history.<user>", HistoryRequest, HistoryReply)
BULK = Answer(f"{subjects.ENTRIES}.bulk.<user>", BulkRequest, BulkReply)
THEMES = Answer(f"{subjects.MEMORY}.themes.<user>", ThemesRequest, ThemesReply)
THEME_SAVE = Answer(f"{subjects.MEMORY}.theme-save.<user>", ThemeSaveRequest, ThemeReply)
THEME_REMOVE = Answer(f"{subjects.MEMORY}.theme-remove.<user>", ThemeRemoveRequest, ThemeRemoveReply)
THEME_PROPOSALS = Answer(f"{subjects.MEMORY}.theme-proposals.<user>", ThemeProposalsRequest, ThemeProposalsReply)
SUMMARY = Answer(f"{subjects.MEMORY}.summary.<user>", SummaryRequest, SummaryReply)
PROFILE = Answer(f"{subjects.MEMORY}.profile.<user>", ProfileRequest, ProfileReply)
DECIDE = Answer(f"{subjects.MEMORY}.decide.<user>", DecideRequest, DecideReply)
SEED = Answer(f"{subjects.MEMORY}.seed.<user>", SeedRequest, SeedReply)
CARDS = Answer(f"{subjects.MEMORY}.cards.<user>", CardsRequest, CardsReply)
NAMES = Answer(f"{subjects.MEMORY}.names.<user>", NamesRequest, NamesReply)
LOOPS = Answer(f"{subjects.MEMORY}.loops.<user>", LoopsRequest, LoopsReply)
SETTLE = Answer(f"{subjects.MEMORY}.settle.<user>", SettleRequest, SettleReply)
SESSIONS = Answer(f"{subjects.MEMORY}.sessions.<user>", SessionsRequest, SessionsReply)
CONFLICTS = Answer(f"{subjects.MEMORY}.conflicts.<user>", ConflictsRequest, ConflictsReply)
RESOLVE = Answer(f"{subjects.MEMORY}.resolve.<user>", ResolveRequest, ResolveReply)
ROLL_UP = Answer(f"{subjects.MEMORY}.roll-up.<user>", RollUpRequest, RollUpReply)
ROLL_UPS = Answer(f"{subjects.MEMORY}.roll-ups.<user>", RollUpsRequest, RollUpsReply)
ROLL_UP_UNDO = Answer(f"{subjects.MEMORY}.roll-up-undo.<user>", RollUpUndoRequest, RollUpUndoReply)
EXPORT = Answer(f"{subjects.MEMORY}.export.<user>", ExportRequest, ExportReply)
ERASE = Answer(f"{subjects.MEMORY}.erase.<user>", EraseRequest, EraseReply)
INCOGNITO_START = Answer(f"{subjects.MEMORY}.incognito-start.<user>", IncognitoStartRequest, IncognitoReply)
INCOGNITO_END = Answer(f"{subjects.MEMORY}.incognito-end.<user>", IncognitoEndRequest, IncognitoReply)
SETTINGS = Answer(f"{subjects.MEMORY}.settings.<user>", SettingsRequest, SettingsReply)
USER_AUDIT = Answer(f"{subjects.MEMORY}.audit.<user>", AuditRequest, AuditReply)
AUDIT = Answer(subjects.AUDIT, OpsAuditRequest, AuditReply)
AUDIT_NOTE = Answer(subjects.AUDIT_NOTE, AuditNoteRequest, AuditNoteReply)
USER_STATUS = Answer(f"{subjects.MEMORY}.status.<user>", UserStatusRequest, StatusReply)
COMMANDS = Answer(f"{subjects.MEMORY}.commands.<user>", CommandRequest, CommandReply)
STATUS = Answer(subjects.STATUS, StatusRequest, StatusReply)
RECONCILE = Answer(subjects.RECONCILE, ReconcileRequest, ReconcileReply)


@dataclass(frozen=True, slots=True)
class Step:
    """One service: what it hears from streams, what it says, what it answers, and what it keeps."""

    service: str
    does: str
    keeps: str
    hears: tuple[tuple[str, type[BaseModel]], ...] = ()
    says: tuple[type[EntryEvent], ...] = ()
    answers: tuple[Answer[Any, Any], ...] = field(default=())


FLOW = (
    Step(
        "ingest",
        "checks turns, finds their session, logs and proposes them",
        "conversation log",
        hears=((f"{subjects.TURNS}.<user>", Turn),),
        says=(EntryProposed,),
    ),
    Step(
        "dedupe",
        "accepts what is new, merges what repeats, offers what is new to a language model where there is one",
        "entries, fingerprints",
        hears=((subjects.ENTRY_PROPOSED, EntryProposed),),
        says=(EntryAccepted, EntryRepeated, EntryRefused, ExtractionWanted),
    ),
    Step(
        "enrich",
        "names, key phrases, tags, importance; has a language model read what is stated, where there is one",
        "entries",
        hears=((subjects.ENTRY_ACCEPTED, EntryAccepted), (subjects.EXTRACT_WANTED, ExtractionWanted)),
        says=(EntryEnriched,),
    ),
    Step(
        "embed",
        "makes vectors; what is stated, and what of that supersedes or contradicts what was said before",
        "vectors, entries",
        hears=((subjects.ENTRY_ENRICHED, EntryEnriched),),
        says=(EntryEmbedded,),
    ),
    Step(
        "retrieve",
        "answers what matters now",
        "last scores",
        answers=(RETRIEVE,),
    ),
    Step(
        "curate",
        "creates, shows, lists, counts, corrects, pins and forgets entries; does what is asked for in a chat; "
        "keeps within capacity and age; compares the stores; sets stuck work going again",
        "tombstones",
        answers=(
            CREATE,
            GET,
            LIST,
            FORGET,
            UPDATE,
            PIN,
            UNPIN,
            HISTORY,
            BULK,
            THEMES,
            THEME_SAVE,
            THEME_REMOVE,
            THEME_PROPOSALS,
            SUMMARY,
            PROFILE,
            DECIDE,
            SEED,
            CARDS,
            NAMES,
            LOOPS,
            SETTLE,
            SESSIONS,
            CONFLICTS,
            RESOLVE,
            ROLL_UP,
            ROLL_UPS,
            ROLL_UP_UNDO,
            EXPORT,
            ERASE,
            SETTINGS,
            INCOGNITO_START,
            INCOGNITO_END,
            USER_AUDIT,
            AUDIT,
            AUDIT_NOTE,
            USER_STATUS,
            COMMANDS,
            STATUS,
            RECONCILE,
        ),
    ),
    Step("gateway", "the same verbs over HTTP; health, metrics, documentation", "nothing"),
)
