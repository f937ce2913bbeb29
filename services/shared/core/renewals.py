"""Whether what somebody says is so now takes the place of what they said before, by its own words, not by its subject.

"I have four cats now" changes "I have three cats", as "I love olives now" does "I hate olives".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from services.shared.core import wordlists
from services.shared.core.bounded import as_read
from services.shared.core.claims import ADDING
from services.shared.core.having import JOINING
from services.shared.core.statements import KIN, MONTHS_AND_DAYS, Sentence, kinds, parsed, terms, things

_DIGITS = {word: str(number) for number, word in enumerate(wordlists.listed("changes", "numbers"), start=1)}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_DIGITS)})\b")
_DOES = re.compile(r"(?:i|we) (?P<verb>(?!(?:am|are)\b)\S+) \S")
_TASTE = re.compile(
    r"(?:i|we) (?:(?:really|just|absolutely|actually|quite|totally|always) )*(?P<not>(?:do not|never|cannot) )?"
    r"(?:(?:really|particularly) )?(?P<verb>like|love|enjoy|adore|hate|dislike|detest|stand)"
    r" (?P<what>\w[\w' -]*?)(?: (?:so much|a lot|very much|at all|anymore))?"
)
_PREFERS = re.compile(r"(?:i|we) prefer (?P<what>\w.*?) (?:over|to) (?P<to>\w.*)")
_DISLIKES = frozenset("hate dislike detest".split())
_ASKED_FOR = re.compile(
    r"(?:please )?(?:always )?(?P<how>(?:call|address) me(?: as)?"
    r"|(?:answer|reply|respond|write|speak|talk)(?: to)?(?: me)? in) (?P<what>\w+)(?: please)?"
)
_LIVES = re.compile(r"(?:i|we) live (?:with \w.*|alone|on my own|by myself)")
_PRONOUNS = frozenset("he she it they this that who nobody everybody someone somebody".split())
_DETERMINERS = frozenset("a an the my our his her their one".split())
_LONGEST_NAME = 2
"""Words of a name by somebody who writes no capitals."""

_CAPITAL_WITHIN = re.compile(r"(?<=[a-z,] )(?!I\b)\S*[^\W\d_a-zß-ÿ]\S*")
_CODE = re.compile(r"(?=\S*[a-z])\S*\d")
_LIMIT = re.compile(
    r"(?<=\w) (?:(?:for (?!good\b|ever\b)|as (?!of\b)|during|when|while|whenever|except|unless|only|if)\b"
    r"|(?<!hosted )(?<!stored )(?<!deployed )at (?!\d|noon|midnight|half|quarter|least|most|work|home)"
    r"|on \w+days\b|from \w+day to \w+day\b)"
)
_CHARGE = re.compile(
    r"(?P<who>(?!i |we |my |our |the )[\w.]+(?: [\w.]+)?) (?P<of>(?:(?:does|handles|leads(?! to\b)|owns|manages"
    r"|maintains|chairs|coaches|looks after|takes care of|is responsible for|is in charge of) |is the )\w.*)"
)
MADE = "(?:is|are) (?:written|built|coded|implemented|hosted|deployed|running|stored|kept)"
_RUNS = re.compile(
    rf"(?P<who>(?!(?:i|we) )[\w.-]+(?: [\w.-]+){{0,3}}?) (?P<how>runs?|{MADE}"
    rf"|{wordlists.pattern('changes', 'attending')})"
    r" (?:in|on|with|at) (?P<what>\S+(?: \S+){0,3})"
)
_COUNTED = re.compile(
    rf"(?<![\w.:-])\d+ (?!(?:on|at|in|for|and|or|to|of|now|am|pm|from|with|{MONTHS_AND_DAYS})\b)[a-z][\w'-]*"
)
"""How many of something there are: neither a day of a month nor a time of day."""

_DOSES = re.compile(r"(\d+(?:[.,]\d+)?) ?(mg|mcg|µg|ml|iu|units)\b")
_OF_DOSES = terms("dose dosage day night morning evening increase reduce raise lower daily went up down take takes")
_SOMEBODY = frozenset("her his their she he they him them".split())
_AMOUNT = re.compile(r"\d[\d.,:]*")
_USED_FOR = re.compile(r"(?:i|we) use (?P<what>\w.*?) (?P<purpose>(?:for|as) \w.*)")
_LANGUAGES = wordlists.words("changes", "languages")
_DOING = re.compile(r"\w+ing\b")
_PLAIN = re.compile(r"\b(?:the|a|an|only|about|around|just) ")


def takes_the_place(said: str, before: str) -> bool:
    """Whether what is said to be so now is another value of what an older clause tells in the same words."""
    return ADDING.search(said) is None and any(otherwise(said, before) for otherwise in _OTHERWISE)


def is_of_another_kind(now: Sentence | None, was: Sentence | None, new: str, old: str) -> bool:
    """Whether what is said to be so now leaves an older clause be; both as sentences, as far as they are, and as texts.

    It holds for something, or at times, of which that says nothing, or one of them gives a name and the other none: the
    office in Moabit may be in chaos now.
    """
    told = (was.value if was else old.lower()).split()
    if any(limit[0].split()[0] not in told for limit in _LIMIT.finditer(f"is {now.value}" if now else new.lower())):
        return True
    if now is None or was is None:
        return False
    if all(_DOING.match(one.value) for one in (now, was)) and things(now.value).isdisjoint(things(was.value)):
        return True  # going to Osaka in February, and doing Thursdays
    if kinds(now.value).keys() & kinds(was.value).keys():
        return False
    is_, it_was = _head(now.value), _head(was.value)
    if not is_ or not it_was:
        return False
    named, was_named = _is_name(is_, new), _is_name(it_was, old)
    if was_named and not named:
        return True
    if named and not was_named:
        return not _is_written_small(old) or len(it_was) > _LONGEST_NAME or it_was[0] in _DETERMINERS
    if named:
        return _LANGUAGES.isdisjoint(is_) != _LANGUAGES.isdisjoint(it_was)
    return bool(now.preposition) and (is_[0] in _DETERMINERS) != (it_was[0] in _DETERMINERS)


def counts_at_another_time(said: str, before: str) -> bool:
    """Whether both tell how many there are of something, not the same, and on another day or at another time: three
    exams in March leave two on Friday as they are."""
    new, old = (_NUMBER_WORD.sub(lambda found: _DIGITS[found[0]], text) for text in (said, before))
    counts = [_COUNTED.findall(text) for text in (new, old)]
    is_, was = (kinds(_COUNTED.sub("", text)) for text in (new, old))
    told = {"day", "clock"} & is_.keys() & was.keys()
    return all(counts) and counts[0] != counts[1] and any(is_[kind] != was[kind] for kind in told)


def _head(value: str) -> list[str]:
    """The words of a value without its preposition, up to the next one."""
    words = value.split()
    if words and words[0] in JOINING:
        words = words[1:]
    return list(takewhile(lambda word: word not in JOINING, words))


def _is_name(words: Sequence[str], text: str) -> bool:
    """Whether one of these words of a value is written with a capital in a text, or with digits."""
    capitals = {word.strip(".,;:!?'").lower() for word in _CAPITAL_WITHIN.findall(f"is {text}")}
    return any(word.strip("'.,") in capitals or _CODE.match(word) for word in words)


def _is_written_small(text: str) -> bool:
    return text.replace("I ", "i ").islower()


def _counts_otherwise(said: str, before: str) -> bool:
    """Whether both tell how many, or when, a speaker has or does one thing, and not the same."""
    new, old = _DOES.match(said), _DOES.match(before)
    if new is None or old is None or new["verb"] != old["verb"]:
        return False
    was, is_ = (kinds(_NUMBER_WORD.sub(lambda found: _DIGITS[found[0]], text)) for text in (before, said))
    if was.keys() != is_.keys() or was == is_:
        return False
    what, it_was = (things(_NUMBER_WORD.sub("", text)) for text in (said, before))
    return bool(what) and what == it_was


def _tells_another_amount(said: str, before: str) -> bool:
    """Whether both say the same but for a number in what they say of something: "mum takes 8 mg of candesartan"."""
    now, was = _PLAIN.sub("", said), _PLAIN.sub("", before)
    new = parsed(now)
    subject = new.subject if new else " ".join(now.split()[:_LONGEST_NAME])
    if now == was or _AMOUNT.search(subject) or kinds(was).keys() != {"number"}:
        return False
    return len(_AMOUNT.findall(now)) == 1 and _AMOUNT.sub("#", now) == _AMOUNT.sub("#", was) and len(things(now)) > 1


def _tells_another_time(said: str, before: str) -> bool:
    """Whether both say the same but for one day or time behind what is said of something: "we play on Wednesdays"."""
    new, old = said.split(), before.split()
    places = [place for place, (one, other) in enumerate(zip(new, old, strict=False)) if one != other]
    if len(new) != len(old) or len(places) != 1 or new[places[0]] in new[:_LONGEST_NAME]:
        return False
    is_, was = (kinds(words[places[0]]).keys() for words in (new, old))
    return is_ == was and bool(is_ & {"day", "clock"})


def is_another_dose(said: str, before: str) -> bool:
    """Whether a newer clause tells another dose of a medicine that an older one tells somebody to take."""
    said, before = as_read(said), as_read(before)
    new, old = _DOSES.findall(said), _DOSES.findall(before)
    what = things(_DOSES.sub("", said)) - KIN
    whose, was = _patient(said), _patient(before)
    if whose is not None and whose != was and (whose != _SOMEBODY or was == frozenset()):
        return False
    if len(new) != 1 or not old or new[0] in old or new[0][1] not in {unit for _, unit in old}:
        return False
    return bool(what) and what <= things(before) | _OF_DOSES and not what <= _OF_DOSES


def _patient(said: str) -> frozenset[str] | None:
    """Who takes a medicine, as far as a clause tells: relatives, somebody, or nobody, who is its speaker."""
    words = frozenset(said.split())
    if kin := terms(said) & KIN:
        return kin
    if words & _SOMEBODY:
        return _SOMEBODY
    return frozenset() if words & {"i", "we", "my", "our"} else None


def _runs_otherwise(said: str, before: str) -> bool:
    """Whether both tell on what, where or in what something runs or is made, and not the same."""
    new, old = _RUNS.fullmatch(said), _RUNS.fullmatch(before)
    if new is None or old is None or new["who"] in _PRONOUNS or new["what"] == old["what"]:
        return False
    return terms(new["who"]) == terms(old["who"]) and new["how"].removesuffix("s") == old["how"].removesuffix("s")


def _is_in_other_hands(said: str, before: str) -> bool:
    """Whether both tell who does, leads or is one thing, and not the same: "Leo does the releases now"."""
    new, old = _CHARGE.fullmatch(said), _CHARGE.fullmatch(before)
    if new is None or old is None or {new["who"], old["who"]} & _PRONOUNS:
        return False
    return new["who"] != old["who"] and bool(terms(new["of"])) and terms(new["of"]) == terms(old["of"])


def _uses_otherwise(said: str, before: str) -> bool:
    """Whether both tell what a speaker uses for one purpose, and not the same: "we use Grafana for metrics"."""
    new, old = _USED_FOR.fullmatch(said), _USED_FOR.fullmatch(before)
    if new is None or old is None or new["what"] == old["what"]:
        return False
    return bool(terms(new["purpose"])) and terms(new["purpose"]) == terms(old["purpose"])


def _likes_otherwise(said: str, before: str) -> bool:
    """Whether both tell if a speaker likes one thing, and not the same."""
    new, old = _TASTE.fullmatch(said), _TASTE.fullmatch(before)
    if new is None or old is None or not things(new["what"]) or things(new["what"]) != things(old["what"]):
        return False
    return _likes(new) != _likes(old)


def _likes(taste: re.Match[str]) -> bool:
    return (taste["verb"] in _DISLIKES) == (taste["not"] is not None)


def _prefers_otherwise(said: str, before: str) -> bool:
    """Whether both tell what a speaker prefers to what, and it is the other way round."""
    new, old = _PREFERS.fullmatch(said), _PREFERS.fullmatch(before)
    return new is not None and old is not None and new["what"] == old["to"] and new["to"] == old["what"]


def _asks_otherwise(said: str, before: str) -> bool:
    """Whether both ask to be called by a name, or answered in a language, and not the same."""
    new, old = _ASKED_FOR.fullmatch(said), _ASKED_FOR.fullmatch(before)
    if new is None or old is None or new["how"].split()[0] != old["how"].split()[0]:
        return False
    is_name = " in" not in new["how"]
    return new["what"] != old["what"] and (is_name or {new["what"], old["what"]} <= _LANGUAGES)


def _lives_otherwise(said: str, before: str) -> bool:
    """Whether both tell with whom a speaker lives, and not the same."""
    return said != before and all(map(_LIVES.fullmatch, (said, before)))


_OTHERWISE = (
    _lives_otherwise,
    _is_in_other_hands,
    _uses_otherwise,
    _counts_otherwise,
    _tells_another_amount,
    _tells_another_time,
    is_another_dose,
    _runs_otherwise,
    _likes_otherwise,
    _prefers_otherwise,
    _asks_otherwise,
)
