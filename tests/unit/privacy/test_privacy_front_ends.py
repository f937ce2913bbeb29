"""Which texts and requests are tasks of a program, and which are what a person says.

The requests here were written before what tells them apart, those in `front_ends.jsonl` after it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from services.shared.privacy.front_ends import Request, is_task, sets_task

AGENT = (
    "You are a coding agent in a terminal.\nBe concise. Answer in fewer than 4 lines.\n# Commits\nWhen asked to "
    "commit, draft a commit message of 1-2 sentences. Return only JSON where a tool needs it. Use the tools.\n"
)
DIFF = "diff --git a/app.py b/app.py\nindex 1..2 100644\n--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n-x = 1\n+x = 2\n"
TYPED = "I have moved to Leeds and my landlord is called Owen Marsh."


def _asked(text: str, system: str = "", *before: str, **more: object) -> Request:
    return Request(text=text, system=system, before=before, **more)  # type: ignore[arg-type]


TASKS = [
    # a form that only the system prompt has
    _asked(
        f'"{TYPED}"',
        "You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>\nGenerate a brief title "
        "that would help the user find this conversation later.\n</task>\n\n<rules>\n- max 50 characters\n</rules>",
        "Generate a title for this conversation:",
    ),
    _asked(
        TYPED,
        "Analyze if this message indicates a new conversation topic. If it does, extract a 2-3 word title that "
        "captures the new topic. Format your response as a JSON object with two fields: 'isNewTopic' (boolean) and "
        "'title'. Only include these fields, no other text.",
    ),
    _asked(
        f"Here are the first few user messages:\n{TYPED}",
        "Based on the conversation so far, provide a concise description of this session in 4 words or less. This "
        "will be used for finding the session later in a UI with limited space - reply *ONLY* with the description.",
    ),
    _asked(
        "Summarize the conversation so far, as described in the prompt instructions.",
        "Your task is to create a detailed summary of the conversation so far, paying close attention to the user's "
        "explicit requests and your previous actions.\nOutput only the summary of the conversation so far, without "
        "any additional commentary or explanation.",
    ),
    _asked(
        f"Command: git status\nConversation: {TYPED}",
        "Your task is to process shell commands that an AI coding agent wants to run. Determine the prefix of the "
        "command. ONLY return the prefix. Do not return any other text, markdown markers, or other content.",
    ),
    # the whole history, and an instruction behind it
    _asked(
        "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to create a detailed summary of "
        "the conversation so far, paying close attention to the user's explicit requests and your previous actions.",
        AGENT,
        has_tools=True,
    ),
    _asked(
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM that will "
        "resume the task.\n\nInclude:\n- Current progress and key decisions made\n- What remains to be done",
        AGENT,
    ),
    _asked(
        "Provide a detailed prompt for continuing our conversation above. Focus on information that would be helpful "
        "for continuing the conversation, including what we did, what we're doing, which files we're working on, and "
        "what we're going to do next considering new session will not have access to our conversation.",
        AGENT,
    ),
    _asked(
        "[SUGGESTION MODE: Suggest what the user might naturally type next.]\n\nFIRST: Look at the user's recent "
        "messages and original request.\n\nReply with ONLY the suggestion, no quotes or explanation.",
        AGENT,
        has_tools=True,
    ),
    _asked(
        "Придумай короткий заголовок для этого диалога, не более 5 слов. Верни только заголовок, без "
        f"кавычек.\n\n{TYPED}"
    ),
    # a heading, rules, a frame for what was said
    _asked(
        "### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in "
        "this conversation as a **user**.\n### Guidelines:\n- Use the chat's primary language.\n### Output:\nJSON "
        "format: "
        f'{{ "follow_ups": ["Q1?"] }}\n### Chat History:\n<chat_history>\nUSER: {TYPED}\n</chat_history>"'
    ),
    _asked(
        "## Aufgabe\nErzeuge 1-3 Schlagworte zum Thema der Unterhaltung.\n\n## Regeln\n- Nur JSON\n- "
        f"Kleinschreibung\n\n## Verlauf\n<chat_history>\nUSER: {TYPED}\n</chat_history>"
    ),
    _asked(
        f"### Instruction\nPick one emoji for the message.\n\n### Rules\n- one emoji\n\n### Input\n{TYPED}\n\n### "
        "Output"
    ),
    _asked(
        "Your task is to reflect the speaker's likely facial expression through a fitting emoji. Interpret emotions "
        f"from the message and reflect their facial expression using fitting emojis.\n\nMessage: ```{TYPED}```"
    ),
    # what was typed, quoted, with hardly a word
    _asked(f'Summarize in a 10-word Title. Give the title only. "{TYPED}"'),
    _asked(f'"{TYPED}"', "", "Generate a title for this conversation:"),
    _asked(
        f"Task: name this\n\nuser: {TYPED}\nassistant: Good for you, how is the flat?\n\nName:",
        heard=(TYPED, "Good for you, how is the flat?"),
    ),
    _asked(
        f"Otsikko?\n\nkäyttäjä: {TYPED}\navustaja: Good for you, how is the flat?",
        heard=(TYPED, "Good for you, how is the flat?"),
    ),
    # the form of the answer
    _asked(TYPED, "Sort this.", fields=frozenset({"title"})),
    _asked(TYPED, "", fields=frozenset({"isNewTopic", "title"})),
    # a probe
    _asked("quota", most_tokens=1),
    _asked("foo", AGENT, most_tokens=1),
]

PERSONS = [
    _asked("Give me a title for my novel about a lighthouse keeper called Anna."),
    _asked("Summarise our conversation."),
    _asked("Give our chat a title"),
    _asked("Only answer in JSON: what is the capital of France?"),
    _asked("Return only the title of the film, nothing else: the one where my uncle played the butler."),
    _asked(DIFF),
    _asked(DIFF, AGENT, has_tools=True),
    _asked(TYPED, AGENT, has_tools=True),
    _asked(TYPED, "You are a helpful assistant that can summarize conversations and suggest titles. Reply in JSON."),
    _asked(TYPED, "You are a title insurance agent. Answer in under 50 words."),
    _asked(TYPED, "Generate friendly replies to the user's messages. No markdown."),
    _asked("I work in title insurance, and I have to summarise a session for my boss."),
    _asked('My sister said: "I have moved to Leeds."', heard=(TYPED, "Good for you, how is the flat?")),
    _asked(f"I told you: {TYPED} Do you remember?", heard=(TYPED, "Good for you, how is the flat?")),
    _asked(
        "You said: Good for you, how is the flat? It is small, to be honest.",
        heard=(TYPED, "Good for you, how is the flat?"),
    ),
    _asked(TYPED, heard=(TYPED, "Good for you, how is the flat?")),
    _asked("And my cat is called Otto.", "", "Give our conversation a title"),
    _asked("My cat is called Otto.", "", "Generate a title for this picture:"),
    _asked("I play chess.", "", "### Task:\nGenerate a title.\n<chat_history>\nUSER: hello\n</chat_history>"),
    _asked("## My week\n- met Anna\n- moved to Leeds\n\n## Next week\n- paint the flat"),
    _asked("# Task\nbuy milk and call Owen Marsh"),
    _asked("### Rules of our house\n- no shoes\n- no smoking\n\n### Output of the garden\n- 5 kg of plums"),
    _asked("Bitte fasse unser Gespräch zusammen."),
    _asked("请总结一下我们的对话。"),
    _asked("给我的小说起一个标题，不超过十个字。"),
    _asked("Is there a quota on my plan?", most_tokens=64),
    _asked(TYPED, most_tokens=16),
    _asked(TYPED, "Extract the city.", fields=frozenset({"city"})),
    _asked(TYPED, "", fields=frozenset({"name", "address", "title"})),
    _asked("user: my name here is only my login\nassistant: is what I call my wife. Funny, isn't it?"),
    _asked("Provide a name for the thread pool, only the name."),
    _asked("Let's continue our conversation above: the flat in Leeds has two rooms."),
    _asked("Please respond with text only, my screen reader cannot do tables. I am blind."),
    _asked("Do not call any tools. My name is Anna.", AGENT, has_tools=True),
]


def _read(**fields: Any) -> Request:
    return Request(**fields | {"fields": frozenset(fields.get("fields", ()))})


for _line in (Path(__file__).parent / "front_ends.jsonl").read_text("utf-8").splitlines():
    _fields = json.loads(_line)
    (TASKS if _fields.pop("kind") == "task" else PERSONS).append(_read(**_fields))


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
