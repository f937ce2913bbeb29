"""The users of the bus and their permissions: one for each service, with the subjects it needs and no others. Pure.

Every user has an account of its own, and the streams have one in which nobody is a user. Between accounts nothing
passes unless one exports it and the other imports it. This bounds replies too: the bus publishes its promises, pulled
messages and its answers wherever the caller says, with no look at the caller's permissions; but it does so in the
caller's own account, where no stream listens.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts import subjects
from contracts.flow import ERASE, FLOW, FORGET, USER_STATUS, Step
from contracts.subjects import Consumer, Stream

STREAMS_ACCOUNT = "MEMORY"
PROVISION = "provision"
OPERATOR = "operator"
ASSISTANT = "assistant"
_API = "$JS.API"
_REPLIES = "_R_.>"
"""The stand-in of the bus for an inbox of another account: through it an answer goes there, and nowhere else."""

_PULL_SILENCE = "10s"
"""How long a pull may bring nothing, not even a heartbeat, before the bus forgets where it was to go."""

_NO_STREAMS_OF_ITS_OWN = f"{_API}.INFO"
"""Imported by every account, and allowed to nobody: without it the bus itself would answer the requests of an account
for its streams, that it has none."""

_PULL = f"{_API}.CONSUMER.MSG.NEXT."

_OF_ONE_USER = tuple(answer.pattern for step in FLOW for answer in step.answers if answer.is_of_one_user)
"""What assistants ask, for any user of memory they name; so does the gateway, for the user of a credential."""

_UNHEARD = f"{subjects.INCOGNITO}.*"
"""Published by assistants and the gateway, imported by nobody: it does not even leave their account."""

_ALSO_SAYS = {
    # `create` publishes a turn, a chat command may ask a question, stuck work is set going again by its event, and what
    # was corrected is read anew by a language model where there is one
    "curate": (
        f"{subjects.TURNS}.*",
        f"{subjects.RETRIEVE}.*",
        subjects.ENTRY_PROPOSED,
        subjects.ENTRY_ACCEPTED,
        subjects.ENTRY_ENRICHED,
        subjects.EXTRACT_WANTED,
    ),
    "gateway": (
        f"{subjects.TURNS}.*",
        _UNHEARD,
        *_OF_ONE_USER,
        subjects.LIMITS_STREAM.subjects[0],
        f"{_API}.STREAM.CREATE.{subjects.LIMITS_STREAM.name}",  # it is in memory, and goes with the servers
        f"{_API}.STREAM.MSG.GET.{subjects.KEYS_STREAM.name}",
    ),
}
_ALSO_HEARS = {
    # refused entries have left words in the files
    "curate": (subjects.ENTRY_REFUSED,),
}
_TAKES_OUT = {
    # forgetting and erasing remove turns that wait, and dead letters
    "curate": (subjects.TURNS_STREAM, subjects.DEAD_STREAM),
}
_DELETES = {
    # a turn that may not be kept is overwritten before anybody acknowledges it
    "ingest": (f"{_API}.STREAM.MSG.DELETE.{subjects.TURNS_STREAM.name}",),
}


@dataclass(frozen=True, slots=True)
class User:
    """A user of the bus; everything that is not listed is refused."""

    name: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]

    @property
    def password_variable(self) -> str:
        """The environment variable in which nats-server finds the password."""
        return f"MEMORYBUS_NATS_PASSWORD_{self.name.upper()}"

    @property
    def account(self) -> str:
        """Its account; nobody else is in it."""
        return f"{STREAMS_ACCOUNT}_{self.name.upper()}"

    @property
    def asks(self) -> tuple[str, ...]:
        """The subjects that its account imports: those it publishes that are for others."""
        return tuple(dict.fromkeys(_passage(one) for one in self.publish if one not in (_REPLIES, _UNHEARD)))

    @property
    def answers(self) -> tuple[str, ...]:
        """The requests it hears, as a member of a queue group."""
        return tuple(subject.split()[0] for subject in self.subscribe if " " in subject)

    @property
    def listens(self) -> tuple[str, ...]:
        """The subjects of a stream that it hears as they are published, without a consumer."""
        return tuple(one for one in self.subscribe if " " not in one and not one.startswith(f"{subjects.INBOX}."))


def users() -> tuple[User, ...]:
    """Every user of the bus, the same however the turns are split."""
    return (*(service_user(step) for step in FLOW), provision_user(), operator_user(), assistant_user())


def service_user(step: Step) -> User:
    """A service: reads its consumer, publishes its events, answers its requests, keeps dead letters."""
    own = [one for one in (*subjects.CONSUMERS, subjects.EXTRACT) if one.service == step.service]
    return User(
        step.service,
        publish=_once(
            _looks(),
            *(_reads(consumer) for consumer in own),
            [subjects.dead(step.service, "*")] if own else [],
            [event.subject for event in step.says],
            _ALSO_SAYS.get(step.service, ()),
            *(_takes_out(stream) for stream in _TAKES_OUT.get(step.service, ())),
            _DELETES.get(step.service, ()),
            [_REPLIES] if step.answers else [],
        ),
        subscribe=(
            _inbox(step.service),
            *(f"{answer.pattern} {step.service}" for answer in step.answers),
            *_ALSO_HEARS.get(step.service, ()),
        ),
    )


def provision_user() -> User:
    """The step that declares streams and consumers. It reads no message, but decides how long streams hold theirs.

    A consumer that it makes delivers within the account of the streams, where this user is not.
    """
    manages = [_manages(stream) for stream in subjects.STREAMS]
    return User(PROVISION, publish=_once(_looks(), *manages), subscribe=(_inbox(PROVISION),))


def operator_user() -> User:
    """An operator: counts, compares, retries or drops dead letters, forgets and erases for a user."""
    asks = [answer.pattern for step in FLOW for answer in step.answers if not answer.is_of_one_user]
    events = [one.subject for one in subjects.CONSUMERS if one.stream == subjects.EVENTS_STREAM.name]
    return User(
        OPERATOR,
        publish=_once(
            _looks(),
            _takes_out(subjects.DEAD_STREAM),
            [subjects.key("*"), *_takes_out(subjects.KEYS_STREAM)],
            [f"{subjects.TURNS}.*", *events, subjects.EXTRACT_WANTED],  # where dead letters are retried
            asks,
            [answer.pattern for answer in (USER_STATUS, FORGET, ERASE)],
        ),
        subscribe=(_inbox(OPERATOR),),
    )


def assistant_user() -> User:
    """An assistant: publishes turns, kept or incognito, asks and commands, for any user of memory it names."""
    return User(ASSISTANT, publish=(f"{subjects.TURNS}.*", _UNHEARD, *_OF_ONE_USER), subscribe=(_inbox(ASSISTANT),))


def accounts(everybody: Sequence[User]) -> str:
    """The block `accounts` of a nats-server configuration. Passwords stay in the environment of the server."""
    variables = "\n".join(f"#   {user.password_variable}" for user in everybody)
    blocks = "".join(_account(user, everybody) for user in everybody)
    return (
        "# Each password is read from the environment of nats-server: letters and digits, a letter first.\n"
        f"{variables}\n"
        f"accounts {{\n{_account_of_streams(everybody)}{blocks}}}\n"
    )


def _account(user: User, everybody: Sequence[User]) -> str:
    home = {subject: one.account for one in everybody for subject in one.answers}
    asks = (*user.asks, _NO_STREAMS_OF_ITS_OWN)
    services = [_import("service", home.get(subject, STREAMS_ACCOUNT), subject) for subject in asks]
    streams = [_import("stream", STREAMS_ACCOUNT, subject) for subject in user.listens]
    exports = [_export("service", subject, _who_asks(subject, everybody)) for subject in user.answers]
    return (
        f"  {user.account} {{\n"
        f"    users = [ {{\n      user: {user.name}\n      password: ${user.password_variable}\n"
        f"      permissions: {{\n        publish: {{ allow: {_listed(user.publish)} }}\n"
        f"        subscribe: {{ allow: {_listed(user.subscribe)} }}\n      }}\n    }} ]\n"
        f"{_block('exports', exports)}{_block('imports', services + streams)}  }}\n"
    )


def _account_of_streams(everybody: Sequence[User]) -> str:
    answered = {subject for user in everybody for subject in user.answers}
    asked = dict.fromkeys(subject for user in everybody for subject in user.asks if subject not in answered)
    heard = dict.fromkeys(subject for user in everybody for subject in user.listens)
    services = [_export("service", subject, _who_asks(subject, everybody)) for subject in asked]
    services.append(_export("service", _NO_STREAMS_OF_ITS_OWN, everybody))
    streams = [_export("stream", one, [user for user in everybody if one in user.listens]) for one in heard]
    return f"  {STREAMS_ACCOUNT} {{\n    jetstream: enabled\n{_block('exports', services + streams)}  }}\n"


def _passage(subject: str) -> str:
    """The subject to import in order to publish this: all of the stream's, if it goes into a stream.

    The permissions of the user narrow it. Through a pattern, unlike a subject, messages that the bus itself sends to a
    reply subject of the caller's choice cannot pass.
    """
    for stream in subjects.STREAMS:
        (pattern,) = stream.subjects
        if subject.startswith(pattern.rstrip("*>")):
            return pattern
    return subject


def _who_asks(subject: str, everybody: Sequence[User]) -> list[User]:
    return [user for user in everybody if subject in user.asks]


def _export(kind: str, subject: str, to: Sequence[User]) -> str:
    many = f", response: stream, threshold: {_PULL_SILENCE}" if subject.startswith(_PULL) else ""
    names = ", ".join(user.account for user in to)
    return f"      {{ {kind}: {json.dumps(subject)}, accounts: [{names}]{many} }}\n"


def _import(kind: str, account: str, subject: str) -> str:
    return f"      {{ {kind}: {{ account: {account}, subject: {json.dumps(subject)} }} }}\n"


def _block(name: str, lines: Sequence[str]) -> str:
    return f"    {name} = [\n{''.join(lines)}    ]\n" if lines else ""


def _listed(items: Iterable[str]) -> str:
    return "[\n" + "".join(f"          {json.dumps(item)}\n" for item in items) + "        ]"


def _looks() -> list[str]:
    """The requests by which a service, at its start, sees that streams and consumers are as declared."""
    names = [stream.name for stream in subjects.STREAMS]
    return [
        *(f"{_API}.STREAM.INFO.{name}" for name in names),
        *(f"{_API}.CONSUMER.INFO.{name}.*" for name in names),
        f"{_API}.CONSUMER.NAMES.{subjects.TURNS_STREAM.name}",
    ]


def _reads(consumer: Consumer) -> list[str]:
    if consumer.stream != subjects.TURNS_STREAM.name:
        name = f"{consumer.stream}.{consumer.name}"
        return [f"{_PULL}{name}", f"$JS.ACK.{name}.>"]
    parts = f"{consumer.stream}.*"  # this stream has one reader, and its work may be split into any number of consumers
    return [
        f"{_PULL}{parts}",
        f"$JS.ACK.{parts}.>",
        f"{_API}.CONSUMER.UNPIN.{parts}",
        f"{_API}.STREAM.PURGE.{consumer.stream}",
    ]


def _takes_out(stream: Stream) -> list[str]:
    return [f"{_API}.STREAM.MSG.{verb}.{stream.name}" for verb in ("GET", "DELETE")]


def _manages(stream: Stream) -> list[str]:
    return [
        *(f"{_API}.STREAM.{verb}.{stream.name}" for verb in ("CREATE", "UPDATE")),
        *(f"{_API}.CONSUMER.{verb}.{stream.name}.*" for verb in ("DURABLE.CREATE", "DELETE")),
    ]


def _inbox(user: str) -> str:
    return f"{subjects.inbox(user)}.>"


def _once(*groups: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for group in groups for item in group))
