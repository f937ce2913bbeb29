"""Starts the real command line after making it fail where asked: `python -m tests.faults.launcher --kill P:N -- up …`.

Nothing of memorybus knows of it: what fails is put around its methods from here, before it starts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from services import cli
from tests.faults.light import use_light_models
from tests.faults.mutations import MUTATIONS
from tests.faults.points import Trap, set_traps
from tests.faults.troubles import TROUBLES, Switch


def launch(arguments: Sequence[str]) -> None:
    """Patch this process, then run the command line with what follows `--`."""
    given = _parser().parse_args(arguments)
    use_light_models()
    for name in given.mutation:
        MUTATIONS[name].switch_on()
    for text in given.trouble:
        name, _, file = text.partition(":")
        TROUBLES[name](Switch(Path(file)))
    point, _, nth = given.kill.rpartition(":")
    set_traps(Trap(point, int(nth or 1), given.survey))
    sys.argv = ["memorybus", *given.command]
    cli.main()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="launcher", description=__doc__)
    parser.add_argument("--kill", default="", metavar="POINT:N", help="die at the n-th passing of a point")
    parser.add_argument("--mutation", action="append", default=[], choices=MUTATIONS, help="break one promise")
    parser.add_argument("--trouble", action="append", default=[], metavar="NAME:FILE", help="fail while FILE exists")
    parser.add_argument("--survey", type=Path, help="write the points that are passed to this file")
    parser.add_argument("command", nargs="*")
    return parser


if __name__ == "__main__":
    launch(sys.argv[1:])
