"""Words without the small words that Hebrew and Arabic write onto them: ולבית is of בית, وبالبيت of بيت."""

from __future__ import annotations

from services.shared.core import wordlists

_HEBREW, _ARABIC = ("\u0590", "\u05ff"), ("\u0600", "\u06ff")
_SLOTS = {
    script: [tuple(line.split()) for line in wordlists.sections("prefixes")[name]]
    for script, name in ((_HEBREW, "hebrew"), (_ARABIC, "arabic"))
}
_ARTICLES = wordlists.words("prefixes", "articles")
_LEFT, _LEFT_BY_ARTICLE = 3, 2
"""Letters that must be left of a word."""


def without_prefixes(word: str) -> list[str]:
    """The forms of a word in Hebrew or Arabic letters with one prefix less each, the longest first.

    What looks like a prefix may be the beginning of the word, so it is all of them.
    """
    found: list[str] = []
    for slot in next((slots for (first, last), slots in _SLOTS.items() if first <= word[:1] <= last), ()):
        prefix = next((one for one in slot if word.startswith(one)), "")
        if prefix and len(word) - len(prefix) >= (_LEFT_BY_ARTICLE if prefix in _ARTICLES else _LEFT):
            word = word[len(prefix) :]
            found.append(word)
    return found
