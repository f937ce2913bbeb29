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

from services.shared.language.lexicon import WORDS
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
    scanner = _Scanner(codes)
    for line in plain.splitlines():
        scanner.take_line(line)
    tokens = _without_decoration(scanner.tokens)
    if not tokens:
        return Scan(words=plain.lower().split())  # nothing but punctuation: "?!" is what it is
    scanned = _scanned(tokens)
    scanned.questions, scanned.citations = scanner.questions, citations
    return scanned


@dataclass(slots=True)
class _Token:
    """A word as it is written and in lower case; whether it opens a sentence, a pause follows, and it is code or
    something that is named to the letter."""

    raw: str
    word: str
    opens: bool
    is_code: bool = False
    is_literal: bool = False
    pauses: bool = False


_LEAD_OF_LITERAL = "\"'`([{)]},;*"
_TAIL_OF_LITERAL = ".,:;\"'`)]}*"
_END_OF_SECRET = re.compile(r"""["'`)\]}*]*[.,]?["'`)\]}*]*\Z""")
_CAPITAL_INSIDE = re.compile(r"[a-z0-9][A-Z]")
_BULLET = re.compile(r"""\A[ \t]*(?:(?:[-*]|\#{1,6}|>)[ \t]+)+(?=[^\W\d_]|["'(*_])""")
_ENDING = frozenset(".!?:")
_PAUSING = frozenset(",;:.!?")
_WRAPPING_PAUSES = frozenset('"()[]{}')
_QUOTES_AND_BRACKETS = "\"'`()[]{}_"
_WRAPPING = f"{_QUOTES_AND_BRACKETS}.,:;?"
_OPERAND = re.compile(r"[+-]?[0-9][0-9.,]*|[^\W\d_]")

_SECRETS, _NAMING, _LINKING, _ARTICLES = (WORDS[it] for it in ("secrets", "naming", "linking", "articles"))
_DENIALS, _DENIALS_WITHOUT_APOSTROPHE = WORDS["denials"], WORDS["denials without apostrophe"]
_SURNAMES, _EITHER_WAY, _CASED_UNITS = (WORDS[it] for it in ("surnames", "written either way", "cased units"))
_NAMED_TO_THE_LETTER = _SECRETS | WORDS["named to the letter"]


