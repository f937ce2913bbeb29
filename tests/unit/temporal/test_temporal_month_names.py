"""Months and somebody's name, summer and what has been: what looks alike is told apart."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.temporal.dates import named_dates
from services.shared.temporal.month_names import without_names
from services.shared.temporal.time_spans import spans_named, without

NOW = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)  # a Wednesday


def names_a_time(question: str) -> bool:
    spans = spans_named(question, NOW)
    return bool(spans or named_dates(without(question, spans)))


@pytest.mark.parametrize(
    "question",
    [
        "What happened in Jan?",
        "Where was I since Feb?",
        "Who came last Dec?",
        "What is on Jan 5?",
        "What was on 5 Jan?",
        "Jan 2026",
        "What is due by Sep?",
        "Is the report due by Sept, or later?",
        "What did I do in Jan and Feb?",
        "What happened between Jan and Mar?",
        "from Oct to Dec",
        "What did we plan before Jan?",
        "What did we do after Aug?",
        "the Dec invoice",
        "What did I spend in early Nov?",
        "What is due at the end of Jan?",
        "Where was I from Jan to Mar?",
        "Jan-Mar numbers",
        "jan 2026",
        "in jan",
        "Where was I in April?",
        "What did June bring last year?",
        "How was June?",
        "What is planned for May?",
        "What happened in May?",
        "How much was April's rent?",
        "the August invoice",
        "How was August?",
        "Did I travel in June or July?",
        "since June",
        "What was August like?",
        "Why was August so hot?",
        "last April",
        "What happened on May 5?",
        "on the 5th of May",
        "Is May 5 a holiday?",
        "in April 2025",
        "What did I do last May?",
        "What did I say about May?",
        "Does May suit us for the trip?",
        "How did April go?",
        "When does June start?",
        "Was August a good month?",
        "What was June's electricity bill?",
        "Which trips did I take this June?",
        "my plans for August",
        "What did I do in May and June?",
        "What did I do around June?",
        "between April and June",
        "until August",
        "by June",
        "April or May?",
        "What did I write before June?",
        "What is Nov 3 about?",
        "Do I travel in Oct 2026?",
        "next Jan",
        "every Dec",
        "What did I do on Sept. 5?",
        "How cold was Jan 2025?",
        "March 3",
        "What happened in March?",
        "Aug. 2025",
        "Feb '24",
        "in late Feb",
        "What did I do during Jun?",
        "mid-Jan",
        "What do I pay in Dec?",
        "Who visited in the first week of May?",
        "Which books did I read in April?",
        "Jan to Mar",
        "Apr–Jun",
        "Nov last year",
        "as of Jan",
        "before Jan 10",
        "What do I have on 3 June?",
        "Should I book June 3 or June 10?",
        "When in May did I move?",
    ],
)
def test_a_month_that_may_be_a_name_is_a_time(question: str) -> None:
    assert names_a_time(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does Jan live?",
        "Wo wohnt Jan?",
        "Waar woont Jan?",
        "Wo wohnt Jan Petersen?",
        "¿Dónde vive Mar?",
        "Who is Jan?",
        "What did Jan say?",
        "Is Jan coming?",
        "What is Jan's phone number?",
        "Jan's birthday",
        "What did I give to Jan?",
        "a gift from Jan",
        "Where does jan work?",
        "Where does April live?",
        "What did June say?",
        "Who is May?",
        "Is April allergic to nuts?",
        "my sister June",
        "What does my friend April do?",
        "Where does May Smith live?",
        "April's husband",
        "How old is June?",
        "Does April like tea?",
        "What did I tell June?",
        "Did August call?",
        "a present for April",
        "When did June move?",
        "Who is August?",
        "What do I know about April?",
        "Does Dec have children?",
        "Where is Sep?",
        "What's Mar's job?",
        "Who are April and I visiting?",
        "Is Sun coming?",
        "Does Wed exist?",
        "Which book by Jan did I read?",
        "When is Jan's birthday?",
        "How many cats does Jan have?",
        "Was wohnt bei Jan?",
        "Wie alt ist Jan?",
        "Wo arbeitet Mar?",
        "Où habite Jan ?",
        "Où habite Mar ?",
        "Dove abita Jan?",
        "Quem é a Mar?",
        "¿Quién es Mar?",
        "¿Qué le gusta a Mar?",
        "Wer ist Jan Müller?",
        "Kennt Jan meine Mutter?",
        "Hoe oud is Jan?",
        "Wat zei Jan?",
        "What happened after Jan moved?",
        "since Jan left",
        "What is June allergic to?",
        "Is June vegetarian?",
        "Has April got a dog?",
        "Will May visit us?",
        "Can June drive?",
        "Who told April?",
        "Did I meet June?",
        "When was June born?",
        "What did April and I decide?",
        "Is May my cousin?",
        "Did Jan and Mar call?",
        "aunt May",
        "Uncle Aug",
        "¿Dónde vive Julio?",
        "¿Qué le regalé a Julio?",
        "Wo wohnt Juli?",
        "Wann hat August Geburtstag?",
        "Was habe ich zu August gesagt?",
        "Wo wohnt August?",
        "¿Dónde vive Abril?",
        "¿Qué le dije a Domingo?",
        "Où habite Avril ?",
        "Qu'a dit Avril ?",
        "Mag Jan Kaffee?",
        "Was isst Jan gern?",
        "Does Jun speak Korean?",
        "Is Jul at home?",
        "How is Jan?",
        "Where did I meet Jan?",
        "Who lives with Jan?",
        "my brother Jan",
        "Did Jan like the book?",
        "What did Dec order?",
        "Tell me about Jan",
        "What do you know of Jan?",
        "Jan",
        "jan?",
        "Jan Ullrich",
    ],
)
def test_somebody_who_has_the_name_of_a_month_is_no_time(question: str) -> None:
    assert not names_a_time(question)


@pytest.mark.parametrize(
    "question",
    [
        "Quand est-ce que Luc a été opéré ?",
        "Qui a été malade ?",
        "Qui a été dernier ?",
        "Qu'est-ce qui a été passé en revue ?",
        "Où a-t-il été opéré ?",
        "Qui a déjà été à Rome ?",
        "Mon fils a été puni, pourquoi ?",
        "Où ont-ils été ?",
        "Comment a été le concert ?",
        "Qui n'a jamais été malade ?",
        "As-tu été à Lyon ?",
        "Combien a été payé ?",
        "Il a été 2 fois à Rome ?",
        "Quel vaccin a été fait ?",
        "Pourquoi le vol a-t-il été annulé ?",
        "Qui ont été invités ?",
        "ayant été malade",
        "Qui avait été là ?",
        "La voiture a été réparée ?",
        "Pourquoi a été créé le club ?",
    ],
)
def test_what_has_been_in_french_is_no_summer(question: str) -> None:
    assert not names_a_time(question)


@pytest.mark.parametrize(
    ("question", "text", "first", "last"),
    [
        ("Où suis-je allé en été ?", "en été", (2026, 6), (2026, 9)),
        ("Où étais-je cet été ?", "cet été", (2026, 6), (2026, 9)),
        ("Qui a été malade l’été dernier ?", "l’été dernier", (2026, 6), (2026, 9)),
        ("Qu'ai-je lu à l'été 2024 ?", "à l'été 2024", (2024, 6), (2024, 9)),
        ("été 2023", "été 2023", (2023, 6), (2023, 9)),
        ("Où suis-je allé l'an passé ?", "l'an passé", (2025, 1), (2026, 1)),
        ("l’an passé", "l’an passé", (2025, 1), (2026, 1)),
        ("２０２５年に何をしましたか？", "２０２５年", (2025, 1), (2026, 1)),
        ("2025年我做了什么？", "2025年", (2025, 1), (2026, 1)),
        ("2025年3月に何をしましたか？", "2025年3月", (2025, 3), (2025, 4)),
        ("2025년에 뭐 했지?", "2025년", (2025, 1), (2026, 1)),
        ("What happened in ２０２５?", "in ２０２５", (2025, 1), (2026, 1)),
    ],
)
def test_a_time_is_read_however_it_is_written(
    question: str, text: str, first: tuple[int, int], last: tuple[int, int]
) -> None:
    since, until = (datetime(year, month, 1, tzinfo=UTC) for year, month in (first, last))
    assert spans_named(question, NOW) == [(text, since, until)]


@pytest.mark.parametrize(
    ("question", "month"),
    [
        ("Qu'ai-je fait au début de juillet ?", 7),
        ("au début du mois de juillet", 7),
        ("Qu'ai-je acheté au début d'avril ?", 4),
        ("à la fin de juin", 6),
        ("à la fin du mois d'août", 8),
        ("Qui est venu début mai ?", 5),
    ],
)
def test_a_part_of_a_month_is_read_in_french(question: str, month: int) -> None:
    (span,) = spans_named(question, NOW)
    assert span.since is not None
    assert (span.since.year, span.since.month) == (2026, month)


@pytest.mark.parametrize("question", ["2025年前的事", "号码 12025年", "item 2025 年級"])
def test_what_only_looks_like_a_year_of_the_east_is_none(question: str) -> None:
    assert spans_named(question, NOW) == []


@given(st.lists(st.sampled_from("Jan May did in and 5 by June's 's said sister, to - where".split())).map(" ".join))
def test_all_but_names_stays_where_it_was(text: str) -> None:
    blanked = without_names(text)
    assert len(blanked) == len(text)
    assert all(new in (old, "_") for new, old in zip(blanked, text, strict=True))


@pytest.mark.parametrize("text", ["Jan ", "May and ", "did June ", "sister April said ", "5 Jan ", "by Jan, "])
def test_hostile_names_are_read_in_linear_time(text: str) -> None:
    began = time.thread_time()
    without_names(text * (1_000_000 // len(text)))
    assert time.thread_time() - began < 2
