"""What contradicts each other is asked about on the page, and settled by one button."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import Visitor
from tests.page.test_accessibility import findings

HUBER, HOFER = "My landlord is called Huber", "My landlord is now called Hofer"
NOTED = "Noted, I shall not tell"


def contradicted(visitor: Visitor) -> None:
    older = visitor.add(HUBER)
    visitor.contradict(visitor.add(HOFER), older)


def answer(page: Page, side: str) -> None:
    """Press Enter on a side, once the question has stood for long enough to be read."""
    button = the_question(page).get_by_role("button", name=side)
    expect(button).to_be_visible()
    page.clock.run_for(700)
    button.press("Enter")


def conflicts(visitor: Visitor) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = visitor.http.get("/v1/memory/conflicts").json()["items"]
    return items


def the_question(page: Page) -> Locator:
    return page.get_by_role("region", name="A question about what you said")


def test_a_question_is_settled_and_goes_and_comes_back_when_its_answer_is_taken_back(visitor: Visitor) -> None:
    contradicted(visitor)
    page = visitor.open_with_a_clock_of_its_own()
    for side, left in (("The newer one", {HOFER}), ("The older one", {HUBER}), ("Both", {HUBER, HOFER})):
        for said in (HUBER, HOFER, "The other one is kept aside"):
            expect(the_question(page)).to_contain_text(said)
        answer(page, side)
        expect(the_question(page)).to_have_count(0)
        expect(page.get_by_role("searchbox")).to_be_focused()
        assert conflicts(visitor) == []
        visitor.listed(len(left))
        assert {*visitor.texts()} == left
        page.get_by_role("button", name="Undo").last.click()
    expect(the_question(page)).to_contain_text(HOFER)
    visitor.listed(2)
    assert {*visitor.texts()} == {HUBER, HOFER}


def test_a_double_click_decides_one_question(visitor: Visitor) -> None:
    older = visitor.add("My dentist is called Maria")
    visitor.contradict(visitor.add("My dentist is now called Ana"), older)
    contradicted(visitor)
    assert len(conflicts(visitor)) == 2
    page = visitor.open_with_a_clock_of_its_own()
    expect(the_question(page)).to_contain_text("and 1 more question")
    answer(page, "Both")
    expect(the_question(page)).to_be_focused()
    the_question(page).get_by_role("button", name="Both").press("Enter")
    page.clock.run_for(100)
    assert sum(url.endswith("/resolve") for url in visitor.requests) == 1
    assert len(conflicts(visitor)) == 1


def test_what_was_superseded_is_shown_and_taken_back_on_both_sides(visitor: Visitor) -> None:
    contradicted(visitor)
    newer, older = (conflicts(visitor)[0][side]["id"] for side in ("newer", "older"))
    decided = {"newer": newer, "older": older, "keep": "new"}
    for opened, link in ((newer, HUBER), (older, "something newer")):
        visitor.http.post("/v1/memory/conflicts/resolve", json=decided).raise_for_status()
        page = visitor.open(f"memory/{opened}")
        page.reload()
        visitor.listed(1)
        detail = page.get_by_role("region", name="Memory", exact=True)
        expect(detail.get_by_role("link", name=link)).to_be_visible()
        expect(detail.get_by_text("by meaning")).to_have_count(int(opened == newer))
        assert findings(page) == []
        detail.get_by_role("button", name=f"Still true: {HUBER}").press("Enter")
        visitor.listed(2)
        expect(detail.get_by_role("button", name="Still true")).to_have_count(0)
        assert {*visitor.texts()} == {HUBER, HOFER}


@pytest.mark.parametrize("visitor", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_nothing_is_found_by_axe_while_it_asks(visitor: Visitor) -> None:
    contradicted(visitor)
    page = visitor.open()
    expect(the_question(page)).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_conflict_nothing_is_asked(visitor: Visitor) -> None:
    visitor.add(HUBER)
    page = visitor.open()
    expect(page.locator(".memory")).to_have_count(1)
    expect(the_question(page)).to_have_count(0)


@pytest.mark.parametrize(("side", "left"), [("Forget it now", set[str]()), ("Keep it", {HUBER, NOTED})])
def test_what_is_set_aside_is_asked_about_with_its_answers(visitor: Visitor, side: str, left: set[str]) -> None:
    visitor.set_aside(visitor.add(HUBER), visitor.add(NOTED))
    page = visitor.open_with_a_clock_of_its_own()
    expect(the_question(page)).to_contain_text(HUBER)
    expect(the_question(page)).to_contain_text(NOTED)
    expect(the_question(page)).to_contain_text("You seem not to want it kept")
    answer(page, side)
    expect(the_question(page)).to_have_count(0)
    expect(page.locator(".memory")).to_have_count(len(left))
    assert {*visitor.texts()} == left
    assert visitor.complaints == []


def test_what_is_set_aside_is_kept_where_it_is_shown(visitor: Visitor) -> None:
    entry = visitor.add(HUBER)
    visitor.set_aside(entry)
    page = visitor.open(f"memory/{entry['id']}")
    page.get_by_role("button", name="Keep it", exact=True).last.click()
    expect(page.locator(".memory")).to_have_count(1)
    assert visitor.texts() == [HUBER]
