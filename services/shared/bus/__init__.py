"""Everything about NATS: joining it, declaring streams, reading them, answering requests, serving it embedded."""

import sys

if "aiohttp" not in sys.modules:  # nats-py takes it for WebSockets, which nothing here uses; it is half of a start
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
    import nats as nats

    del sys.modules["aiohttp"]
