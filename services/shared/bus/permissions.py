"""Who may say and hear what on the bus: one user for each service with what it needs and nothing more. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from contracts import subjects
from contracts.flow import ERASE, FLOW, FORGET, USER_STATUS, Step
from contracts.subjects import Consumer, Stream

PROVISION = "provision"
OPERATOR = "operator"
ASSISTANT = "assistant"
_API = "$JS.API"

_ALSO_SAYS = {
    # `create` goes in as a turn, and what got stuck is said again
    "curate": (
        f"{subjects.TURNS}.*",
        subjects.ENTRY_PROPOSED,
        subjects.ENTRY_ACCEPTED,
        subjects.ENTRY_ENRICHED,
    ),
}
_ALSO_HEARS = {
    # what was refused has left words in the files
    "curate": (subjects.ENTRY_REFUSED,),
}
_TAKES_OUT = {
    # what a user said goes wherever it is: also while it waits, and where it was set aside
    "curate": (subjects.TURNS_STREAM, subjects.DEAD_STREAM),
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


def users() -> tuple[User, ...]:
    """Every user of the bus, the same however the turns are split."""
    return (*(service_user(step) for step in FLOW), provision_user(), operator_user(), assistant_user())


def service_user(step: Step) -> User:
    """A service: reads its consumer, says its events, answers its requests, sets aside what it cannot digest."""
    own = [consumer for consumer in subjects.CONSUMERS if consumer.service == step.service]
    return User(
        step.service,
        publish=_once(
            _looks(),
            *(_reads(consumer) for consumer in own),
            [subjects.dead(step.service)] if own else [],
            [event.subject for event in step.says],
            _ALSO_SAYS.get(step.service, ()),
            *(_takes_out(stream) for stream in _TAKES_OUT.get(step.service, ())),
            [f"{subjects.INBOX}.>"] if step.answers else [],
        ),
        subscribe=(
            _inbox(step.service),
            *(f"{answer.pattern} {step.service}" for answer in step.answers),
            *_ALSO_HEARS.get(step.service, ()),
        ),
    )


def provision_user() -> User:
    """Whoever declares streams and consumers. It reads no message."""
    manages = [_manages(stream) for stream in subjects.STREAMS]
    return User(PROVISION, publish=_once(_looks(), *manages), subscribe=(_inbox(PROVISION),))


def operator_user() -> User:
    """Whoever looks after the whole: counts, compares, says dead letters again or drops them, forgets for a user."""
    asks = [answer.pattern for step in FLOW for answer in step.answers if not answer.is_of_one_user]
    events = [one.subject for one in subjects.CONSUMERS if one.stream == subjects.EVENTS_STREAM.name]
    return User(
        OPERATOR,
        publish=_once(
            _looks(),
            _takes_out(subjects.DEAD_STREAM),
            [f"{subjects.TURNS}.*", *events],  # where dead letters are said again
            asks,
            [answer.pattern for answer in (USER_STATUS, FORGET, ERASE)],
        ),
        subscribe=(_inbox(OPERATOR),),
    )


def assistant_user() -> User:
    """An assistant: publishes turns, asks and commands, for any user of memory it names."""
    asks = [answer.pattern for step in FLOW for answer in step.answers if answer.is_of_one_user]
    return User(ASSISTANT, publish=(f"{subjects.TURNS}.*", *asks), subscribe=(_inbox(ASSISTANT),))


def authorization(everybody: Sequence[User]) -> str:
    """The block `authorization` of a nats-server configuration. Passwords stay in the environment of the server."""
    blocks = "\n".join(_block(user) for user in everybody)
    variables = "\n".join(f"#   {user.password_variable}" for user in everybody)
    return (
        "# Each password is read from the environment of nats-server: letters and digits, a letter first.\n"
        f"{variables}\n"
        f"authorization {{\n  users = [\n{blocks}\n  ]\n}}\n"
    )


def _block(user: User) -> str:
    return (
        f"    {{\n      user: {user.name}\n      password: ${user.password_variable}\n"
        f"      permissions: {{\n        publish: {{ allow: {_listed(user.publish)} }}\n"
        f"        subscribe: {{ allow: {_listed(user.subscribe)} }}\n      }}\n    }}"
    )


def _listed(items: Iterable[str]) -> str:
    return "[\n" + "".join(f"          {json.dumps(item)}\n" for item in items) + "        ]"


def _looks() -> list[str]:
    """Seeing that streams and consumers are as declared: every service does at its start."""
    names = [stream.name for stream in subjects.STREAMS]
    return [
        *(f"{_API}.STREAM.INFO.{name}" for name in names),
        *(f"{_API}.CONSUMER.INFO.{name}.*" for name in names),
        f"{_API}.CONSUMER.NAMES.{subjects.TURNS_STREAM.name}",
    ]


def _reads(consumer: Consumer) -> list[str]:
    if consumer.stream != subjects.TURNS_STREAM.name:
        name = f"{consumer.stream}.{consumer.name}"
        return [f"{_API}.CONSUMER.MSG.NEXT.{name}", f"$JS.ACK.{name}.>"]
    parts = f"{consumer.stream}.*"  # this stream has one reader, and its work may be split into any number of consumers
    return [
        f"{_API}.CONSUMER.MSG.NEXT.{parts}",
        f"$JS.ACK.{parts}.>",
        f"{_API}.CONSUMER.UNPIN.{parts}",
        f"{_API}.STREAM.PURGE.{consumer.stream}",
    ]


def _takes_out(stream: Stream) -> list[str]:
    """Reading single messages of a stream and overwriting them."""
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
