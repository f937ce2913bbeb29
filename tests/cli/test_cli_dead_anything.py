"""Whatever strangers put among the dead letters can be looked at, and does nothing to who looks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.js.api import RawStreamMsg

from services.cli.common import visible
from services.shared.bus.dead_letters import NotRetryable, destination, opened
from tests.letters import a_letter

NOW = datetime.now(UTC)


@given(st.text())
def test_what_is_shown_has_nothing_that_a_terminal_obeys(text: str) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    assert visible(text, keep="\n").replace("\n", "").isprintable()


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_is_among_the_dead_can_be_looked_at(raw: bytes) -> None:
    kept = opened(RawStreamMsg(subject="memory.v1.dead.ingest", seq=1, data=raw, time=NOW))
    assert (kept.raw, kept.users, kept.reason.startswith("unreadable: ")) == (raw, (), True)


@given(st.text(max_size=60), st.binary(max_size=60))
def test_whatever_a_letter_says_it_is_retried_only_where_stages_read(subject: str, body: bytes) -> None:
    letter = a_letter(body, subject=subject)
    raw = letter.model_dump_json().encode()
    kept = opened(RawStreamMsg(subject="memory.v1.dead.x", seq=1, data=raw, time=NOW))
    assert kept.body == body
    assert all(kept.users)
    with pytest.raises(NotRetryable, match="no stage reads"):
        destination(kept)