class _Scanner:
    """Goes through a text once, from left to right."""

    def __init__(self, codes: Sequence[str]) -> None:
        self.tokens: list[_Token] = []
        self.questions = 0
        self.codes = iter(codes)
        self.quoting: set[str] = set()
        self.starts = self.pausing = self.asked = False

    def take_line(self, line: str) -> None:
        """Read the next line."""
        self.starts, self.pausing = True, bool(self.tokens)
        chunks = _BULLET.sub("", line).split()
        emphasis = _emphasized(chunks) if "*" in line or "_" in line else frozenset()
        for i, chunk in enumerate(chunks):
            noun = self._named_to_the_letter(chunk)
            if noun is not None and self._take_literal(chunk, noun):
                continue
            if chunk.isascii() and chunk.isalpha():
                self._add(chunk)
            elif (piece := split_piece(chunk)).tokens:
                self._take_piece(piece, i, emphasis)
            else:
                self._take_marks(chunk, chunks[i + 1] if i + 1 < len(chunks) else "", alone=len(chunks) == 1)

    def _take_piece(self, piece: Piece, i: int, emphasis: frozenset[tuple[int, bool]]) -> None:
        self.starts = self.starts or '"' in piece.lead
        self.pausing = self.pausing or self._sets_apart_denied(piece.lead)
        for token in self._with_marks(piece, i, emphasis):
            self._add(token)
        self.pausing = self._sets_apart_denied(piece.tail)
        self._end(piece.tail, piece.tokens[-1])

    def _take_literal(self, chunk: str, noun: str) -> bool:
        """Take a password, a key or another thing that is named to the letter; whether there is one."""
        is_secret = noun in _SECRETS
        rest = chunk.lstrip(_LEAD_OF_LITERAL)
        core = _END_OF_SECRET.sub("", rest) if is_secret else rest.rstrip(_TAIL_OF_LITERAL)
        literal = core + rest[len(core) :][: count_closing(core, rest[len(core) :])]
        if not is_secret or literal.rstrip("?!;:").isdecimal():
            literal = literal.rstrip("?!;:")
        if PLACE in literal or not is_word(literal):
            return False
        self.tokens.append(_Token(literal, literal.lower(), opens=False, is_code=True, is_literal=True))
        self._end(chunk[chunk.rindex(literal) + len(literal.rstrip("?!")) :], literal)
        return True

    def _named_to_the_letter(self, chunk: str) -> str | None:
        """What the next word names to the letter, as after "my password:" and "the function is called"."""
        last = self.tokens[-1].word if self.tokens else ""
        if last in _SECRETS and _CAPITAL_INSIDE.search(chunk):
            return last
        if not last or (last not in _NAMING and not self.starts):
            return None
        before = (token.word for token in reversed(self.tokens[-3:]))
        noun = next((word for word in before if word not in _NAMING), None)
        return noun if noun in _NAMED_TO_THE_LETTER else None

    def _sets_apart_denied(self, marks: str) -> bool:
        """Whether brackets or quotation marks stand right beside a negation: "no" more tea, no (more tea)."""
        return bool(self.tokens) and not _WRAPPING_PAUSES.isdisjoint(marks) and _denies(self.tokens[-1].word)

    def _with_marks(self, piece: Piece, i: int, emphasis: frozenset[tuple[int, bool]]) -> Sequence[str]:
        """The tokens with the marks beside them that are neither quotation marks, brackets nor emphasis."""
        lead, tokens, tail = piece
        if not lead and not tail:
            return tokens
        before = "" if (i, False) in emphasis else _run_of_emphasis(lead[::-1])
        after = "" if (i, True) in emphasis else _run_of_emphasis(tail)
        if tail[:1] in ("'", '"') and tokens[-1][-1].isdigit() and tail[0] not in self.quoting | set(lead):
            after = '"' if tail.startswith("''") else tail[0]  # 6' and 6"
        for mark in ("'", '"'):
            if mark in lead and mark not in tail:
                self.quoting.add(mark)
            elif mark in tail:
                self.quoting.discard(mark)
        marked = [before + tokens[0], *tokens[1:]]
        marked[-1] += after
        return marked

    def _take_marks(self, chunk: str, following: str, *, alone: bool) -> None:
        """A piece without a letter or digit: an operator stays, a dash or a full stop is a pause."""
        marks = chunk.strip(_WRAPPING)
        before = self.tokens[-1].raw if self.tokens else ""
        if marks in ("-", "--", "\u2014"):
            counts = self.starts or _OPERAND.fullmatch(before) or before.lower() in _LINKING  # 7 - 5, it is - 5
            if marks == "-" and counts and _OPERAND.fullmatch(following.rstrip(TAIL)):
                self._add("-")
            self.pausing = True
        elif chunk in ("'", '"') and before[-1:].isdigit():
            self._add(chunk)
        elif marks == "&":
            self._add("and")
        elif chunk == ".." or (marks.strip("!") and not _is_rule(chunk, "-_~.*=#" if alone else "-_~.")):
            self._add(chunk.strip(_QUOTES_AND_BRACKETS).rstrip(".,:;?") or chunk)
        else:
            self._end(chunk, "")

    def _add(self, token: str) -> None:
        if self.pausing and self.tokens:
            self.tokens[-1].pauses = True
            if any(_denies(before.word) for before in self.tokens[-2:]) or token.lower() in _DENIALS:
                self._append(",", opens=True)
        if PLACE in token:
            self._append_code(token)
        else:
            self._append(token, opens=self.starts)
        self.starts = self.pausing = self.asked = False

    def _append(self, token: str, *, opens: bool) -> None:
        self.tokens.append(_Token(token, token.lower(), opens))

    def _append_code(self, token: str) -> None:
        """The words of the code that stands in a token, with what is written right before or after it."""
        for word in re.sub(PLACE, lambda _: next(self.codes), token).split(" "):
            self.tokens.append(_Token(word, word.lower(), opens=False, is_code=True))

    def _end(self, tail: str, last: str) -> None:
        """Note what the marks after a word tell: a pause, a question, the end of a sentence."""
        self.pausing = self.pausing or not _PAUSING.isdisjoint(tail)
        self.starts = self.starts or (not _ENDING.isdisjoint(tail) and last.lower() not in TITLES)
        if "?" in tail and not self.asked:
            self.questions += 1
            self.asked = True


def _without_decoration(tokens: Sequence[_Token]) -> Sequence[_Token]:
    """The tokens without the smiles that only decorate: at the end of a sentence or the text, or before all words."""
    if not any(is_decoration(token.raw) for token in tokens) or not any(is_word(token.raw) for token in tokens):
        return tokens
    return [token for i, token in enumerate(tokens) if not _decorates(tokens, i)]


