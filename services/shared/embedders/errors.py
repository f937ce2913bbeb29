"""Why an embedder does not embed: nothing will work until a setting changes."""

from __future__ import annotations

from contracts.errors import Unavailable


class EmbedderMisconfigured(Unavailable):
    """No text can be embedded until what the message names is changed."""
