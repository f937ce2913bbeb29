"""What contradicts each other is asked about on the page, and settled by one button."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Visitor, until
from tests.page.test_accessibility import findings

HUBER, HOFER = "My landlord is called Huber", "My landlord is now called Hofer"


def contradicted(visitor: Visitor) -> Page:
    """Two saved statements, the newer one with a cue: saved ones are not superseded but asked about."""
    visitor.add(HUBER)
    visitor.add(HOFER)
    until(lambda: bool(conflicts(visitor)))
    return visitor.open()


def conflicts(visitor: Visitor) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = visitor.http.get("/v1/memory/conflicts").json()["items"]
    return items


def the_question(page: Page) -> Locator:
    return page.get_by_role("region", name="A question about what you said")


@pytest.mark.parametrize(
    ("side", "left"), [("The newer one", {HOFER}), ("The older one", {HUBER}), ("Both", {HUBER, HOFER})]
)
def test_a_question_is_settled_and_goes(visitor: Visitor, side: str, left: set[str]) -> None:
    page = contradicted(visitor)
    expect(the_question(page)).to_contain_text(HUBER)
    expect(the_question(page)).to_contain_text(HOFER)
    the_question(page).get_by_role("button", name=side).press("Enter")
    expect(the_question(page)).to_have_count(0)
    expect(page.get_by_role("searchbox")).to_be_focused()
    assert conflicts(visitor) == []
    expect(page.locator(".memory")).to_have_count(len(left))
    assert {*visitor.texts()} == left


@pytest.mark.parametrize("visitor", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_nothing_is_found_by_axe_while_it_asks(visitor: Visitor) -> None:
    page = contradicted(visitor)
    expect(the_question(page)).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_conflict_nothing_is_asked(visitor: Visitor) -> None:
    visitor.add(HUBER)
    page = visitor.open()
    expect(page.locator(".memory")).to_have_count(1)
    expect(the_question(page)).to_have_count(0)
