"""Months and somebody's name, summer and what has been: what looks alike is told apart."""

from __future__ import annotations

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
        "What was on 5 Jan?",
        "Is the report due by Sept, or later?",
        "What happened between Jan and Mar?",
        "What did we do after Aug?",
        "What is due at the end of Jan?",
        "Jan to Mar",
        "mid-Jan",
        "Who came last Dec?",
        "next Jan",
        "every Dec",
        "the Dec invoice",
        "What did we plan before Jan?",
        "jan 2026",
        "in jan",
        "What did June bring last year?",
        "How much was April's rent?",
        "How was June?",
        "What was August like?",
        "Why was August so hot?",
        "Is May 5 a holiday?",
        "Does May suit us for the trip?",
        "How did April go?",
        "When does June start?",
        "Was August a good month?",
        "Which trips did I take this June?",
        "What did I do on Sept. 5?",
        "Aug. 2025",
        "Feb '24",
        "in late Feb",
        "What did I do during Jun?",
        "What do I pay in Dec?",
        "Who visited in the first week of May?",
        "Apr–Jun",
        "as of Jan",
        "When in May did I move?",
    ],
)
def test_a_month_that_may_be_a_name_is_a_time(question: str) -> None:
    assert names_a_time(question)


@pytest.mark.parametrize(
    "question",
    [
        "Where does Jan live?",
        "Waar woont Jan?",
        "¿Dónde vive Mar?",
        "What is Jan's phone number?",
        "What did I give to Jan?",
        "my sister June",
        "Where does May Smith live?",
        "April's husband",
        "What did I tell June?",
        "Does April like tea?",
        "What do I know about April?",
        "How old is June?",
        "a present for April",
        "Who is August?",
        "Who are April and I visiting?",
        "Is Sun coming?",
        "Does Wed exist?",
        "Où habite Jan ?",
        "Dove abita Jan?",
        "Quem é a Mar?",
        "¿Qué le gusta a Mar?",
        "Wer ist Jan Müller?",
        "Kennt Jan meine Mutter?",
        "What happened after Jan moved?",
        "Will May visit us?",
        "Can June drive?",
        "Did I meet June?",
        "When was June born?",
        "Is May my cousin?",
        "Did Jan and Mar call?",
        "¿Dónde vive Julio?",
        "Was habe ich zu August gesagt?",
        "¿Qué le dije a Domingo?",
        "Où habite Avril ?",
        "Mag Jan Kaffee?",
        "Is Jul at home?",
        "my brother Jan",
        "What did Dec order?",
        "Which book by Jan did I read?",
        "Does Jun speak Korean?",
        "Uncle Aug",
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
        "Qui a été dernier ?",
        "Qu'est-ce qui a été passé en revue ?",
        "Où a-t-il été opéré ?",
        "Où ont-ils été ?",
        "Qui n'a jamais été malade ?",
        "As-tu été à Lyon ?",
        "Il a été 2 fois à Rome ?",
        "ayant été malade",
        "Qui avait été là ?",
        "Pourquoi a été créé le club ?",
    ],
)
def test_what_has_been_in_french_is_no_summer(question: str) -> None:
    assert not names_a_time(question)


@pytest.mark.parametrize(
    ("question", "text", "first", "last"),
    [
        ("Où suis-je allé en été ?", "en été", (2026, 6), (2026, 9)),
        ("Qui a été malade l’été dernier ?", "l’été dernier", (2026, 6), (2026, 9)),
        ("Qu'ai-je lu à l'été 2024 ?", "à l'été 2024", (2024, 6), (2024, 9)),
        ("été 2023", "été 2023", (2023, 6), (2023, 9)),
        ("Où suis-je allé l'an passé ?", "l'an passé", (2025, 1), (2026, 1)),
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
