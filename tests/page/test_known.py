"""What is known is shown on the page, and decided there: what was done, and which names are of one person."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visitor, until
from tests.page.test_accessibility import findings, loaded

PASSPORT = "I need to renew my passport by 12 March"


def told(visitor: Visitor) -> Page:
    for text in (PASSPORT, "I have to buy stamps"):
        visitor.task(visitor.add(text))
    visitor.claim(visitor.add("José lives in Oslo"), "Oslo", "home", whose="José", sure=0.9)
    visitor.claim(visitor.add("Jose sings at Zara"), "Zara", "employer", whose="Jose", sure=0.9)
    until(lambda: len(visitor.texts()) == 4)
    return loaded(visitor, "known")


def test_what_is_to_be_done_is_settled_on_the_page(visitor: Visitor) -> None:
    page = told(visitor)
    todo = page.get_by_role("region", name="To do")
    expect(todo.get_by_role("listitem")).to_have_count(2)
    expect(todo).to_contain_text("due 12 March")
    done = todo.get_by_role("button", name=f"Done: {PASSPORT}")
    done.press("Enter")
    expect(todo.get_by_role("listitem")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(todo.get_by_role("listitem")).to_have_count(2)
    done.press("Enter")
    expect(todo.get_by_role("listitem")).to_have_count(1)
    expect(todo.get_by_role("button").first).to_be_focused()
    todo.get_by_role("button", name="Drop: I have to buy stamps").click()
    expect(todo).to_contain_text("Nothing that you still have to do")
    states = {one["state"] for one in visitor.http.get("/v1/memory/loops", params={"state": "done"}).json()["items"]}
    assert states == {"done"}


def test_what_is_being_forgotten_is_not_known_any_more(visitor: Visitor) -> None:
    page = told(visitor)
    facts, todo = page.get_by_role("region", name="Facts"), page.get_by_role("region", name="To do")
    expect(facts).to_contain_text("Oslo")
    for text in ("José lives in Oslo", PASSPORT):
        visitor.open()
        page.get_by_role("link", name=text).focus()
        page.keyboard.press("Delete")
        visitor.open("known")
    expect(todo.get_by_role("listitem")).to_have_count(1)
    expect(facts.get_by_role("listitem").first).to_be_visible()
    expect(facts).not_to_contain_text("Oslo")
    page.get_by_role("button", name="Undo").last.click()
    expect(todo.get_by_role("listitem")).to_have_count(2)


def test_older_sessions_are_shown(visitor: Visitor) -> None:
    for day in (1, 2):
        visitor.say(f"I ran {day} miles.", f"c{day}", created_at=f"2026-02-0{day}T10:00:00Z")
    until(lambda: len(visitor.texts()) == 2)
    page = visitor.page
    page.route(
        "**/sessions*",
        lambda route: route.continue_(url=f"{route.request.url}&limit=1".replace("sessions&", "sessions?")),
    )
    sessions = loaded(visitor, "known").get_by_role("region", name="Sessions")
    expect(sessions.locator("summary")).to_have_count(1)
    sessions.get_by_role("button", name="Show older").press("Enter")
    expect(sessions.locator("summary")).to_have_count(2)
    expect(sessions.locator("summary").last).to_be_focused()
    expect(sessions.get_by_role("button", name="Show older")).to_be_hidden()


def test_names_are_decided_about_on_the_page(visitor: Visitor) -> None:
    page = told(visitor)
    people = page.get_by_role("region", name="People and projects")
    expect(people).to_contain_text("also José")
    visitor.http.post("/v1/memory/cards/names", json={"one": "Jose", "other": "José", "same": False}).raise_for_status()
    page.reload()
    people.get_by_role("button", name="Leave it open: Jose and José").click()
    expect(people).to_contain_text("also José")
    expect(people.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize("visitor", [{}, {"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_what_is_likely_is_asked_about_and_decided_by_one_button(visitor: Visitor) -> None:
    porto, pears = "Thinking about it, Porto feels right.", "Pears again for lunch."
    visitor.claim(visitor.add(porto), "Porto", "home")
    visitor.claim(visitor.add(pears), "Pears", "like")
    page = loaded(visitor, "known")
    facts = page.get_by_role("region", name="Facts")
    asked = facts.get_by_role("group", name="Is this so?")
    expect(asked.get_by_role("listitem")).to_have_count(2)
    expect(asked).to_contain_text(porto)
    assert findings(page) == []

    asked.get_by_role("button", name="Yes: home: Porto").press("Enter")
    expect(facts).to_contain_text("as you said")
    expect(asked.get_by_role("listitem")).to_have_count(1)
    expect(facts.get_by_role("button").first).to_be_focused()
    asked.get_by_role("button", name="No: like: Pears").click()
    expect(asked).to_have_count(0)
    expect(facts).not_to_contain_text("Pears")
    assert findings(page) == []
    page.get_by_role("button", name="Undo").last.click()
    expect(asked).to_contain_text("like: Pears")

    facts.get_by_role("button", name="Not so: home: Porto").click()
    expect(facts).not_to_contain_text("Porto")
    page.get_by_role("button", name="Undo").last.click()
    expect(facts).to_contain_text("as you said")


@pytest.mark.parametrize("visitor", [{}, {"viewport": {"width": 390, "height": 844}}], indirect=True)
def test_facts_and_sessions_have_their_row_and_lead_to_where_they_are_from(visitor: Visitor) -> None:
    page = told(visitor)
    wide = "(rows) => rows.map((row) => row.firstElementChild.offsetWidth / row.offsetWidth)"
    shares = page.locator(".known .log li").evaluate_all(wide)
    assert len(shares) > 4
    assert min(shares) > 0.5
    expect(page.get_by_role("region", name="Facts")).to_contain_text("José lives in Oslo")
    sessions = page.get_by_role("region", name="Sessions")
    sessions.locator("summary").first.click()
    expect(sessions.get_by_text("What mattered").first).to_be_visible()
    assert findings(page) == []
    sessions.get_by_role("link").first.click()
    expect(page.locator(".detail")).to_be_visible()
