"""What a text states: all that carries meaning stays, all that only decorates goes, whatever the language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.dedup.canonical import read
from services.shared.dedup.similarity import agreement, same_statement
from services.shared.language.language import is_english

SENTENCES = [
    "My locker is next to the door",
    "We moved to Lisbon last spring",
    "I never drink coffee after lunch",
    "Ich wohne seit Mai in Köln",
    "J'aime le thé de ma tante",
    "The build of the second module is ready",
    "Mi hija vive en León",
    "Anna plays the cello in Ghent",
    "Tell Ben that the parcel is here",
    "私は猫が好きです",
]
DECORATIONS = [
    lambda s: s.upper(),
    lambda s: s.lower(),
    lambda s: f"  {s}\n",
    lambda s: s.replace(" ", "   "),
    lambda s: f"{s}.",
    lambda s: f"{s}!",
    lambda s: f'"{s}"',
    lambda s: f"“{s}”",
    lambda s: f"({s})",
    lambda s: f"**{s}**",
    lambda s: f"{s} 🎉",
    lambda s: f"{s} :)",
    lambda s: f"\ufeff{s}\u200b",
]
MARKS = [*"!^~/+<>@#$%&*=|\\", *"- -- ./ ../ ~/ >= != :: ?x= 👎 💔 :( 5 ½ ² [7]".split()]

sentences = st.sampled_from(SENTENCES)
texts = st.one_of(st.text(), st.text(alphabet="aB 1.,:;'\"!?-*_`()[]/@#$%&+=<>~^\n🎉☹é日。【】", max_size=40))


@given(texts, texts)
def test_whether_texts_state_the_same_does_not_depend_on_their_order(a: str, b: str) -> None:
    assert agreement(a, b) == agreement(b, a)


@given(texts)
def test_every_text_states_what_it_states_and_its_reading_can_be_used_instead(text: str) -> None:
    assert same_statement(text, text)
    assert same_statement(read(text), text)
    assert read(text).words or not text.strip() or not read(text).normal


@given(sentences, st.sampled_from(DECORATIONS), st.sampled_from(DECORATIONS))
def test_case_white_space_and_decoration_make_no_difference(sentence: str, one, other) -> None:  # type: ignore[no-untyped-def]
    assert agreement(one(sentence), other(sentence)) == "equal"


@given(sentences, st.sampled_from(MARKS), st.integers(0, 20))
def test_a_sign_before_any_word_makes_another_statement(sentence: str, mark: str, place: int) -> None:
    words = sentence.split()
    words[place % len(words)] = f"{mark}{words[place % len(words)]}"
    assert not same_statement(sentence, " ".join(words))


@given(sentences, st.from_regex(r"[a-z]{2,8}", fullmatch=True), st.from_regex(r"[a-z]{2,8}", fullmatch=True))
def test_another_address_is_another_statement(sentence: str, one: str, other: str) -> None:
    for form in ("https://{}.example", "https://a.example/{}", "www.{}.example", "{}@mail.example", "a.example/?q={}"):
        assert same_statement(f"{sentence} {form.format(one)}", f"{sentence} {form.format(other)}") == (one == other)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("I prefer UV — over pip!", "i prefer uv over pip"),
        ("Tom & Jerry", "tom and jerry"),
        ("$1,000.50 or 5%", "$ 1000.50 or 5 %"),
        ("１０：３０ Ｕhr", "10:30 uhr"),
        ("Maße, Masse", "maße masse"),
        ("well-known, 3–5 days", "well known 3-5 days"),
        ("see HTTPS://WWW.Ann.Example/Me/?utm_source=x.", "see ann.example/Me"),
        ("run `./build --fast`", "run ./build --fast"),
        ("f(x), a[0] and (b)", "f(x) a[0] and b"),
        ("No, more", "no , more"),
        ("6' or 6\"", "6' or 6\""),
        ("is it on? Or off??", "is it on or off ? ?"),
        ("?!", "?!"),
        ("👍", "👍"),
        ("", ""),
    ],
)
def test_the_normal_form_reads_as_expected(text: str, normal: str) -> None:
    assert read(text).normal == normal


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("3.50", "3.5"),
        (".5", "5"),
        ("10:30", "10.30"),
        ("2026-02-01", "20260201"),
        ("1/2", "12"),
        ("½", "12"),
        ("3½", "31/2"),
        ("10²", "102"),
        ("H₂O", "H2O"),
        ("5 %", "5"),
        ("C#", "C"),
        ("a < b", "a > b"),
        ("don't", "do"),
        ("we're", "were"),
        ("re-sign", "resign"),
        ("की", "का"),
        ("hi 👍", "hi 👎"),
        ("?!", "!!"),
    ],
)
def test_what_carries_meaning_keeps_statements_apart(a: str, b: str) -> None:
    assert not same_statement(a, b)


def test_a_capital_inside_a_sentence_counts_only_where_both_texts_use_capitals() -> None:
    assert not same_statement("She met Rose in town", "She met rose in town")
    assert same_statement("She met Rose in town", "she met rose in town")
    assert same_statement("She met Rose in town", "SHE MET ROSE IN TOWN")
    assert same_statement("She Met Rose In Town", "She met rose in town")
    assert same_statement("Oh, We saw Rose", "We saw Rose")


def test_citation_marks_may_be_missing_but_not_differ() -> None:
    told = "The bridge was built by two brothers"
    assert same_statement(told, f"{told} [2].")
    assert same_statement(told, f"{told}【3†source】")
    assert not same_statement(f"{told} [1].", f"{told} [2].")
    assert not same_statement("I choose option [1]", "I choose option")


def test_a_question_is_another_statement_with_another_hash() -> None:
    assert read("You like tea?").words != read("You like tea").words
    assert read("You like tea?").normal != read("You like tea").normal


@pytest.mark.parametrize("text", ["the cat sleeps", "i cant swim", "We saw two birds", "I live in La Paz", "don't go"])
def test_english_is_recognized(text: str) -> None:
    assert is_english(text.lower().split())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plough",
        "Ich war so müde",
        "Il va à la mer",
        "Ik was in de stad",
        "Ela é a melhor",
        "это the",
        "vedo a Roma",
    ],
)
def test_what_may_be_another_language_is_not_taken_for_english(text: str) -> None:
    assert not is_english(text.lower().split())


BLOCK = "Run this:\n```{lang}\nif {name}:\n    a()\n{last}\n```\nand it works"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BLOCK.format(lang="py", name="x", last="b()"), BLOCK.format(lang="py", name="X", last="b()")),
        (BLOCK.format(lang="py", name="x", last="b()"), BLOCK.format(lang="py", name="x", last="    b()")),
        (BLOCK.format(lang="js", name="x", last="b()"), BLOCK.format(lang="py", name="x", last="b()")),
        ("```\na b\n```", "```\na\nb\n```"),
        ("~~~\nColour = 1\n~~~", "~~~\nColor = 1\n~~~"),
        ("The config:\n```\nname: Foo", "The config:\n```\nname: foo"),
        (f"{'word ' * 60}`recieve`", f"{'word ' * 60}`receive`"),
    ],
)
def test_every_sign_in_code_counts(one: str, other: str) -> None:
    assert not same_statement(one, other)
    assert same_statement(one, one.replace("Run", "run").replace("  \n", "\n"))


def test_what_is_between_backticks_is_the_same_without_them_where_it_is_plain() -> None:
    assert read("I use `uv`, not *pip*").words == read("i use uv, not pip.").words
    assert read("it`s Bob`s dog").code == frozenset()
    assert read("Call `Foo(x)` or `bar baz`.").code == {"Foo(x)", "bar", "baz"}


def test_an_opening_with_nothing_behind_it_is_read() -> None:
    assert read("I mean, :)").words
