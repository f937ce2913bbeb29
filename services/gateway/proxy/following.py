"""Which conversation a request goes on with that names an answer, where the provider keeps what was said."""

from __future__ import annotations

import asyncio

from contracts.errors import Unavailable
from contracts.v1.control import IncognitoStartRequest, SettingsRequest
from services.gateway.api import Edge
from services.gateway.proxy.chains import UNKNOWN, Chain, Chains, named_after
from services.gateway.proxy.conversations import Conversations, Recalled
from services.gateway.proxy.dialects import Asked
from services.gateway.proxy.exchanges import Exchange
from services.gateway.proxy.withheld import is_private, verb_of
from services.shared.client import RequestFailed
from services.shared.privacy.unwanted import announces

_PATIENCE = 1.0


class Following:
    """Knows the answers of late, and what holds in the conversations behind them."""

    def __init__(self, edge: Edge, conversations: Conversations) -> None:
        self._memory = edge.memory
        self._conversations = conversations
        self.chains = Chains()

    async def chain_of(self, user_id: str, space: str, asked: Asked, *, is_named: bool) -> Chain | None:
        """What is known of the conversation that a request goes on with; None where it names none that the provider
        keeps.

        One whose beginning is not known becomes incognito where the user has any that is; it stays unknown where nobody
        can tell.
        """
        chain = self.chains.of(user_id, asked)
        if chain is None or chain.is_known:
            return chain
        if is_named:  # the client tells which it is
            return chain._replace(is_known=True)
        about = SettingsRequest(user_id=user_id, space=space, conversation_id=UNKNOWN)
        try:
            async with asyncio.timeout(_PATIENCE):
                if (await self._memory.settings(about)).refuses == "incognito":
                    await self._begin_incognito(user_id, chain.name)
        except (TimeoutError, Unavailable, RequestFailed):
            return chain
        return chain._replace(is_known=True)

    async def note_incognito(self, exchange: Exchange) -> None:
        """Have it known, also after a restart, that a conversation of the user is incognito which goes on from answers.

        Raises:
            RequestFailed, Unavailable: it could not be done.
        """
        if exchange.asked.has_id and not exchange.is_named:
            await self._begin_incognito(exchange.key.user_id, UNKNOWN)

    async def _begin_incognito(self, user_id: str, conversation: str) -> None:
        await self._memory.start_incognito(IncognitoStartRequest(user_id=user_id, conversation_id=conversation))

    def answered(self, exchange: Exchange, answer_id: str, recalled: Recalled) -> None:
        """Know which conversation a request is of that goes on from this answer of the model."""
        if exchange.is_task:
            self._after_task(exchange, answer_id)
            return
        chain, name = self.chains.of(exchange.key.user_id, exchange.asked), exchange.key.name
        is_begun = chain is None and not exchange.is_named
        if is_begun and not exchange.wishes_incognito and "incognito" not in recalled.degraded:
            name = named_after(answer_id)
        has_private = not recalled.is_kept or any(map(is_private, exchange.said_now)) or exchange.sends_answers
        begun = exchange.key.name if name != exchange.key.name else ""
        self._put(exchange, answer_id, Chain(name, begun, has_private or bool(chain and chain.is_private)))

    def _after_task(self, exchange: Exchange, answer_id: str) -> None:
        """Know the answer to a task for one of its conversation, of which all else is as it was."""
        if exchange.asked.has_id and (chain := exchange.chain) is not None and chain.is_known:
            self.chains.put(exchange.key.user_id, answer_id, chain)

    def replied(self, exchange: Exchange, answer_id: str) -> None:
        """Know the same of an answer to a command, of which the model knows nothing."""
        if exchange.asked.has_id:
            self._conversations.of(exchange.key).spoken_id = answer_id
            chain = self.chains.of(exchange.key.user_id, exchange.asked)  # something may have been forgotten since
            self._put(exchange, answer_id, chain or Chain(exchange.key.name))

    def _put(self, exchange: Exchange, answer_id: str, chain: Chain) -> None:
        asked, question, before = exchange.asked, exchange.question or "", exchange.chain
        if not (asked.has_id and answer_id) or (before and not before.is_known):
            return
        goes_on = before is not None and before.is_announced and (not question or verb_of(question) is not None)
        chain = chain._replace(is_announced=goes_on or announces(question), is_known=True)
        for id_ in filter(None, (answer_id, asked.talk)):
            self.chains.put(exchange.key.user_id, id_, chain)

    def go_on(self, exchange: Exchange, answer_id: str) -> None:
        """Have a conversation that got its name by this answer go on where it is."""
        is_begun = exchange.asked.has_id and exchange.chain is None and not (exchange.is_named or exchange.is_task)
        if is_begun and answer_id:
            self._conversations.go_on(exchange.key, exchange.key._replace(name=named_after(answer_id)))
