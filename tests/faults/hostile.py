"""Hostile messages: what a careless or malicious publisher may send, the same for the same seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from pydantic import BaseModel

from contracts import flow, subjects
from contracts.flow import Answer
from contracts.v1.entries import EntryAccepted, EntryEmbedded, EntryEnriched, EntryProposed
from contracts.v1.turns import Turn

LARGEST = 1024 * 1024
"""The most that the embedded bus takes, headers and body, in bytes."""

ANSWERS: tuple[Answer[BaseModel, BaseModel], ...] = tuple(one for step in flow.FLOW for one in step.answers)
EVENTS = (EntryProposed, EntryAccepted, EntryEnriched, EntryEmbedded)

_DATES = (
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-12:00",
    "9999-12-31T23:59:59Z",
    "2026-02-30T10:00:00Z",
    "2026-02-01T10:00:00",
    "-5",
    "99999999999999999999",
    "yesterday",
)
_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "1e-999", "-1", "0", "1e7", "1e300", "9" * 400, "2.5", "-0.0")
_WORDS = (
    '""',
    '"  "',
    '"\\u0000"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"a\\u0000b\\u202e\\ufeff\\uffff"',
    '"\x00\x01\x1b"',
    "null",
    "true",
    "[]",
    "{}",
    "[null]",
    '{"a": {"a": 1}}',
    '"' + "%_'\\\";-- ) OR NEAR( *".replace("\\", "\\\\").replace('"', '\\"') + '"',
    '["' + "a" * 5000 + '"]',
    json.dumps([f"tag {n}" for n in range(5000)]),
    json.dumps(["x"] * 64),
    "[" * 200 + "]" * 200,
)
_STRANGE = (*_WORDS, *_NUMBERS, *(json.dumps(date) for date in _DATES))

_TOKENS = ("~", "~!!!", "~YQ", "~YW5uLnNtaXRo", "~4pyT=", "żółw", "a" * 129, "a" * 2000, "$SYS", "eve\x7f", "*", "~_w")
_HEADERS: tuple[dict[str, str], ...] = (
    {subjects.MSG_ID_HEADER: ""},
    {subjects.MSG_ID_HEADER: "same"},
    {subjects.MSG_ID_HEADER: "i" * 20_000},
    {"Nats-Expected-Stream": "ANOTHER"},
    {"Nats-Expected-Last-Sequence": "-1"},
    {"Nats-Rollup": "all"},
    {"Nats-TTL": "1s"},
    {"Status": "503", "Description": "No Responders"},
    {"Nats-Pin-Id": "stolen", "Nats-Consumer-Stalled": "x"},
    {"X-Strange": "żółw \x00\x7f", "x" * 500: "y" * 500},
    {f"X-{n}": "v" for n in range(300)},
)
_DEADLINES = ("", "soon", "-1", "0", "NaN", "1e9", "9" * 30, "9" * 5000, "１２３", "1.5", "0x10", "1000")


@dataclass(frozen=True, slots=True)
class Hostile:
    """One message; `kind` says what is wrong with its body, if anything is."""

    kind: str
    subject: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Hostility:
    """Makes hostile messages. `users` is whose names they bear when they bear a proper one."""

    def __init__(self, seed: int, users: tuple[str, ...]) -> None:
        self._random = Random(seed)
        self._users = users
        self._made = 0
        self._spoilers: tuple[Callable[[dict[str, str], list[str]], bytes], ...] = (
            self._proper,
            self._wrong_type,
            self._wrong_type,  # the widest choice, so it is made more often
            self._wrong_type,
            self._truncated,
            self._missing,
            self._duplicate_keys,
            self._invalid_utf8,
            self._control_characters,
            self._nested,
            self._long,
            self._no_object,
        )

    def turn(self) -> Hostile:
        """A message on the subject of turns."""
        self._made += 1
        user = self._user()
        proper = {
            "user_id": json.dumps(user),
            "role": '"user"',
            "text": json.dumps(f"Hostile sentence number {self._made} is here."),
        }
        if self._random.random() < 0.5:
            proper["turn_id"] = json.dumps(f"t{self._made // 2}")  # every other one repeats the one before
        kind, body = self._spoiled(proper, Turn)
        return Hostile(kind, f"{subjects.TURNS}.{self._token(user)}", body, self._some(_HEADERS))

    def request(self) -> Hostile:
        """A message on the subject of any request."""
        self._made += 1
        answer, user = self._random.choice(ANSWERS), self._user()
        proper = {"user_id": json.dumps(user)}
        if "query" in answer.request.model_fields:
            proper["query"] = '"Which hostile sentence is here?"'
        if "text" in answer.request.model_fields:
            proper["text"] = json.dumps(f"Remember the hostile number {self._made}.")
        if "id" in answer.request.model_fields:
            proper["id"] = '"nobody"'
        kind, body = self._spoiled(proper, answer.request)
        headers = {subjects.DEADLINE_HEADER: self._random.choice(_DEADLINES)} if self._random.random() < 0.2 else {}
        subject = answer.subject.replace("<user>", self._token(user))
        return Hostile(f"{answer.name} {kind}", subject, body, headers or self._some(_HEADERS))

    def event(self, known: tuple[tuple[str, str], ...]) -> Hostile:
        """A message on the subject of an event; some name entries that exist: pairs of user and id."""
        self._made += 1
        model = self._random.choice(EVENTS)
        user, entry = self._random.choice((*known, (self._user(), "nobody")))
        refs = [{"user_id": user, "id": entry}] * self._random.choice((0, 1, 2, 300))
        proper = {
            "event_id": '"6f1d2a52-8d3c-5b61-9a4e-0c7f5e2b9d10"',
            "occurred_at": '"2026-02-01T10:00:00Z"',
            "entries": json.dumps(refs),
        }
        kind, body = self._spoiled(proper, model)
        return Hostile(kind, model.subject, body, self._some(_HEADERS))

    def huge(self) -> Hostile:
        """A turn as large as the bus takes."""
        user = self._user()
        start = b'{"user_id": "%s", "role": "user", "text": "' % user.encode()
        body = start + b"x" * (LARGEST - len(start) - 2) + b'"}'
        return Hostile("huge", subjects.turns(user), body)

    def _spoiled(self, proper: dict[str, str], model: type[BaseModel]) -> tuple[str, bytes]:
        spoil = self._random.choice(self._spoilers)
        return spoil.__name__.strip("_"), spoil(proper, list(model.model_fields))

    def _user(self) -> str:
        return self._random.choice(self._users)

    def _token(self, user: str) -> str:
        return self._random.choice(_TOKENS) if self._random.random() < 0.1 else subjects.user_token(user)

    def _some(self, headers: tuple[dict[str, str], ...]) -> dict[str, str]:
        return self._random.choice(headers) if self._random.random() < 0.1 else {}

    def _proper(self, proper: dict[str, str], _: list[str]) -> bytes:
        return document(proper)

    def _wrong_type(self, proper: dict[str, str], fields: list[str]) -> bytes:
        return document({**proper, self._random.choice(fields): self._random.choice(_STRANGE)})

    def _truncated(self, proper: dict[str, str], _: list[str]) -> bytes:
        whole = document(proper)
        return whole[: self._random.randrange(len(whole))]

    def _missing(self, proper: dict[str, str], _: list[str]) -> bytes:
        left_out = self._random.choice(list(proper))
        return document({name: value for name, value in proper.items() if name != left_out})

    def _duplicate_keys(self, proper: dict[str, str], fields: list[str]) -> bytes:
        again = {self._random.choice(fields): self._random.choice(_STRANGE)}
        return document(proper)[:-1] + b", " + document(again)[1:]

    def _invalid_utf8(self, proper: dict[str, str], _: list[str]) -> bytes:
        whole = bytearray(document(proper))
        for _byte in range(3):
            whole[self._random.randrange(len(whole))] = self._random.randrange(0x80, 0x100)
        return bytes(whole)

    def _control_characters(self, proper: dict[str, str], _: list[str]) -> bytes:
        whole = document(proper)
        at = self._random.randrange(len(whole))
        return whole[:at] + bytes(self._random.randrange(32) for _ in range(4)) + whole[at:]

    def _nested(self, proper: dict[str, str], fields: list[str]) -> bytes:
        depth = self._random.choice((10, 1000, 20_000))
        opening, closing = self._random.choice((("[", "]"), ('{"a":', "}")))
        return document({**proper, self._random.choice((*fields, "more")): opening * depth + "1" + closing * depth})

    def _long(self, proper: dict[str, str], fields: list[str]) -> bytes:
        size = self._random.choice((600, 66_000, 150_000))
        return document({**proper, self._random.choice(fields): f'"{"long " * (size // 5)}"'})

    def _no_object(self, *_: object) -> bytes:
        return self._random.choice((b"", b"null", b"[]", b"0", b'"{}"', b"\x00", b"\xef\xbb\xbf{}", b"{}" * 50))


def document(fields: Mapping[str, str]) -> bytes:
    """A JSON object of values that are written as they are, proper JSON or not."""
    inner = ", ".join(f"{json.dumps(name)}: {value}" for name, value in fields.items())
    return f"{{{inner}}}".encode("utf-8", "surrogatepass")
