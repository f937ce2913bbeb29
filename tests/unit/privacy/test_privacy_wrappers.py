"""What a person said in a message around which a program wrapped something."""

from __future__ import annotations

import time
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.turns import Turn
from services.shared.privacy import wrappers
from services.shared.privacy.wrappers import as_spoken, spoken_by, without_rules, without_wrappers

Q = "Where do I keep my kayak?"
DOC = "Petra lives in Umeå.\nShe is a marine biologist, and her PIN is 4711."

NAMED = [
    (f"<system-reminder>\n{DOC}\n</system-reminder>", Q),
    (f"<system-reminder>Today is Monday.</system-reminder>\n{Q}",),
    (
        '### Task:\nAnswer with the context, and cite **only where a <source> has an id** (as <source id="1">).\n\n'
        f'### Guidelines:\n- Be short.\n\n### Output:\nAn answer.\n\n<context>\n<source id="1" name="cv (a).pdf">{DOC}'
        f'</source>\n<source id="2" name="b.pdf">{DOC}</source>\n</context>\n\n{Q}',
    ),
    (
        f"# AGENTS.md instructions for /home/someone/project\n\n<INSTRUCTIONS>\n# Rules\n\n{DOC}\n</INSTRUCTIONS>",
        "<environment_context>\n  <cwd>/home/someone</cwd>\n  <shell>bash</shell>\n</environment_context>",
        Q,
    ),
    (f"{Q}\n\n<environment_details>\n# Open files\n{DOC}\n</environment_details>",),
    (f'<attached_files>\n<file path="a.py">\n{DOC}\n</file>\n</attached_files>\n\n{Q}',),
    (f"[CONTEXT 0]\n{DOC}\n[END CONTEXT 0]\n\n[CONTEXT 1]\n{DOC}\n[END CONTEXT 1]\n\n{Q}",),
    (f"File: diary.txt\n```\n{DOC}\n```\n\n{Q}",),
    (
        f'<documents>\n<document index="1">\n<source>a.pdf</source>\n<document_content>\n{DOC}\n</document_content>\n'
        f"</document>\n</documents>\n\n{Q}",
    ),
    (f"{Q}\n\n--- START OF FILE diary.txt ---\n{DOC}\n--- END OF FILE ---",),
    (f"<task>\n{Q}\n</task>\n\n<environment_details>\n{DOC}\n</environment_details>",),
]
"""Parts of messages with shapes of programs that are known; what was said is `Q`."""

