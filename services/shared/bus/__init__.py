"""Everything about NATS: joining it, declaring streams, reading them, answering requests, serving it embedded."""

import sys

# nats-py takes aiohttp, where it is installed, for WebSockets, which nothing here uses: it is a third of a start.
if sys.modules.setdefault("aiohttp", None) is None:  # type: ignore[arg-type]
    import nats as nats

    del sys.modules["aiohttp"]
else:
    import nats as nats
