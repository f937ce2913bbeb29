"""The errors of the client. Each says what to do, and whether the same call may succeed later."""

from __future__ import annotations

from contracts.v1.retrieval import RetrieveReply


def expect(memory: object, kind: type[object]) -> None:
    """Refuse the wrong kind of memory where it is given, rather than at its first call.

    Raises:
        TypeError: it is no such memory.
    """
    if not isinstance(memory, kind):
        given = memory.__name__ if isinstance(memory, type) else type(memory).__name__
        raise TypeError(f"give {kind.__name__}(…) of memorybus_client here: {given} does not work with this module")


class MemorybusError(Exception):
    """Why a call failed.

    `retryable`: the same call may succeed later. `undone`: it certainly had no effect. `wait` is how many seconds the
    server asks to be left alone.
    """

    def __init__(self, message: str, *, retryable: bool, undone: bool, wait: float = 0.0) -> None:
        super().__init__(message)
        self.retryable, self.undone, self.wait = retryable, undone, wait


class Unavailable(MemorybusError):
    """Nothing answered; unless it is `undone` the call may have had its effect all the same."""

    def __init__(self, message: str, *, undone: bool = False) -> None:
        super().__init__(message, retryable=True, undone=undone)


class Misused(MemorybusError):
    """The memory was closed, or is called in another event loop or process than before; make a new one."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=False, undone=True)


class RequestFailed(MemorybusError):
    """memorybus answered with an error: `code` says which, for example `not_found`, and `message` why."""

    def __init__(self, code: str, message: str, *, retryable: bool = False, wait: float = 0.0) -> None:
        undone = not retryable or code in ("overloaded", "rate_limited")
        super().__init__(f"{code}: {message}", retryable=retryable, undone=undone, wait=wait)
        self.code, self.message = code, message


def looked_up(reply: RetrieveReply) -> RetrieveReply:
    """The reply, where anything was looked up.

    Raises:
        RequestFailed: the user asked too often: that nothing is in it does not say that nothing is known.
    """
    if "rate_limited" in reply.degraded and not reply.items:
        why = "asked too often, so nothing was looked up: ask again in a minute, or have the limit raised"
        raise RequestFailed("rate_limited", why, retryable=True)
    return reply
