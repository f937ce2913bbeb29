"""The health check of every image: ends with 0 when this container is ready, else says what it waits for."""

from __future__ import annotations

import os
import sys
from http.client import HTTPConnection, HTTPException

TIMEOUT = 5.0  # seconds; /readyz itself waits up to 2 s for the bus


def problem(port: int) -> str | None:
    """Why the service on this port is not ready, None when it is."""
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        body = answer.read(2000).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return f"no answer on port {port}: {error!r}"
    finally:
        connection.close()
    return None if answer.status == 200 else body


if __name__ == "__main__":
    sys.exit(problem(int(os.environ.get("MEMORYBUS_HTTP_PORT", "8400"))))
