"""What is over is not told as present: past appointments, medicine that was stopped, births, birthdays, jobs left."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from services.shared.core.aliases import people_of
from services.shared.core.slots import profile_of
from tests.stores.builders import NOON, an_entry

LATER = NOON + timedelta(days=60)  # 2 April; NOON is Sunday, 1 February


def known_after(*texts: str, now: datetime | None = None) -> list[str]:
    at = [NOON + timedelta(days=7 * i) for i in range(len(texts))]
    entries = [
        an_entry("ann", text, id=f"e{i}", created_at=at[i], last_said_at=at[i], role="user", conversation_id="c")
        for i, text in enumerate(texts)
    ]
    known = profile_of("ann", entries, persons=people_of(entries).by_name(), now=now)
    return sorted(one.fact.text for one in known if one.until is None)


@pytest.mark.parametrize(
    "text",
    [
        "My dentist appointment is on 3 February at 9:00.",
        "My flight is on Friday at 7:40.",
        "flight is now at 7:40",
        "My next check-up is on 18 March at 8:30.",
        "I have a meeting on Monday.",
        "My exam is tomorrow.",
        "The Acme project is due on 12 March.",
        "My yoga class is on 12 February at 8.",
        "My interview is at 14:00.",
        "My wedding is in March.",
    ],
)
def test_what_was_planned_is_over_when_its_time_is(text: str) -> None:
    planned = known_after(text)
    assert len(planned) == 1
    assert known_after(text, now=NOON + timedelta(hours=1)) == planned
    assert known_after(text, now=LATER) == []


@pytest.mark.parametrize(
    "text",
    [
        "My yoga class is on Tuesdays.",
        "My standup is at 9:30.",
        "My B2 course is on Thursday 18:30.",
        "My flight is on 5 April.",
        "Our team meeting is on Monday at 10.",
        "My dentist appointment is on 13 October at 9:00.",
        "My wedding is in June.",
        "My birthday is on 3 February.",
        "My meeting is every Monday at 9.",
        "My piano lesson is on Friday.",
        "My appointment is on 2 April at 9:00.",
        "The Acme project is due on 12 May.",
    ],
)
def test_what_is_to_come_or_comes_again_is_not_over(text: str) -> None:
    assert known_after(text, now=LATER) == known_after(text) != []


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (("I take metformin.", "The metformin upsets me. Dr. Seidel stopped it and I take Jardiance instead."), []),
        (("I take metformin.", "Dr Seidel stopped the metformin"), []),
        (("I take metformin.", "My GP told me to stop the metformin."), []),
        (("I take ramipril in the morning.", "The ramipril makes me cough. My doctor stopped it."), []),
        (("I take ramipril in the morning.", "My cough comes from the ramipril.", "The doctor stopped it."), []),
        (("My mum lives in Hull.", "Mum passed away in May."), []),
        (("I'm pregnant.", "I had the baby, a boy!"), []),
        (("I'm pregnant.", "Our little girl arrived on Sunday!"), []),
        (("I'm pregnant.", "The baby is here!"), []),
        (("I'm 17.", "Turned 18 yesterday!"), ["Is 18 years old"]),
        (("My boss is Helen.", "Helen retired, my boss is Jo."), ["Jo is their boss"]),
        (("My boss is Helen.", "My boss Helen was fired."), []),
        (("I don't drink coffee.", "started drinking coffee again, one cup in the morning"), []),
        (("I don't drink coffee.", "I'm drinking coffee again."), []),
        (("My boyfriend is called Marcus.", "Marcus and I got married on Saturday!"), ["Marcus is their partner"]),
        (("My dentist appointment is on 13 October.", "The dentist cancelled my appointment, they'll call."), []),
        (("My dentist appointment is on 13 October.", "My dentist appointment was cancelled."), []),
        (("My dentist appointment is on 13 October.", "I cancelled the dentist."), []),
        (("My flight is on 13 October at 9:00.", "Ryanair cancelled my flight."), []),
        (("I live in Ulm.", "I moved to Bonn in May."), ["Lives in Bonn"]),
    ],
)
def test_what_has_ended_is_not_so_any_more(texts: tuple[str, ...], left: list[str]) -> None:
    assert known_after(texts[0]) != left
    assert known_after(*texts) == left


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I take metformin.", "My mum stopped taking metformin."),
        ("I take metformin.", "The ramipril made me cough. The doctor stopped it."),
        ("I take metformin.", "The rain stopped it."),
        ("I take the bus in the morning.", "The bus was late. The doctor stopped it."),
        ("My mum lives in Hull.", "My mum's cat died in May."),
        ("I'm pregnant.", "I had the baby shower on Sunday."),
        ("I'm pregnant.", "My sister had her baby."),
        ("I'm 17.", "Turned 18 pages today."),
        ("My boss is Helen.", "Helen left early yesterday."),
        ("My boss is Helen.", "My dad retired."),
        ("I don't drink coffee.", "started drinking tea again"),
        ("My dentist appointment is on 13 October.", "The dentist cancelled my son's appointment."),
        ("My dentist appointment is on 13 October.", "I cancelled my gym membership."),
        ("My dentist appointment is on 13 October.", "Eva cancelled her appointment."),
        ("My dentist appointment is on 13 October.", "The train was cancelled."),
        ("My boyfriend is called Marcus.", "My brother and I got married on the same day."),
        ("I have a cat called Luna.", "My boss passed away in May."),
    ],
)
def test_what_is_said_of_something_else_ends_nothing(first: str, then: str) -> None:
    assert known_after(first, then) == known_after(first) != []
