"""Which texts and requests are tasks of a program, and which are what a person says."""

from __future__ import annotations

import pytest

from services.shared.privacy.front_ends import Request, is_task, sets_task
from tests.unit.privacy.front_end_cases import PERSONS, TASKS


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nGenerate a concise title.\n<chat_history>\nUSER: my cult is Gnarfbund\nASSISTANT: "
        "ok\n</chat_history>",
        "### Task:\nAnalyze the chat history to determine the necessity of generating search "
        "queries\n<chat_history>\nUSER: a\n</chat_history>",
        "### Tarea:\nGenera un título conciso.\n### Salida:\nJSON",
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the "
        "title itself.\n\nConversation:\nUser: hi",
        "Detect user language and write in the same language an extremely concise title for this conversation, which "
        "you must accurately detect. Write in the detected language. Title in 5 Words or Less. No Punctuation or "
        "Quotation.",
        "Please generate a four to five word title summarizing our conversation without any lead-in, punctuation, "
        "quotation marks, periods, symbols, bold text, or additional text. Remove enclosing quotation marks.",
        "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
        "Based on the chat history, give this conversation a name.\nKeep it short - 10 characters max, no "
        "quotes.\nUse English.\nJust provide the name, nothing else.\n\nHere's the conversation:\n",
        "Generate a concise, descriptive title for this conversation based on the user's "
        "message.\n\nRequirements:\n- 3 to 5 words\n- No quotation marks\n- Only output the title, nothing else",
        "Name this chat in at most 5 words. Reply with the name only, no quotes.",
    ],
)
def test_what_a_front_end_asks_beside_the_chat_is_a_task(text: str) -> None:
    assert is_task(text)


@pytest.mark.parametrize(
    "text",
    [
        "Write a summary of the meeting: Anna left, Bob stays",
        "Please write a short title for this photo",
        "### Task:\nRespond to the user query using the provided context\n<context>abc</context>\nWhat is my dog "
        "called?",
        "Summarize this article in 200 words or less: ...",
        "I need a title for my talk about discussion culture",
        "My task is to write a title",
        "I had a conversation with Anna about names for the baby",
        "Write a message to my landlord in 50 words or less",
        "Give me three names for a chat app in JSON",
        "### Aufgabe:\nFinde die Überschrift meines Aufsatzes.\n### Format:\nkurz",
        "### Tâche:\nTrouve le titre de ma chanson.\n### Sortie:\nle titre",
        "Create a thread pool with ten workers and return only the JSON",
    ],
)
def test_what_somebody_asks_is_none(text: str) -> None:
    assert not is_task(text)


@pytest.mark.parametrize("request_", TASKS, ids=lambda one: one.text[:40])
def test_what_a_program_asks_by_itself_is_a_task(request_: Request) -> None:
    assert sets_task(request_)


@pytest.mark.parametrize("request_", PERSONS, ids=lambda one: one.text[:40])
def test_what_a_person_asks_in_like_words_is_none(request_: Request) -> None:
    assert not sets_task(request_)
