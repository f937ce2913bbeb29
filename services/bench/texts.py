"""Made-up chat turns for benchmarks: seeded, all different, with names, dates and a vocabulary like real talk."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from contracts.v1.turns import Turn

_NAMES = (
    "Amelia Bauer Chidi Darya Emeka Freya Giorgio Hana Imani Jonas Katya Liam Mateo Nadia Olga Priya "
    "Quentin Rosa Samir Tove Ulrich Valentina Wanda Ximena Yusuf Zofia"
).split()
_PLACES = "Lisbon Oslo Kyoto Nairobi Vienna Quito Hanoi Tallinn Porto Bergen Lima Cork Turin Gdansk Leeds Ghent".split()
_TIMES = (
    "yesterday|last night|this morning|on Monday|on Tuesday|on Friday|next week|in March|in October|two days ago|"
    "at half past six|before lunch|after work|for the first time|every weekend|since the summer|on 12 May|all day long"
).split("|")
_OPENERS = (
    "Well,|You know,|Honestly|Hey!|Oh wow,|By the way,|To be fair|Guess what:|Right,|Anyway,|Good question.|Sure!|"
    "Thanks!|Not yet,|Yes,|No,|Hmm,|I think|Maybe|So"
).split("|")
_VERBS = (
    "bought|found|painted|lost|started|finished|booked|cancelled|visited|repaired|cooked|read|watched|planned|moved|"
    "signed up for|talked about|worried about|looked into|fell in love with|gave up|practised|sold|borrowed|praised|"
    "recommended|forgot|ordered|returned|tried out|learned about|took part in|dreamt of|paid for|celebrated"
).split("|")
_ADJECTIVES = (
    "small old new blue broken expensive wonderful strange quiet heavy cheap local famous second long different early "
    "favourite noisy warm cold difficult free tiny huge"
).split()
_LINKS = "because|although|so that|and then|but|while|which is why|even though|before|after".split("|")
_NOUNS = (
    "bike garden course ticket recipe guitar job kitchen dog cat trip book painting marathon meeting camera flat car "
    "concert exam school team doctor letter phone museum forest lake bakery present party project report bridge coat"
).split()
_SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro "
    "ru sa se si so su ta te ti to tu va ve vi vo zan ter lin mar nor bel dor fin gar hol jun kel"
).split()
_VOCABULARY = 30_000
_START = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)


class Talk:
    """An endless, seeded source of turns: word frequencies fall off as in natural language (Zipf).

    Whatever the seed, the words are the same: a question is about what others said, too.
    """

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self._words = _vocabulary()

    def word(self) -> str:
        """A word, the frequent ones often."""
        return self._words[int(len(self._words) ** self._random.random()) - 1]

    def sentence(self) -> str:
        """Two or three clauses, about 20 words, that were most probably not said before."""
        pick = self._random.choice
        clauses = [self._clause() for _ in range(self._random.choice((2, 2, 3)))]
        said = f" {pick(_LINKS)} ".join(clauses)
        return f"{pick(_OPENERS)} {said}{pick('.!?.')}"

    def turns(self, count: int, *, users: int = 1, name: str = "bench") -> Iterator[Turn]:
        """Turns of several users in conversations of 40, half a minute apart."""
        for number in range(count):
            user, place = number % users, number // users
            conversation, position = divmod(place, 40)
            yield Turn(
                user_id=f"{name}-{user}",
                role="user" if position % 2 == 0 else "assistant",
                text=self.sentence(),
                turn_id=f"{name}-{number}",
                conversation_id=f"talk-{conversation}",
                created_at=_START + timedelta(hours=7 * conversation, seconds=30 * position),
            )

    def questions(self) -> Iterator[str]:
        """Questions without end, in words that occur."""
        pick = self._random.choice
        while True:
            what = f"{pick(_ADJECTIVES)} {self.word()} {pick(_NOUNS)}"
            yield f"What did {pick(_NAMES)} say about the {what} in {pick(_PLACES)}?"

    def _clause(self) -> str:
        pick = self._random.choice
        who = pick(("I", "we", "my sister", "they", "my neighbour", "he", "she", pick(_NAMES), pick(_NAMES)))
        where = pick(("", "", f" in {pick(_PLACES)}", f" with {pick(_NAMES)}", f" near the {self.word()}"))
        what = f"{pick(_ADJECTIVES)} {self.word()} {pick((pick(_NOUNS), self.word()))}"
        return f"{who} {pick(_VERBS)} the {what}{where} {pick(_TIMES)}"


@lru_cache
def _vocabulary() -> list[str]:
    """Made-up words, those first that are said most often."""
    any_of = random.Random(1)
    words = {"".join(any_of.choices(_SYLLABLES, k=any_of.choice((2, 3, 3, 4)))) for _ in range(40_000)}
    return any_of.sample(sorted(words), _VOCABULARY)
