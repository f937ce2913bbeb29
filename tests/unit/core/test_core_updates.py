"""What a newer statement changes by its wording, what an older one states besides, and what is only denied."""

from __future__ import annotations

import pytest

from services.shared.core.updates import leaves_some, relation

NOT_A_TEACHER = "My husband Tom is no longer a teacher."
TO_WELS = "I have moved to Wels"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My husband Tom is a teacher and is allergic to bees.", NOT_A_TEACHER),
        ("My husband Tom is a teacher and allergic to bees.", NOT_A_TEACHER),
        ("My husband Tom is a teacher, plays chess and speaks Dutch.", NOT_A_TEACHER),
        ("I use VS Code as my editor and pnpm for JavaScript projects.", "I switched from VS Code to Neovim."),
        ("Our team uses Jira for tickets and Slack for chat", "We moved from Jira to Linear"),
        ("I drink tea in the morning and coffee in the afternoon", "I gave up coffee"),
        ("I have yoga on Monday and pilates on Thursday", "yoga has moved to Tuesday"),
        ("I play tennis and football", "I've given up tennis"),
        ("I use pnpm and VS Code", "I switched from VS Code to Neovim"),
        ("I subscribe to Netflix, Spotify and Disney", "I cancelled Spotify"),
        ("My standup is at 9:30 and takes 15 minutes", "My standup has moved to 10:15"),
        ("My flight is at 9:10 and from gate B4", "My flight has been moved to 9:40"),
        ("I live in Graz and love the mountains", TO_WELS),
        ("I live in Graz and work there as a nurse", TO_WELS),
        ("My sister works at Bosch and can't eat nuts", "My sister no longer works at Bosch"),
        ("Anna and Ben are vegetarians", "Ben is no longer a vegetarian"),
    ],
)
def test_what_states_other_things_too_is_left(old: str, new: str) -> None:
    assert leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I moved to Graz, and love it", TO_WELS),
        ("I live in Graz and it is lovely", TO_WELS),
        ("I live in Graz and am very happy", TO_WELS),
        ("I live in Leipzig with two flatmates and a cat", "I've moved from Leipzig to Dresden"),
        ("My standup is at 9:30, every day", "My standup has moved to 10:15"),
        ("My dentist appointment is on Tuesday, 12 March, at 10:00", "My dentist appointment has moved to Thursday"),
        ("I have a meeting with Anna and the team on Monday", "The meeting with Anna and the team has moved to Friday"),
        ("I work at Marks and Spencer", "I quit Marks and Spencer"),
        ("I use vim as my editor for code and prose", "I've switched from vim to helix"),
        ("We meet on Tuesdays and Thursdays", "we no longer meet on Tuesdays and Thursdays"),
        ("My boss is Sandra, and she is great", "My new boss is Oliver"),
    ],
)
def test_what_states_one_thing_is_changed_as_a_whole(old: str, new: str) -> None:
    assert not leaves_some(old, new)


@pytest.mark.parametrize("piece", ["tea and ", "I use a for b and ", "my ", ", and is ", "and ", "( "])
def test_a_text_of_any_length_is_told_apart_quickly(piece: str) -> None:
    hostile = piece * 5000
    assert leaves_some(hostile, "I gave up tea")
    assert relation(hostile, f"I switched from {hostile} to {hostile}") is not None