INVENTED = [
    (f'<kb:snippet score="0.83" src=\'a "b".md\'>\n{DOC}\n</kb:snippet>\n{Q}',),
    (f"{Q}<workspace_state>{DOC}</workspace_state>",),
    (f"<outer>\n<inner>\n{DOC}\n</outer>\n{Q}",),
    (f'<section title="x">\n{DOC}\n</section>\n\n{Q}\n\n<data>\n{DOC}\n</data>',),
    (f"<one>{DOC}</one><two>{DOC}</two>\n<three>{DOC}</three>\n{Q}",),
    (f"⟦notes⟧\n{DOC}\n⟦/notes⟧\n{Q}",),
    (f"【资料】\n{DOC}\n【/资料】\n{Q}",),
    (f"{{{{#notes}}}}\n{DOC}\n{{{{/notes}}}}\n{Q}",),
    (f"{{% context %}}\n{DOC}\n{{% endcontext %}}\n{Q}",),
    (f'[file name="a.txt"]\n{DOC}\n[/file]\n{Q}',),
    (f"<|begin_of_page|>{DOC}<|end_of_page|>\n{Q}",),
    (f"<|context|>\n{DOC}\n<|/context|>\n{Q}",),
    (f"<START_OF_PAGE>\n{DOC}\n<END_OF_PAGE>\n{Q}",),
    (f"=== notes ===\n{DOC}\n=== end notes ===\n{Q}",),
    (f"=== File: a.txt ===\n{DOC}\n=== End of file: a.txt ===\n{Q}",),
    (f"BEGIN TRANSCRIPT\n{DOC}\nEND TRANSCRIPT\n{Q}",),
    (f"~~~~ log start ~~~~\n{DOC}\n~~~~ log end ~~~~\n{Q}",),
    (f"@@diary@@\n{DOC}\n@@/diary@@\n{Q}",),
    (f":::knowledge\n{DOC}\n:::\n{Q}",),
    (f'"""\n{DOC}\n"""\n{Q}',),
    (f'**src/app.py** (12 lines)\n````python title="app.py"\n```\n{DOC}\n```\n````\n{Q}',),
    (f"## Attachment: my diary.txt\n```\n{DOC}\n```\n\n{Q}",),
    (f'{Q}\n\n<document name="contract.pdf">\n{DOC[:30]}',),
    (f"{Q}\n\n<page_content>\n{DOC}\n<para",),
    (f"{Q}\n\n-----BEGIN NOTES-----\n{DOC}",),
    (f"[NOTE 0]\n{DOC}\n[END NOTE 0]\n{Q}\n[NOTE 1]\n{DOC[:9]}",),
    (f"<context>{DOC}</context><question>{Q}</question>",),
    (f"<rules>\n{DOC}\n</rules>\n<prompt><history>{DOC}</history>\n{Q}</prompt>",),
    (f"<task>Answer from the page.</task>\n<page>{DOC}</page>\n<customer_question>{Q}</customer_question>",),
    (f"[INST] <<SYS>>\n{DOC}\n<</SYS>>\n\n{Q} [/INST]",),
    (f"# Context from my editor:\n\n## Open tabs:\n- a.py\n\n## My request for the agent:\n{Q}",),
    (f"# Rules:\n- Be short.\n\n<docs>\n{DOC}\n</docs>\n\n# Question:\n{Q}\n\n# Answer:\n",),
    (
        "Use the text between <pages> and </pages> below to answer; where it does not say, say that you do not know.\n"
        f"<pages>\n{DOC}\n</pages>\nQuestion: {Q}\nAnswer:",
    ),
    (
        "Consider what is inside of `[HITS]` before you answer, and quote the parts that you rely upon.\n"
        f"[HITS]\n{DOC}\n[/HITS]\n{Q}",
    ),
    (f"<notes>\n{DOC}\n</notes>", f"A list of tools.\n\n<tool>\n{DOC}\n</tool>\nUse them well.", Q),
    (f"<context>\n{DOC}\n</context>\n\n---\n\n{Q}",),
    (f"Context:\n<context>\n{DOC}\n</context>\n\nQuestion:\n{Q}",),
    (f"## Context\n\n<context>\n{DOC}\n</context>\n\n## Question\n\n{Q}",),
    (f"<document>\nIt says <document> and `code` and ```\nx\n</document>\n{Q}",),
    (f"<context>\n{DOC}\n<end>\n{Q}",),
    (f"```context\n{DOC}\n```\n{Q}",),
    (f"\ufeff<context>\n{DOC}\n</context>\n{Q}",),
    (f'<webpage url="https://x.y/?a=1">\n<html><body><h1>Hi</h1>{DOC}</body></html>\n</webpage>\n{Q}',),
    (f'{Q}\n<cursor-position line="3" />',),
    (f"<selected_text>\n{DOC}\n</selected_text>\n\n<instruction>\n{Q}\n</instruction>",),
    (f"<instruction>\nAnswer in one word.\n</instruction>\n{Q}",),
    ('Tool read was called with: {"path": "/x"}', f"<path>/x</path>\n<content>\n{DOC}\n</content>", Q),
]
"""The same with shapes that nobody named."""


@pytest.mark.parametrize("parts", [*NAMED, *INVENTED])
def test_only_what_a_person_said_is_left(parts: tuple[str, ...]) -> None:
    assert without_wrappers(*parts) == Q


@pytest.mark.parametrize(
    "parts",
    [
        (f"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\n{DOC}\n</INSTRUCTIONS>", "<env>\nx\n</env>"),
        (f"<tool_output>\n{DOC}",),
        (f"=== log ===\n{DOC}\n=== end log ===\n\n<empty></empty>",),
        ("<command-name>/new</command-name>\n  <command-message>new</command-message>\n<command-args/>",),
    ],
)
def test_nothing_is_left_where_a_program_made_all_of_it(parts: tuple[str, ...]) -> None:
    assert without_wrappers(*parts) == ""


