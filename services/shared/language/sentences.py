"""Full stops that end no sentence."""

from __future__ import annotations

import re

from services.shared.language import wordlists


def _not_after(section: str) -> str:
    return "".join(rf"(?<!\b{re.escape(word)})" for word in wordlists.listed("pasted", section))


_BEFORE_NUMBER = rf"(?:(?!\s+\d)|(?i:{_not_after('abbreviations before numbers')}))"
NO_ABBREVIATION = rf"(?i:{_not_after('abbreviations')}){_BEFORE_NUMBER}"
"""A condition on a place in a text: no "Dr." stands before it, no "e.g.", and no "No." before a number."""
