"""Starts the real command line after making it fail where asked: `python -m tests.faults.launcher --kill P:N -- up …`.

Nothing of memorybus knows of it: what fails is put around its methods from here, before it starts. With `--serve` it
imports everything once, and forks a memorybus for each line on its standard input.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from services import cli
from services.shared.bus.server import die_with_parent
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


def serve() -> None:
    """Fork one memorybus after the other; say the process id of each, and how it ended.

    A line asks for one: {"arguments": […], "log": FILE, "environment": {…}}.
    """
    import services.cli.up
    from services.gateway import api

    assert services.cli.up is not None  # what a start would import and make once is there now
    api.paths(version("memorybus"))
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(asked)
        print(json.dumps({"pid": child}), flush=True)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"ended": os.waitstatus_to_exitcode(status)}), flush=True)


def _become(asked: dict[str, object]) -> None:
    """In the child: be a memorybus with its own log, and end with it."""
    die_with_parent()
    log = os.open(str(asked["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, sys.stderr.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    environment, arguments = asked["environment"], asked["arguments"]
    assert isinstance(environment, dict)
    assert isinstance(arguments, list)
    os.environ.update(environment)
    os.setsid()
    code: object = 1
    try:
        launch(arguments)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="launcher", description=__doc__)
    parser.add_argument("--kill", default="", metavar="POINT:N", help="die at the n-th passing of a point")
    parser.add_argument("--mutation", action="append", default=[], choices=MUTATIONS, help="break one promise")
    parser.add_argument("--trouble", action="append", default=[], metavar="NAME:FILE", help="fail while FILE exists")
    parser.add_argument("--survey", type=Path, help="write the points that are passed to this file")
    parser.add_argument("command", nargs="*")
    return parser


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        launch(sys.argv[1:])
