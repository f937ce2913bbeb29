"""What of a history that a client sends is not to be kept, nor to be learned from what the assistant says later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contracts.v1.chat import INCOGNITO_BEGINS, ChatVerb
from services.gateway.proxy.dialects import Said
from services.shared.core.chat_commands import command_in
from services.shared.core.echoes import without_echoes, without_words_of
from services.shared.core.unwanted import announces, is_of_whole_chat, is_unwanted

MOST_SENT, LONGEST_SENT = 64, 4096
"""Turns of a history that the client sends, and characters of each, that an answer is compared with."""


def verb_of(text: str) -> ChatVerb | None:
    """What a text asks of the memory."""
    return command.verb if (command := command_in(text)) else None


def is_announced(history: Sequence[Said]) -> bool:
    """Whether the user said last that what they say next is not to be kept; commands stand between without effect."""
    said = (one.text for one in reversed(history) if one.role == "user")
    before = next((text for text in said if announces(text) or verb_of(text) is None), "")
    return announces(before)


def until_incognito(said: Sequence[Said]) -> Sequence[Said]:
    """What was said up to the last wish that nothing of the conversation be kept, as far as it was granted or is the
    newest."""
    if said and verb_of(said[-1].text) == "incognito_start":
        return said
    begun = (at for at in reversed(range(len(said))) if _begins(said[at]))
    at = next(begun, -1)
    return said[: at + (said[at].role == "user")] if at >= 0 else ()


def withheld(history: Sequence[Said]) -> Iterator[str]:
    """What the user said that is not to be kept, by a wish in it or before it, or as the conversation was incognito."""
    is_incognito, is_next = False, False
    for one in history:
        is_incognito = is_incognito or _begins(one)
        if one.role == "user":
            if is_incognito or is_next or is_unwanted(one.text):
                yield one.text
            verb = verb_of(one.text)
            is_next = announces(one.text) or (is_next and verb is not None)
            is_incognito = is_incognito and verb != "incognito_end"


def learned_from(
    answer: str, known: Sequence[str], question: str, history: Sequence[Said], forgotten: Sequence[str]
) -> str:
    """What an answer adds to what its model had been told, without a word of what is not to be kept of that."""
    sent = [Said(said.role, said.text[:LONGEST_SENT]) for said in history[-2 * MOST_SENT :]]
    private = dict.fromkeys((*forgotten, *(text for text in known if is_unwanted(text)), *withheld(sent)))
    return without_echoes(without_words_of(answer, list(private), question), known, question)


def _begins(one: Said) -> bool:
    """Whether the conversation is incognito from here on: that was granted, or wished beside something else."""
    if one.role == "assistant":
        return one.text.startswith(INCOGNITO_BEGINS)
    return one.role == "user" and is_of_whole_chat(one.text) and verb_of(one.text) is None
