"""What can be done in each view of the page, in the list with several memories at once, and with a roll-up."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
from playwright.sync_api import Locator, Page, expect

from services.gateway import static
from services.shared.audit import _KEPT
from tests.page.conftest import Visitor, until
from tests.page.test_accessibility import findings

TEA, TRAINS, PORTO = "I like green tea.", "I prefer trains over planes.", "The office is in Porto."


def chosen(visitor: Visitor, space: str = "default") -> dict[str, Any]:
    """What holds in a space."""
    settings: dict[str, Any] = visitor.http.get("/v1/memory/settings", params={"space": space}).json()["settings"]
    return settings


def holds(visitor: Visitor, name: str, value: Any) -> bool:
    """Whether a setting has this value."""
    return bool(chosen(visitor)[name] == value)


def ticked(page: Page, words: str) -> Locator:
    """The box of a memory, while some are being chosen."""
    return page.locator(".memory", has_text=words).get_by_role("checkbox")


def test_each_setting_holds_as_soon_as_it_is_chosen(visitor: Visitor) -> None:
    before = chosen(visitor)
    page = visitor.open("settings")
    for name, label in (("memory_enabled", "Remember"), ("incognito_default", "Incognito by default")):
        page.get_by_role("switch", name=label, exact=True).focus()
        page.keyboard.press("Space")
        until(partial(holds, visitor, name, not before[name]))
    amounts = (("retention_days", "Forget after days", 30), ("soft_cap", "Memories kept", 500))
    for name, label, amount in amounts:
        visitor.enter(label, str(amount))
        until(partial(holds, visitor, name, amount))
    for name, label in (
        ("gives_tags", "Tags shared with other spaces"),
        ("takes_tags", "Tags taken from other spaces"),
    ):
        visitor.enter(label, "health, travel", "Tab")
        until(partial(holds, visitor, name, ["health", "travel"]))
    visitor.enter("Time zone", "Europe/Vienna", "Tab")
    until(partial(holds, visitor, "time_zone", "Europe/Vienna"))
    page.get_by_role("switch", name="Remember", exact=True).focus()
    page.keyboard.press("g")
    page.keyboard.press("m")
    expect(page.get_by_role("heading", name="Memories")).to_be_attached()
    visitor.open("settings")
    page.reload()
    expect(page.get_by_label("Time zone")).to_have_value("Europe/Vienna")
    expect(page.get_by_label("Forget after days")).to_have_value("30")
    expect(page.get_by_label("Tags shared with other spaces")).to_have_value("health, travel")
    expect(page.get_by_role("switch", name="Remember", exact=True)).not_to_be_checked()
    visitor.enter("Forget after days", "")
    until(lambda: chosen(visitor)["retention_days"] == before["retention_days"])


def test_settings_of_all_spaces_hold_where_nothing_is_decided_and_what_cannot_be_is_told_and_not_saved(
    visitor: Visitor,
) -> None:
    page = visitor.open("settings")
    page.get_by_label("Space", exact=True).select_option("*")
    visitor.enter("Memories kept", "70")
    until(lambda: chosen(visitor, "anywhere")["soft_cap"] == 70)
    before, field = chosen(visitor), page.get_by_label("Forget after days")
    for typed in ("-3", "1.5", "1e"):
        field.fill("")
        field.press_sequentially(typed)
        page.keyboard.press("Tab")
        expect(page.locator(".setting", has=field)).to_contain_text("A whole number of days, 0 or more.")
        expect(field).to_have_value("" if typed == "1e" else typed)
    expect(page.locator(".toast")).to_have_count(0)
    visitor.enter("Memories kept", "99999999")
    expect(page.locator(".toast.bad")).to_be_visible()
    expect(page.locator(".toast.bad")).not_to_contain_text("change.")
    expect(page.get_by_label("Memories kept")).to_have_value("70")
    assert chosen(visitor) == before


def test_a_time_that_would_forget_something_is_asked_about_with_the_number(visitor: Visitor) -> None:
    for n, text in enumerate((TEA, TRAINS, PORTO)):
        visitor.say(text, created_at=(datetime.now(UTC) - timedelta(days=400 + n)).isoformat())
    until(lambda: len(visitor.texts()) == 3)
    oldest = visitor.entries()[-1]
    visitor.http.post(f"/v1/memory/entries/{oldest['id']}/pin").raise_for_status()
    page = visitor.open("settings")
    field, asked = page.get_by_label("Forget after days"), page.get_by_role("dialog")
    visitor.enter("Forget after days", "500", "Tab")
    until(partial(holds, visitor, "retention_days", 500))
    visitor.enter("Forget after days", "300", "Tab")
    expect(asked).to_contain_text("2 memories are older than 300 days and will be forgotten for good.")
    asked.get_by_role("button", name="Cancel").click()
    expect(field).to_have_value("500")
    assert holds(visitor, "retention_days", 500)
    visitor.enter("Forget after days", "401", "Tab")
    expect(asked).to_contain_text("1 memory is older than 401 days")
    asked.get_by_role("button", name="Go on").click()
    until(partial(holds, visitor, "retention_days", 401))


def test_a_memory_that_is_turned_off_tells_an_assistant_nothing_and_says_why(visitor: Visitor) -> None:
    visitor.add(TEA)
    page = visitor.open("settings")
    page.get_by_role("switch", name="Remember", exact=True).click()
    until(lambda: chosen(visitor)["memory_enabled"] is False)
    visitor.open("context")
    page.get_by_label("Question").fill("What do I drink?")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Memory is turned off for this space.")).to_be_visible()
    visitor.open()
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("What should be remembered?").fill(TRAINS)
    page.get_by_role("button", name="Remember").click()
    expect(page.get_by_role("alert")).to_contain_text("Memory is off in this space")
    expect(page.get_by_role("alert")).not_to_contain_text("memory.settings")
    page.keyboard.press("Escape")
    visitor.search("What do I drink?")
    expect(page.get_by_role("heading", name="Memory is off")).to_be_visible()
    page.get_by_role("link", name="Turn it on in the settings").click()
    expect(page.get_by_role("switch", name="Remember", exact=True)).not_to_be_checked()


def test_how_the_page_looks_and_its_keys_are_chosen(visitor: Visitor) -> None:
    page = visitor.open("settings")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_label("Colours").select_option("dark")
    assert page.evaluate(ground) != light
    page.get_by_role("switch", name="Single-key shortcuts").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.look") == "dark"
    visitor.open()
    page.keyboard.press("n")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_incognito_conversation_is_kept_nowhere_until_it_is_ended(visitor: Visitor) -> None:
    page = visitor.open("settings")

    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("Type the id of the conversation first")).to_be_visible()
    expect(page.get_by_label("Conversation", exact=True)).to_be_focused()
    page.get_by_label("Conversation", exact=True).fill("chat-7")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("Nothing of this conversation is kept, until")).to_be_visible()
    visitor.say("It is a surprise.", "chat-7")
    page.get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("This conversation is not incognito.")).to_be_visible()
    visitor.say(TEA, "chat-7")
    until(lambda: visitor.texts() == [TEA])


def test_a_conversation_becomes_incognito_where_a_memory_of_it_is_shown(visitor: Visitor) -> None:
    visitor.say(TEA)
    until(lambda: visitor.texts() == [TEA])
    page = visitor.open()
    page.get_by_role("link", name=TEA).click()
    page.get_by_role("button", name="Keep nothing more of it").click()
    expect(page.get_by_text("Incognito until")).to_be_visible()
    visitor.say("It is a surprise.")
    page.get_by_role("button", name="Undo").click()
    until(lambda: "incognito-end" in visitor.http.get("/v1/memory/audit").text)
    visitor.say(TRAINS)
    until(lambda: sorted(visitor.texts()) == sorted([TEA, TRAINS]))


def test_themes_are_made_renamed_filtered_by_and_removed(visitor: Visitor) -> None:
    visitor.add(TEA)
    entry = visitor.add(TRAINS)
    page = visitor.open("settings")
    page.get_by_label("Name of a theme").fill("Getting about")
    page.get_by_label("Description").fill("How I travel")
    page.get_by_role("region", name="Themes").get_by_role("button", name="Add").click()
    rename = page.get_by_role("button", name="Rename theme Getting about")
    expect(rename).to_be_visible()
    visitor.http.patch(f"/v1/memory/entries/{entry['id']}", json={"themes": ["getting-about"]}).raise_for_status()
    rename.click()
    page.get_by_role("dialog").get_by_label("Name").fill("Journeys")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Rename theme Journeys")).to_be_focused()
    expect(page.locator(".themes")).to_contain_text("How I travel · 1 memory")
    visitor.open()
    page.get_by_label("Theme", exact=True).select_option(label="Journeys")
    visitor.listed(1)
    expect(page.locator(".memory")).to_contain_text(TRAINS)
    visitor.open("settings")
    page.get_by_role("button", name="Remove theme Journeys").click()
    expect(page.locator(".themes li")).to_have_count(0)
    assert sorted(visitor.texts()) == sorted([TEA, TRAINS])


def test_an_export_arrives_with_everything_in_it(visitor: Visitor, tmp_path: Path) -> None:
    visitor.add(TEA)
    page = visitor.open("settings")
    with page.expect_download() as arriving:
        page.get_by_role("button", name="Download").click()
    assert re.fullmatch(r"memory-\d{4}-\d\d-\d\d\.jsonl", arriving.value.suggested_filename)
    arriving.value.save_as(tmp_path / "export.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "export.jsonl").read_text().splitlines()]
    expect(page.get_by_role("button", name="Download")).to_be_focused()
    assert len(lines) > 2, "a header, what was said, and the counts"
    assert TEA in (tmp_path / "export.jsonl").read_text()


def test_everything_is_erased_after_the_word_was_typed_and_a_receipt_tells_it(visitor: Visitor) -> None:
    visitor.add(TEA, tags=["drinks"])
    page = visitor.open()
    page.keyboard.press("n")
    visitor.enter("What should be remembered?", TRAINS, "Escape")
    page.goto(f"{visitor.address}/#/settings")
    page.get_by_role("button", name="Erase…").click()
    expect(page.get_by_role("dialog")).to_contain_text("where memory is off or incognito, it is so until")
    page.get_by_role("button", name="Erase everything").click()
    page.get_by_label("Type “erase” to go on").fill("yes")
    page.get_by_role("button", name="Erase everything").click()
    assert visitor.texts() == [TEA], "nothing but the word itself goes on"
    page.get_by_label("Type “erase” to go on").fill("erase")
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_text("Done. Looking again found nothing.")).to_be_visible()
    assert visitor.texts() == []
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("heading", name="Nothing is remembered yet")).to_be_visible()
    assert "drinks" not in page.locator(".chips").inner_text(), "the tab has forgotten its names, too"
    assert TRAINS not in page.evaluate("JSON.stringify(sessionStorage)"), "and what was typed in it"


def test_activity_tells_what_was_done_and_never_what_was_said(visitor: Visitor) -> None:
    entry = visitor.add(TEA)
    visitor.http.post(f"/v1/memory/entries/{entry['id']}/pin").raise_for_status()
    visitor.http.post("/v1/memory/search", json={"query": "What do I drink?"}).raise_for_status()
    visitor.http.post("/v1/memory/settings", json={"change": {"soft_cap": 9}}).raise_for_status()
    page, done = visitor.open("activity"), ["Changed settings", "Asked the memory", "Pinned a memory", "Added a memory"]

    def told() -> bool:
        page.reload()
        page.wait_for_selector(".log li, .empty")
        return page.locator(".log li > div > p:first-child").all_inner_texts() == done

    until(told)  # it is written within a second
    assert not re.search("green tea|drink", page.locator("#main").inner_text(), re.IGNORECASE)
    page.get_by_role("link", name=f"Memory {entry['id'][:8]}").first.click()
    expect(page.get_by_role("heading", name=TEA)).to_be_visible()


def test_whatever_the_audit_keeps_has_words_in_the_page() -> None:
    script = (static.FOLDER / "activity.js").read_text()
    words = script[script.index("const WORDS") : script.index("};")]
    named = set(re.findall(r"'?([\w.-]+)'?: '", words))
    kept = {verb.partition(".")[2] or verb for verb in _KEPT if not verb.startswith("ops.")}
    assert kept | {"keys.create", "keys.revoke", "dead.show", "dead.retry", "dead.drop"} == named


def test_health_tells_what_waits_and_what_is_dead_as_it_happens(visitor: Visitor) -> None:
    page = visitor.open("health")
    memories = page.locator(".numbers div", has_text="Memories").locator("dd")
    dead = page.locator(".numbers div", has_text="Dead letters").locator("dd")
    expect(memories).to_have_text("0")
    expect(page.locator(".stages li")).to_have_count(4)
    before = int(dead.inner_text())
    visitor.add(TEA)
    expect(memories).to_have_text("1")
    with ThreadPoolExecutor() as other:  # this thread has the loop of Playwright
        other.submit(asyncio.run, publish(visitor, b"no turn at all")).result()
    expect(dead).to_have_text(str(before + 1))
    expect(page.get_by_text("memorybus dead list")).to_be_visible()


async def publish(visitor: Visitor, body: bytes) -> None:
    """Bytes where turns are expected."""
    bus = await nats.connect(visitor.bus)
    await bus.jetstream().publish(f"memory.v1.turns.{visitor.user}", body)
    await bus.close()


def test_health_says_how_far_behind_it_is_and_comes_back_after_a_lost_connection(visitor: Visitor) -> None:
    page = visitor.page
    state = {"ok": True, "backlog": {"ingest-0": 3, "embed": 4000}, "lag_seconds": {"ingest-0": 0.0, "embed": 260.5}}
    event = json.dumps({**state, "dead_letters": 0, "entries": 12, "pending": 4003})
    page.route(
        "**/v1/memory/live", lambda route: route.fulfill(content_type="text/event-stream", body=f"data: {event}\n\n")
    )
    visitor.open("health")
    expect(page.get_by_text("Working, 4 min behind.")).to_be_visible()
    expect(page.locator(".stages li", has_text="embed")).to_contain_text("4,000 waiting for 4 min")
    page.route("**/v1/memory/live", lambda route: route.abort())
    expect(page.get_by_text("The connection was lost. Trying again…")).to_be_visible()
    page.unroute_all()
    expect(page.get_by_text("All caught up.")).to_be_visible()


def test_several_memories_are_tagged_pinned_forgotten_and_brought_back_at_once(visitor: Visitor) -> None:
    visitor.add_all(TEA, TRAINS, PORTO)
    page = visitor.open()
    page.get_by_role("button", name="Select", exact=True).click()
    ticked(page, TEA).check()
    page.get_by_role("link", name=TRAINS).click()
    group = page.get_by_role("group", name="Selected memories")
    expect(group).to_contain_text("2 selected")
    group.get_by_role("button", name="Tag…").click()
    page.get_by_label("Tags, separated by commas").fill("likes, mine")
    page.keyboard.press("Enter")
    expect(page.locator(".memory", has_text="likes")).to_have_count(2)
    expect(page.get_by_role("button", name="Select", exact=True)).to_be_focused()

    def carried() -> list[list[str]]:
        return sorted(item["tags"] for item in visitor.entries())

    assert carried() == [[], ["likes", "mine"], ["likes", "mine"]]

    page.get_by_role("button", name="Select", exact=True).click()
    group.get_by_role("button", name="All").click()
    group.get_by_role("button", name="Tag…").click()
    page.get_by_label("Tags, separated by commas").fill("mine")
    page.get_by_role("button", name="Take away").click()
    until(lambda: carried() == [[], ["likes"], ["likes"]])

    page.get_by_role("button", name="Select", exact=True).click()
    ticked(page, TEA).check()
    ticked(page, PORTO).check()
    group.get_by_role("button", name="Pin").click()
    expect(page.locator(".memory.pinned")).to_have_count(2)
    assert sum(item["pinned"] for item in visitor.entries()) == 2

    page.get_by_role("button", name="Select", exact=True).click()
    ticked(page, TEA).check()
    ticked(page, PORTO).check()
    expect(group.get_by_role("button", name="Unpin")).to_be_visible()
    group.get_by_role("button", name="Forget").click()
    visitor.listed(1)
    page.get_by_role("button", name="Undo").click()
    visitor.listed(3)


def test_what_is_older_is_loaded_when_it_is_asked_for_or_all_that_is_shown_is_forgotten(visitor: Visitor) -> None:
    visitor.add(TEA, tags=["drinks"])
    visitor.add_all(TRAINS, PORTO)
    page = visitor.page
    page.route("**/entries?limit=50*", lambda route: route.continue_(url=route.request.url.replace("50", "2", 1)))
    visitor.open()
    page.get_by_role("button", name="Show older").press("Enter")
    expect(page.get_by_role("link", name=TEA)).to_be_focused()
    page.get_by_label("Tag", exact=True).select_option("drinks")
    visitor.listed(1)
    page.reload()
    visitor.listed(2)
    page.get_by_role("button", name="Select", exact=True).click()
    group = page.get_by_role("group", name="Selected memories")
    group.get_by_role("button", name="All shown").click()
    group.get_by_role("button", name="Forget").click()
    expect(page.locator(".memory")).to_contain_text([TEA])
    page.get_by_role("button", name="Undo").click()
    visitor.listed(3)


def test_several_memories_are_chosen_and_forgotten_by_keyboard(visitor: Visitor) -> None:
    visitor.add_all(TEA, TRAINS, PORTO)
    page = visitor.open_with_a_clock_of_its_own()
    visitor.listed(3)
    press = page.keyboard.press
    for key in ("j", "x", "j", "x"):
        press(key)
    group = page.get_by_role("group", name="Selected memories")
    expect(group).to_contain_text("2 selected")
    expect(page.get_by_role("link", name=TRAINS)).to_be_focused()
    press("Escape")
    expect(group).to_be_hidden()
    expect(page.get_by_role("button", name="Select", exact=True)).to_be_focused()
    page.get_by_role("link", name=PORTO).focus()
    press("x")
    press("j")
    press("x")
    group.get_by_role("button", name="Forget").focus()
    press("Enter")
    visitor.listed(1)
    page.clock.run_for(10_500)
    until(lambda: visitor.texts() == [TEA])


@pytest.mark.parametrize("visitor", [{"reduced_motion": "reduce"}], indirect=True)
def test_nothing_moves_for_whom_motion_is_too_much(visitor: Visitor) -> None:
    visitor.add(TEA)
    page = visitor.open()
    page.locator(".memory").hover()
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


SOURDOUGH = ("Sourdough bread needs a long night.", "The sourdough starter is fed with rye.")


def test_each_line_leads_to_its_memory_and_that_one_back_until_it_is_undone(visitor: Visitor) -> None:
    for text in SOURDOUGH:
        visitor.add(text, manually_saved=False)
    made = visitor.http.post("/v1/memory/rollups", json={"topic": "sourdough"}).raise_for_status().json()
    page = visitor.open(f"memory/{made['items'][0]['id']}")
    source = page.get_by_role("region", name="Rolled up from")
    expect(source).to_be_visible()
    visitor.listed(1)
    assert findings(page) == []
    source.get_by_role("link", name=SOURDOUGH[1]).click()
    expect(page.locator(".said")).to_have_text(SOURDOUGH[1])
    page.get_by_text("Rolled up into").locator("..").get_by_role("link").click()
    source.get_by_role("button", name="Undo").press("Enter")
    visitor.listed(2)
    assert {*visitor.texts()} == {*SOURDOUGH}
