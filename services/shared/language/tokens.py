"""The tokens of a raw text: everything that carries meaning stays, decoration goes.

A text is split at white space. What stands inside such a piece stays (3.50, 10:30, a/b, snake_case, node.js), what
only wraps it goes (quotation marks, brackets, commas, full stops, emphasis), and what leads it stays (!ready, ^1.2,
./build, -v, @ann), because such a sign belongs to its word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from services.shared.language import lexicon
from services.shared.language.pieces import TAIL, Piece, count_closing, is_decoration, is_word, keyed, split_piece
from services.shared.language.prose import PLACE, as_prose
from services.shared.language.spelling import TITLES


@dataclass(slots=True)
class Scan:
    """The tokens of a text, and what is known of them beyond their letters.

    `words` are in lower case, but for code such as fooBar and Hunter2; a comma stands where a pause beside a negation
    makes a difference. `pauses` are the places of words that a pause follows. `names` counts the words written with a
    capital inside a sentence, each with the article before it; `openings` the first words of sentences, of which a
    capital tells nothing. `cased` tells whether the text uses capitals as sentences do. `questions` counts what ends
    in a question mark. `code` are the places of words that were written as code: they are as they were written.
    """

    words: list[str] = field(default_factory=list)
    pauses: set[int] = field(default_factory=set)
    names: Counter[str] = field(default_factory=Counter)
    openings: Counter[str] = field(default_factory=Counter)
    cased: bool = False
    questions: int = 0
    code: set[int] = field(default_factory=set)
    citations: tuple[str, ...] = ()


def scan(text: str) -> Scan:
    """The tokens of a raw text, in time linear in its length."""
    plain, codes, citations = as_prose(text)
    scanned = _Scanner(plain, codes).scanned()
    scanned.citations = citations
    if not scanned.words:
        return Scan(words=plain.lower().split())  # nothing but punctuation: "?!" is what it is
    return scanned


_LEAD_OF_LITERAL = "\"'`([{)]},;*"
_TAIL_OF_LITERAL = ".,:;\"'`)]}*"
_END_OF_SECRET = re.compile(r"""["'`)\]}*]*[.,]?["'`)\]}*]*\Z""")
_CAPITAL_INSIDE = re.compile(r"[a-z0-9][A-Z]")
_BULLET = re.compile(r"""[ \t]*(?:(?:[-*]|\#{1,6}|>)[ \t]+)+(?=[^\W\d_]|["'(*_])""")
_RULE = re.compile(r"([-*=_#~.])\1{2,}")
_RULE_IN_TEXT = re.compile(r"([-_~.])\1{2,}")
_ENDING = frozenset(".!?:")
_PAUSING = frozenset(",;:.!?")
_WRAPPING_PAUSES = frozenset('"()[]{}')
_QUOTES_AND_BRACKETS = "\"'`()[]{}_"
_WRAPPING = f"{_QUOTES_AND_BRACKETS}.,:;?"
_OPERAND = re.compile(r"[+-]?[0-9][0-9.,]*|[^\W\d_]")
_SHOUT, _TITLE = 4, 5  # words from which on a text can be all in capitals, or in title case
_MOST_OF_A_TITLE = 0.8


class _Scanner:
    """Go through a text once, from left to right."""

    def __init__(self, plain: str, codes: Sequence[str]) -> None:
        self.found = Scan()
        self.codes = iter(codes)
        self.literal: set[str] = set()
        self.raw: list[str] = []  # tokens as written, beside found.words
        self.opening: list[bool] = []  # whether a token opens a sentence
        self.lines = plain.splitlines()
        self.quoting: set[str] = set()
        self.starts = self.pausing = self.asked = False

    def scanned(self) -> Scan:
        for line in self.lines:
            bullet = _BULLET.match(line)
            self.starts, self.pausing = True, bool(self.raw)
            chunks = (line[bullet.end() :] if bullet else line).split()
            emphasis = _emphasized(chunks) if "*" in line or "_" in line else frozenset()
            for i, chunk in enumerate(chunks):
                self._take(chunk, i, chunks, emphasis)
        self._drop_decoration()
        self._note_case()
        return self.found

    def _take(self, chunk: str, i: int, chunks: Sequence[str], emphasis: frozenset[tuple[int, bool]]) -> None:
        noun = self._named_to_the_letter(chunk)
        if noun is not None and self._take_literal(chunk, noun):
            return
        if chunk.isascii() and chunk.isalpha():
            self._add(chunk)
            return
        piece = split_piece(chunk)
        if piece.marks:
            self._take_marks(chunk, chunks[i + 1] if i + 1 < len(chunks) else "", alone=len(chunks) == 1)
            return
        tokens = piece.tokens
        if piece.lead or piece.tail:
            tokens = self._with_marks(piece, i, emphasis)
        self.starts = self.starts or '"' in piece.lead
        self.pausing = self.pausing or self._sets_apart_denied(piece.lead)
        for token in tokens:
            self._add(token)
        self.pausing = self._sets_apart_denied(piece.tail)
        self._end(piece.tail, piece.tokens[-1])

    def _take_literal(self, chunk: str, noun: str) -> bool:
        """Take a password, a key or another thing that is named to the letter; whether there is one."""
        rest = chunk.lstrip(_LEAD_OF_LITERAL)
        core = _END_OF_SECRET.sub("", rest) if noun in lexicon.SECRETS else rest.rstrip(_TAIL_OF_LITERAL)
        literal = core + rest[len(core) :][: count_closing(core, rest[len(core) :])]
        if noun not in lexicon.SECRETS or literal.rstrip("?!;:").isdecimal():
            literal = literal.rstrip("?!;:")
        if PLACE in literal or not is_word(literal):
            return False
        self.found.code.add(len(self.raw))
        self.literal.add(literal)
        self._append(literal, opens=False)
        self._end(chunk[chunk.rindex(literal) + len(literal.rstrip("?!")) :], literal)
        return True

    def _named_to_the_letter(self, chunk: str) -> str | None:
        """What the next word names to the letter, as after "my password:" and "the function is called"."""
        words = self.found.words
        if words and words[-1] in lexicon.SECRETS and _CAPITAL_INSIDE.search(chunk):
            return words[-1]
        if not words or (words[-1] not in lexicon.NAMING and not self.starts):
            return None
        noun = next((word for word in reversed(words[-3:]) if word not in lexicon.NAMING), None)
        return noun if noun in lexicon.NAMED_TO_THE_LETTER else None

    def _sets_apart_denied(self, marks: str) -> bool:
        """Whether brackets or quotation marks stand right beside a negation: "no" more tea, no (more tea)."""
        return not _WRAPPING_PAUSES.isdisjoint(marks) and bool(self.raw) and _denies(self.found.words[-1])

    def _with_marks(self, piece: Piece, i: int, emphasis: frozenset[tuple[int, bool]]) -> tuple[str, ...]:
        """The tokens with the marks beside them that are neither quotation marks, brackets nor emphasis."""
        first, last = piece.tokens[0], piece.tokens[-1]
        before = "" if (i, False) in emphasis else _run_of_emphasis(piece.lead[::-1])
        after = "" if (i, True) in emphasis else _run_of_emphasis(piece.tail)
        if piece.tail[:1] in ("'", '"') and last[-1].isdigit() and piece.tail[0] not in self.quoting | set(piece.lead):
            after = '"' if piece.tail.startswith("''") else piece.tail[0]  # 6' and 6"
        for mark in ("'", '"'):
            if mark in piece.lead and mark not in piece.tail:
                self.quoting.add(mark)
            elif mark in piece.tail:
                self.quoting.discard(mark)
        if len(piece.tokens) == 1:
            return (before + first + after,)
        return (before + first, *piece.tokens[1:-1], last + after)

    def _take_marks(self, chunk: str, following: str, *, alone: bool) -> None:
        """A piece without a letter or digit: an operator stays, a dash or a full stop is a pause."""
        marks = chunk.strip(_WRAPPING)
        before = self.raw[-1] if self.raw else ""
        if marks in ("-", "--", "\u2014"):
            counts = self.starts or _OPERAND.fullmatch(before) or before.lower() in lexicon.LINKING  # 7 - 5, it is - 5
            if marks == "-" and counts and _OPERAND.fullmatch(following.rstrip(TAIL)):
                self._add("-")
            self.pausing = True
        elif chunk in ("'", '"') and before[-1:].isdigit():
            self._add(chunk)
        elif marks == "&":
            self._add("and")
        elif chunk == ".." or (marks.strip("!") and not (_RULE if alone else _RULE_IN_TEXT).fullmatch(chunk)):
            self._add(chunk.strip(_QUOTES_AND_BRACKETS).rstrip(".,:;?") or chunk)
        else:
            self._end(chunk, "")

    def _add(self, token: str) -> None:
        words = self.found.words
        if self.pausing and words:
            self.found.pauses.add(len(words) - 1)
            if any(map(_denies, words[-2:])) or token.lower() in lexicon.DENIALS:
                self._append(",", opens=True)
        if PLACE in token:
            self._append_code(token)
        else:
            self._append(token, opens=self.starts)
        self.starts = self.pausing = self.asked = False

    def _append(self, token: str, *, opens: bool) -> None:
        self.raw.append(token)
        self.opening.append(opens)
        self.found.words.append(token.lower())

    def _append_code(self, token: str) -> None:
        """The words of the code that stands in a token, with what is written right before or after it."""
        for word in re.sub(PLACE, lambda _: next(self.codes), token).split(" "):
            self.found.code.add(len(self.raw))
            self._append(word, opens=False)

    def _end(self, tail: str, last: str) -> None:
        """Note what the marks after a word tell: a pause, a question, the end of a sentence."""
        marks = frozenset(tail)
        if not marks:
            return
        self.pausing = self.pausing or not marks.isdisjoint(_PAUSING)
        self.starts = self.starts or (not marks.isdisjoint(_ENDING) and last.lower() not in TITLES)
        if "?" in marks and not self.asked:
            self.found.questions += 1
            self.asked = True

    def _drop_decoration(self) -> None:
        """Leave out the smiles that only decorate: at the end of the text or of a sentence, or before all words."""
        if not any(map(is_decoration, self.found.words)):
            return
        if not any(map(is_word, self.raw)):
            return
        kept = [i for i in range(len(self.raw)) if not self._decorates(i)]
        places = {old: new for new, old in enumerate(kept)}
        self.found.pauses = {places[i] for i in self.found.pauses if i in places}
        self.found.code = {places[i] for i in self.found.code}
        self.found.words = [self.found.words[i] for i in kept]
        self.opening = [self.opening[i] for i in kept]
        self.raw = [self.raw[i] for i in kept]

    def _decorates(self, i: int) -> bool:
        if not is_decoration(self.raw[i]) or i in self.found.code:
            return False
        pauses = self.found.pauses
        first = all(map(is_decoration, self.raw[max(0, i - 4) : i])) and i < 5
        following = next((j for j in range(i + 1, min(i + 5, len(self.raw))) if not is_decoration(self.raw[j])), None)
        last = following is None or self.opening[following]
        return first or last or i - 1 in pauses or i in pauses

    def _note_case(self) -> None:
        """Fill in what depends on how the text as a whole uses capitals."""
        found = self.found
        prose = [
            word if i in found.code else token
            for i, (word, token) in enumerate(zip(found.words, self.raw, strict=True))
        ]
        lettered = [token for i, token in enumerate(self.raw) if token[0].isalpha() and i not in found.code]
        capitals = sum(token[0].isupper() for token in lettered)
        shouts = capitals == len(lettered) >= _SHOUT
        choice = [token for token in lettered if token != "I"]
        titled = len(choice) >= _TITLE and sum(t[0].isupper() for t in choice) >= _MOST_OF_A_TITLE * len(choice)
        loud = all(token.isupper() for token in lettered)
        found.cased = not (titled or loud) and any(map(_shows_case, lettered))
        uncased = self.literal if shouts or titled else frozenset()
        measured = set() if shouts or titled or loud else set(_units_with_case(self.raw))
        found.words = [
            token if i in measured or (i in found.code and token not in uncased) else keyed(token, shouts)
            for i, token in enumerate(self.raw)
        ]
        for name, opens in _capitalized(prose, self.opening):
            (found.openings if opens else found.names)[name] += 1


_EMPHATIC = 5  # letters from which on a word in capitals is emphasis rather than an abbreviation


_STARTING = lexicon.SUBJECTS - lexicon.ARTICLES | {"the"}


def _capitalized(raw: Sequence[str], opening: Sequence[bool]) -> Iterator[tuple[str, bool]]:
    """The words that open a sentence, and those with a capital inside one, each with the article before it."""
    before = ""
    for token, opens in zip(raw, opening, strict=True):
        lower = token.lower()
        if (opens and lower not in lexicon.SURNAMES) or (token.isupper() and len(token) >= _EMPHATIC):
            yield lower, True  # a capital here tells nothing
        elif lower in lexicon.WRITTEN_EITHER_WAY or (lower in _STARTING and not token.isupper()):
            pass  # "Oh, My …"
        elif lower != token:
            is_capital = token.isupper() or token[1:].islower()
            name = lower if is_capital and lower not in lexicon.CASED_UNITS else token
            yield (f"{before} {name}" if before in lexicon.ARTICLES else name), False
        before = lower


def _units_with_case(raw: Sequence[str]) -> Iterator[int]:
    """The places of units after a number whose capitals tell: 5 MB and 5 Mb, 10 mg and 10 Mg."""
    for i, token in enumerate(raw[1:], start=1):
        if raw[i - 1][-1:].isdigit() and token.lower() in lexicon.CASED_UNITS:
            yield i


def _shows_case(token: str) -> bool:
    """Whether a word tells that its writer uses capitals as sentences do: unlike an emphatic WORD."""
    return token[0].isupper() and (len(token) == 1 or not token.isupper())


def _denies(word: str) -> bool:
    return word in lexicon.DENIALS or word.endswith("n't") or word in lexicon.DENIALS_WITHOUT_APOSTROPHE


def _run_of_emphasis(marks: str) -> str:
    """The asterisks or underscores that stand next to a word."""
    mark = marks[:1]
    return marks[: len(marks) - len(marks.lstrip(mark))] if mark in ("*", "_") else ""


def _emphasized(chunks: Sequence[str]) -> frozenset[tuple[int, bool]]:
    """The pieces whose asterisks or underscores open (False) or close (True) an emphasis, as in **this one**."""
    opened: dict[str, list[int]] = {}
    found: set[tuple[int, bool]] = set()
    for i, chunk in enumerate(chunks):
        piece = split_piece(chunk)
        if piece.marks:
            continue
        if before := _run_of_emphasis(piece.lead[::-1]):
            opened.setdefault(before, []).append(i)
        after = _run_of_emphasis(piece.tail.lstrip(TAIL.replace("*", "").replace("_", "")))
        if after and opened.get(after):
            found |= {(opened[after].pop(), False), (i, True)}
    return frozenset(found)
