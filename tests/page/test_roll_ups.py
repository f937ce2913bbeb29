"""A roll-up on the page: what it was made of, where each line is from, and the way back."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.page.conftest import Visitor
from tests.page.test_accessibility import findings

SAID = ("Sourdough bread needs a long night.", "The sourdough starter is fed with rye.")


def test_each_line_leads_to_its_memory_and_that_one_back_until_it_is_undone(visitor: Visitor) -> None:
    for text in SAID:
        visitor.add(text, manually_saved=False)
    made = visitor.http.post("/v1/memory/rollups", json={"topic": "sourdough"}).raise_for_status().json()
    page = visitor.open(f"memory/{made['items'][0]['id']}")
    source = page.get_by_role("region", name="Rolled up from")
    expect(source).to_be_visible()
    visitor.listed(1)
    assert findings(page) == []
    source.get_by_role("link", name=SAID[1]).click()
    expect(page.locator(".said")).to_have_text(SAID[1])
    page.get_by_text("Rolled up into").locator("..").get_by_role("link").click()
    source.get_by_role("button", name="Undo").press("Enter")
    visitor.listed(2)
    assert {*visitor.texts()} == {*SAID}
