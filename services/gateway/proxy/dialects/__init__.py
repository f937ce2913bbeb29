"""What a dialect knows: where a request says what, where memories go, how an answer reads. Pure: no I/O, no bus."""

from __future__ import annotations

from collections.abc import Mapping

from services.gateway.proxy.dialects.base import Asked, Dialect
from services.gateway.proxy.dialects.chat import ChatDialect
from services.gateway.proxy.dialects.content import Said
from services.gateway.proxy.dialects.messages import MessagesDialect
from services.gateway.proxy.dialects.responses import ResponsesDialect, named_in
from services.gateway.proxy.dialects.wishes import BadField, HeaderWishes, wishes_of

__all__ = ["DIALECTS", "Asked", "BadField", "Dialect", "HeaderWishes", "Said", "named_in", "wishes_of"]

DIALECTS: Mapping[str, Dialect] = {
    "/v1/chat/completions": ChatDialect(),
    "/v1/responses": ResponsesDialect(),
    "/v1/messages": MessagesDialect(),
}
"""The dialects, by the path at which a client speaks them."""
