"""Memory over MCP: tools, resources and a prompt, for whatever transport the SDK serves."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from contracts import flow
from services.gateway import mcp_tools
from services.gateway.mcp_tools import TOOLS, Ask, Tool
from services.gateway.problems import EXPECTED, problem_of

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]

_THEMES = "memory://themes"
_ENTRIES = "memory://entries"
_PROMPT = "memory"
_JSON = "application/json"
_MOST_NAMED = 200  # characters of arguments that there are not


def server(ask_of: Callable[[Context], Ask]) -> Server[Any]:
    """A server; `ask_of` is whom it asks for a request, for the user behind that request."""

    async def list_tools(_: Context, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def call_tool(context: Context, call: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return await _called(TOOLS[call.name], ask_of(context), call.arguments or {})
        except Exception as error:
            return types.CallToolResult(content=[_text(_why(error, call.name))], is_error=True)

    async def list_resources(context: Context, _: object) -> types.ListResourcesResult:
        themes = await _or_protocol_error(mcp_tools.themes_of(ask_of(context)))
        listed = [types.Resource(uri=_THEMES, name="themes", description="Every theme.", mime_type=_JSON)]
        listed += [
            types.Resource(uri=f"{_THEMES}/{quote(one.slug, safe='')}", name=one.slug, mime_type=_JSON)
            for one in themes[:100]
        ]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(_: Context, __: object) -> types.ListResourceTemplatesResult:
        entry = types.ResourceTemplate(uri_template=f"{_ENTRIES}/{{id}}", name="entry", mime_type=_JSON)
        theme = types.ResourceTemplate(uri_template=f"{_THEMES}/{{slug}}", name="theme", mime_type=_JSON)
        return types.ListResourceTemplatesResult(resource_templates=[entry, theme])

    async def read_resource(context: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        text = await _or_protocol_error(_resource(ask_of(context), str(asked.uri)))
        content = types.TextResourceContents(uri=asked.uri, mime_type=_JSON, text=text)
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(_: Context, __: object) -> types.ListPromptsResult:
        about = "How to use the memory of this user, and what themes there are."
        return types.ListPromptsResult(prompts=[types.Prompt(name=_PROMPT, description=about)])

    async def get_prompt(context: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        if asked.name != _PROMPT:
            raise MCPError(types.INVALID_PARAMS, f"there is one prompt: {_PROMPT}")
        told = _text(await _or_protocol_error(mcp_tools.contract(ask_of(context))))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=told)])

    return Server(
        "memorybus",
        version=version("memorybus"),
        instructions="Long-term memory of the user: search it whenever what they said before may matter.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _described(tool: Tool) -> types.Tool:
    effect = types.ToolAnnotations(
        read_only_hint=tool.effect == "reads",
        destructive_hint=tool.effect == "destroys",
        idempotent_hint=True,
        open_world_hint=False,
    )
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=effect,
    )


async def _called(tool: Tool, ask: Ask, given: dict[str, Any]) -> types.CallToolResult:
    result = await tool.run(ask, tool.arguments.model_validate(given))
    structured = result.model_dump(mode="json")
    content = [_text(json.dumps(structured, ensure_ascii=False))]
    if unknown := tool.arguments.unknown(given):
        content.append(_text(f"{tool.name} has no argument {', '.join(unknown)[:_MOST_NAMED]}: it was left out"))
    return types.CallToolResult(content=content, structured_content=structured)


async def _resource(ask: Ask, uri: str) -> str:
    kind, _, name = uri.rpartition("/")
    if uri == _THEMES:
        return json.dumps([one.model_dump(mode="json") for one in await mcp_tools.themes_of(ask)], ensure_ascii=False)
    if name and kind == _THEMES:
        return await mcp_tools.theme_page(ask, unquote(name))
    if name and kind == _ENTRIES:
        return (await ask(flow.GET, id=unquote(name))).entry.model_dump_json()
    raise MCPError(types.INVALID_PARAMS, f"there is no such resource: {_THEMES}, {_THEMES}/SLUG and {_ENTRIES}/ID are")


async def _or_protocol_error(work: Any) -> Any:
    """The outcome; what is a tool error elsewhere has only the protocol to be told by here."""
    try:
        return await work
    except MCPError:
        raise
    except Exception as error:
        raise MCPError(types.INVALID_PARAMS, _why(error, "resource")) from None


def _why(error: Exception, name: str) -> str:
    """What went wrong and what to do, without what was in the arguments."""
    if isinstance(error, KeyError) and name not in TOOLS:
        return f"there is no such tool: there are {', '.join(TOOLS)}"
    if not isinstance(error, EXPECTED):
        log.exception("mcp_failed", extra={"tool": name})
    problem = problem_of(error)
    return f"{problem.code}: {problem.detail}"


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)
