"""The tables of wordings: what a module asks for is there, and no section stands in the way of another."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from inspect import getsource
from pkgutil import iter_modules

import pytest

from services.shared import privacy
from services.shared.privacy.wordings import compiled, kind, slots

MODULES = [f"services.shared.privacy.{module.name}" for module in iter_modules(privacy.__path__)]
TABLES = [file for file in (files("services.shared.language") / "data").iterdir() if file.name.endswith(".txt")]
_ASKED = re.compile(r"(?:_IS\[|_has\()\"([a-z ]+)\"")


@pytest.mark.parametrize("name", MODULES)
def test_each_section_that_a_module_asks_for_is_compiled(name: str) -> None:
    module = import_module(name)
    assert set(_ASKED.findall(getsource(module))) <= set(getattr(module, "_IS", {}))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.name))
def test_no_two_sections_of_a_table_have_one_name(table: Traversable) -> None:
    names = Counter(re.findall(r"^\[([a-z][a-z ]+)\]$", table.read_text("utf-8"), re.MULTILINE))
    assert [name for name, count in names.items() if count > 1] == []


def test_a_slot_may_stand_in_several_lines() -> None:
    commands = compiled("chat_commands", "commands")["commands"]
    for said, verb, about in (
        ("forget everything about tea", "forget_about", "tea"),
        ("what do you remember about tea", "recall", "tea"),
        ("forget my bike", "forget_about", "my bike"),
    ):
        found = commands.fullmatch(said)
        assert found is not None
        assert (kind(found), slots(found)["about"]) == (verb, about)
