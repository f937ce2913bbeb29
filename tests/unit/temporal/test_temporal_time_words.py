"""Times that a question names in English, German, Spanish and French, and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.shared.temporal.dates import NamedDate, named_dates
from services.shared.temporal.time_spans import asks_only_when, spans_named, times_asked_for, without
from services.shared.temporal.time_words import lowered, plain

NOW = datetime(2026, 11, 25, 15, 30, tzinfo=UTC)  # a Wednesday


def told(question: str, now: datetime = NOW) -> list[str]:
    """Each span as first and last day and the day after it."""
    return [
        " ".join(f"{end:%Y-%m-%d}" if end else "…" for end in (since, until))
        for _, since, until in spans_named(question, now)
    ]


@pytest.mark.parametrize(
    ("question", "span"),
    [
        # years
        ("Who did I date back in 2019 and where?", "2019-01-01 2020-01-01"),
        ("everything since 2024", "2024-01-01 2026-11-25"),
        ("my jobs before 2020", "… 2020-01-01"),
        ("my trips between 2019 and 2021", "2019-01-01 2022-01-01"),
        ("mid-2024", "2024-05-01 2024-09-01"),
        ("at the beginning of the year", "2026-01-01 2026-05-01"),
        ("the second half of last year", "2025-07-01 2026-01-01"),
        ("in the first half of 2026", "2026-01-01 2026-07-01"),
        ("Which books in H1 2025?", "2025-01-01 2025-07-01"),
        ("sales in Q3 2025", "2025-07-01 2025-10-01"),
        ("sales in Q3", "2026-07-01 2026-10-01"),
        # months
        ("the fourth quarter of last year", "2025-10-01 2026-01-01"),
        ("August last year", "2025-08-01 2025-09-01"),
        ("last August", "2026-08-01 2026-09-01"),
        ("last November", "2025-11-01 2025-12-01"),
        ("next August", "2027-08-01 2027-09-01"),
        ("this August", "2026-08-01 2026-09-01"),
        ("early September", "2026-09-01 2026-09-11"),
        ("the start of May 2024", "2024-05-01 2024-05-11"),
        ("late October", "2026-10-22 2026-11-01"),
        ("at the end of last month", "2026-10-22 2026-11-01"),
        ("the last week of May", "2026-05-25 2026-06-01"),
        ("between March and May", "2026-03-01 2026-06-01"),
        ("between november and february", "2025-11-01 2026-03-01"),
        ("from June to August 2025", "2025-06-01 2025-09-01"),
        ("between june and august last year", "2025-06-01 2025-09-01"),
        ("between 3 and 7 May", "2026-05-03 2026-05-08"),
        ("between 30 May and June 2 of last year", "2025-05-30 2025-06-03"),
        # days
        ("the day before yesterday", "2026-11-23 2026-11-24"),
        ("yesterday evening", "2026-11-24 2026-11-25"),
        ("two Fridays ago", "2026-11-13 2026-11-14"),
        ("between Monday and Wednesday", "2026-11-16 2026-11-19"),
        ("since 2025-03-04", "2025-03-04 2026-11-25"),
        ("on 7/4/2026", "2026-07-04 2026-07-05"),
        ("on 25/4/2026", "2026-04-25 2026-04-26"),
        ("7.4.2026", "2026-04-07 2026-04-08"),
        # weeks, weekends and seasons
        ("three weekends ago", "2026-11-07 2026-11-09"),
        ("What did I do every day last week?", "2026-11-16 2026-11-23"),
        ("the week before last", "2026-11-09 2026-11-16"),
        ("in the spring of 2025", "2025-03-01 2025-06-01"),
        ("Where was I in the summer?", "2026-06-01 2026-09-01"),
        ("the summer before last", "2025-06-01 2025-09-01"),
        ("What did I do this weekend?", "2026-11-21 2026-11-23"),
        ("in the last weeks", "2026-11-04 2026-11-25"),
        ("a few weeks back", "2026-11-01 2026-11-08"),
        ("half a year ago", "2026-04-12 2026-07-12"),
        # holidays
        ("Who came around Easter?", "2026-03-31 2026-04-10"),
        ("last Christmas", "2025-12-24 2025-12-27"),
        ("Christmas 2023", "2023-12-24 2023-12-27"),
        ("on Christmas Eve", "2025-12-24 2025-12-25"),
        ("over New Year", "2025-12-31 2026-01-02"),
        ("on New Year’s Eve", "2025-12-31 2026-01-01"),
        ("on Easter Monday 2025", "2025-04-21 2025-04-22"),
        ("Thanksgiving last year", "2025-11-27 2025-11-28"),
        ("since Halloween", "2026-10-31 2026-11-25"),
    ],
)
def test_an_english_time_is_understood(question: str, span: str) -> None:
    now = NOW.replace(month=9) if "november" in question else NOW
    assert told(question, now) == [span]


@pytest.mark.parametrize(
    "question",
    [
        "Say it in 2025 words",
        "Who is in room 2024?",
        "Windows 2025",
        "What happens in 1984 by Orwell?",
        "Were there over 2000 people?",
        "the March hare",
        "may I",
        "May the force be with me?",
        "What am I doing at Christmas?",
        "Who spoke at the Christmas party?",
        "my New Year's resolution",
        "What am I doing over the weekend?",
        "What do I like in the summer?",
        "Did it sell 1.5 years ago?",
        "Do I work from Monday to Friday?",
        "Is 45/13/2026 a date?",
        "the ratio 1/2/3/2026",
        "Who lives with Hans Sommer?",
        "Wohnt Tom hier?",
        "der letzte Tag der Woche",
        "Was mache ich am Wochenende?",
        "Wohin fahre ich im Sommer?",
        "Los jueves toco la guitarra",
        "chaque lundi je nage",
        "le lundi je nage",
        "Hier woont mijn zus",
        "Was war mein letzter Job?",
    ],
)
def test_what_only_looks_like_a_time_is_none(question: str) -> None:
    assert told(question) == []
    assert named_dates(question) == []


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("Was habe ich gestern gekocht?", "2026-11-24 2026-11-25"),
        ("vorgestern", "2026-11-23 2026-11-24"),
        ("Was ist letztes Jahr passiert?", "2025-01-01 2026-01-01"),
        ("Was habe ich diese Woche gelernt?", "2026-11-23 2026-11-25"),
        ("Was war vor zwei Monaten?", "2026-09-11 2026-10-12"),
        ("Was war vor drei Tagen?", "2026-11-22 2026-11-23"),
        ("Was war vor einem halben Jahr?", "2026-04-12 2026-07-12"),
        ("Was war am Montag?", "2026-11-23 2026-11-24"),
        ("Wer kam am Freitagabend?", "2026-11-20 2026-11-21"),
        ("Was hab ich am Wochenende gemacht?", "2026-11-21 2026-11-23"),
        ("Wohin sind wir im Sommer gefahren?", "2026-06-01 2026-09-01"),
        ("Was habe ich in den letzten drei Tagen gesagt?", "2026-11-22 2026-11-25"),
        ("Was haben wir Anfang Mai besprochen?", "2026-05-01 2026-05-11"),
        ("Was war zwischen März und Mai?", "2026-03-01 2026-06-01"),
        ("Was kaufte ich seit Mai?", "2026-05-01 2026-11-25"),
        ("Was war am 9.11.2025?", "2025-11-09 2025-11-10"),
        ("Was war am 7/4/2026?", "2026-04-07 2026-04-08"),
        ("Was haben wir 2024 gemacht?", "2024-01-01 2025-01-01"),
        ("Was haben wir über Weihnachten gemacht?", "2025-12-24 2025-12-27"),
        ("Was war am letzten Freitag?", "2026-11-20 2026-11-21"),
        ("Wohin fuhren wir zu Ostern?", "2026-04-03 2026-04-07"),
        ("¿Qué dije ayer?", "2026-11-24 2026-11-25"),
        ("que hice anteayer", "2026-11-23 2026-11-24"),
        ("¿De qué hablamos hace dos meses?", "2026-09-11 2026-10-12"),
        ("¿Qué hice el lunes?", "2026-11-23 2026-11-24"),
        ("entre marzo y mayo", "2026-03-01 2026-06-01"),
        ("Qu'est-ce que j'ai dit hier ?", "2026-11-24 2026-11-25"),
        ("Où étais-je avant-hier ?", "2026-11-23 2026-11-24"),
        ("De quoi avons-nous parlé la semaine dernière ?", "2026-11-16 2026-11-23"),
        ("l’été dernier", "2026-06-01 2026-09-01"),
        ("Qui ai-je vu il y a deux mois ?", "2026-09-11 2026-10-12"),
        ("Qu'est-ce que j'ai mangé lundi ?", "2026-11-23 2026-11-24"),
    ],
)
def test_a_time_is_understood_in_other_languages(question: str, span: str) -> None:
    assert told(question) == [span]


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("Was passierte im Mai?", [NamedDate(5)]),
        ("Treffen im März?", [NamedDate(3)]),
        ("Wen traf ich im Maerz oder im Juni?", [NamedDate(3), NamedDate(6)]),
        ("Was war am 9. November?", [NamedDate(11, 9)]),
        ("What was on Monday, 3 May?", [NamedDate(5, 3)]),
        ("What was on Monday, May 3rd?", [NamedDate(5, 3)]),
        ("Treffen im März 2025", [NamedDate(3, None, 2025)]),
        ("¿A quién vi en marzo?", [NamedDate(3)]),
        ("¿Qué compré el 5 de mayo de 2025?", [NamedDate(5, 5, 2025)]),
        ("Was it on 2025-03-04?", [NamedDate(3, 4, 2025)]),
        ("Qu'ai-je fait en mars ?", [NamedDate(3)]),
        ("Are we meeting in early December?", [NamedDate(12)]),
    ],
)
def test_a_month_is_read_in_other_languages(question: str, dates: list[NamedDate]) -> None:
    assert told(question) == []
    assert named_dates(question) == dates


@pytest.mark.parametrize(
    "question",
    [
        "What did I say yesterday?",
        "What did we talk about last week?",
        "What went on over the weekend?",
        "What’s new since Monday?",
        "Yesterday?",
        "Was habe ich letzte Woche erzählt?",
        "Worüber haben wir gestern gesprochen?",
        "¿Qué pasó la semana pasada?",
        "De quoi avons-nous parlé hier ?",
    ],
)
def test_a_question_may_ask_only_for_a_time(question: str) -> None:
    assert asks_only_when(question, spans_named(question, NOW))


@pytest.mark.parametrize(
    "question",
    [
        "What did I say about the bike yesterday?",
        "What did I tell you about last summer?",
        "What did Anna say yesterday?",
        "What did I not say yesterday?",
        "What did I have yesterday?",
        "Who did I talk to yesterday?",
        "When did it happen last year?",
        "What did I give up last week?",
        "What show did I write yesterday?",
        "What am I doing today?",
        "",
        "Was habe ich letzte Woche über das Rad erzählt?",
        "Was habe ich über letzte Woche gesagt?",
        "¿Qué dije ayer de la bici?",
    ],
)
def test_a_question_that_asks_for_more_is_not_only_about_a_time(question: str) -> None:
    assert not asks_only_when(question, spans_named(question, NOW))


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("What did I say in March 2025?", "2025-03-01 2025-04-01"),
        ("What did we talk about in May?", "2026-05-01 2026-06-01"),
        ("What happened in December?", "2025-12-01 2026-01-01"),
        ("Was habe ich am 9. November gesagt?", "2026-11-09 2026-11-10"),
        ("What did I tell you last week?", "2026-11-16 2026-11-23"),
        ("What did I plant in May?", None),
        ("What did I say?", None),
    ],
)
def test_a_date_may_be_all_that_is_asked_for(question: str, span: str | None) -> None:
    spans = times_asked_for(question, NOW)
    assert [f"{it.since:%Y-%m-%d} {it.until:%Y-%m-%d}" for it in spans] == ([span] if span else [])


@given(st.text(max_size=80))
def test_plain_letters_stay_where_they_were(text: str) -> None:
    assert len(lowered(plain(text))) == len(plain(text)) == len(text)


@given(
    st.lists(
        st.sampled_from(
            "in on the last this next early May March 2025 2099 1900 Q3 H1 and between from to 31 0 999 week ago"
            " Easter Christmas New Year of 7/4/2026 29.2.2025 im letzten Montag vor zwei Tagen hier el lunes weekend"
            " first half beginning before yesterday ſummer Feb 30".split()
        ),
        max_size=12,
    ).map(" ".join),
    st.datetimes(timezones=st.just(UTC)),
)
def test_any_words_of_time_are_read_at_any_moment(question: str, now: datetime) -> None:
    for span in (spans := spans_named(question, now)):
        assert span.text in question
        assert not span.since or not span.until or span.since <= span.until
    named_dates(without(question, spans))
    asks_only_when(question, spans)
