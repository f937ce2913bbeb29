#!/usr/bin/env bash
# faststream 0.7.8: its AsyncAPI document does not know JetStream, and loses handlers of one name.
#
# One expects the document to say, be it in words, that a subscriber reads a stream by a durable consumer: what is
# published there is kept until it is handled, elsewhere it is gone when nobody listens.
# A durable pull consumer is described word for word like a plain subscription; a publisher to a stream likewise.
# Channels are named by subject and handler: of two handlers of one name for a subject, as two modules may have, one is
# left out, with a warning and no error, although the broker has both.
# Where the document is a contract, write it from a table of your own and check the subscribers against that.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" || exit 2
"$work/venv/bin/pip" install --quiet --disable-pip-version-check 'faststream[nats]==0.7.8' 'pydantic==2.14.4' \
    'nats-py==2.16.0' || exit 2

stated='subscriber of a stream described like a plain one: True
publisher to a stream described like a plain one: True
stream or consumer named in the document: False
two handlers, two names: 2 subscribers, 2 channels
two handlers, one name: 2 subscribers, 1 channels'

cat >"$work/try.py" <<'PYTHON'
import json
import warnings

from faststream import FastStream
from faststream.nats import JStream, NatsBroker, PullSub
from faststream.specification import AsyncAPI

STREAM = JStream("ARCHIVE", declare=False)
PULL = {"stream": STREAM, "durable": "librarian", "pull_sub": PullSub(batch_size=10)}


def document(broker):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        app = FastStream(broker, specification=AsyncAPI())
        return app.schema.to_specification().to_json()


def subscribing(**options):
    broker = NatsBroker()

    @broker.subscriber("notes.*", **options)
    async def read(note: str): ...

    return document(broker)


def publishing(**options):
    broker = NatsBroker()
    broker.publisher("notes.new", schema=str, **options)
    return document(broker)


def named(*names):
    broker = NatsBroker()
    for number, name in enumerate(names):

        async def handler(note: str): ...

        handler.__name__ = name
        broker.subscriber("notes.*", stream=STREAM, durable=f"reader-{number}", pull_sub=PullSub(batch_size=10))(handler)
    return f"{len(broker.subscribers)} subscribers, {len(json.loads(document(broker))['channels'])} channels"


print("subscriber of a stream described like a plain one:", subscribing(**PULL) == subscribing())
print("publisher to a stream described like a plain one:", publishing(stream=STREAM) == publishing())
print("stream or consumer named in the document:", any(word in subscribing(**PULL) for word in ("ARCHIVE", "librarian")))
print("two handlers, two names:", named("index", "count"))
print("two handlers, one name:", named("read", "read"))
PYTHON
seen=$(timeout 60 "$work/venv/bin/python" "$work/try.py") || exit 2

printf 'stated:\n%s\n\nseen:\n%s\n' "$stated" "$seen"
[ "$seen" = "$stated" ]
