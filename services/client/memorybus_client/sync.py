"""The memory of one user, for programs without an event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memorybus_client.aio import AsyncMemory
from memorybus_client.caller import LoopThread

P = ParamSpec("P")
T = TypeVar("T")


def waited(
    method: Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Memory, P], T]:
    """The same method for those who wait in it."""

    @wraps(method)
    def wait(self: Memory, /, *given: P.args, **named: P.kwargs) -> T:
        return self._thread.run(method(self._awaited, *given, **named))

    return wait


class Memory:
    """What a running memorybus keeps of one user: an `AsyncMemory` whose methods are waited for.

    Threads may share it. Once closed, and in a process forked from the one that made it, every method raises `Misused`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        user: str | None = None,
        key: str | None = None,
        timeout: float = 30.0,
        retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._awaited = AsyncMemory(url, user=user, key=key, timeout=timeout, retries=retries, options=options)
        self._thread = LoopThread()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every connection."""
        self._thread.end(self._awaited.close)

    remember = waited(AsyncMemory.remember)
    recall = waited(AsyncMemory.recall)
    publish = waited(AsyncMemory.publish)
    get = waited(AsyncMemory.get)
    list = waited(AsyncMemory.list)
    update = waited(AsyncMemory.update)
    pin = waited(AsyncMemory.pin)
    unpin = waited(AsyncMemory.unpin)
    forget = waited(AsyncMemory.forget)
    forget_conversation = waited(AsyncMemory.forget_conversation)
    history = waited(AsyncMemory.history)
    bulk = waited(AsyncMemory.bulk)
    themes = waited(AsyncMemory.themes)
    save_theme = waited(AsyncMemory.save_theme)
    remove_theme = waited(AsyncMemory.remove_theme)
    summary = waited(AsyncMemory.summary)
    profile = waited(AsyncMemory.profile)
    decide_fact = waited(AsyncMemory.decide_fact)
    seed = waited(AsyncMemory.seed)
    cards = waited(AsyncMemory.cards)
    decide_names = waited(AsyncMemory.decide_names)
    loops = waited(AsyncMemory.loops)
    settle = waited(AsyncMemory.settle)
    conflicts = waited(AsyncMemory.conflicts)
    resolve = waited(AsyncMemory.resolve)
    sessions = waited(AsyncMemory.sessions)
    status = waited(AsyncMemory.status)
    settings = waited(AsyncMemory.settings)
    change_settings = waited(AsyncMemory.change_settings)
    start_incognito = waited(AsyncMemory.start_incognito)
    end_incognito = waited(AsyncMemory.end_incognito)
    command = waited(AsyncMemory.command)
    audit = waited(AsyncMemory.audit)
    erase = waited(AsyncMemory.erase)

    def export(self) -> Iterator[str]:
        """Everything of the user, as lines that `memorybus import` reads."""
        lines = self._awaited.export()
        while (line := self._thread.run(_next(lines))) is not None:
            yield line


async def _next(lines: AsyncIterator[str]) -> str | None:
    return await anext(lines, None)
