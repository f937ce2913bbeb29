"""Whether a request is a task that a front end sets the model by itself, as its client says or as it looks."""

from __future__ import annotations

from collections.abc import Sequence

from services.gateway.callers import is_unfilled
from services.gateway.proxy.dialects import Asked
from services.gateway.proxy.dialects.base import TEXT_KINDS, Json, items, member, role_of, string, text_of
from services.shared.privacy.front_ends import Request, sets_task
from services.shared.privacy.wrappers import spoken_by

_NO_TASK = frozenset({"false", "no", "off", "0", "none", "chat"})
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_MADE = "_generation"
"""How the names of the tasks end that Open WebUI gives them."""

_LONGEST_SYSTEM = 4096


def is_task(asked: Asked, told: str | None, heard: Sequence[str]) -> bool:
    """Whether nobody said what is asked; `told` is what a header says of it, `heard` what was said lately."""
    for said in (asked.memory_task, told, _in_metadata(asked.stripped)):
        word = said.strip().lower() if said is not None else ""
        if word in _NO_TASK or not is_unfilled(word):
            return word not in _NO_TASK
    return sets_task(_request(asked, heard))


def _in_metadata(body: Json) -> str | None:
    task = string(member(member(body, "metadata"), "task"))
    return task if task.endswith(_MADE) else None


def _request(asked: Asked, heard: Sequence[str]) -> Request:
    body = asked.stripped
    system = "\n".join(said.text[:_LONGEST_SYSTEM] for said in asked.history if said.role == "system")
    limits = [limit for limit in (member(body, name) for name in _LIMITS) if type(limit) is int and limit > 0]
    return Request(
        text=_as_sent(asked),
        system=system,
        before=[text for _, text in asked.unanswered],
        heard=() if any(said.role == "assistant" for said in asked.history) else heard,
        most_tokens=min(limits, default=None),
        fields=_fields(body),
        has_tools=bool(items(member(body, "tools"))),
    )


def _as_sent(asked: Asked) -> str:
    """The newest text in the place of the user with all that a program put around what was typed, but for parts of its
    own beside it, which tell what happened."""
    given = member(asked.stripped, "messages") or member(asked.stripped, "input")
    texts = (_as_typed(member(one, "content")) for one in reversed(items(given)) if role_of(one) == "user")
    return string(given) or next(filter(None, texts), "")


def _as_typed(content: Json) -> str:
    parts = [part for part in items(content) if text_of([part], TEXT_KINDS)]
    said = [part for part in parts if spoken_by("user", text_of([part], TEXT_KINDS))]
    return text_of(said or content, TEXT_KINDS)


def _fields(body: Json) -> frozenset[str]:
    """The names of the fields that the answer has to have, by its format or as the arguments of a tool."""
    formats = (
        member(member(member(body, "response_format"), "json_schema"), "schema"),
        member(member(member(body, "text"), "format"), "schema"),
        member(member(member(body, "output_config"), "format"), "schema"),
        member(member(body, "output_format"), "schema"),
        _of_tool(body) if asked_to_call(body) else None,
    )
    properties = (member(schema, "properties") for schema in formats)
    return frozenset(name for one in properties if isinstance(one, dict) for name in one)


def asked_to_call(body: Json) -> bool:
    """Whether the answer has to be the call of the only tool that there is."""
    choice = member(body, "tool_choice")
    return len(items(member(body, "tools"))) == 1 and (isinstance(choice, dict) or choice in ("required", "any"))


def _of_tool(body: Json) -> Json:
    tool = items(member(body, "tools"))[0]
    function = member(tool, "function") or tool
    return member(function, "parameters") or member(function, "input_schema")
