"""Which texts name a time that depends on the day on which they are said."""

import time

import pytest

from services.shared.core.relative_time import names_relative_time


@pytest.mark.parametrize(
    "text",
    [
        *("I have a dentist appointment tomorrow", "TOMORROW!", "Are you free tonight?", "we met yesterday"),
        *("Today is my birthday", "I saw her this morning", "my exam is next week", "Last month I moved"),
        *("We fly next Monday", "the talk is this Friday", "the test is in two days", "call me in 3 hours"),
        *(
            "I quit three weeks ago",
            "see you on Monday",
            "Monday works for me",
            "the parcel comes on Tue",
            "until Friday",
        ),
        *("rent is due in a week", "the day after tomorrow", "I'll be away for the next three weeks", "We leave soon"),
        *("On Tuesday 10 people come", "I swim every Monday and left on Friday", "we're away at the weekend"),
        *("Ich treffe sie am Montag", "Morgen habe ich einen Termin", "heute Abend", "gestern war ich krank"),
        *("Nächste Woche ist Urlaub", "vor drei Wochen", "in zwei Tagen", "diesen Freitag", "am Dienstagabend"),
        *("J'ai rendez-vous demain", "Hier soir il a plu", "je suis allé hier au cinéma", "la semaine prochaine"),
        *("aujourd’hui", "il y a trois jours", "dans deux semaines", "je pars lundi", "ce soir"),
        *("Tengo cita mañana", "Nos vemos el lunes", "la semana que viene", "hace tres días", "hoy", "ayer"),
        *("Domani parto", "ci vediamo lunedì", "la settimana prossima", "tre giorni fa", "fra due ore", "stasera"),
        *("Amanhã tenho prova", "na próxima semana", "há três dias", "na segunda-feira", "semana que vem", "ontem"),
        *(
            "Morgen heb ik een afspraak",
            "volgende week",
            "drie dagen geleden",
            "op maandag",
            "vanavond",
            "over twee dagen",
        ),
        *("明天我有考试", "昨日は休みでした", "来週会いましょう", "下个月搬家", "三天前", "星期一开会", "月曜日に会議"),
    ],
)
def test_a_time_that_depends_on_the_day_is_seen(text: str) -> None:
    assert names_relative_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I live in Berlin",
            "I swim every Monday",
            "Mondays are hard",
            "I swim every Monday and Thursday",
            "",
            "2 days",
        ),
        *(
            "The dentist is on Tuesday, 10 March",
            "Friday May 3 is taken",
            "Monday 2026-03-02",
            "Monday, the 3rd of May",
        ),
        *("The sun is warm", "he sat down", "they are newly wed", "My birthday is May 9", "I sleep eight hours a day"),
        *("The wedding is on 2026-06-03", "I go running in the morning", "I prefer uv over pip", "no time for this"),
        *(
            "Jeden Montag schwimme ich",
            "Guten Morgen",
            "Montags schwimme ich",
            "Ich wohne hier in Ulm",
            "Montag, 3. Mai",
        ),
        *("Hier woont mijn zus", "chaque lundi", "le lundi je nage", "lundi 3 mai", "cada lunes", "los lunes nado"),
        *("por la mañana", "ogni lunedì", "toda semana", "elke maandag", "我住在北京", "毎週月曜", "每周一"),
    ],
)
def test_a_time_that_is_the_same_on_every_day_is_not(text: str) -> None:
    assert not names_relative_time(text)


@pytest.mark.parametrize(
    "piece", ["a'", "in ", "on monday 10 ", "every monday and ", "hier ", "a ", "x", "-", "日", "in a "]
)
def test_hostile_text_of_64_kib_takes_little_time(piece: str) -> None:
    text = piece * (65536 // len(piece))
    started = time.process_time()
    names_relative_time(text)
    assert time.process_time() - started < 0.5
