"""The page as a newcomer, a keyboard, a phone, an unlucky network and a hostile text meet it."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from services.gateway import static
from tests.page.conftest import Visitor, until

VIEWS = ["", "known", "context", "activity", "settings", "health"]


SMALL = """() => [...document.querySelectorAll('a:not(.skip), button, input, select, textarea, summary')]
  .filter((one) => one.checkVisibility())
  .map((one) => [one, (one.closest('label') ?? one).getBoundingClientRect()])
  .filter(([, { width, height }]) => width < 24 || height < 24)
  .map(([one]) => one.outerHTML.slice(0, 120))"""
"""What a finger would miss: less than 24 pixels high or wide."""


def the_memory(page: Page, text: str) -> Any:
    return page.locator(".memory", has_text=text)


def test_a_newcomer_adds_finds_understands_pins_forgets_and_brings_back(visitor: Visitor) -> None:
    page = visitor.open()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()

    page.get_by_role("button", name="Add the first memory").click()
    page.get_by_label("What should be remembered?").fill("I prefer uv over pip for managing packages")
    page.get_by_label("Tags, separated by commas").fill("tools, python")
    page.get_by_role("button", name="Remember").click()
    memory = the_memory(page, "I prefer uv over pip")
    expect(memory).to_be_visible()
    expect(memory.locator(".state")).to_have_count(0)

    visitor.search("which package manager?")
    expect(memory.get_by_role("button", name="Why this?")).to_be_visible()
    memory.get_by_role("button", name="Why this?").click()
    expect(memory.get_by_role("group", name="Scores")).to_contain_text("Relevance")
    expect(memory).to_contain_text("Found by its meaning")
    memory.get_by_text("All features").click()
    expect(memory).to_contain_text("Likeness of meaning")

    visitor.search("")
    memory.hover()
    memory.get_by_role("button", name="Pin").click()
    expect(memory.get_by_role("button", name="Unpin")).to_be_visible()
    until(lambda: visitor.entries()[0]["pinned"])

    memory.get_by_role("button", name="Forget").click()
    expect(memory).to_have_count(0)
    assert visitor.texts() == ["I prefer uv over pip for managing packages"], "nothing is removed for ten seconds"
    page.get_by_role("button", name="Undo").click()
    expect(memory).to_be_visible()


def forgotten(visitor: Visitor, text: str) -> None:
    """Press the button of a memory that forgets it."""
    memory = the_memory(visitor.page, text)
    memory.hover()
    memory.get_by_role("button", name="Forget").click()


def test_what_is_forgotten_is_gone_after_ten_seconds_and_whoever_looks_at_the_undo_has_longer(visitor: Visitor) -> None:
    visitor.add("I live in Porto.")
    page = visitor.open_with_a_clock_of_its_own()
    forgotten(visitor, "Porto")
    page.clock.run_for(4_000)
    page.get_by_role("button", name="Undo").focus()
    page.clock.run_for(60_000)
    assert visitor.texts() == ["I live in Porto."]
    visitor.page.get_by_label("Search memories").focus()
    page.clock.run_for(5_500)
    assert visitor.texts() == ["I live in Porto."], "six of the ten seconds are left"
    page.clock.run_for(1_000)
    until(lambda: visitor.texts() == [])
    visitor.listed(0)


def test_a_page_that_is_closed_meanwhile_forgets_what_it_said_it_would(visitor: Visitor) -> None:
    visitor.add_all("I live in Porto.", "I like tea.")
    page = visitor.open()
    forgotten(visitor, "Porto")
    page.reload()
    expect(page.get_by_text("Leaving the page forgot 1 memory for good.")).to_be_visible()
    visitor.listed(1)
    assert visitor.texts() == ["I like tea."]
    forgotten(visitor, "tea")
    page.close(run_before_unload=True)
    until(lambda: visitor.texts() == [])


def switch_user(page: Page, user: str) -> None:
    page.get_by_role("button", name="User").click()
    page.get_by_role("dialog").get_by_label("User").fill(user)
    page.keyboard.press("Enter")


def test_a_switch_to_another_user_closes_what_is_open_and_forgets_what_was_being_forgotten(visitor: Visitor) -> None:
    visitor.add("I like tea.")
    entry = visitor.add("I live in Porto.")
    page = visitor.open(f"memory/{entry['id']}")
    expect(page.locator("#edit")).to_be_visible()
    forgotten(visitor, "tea")
    switch_user(page, f"{visitor.user}-too")
    expect(page.get_by_text("Leaving the page forgot 1 memory for good.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    expect(page.get_by_role("region", name="Memory", exact=True)).to_be_hidden()
    expect(page.get_by_role("button", name="User")).to_be_focused()
    assert visitor.texts() == ["I live in Porto."]


def test_what_another_tab_has_forgotten_or_changed_is_told(visitor: Visitor) -> None:
    entry, other = visitor.add("I live in Porto."), visitor.add("I like tea.")
    page = visitor.open()
    visitor.listed(2)
    visitor.http.delete(f"/v1/memory/entries/{other['id']}").raise_for_status()
    page.get_by_role("button", name="Pin: I like tea.").press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This memory is gone: it was forgotten elsewhere.")
    expect(page.get_by_role("link", name="I live in Porto.")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Edit").click()
    visitor.http.patch(f"/v1/memory/entries/{entry['id']}", json={"text": "I live in Braga."}).raise_for_status()
    page.get_by_label("Text", exact=True).fill("I live in Lisbon.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".fault")).to_have_text(re.compile("^It was changed meanwhile. Open it again .* is kept.$"))
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="I live in Braga.")).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("I live in Lisbon.")


def test_escape_leaves_the_search_with_what_was_typed(visitor: Visitor) -> None:
    visitor.add("I live in Porto.")
    page = visitor.open()
    field = page.get_by_label("Search memories")
    field.fill("Where do I live?")
    page.keyboard.press("Escape")
    expect(field).to_have_value("Where do I live?")
    expect(field).not_to_be_focused()
    expect(page.get_by_role("button", name="Why this?")).to_be_visible()


def test_a_view_that_cannot_be_loaded_says_so_and_is_tried_again(visitor: Visitor) -> None:
    page = visitor.open()
    page.route("**/page/known.js", lambda route: route.abort())
    page.get_by_role("link", name="Known").click()
    expect(page.get_by_role("alert")).to_contain_text("memorybus does not answer. Is it running?")
    page.unroute_all()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="What is known")).to_be_visible()


def test_a_tab_stays_with_the_user_and_the_space_that_it_names(visitor: Visitor) -> None:
    visitor.add("I live in Porto.", space="home")
    too = {"Memory-User": f"{visitor.user}-too"}
    visitor.http.post("/v1/memory/entries", json={"text": "I keep bees."}, headers=too).raise_for_status()
    page = visitor.open()
    visitor.listed(1)
    other = visitor.context.new_page()
    other.goto(visitor.address)
    switch_user(other, too["Memory-User"])
    expect(the_memory(other, "bees")).to_be_visible()
    other.get_by_label("Space", exact=True).select_option("default")
    visitor.search("Where do I live?")
    expect(the_memory(page, "Porto").get_by_role("button", name="Why this?")).to_be_visible()
    page.reload()
    expect(page.get_by_role("button", name="User")).to_have_text(visitor.user)
    visitor.listed(1)


def test_a_memory_shows_where_it_came_from_and_can_be_corrected(visitor: Visitor) -> None:
    said = ["Where do you live?", "I live in Porto.", "A fine town!"]
    for n, text in enumerate(said):
        visitor.say(text, role="assistant" if n != 1 else "user", created_at=f"2026-02-01T10:00:0{n}Z")
    until(lambda: len(visitor.texts()) == len(said))
    page = visitor.open()
    page.get_by_role("link", name="I live in Porto.").click()
    detail = page.get_by_role("region", name="Memory", exact=True)
    for text in said:
        expect(detail.locator(".around")).to_contain_text(text)
    detail.get_by_role("button", name="Edit").click()
    visitor.enter("Text", "I live in Lisbon.", "Escape", exact=True)
    detail.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("I live in Lisbon.")
    page.get_by_role("button", name="Cancel").click()
    detail.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("I live in Porto.")
    page.get_by_label("Text", exact=True).fill("I live in Lisbon.")
    page.get_by_label("Tags, separated by commas").fill("home")
    page.keyboard.press("Control+Enter")
    expect(detail.get_by_role("heading", name="I live in Lisbon.")).to_be_visible()
    expect(detail).to_contain_text("Earlier wording")
    assert "I live in Lisbon." in visitor.texts()


def test_what_was_repeated_stands_where_it_was_said_again(visitor: Visitor) -> None:
    said = [("c1", "I like green tea."), ("c2", "I live in Porto."), ("c2", "I like green tea.")]
    for n, (conversation, text) in enumerate(said):
        visitor.say(text, conversation, created_at=f"2026-02-0{n + 1}T10:00:00Z")
    until(lambda: visitor.texts() == ["I like green tea.", "I live in Porto."])
    page = visitor.open()
    page.get_by_role("link", name="I live in Porto.").click()
    around = page.locator(".around li")
    expect(around).to_have_count(2)
    expect(around.nth(0)).to_contain_text("I live in Porto.")
    expect(around.nth(1)).to_contain_text("I like green tea.")


def test_every_action_can_be_done_by_keyboard(visitor: Visitor) -> None:
    page = visitor.open()
    press, typed = page.keyboard.press, page.keyboard.type
    press("n")
    typed("My sister is called Anna")
    for _ in range(5):  # type, space, tags, cancel, remember
        press("Tab")
    press("Enter")
    expect(the_memory(page, "Anna")).to_be_visible()
    visitor.add("I live in Porto.")
    press("/")
    typed("what is my sister called?")
    expect(page.get_by_role("button", name="Why this?").first).to_be_visible()
    page.get_by_role("button", name="Why this?").first.focus()
    press("Enter")
    expect(page.get_by_role("group", name="Scores").first).to_be_visible()
    press("/")
    press("Control+a")
    press("Delete")
    expect(page.get_by_role("button", name="Why this?")).to_have_count(0)
    visitor.listed(2)
    page.locator("#main").focus()
    press("j")
    press("j")
    expect(page.get_by_role("link", name="My sister is called Anna")).to_be_focused()
    press("p")
    until(lambda: any(item["pinned"] for item in visitor.entries()))
    page.wait_for_function("document.activeElement.textContent.includes('Anna')")
    press("Enter")
    expect(page.get_by_role("region", name="Memory", exact=True)).to_be_visible()
    expect(page.locator("#edit")).to_be_visible()
    press("e")
    press("Control+a")
    typed("My sister is called Hannah")
    page.get_by_role("button", name="Save", exact=True).focus()
    press("Enter")
    until(lambda: "My sister is called Hannah" in visitor.texts())
    expect(page.locator("#edit")).to_be_focused()
    press("Escape")
    expect(page.get_by_role("link", name="My sister is called Hannah")).to_be_focused()
    press("Delete")
    visitor.listed(1)
    press("u")
    visitor.listed(2)

    def went(title: str) -> bool:
        for key in ("Escape", "g", "c" if title.startswith("Assistant") else title[0].lower()):
            press(key)
        return bool(page.get_by_role("heading", level=1).text_content() == title)

    for title in ("Assistant’s view", "Activity", "Settings", "Health", "Memories"):
        until(partial(went, title))  # pressed again where the view before was still taking the focus


def test_the_assistants_view_shows_the_very_block_and_its_tokens(visitor: Visitor) -> None:
    visitor.add("I prefer uv over pip")
    page = visitor.open("context")
    page.get_by_label("Question").fill("which package manager?")
    page.get_by_role("button", name="Show").click()
    block = page.get_by_label("Context block")
    expect(block).to_contain_text("I prefer uv over pip")
    asked = {"query": "which package manager?", "space": "default"}
    reply = visitor.http.post("/v1/memory/search", json=asked).json()
    assert block.inner_text().strip() == reply["context"].strip()
    expect(page.locator(".budget")).to_contain_text(f"{reply['token_count']} tokens of 1,000")


def test_filters_narrow_the_list(visitor: Visitor) -> None:
    visitor.add("I prefer tea.", type="preference", tags=["drinks"])
    visitor.add("The office is in Porto.", type="fact", space="work")
    page = visitor.open()
    visitor.listed(2)
    for label, value, left in (("Type", "fact", "Porto"), ("Tag", "drinks", "tea"), ("Space", "work", "Porto")):
        page.get_by_label(label, exact=True).select_option(value)
        visitor.listed(1)
        expect(page.locator(".memory")).to_contain_text(left)
        page.get_by_label(label, exact=True).select_option("")
        visitor.listed(2)
    page.get_by_role("button", name="Pinned").click()
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()


def test_a_command_lists_what_it_would_forget_and_forgets_exactly_that(visitor: Visitor) -> None:
    visitor.add_all("My dentist is called Maria.", "I like tea.")
    page = visitor.open_with_a_clock_of_its_own()
    answer, field = page.get_by_role("region", name="Answer"), page.get_by_label("Search memories")
    for decided, left in (("Keep", 2), ("Confirm", 1), ("Undo", 2), ("Confirm", 1), ("u", 2), ("Confirm", 1)):
        if decided in ("Keep", "Confirm"):
            field.fill("forget everything about my dentist")
            page.keyboard.press("Enter")
            expect(answer).to_contain_text("My dentist is called Maria.")
        if decided == "u":
            page.keyboard.press("u")
        else:
            page.get_by_role("button", name=decided).click()
        visitor.listed(left)
        expect(field if decided == "Keep" else page.get_by_role("link", name="I like tea.")).to_be_focused()
        assert len(visitor.texts()) == 2
    page.clock.run_for(10_500)
    until(lambda: visitor.texts() == ["I like tea."])


def test_forgetting_by_a_phrase_reaches_all_spaces_that_are_looked_at(visitor: Visitor) -> None:
    visitor.add("I like pickled beetroot.")
    visitor.add("Beetroot is on the menu of the canteen.", space="work")
    visitor.add("I like tea.", space="work")
    page = visitor.open()
    visitor.listed(3)
    visitor.search("forget everything about beetroot", enter=True)
    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("2 memories will be forgotten, as listed, 1 of them in the space “work”")
    page.get_by_role("button", name="Confirm").click()
    visitor.listed(1)


def test_the_answer_to_a_command_goes_with_the_next_search_and_with_escape(visitor: Visitor) -> None:
    page = visitor.open()
    answer, field = page.get_by_role("region", name="Answer"), page.get_by_label("Search memories")
    for key in ("Backspace", "Escape"):
        field.fill("forget everything about walnuts")
        page.keyboard.press("Enter")
        expect(answer).to_contain_text("I remember nothing that mentions walnuts.")
        if key == "Backspace":
            field.focus()
        page.keyboard.press(key)
        expect(answer).to_have_count(0)
    expect(field).to_be_focused()


def test_what_users_say_is_never_more_than_text(visitor: Visitor) -> None:
    hostile = "<img src=x onerror=\"document.title='taken'\"><script>alert(1)</script> {{7*7}} \u202egnirts"
    entry = visitor.add(hostile, tags=["<b>tag</b>"])
    page = visitor.open(f"memory/{entry['id']}")
    expect(page.get_by_role("region", name="Memory", exact=True)).to_contain_text("<img src=x")
    expect(page.locator(".meta .tag")).to_have_text("<b>tag</b>")
    assert page.locator("#main img, #main script, #main b").count() == 0
    assert "Memory" in page.title()
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    visitor.complaints.clear()  # the browser says aloud what it has stopped


def test_a_server_with_sign_in_is_asked_with_the_key(visitor: Visitor) -> None:
    page, seen = visitor.page, []

    def answer(route: Route) -> None:
        given = route.request.headers.get("authorization")
        seen.append(given)
        if given == "Bearer mb_secret":
            without = {name: value for name, value in route.request.headers.items() if name != "authorization"}
            route.continue_(headers={**without, "memory-user": visitor.user})
        else:
            route.fulfill(status=401, content_type="application/problem+json", body='{"detail": "no key"}')

    page.route(re.compile("/v1/memory/"), answer)
    page.goto(visitor.address)
    page.get_by_label("API key").fill("mb_secret")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert "Bearer mb_secret" in seen
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('memory-key')") is None


def test_a_key_kept_from_when_sign_in_was_on_is_forgotten(visitor: Visitor) -> None:
    visitor.add("I keep bees.")
    page = visitor.open()
    page.evaluate("sessionStorage.setItem('memory-key', 'mb_of_yesterday')")
    page.reload()
    expect(page.get_by_text("I keep bees.")).to_be_visible()
    assert page.evaluate("sessionStorage.getItem('memory-key')") is None


@pytest.mark.parametrize("visitor", [{"viewport": {"width": 360, "height": 740}}], indirect=True)
def test_nothing_is_wider_than_a_small_phone(visitor: Visitor) -> None:
    entry = visitor.add("averylongwordwithoutanybreak" * 12, tags=["a-rather-long-tag-for-a-small-screen" * 2])
    visitor.add("I keep bees.", space="the-space-of-a-very-long-name-" * 3)
    for view in [*VIEWS, f"memory/{entry['id']}"]:
        page = visitor.open(view)
        page.wait_for_load_state("networkidle") if view != "health" else page.wait_for_selector(".numbers")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        assert page.evaluate(SMALL) == [], view
    visitor.open("settings")
    expect(page.get_by_label("Tags taken from other spaces")).to_be_visible()
    wide = page.evaluate("['gives_tags', 'takes_tags'].map((id) => document.getElementById(id).offsetWidth)")
    assert wide[0] == wide[1], "fields that belong together"
    visitor.open()
    page.get_by_role("button", name="Select", exact=True).click()
    assert page.evaluate(SMALL) == [], "choosing several"


def test_the_first_paint_comes_within_half_a_second(visitor: Visitor) -> None:
    page = visitor.open()
    painted = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"

    def took() -> float:
        page.reload()
        page.wait_for_function(painted)
        return float(page.evaluate(painted))

    until(lambda: took() < 500)  # of several: what else the machine does is not the page's


def test_the_page_is_small(visitor: Visitor) -> None:
    assert sum(path.stat().st_size for path in static.FOLDER.iterdir()) < 150_000
    page = visitor.open()
    for view in VIEWS:
        visitor.open(view)
    size = page.evaluate("performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, 0)")
    assert 0 < size < 150_000
