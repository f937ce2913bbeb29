"""`memorybus erase`: it asks first, repeats until nothing is left, and says what is where it cannot."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from contracts.envelope import ErrorInfo
from contracts.ports import Unavailable
from contracts.v1.commands import EraseReceipt, EraseReply, EraseRequest, StatusReply
from services.cli import erase
from services.cli.erase import progress
from services.shared.client import RequestFailed
from services.shared.commands.erasing import erased, is_complete, together
from tests.cli.fake_memory import Typed, a_status

AWAY = Unavailable("no answer within 60.0 s")
REFUSED = RequestFailed(ErrorInfo(code="invalid_request", message="user_id: too long"))
BUSY = RequestFailed(ErrorInfo(code="unavailable", message="the text store is away", retryable=True))


def a_receipt(
    removed: dict[str, int] | None = None, left: dict[str, int] | None = None, *, done: bool = True
) -> EraseReceipt:
    places = {"log": 0, "entries": 0, "vectors": 0, "waiting messages": 0, "dead letters": 0}
    return EraseReceipt(removed=places | (removed or {}), left=places | (left or {}), drained=done, swept=done)


class FakeEraser:
    """Answers with one receipt or error after the other, the last one for ever."""

    def __init__(self, *answers: EraseReceipt | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.since: list[datetime | None] = []

    async def status(self, user_id: str | None = None) -> StatusReply:
        return a_status(turns=1234, entries=30, inactive=4, vectors=29)

    async def erase(self, request: EraseRequest) -> EraseReply:
        self.asked.append(request.user_id)
        self.since.append(request.requested_at)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return EraseReply(receipt=answer)


Erase = Callable[..., Result]


@pytest.fixture
def typed_erase(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> Erase:
    """Runs the command for ann with hardly any patience, and somebody at a terminal where there is an answer."""
    monkeypatch.setattr(erase, "erased", partial(erased, patience=0.02, pause=0.001))

    def run(eraser: FakeEraser, *arguments: str, answer: str | None = None) -> Result:
        monkeypatch.setattr(erase, "_has_terminal", lambda: answer is not None)
        return typed(erase, eraser, "--user", "ann", *arguments, answer=answer)

    return run


def rows(result: Result) -> dict[str, list[str]]:
    cells = (line.rsplit(maxsplit=2) for line in result.stdout.splitlines() if line.rstrip()[-1:].isdigit())
    return {cell[0].strip(): cell[1:] for cell in cells}


def test_what_is_removed_is_shown_place_by_place_and_that_nothing_is_left(typed_erase: Erase) -> None:
    eraser = FakeEraser(a_receipt({"log": 1234, "entries": 34, "dead letters": 1}))
    result = typed_erase(eraser, "--yes")
    assert (result.exit_code, eraser.asked) == (0, ["ann"])
    assert "1,234 turns, 30 entries, 4 inactive entries, 29 vectors" in result.stderr
    removed = {"log": "1,234", "entries": "34", "vectors": "0", "waiting messages": "0", "dead letters": "1"}
    assert rows(result) == {place: [count, "0"] for place, count in removed.items()}
    assert "Nothing of 'ann' is found any more." in result.stdout
    assert "no byte of it can be read" in result.stdout


def test_where_there_was_nothing_the_name_may_be_wrong(typed_erase: Erase) -> None:
    result = typed_erase(FakeEraser(a_receipt({"log": 0, "entries": 0})), "--yes")
    assert result.exit_code == 0
    assert "There was nothing of 'ann': it was erased before, or the name is another." in result.stdout


@pytest.mark.parametrize(("answer", "asked"), [("y\n", ["ann"]), ("n\n", []), ("\n", [])])
def test_it_asks_first(typed_erase: Erase, answer: str, asked: list[str]) -> None:
    eraser = FakeEraser(a_receipt({"log": 1}))
    result = typed_erase(eraser, answer=answer)
    assert "Erase everything of 'ann' for good?" in result.stderr
    assert eraser.asked == asked
    assert ("error: nothing was erased" in result.stderr) == (result.exit_code == 1) == (not asked)


def test_where_nobody_can_be_asked_nothing_is_erased(typed_erase: Erase) -> None:
    eraser = FakeEraser(a_receipt())
    result = typed_erase(eraser)
    assert (result.exit_code, eraser.asked) == (1, [])
    assert "--yes erases without asking" in result.stderr


def test_it_repeats_until_bus_and_files_are_clean_and_adds_up(typed_erase: Erase) -> None:
    eraser = FakeEraser(
        a_receipt({"log": 5, "vectors": 5}, {"vectors": 2}, done=False),
        a_receipt({"vectors": 2, "waiting messages": 1}, done=False),
        a_receipt(),
    )
    result = typed_erase(eraser, "--yes")
    assert (result.exit_code, len(eraser.asked)) == (0, 3)
    assert (rows(result)["log"], rows(result)["vectors"], rows(result)["waiting messages"]) == (
        ["5", "0"], ["5", "0"], ["1", "0"],
    )  # fmt: skip


def test_what_is_left_is_named_with_what_to_do(typed_erase: Erase) -> None:
    result = typed_erase(FakeEraser(a_receipt({"log": 5}, {"waiting messages": 1200})), "--yes")
    assert result.exit_code == 1
    assert rows(result)["waiting messages"] == ["0", "1,200"]
    assert "still found: 1,200 in waiting messages" in result.stderr
    assert "repeat the command" in result.stderr
    assert "found any more" not in result.stdout


def test_files_that_are_not_clean_yet_are_told_and_no_failure(typed_erase: Erase) -> None:
    result = typed_erase(FakeEraser(a_receipt({"log": 5}, done=False)), "--yes")
    assert result.exit_code == 0
    for said in ("still holds turns or events of others", "not swept yet", "repeated, says when"):
        assert said in result.stdout
    assert "no byte" not in result.stdout


def test_programs_get_one_line(typed_erase: Erase) -> None:
    result = typed_erase(FakeEraser(a_receipt({"log": 5})), "--yes", "--json")
    assert json.loads(result.stdout) == {"user_id": "ann", **a_receipt({"log": 5}).model_dump(), "complete": True}
    broken = typed_erase(FakeEraser(a_receipt({"log": 5}, {"log": 1})), "--yes", "--json")
    assert (broken.exit_code, json.loads(broken.stdout)["complete"]) == (1, False)


@pytest.mark.parametrize("error", [AWAY, BUSY])
async def test_who_is_away_for_a_moment_is_asked_again(error: Exception) -> None:
    receipt = await erased(FakeEraser(error, a_receipt({"log": 5})), "ann", patience=5.0, pause=0.0)
    assert receipt == a_receipt({"log": 5})


@pytest.mark.parametrize("error", [AWAY, BUSY])
def test_who_stays_away_is_told_with_what_became_of_it(typed_erase: Erase, error: Exception) -> None:
    result = typed_erase(FakeEraser(error), "--yes")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {error}; what is removed is gone: erase again for the rest" in result.stderr


async def test_nobody_is_told_that_all_is_well_when_the_last_look_failed() -> None:
    partly = a_receipt({"log": 5}, done=False)
    with pytest.raises(Unavailable, match="erase again"):
        await erased(FakeEraser(partly, AWAY), "ann", patience=0.01, pause=0.0)


def test_a_refusal_is_final(typed_erase: Erase) -> None:
    eraser = FakeEraser(REFUSED, a_receipt())
    result = typed_erase(eraser, "--yes")
    assert (result.exit_code, len(eraser.asked)) == (1, 1)
    assert "error: invalid_request: user_id: too long" in result.stderr


COUNTS = st.dictionaries(st.sampled_from(["log", "entries", "vectors"]), st.integers(0, 9))


@given(COUNTS, COUNTS, COUNTS)
def test_two_attempts_remove_what_there_was_and_what_came(
    was: dict[str, int], left: dict[str, int], came: dict[str, int]
) -> None:
    found_then = {place: left.get(place, 0) + came.get(place, 0) for place in {*left, *came}}
    first = EraseReceipt(removed=was, left=left, drained=False, swept=False)
    second = EraseReceipt(removed=found_then, left={}, drained=True, swept=True)
    both = together(first, second)
    for place in {*was, *left, *came}:
        assert both.removed[place] == was.get(place, 0) + came.get(place, 0)
    assert (both.left, is_complete(both), is_complete(first)) == ({}, True, False)


AT = datetime(2026, 2, 1, tzinfo=UTC)
UNDER_WAY = {"state": "under_way", "requested_at": AT, "drained": False, "swept": False}


async def test_what_is_under_way_is_waited_for_and_not_asked_for_anew() -> None:
    under_way = a_receipt({"log": 5}, {"log": 3}).model_copy(update=UNDER_WAY)
    done = a_receipt().model_copy(update={"requested_at": AT})
    eraser = FakeEraser(under_way, under_way, AWAY, under_way, done)
    told: list[EraseReceipt] = []
    receipt = await erased(eraser, "ann", patience=0.05, pause=0.03, tell=told.append)
    assert eraser.since == [None, AT, AT, AT, AT]
    assert [one.state for one in told] == ["under_way"] * 3 + ["done"]
    assert "3 left" in progress(told[0])
    assert (receipt.state, receipt.removed["log"], receipt.left["log"]) == ("done", 5, 0)
    assert (is_complete(under_way), is_complete(receipt)) == (False, True)


def test_who_interrupts_is_told_that_it_goes_on(typed_erase: Erase, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(*_: object, **__: object) -> EraseReceipt:
        raise KeyboardInterrupt

    monkeypatch.setattr(erase, "erased", interrupted)
    result = typed_erase(FakeEraser(a_receipt()), "--yes")
    assert result.exit_code == 130
    assert "goes on by itself" in result.stderr
