"""Why an embedder does not embed: nothing will work until a setting changes, or this text does not work."""

from __future__ import annotations

from contracts.ports import Unavailable


class EmbedderMisconfigured(Unavailable):
    """No text can be embedded until what the message names is changed."""


class TextRefused(Exception):
    """This text could not be embedded, though others can."""