TYPED = [
    "I use the <b>bold</b> tag",
    "I <3 Turku, and a < b and c > d",
    "My page has a `<div>` and\n<article>\nHello there\nHello again\n</article>\nWhy is it not in the middle?",
    "I prefer List<String> to Map<String, List<Integer>> in Java.",
    '<div class="box">\n  <p>Hello</p>\n</div>\nWhy is this not in the middle?',
    "<!DOCTYPE html>\n<html>\n<body>\n<my-tag>\n<article>\n<h1>Hi</h1>\n</article>\n</my-tag>\n</body>\n</html>",
    "<Button>Save</Button> does nothing when I click it.",
    "I have the <config>x</config> element in my file, but <name> is empty",
    "My template is\n<name>\n<title>\nand my number",
    "# Weekend\n\n- I see Ida\n\n## Start\nAt nine.\n\n## End\nAt five.",
    "### Task:\nI have to paint the shed.\n### Rules:\nNo red.",
    "> Ida wrote:\n> come at nine\n\nI come at ten.",
    "My deploy command is\n```bash\nmake deploy\n```\nand I run it on Fridays.",
    "I keep [[Project X]] and [[Ida]] in my vault. {{title}} is a field.",
    "【重要】\n私はトゥルクに住んでいます。\n【以上】",
    "if (a <b && c> d) { x(); }",
    "x << 2 >> 1, and ((a)) or {{a}}",
    "<sigh>\nI am tired.",
    "<rant>\nMy landlord never fixed the roof.\n</rant>",
    "<Ida> are you there?\n<Tom> yes\n</sarcasm>",
    "-----Original Message-----\nFrom: Ida\nHi",
    "=== Monday ===\nswim\n=== Tuesday ===\nrun\n=== Weekend ===\nrest",
    "START\nI was born\nEND",
    "Question: is it cold in Turku?\nAnswer: yes.",
    "@@ -1,2 +1,2 @@\n-a\n+b\nmy diff",
    "I use <Suspense fallback={<Spinner/>}>\n  <Profile/>\n</Suspense>\nand I live in Turku",
]


@pytest.mark.parametrize("text", TYPED)
def test_what_a_person_types_stays_whole(text: str) -> None:
    assert without_wrappers(text) == text


@pytest.mark.parametrize("text", TYPED)
@pytest.mark.parametrize(
    "wrap",
    [
        "<system-reminder>\n{doc}\n</system-reminder>\n\n{said}",
        '{said}\n\n<context>\n<source id="1">{doc}</source>\n</context>',
        "[CONTEXT 0]\n{doc}\n[END CONTEXT 0]\n{said}\n[CONTEXT 1]\n{doc}\n[END CONTEXT 1]",
    ],
)
def test_what_a_person_types_comes_back_out_of_a_wrapper(text: str, wrap: str) -> None:
    doc = DOC.replace("\n", "\n\n")
    assert without_wrappers(wrap.format(doc=doc, said=text)) == text


def test_a_sentence_beside_a_long_block_is_kept() -> None:
    log = "\n".join(f"line {number} of the log" for number in range(200))
    assert without_wrappers(f"My server is called heron.\n```\n{log}\n```\nWhat is wrong?") == (
        "My server is called heron.\n\nWhat is wrong?"
    )


@pytest.mark.parametrize("name", ["previous_question", "messages", "user_info", "task_list", "new", "customer", "our"])
def test_a_mark_of_another_name_has_nothing_in_it_that_was_said(name: str) -> None:
    assert without_wrappers(f"<{name}>\n{DOC}\n</{name}>\n{Q}") == Q


def test_rules_at_the_end_that_the_system_prompt_ends_with_are_not_said() -> None:
    rules = "Answer in a list.\n\nKeep to:\n- files\n- lines\n\nReply in English."
    system = f"You are an agent.\n\n{rules}\n"
    assert without_rules(f"{Q}\n\n{rules}\n", [system]) == Q
    assert without_rules(f"{Q}\n\nReply in English.", [system]) == Q
    assert without_rules(f"{Q}\n\nReply in German.", [system]) == f"{Q}\n\nReply in German."
    assert without_rules("Reply in English.", [system]) == "Reply in English."


