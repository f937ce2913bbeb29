"""What axe-core finds in every view and state of the page: nothing, of any weight, in light, dark and on a phone."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.page.conftest import Visitor

VIEWS = ["", "context", "activity", "settings", "health"]
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True},
}


def findings(page: Page) -> list[str]:
    """What axe-core says; animations are over before colours are compared."""
    ending = "document.getAnimations().filter((one) => one.effect.getTiming().iterations !== Infinity)"
    page.evaluate(f"Promise.allSettled({ending}.map((one) => one.finished))")
    found = Axe().run(page).response["violations"]
    return [f"{one['impact']} {one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("visitor", LOOKS.values(), ids=LOOKS, indirect=True)
def test_nothing_is_found_in_any_view(visitor: Visitor) -> None:
    page = visitor.open()
    assert findings(page) == [], "empty"
    entry = visitor.add("I prefer uv over pip for managing packages", tags=["tools"], type="preference")
    for view in [*VIEWS, f"memory/{entry['id']}"]:
        page = visitor.open(view)
        page.wait_for_timeout(300)
        assert findings(page) == [], view


@pytest.mark.parametrize("visitor", LOOKS.values(), ids=LOOKS, indirect=True)
def test_nothing_is_found_in_any_state(visitor: Visitor) -> None:
    entry = visitor.add("I prefer uv over pip for managing packages")
    page = visitor.open()
    page.get_by_label("Search memories").fill("which package manager?")
    page.get_by_role("button", name="Why this?").first.click()
    page.get_by_text("All features").click()
    assert findings(page) == [], "why this?"
    page.get_by_label("Search memories").fill("zebra crossings in Ulan Bator")
    expect(page.get_by_role("heading", name="Nothing found")).to_be_visible()
    assert findings(page) == [], "nothing found"
    page.get_by_role("button", name="Add", exact=True).click()
    assert findings(page) == [], "adding"
    page.keyboard.press("Escape")
    page.get_by_label("Search memories").fill("forget everything about pip")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Confirm")).to_be_visible()
    assert findings(page) == [], "a command"
    visitor.open(f"memory/{entry['id']}")
    page.get_by_role("button", name="Edit").click()
    assert findings(page) == [], "editing"
    page.get_by_role("button", name="Cancel").click()
    visitor.open("context")
    page.get_by_label("Question").fill("which package manager?")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_label("Context block")).to_be_visible()
    assert findings(page) == [], "the context block"
    visitor.open(f"memory/{entry['id']}")
    page.locator(".detail").get_by_role("button", name="Forget").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert findings(page) == [], "undo"
