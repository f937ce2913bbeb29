"""How much a text deserves to be remembered, and as what kind of memory: rules on its wording, no model."""

from __future__ import annotations

import re
from functools import lru_cache

from contracts.v1.turns import EntryType, Role
from services.shared.language import wordlists
from services.shared.language.text import fold
from services.shared.language.traits import TOKEN
from services.shared.privacy.assent import is_no, is_yes

BASE = 0.2
"""What any text is worth, so that chit-chat stays above 0 and a saved preference reaches 1."""

SAVED, LASTING, DESCRIBED, CHATTER = 0.5, 0.3, 0.2, -0.1

SURE = 0.6
"""Confidence from which on metadata counts."""

MOST_FOR_REPEATS = 0.2


def _cue(section: str) -> re.Pattern[str]:
    return re.compile(wordlists.pattern("cues", section))


_PREFERENCE, _DECISION, _INSTRUCTION = _cue("preference"), _cue("decision"), _cue("instruction")
_NOTE, _SAVING, _COMMITMENT = _cue("note"), _cue("saving"), _cue("commitment")
_FACT, _NAMED_FACT, _SMALL_TALK = _cue("fact"), _cue("named fact"), _cue("small talk")

_HEAD, _TAIL = 3000, 1000  # the rules read the beginning and the end of a long text
_SHORT = 60
_LASTING_TYPES: frozenset[EntryType] = frozenset({"preference", "decision", "instruction"})
_SENTENCE_END = re.compile(r"(?<=[.!?¶]) ")
_CLAUSE_END = re.compile("[.!?:;,] ")
_REQUEST = re.compile(r"(?:¶ )?(?:please )?(?:can|could|would|will) you ")


def detect_type(text: str, role: Role) -> EntryType:
    """What kind of memory a text becomes, by its wording; "other" for small talk, questions and all the rest.

    Only a user or the system instructs; what a tool returned is "other".
    """
    if role == "tool" or is_small_talk(text):
        return "other"
    clauses = _clauses(text)
    if _NOTE.search(clauses):
        return "note"
    if role != "assistant" and _INSTRUCTION.search(clauses):
        return "instruction"
    if _DECISION.search(clauses):
        return "decision"
    if _PREFERENCE.search(clauses):
        return "preference"
    if _SAVING.search(clauses):
        return "note"
    names_a_fact = not text.rstrip().endswith("?") and _NAMED_FACT.search(text, 0, _HEAD)
    return "fact" if names_a_fact or _FACT.search(clauses) else "other"


def wants_saving(text: str) -> bool:
    """Whether the text asks for itself to be remembered: "remember that …", "save this", "don't forget …"."""
    return _SAVING.search(_clauses(text)) is not None


def is_small_talk(text: str) -> bool:
    """Whether a text is nothing but greetings, thanks, approval, a yes or a no, emoji or punctuation."""
    if len(text) > _SHORT:
        return False
    normal = " ".join(TOKEN.findall(fold(text)))
    is_said_to_anything = not normal or _SMALL_TALK.fullmatch(normal) is not None
    return is_said_to_anything or is_yes(text) or is_no(text)


def importance(
    text: str,
    *,
    type: EntryType,
    role: Role,
    manually_saved: bool = False,
    confidence: float = 0.0,
    has_metadata: bool = False,
    repeat_count: int = 0,
) -> float:
    """How valuable a text is in the long run, 0 to 1.

    0.2 for any text, +0.5 when it was saved on request, +0.3 for a lasting preference, commitment or goal, +0.2 for
    metadata with a mean confidence of 0.6 and more, −0.1 for chit-chat, and the boost of its repeats.
    """
    clauses = _clauses(text)
    value = BASE + repeat_boost(repeat_count)
    if manually_saved or (role == "user" and _SAVING.search(clauses)):
        value += SAVED
    if type in _LASTING_TYPES or _COMMITMENT.search(clauses):
        value += LASTING
    if has_metadata and confidence >= SURE:
        value += DESCRIBED
    if is_small_talk(text):
        value += CHATTER
    return max(0.0, min(1.0, value))


def repeat_boost(repeat_count: int) -> float:
    """What `repeat_count` repeats add in all: 0.1 for the first, each further one half as much, never 0.2."""
    return MOST_FOR_REPEATS * (1.0 - 0.5 ** max(repeat_count, 0))


@lru_cache(maxsize=4)  # type, wish to save and importance of a text are asked one after the other
def _clauses(text: str) -> str:
    """The text as the cues expect it, without its questions, unless they are requests ("could you always …?")."""
    sample = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    plain = " ".join(sample.lower().replace("’", "'").replace("\n", " ¶ ").split())
    if "?" in plain:
        sentences = _SENTENCE_END.split(plain)
        plain = " ".join(s for s in sentences if not s.rstrip("\"')").endswith("?") or _REQUEST.match(s))
    return f" ¶ {_CLAUSE_END.sub(' ¶ ', f'{plain} ')} ¶ " if plain else ""
