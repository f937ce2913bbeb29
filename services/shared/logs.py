"""Logs: JSON lines of a service, plain lines of a command; no password is in either."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from services.shared.redaction import redact_text
from services.shared.tracing import current_id

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "taskName", "color_message"}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, event, and the fields passed as `extra`. No password is in it."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {k: v for k, v in record.__dict__.items() if k not in _STANDARD}
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            **fields,
        }
        if (trace := current_id()) is not None:
            line["trace"] = trace
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(_redacted(line), ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """A line of plain text, without passwords."""

    def format(self, record: logging.LogRecord) -> str:
        return redact_text(super().format(record))


def _redacted(value: Any) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case dict():
            return {str(key): _redacted(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted(each) for each in value]
    return redact_text(str(value))


def configure_logging(level: str) -> None:
    """Send all logs to standard error as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("httpx", "httpcore", "uvicorn.access", "faststream"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
