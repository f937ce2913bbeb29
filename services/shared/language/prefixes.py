"""Words without the small words that Hebrew and Arabic write onto them: ולבית is of בית, وبالبيت of بيت."""

from __future__ import annotations

from services.shared.language import wordlists

_HEBREW, _ARABIC = ("\u0590", "\u05ff"), ("\u0600", "\u06ff")
_SLOTS = {
    script: [tuple(line.split()) for line in wordlists.sections("prefixes")[name]]
    for script, name in ((_HEBREW, "hebrew"), (_ARABIC, "arabic"))
}
_ARTICLES = wordlists.words("prefixes", "articles")
_LEFT, _LEFT_BY_ARTICLE = 3, 2
"""Letters that must be left of a word."""


def forms(word: str) -> list[str]:
    """A word in Hebrew or Arabic letters, and with one prefix less each; nothing of other words.

    What looks like a prefix may be the beginning of the word. So it is all of them, and itself twice: who asks for Reem
    is told of her before Kareem.
    """
    slots = next((slots for (first, last), slots in _SLOTS.items() if first <= word[:1] <= last), None)
    found = [] if slots is None else [word, word]
    for slot in slots or ():
        prefix = next((one for one in slot if word.startswith(one)), "")
        if prefix and len(word) - len(prefix) >= (_LEFT_BY_ARTICLE if prefix in _ARTICLES else _LEFT):
            word = word[len(prefix) :]
            found.append(word)
    return found
