"""Whether a clause tells that its speaker has, uses or does what goes by a name, and of nothing called after it."""

from __future__ import annotations

import re
from itertools import dropwhile

from services.shared.core import wordlists
from services.shared.core.statements import LIGHT, STATIVE, VERBS, Clause, parsed, stem, terms, things

BEING = frozenset({"is", "am", "are"})
PLACING = frozenset("in at on near by with from".split())
JOINING = PLACING | frozenset("about of to as into above below for".split())
"""Words behind which a noun belongs to the noun before it: a fear of flying."""

_NO_NOUNS = LIGHT | VERBS | STATIVE | PLACING
_ARTICLES = frozenset("a an the my our his her their some".split())
_SAID_OF = frozenset("every twice once together again most daily weekly usually right btw lol tbh though".split())
_LONGEST_NAME = 3
_HAS_NUMBER = re.compile(r"\d|day")
_SO_MUCH_OF = re.compile(r"\d\S* \w+ of ")
_VERB_STEMS = frozenset(map(stem, VERBS | STATIVE | wordlists.words("changes", "predicates")))


def verb_and_name(old: str) -> tuple[str, str]:
    """What is over, as the stem of what one did with it, where that is said, and what that is: "drinking coffee"."""
    words = list(dropwhile(lambda word: word in LIGHT and not word.endswith("ing"), old.split()))
    if not words:
        return "", ""
    first, rest = stem(words[0]), list(dropwhile(LIGHT.__contains__, words[1:]))
    if not rest and words[0].endswith("ing"):
        return first, words[0]
    return (first, " ".join(rest)) if rest and first in _VERB_STEMS else ("", " ".join(words))


def is_had(name: str, before: Clause, *, verb: str = "", beside: str = "", most: int = 0) -> str | None:
    """The stem of the verb with which a speaker tells that they have, use or do what goes by a name, or None.

    Before the name may stand nothing but verbs, prepositions and what is told `beside`, or `most` words more; behind it
    no noun, and behind what one does, as "running", no object.
    """
    is_deed = verb != "" and stem(name) == verb
    word = rf"{re.escape(verb[:4])}\w*" if is_deed else rf"{re.escape(name)}s?"
    found = re.search(rf"(?<!\w){word}(?!\w)(?: (?P<next>[\w'-]+))?", before.text)
    if found is None or before.text.startswith(found[0]):
        return None
    between = _SO_MUCH_OF.sub("", before.text[: found.start()]).split()[1:]
    verbs = [word for word in between if stem(word) in _VERB_STEMS]
    after = "" if "drive" in verbs else found["next"] or ""  # whatever one drives is a vehicle
    is_noun = after not in _NO_NOUNS | _SAID_OF | {""} and not _HAS_NUMBER.search(after)
    if is_noun or (is_deed and after in _ARTICLES):
        return None
    others = things(" ".join(word for word in between if word not in verbs)) - terms(beside)
    if len(others) > most or (others and not JOINING.isdisjoint(between[1:])):
        return None
    return stem(verbs[0]) if verbs else verb or stem(name)


def is_called(name: str, before: Clause) -> bool:
    """Whether a clause tells only that something is what goes by a name, as "our phone plan is with O2", or by the end
    of its name, as the Jazz by that of a Honda Jazz."""
    sentence = parsed(before.text)
    if sentence is None or sentence.verb not in BEING or sentence.preposition in ("in", "at", "near"):
        return False
    value = terms(sentence.value)
    is_one = sentence.value.startswith(("a ", "an ")) and len(value) <= _LONGEST_NAME
    return value == terms(name) or (is_one and sentence.value.endswith(f" {name}"))
