"""The terms of the lexical index."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.language import analysis
from services.shared.language.analysis import LONGEST_TERM, analyze, analyze_query, is_foreign
from services.shared.language.language import STOP_WORDS


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("I prefer uv over pip", ["i", "prefer", "uv", "over", "pip"]),
        ("John’s dogs are RUNNING", ["john", "dog", "run"]),
        ("snake_case", ["snake", "case", "snake_case"]),
        ("v1.2.3", ["v1", "2", "3", "v1.2.3"]),
        ("at 10:30", ["10", "30", "10:30"]),
        ("node.js and C++", ["node", "js", "node.js", "c", "c++"]),
        ("don't", ["don't"]),
        ("我喜欢茶", ["喜", "欢", "茶", "我喜", "喜欢", "欢茶"]),
        ("寿司を食べた", ["寿", "司", "食", "寿司", "司を", "を食", "食べ", "べた"]),
        ("학교에 갔다", ["학", "교", "에", "학교", "교에", "갔", "다", "갔다"]),
        ("い", ["い"]),
        ("น้ำชาร้อน", ["น\u0e49\u0e4dา", "ชา", "ร\u0e49", "น\u0e49\u0e4dาชา", "ชาร\u0e49", "ร\u0e49อ", "อน"]),
        ("កាហ្វេ", ["កា", "ហ្វេ", "កាហ្វេ"]),
        ("မြန်မာ", ["မြန်", "မာ", "မြန်မာ"]),
        ("ולבית", ["ולבית", "ולבית", "לבית", "בית"]),
        ("התה", ["התה", "התה", "תה"]),
        ("وبالبيت", ["وبالبيت", "وبالبيت", "بالبيت", "البيت", "بيت"]),
        ("ولد", ["ولد", "ولد"]),
        ("iPhone手机2台", ["iphon", "手", "机", "手机", "2", "台"]),
        ("Ich wohne in der alten Mühle", ["wohn", "alt", "muhl"]),
        ("J'habite près de l'école", ["pres", "pre", "écol", "ecol"]),
        ("L’ami vient", ["l'ami", "ami", "vient"]),
        ("Ankara'da yağmur", ["ankara'da", "ankara", "yağmur", "yagmur"]),
        ("O'Brien can't, I'd", ["o'brien", "can't", "i'd"]),
        ("Łódź", ["łódź", "lodz"]),
        ("Алёна", ["ал"]),
        ("й", ["й"]),
        ("Моя собака любит гулять", ["собак", "люб", "гуля"]),
        ("हिन्दी", ["हिन्दी"]),
        ("１２", ["12"]),
        ("?!", []),
    ],
)
def test_a_text_gives_these_terms(text: str, terms: list[str]) -> None:
    assert analyze(text) == terms


def test_the_stop_words_are_lucenes_thirty_three() -> None:
    assert len(STOP_WORDS["english"]) == 33
    assert analyze(" ".join(STOP_WORDS["english"])) == []


@given(st.text())
def test_terms_never_hold_white_space_quotes_or_control_characters(text: str) -> None:
    for term in analyze(text):
        assert term
        assert not any(c.isspace() or c == '"' or ord(c) < 32 or 127 <= ord(c) < 160 for c in term)


@given(st.text(alphabet="ab1_.' -", max_size=60))
def test_case_does_not_change_the_terms(text: str) -> None:
    assert analyze(text.upper()) == analyze(text)


def test_a_run_without_end_is_split_and_stays_out_of_the_cache() -> None:
    analysis._terms.cache_clear()
    terms = analyze("x" * 1000 + "é" * 1000)
    assert len(terms) == 4 + 5 + 4
    assert max(map(len, terms)) <= LONGEST_TERM
    assert analysis._terms.cache_info().currsize == 0


def test_threads_agree_on_the_terms() -> None:
    words = [f"running{suffix} relational{suffix} conditions{suffix}" for suffix in "abcdefghijklmnopqrstuvwxyz"]
    alone = [analyze(text) for text in words]
    analysis._terms.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(analyze, words * 40))
    assert together == alone * 40


def test_one_word_alone_is_a_word_of_no_language() -> None:
    assert "mia" in analyze_query("Mia")[0], "a name, and Italian for my"
    assert not any("mia" in word for word in analyze_query("la mia casa"))


def test_words_that_only_ask_are_not_looked_for() -> None:
    assert analyze_query("What did you say about my bikes?") == [("sai",), ("bike",)]


def test_a_query_of_nothing_but_asking_words_is_taken_as_it_is() -> None:
    assert analyze_query("who am I") == [(term,) for term in analyze("who am I")] != []


def test_a_question_in_a_language_looks_for_the_stem_in_each() -> None:
    found = analyze_query("Was hast du über die Zahnarzttermine gesagt?")
    assert [its[0] for its in found] == ["zahnarzttermin", "gesagt"]
    assert set(analyze("Der Zahnarzttermin ist am Dienstag")) & set(found[0])
    assert analyze_query("What about the Zahnarzttermine?") == [("zahnarzttermin",)]


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Meine Häuser sind alt", "Haus"),
        ("Mis perros ladran mucho", "¿Cómo ladra mi perro?"),
        ("Gli amici di mia sorella", "l'amico?"),
        ("Trabalhava num hospital", "Onde trabalho eu?"),
        ("Я работаю в больнице", "больница"),
        ("コーヒーは飲みません", "コーヒー"),
        ("Ankara’da yaşıyorum.", "Ankara’ya"),
        ("Ahmet'in doğum günü cuma.", "When is Ahmet's birthday?"),
        ("İstanbul'da iki ev var.", "istanbul"),
        ("Kuzenim Irmak", "ırmak"),
        ("Je vais à l'école.", "ecole"),
        ("Bevo dell'acqua.", "acqua"),
        ("C'est aujourd'hui", "aujourd'hui"),
        ("Mon avion", "l’avion ?"),
        ("José kommt am Montag in unser Haus.", "Jose"),
        ("Besançon ist eine Stadt in Frankreich.", "besancon"),
        ("ma soeur", "sœur"),
        ("Der Müller kommt heute", "Mueller"),
        ("Η Ελένη είναι εδώ", "Ελενη"),
        ("I study psychology.", "psychological"),
        ("He owes me an apology", "Did he apologize?"),
        ("The assembly took an hour", "assembled"),
        ("Possibly on Monday", "possible"),
        ("The genealogy of my family", "genealogical"),
        ("ฉันเลี้ยงแมวสองตัว", "แมวกี่ตัว"),
        ("ខ្ញុំផឹកកាហ្វេ", "កាហ្វេ"),
        ("မနက်တိုင်းကော်ဖီသောက်တယ်", "ကော်ဖီ"),
        ("גרתי בירושלים", "מירושלים"),
        ("שהמפתחות במגירה", "מפתחות"),
        ("ذهبت للمدرسة", "بالمدرسة"),
        ("القهوة والشاي", "شاي"),
    ],
)
def test_what_is_stored_is_what_is_asked_for(said: str, asked: str) -> None:
    terms = set(analyze(said))
    assert any(terms.intersection(its) for its in analyze_query(asked))


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("O'Brien called", "Brien"),
        ("I don't know", "don"),
        ("Ankara'dan geldim", "Dan"),
        ("Il est d'une ville", "une"),
        ("Мій об'єкт", "об"),
        ("Der Müll muss raus", "Moll"),
        ("йод", "иод"),
        ("מים קרים", "ים"),
        ("ولد صغير", "لد"),
        ("Bali in May", "bale"),
        ("yellow logs", "loggia"),
    ],
)
def test_a_part_of_a_word_is_no_word(said: str, asked: str) -> None:
    assert not any(set(analyze(said)).intersection(its) for its in analyze_query(asked))


@given(st.text(alphabet="aeéłøœßıİ'dlğ ", max_size=40))
def test_accents_and_apostrophes_are_no_matter(text: str) -> None:
    stored = set(analyze(text))
    assert all(stored.intersection(its) for its in analyze_query(text))


@given(st.text(alphabet=st.characters(exclude_categories=[]), max_size=80))
def test_what_was_said_is_found_in_its_own_words(text: str) -> None:
    """In whatever script, with halves of characters, too."""
    stored = set(analyze(text))
    assert all(stored.intersection(its) for its in analyze_query(text))


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Wie heißt mein Enkel?", True),
        ("¿Dónde trabajo?", True),
        ("我住在哪里?", True),
        ("राजमा कैसे बनाएँ?", True),
        ("tereyağını eritin", True),
        ("Kto mieszka w Łodzi? Moja siostra też?", True),
        ("Łukasz phone?", False),
        ("Where is Dvořák buried?", False),
        ("Where do I live?", False),
        ("Kubernetes ingress?", False),
        ("", False),
    ],
)
def test_what_is_surely_not_english_is_foreign(text: str, foreign: bool) -> None:
    assert is_foreign(text) == foreign
