"""English words that decide whether two texts state the same: `data/lexicon.txt` has them and says why."""

from __future__ import annotations

from functools import partial

from services.shared.language import wordlists
from services.shared.language.spelling import NUMBER_WORDS

_words = partial(wordlists.words, "lexicon")

NEGATIONS = _words("negations")
NUMERIC = _words("numeric")
TIMES = _words("times")
PRONOUNS = _words("pronouns")
MODALS = _words("modals")
DIRECTIONS = _words("directions")

CRITICAL = NEGATIONS | NUMBER_WORDS.keys() | NUMERIC | TIMES | PRONOUNS | MODALS | DIRECTIONS
"""Words that are never taken for a typing error of another."""

ARTICLES = _words("articles")
INTENSIFIERS = _words("intensifiers")
DETERMINERS = _words("determiners")
PREPOSITIONS = _words("prepositions")
BARE_NOUNS = _words("bare nouns")
TAKING = _words("taking")
TAKEN = _words("taken")
SEASONS = _words("seasons")
PAST = _words("past")
LINKING = _words("linking")
NOT_AFTER_SO = _words("not after so")
INTERJECTIONS = _words("interjections")
OPENING_PHRASES = tuple(tuple(phrase.split()) for phrase in wordlists.sections("lexicon")["opening phrases"])
PARENTHESES = tuple(tuple(phrase.split()) for phrase in wordlists.sections("lexicon")["parentheses"])
SUBJECTS = _words("subjects")
AUXILIARIES = _words("auxiliaries")
PERSONS = _words("persons")
ASKING_ONLY_PERSONS = _words("asking only persons")
QUESTION_WORDS = _words("question words")
SAYING = _words("saying")
TELLING = _words("telling")
TOLD = _words("told")
NOT_BEFORE_PLEASE = MODALS | NEGATIONS | _words("not before please")
LETTERED = _words("lettered")
NOT_AFTER_ARTICLE = CRITICAL | LINKING | _words("peoples") | _words("not after article")
DENIALS = _words("denials")
DENIALS_WITHOUT_APOSTROPHE = _words("denials without apostrophe")
SURNAMES = _words("surnames")
WRITTEN_EITHER_WAY = _words("written either way")
CASED_UNITS = _words("cased units")
NUMBERED = CRITICAL | ARTICLES | LINKING | _words("numbered")
SECRETS = _words("secrets")
NAMED_TO_THE_LETTER = SECRETS | _words("named to the letter")
NAMING = _words("naming")
SWAPPED_BUT_WORDS = _words("swapped but words")
LIGHT = _words("light")
