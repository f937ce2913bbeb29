"""Pictures of the page for the README, of a person who does not exist: `.venv/bin/python -m tests.page.screens`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Page, ViewportSize, sync_playwright

from tests.page import person
from tests.page.serving import chromium, memorybus

FOLDER = Path(__file__).parent / "screens"
MOST_BYTES = 120_000
_DESK: ViewportSize = {"width": 1200, "height": 750}
_PHONE: ViewportSize = {"width": 390, "height": 750}


def main() -> None:
    """Start a memorybus, live two weeks, and take the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, memorybus(Path(folder)) as served, sync_playwright() as playwright:
        with httpx.Client(base_url=served.http, headers={"Memory-User": person.USER}, verify=False, timeout=30) as http:
            person.live(http)
        with playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"]) as browser:
            for show, size, dark in ((memories, _DESK, False), (why, _DESK, True), (phone, _PHONE, False)):
                page = browser.new_page(
                    viewport=size, color_scheme="dark" if dark else "light", reduced_motion="reduce"
                )
                page.add_init_script(f"localStorage.setItem('memory-user', '{person.USER}')")
                page.goto(served.http)
                page.wait_for_selector(".memory")
                show(page)
                page.screenshot(path=FOLDER / f"{show.__name__}.png")


def memories(page: Page) -> None:
    """The timeline, and one memory with where it came from."""
    page.get_by_role("link", name="I would like to grow tomatoes").click()
    page.wait_for_selector(".around li")


def why(page: Page) -> None:
    """A search, and why its best answer was found."""
    page.get_by_label("Search memories").fill("how do I like to travel?")
    page.get_by_role("button", name="Why this?").first.click()
    page.wait_for_selector(".why .measure")


def phone(page: Page) -> None:
    """Several memories being chosen."""
    page.get_by_role("button", name="Select", exact=True).click()
    for box in page.locator(".choose").all()[1:3]:
        box.check()


if __name__ == "__main__":
    main()
