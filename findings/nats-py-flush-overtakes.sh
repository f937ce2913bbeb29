#!/usr/bin/env bash
# nats-py 2.16.0: flush() returns before what was published has left.
#
# One expects the ping of flush() to follow everything published before it, so that the pong proves that the
# server has it all; the docstring of flush() says so.
# The ping is written to the socket at once, while PUB and SUB wait in the client's buffer and follow behind it.
# So a pong proves nothing about them: a process that ends, or asks somebody else, right after flush() may be too early.
# Where it matters publish to a stream and wait for its acknowledgement, or flush twice.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'nats-py==2.16.0' || exit 2

stated='one flush: PING PUB:one PUB:two
flush after subscribe: PING SUB PUB:three
two flushes: PING PUB:four PING'

# The peer greets as a server does, answers every ping at once, and keeps what it was sent.
cat >"$work/try.py" <<'PYTHON'
import asyncio

import nats

INFO = b'INFO {"server_id":"peer","version":"2.15.1","proto":1,"max_payload":1048576,"headers":true}\r\n'


async def main():
    received = []

    async def serve(reader, writer):
        writer.write(INFO)
        while line := (await reader.readline()).decode():
            verb = line.split()[0]
            if verb == "PUB":
                verb += ":" + (await reader.readline()).decode().strip()
            if verb == "PING":
                writer.write(b"PONG\r\n")
            received.append(verb)

    async def show(what):
        await asyncio.sleep(0.3)
        print(f"{what}:", *received)
        received.clear()

    peer = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = await nats.connect(f"nats://127.0.0.1:{peer.sockets[0].getsockname()[1]}")
    received.clear()

    await client.publish("notes", b"one")
    await client.publish("notes", b"two")
    await client.flush()
    await show("one flush")

    await client.subscribe("answers")
    await client.publish("notes", b"three")
    await client.flush()
    await show("flush after subscribe")

    await client.publish("notes", b"four")
    await client.flush()
    await client.flush()
    await show("two flushes")
    await client.close()
    peer.close()


asyncio.run(main())
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
