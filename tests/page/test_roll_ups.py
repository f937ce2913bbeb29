"""A roll-up on the page: what it was made of, where each line is from, and the way back."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.page.conftest import Visitor
from tests.page.test_accessibility import findings

SAID = ("Sourdough bread needs a long night.", "The sourdough starter is fed with rye.")


def rolled_up(visitor: Visitor) -> Page:
    for text in SAID:
        visitor.http.post("/v1/memory/entries", json={"text": text, "manually_saved": False}).raise_for_status()
    made = visitor.http.post("/v1/memory/rollups", json={"topic": "sourdough"}).raise_for_status().json()
    page = visitor.open(f"memory/{made['items'][0]['id']}")
    expect(page.get_by_role("region", name="Rolled up from")).to_be_visible()
    return page


def test_each_line_leads_to_its_memory_and_that_one_back(visitor: Visitor) -> None:
    page = rolled_up(visitor)
    assert findings(page) == []
    page.get_by_role("region", name="Rolled up from").get_by_role("link", name=SAID[1]).click()
    expect(page.locator(".said")).to_have_text(SAID[1])
    page.get_by_text("Rolled up into").locator("..").get_by_role("link").click()
    expect(page.get_by_role("region", name="Rolled up from")).to_be_visible()


def test_undone_its_memories_are_listed_again(visitor: Visitor) -> None:
    page = rolled_up(visitor)
    expect(page.locator(".memory")).to_have_count(1)
    page.get_by_role("region", name="Rolled up from").get_by_role("button", name="Undo").press("Enter")
    expect(page.locator(".memory")).to_have_count(2)
    assert {*visitor.texts()} == {*SAID}