@pytest.mark.parametrize(
    ("role", "text", "said"),
    [
        ("user", f"I keep it [here].\n{Q}", f"I keep it [here].\n{Q}"),
        ("user", f"<files>\n{DOC * 200}\n</files>\n{Q}", Q),
        ("assistant", f"<think>{DOC}</think>\n{Q}", Q),
        ("assistant", f"I think [so].\n{Q}", f"I think [so].\n{Q}"),
        ("user", f"<files>\n{DOC}\n</files>", ""),
    ],
)
def test_a_message_that_comes_again_is_not_read_again(
    monkeypatch: pytest.MonkeyPatch, role: str, text: str, said: str
) -> None:
    assert spoken_by(role, text) == said
    monkeypatch.setattr(wrappers, "without_wrappers", None)
    monkeypatch.setattr(wrappers, "without_thoughts", None)
    assert spoken_by(role, text) == said


def test_of_messages_some_are_known_again() -> None:
    known = wrappers._Known()
    for number in range(wrappers._MOST_KNOWN + 2):
        known("user", [f"{number}"])
    assert len(known._said) == 2
    text = "word " * 30_000
    for number in range(60):
        known("user", [f"<files>\n{number}\n</files>\n{text}"])
    assert known._size <= wrappers._MOST_KEPT + len(text)


def test_a_turn_that_is_saved_on_purpose_stays_as_it_is() -> None:
    text = f"<note>\n{DOC}\n</note>"
    turn = Turn(user_id="u", role="user", text=text)
    assert as_spoken(turn) is None
    assert as_spoken(turn.model_copy(update={"manually_saved": True})) == turn.model_copy(
        update={"manually_saved": True}
    )
    said = as_spoken(turn.model_copy(update={"text": f"{text}\n{Q}"}))
    assert said is not None
    assert said.text == Q
    assert as_spoken(turn.model_copy(update={"role": "tool"})) is not None


# --- properties -----------------------------------------------------------------------------------------------------

_NAMES = st.text(ascii_lowercase, min_size=3, max_size=9).map(lambda name: f"{name}x")
_PLAIN = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "Zs", "Po"), exclude_characters="\\/@%#&*'\"·`"), max_size=80
)
_SENTENCES = st.lists(_PLAIN.map(str.strip).filter(bool), min_size=1, max_size=4).map("\n".join).map(str.strip)
_FORMS = st.sampled_from(
    [
        "<{name}>\n{doc}\n</{name}>",
        "<{name} id=\"1\" src='a'>{doc}\nx</{name}>",
        "[[{name}]]\n{doc}\n[[/{name}]]",
        "{{{{#{name}}}}}\n{doc}\n{{{{/{name}}}}}",
        "⟦{name}⟧\n{doc}\n⟦/{name}⟧",
        "=== {name} ===\n{doc}\n=== end {name} ===",
        "-----BEGIN {name}-----\n{doc}\n-----END {name}-----",
        "[BEGIN {name}]\n{doc}\n[END {name}]",
        "File: {name}.txt\n```\n{doc}\n```",
        "<{name}>\n<deep>\n{doc}\n</deep>\n</{name}>",
    ]
)


@given(said=_SENTENCES, name=_NAMES, doc=_SENTENCES, form=_FORMS, first=st.booleans())
def test_whatever_is_typed_comes_back_out_of_whatever_wrapper(
    said: str, name: str, doc: str, form: str, first: bool
) -> None:
    wrapper = form.format(name=name, doc=doc)
    text = f"{said}\n\n{wrapper}" if first else f"{wrapper}\n\n{said}"
    assert without_wrappers(text) == said


@given(_SENTENCES)
def test_without_marks_nothing_changes(said: str) -> None:
    assert without_wrappers(said) == said


@given(
    st.lists(
        st.sampled_from(
            ["<a>", "</a>", "<ctx n='1'>", "</ctx>", "[x]", "[/x]", "```", "\n", "word ", "=== a ===", "END"]
        )
    )
)
def test_any_marks_are_read(pieces: list[str]) -> None:
    without_wrappers("".join(pieces))


def test_a_heading_with_blanks_behind_it_is_read_at_once() -> None:
    began = time.thread_time()
    without_wrappers("# my request" + "\t" * 4000 + " " * 4000 + "?")
    assert time.thread_time() - began < 0.1
