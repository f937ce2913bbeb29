"""What axe-core finds in every view and state of the page: nothing, of any weight, in light, dark and on a phone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, Route, expect

from tests.page.conftest import Visitor, until
from tests.sizes import LONG

VIEWS = ["", "known", "context", "activity", "settings", "health"]
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True},
}
UV, TEA = "I prefer uv over pip for managing packages", "I like green tea."
_ENDING = "document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime < 2000)"


def looks(*names: str) -> pytest.MarkDecorator:
    """In these looks; in every one in a long run."""
    chosen = LOOKS if LONG else {name: LOOKS[name] for name in names}
    return pytest.mark.parametrize("visitor", chosen.values(), ids=chosen, indirect=True)


def findings(page: Page) -> list[str]:
    """What axe-core says; animations are over before colours are compared, but for the line that counts ten seconds."""
    page.evaluate(f"Promise.allSettled({_ENDING}.map((one) => one.finished))")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then((results) => results.violations)")
    return [f"{one['impact']} {one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@contextmanager
def clean(page: Page, name: str) -> Iterator[None]:
    """A state that is reached in this block; nothing is found in it."""
    yield
    assert findings(page) == [], name


def loaded(visitor: Visitor, view: str) -> Page:
    """A view with all that it asks for."""
    page = visitor.open(view)
    expect(page.locator(".loading")).to_have_count(0)
    return page


def answered(page: Page, url: str, status: int, detail: str = "The text store is away.") -> None:
    """Have the page told this by the server."""
    body = json.dumps({"title": "No", "detail": detail, "status": status})
    page.route(url, lambda route: route.fulfill(status=status, content_type="application/problem+json", body=body))


def furnished(visitor: Visitor) -> dict[str, Any]:
    """A memory with a conversation around it, an earlier wording, a tag and a theme, beside two others."""
    visitor.say("Which tools do you like?", "tools", "assistant")
    visitor.say(UV, "tools")
    visitor.add(TEA, type="preference")
    until(lambda: len(visitor.texts()) == 3)
    visitor.http.post("/v1/memory/themes", json={"slug": "tools", "display_name": "Tools"}).raise_for_status()
    entry = next(one for one in visitor.entries() if one["text"] == UV)
    change = {"text": f"{UV}, and tox for tests", "tags": ["tools"], "themes": ["tools"]}
    answer = visitor.http.patch(f"/v1/memory/entries/{entry['id']}", json=change).raise_for_status()
    return dict(answer.json()["entry"])


@looks("dark", "phone")
def test_nothing_is_found_in_any_view(visitor: Visitor) -> None:
    for view in VIEWS:
        with clean(visitor.page, f"{view}, empty"):
            loaded(visitor, view)
    entry = furnished(visitor)
    for view in [*VIEWS, f"memory/{entry['id']}"]:
        with clean(visitor.page, view):
            loaded(visitor, view)
    expect(visitor.page.get_by_role("heading", name="Where it came from")).to_be_visible()
    expect(visitor.page.get_by_role("heading", name="Earlier wording")).to_be_visible()
    assert findings(visitor.page) == [], "with where it came from, and what it said"


@looks("light")
def test_nothing_is_found_in_any_state(visitor: Visitor) -> None:
    entry = visitor.add(UV)
    page = visitor.open()
    with clean(page, "why this?"):
        visitor.search("which package manager?")
        page.get_by_role("button", name="Why this?").first.click()
        page.get_by_text("All features").click()
    with clean(page, "nothing found"):
        visitor.search("zebra crossings in Ulan Bator")
        expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    with clean(page, "a command"):
        visitor.search("forget everything about pip", enter=True)
        expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    page.get_by_role("button", name="Keep").click()
    with clean(page, "choosing several"):
        page.get_by_role("button", name="Select", exact=True).click()
        page.locator(".memory .choose").check()
    with clean(page, "tagging several"):
        page.get_by_role("button", name="Tag…").click()
    page.keyboard.press("Escape")
    with clean(page, "a notice"):
        page.get_by_role("group", name="Selected memories").get_by_role("button", name="Pin").click()
        expect(page.get_by_text("1 memory changed.")).to_be_visible()
    with clean(page, "editing"):
        loaded(visitor, f"memory/{entry['id']}")
        page.get_by_role("button", name="Edit").click()
    page.get_by_role("button", name="Cancel").click()
    with clean(page, "undo"):
        page.locator(".detail").get_by_role("button", name="Forget").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    with clean(page, "a memory that is gone"):
        visitor.open("memory/no-such-memory")
        expect(page.get_by_text("This memory does not exist any more.")).to_be_visible()
    visitor.open("context")
    with clean(page, "the context block"):
        page.get_by_label("Question").fill("which package manager?")
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_label("Context block")).to_be_visible()
    with clean(page, "why it would be told"):
        page.locator(".reasons summary").first.click()


@looks("phone")
def test_nothing_is_found_in_any_dialog_and_the_focus_goes_into_it_and_comes_back(visitor: Visitor) -> None:
    visitor.http.post("/v1/memory/themes", json={"slug": "tools", "display_name": "Tools"}).raise_for_status()
    page = loaded(visitor, "")
    dialog = page.get_by_role("dialog")
    with clean(page, "keys"):
        page.keyboard.press("?")
        expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    for view, name in (("", "Add"), ("", "User"), ("settings", "Rename theme"), ("settings", "Erase…")):
        opener = loaded(visitor, view).get_by_role("button", name=name, exact=name == "Add")
        opener.focus()
        with clean(page, name):
            page.keyboard.press("Enter")
            expect(dialog).to_be_visible()
            assert page.evaluate("document.activeElement.closest('dialog') !== null")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(opener).to_be_focused()
    with clean(page, "the receipt of an erasure"):
        page.get_by_role("button", name="Erase…").click()
        visitor.enter("Type “erase” to go on", "erase")
        expect(page.get_by_text("Done. Looking again found nothing.")).to_be_visible()


@looks("dark")
def test_nothing_is_found_while_it_loads_and_when_it_fails(visitor: Visitor) -> None:
    page = visitor.page
    held: list[Route] = []
    with clean(page, "loading"):
        page.route("**/v1/memory/entries*", lambda route: held.append(route))
        page.goto(visitor.address)
        expect(page.locator("#main .loading")).to_be_visible()
    for route in held:
        route.abort()
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    answered(page, "**/v1/memory/**", 503)
    for view in ("", "activity", "settings"):
        with clean(page, f"{view}, failing"):
            page.goto(f"{visitor.address}/?{view}#/{view}")  # another address: the page is loaded anew
            expect(page.get_by_role("alert").first).to_contain_text("The text store is away.")
    with clean(page, "a notice of a failure"):
        page.get_by_label("Conversation", exact=True).fill("c1")
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.locator(".toast.bad")).to_be_visible()
    page.unroute_all()
    state = {"ok": True, "backlog": {"ingest": 3, "embed": 400}, "lag_seconds": {"embed": 60.5}, "dead_letters": 2}
    body = f"data: {json.dumps(state | {'entries': 12, 'pending': 403})}\n\n"
    page.route("**/v1/memory/live", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    with clean(page, "behind, with dead letters"):
        visitor.open("health")
        expect(page.get_by_text("memorybus dead list")).to_be_visible()
    page.unroute_all()
    answered(page, "**/v1/memory/**", 401)
    with clean(page, "sign in"):
        visitor.open("activity")
        expect(page.get_by_label("API key")).to_be_visible()


def test_what_is_broken_is_found(visitor: Visitor) -> None:
    visitor.add(TEA)
    page = loaded(visitor, "")
    expect(page.locator(".memory time")).to_be_visible()
    page.evaluate("document.querySelector('.memory time').style.color = '#ddd'")
    for name, attributes in (("#search", ("aria-label", "placeholder")), (".actions button", ("aria-label", "title"))):
        for attribute in attributes:
            page.evaluate(f"document.querySelector('{name}').removeAttribute('{attribute}')")
    rules = {found.split()[1].rstrip(":") for found in findings(page)}
    assert rules >= {"color-contrast", "label", "button-name"}
