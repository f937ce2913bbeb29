"""Answers without what the model thought in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.v1.turns import Turn
from services.shared.privacy.thoughts import without_thoughts
from services.shared.privacy.wrappers import as_spoken

HM = "Okay, the user likes tea. I should offer some.\n\nOr coffee?"
A = "The kettle is on."

THOUGHTS = [
    f"<think>{HM}</think>\n\n{A}",
    f"{HM}\n</think>\n\n{A}",
    f"{HM}</think>{A}",
    f"[THINK]{HM}[/THINK]{A}",
    f"<|channel|>analysis<|message|>{HM}<|end|><|start|>assistant<|channel|>final<|message|>{A}<|return|>",
    f"<|start|>assistant<|channel|>analysis<|message|>{HM}<|end|><|start|>assistant<|channel|>commentary<|message|>Hm<|end|>"
    f"<|start|>assistant<|channel|>final<|message|>{A}",
    f"analysis{HM}assistantfinal{A}",
    f"◁think▷{HM}◁/think▷{A}",
    f'<details type="reasoning" done="true" duration="3">\n<summary>For 3 s</summary>\n> {HM}\n</details>\n{A}',
    f"<|begin_of_thought|>\n{HM}\n<|end_of_thought|>\n\n<|begin_of_solution|>\n{A}\n<|end_of_solution|>",
    f"```thinking\n{HM}\n```\n{A}",
    f"<|START_THINKING|>{HM}<|END_THINKING|><|START_RESPONSE|>{A}<|END_RESPONSE|>",
    f"=== THINKING ===\n{HM}\n=== END THINKING ===\n{A}",
    f"<think>{HM}</think><think>{HM}</think>{A}",
    f"<think>\n<think>{HM}</think>\n{HM}\n</think>\n{A}",
    f"{A}\n<think>\n{HM}\n</think>",
    f"{A}\n\n<thinking>{HM}",
    f"{A} <think>{HM}</think>",
    f"{A}\n```reasoning\n{HM}",
    f'<details class="thinking">\n{HM}\n</details>\n{A}',
    f"<self_reflection>{HM}</self_reflection>{A}",
    f":::thinking\n{HM}\n:::\n{A}",
    f"**<think>**\n{HM}\n**</think>**\n\n{A}",
]


@pytest.mark.parametrize("answer", THOUGHTS)
def test_thoughts_are_no_part_of_an_answer(answer: str) -> None:
    assert without_thoughts(answer) == A


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{HM}",
        f"[THINK]{HM}",
        f"◁think▷{HM}",
        f"<|channel|>analysis<|message|>{HM}",
        f"<think>{HM}</think>",
        f"{HM}\n</think>",
        f"```thinking\n{HM}",
        f'<details type="reasoning" done="false">\n> {HM}',
    ],
)
def test_nothing_is_left_of_an_answer_that_was_cut_in_its_thoughts(answer: str) -> None:
    assert without_thoughts(answer) == ""


def test_what_stands_around_thoughts_is_kept() -> None:
    assert without_thoughts(f"Sure.\n<think>\n{HM}\n</think>\n{A}") == f"Sure.\n\n{A}"
    assert without_thoughts(f"Sure. <think>{HM}</think> {A}") == f"Sure.\n\n{A}"


@pytest.mark.parametrize(
    "answer",
    [
        "Use the `<think>` tag for that, and close it with `</think>`.",
        "Use:\n\n    <think>\n    hm\n    </think>\n\nfor it.",
        "1. Open with <think>\n2. Close with </think>\n3. Answer",
        "| mark | use |\n|---|---|\n| <think> | thoughts |\n| </think> | end |",
        "=== Reasoning ===\nTea is warm.",
        "The model writes `<think>hm</think>` before it answers.",
        "```html\n<think>\nhm\n</think>\n```\nThis is how its answers look.",
        "```python\nthinking = True\n```\nSets it.",
        "I think tea is fine. My reasoning: it is warm.",
        "## Reasoning\n\nTea is warm.\n\n## Conclusion\n\nTea.",
        "<details>\n<summary>More</summary>\nTea is warm.\n</details>",
        "<answering>Tea</answering> is what the file says.",
        "The channel is <|channel|> in that format, with analysis in it.",
        "A [/think] command switches it off in some models: type /no_think.",
    ],
)
def test_an_answer_that_tells_of_the_marks_stays_whole(answer: str) -> None:
    assert without_thoughts(answer) == answer


def test_thoughts_in_turns_that_are_published_are_no_part_of_them_either() -> None:
    turn = Turn(user_id="u", role="assistant", text=f"<think>{HM}</think>\n{A}")
    said = as_spoken(turn)
    assert said is not None
    assert said.text == A
    assert as_spoken(turn.model_copy(update={"text": f"<think>{HM}"})) is None


_WORDS = st.text(st.characters(codec="utf-8", categories=("Lu", "Ll", "Nd")), min_size=1, max_size=12)
_PROSE = st.lists(_WORDS, min_size=1, max_size=12).map(lambda words: f"The {' '.join(words)}.")


@given(_PROSE, _PROSE, st.sampled_from(["think", "thinking", "reasoning", "scratchpad", "seed:think"]))
def test_whatever_is_thought_the_answer_is_left(thought: str, answer: str, name: str) -> None:
    assert without_thoughts(f"<{name}>{thought}</{name}>\n\n{answer}") == answer
    assert without_thoughts(f"{thought}\n</{name}>\n\n{answer}") == answer
    assert without_thoughts(f"{answer}\n\n<{name}>\n{thought}") == answer


@pytest.mark.parametrize("mark", ["<end>", "<END/>", "<begin>", "[end]", "<end_think>", "<_>", "<of>"])
def test_a_mark_without_a_name_is_read(mark: str) -> None:
    assert without_thoughts(f"I think so.\n{mark}\nIt is in Turku.").endswith("It is in Turku.")


@given(_PROSE)
def test_without_marks_an_answer_is_as_it_was(answer: str) -> None:
    assert without_thoughts(answer) == answer


LABELLED = [
    "**Thinking:** maybe they live in Madrid.\n\n**Answer:** {}",
    "Thinking Process:\n\n1. maybe Madrid\n2. no\n\nFinal answer: {}",
    "> Reasoning: maybe Madrid\n> and left-handed\n\n{}",
    "*thinks: maybe Madrid*\n\n{}",
    "(Thinking: maybe Madrid)\n\n{}",
    "### Thinking\nmaybe Madrid\n\n### Response\n{}",
    "Internal monologue: maybe\n\nReply: {}",
    "Thought: maybe Madrid\nThought: or Rome\nFinal Answer: {}",
    "Reasoning:\nmaybe Madrid\n\nAnswer:\n{}",
]


@pytest.mark.parametrize("form", LABELLED)
def test_thoughts_below_a_label_are_none_of_the_answer(form: str) -> None:
    answer = "You live in Rome.\n\nShall I go on?"
    assert without_thoughts(form.format(answer)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        "Reasoning models are good at maths. Answer: yes.",
        "Thoughts on your essay: it is good.",
        "My thinking: you should rest. Eat well.",
        "Analysis: the court ruled in 1990.\n\nMore to follow.",
        "Reason: the plug was loose.",
        "*Thinking, Fast and Slow* is a book.\n\nI like it.",
        "Reason for the delay: rain.\n\nSolution: wait.",
        "Thinking about Rome? Here is a plan:\n\nAnswer: go in May.",
    ],
)
def test_an_answer_that_begins_like_thoughts_stays(answer: str) -> None:
    assert without_thoughts(answer) == answer
