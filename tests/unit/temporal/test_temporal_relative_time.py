"""Which texts name a time that depends on the day on which they are said."""

import pytest

from services.shared.temporal.relative_time import names_relative_time


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
        *("Morgen heb ik een afspraak", "volgende week", "drie dagen geleden", "op maandag", "over twee dagen"),
        *("I live in Berlin now", "What should I cook now?", "these days I am tired", "at the moment I'm in Oslo"),
        *("the meeting is at 17:00", "Let's talk at 3 in the lobby", "at seven we eat", "from 8 p.m."),
        *("we fly on the 5th", "by the 22nd, please", "The 14th works for me", "on the fifth we leave"),
        *("I go to Rome in March", "until May we are away", "the baby comes in early June", "mid-July we travel"),
        *("half past six at the gate", "lunch at noon", "at quarter to nine", "I've been ill for 3 days"),
        *("I swim every Monday at 5. The dentist is at 10:30", "I swim on Mondays and the dentist is at 10:30"),
        *("Ich bin jetzt in Graz", "zurzeit lese ich", "um 17 Uhr", "Termin um 8:30", "um fünf am Bahnhof", "gegen 5"),
        *("am 5. fliegen wir", "bis zum 3. fällig", "im März ziehe ich um", "Ende Juni", "seit drei Tagen"),
        *("übernächste Woche", "bis Ende des Monats", "à 17h au café", "a las 5 en la plaza", "om 17:00 op het plein"),
        *("明天我有考试", "昨日は休みでした", "来週会いましょう", "下个月搬家", "三天前", "星期一开会", "月曜日に会議"),
    ],
)
def test_a_time_that_depends_on_the_day_is_seen(text: str) -> None:
    assert names_relative_time(text)


@pytest.mark.parametrize(
    "text",
    [
        *("I live in Berlin", "Mondays are hard", "I swim every Monday and Thursday", "", "2 days"),
        *("The dentist is on Tuesday, 10 March", "Friday May 3 is taken", "Monday, the 3rd of May"),
        *("The sun is warm", "he sat down", "they are newly wed", "My birthday is May 9", "I sleep eight hours a day"),
        *("The wedding is on 2026-06-03", "I go running in the morning", "I prefer uv over pip", "no time for this"),
        *("Jeden Montag schwimme ich", "Guten Morgen", "Montags schwimme ich", "Montag, 3. Mai"),
        *("Hier woont mijn zus", "chaque lundi", "le lundi je nage", "lundi 3 mai", "cada lunes", "los lunes nado"),
        *("every day at 5pm", "Every Monday, at 17:00, I swim", "Mondays at 5pm", "daily at 8am"),
        *("I usually eat at 7", "The shop opens at 9 am", "I never eat after 7pm", "now and then I smoke"),
        *("The dentist is on 10 March at 9:30", "12 June 2027, 3pm", "at 9:30 on 2026-03-10", "June 12 at 3 pm"),
        *("I moved in March 2026", "in May of 2019", "every March we ski", "in March or April 2026", "in 2019"),
        *("My flat is on the 3rd floor", "rent is due on the 1st of every month", "I live on 5th Avenue", "my 5th try"),
        *("at 5 Main Street", "rated at 4.5 stars", "at one point I gave up", "127.0.0.1:8080", "I am 30."),
        *("John 3:16 is short", "I live in Marseille", "May I come?", "they march on", "I know that man"),
        *("Jeden Tag um 17 Uhr", "montags um 17 Uhr", "täglich um 8 Uhr", "Es geht um 5 Leute", "um 5 Prozent teurer"),
        *("im März 2026", "am 5. März um 15 Uhr", "am 5.3.2026", "am 3. Tag", "im 3. Stock", "jedes Jahr im März"),
        *("por la mañana", "ogni lunedì", "toda semana", "elke maandag", "我住在北京", "毎週月曜", "每周一"),
    ],
)
def test_a_time_that_is_the_same_on_every_day_is_not(text: str) -> None:
    assert not names_relative_time(text)
