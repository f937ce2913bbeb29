"""The page without a pointer: where the focus is can be seen, and it comes back to where it was."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Visitor

VIEWS = ["", "known", "context", "activity", "settings", "health"]

FOCUS = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const { left, top, width, height } = one.getBoundingClientRect();
  const [x, y] = [left + Math.min(width / 2, 40), top + height / 2];
  const at = document.elementFromPoint(x, y);
  const opacity = [];
  for (let up = one; up; up = up.parentElement) opacity.push(Number(getComputedStyle(up).opacity));
  return {
    name: one.outerHTML.slice(0, 160),
    drawn: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2,
    uncovered: Boolean(at) && (one.contains(at) || at.contains(one)),
    opaque: Math.min(...opacity) === 1,
  };
}"""
"""Of what has the focus: whether an outline is drawn around it, nothing lies over it, and it is not transparent."""


def walked(page: Page) -> list[dict[str, object]]:
    """What has the focus in turn as Tab is pressed, until it leaves the page or begins anew."""
    seen: list[dict[str, object]] = []
    for _ in range(80):
        page.keyboard.press("Tab")
        found = page.evaluate(FOCUS)
        if found is None or (seen and found["name"] == seen[0]["name"]):
            return seen
        seen.append(found)
    return seen


@pytest.mark.parametrize(
    "visitor",
    [{"reduced_motion": "reduce"}, {"reduced_motion": "reduce", "viewport": {"width": 360, "height": 740}}],
    ids=["desk", "phone"],
    indirect=True,
)
def test_the_focus_is_seen_wherever_it_goes(visitor: Visitor) -> None:
    entry = visitor.add("I like green tea.", tags=["drinks"])
    visitor.add("I live in Porto.")
    for view in [*VIEWS, f"memory/{entry['id']}"]:
        page = visitor.open(view)
        expect(page.locator(".loading")).to_have_count(0)
        page.evaluate("document.querySelector('.skip').focus()")
        steps = walked(page)
        assert len(steps) >= (4 if "/" in view else 7), view
        for quality in ("drawn", "uncovered", "opaque"):
            assert [step["name"] for step in steps if not step[quality]] == [], f"{quality}, {view}"


def test_a_new_memory_has_the_focus_when_its_dialog_is_gone(visitor: Visitor) -> None:
    page = visitor.open()
    page.get_by_role("button", name="Add the first memory").click()
    field = page.get_by_label("What should be remembered?")
    field.fill("I like green tea.")
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(field).to_have_value("I like green tea.")
    expect(page.get_by_role("dialog")).to_contain_text("What you had typed is still here")
    sides = page.evaluate(
        "['.pair', '#new-space'].map((one) => document.querySelector(one).getBoundingClientRect().right)"
    )
    assert sides[1] <= sides[0], "the fields end with their row"
    field.focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("link", name="I like green tea.")).to_be_focused()


def test_the_keys_are_told_and_each_does_what_is_told(visitor: Visitor) -> None:
    entry = visitor.add("I like green tea.")
    page = visitor.open(f"memory/{entry['id']}")
    expect(page.locator("#edit")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("undo forgetting")
    page.keyboard.press("Escape")
    page.keyboard.press("Delete")
    visitor.listed(0)
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("u")
    visitor.listed(1)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("n")
    page.keyboard.press("Escape")
    expect(page.locator("#main")).to_be_focused()


def test_the_next_memory_has_the_focus_when_one_is_forgotten_and_keeps_it_when_that_is_undone(
    visitor: Visitor,
) -> None:
    visitor.add_all("I like green tea.", "I live in Porto.")
    page = visitor.open()
    tea, porto = (page.get_by_role("link", name=text) for text in ("I like green tea.", "I live in Porto."))
    porto.focus()
    page.keyboard.press("Delete")
    expect(tea).to_be_focused()
    page.get_by_role("button", name="Undo").focus()
    page.keyboard.press("Enter")
    visitor.listed(2)
    expect(tea).to_be_focused()
    porto.press("Enter")
    expect(page.locator("#edit")).to_be_visible()
    page.keyboard.press("Delete")
    expect(page.locator(".detail")).to_be_hidden()
    expect(tea).to_be_focused()


def test_each_forgetting_is_undone_the_latest_first(visitor: Visitor) -> None:
    visitor.add_all("I like green tea.", "I live in Porto.")
    page = visitor.open_with_a_clock_of_its_own()
    visitor.listed(2)
    page.keyboard.press("j")
    for key, left in (("Delete", 1), ("Delete", 0), ("u", 1), ("u", 2), ("u", 2)):
        page.keyboard.press(key)
        visitor.listed(left)
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
