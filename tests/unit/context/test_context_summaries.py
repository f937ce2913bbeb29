"""Extractive summaries: where sentences end, what is chosen of them, and what counts."""

from __future__ import annotations

from services.shared.context.summaries import most_telling, rolling_summary, sentence_at, spans
from tests.claims import a_claim
from tests.stores.builders import a_session, an_entry


def test_what_is_surely_stated_stands_for_it_before_what_is_central() -> None:
    said = a_session("ann", ["the kiln reaches cone six", "the kiln has a new lid, cone six", "my mum is Ida"])
    assert "kiln" in most_telling(said, limit=1)[0].text
    stated = [*said[:2], said[2].model_copy(update={"claims": (a_claim(said[2].text, "Ida", "family"),)})]
    assert [one.text for one in most_telling(stated, limit=1)] == ["my mum is Ida"]
    assert [one.text for one in most_telling(stated)] == [one.text for one in said]


def test_what_repeats_a_chosen_sentence_is_chosen_last() -> None:
    text = "the kiln reaches cone six"
    said = a_session("ann", [text, f"{text} now", "glazes craze on porcelain"])
    stated = [one.model_copy(update={"claims": (a_claim(one.text, one.text[-9:], "event"),)}) for one in said]
    assert [one.text for one in most_telling(stated, limit=2)] in ([text, said[2].text], [said[1].text, said[2].text])


def test_the_user_counts_more_than_the_assistant_and_a_sentence_said_twice_names_both() -> None:
    texts = ["glazes craze on porcelain", "parking costs five euros"]
    said = [*a_session("ann", texts[:1], role="assistant"), *a_session("ann", texts[1:])]
    assert most_telling(said, limit=1)[0].role == "user"
    (one,) = most_telling(a_session("ann", texts[:1] * 2), limit=2)
    assert len(one.source_ids) == 2


def test_questions_small_talk_and_what_was_pasted_stand_for_nothing() -> None:
    mail = '"Dear Ms Holloway, thank you. I am a vegetarian. I need to see your passport by Friday. Kind regards, Paul"'
    said = [
        "Hi!",
        "How far is Porto from Lisbon?",
        f"Got this from the agent, what now? {mail}",
        "[12/10/2026, 14:02] Ben: I will send the keys on Monday\n[12/10/2026, 14:03] Me: cool",
        "The flat in Horsforth is above our budget.",
    ]
    assert [one.text for one in most_telling(a_session("ann", said))] == [said[-1]]


def test_a_rolling_summary_changes_with_every_fourth_turn() -> None:
    said = a_session("ann", [f"I planted {plant} in the garden" for plant in "leek kale beet chard dill mint".split()])
    four = rolling_summary(said[:4])
    assert four == rolling_summary(said[:5]) == rolling_summary(said)
    assert four.turns == 4
    assert "leek" in four.text
    assert rolling_summary(said[:3]).text == ""


def test_sentences_are_cut_where_they_end() -> None:
    text = "I met Dr. Huber today. He is 3.5 years older!\nGood."
    assert [text[a:b] for a, b in spans(text)] == ["I met Dr. Huber today.", "He is 3.5 years older!", "Good."]


def test_a_long_sentence_is_shown_where_its_value_is() -> None:
    text = f"{'well, ' * 60}I live in Porto, {'and so on, ' * 60}"
    entry = an_entry("ann", text)
    begin = text.index("Porto")
    shown = sentence_at(entry, (0, len(text)), (begin, begin + 5)).text
    assert shown.startswith("Porto")
    assert len(shown) <= 200
    assert sentence_at(entry, (begin - 10, begin + 6), (begin, begin + 5)).text == "I live in Porto,"
