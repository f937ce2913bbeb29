"""Starts and stops one real OpenSearch node; standard library only, so that any Python 3.11 runs it."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
from pathlib import Path

from configuration import Wish
from distribution import VERSION, find_maven, home_in_cache
from jdk import find_java
from machine import Account, MissingError, NodeError, say, server_account
from node import Node

EXIT_MISSING = 69
EXIT_NOT_RUNNING = 3
EXAMPLES = """\
examples:
  scripts/opensearch start --data /tmp/node              a free port; prints {"url": "http://127.0.0.1:PORT"}
  scripts/opensearch start --data /tmp/node --port 9200 --heap 1g
  scripts/opensearch status --data /tmp/node
  scripts/opensearch stop --data /tmp/node               keeps the data
  scripts/opensearch wipe --data /tmp/node               stops, and removes the data
  scripts/opensearch check                               what is missing on this machine

A full JDK 21 or newer is looked for in OPENSEARCH_JAVA_HOME, JAVA_HOME, on the path and in the usual folders. Maven
fetches the server once into MEMORYBUS_CACHE (~/.cache/memorybus). OpenSearch refuses root: started by root, it runs
as `nobody`, and what `nobody` cannot reach lies in /var/lib/memorybus/opensearch, linked from the data folder.
"""


def heap(text: str) -> str:
    """A size as Java writes it."""
    if not re.fullmatch(r"[1-9]\d{0,5}[mgMG]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512m or 1g")
    return text


def port(text: str) -> int:
    """A port, or 0 for any."""
    if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: 0 for any free one, or 1 to 65535")
    return int(text)


def seconds(text: str) -> float:
    """A patience."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/opensearch",
        description=f"Run a real OpenSearch {VERSION} node on this machine, on the loopback interface only.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of this node")
    start = verbs.add_parser("start", parents=[folder], help="start it, and print its url when it answers queries")
    start.add_argument("--port", type=port, default=0, help="0, the default: the port it had before, else a free one")
    start.add_argument("--heap", type=heap, default="512m", help="memory of Java; default 512m")
    start.add_argument("--timeout", type=seconds, default=180.0, metavar="SECONDS", help="patience; default 180")
    start.add_argument("--disk-threshold", action="store_true", help="stop writing when the disk is nearly full")
    start.add_argument("--short-lived", action="store_true", help="for minutes: starts in half the time, then slower")
    verbs.add_parser("stop", parents=[folder], help="end it, keep its data; quiet when it does not run")
    verbs.add_parser("wipe", parents=[folder], help="end it and remove its data")
    verbs.add_parser("status", parents=[folder], help=f"print whether it runs; exit code {EXIT_NOT_RUNNING} when not")
    verbs.add_parser("check", help=f"say what a node needs and this machine lacks; exit code {EXIT_MISSING} then")
    return parser.parse_args()


def check(account: Account) -> None:
    """Find what a start needs.

    Raises:
        MissingError: no JDK; or no Maven, and the server is not in the cache.
    """
    find_java(account)
    if not home_in_cache(account).is_dir():
        find_maven()


def run(given: argparse.Namespace, account: Account) -> int:
    """Do what was asked and return the exit code."""
    if given.verb == "check":
        check(account)
        return 0
    node = Node(given.data.resolve(), account)
    if given.verb == "start":
        wish = Wish(given.port, given.heap, given.disk_threshold, given.short_lived, given.timeout)
        url = node.start(wish)
        print(json.dumps({"url": url}), flush=True)
    elif given.verb == "status":
        pid = node.pid()
        print(json.dumps({"running": pid is not None, "pid": pid, "url": node.url()}), flush=True)
        return EXIT_NOT_RUNNING if pid is None else 0
    elif given.verb == "stop":
        node.stop()
    else:
        node.wipe()
    return 0


def main() -> int:
    """Errors are told in words."""
    given = arguments()
    os.umask(0o022)  # the server may run as another user, who must be able to read it
    try:
        return run(given, server_account())
    except MissingError as error:
        say(f"error: {error}")
        return EXIT_MISSING
    except (NodeError, OSError) as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main())
