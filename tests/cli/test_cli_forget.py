"""`memorybus forget`: one entry goes, the receipt says what was removed, and until when it may not come back."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from contracts.envelope import ErrorInfo
from contracts.v1.commands import ForgetReceipt, ForgetReply, ForgetRequest
from services.cli import forget
from services.shared.client import RequestFailed
from tests.cli.fake_memory import NOON, Typed


class FakeForgetter:
    """Forgets the entry `e1` of ann; `left` says what it finds afterwards all the same."""

    def __init__(self, **left: int) -> None:
        self.left = {"entries": 0, "vectors": 0, "waiting messages": 0, "dead letters": 0} | left

    async def forget(self, request: ForgetRequest) -> ForgetReply:
        if (request.user_id, request.id) != ("ann", "e1"):
            raise RequestFailed(ErrorInfo(code="not_found", message=f"there is no entry {request.id!r}"))
        receipt = ForgetReceipt(
            id=request.id, forgotten_at=NOON, refused_until=NOON + timedelta(hours=24), turns=3, vectors=1, messages=2,
            dead_letters=0, left=self.left,
        )  # fmt: skip
        return ForgetReply(receipt=receipt)


def test_the_receipt_says_what_went_and_until_when_it_is_refused(typed: Typed) -> None:
    result = typed(forget, FakeForgetter(), "e1", "--user", "ann")
    assert result.exit_code == 0
    rows = {line[:17].strip(): line[17:].split() for line in result.stdout.splitlines()[1:-2]}
    removed = {"entries": "1", "vectors": "1", "waiting messages": "2", "dead letters": "0"}
    assert rows == {place: [count, "0"] for place, count in removed.items()}
    assert "Turns of the log from which its words were taken: 3." in result.stdout
    assert "refused until 2026-02-02 12:00 UTC" in result.stdout


def test_what_is_left_is_named_with_what_to_do(typed: Typed) -> None:
    result = typed(forget, FakeForgetter(vectors=1), "e1", "--user", "ann")
    assert result.exit_code == 1
    assert "error: something of it is still found: 1 in vectors; repeat the command" in result.stderr
    assert "refused until" not in result.stdout


@pytest.mark.parametrize("arguments", [("e2", "--user", "ann"), ("e1", "--user", "bob")])
def test_an_entry_that_the_user_does_not_have_is_told_in_one_line(typed: Typed, arguments: tuple[str, ...]) -> None:
    result = typed(forget, FakeForgetter(), *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"error: not_found: there is no entry {arguments[0]!r}\n"


def test_whose_entry_it_is_must_be_said(typed: Typed) -> None:
    assert typed(forget, FakeForgetter(), "e1").exit_code == 2
    nobody = typed(forget, FakeForgetter(), "e1", "--user", "")
    assert nobody.exit_code == 2
    assert "is empty: name whose memory is meant" in nobody.stderr


def test_programs_get_one_line(typed: Typed) -> None:
    said = json.loads(typed(forget, FakeForgetter(), "e1", "--user", "ann", "--json").stdout)
    assert (said["user_id"], said["id"], said["turns"], said["left"]["vectors"]) == ("ann", "e1", 3, 0)
    assert said["refused_until"] == "2026-02-02T12:00:00Z"
