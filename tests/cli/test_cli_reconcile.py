"""`memorybus reconcile`: every page of every side is compared, what differs is explained, and put right when asked."""

from __future__ import annotations

import json

import pytest

from contracts.v1.commands import Difference, Kind, ReconcileReply, ReconcileRequest, Side, StatusReply
from services.cli import reconcile
from services.shared.commands.reconciling import reconciled
from tests.cli.fake_memory import FakeMemory, Typed, a_status

SIDES: dict[Kind, Side] = {
    "undecided": "log", "without_entry": "log", "without_vector": "entries", "near_copy": "entries",
    "without_reason": "vectors",
}  # fmt: skip


class FakeStores(FakeMemory):
    """Three pages of ten a side; `wrong` differs, on the second page, until it is put right, if it can be."""

    def __init__(self, *wrong: Kind, each: int = 1, stubborn: bool = False, pending: int = 0) -> None:
        super().__init__(pending=pending)
        self.wrong = [Difference(kind=kind, user_id="ann", id=f"{kind}-{n}") for kind in wrong for n in range(each)]
        self.stubborn = stubborn
        self.asked: list[ReconcileRequest] = []

    async def status(self, user_id: str | None = None) -> StatusReply:
        return a_status(turns=30, entries=30, vectors=30, pending=self.pending)

    async def reconcile(self, request: ReconcileRequest) -> ReconcileReply:
        self.asked.append(request)
        following = {"": "p2", "p2": "p3", "p3": None}[request.after]
        here = [one for one in self.wrong if SIDES[one.kind] == request.side and request.after == "p2"]
        if request.fix and not self.stubborn:
            self.wrong = [one for one in self.wrong if one not in here]
        return ReconcileReply(looked_at=10, differences=tuple(here), after=following)


@pytest.mark.parametrize("options", [(), ("--fix",)])
def test_every_page_of_every_side_is_looked_at_once_where_nothing_differs(
    typed: Typed, options: tuple[str, ...]
) -> None:
    stores = FakeStores()
    result = typed(reconcile, stores, *options)
    assert result.exit_code == 0
    assert [(one.side, one.after) for one in stores.asked] == [
        (side, after) for side in ("log", "entries", "vectors") for after in ("", "p2", "p3")
    ]
    assert {one.fix for one in stores.asked} == {bool(options)}
    assert "30 of log, 30 of entries, 30 of vectors" in result.stdout
    assert "agree" in result.stdout


def test_what_differs_is_counted_shown_and_explained_and_left_alone(typed: Typed) -> None:
    stores = FakeStores("without_vector", "undecided", each=5)
    result = typed(reconcile, stores)
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("entries without their vector")]
    assert line.split()[4:7] == ["5", "ann", "without_vector-0"]
    assert "not found by meaning" in line
    assert "without_vector-2" in result.stdout
    assert "without_vector-3" not in result.stdout
    assert "turns without an outcome" in result.stdout
    assert "vectors without an entry" not in result.stdout
    assert "error: 10 differences; `memorybus reconcile --fix` puts right what differs" in result.stderr
    assert len(stores.asked) == 9


def test_with_fix_it_is_put_right_and_compared_once_more(typed: Typed) -> None:
    stores = FakeStores("without_reason", "without_entry", each=2)
    result = typed(reconcile, stores, "--fix")
    assert result.exit_code == 0
    assert [one.fix for one in stores.asked] == [True] * 9 + [False] * 9
    assert "put right" in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("vectors without an entry")]
    assert line.split()[4:6] == ["2", "0"]


def test_what_stays_is_a_failure_also_with_fix(typed: Typed) -> None:
    result = typed(reconcile, FakeStores("without_reason", stubborn=True), "--fix")
    assert result.exit_code == 1
    assert "error: 1 difference left: repeat the command" in result.stderr
    assert "put right" not in result.stdout


async def test_a_repair_that_nobody_digests_is_told() -> None:
    stores = FakeStores("undecided", stubborn=True, pending=3)
    outcome = await reconciled(stores, fix=True, stall=0.0)
    assert not outcome.is_well
    assert "3 entries are unfinished" in reconcile.what_to_do(outcome)


def test_programs_get_one_line(typed: Typed) -> None:
    said = json.loads(typed(reconcile, FakeStores("undecided"), "--json").stdout)
    none = {"undecided": 0, "without_entry": 0, "without_vector": 0, "without_reason": 0, "near_copy": 0}
    assert said == {
        "looked_at": {"log": 30, "entries": 30, "vectors": 30},
        "differences": none | {"undecided": 1},
        "examples": [{"kind": "undecided", "user_id": "ann", "id": "undecided-0"}],
        "ok": False,
    }
    fixed = json.loads(typed(reconcile, FakeStores("undecided"), "--fix", "--json").stdout)
    assert (fixed["differences"], fixed["left"], fixed["ok"]) == (none | {"undecided": 1}, none, True)


def test_what_strangers_wrote_does_not_reach_the_terminal(typed: Typed) -> None:
    stores = FakeStores()
    stores.wrong = [Difference(kind="undecided", user_id="[red]\x1b[2J", id="i")]
    assert "[red]\\x1b[2J i" in typed(reconcile, stores).stdout
