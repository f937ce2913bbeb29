"""Records what chat programs send to a model: drives each through what people do, and writes every request down.

python -m tests.gateway.proxy.recorded.record FOLDER [PROGRAM ...]

In FOLDER stand the programs, as `npm install` and `python -m venv` put them there (README.md); each runs with a home of
its own, in an invented project, against a model on loopback that says "Noted.". What they sent is in FOLDER/raw, as it
was but for credentials; it holds the words of their makers, so what is kept beside this file is reworded by hand.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from tests.gateway.proxy.backend import ModelServer, answer
from tests.gateway.proxy.recorded.open_webui import open_webui
from tests.gateway.proxy.recorded.stage import Stage

_GIT = ["git", "-c", "user.name=Sam", "-c", "user.email=sam@example.org"]


async def claude_code(stage: Stage) -> None:
    """Claude Code, asked from a script; its titles are made only in its own terminal."""
    claude = str(stage.root / "node_modules/.bin/claude")
    stage.extra |= {"ANTHROPIC_BASE_URL": stage.model.url.removesuffix("/v1"), "ANTHROPIC_API_KEY": "none"}
    stage.extra |= {"DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}
    await stage.run("first", claude, "-p", "My deploy server is called heron.")
    await stage.run("second", claude, "-p", "--continue", "What is my deploy server called?")
    await stage.run("compaction", claude, "-p", "--continue", "/compact")
    await stage.run("after-compaction", claude, "-p", "--continue", "My editor is Helix.")
    await stage.run("other-session", claude, "-p", "I take my coffee black. What does @app.py do?")
    await stage.run("tool", claude, "-p", "My desk is by the window. What is in app.py?")
    projects = {str(stage.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}
    known = json.loads((stage.home / ".claude.json").read_text())
    known |= {"hasCompletedOnboarding": True, "theme": "dark", "projects": projects}
    known |= {"customApiKeyResponses": {"approved": ["none"], "rejected": []}}
    stage.configure(".claude.json", json.dumps(known))
    stage.extra["TERM"] = "xterm-256color"
    await stage.type("terminal", claude, said="My sister Ida repairs clocks in Lund.")


async def codex(stage: Stage) -> None:
    """Codex, from a script; with a limit of some tokens it sums up by itself."""
    stage.configure(
        ".codex/config.toml",
        f'model = "m-1"\nmodel_provider = "here"\n[model_providers.here]\nname = "here"\n'
        f'base_url = "{stage.model.url}"\nenv_key = "MODEL_KEY"\nwire_api = "responses"\n',
    )
    stage.extra |= {"MODEL_KEY": "none"}
    run = [str(stage.root / "node_modules/.bin/codex"), "exec", "--skip-git-repo-check"]
    await stage.run("first", *run, "My staging database is called otter.")
    await stage.run("second", *run, "resume", "--last", "What is my staging database called?")
    few = ["-c", "model_auto_compact_token_limit=1000"]
    await stage.run("compaction", *run, *few, "resume", "--last", "My pager is on mute after ten.")
    await stage.run("other-session", *run, "I prefer tabs over spaces.")


async def opencode(stage: Stage) -> None:
    """opencode: `run` with what is said on its standard input, as an argument, and its server for a compaction."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": stage.model.url, "apiKey": "none"},
        "models": {"m-1": {"name": "m-1"}},
    }
    config = {"model": "here/m-1", "provider": {"here": provider}, "autoupdate": False, "share": "disabled"}
    stage.configure(".config/opencode/opencode.json", json.dumps(config))
    run = [str(stage.root / "node_modules/.bin/opencode"), "run"]
    await stage.run("first", *run, said="My bicycle is a green Brompton.")
    await stage.run("second", *run, "--continue", said="Which bicycle do I have?")
    await stage.run("other-session", *run, "I am allergic to walnuts.")
    await stage.run("file", *run, "--file", "app.py", "--", "I wrote this in May. What does it do?")
    await _opencode_served(stage)


async def _opencode_served(stage: Stage) -> None:
    stage.case = "compaction"
    command = [str(stage.root / "node_modules/.bin/opencode"), "serve", "--port", "18997"]
    server = await asyncio.create_subprocess_exec(*command, cwd=stage.project, env=stage.env)
    model = {"providerID": "here", "modelID": "m-1"}
    said = {"model": model, "parts": [{"type": "text", "text": "My tent is orange."}]}
    try:
        await asyncio.sleep(8)
        async with httpx.AsyncClient(base_url="http://127.0.0.1:18997", trust_env=False, timeout=60) as http:
            session = (await http.post("/session", json={})).json()["id"]
            await http.post(f"/session/{session}/message", json=said)
            await http.post(f"/session/{session}/summarize", json=model)
    finally:
        server.kill()
        await server.wait()


async def aider(stage: Stage) -> None:
    """aider in a repository: chats in two formats of edits, a question, the summary of a long chat, a commit."""
    stage.extra |= {"OPENAI_API_BASE": stage.model.url, "OPENAI_API_KEY": "none"}
    flags = "--model openai/m-1 --no-show-model-warnings --no-check-update --no-analytics --yes-always --no-pretty"
    run = [str(stage.root / "aider-venv/bin/aider"), *flags.split(), "--no-gitignore"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        await stage.run("", *_GIT, *command)
    await stage.run("first", *run, "--message", "I deploy on Fridays. Is there a test for greet?", "app.py")
    again = ["--restore-chat-history", "--message", "When do I deploy?"]
    await stage.run("second", *run, *again, "app.py", "--read", "AGENTS.md")
    (stage.project / ".aider.chat.history.md").unlink(missing_ok=True)
    diff = ["--edit-format", "diff", "--message", "My build machine is called wren."]
    await stage.run("other-session", *run, *diff, "app.py")
    await stage.run("ask", *run, "--edit-format", "ask", "--message", "I own two kayaks.")
    few = ["--max-chat-history-tokens", "8"]
    await stage.run("summary", *run, *few, "--restore-chat-history", "--message", "My shift ends at six.")
    (stage.project / "app.py").write_text('def greet():\n\treturn "hello, Ida"\n')
    stage.extra |= {"GIT_AUTHOR_NAME": "Sam", "GIT_AUTHOR_EMAIL": "sam@example.org"}
    stage.extra |= {"GIT_COMMITTER_NAME": "Sam", "GIT_COMMITTER_EMAIL": "sam@example.org"}
    await stage.run("commit", *run, "--commit")


PROGRAMS: dict[str, Callable[[Stage], Awaitable[None]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "aider": aider,
    "open-webui": open_webui,
}


async def main(folder: Path, programs: list[str]) -> None:
    """Drive the programs, one after another."""
    (folder / "raw").mkdir(exist_ok=True)
    for program in programs or PROGRAMS:
        model = ModelServer(lambda seen, writer: answer(writer, b"{}"))
        await model.start()
        stage = Stage(folder, program, model)
        model.script = stage.answer
        stage.prepare()
        await PROGRAMS[program](stage)
        await model.stop()
        print(f"{program}: {stage.written} requests")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:]))
