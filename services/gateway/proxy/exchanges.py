"""One request of a chat: whose it is, in which conversation, and what of it the user wants."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from contracts import flow
from services.gateway.callers import Caller
from services.gateway.proxy.chains import Chain
from services.gateway.proxy.conversations import Conversation, Key
from services.gateway.proxy.dialects import Asked, Said
from services.gateway.proxy.withheld import until_incognito, wishes_incognito
from services.shared.context.echoes import without_blocks

_BEGINNING = 256


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request of a caller: what it says, and in which conversation.

    `is_named`: the client names the conversation; `sends_all`: by an id of its own, with all that was said in it;
    `chain` is what is known of one that the provider keeps. `is_task`: nobody said it, a program asks by itself.
    """

    caller: Caller
    key: Key
    asked: Asked
    question: str | None
    is_named: bool
    incognito: bool
    chain: Chain | None = None
    sends_all: bool = False
    is_task: bool = False

    @property
    def may_recall(self) -> bool:
        """Whether the credential opens retrieval."""
        return self.caller.may(flow.RETRIEVE.name, reads=True)

    @property
    def may_publish(self) -> bool:
        """Whether the credential opens publishing."""
        return self.caller.may("turns", reads=False)

    @property
    def answered(self) -> str:
        """The last answer that the client sends along, on one line, or the id of the one that it goes on from."""
        if self.asked.behind:
            return self.asked.behind
        return next((flat(said.text) for said in reversed(self.asked.history) if said.role == "assistant"), "")

    @property
    def sends_newest_only(self) -> bool:
        """Whether the client leaves it to others to know what was said before."""
        is_known = (self.is_named and not self.sends_all) or self.chain is not None
        return is_known and not any(said.role in ("user", "assistant") for said in self.asked.history)

    @property
    def is_private(self) -> bool:
        """Whether the provider knows what is not to be kept, so that an answer may be of that."""
        return self.chain is not None and self.chain.is_private and self.asked.is_kept_there

    @property
    def wishes_incognito(self) -> bool:
        """Whether the user wishes that nothing of the conversation be kept."""
        return any(map(wishes_incognito, self.said_now))

    @property
    def said_now(self) -> list[str]:
        """What the user says and was not answered yet, the question last."""
        return [*(text for _, text in self.asked.unanswered), self.question or ""]

    @property
    def sends_answers(self) -> bool:
        """Whether the client sends along what the assistant said before."""
        return any(said.role == "assistant" for said in self.asked.history)

    def is_after(self, conversation: Conversation) -> bool:
        """Whether it follows the last answer of the model in a conversation, as far as the client sends that along."""
        if self.is_named or self.chain or not conversation.answered:
            return True
        return self.beginning_of(self.answered) == conversation.answered

    @staticmethod
    def beginning_of(answer: str) -> str:
        """By what an answer is known again."""
        return flat(answer[:_BEGINNING])[: _BEGINNING // 2]

    def is_behind(self, conversation: Conversation) -> bool:
        """Whether it follows what was said last in a conversation, which others may have begun alike."""
        return (self.is_named and not self.sends_all) or conversation.is_spoken(self.answered)


def conversation_of(asked: Asked, named: str | None, chain: Chain | None) -> str:
    """The name of a conversation; without one, a hash of how it began, which each of its requests repeats.

    One that its user made incognito is another from there on: not all that begin alike are meant.
    """
    if named:
        return named
    if chain:
        return chain.name
    said = [one for one in (*asked.history, Said("user", asked.question or "")) if one.role in ("user", "assistant")]
    begun = [without_blocks(one.text) for one in until_incognito(said)]
    opening = without_blocks(asked.opening)
    if not begun or begun[0] != opening:  # a picture has no words
        begun.insert(0, opening)
    text = "\x1f".join(begun)
    return f"chat-{sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())
