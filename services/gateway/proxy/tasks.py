"""Whether a request is a task that a front end sets the model by itself, as its client says or as it looks."""

from __future__ import annotations

from collections.abc import Sequence

from services.gateway.callers import is_unfilled
from services.gateway.proxy.dialects import Asked
from services.gateway.proxy.dialects.content import (
    Json,
    form_of,
    has_to_call,
    items,
    member,
    role_of,
    string,
    text_of,
)
from services.shared.privacy.front_ends import Request, sets_task
from services.shared.privacy.wrappers import spoken_by

_NO_TASK = frozenset({"false", "no", "off", "0", "none", "chat"})
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MADE = "_generation"
"""How the names of the tasks end that Open WebUI gives them."""

_LONGEST_SYSTEM = 4096


def is_task(asked: Asked, told: str | bool | None, heard: Sequence[str]) -> bool:
    """Whether nobody said what is asked; `told` is what a header says of it, `heard` what was said lately."""
    for said in (asked.wishes.memory_task, told, _in_metadata(asked.stripped)):
        word = str(said).strip().lower() if said is not None else ""
        if word in _NO_TASK or not is_unfilled(word):
            return word not in _NO_TASK
    return sets_task(_request(asked, heard))


def _in_metadata(body: Json) -> str | None:
    task = string(member(body, "metadata", "task"))
    return task if task.endswith(_MADE) else None


def _request(asked: Asked, heard: Sequence[str]) -> Request:
    body = asked.stripped
    system = "\n".join(said.text[:_LONGEST_SYSTEM] for said in asked.history if said.role == "system")
    limits = [limit for limit in (member(body, name) for name in _LIMITS) if type(limit) is int and limit > 0]
    typed = (_as_typed(member(one, "content")) for one in reversed(asked.messages) if role_of(one) == "user")
    return Request(
        text=next(filter(None, typed), ""),
        system=system,
        before=[text for _, text in asked.unanswered],
        heard=() if any(said.role == "assistant" for said in asked.history) else heard,
        most_tokens=min(limits, default=None),
        fields=_fields(body),
        has_tools=bool(items(member(body, "tools"))),
    )


def _as_typed(content: Json) -> str:
    """A text with all that a program put around what was typed, but for parts of its own beside it, which tell what
    happened."""
    said = [part for part in items(content) if (text := text_of([part])) and spoken_by("user", text)]
    return text_of(said or content)


def _fields(body: Json) -> frozenset[str]:
    """The names of the fields that the answer has to have, by its format or as the arguments of the only tool."""
    form, tools = form_of(body), items(member(body, "tools"))
    tool = tools[0] if len(tools) == 1 and has_to_call(body) else None
    called = member(tool, "function") or tool
    schemas = (
        member(form, "json_schema", "schema") or member(form, "schema"),
        member(called, "parameters") or member(called, "input_schema"),
    )
    properties = (member(schema, "properties") for schema in schemas)
    return frozenset(name for one in properties if isinstance(one, dict) for name in one)
