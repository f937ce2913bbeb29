"""Everything in the services that reads texts: expressions, and functions with arguments made for them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType, UnionType
from typing import Any, NoReturn, Union, get_args, get_origin, get_type_hints

import services
from contracts.v1.entries import Entry
from tests.stores.builders import NOON, an_entry

_PLAIN: dict[Any, object] = {datetime: NOON, bool: True, int: 5, float: 0.5}


def modules(below: str | tuple[str, ...]) -> list[ModuleType]:
    """The modules of some packages of the services."""
    found = (one.name for one in walk_packages(services.__path__, "services.") if not one.name.endswith("__main__"))
    return [import_module(name) for name in found if name.startswith(below)]


def expressions(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """The expressions that a module holds."""
    for name, value in vars(module).items():
        if not name.startswith("__"):
            yield from _within(value, module.__name__)


def _within(value: object, module: str) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (found for one in value.values() for found in _within(one, module))
    elif isinstance(value, tuple | list | AbstractSet):
        yield from (found for one in value for found in _within(one, module))
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (getattr(value, field.name) for field in dataclasses.fields(value))
        yield from (found for one in fields for found in _within(one, module))


def readers(module: ModuleType) -> Iterator[tuple[str, Callable[[str], object]]]:
    """The public functions of a module that are given a text or entries, each by name, as functions of that text."""
    for name, function in vars(module).items():
        inner = inspect.unwrap(function) if callable(function) else None
        if not inspect.isfunction(inner) or name.startswith("_") or inner.__module__ != module.__name__:
            continue
        try:
            given = _needed(inner)
            for one in given.values():
                _made(one, "text")
        except (NameError, TypeError):  # of something that no text can be made into
            continue
        if any(_is_text(one) for one in given.values()):
            yield f"{module.__name__}.{name}", partial(_called, function, given)


def _needed(function: Callable[..., object]) -> dict[inspect.Parameter, Any]:
    hints = get_type_hints(function)
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    return {one: hints[one.name] for one in needed if one.kind is not one.VAR_KEYWORD}


def _is_text(kind: Any) -> bool:
    return kind in (str, Entry) or any(map(_is_text, get_args(kind)))


def _called(function: Callable[..., object], given: Mapping[inspect.Parameter, Any], text: str) -> object:
    made = {one: _made(kind, text) for one, kind in given.items()}
    in_order = [value for one, value in made.items() if one.kind is not one.KEYWORD_ONLY]
    found = function(*in_order, **{one.name: value for one, value in made.items() if one.kind is one.KEYWORD_ONLY})
    return list(found) if inspect.isgenerator(found) else found


def _made(kind: Any, text: str) -> object:
    """A value of a type, with that text in it.

    Raises:
        TypeError: none can be made.
    """
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is str:
        return text
    if kind is Entry:
        return _said(text, 0)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _made(next(one for one in inner if one is not type(None)), text)
    if origin is not None and isinstance(origin, type):
        return _collection(origin, inner, text)
    return _refuse(kind)


def _collection(origin: type, inner: tuple[Any, ...], text: str) -> object:
    if issubclass(origin, Mapping):
        return {_made(inner[0], text): _made(inner[1], text)}
    if issubclass(origin, tuple) and inner[-1] is not Ellipsis:
        return tuple(_made(one, text) for one in inner)
    if issubclass(origin, AbstractSet):
        return frozenset([_made(inner[0], text)])
    if issubclass(origin, Collection) or origin.__name__ in ("Iterable", "Iterator"):
        said = [_said(text, 0), _said("I live in Turku.", 1), _said(text, 2)]
        return said if inner[0] is Entry else [_made(inner[0], text)]
    return _refuse(origin)


def _said(text: str, number: int) -> Entry:
    return an_entry("ann", text, id=f"e{number}", created_at=NOON + timedelta(minutes=number))


def _refuse(kind: object) -> NoReturn:
    raise TypeError(f"no {kind} is made here")
