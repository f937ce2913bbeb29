"""A memorybus and a Chromium for all tests of the page; every test is a user of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from contracts.v1.claims import Slot
from tests.claims import leave_change, leave_claim, leave_set_aside, leave_task
from tests.page.serving import Served, chromium, memorybus

_PATIENCE = 20_000  # milliseconds, for a machine that has much else to do
_DESK = {"width": 1280, "height": 800}


def until(holds: Callable[[], bool]) -> None:
    """Look again and again until it is so."""
    deadline = time.monotonic() + _PATIENCE / 1000
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium that ends with the file: while Playwright runs, its thread can run no other event loop."""
    if (path := chromium()) is None:
        pytest.skip("no Chromium: install chromium-headless-shell, or name one in MEMORYBUS_TEST_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A memorybus that runs until the tests have ended."""
    with memorybus(tmp_path_factory.mktemp("page")) as served:
        yield served


@dataclass
class Visitor:
    """A user with the page open in a browser of their own, and all that it asked for."""

    address: str
    bus: str
    file: Path
    user: str
    context: BrowserContext
    page: Page
    http: httpx.Client
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, view: str = "") -> Page:
        """The page at one of its views."""
        self.page.goto(f"{self.address}/#/{view}")
        self.page.wait_for_selector(f'#main[data-view="{"" if view.startswith("memory") else view}"]')
        return self.page

    def open_with_a_clock_of_its_own(self) -> Page:
        """The page in a time that passes only when a test says so, however busy the machine is."""
        self.page.clock.install()
        page = self.open()
        page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
        return page

    def add(self, text: str, **fields: Any) -> dict[str, Any]:
        """An entry, made without the page."""
        answer = self.http.post("/v1/memory/entries", json={"text": text, **fields})
        assert answer.status_code == 201, answer.text
        entry: dict[str, Any] = answer.json()["entry"]
        return entry

    def add_all(self, *texts: str) -> None:
        """Entries, the last one the newest."""
        for text in texts:
            self.add(text)

    def say(self, text: str, conversation: str = "c1", role: str = "user", **fields: Any) -> None:
        """A turn, published without the page."""
        turn = {"role": role, "text": text, "conversation_id": conversation, **fields}
        self.http.post("/v1/memory/turns", json=turn).raise_for_status()

    def entries(self) -> list[dict[str, Any]]:
        """What is remembered of the user."""
        items: list[dict[str, Any]] = self.http.get("/v1/memory/entries").json()["items"]
        return items

    def texts(self) -> list[str]:
        return [entry["text"] for entry in self.entries()]

    def search(self, words: str, *, enter: bool = False) -> None:
        """Type into the field that searches, and has commands."""
        self.page.get_by_label("Search memories").fill(words)
        if enter:
            self.page.keyboard.press("Enter")

    def enter(self, label: str, text: str, key: str = "Enter", *, exact: bool = False) -> None:
        """Type into a field and press a key."""
        self.page.get_by_label(label, exact=exact).fill(text)
        self.page.keyboard.press(key)

    def listed(self, count: int) -> None:
        """Wait until the page lists so many memories."""
        expect(self.page.locator(".memory")).to_have_count(count)

    def claim(self, entry: dict[str, Any], value: str, slot: Slot, *, whose: str = "", sure: float = 0.4) -> None:
        """Have an entry say, likely only if no more, that this is a value; once it was read, and so is left alone."""
        self._leave(entry, leave_claim(self.file, self.user, entry["id"], value, slot, whose=whose, sure=sure))

    def contradict(self, newer: dict[str, Any], older: dict[str, Any]) -> None:
        """Have two entries in conflict, once the newer was read."""
        self._leave(newer, leave_change(self.file, self.user, newer["id"], older["id"], in_conflict=True))

    def set_aside(self, *entries: dict[str, Any]) -> None:
        """Have entries out of use at one moment, until they are forgotten."""
        ids = [entry["id"] for entry in entries]
        for entry in entries[1:]:
            self._leave(entry, asyncio.sleep(0))
        self._leave(entries[0], leave_set_aside(self.file, self.user, ids))

    def task(self, entry: dict[str, Any]) -> None:
        """Have an entry say that it is to be done, once it was read."""
        self._leave(entry, leave_task(self.file, self.user, entry["id"]))

    def _leave(self, entry: dict[str, Any], leaving: Coroutine[Any, Any, None]) -> None:
        until(lambda: self.http.get(f"/v1/memory/entries/{entry['id']}").json()["entry"]["embedding_state"] == "ready")
        with ThreadPoolExecutor(1) as thread:  # a loop of its own: Playwright's runs in this one
            thread.submit(asyncio.run, leaving).result()


@pytest.fixture
def visitor(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Visitor]:
    """A visitor; `indirect` parameters are options of the browser, such as its size and colours."""
    options: dict[str, Any] = {"viewport": _DESK, **getattr(request, "param", {})}
    context = browser.new_context(**options)
    context.set_default_timeout(_PATIENCE)
    expect.set_options(timeout=_PATIENCE)
    user = f"visitor-{uuid4().hex[:12]}"
    context.add_init_script(
        f"if (origin !== 'null' && !localStorage.getItem('memory-user')) localStorage.setItem('memory-user', '{user}')"
    )
    with httpx.Client(
        base_url=served.http, headers={"Memory-User": user}, trust_env=False, verify=False, timeout=20
    ) as http:
        one = Visitor(served.http, served.nats, served.file, user, context, context.new_page(), http)
        context.on("request", lambda asked: one.requests.append(asked.url))
        context.on("weberror", lambda error: one.complaints.append(str(error.error)))
        context.on("console", lambda said: one.complaints.append(said.text) if said.type == "error" else None)
        yield one
        context.close()
    assert {urlsplit(url).netloc for url in one.requests if not url.startswith(("blob:", "data:"))} <= {
        urlsplit(served.http).netloc
    }, "no request leaves the host"
    assert [said for said in one.complaints if "Failed to load resource" not in said] == []
