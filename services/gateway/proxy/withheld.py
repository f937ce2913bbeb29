"""What of a history that a client sends is to be kept, and what not, nor to be learned or told later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from contracts.v1.chat import INCOGNITO_BEGINS, ChatVerb
from services.gateway.proxy.dialects import Asked, Said
from services.shared.context.echoes import without_blocks, without_echoes, without_words_of
from services.shared.language.analysis import telling_terms
from services.shared.language.traits import is_mere_request
from services.shared.privacy.chat_commands import asks_to_forget, command_in
from services.shared.privacy.front_ends import is_task
from services.shared.privacy.unwanted import announces, is_of_whole_chat, is_unwanted

MOST_SENT, LONGEST_SENT = 64, 4096
"""Turns of a history that the client sends, and characters of each, that an answer is compared with."""

_MOST_TOLD = 100_000
"""Characters of a history, the newest, in which what a command points at is looked for."""

_LONGEST_STATED = 400
_REPLACED_FROM = 0.5
"""The share of the telling words of a statement that another has which stands in its place."""


def verb_of(text: str) -> ChatVerb | None:
    """What a text asks of the memory."""
    return command.verb if (command := command_in(text)) else None


def is_announced(history: Sequence[Said]) -> bool:
    """Whether the user said last that what they say next is not to be kept; commands stand between without effect."""
    said = islice((one.text for one in reversed(history) if one.role == "user"), MOST_SENT)
    before = next((text for text in said if announces(text) or verb_of(text) is None), "")
    return announces(before)


def until_incognito(said: Sequence[Said]) -> Sequence[Said]:
    """What was said up to the last wish that nothing of the conversation be kept, as far as it was granted or nothing
    was answered to it."""
    begun = (at for at in reversed(range(len(said))) if _begins(said, at))
    at = next(begun, -1)
    return said[: at + (said[at].role == "user")] if at >= 0 else ()


def withheld(history: Sequence[Said]) -> Iterator[str]:
    """What the user said that is not to be kept, by a wish in it or before it, or as the conversation was incognito."""
    is_incognito, is_next = False, False
    for at, one in enumerate(history):
        is_incognito = is_incognito or _begins(history, at)
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


def wishes_incognito(text: str) -> bool:
    """Whether a user wishes that nothing of the conversation be kept, with nothing else or beside it."""
    verb = verb_of(text)
    return verb == "incognito_start" or (verb is None and is_of_whole_chat(text))


def _begins(said: Sequence[Said], at: int) -> bool:
    """Whether the conversation is incognito from here on: that was granted, or wished and not answered by itself."""
    one = said[at]
    if one.role == "assistant":
        return one.text.startswith(INCOGNITO_BEGINS)
    if one.role != "user":
        return False
    after = (other.role for other in said[at + 1 :] if other.role in ("user", "assistant"))
    if next(after, "user") == "user":
        return wishes_incognito(one.text)
    return is_of_whole_chat(one.text) and verb_of(one.text) is None


def is_private(text: str) -> bool:
    """Whether what a user says is not to be kept, or asks for something to be forgotten, which it may tell of."""
    return is_unwanted(text) or asks_to_forget(text)


def kept_unanswered(asked: Asked) -> Iterator[tuple[int, str]]:
    """What the user said just before the question without an answer, and where, as far as it is to be kept."""
    others = [said for said in asked.history if said.role == "user"]
    for left, (at, text) in zip(range(len(asked.unanswered), 0, -1), asked.unanswered, strict=True):
        text = without_blocks(text).strip()
        is_withheld = is_private(text) or is_announced(others[: len(others) - left])
        if text and not (is_withheld or verb_of(text) or is_task(asked.as_sent(at))):
            yield at, text


def told_in(history: Sequence[Said]) -> tuple[str, ...]:
    """What was said in a conversation as its client sends it: the newest."""
    told, room = list[str](), _MOST_TOLD
    for one in reversed(history):
        text = without_blocks(one.text).strip() if one.role in ("user", "assistant") else ""
        room -= len(text)
        if room < 0:
            break
        told += [text] if text else []
    return tuple(dict.fromkeys(told))


def withdrawn(own: Iterable[tuple[str, str]], said: Sequence[str]) -> list[str]:
    """Of what was once said in a conversation, by id, what is not there any more and has another statement in place.

    `said` is what its client sends now, each on one line. Chats that begin alike have one name: what merely is not in
    the history may be of another.
    """
    short = [(id_, " ".join(text.split())) for id_, text in own if len(text) <= _LONGEST_STATED]
    gone = [(id_, words) for id_, words in short if not any(words in text for text in said)]
    if not gone:
        return []
    stated = [text for text in said if 0 < len(text) <= _LONGEST_STATED and not is_mere_request(text)][-MOST_SENT:]
    terms = [frozenset(telling_terms(text)) for text in stated]
    return [id_ for id_, words in gone if _is_replaced(frozenset(telling_terms(words)), terms)]


def _is_replaced(terms: frozenset[str], stated: Sequence[frozenset[str]]) -> bool:
    """Whether a statement has most of another's telling words, and is as short, nearly."""
    return any(
        terms != other and len(terms & other) >= max(1, _REPLACED_FROM * max(len(terms), len(other)))
        for other in stated
    )