def _decorates(tokens: Sequence[_Token], i: int) -> bool:
    token = tokens[i]
    if token.is_code or not is_decoration(token.raw):
        return False
    first = i < 5 and all(is_decoration(before.raw) for before in tokens[:i])
    following = next((after for after in tokens[i + 1 : i + 5] if not is_decoration(after.raw)), None)
    return first or following is None or following.opens or token.pauses or tokens[i - 1].pauses


_SHOUT, _TITLE = 4, 5  # words from which on a text can be all in capitals, or in title case
_MOST_OF_A_TITLE = 0.8
_EMPHATIC = 5  # letters from which on a word in capitals is emphasis rather than an abbreviation
_STARTING = WORDS["subjects"] - _ARTICLES | {"the"}


def _scanned(tokens: Sequence[_Token]) -> Scan:
    """What the tokens are, by how the text as a whole uses capitals."""
    lettered = [token.raw for token in tokens if token.raw[0].isalpha() and not token.is_code]
    shouts = len(lettered) >= _SHOUT and all(raw[0].isupper() for raw in lettered)
    choice = [raw[0].isupper() for raw in lettered if raw != "I"]
    titled = len(choice) >= _TITLE and sum(choice) >= _MOST_OF_A_TITLE * len(choice)
    loud = all(raw.isupper() for raw in lettered)
    scanned = Scan(cased=not (titled or loud) and any(map(_shows_case, lettered)))
    before = _Token("", "", opens=True)
    for i, token in enumerate(tokens):
        is_unit = not (shouts or titled or loud) and _is_unit_with_case(before, token)
        is_kept = is_unit or (token.is_code and not (token.is_literal and (shouts or titled)))
        scanned.words.append(token.raw if is_kept else keyed(token.raw, shouts))
        if token.pauses:
            scanned.pauses.add(i)
        if token.is_code:
            scanned.code.add(i)
        for name, opens in _capitalized(before, token):
            (scanned.openings if opens else scanned.names)[name] += 1
        before = token
    return scanned


def _capitalized(before: _Token, token: _Token) -> Iterator[tuple[str, bool]]:
    """A word that opens a sentence, or one with a capital inside one, with the article before it."""
    raw, lower = (token.word if token.is_code else token.raw), token.word
    if (token.opens and lower not in _SURNAMES) or (raw.isupper() and len(raw) >= _EMPHATIC):
        yield lower, True  # a capital here tells nothing
    elif lower == raw or lower in _EITHER_WAY or (lower in _STARTING and not raw.isupper()):
        return  # "Oh, My …"
    else:
        is_capital = raw.isupper() or raw[1:].islower()
        name = lower if is_capital and lower not in _CASED_UNITS else raw
        yield (f"{before.word} {name}" if before.word in _ARTICLES else name), False


def _is_unit_with_case(before: _Token, token: _Token) -> bool:
    """Whether it is a unit after a number whose capitals tell: 5 MB and 5 Mb, 10 mg and 10 Mg."""
    return before.raw[-1:].isdigit() and token.word in _CASED_UNITS


def _shows_case(token: str) -> bool:
    """Whether a word tells that its writer uses capitals as sentences do: unlike an emphatic WORD."""
    return token[0].isupper() and (len(token) == 1 or not token.isupper())


def _is_rule(chunk: str, signs: str) -> bool:
    """Whether it is a line of one sign."""
    return len(chunk) > 2 and chunk[0] in signs and not chunk.strip(chunk[0])


def _denies(word: str) -> bool:
    return word in _DENIALS or word in _DENIALS_WITHOUT_APOSTROPHE or word.endswith("n't")


def _run_of_emphasis(marks: str) -> str:
    """The asterisks or underscores that stand next to a word."""
    mark = marks[:1]
    return marks[: len(marks) - len(marks.lstrip(mark))] if mark in ("*", "_") else ""


def _emphasized(chunks: Sequence[str]) -> frozenset[tuple[int, bool]]:
    """The pieces whose asterisks or underscores open (False) or close (True) an emphasis, as in **this one**."""
    opened: dict[str, list[int]] = {}
    found: set[tuple[int, bool]] = set()
    for i, piece in enumerate(map(split_piece, chunks)):
        if not piece.tokens:
            continue
        if before := _run_of_emphasis(piece.lead[::-1]):
            opened.setdefault(before, []).append(i)
        after = _run_of_emphasis(piece.tail.lstrip(TAIL.replace("*", "").replace("_", "")))
        if after and opened.get(after):
            found |= {(opened[after].pop(), False), (i, True)}
    return frozenset(found)
