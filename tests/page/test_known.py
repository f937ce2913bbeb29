"""What is known is shown on the page, and decided there: what was done, and which names are of one person."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visitor, until
from tests.page.test_accessibility import findings, loaded

PASSPORT = "I need to renew my passport by 12 March"


def told(visitor: Visitor) -> Page:
    for text in (PASSPORT, "My sister Sarah lives in Oslo", "My sister Sara sings", "I have to buy stamps"):
        visitor.add(text)
    until(lambda: len(visitor.texts()) == 4)
    return loaded(visitor, "known")


def test_what_is_to_be_done_is_settled_on_the_page(visitor: Visitor) -> None:
    page = told(visitor)
    todo = page.get_by_role("region", name="To do")
    expect(todo.get_by_role("listitem")).to_have_count(2)
    expect(todo).to_contain_text("due 12 March")
    todo.get_by_role("button", name=f"Done: {PASSPORT}").press("Enter")
    expect(todo.get_by_role("listitem")).to_have_count(1)
    expect(todo.get_by_role("button").first).to_be_focused()
    todo.get_by_role("button", name="Drop: I have to buy stamps").click()
    expect(todo).to_contain_text("Nothing that you promised")
    states = {one["state"] for one in visitor.http.get("/v1/memory/loops", params={"state": "done"}).json()["items"]}
    assert states == {"done"}


@pytest.mark.parametrize("visitor", [{}, {"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_what_is_known_takes_its_row(visitor: Visitor) -> None:
    page = told(visitor)
    wide = "(rows) => rows.map((row) => row.firstElementChild.offsetWidth / row.offsetWidth)"
    shares = page.locator(".known .log li").evaluate_all(wide)
    assert len(shares) > 4
    assert min(shares) > 0.5


def test_names_are_decided_about_on_the_page(visitor: Visitor) -> None:
    page = told(visitor)
    people = page.get_by_role("region", name="People and projects")
    expect(people).to_contain_text("also Sara")
    visitor.http.post(
        "/v1/memory/cards/names", json={"one": "Sara", "other": "Sarah", "same": False}
    ).raise_for_status()
    page.reload()
    people.get_by_role("button", name="Leave it open: Sara and Sarah").click()
    expect(people).to_contain_text("also Sara")
    expect(people.get_by_role("button")).to_have_count(0)


def test_facts_and_sessions_lead_to_where_they_are_from(visitor: Visitor) -> None:
    page = told(visitor)
    expect(page.get_by_role("region", name="Facts")).to_contain_text("Sarah is their sister")
    sessions = page.get_by_role("region", name="Sessions")
    sessions.locator("summary").first.click()
    expect(sessions.get_by_text("What mattered").first).to_be_visible()
    assert findings(page) == []
    sessions.get_by_role("link").first.click()
    expect(page.locator(".detail")).to_be_visible()
