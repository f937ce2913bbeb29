"""A person who does not exist: what Mara told her assistant over two weeks, and what she did with her memory since."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

Json = dict[str, Any]

USER = "Mara"

# Days ago, hour, conversation, who speaks, what is said, and what else the turn carries.
SAID: list[tuple[int, str, str, str, str, Json]] = [
    (13, "08:12", "moving", "user", "We are moving to Porto in the spring, probably in April.", {"tags": ["home"]}),
    (13, "08:13", "moving", "assistant", "Shall I keep a list of what the move needs?", {}),
    (13, "08:15", "moving", "user", "Yes. The new flat is on Rua das Flores, third floor.", {"tags": ["home"]}),
    (13, "08:19", "moving", "user", "My partner Jonas works at home on Tuesdays and Thursdays.", {"tags": ["family"]}),
    (11, "19:40", "kitchen", "user", "I am allergic to walnuts, almonds are fine.", {"tags": ["health", "food"]}),
    (11, "19:42", "kitchen", "assistant", "Noted: walnuts never, almonds yes.", {}),
    (11, "19:47", "kitchen", "user", "We cook without meat on weekdays.", {"tags": ["food"], "type": "preference"}),
    (9, "09:05", "studio", "user", "The studio closes its books on the 25th of each month.", {"space": "work"}),
    (9, "09:07", "studio", "user", "Send invoices as PDF, never as a link.", {"space": "work", "type": "instruction"}),
    (9, "09:20", "studio", "user", "Ines leads the museum project, Tomás draws the signs.", {"space": "work"}),
    (8, "12:31", "health", "user", "My dentist is Dr. Almeida, her practice opens at eight.", {"tags": ["health"]}),
    (8, "12:32", "health", "user", "I take the blue inhaler before running, not after.", {"tags": ["health"]}),
    (6, "21:03", "reading", "user", "I am reading Pessoa in Portuguese, slowly, with a dictionary.", {}),
    (6, "21:05", "reading", "assistant", "How many pages a day would you like to manage?", {}),
    (6, "21:06", "reading", "user", "Five pages a day is enough for me.", {"type": "decision"}),
    (5, "07:55", "trips", "user", "I prefer trains over planes, even where they take longer.", {"tags": ["travel"]}),
    (5, "07:58", "trips", "user", "A window seat, facing forwards, in the quiet coach.", {"tags": ["travel"]}),
    (5, "08:02", "trips", "user", "My sister Anna lives in Lyon with her two daughters.", {"tags": ["family"]}),
    (5, "08:04", "trips", "user", "Anna’s birthday is on the 12th of May.", {"tags": ["family"]}),
    (3, "18:22", "code", "user", "I prefer uv over pip for managing Python packages.", {"tags": ["tools"]}),
    (3, "18:24", "code", "user", "Keep explanations short: the answer, then the reason.", {"type": "instruction"}),
    (3, "18:40", "code", "user", "My notes live in Markdown files, in a folder called paper.", {"tags": ["tools"]}),
    (2, "10:10", "studio-2", "user", "The museum wants the first drafts by the end of March.", {"space": "work"}),
    (2, "10:14", "studio-2", "user", "We decided on Inter for screens and Lyon for print.", {"space": "work"}),
    (1, "20:15", "garden", "user", "The balcony gets sun from two until seven.", {"tags": ["home"]}),
    (1, "20:16", "garden", "assistant", "Tomatoes and basil would like that; lettuce would not.", {}),
    (1, "20:18", "garden", "user", "I would like to grow tomatoes, but not to water daily.", {"tags": ["home"]}),
    (1, "20:30", "garden", "user", "I prefer trains over planes, even where they take longer!", {}),
    (0, "06:40", "morning", "user", "I run on Mondays and Saturdays, along the river.", {"tags": ["health"]}),
    (0, "06:42", "morning", "user", "My bicycle is a green Peugeot from 1984.", {}),
    (0, "06:45", "morning", "user", "My car is a blue Renault.", {}),
    (0, "06:48", "morning", "user", "Coffee in the morning, never after two in the afternoon.", {"type": "preference"}),
]  # fmt: skip

THEMES = {
    "travel": ("Travel", "How we like to get around", ["trains over planes", "window seat"]),
    "family": ("Family", "Who belongs to us", ["Anna", "Jonas"]),
    "porto": ("Moving to Porto", "", ["Porto", "Rua das Flores", "balcony"]),
}
PINNED = ["allergic to walnuts", "Keep explanations short", "trains over planes"]
CORRECTED = {"My bicycle is a green Peugeot from 1984.": "My bicycle is a green Peugeot from 1986."}
FORGOTTEN = "My car is a blue Renault."
SECRET = "Nobody shall ever know about the surprise party."


def live(http: httpx.Client) -> None:
    """Say and do all of it as the user of this client; come back when it is digested."""
    http.post("/v1/memory/incognito/start", json={"conversation_id": "surprise"}).raise_for_status()
    _say(http, {"role": "user", "text": SECRET, "conversation_id": "surprise"})
    for turn in turns(datetime.now(UTC)):
        _say(http, turn)
    _wait(lambda: len(entries(http)) >= len(SAID) - 1)  # one is said twice
    _wait(lambda: all(entry["embedding_state"] == "ready" for entry in entries(http)))
    for slug, (name, note, meant) in THEMES.items():
        http.post(
            "/v1/memory/themes", json={"slug": slug, "display_name": name, "description": note}
        ).raise_for_status()
        for words in meant:
            _change(http, words, {"themes": [slug]})
    for words in PINNED:
        http.post(f"/v1/memory/entries/{_id(http, words)}/pin").raise_for_status()
    for before, after in CORRECTED.items():
        _change(http, before, {"text": after})
    http.delete(f"/v1/memory/entries/{_id(http, FORGOTTEN)}").raise_for_status()


def turns(now: datetime) -> list[Json]:
    """What is said, as turns that end a moment ago."""
    made = []
    for days, at, conversation, role, text, more in SAID:
        hour, minute = map(int, at.split(":"))
        said = (now - timedelta(days=days)).replace(hour=hour, minute=minute, second=0, microsecond=0)
        made.append(
            {
                "role": role,
                "text": text,
                "conversation_id": conversation,
                "created_at": min(said, now).isoformat(),
                **more,
            }
        )
    return made


def entries(http: httpx.Client) -> list[Json]:
    """Everything that is remembered."""
    found: list[Json] = http.get("/v1/memory/entries", params={"limit": 200}).raise_for_status().json()["items"]
    return found


def _say(http: httpx.Client, turn: Json) -> None:
    http.post("/v1/memory/turns", json=turn).raise_for_status()


def _id(http: httpx.Client, words: str) -> str:
    return str(next(entry["id"] for entry in entries(http) if words in entry["text"]))


def _change(http: httpx.Client, words: str, change: Json) -> None:
    http.patch(f"/v1/memory/entries/{_id(http, words)}", json=change).raise_for_status()


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)
