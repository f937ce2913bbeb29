"""What those are told who only use memorybus, where something that it needs is away."""

from __future__ import annotations

import logging

import pytest

from services.shared.errors import AWAY, outward

FOR_OPERATORS = (
    "OpenSearch cannot be reached at http://127.0.0.1:46103: check that it runs and MEMORYBUS_OPENSEARCH_URL "
    "(Connection refused)",
    "the bus at nats://10.0.0.7:4222 does not answer",
    "search.internal:9200 gave no embeddings in 3 attempts: HTTP 500",
    "[::1]:6333 did not answer",
    "the credentials file /etc/memorybus/user.creds of MEMORYBUS_NATS_CREDS cannot be read",
    "unable to open database file (/var/lib/memorybus/memory.sqlite3)",
    "nobody answers: is `memorybus up` running on this bus?",
    "stream MEMORY_TURNS: no response",
    "10.1.2.3 refused it",
)
FOR_ALL = (
    "it waits behind others, and will be remembered when its turn has come",
    "the bus did not take the turn in time: send it again",
    "no answer within 5.0 s",
    "the text store is closed",
    "neither words nor meaning could be searched",
)


@pytest.mark.parametrize("message", FOR_OPERATORS)
def test_addresses_settings_files_and_servers_are_for_the_log(message: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert outward(message) == AWAY
    assert [record.__dict__["why"] for record in caplog.records] == [message]


@pytest.mark.parametrize("message", [*FOR_ALL, AWAY])
def test_what_a_caller_can_make_use_of_is_told(message: str) -> None:
    assert outward(message) == message
