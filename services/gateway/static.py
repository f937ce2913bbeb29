"""The page of memorybus: a few files, served as they are, that may run and load nothing but each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faststream.asgi import AsgiResponse, get

from services.shared.site import POLICY as NOTHING
from services.shared.site import Route

FOLDER = Path(__file__).parent / "page"

POLICY = (
    f"{NOTHING}; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Only files of this server, none of it inline; the browser stops a script that makes text into elements."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def routes() -> list[Route]:
    """The page at `/`, and its files below `/page/`."""
    files = [(f"/page/{path.name}", _file(path)) for path in sorted(FOLDER.iterdir()) if path.suffix in _TYPES]
    return [("/", _file(FOLDER / "index.html")), *files]


def _file(path: Path) -> Any:
    body, headers = path.read_bytes(), {"content-type": _TYPES[path.suffix], "content-security-policy": POLICY}

    @get(include_in_schema=False)
    async def show(scope: Any) -> AsgiResponse:
        return AsgiResponse(body, 200, headers)

    return show
