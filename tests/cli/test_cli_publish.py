"""`memorybus publish`: checked first, published once, and the result told to people and to scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from contracts.v1.commands import StatusReply
from contracts.v1.turns import Turn
from services.cli.publish import Published, as_line, publish_source, show
from services.shared.commands.formats import FormatError, Source
from services.shared.commands.publishing import Tally
from tests.cli.fake_memory import FakeMemory
from tests.cli.files import A_TURN, lines, written
from tests.polling import eventually


def quiet() -> Console:
    return Console(file=StringIO(), force_terminal=False)


def shown(result: Published) -> str:
    console = Console(record=True, width=120, file=StringIO())
    show(result, console)
    return console.export_text()


async def publish(memory: FakeMemory, source: Source, *, wait: bool = True) -> Published:
    return await publish_source(memory, source, in_flight=4, wait=wait, console=quiet())


async def test_a_file_is_published_and_digested(tmp_path: Path) -> None:
    memory = FakeMemory(waiting=[{}, {"embed": 1}, {}])
    result = await publish(memory, Source(written(tmp_path, lines(A_TURN, A_TURN | {"text": "x"}))))
    assert [turn.text for turn in memory.turns] == [A_TURN["text"], "x"]
    assert (result.tally.turns, result.dead_letters, result.problem) == (2, 0, None)
    assert result.digesting is not None
    assert result.digesting >= 0.25


async def test_nothing_of_a_file_with_a_bad_line_is_published(tmp_path: Path) -> None:
    memory = FakeMemory()
    with pytest.raises(FormatError, match=r"turns\.jsonl:3"):
        await publish(memory, Source(written(tmp_path, lines(A_TURN, A_TURN, {}))))
    assert memory.turns == []


async def test_without_waiting_the_stages_do_not_matter(tmp_path: Path) -> None:
    memory = FakeMemory(waiting=[{"embed": 99}])
    result = await publish(memory, Source(written(tmp_path, lines(A_TURN))), wait=False)
    assert (result.tally.turns, result.digesting) == (1, None)


async def test_only_new_dead_letters_are_counted(tmp_path: Path) -> None:
    class Choking(FakeMemory):
        async def publish_all(self, turns: object, **options: object) -> None:
            await super().publish_all(turns, **options)  # type: ignore[arg-type]
            self.dead_letters += 2

    memory = Choking()
    memory.dead_letters = 40
    result = await publish(memory, Source(written(tmp_path, lines(A_TURN))))
    assert result.dead_letters == 2
    assert "2 dead letters since the start: `memorybus dead list` shows them" in shown(result)


async def test_only_newly_refused_turns_are_counted_and_the_reason_is_told(tmp_path: Path) -> None:
    class Forgetful(FakeMemory):
        async def status(self, user_id: str | None = None) -> StatusReply:
            return (await super().status(user_id)).model_copy(update={"refused": 7 + bool(self.turns)})

    result = await publish(Forgetful(), Source(written(tmp_path, lines(A_TURN))))
    assert result.refused == 1
    assert "1 turn refused meanwhile: what a user had forgotten is not kept again so soon" in shown(result)
    assert json.loads(as_line(result))["refused"] == 1
    assert (await publish(Forgetful(), Source(written(tmp_path, lines(A_TURN))), wait=False)).refused is None


async def test_what_cannot_be_read_and_what_else_is_to_be_known_is_told(tmp_path: Path) -> None:
    page: dict[str, object] = {
        "count": 9,
        "results": [{"memory": "Likes tea"}, {"memory": {}, "id": "\x1b[2J"}, {"memory": ["[red]"]}],
    }
    result = await publish(FakeMemory(), Source(written(tmp_path, page), "mem0", "me"))
    told = shown(result).replace("\n", " ")
    assert "left out 2 that cannot be read" in told
    assert "the first that cannot be read: " in told
    assert "memory 2: memory: Input should be a valid string" in told
    assert "pages of larger results, whose other pages are not in the file: 1" in told
    whole = await publish(FakeMemory(), Source(written(tmp_path, {"results": [{"memory": "Likes tea"}]}), "mem0", "me"))
    assert "cannot be read" not in shown(whole)
    assert "pages" not in shown(whole)


async def test_how_many_turns_were_new_is_told(tmp_path: Path) -> None:
    class Remembering(FakeMemory):
        """Counts a turn once."""

        async def status(self, user_id: str | None = None) -> StatusReply:
            known = {turn.text for turn in self.turns if user_id in (None, turn.user_id)}
            return (await super().status(user_id)).model_copy(update={"turns": len(known)})

    memory, first = Remembering(), A_TURN | {"text": "first"}
    results = [
        await publish(memory, Source(written(tmp_path, lines(*turns)), user="somebody else"))
        for turns in ([A_TURN], [A_TURN, first], [A_TURN, first])
    ]
    assert [result.new for result in results] == [1, 1, 0]
    assert "new" not in shown(results[0])
    assert "1 of them new: the others are known already, or not to be kept" in shown(results[1])
    assert "0 of them new: the others" in shown(results[2])
    assert json.loads(as_line(results[1]))["new"] == 1
    assert (await publish(memory, Source(written(tmp_path, lines(A_TURN))), wait=False)).new is None


async def test_whose_memories_were_written_is_told_where_the_file_says_it(tmp_path: Path) -> None:
    async def told(users: list[str], user: str | None = None) -> str:
        turns = [A_TURN | {"user_id": name, "text": name} for name in users]
        return shown(await publish(FakeMemory(), Source(written(tmp_path, lines(*turns)), user=user)))

    assert "of 2 users: ann, bert\n" in await told(["bert", "ann", "ann"], user="imp")
    assert "of 1 user: ann\n" in await told(["ann"])
    assert "user" not in await told(["imp"], user="imp")
    assert "of 9 users: u0, u1, u2, u3, u4 and more\n" in await told([f"u{number}" for number in range(9)])
    assert "of 1 user: [red] up\n" in await told(["[red]\n up"])


async def test_an_empty_file_is_published_too(tmp_path: Path) -> None:
    result = await publish(FakeMemory(), Source(written(tmp_path, b"\n")))
    assert (result.tally.turns, result.tally.rate) == (0, 0.0)


def test_the_summary_is_one_line() -> None:
    result = Published(Source(Path("turns.jsonl")), Tally(2820, 12.34), dead_letters=0, digesting=7.61)
    assert shown(result) == "published 2,820 turns in 12.3 s (229 turns/s), digested 7.6 s later\n"


def test_the_line_for_scripts_has_the_numbers() -> None:
    result = Published(Source(Path("turns.jsonl")), Tally(2820, 12.34567), dead_letters=1, digesting=None)
    assert json.loads(as_line(result)) == {
        "published": 2820,
        "seconds": 12.346,
        "rate": 228.4,
        "dead_letters": 1,
        "refused": None,
        "new": None,
    }


class Slow(FakeMemory):
    """Takes two turns, and then no more; or digests without end."""

    async def publish_all(
        self,
        turns: Iterable[Turn],
        *,
        in_flight: int = 64,
        acknowledged: Callable[[], None] = lambda: None,
        incognito: bool = False,
    ) -> None:
        async def two_and_then_none() -> None:
            acknowledged()
            acknowledged()
            self.turns += turns
            if not self.pending:
                await asyncio.Event().wait()

        async with asyncio.TaskGroup() as lanes:
            lanes.create_task(two_and_then_none())


@pytest.mark.parametrize(
    ("pending", "said"),
    [(0, "2 turns published; publishing all again is harmless"), (5, "all turns are published, and become memory")],
)
async def test_who_interrupts_it_is_told_how_far_it_came(tmp_path: Path, pending: int, said: str) -> None:
    memory = Slow(pending=pending)
    source = Source(written(tmp_path, lines(*(A_TURN | {"text": str(number)} for number in range(9)))))
    console = Console(file=StringIO(), width=200)
    task = asyncio.create_task(publish_source(memory, source, in_flight=4, wait=True, console=console))
    await eventually(memory.backlog, lambda _: bool(memory.turns))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(console.file, StringIO)
    assert said in console.file.getvalue()
