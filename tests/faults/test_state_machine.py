"""The promises of memorybus against everything that users, crashes and the bus may do, in any order.

MEMORYBUS_TEST_HISTORIES tries more histories (a thousand take some three minutes), MEMORYBUS_TEST_SEED others.
"""

from __future__ import annotations

import os
from itertools import combinations, product

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyFailure
from hypothesis.stateful import run_state_machine_as_test

from services.shared.dedup.canonical import read
from services.shared.dedup.fingerprint import fingerprint
from services.shared.dedup.similarity import same_statement
from tests.faults.state_machine import Memory
from tests.faults.state_machine_model import STATEMENTS, Statement
from tests.faults.state_machine_mutations import FOUND_FROM, MUTATIONS
from tests.sizes import sized

HISTORIES = int(os.environ.get("MEMORYBUS_TEST_HISTORIES", sized(150)))
SEED = int(os.environ.get("MEMORYBUS_TEST_SEED", "0"))
PATIENCE = 40
"""How many seeds a broken memorybus is looked for with."""

AT_ONCE = 10
"""Histories of one seed: from the eleventh on hypothesis varies those it has tried before, which finds less."""

TO_BE_SHORTENED = settings(
    max_examples=AT_ONCE,
    stateful_step_count=20,
    deadline=None,
    database=None,
    print_blob=False,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
AS_FOUND = settings(TO_BE_SHORTENED, phases=[Phase.generate])


def try_some(number: int, how: settings) -> None:
    """Some histories that the seed alone decides."""
    run_state_machine_as_test(seed(number)(type("Memory", (Memory,), {})), settings=how)


@pytest.mark.timeout(0)  # only what breaks a promise takes long: it is made as short as possible
@pytest.mark.parametrize("part", range(max(1, HISTORIES // AT_ONCE)))
def test_every_history_keeps_every_promise(part: int) -> None:
    number = SEED + part
    print(f"MEMORYBUS_TEST_SEED={number}")
    try_some(number, TO_BE_SHORTENED)


@pytest.mark.timeout(240)  # however busy the machine is: what is looked for is a broken promise, not time
@pytest.mark.parametrize("name", MUTATIONS)
def test_who_breaks_a_promise_is_found(name: str) -> None:
    first = FOUND_FROM.get(name, 0)
    with MUTATIONS[name]():
        assert any(is_found(number) for number in range(first, first + PATIENCE))


def is_found(number: int) -> bool:
    """Whether a promise is broken in one of these histories.

    Hypothesis plays one that broke a promise once more, to show it; with other things at the same moment it may go well
    then. What was broken was broken all the same.
    """
    try:
        try_some(number, AS_FOUND)
    except AssertionError:
        return True
    except FlakyFailure as once:
        return any(isinstance(error, AssertionError) for error in once.exceptions)
    return False


@pytest.mark.parametrize(("one", "other"), [*combinations(STATEMENTS, 2)], ids=lambda statement: statement.name)
def test_the_model_tells_statements_apart_as_memorybus_does(one: Statement, other: Statement) -> None:
    for a, b in product(one.wordings, one.wordings):
        assert same_statement(a, b)
    for a, b in product(one.wordings, other.wordings):
        assert not same_statement(a, b)
    assert (hashes(one) == hashes(other)) == (one.digest == other.digest)
    assert len(hashes(one)) == len(hashes(other)) == 1


def hashes(statement: Statement) -> set[str]:
    readings = map(read, statement.wordings)
    return {fingerprint(reading.normal, reading.words).statement_hash for reading in readings}
