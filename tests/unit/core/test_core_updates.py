"""What a newer statement changes by its wording, what an older one states besides, and what is only denied."""

from __future__ import annotations

import pytest

from services.shared.core.updates import leaves_some, relation

NOT_A_TEACHER = "My husband Tom is no longer a teacher."
TO_WELS = "I have moved to Wels"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My husband Tom is a teacher and is allergic to bees.", NOT_A_TEACHER),
        ("My husband Tom is a teacher and allergic to bees.", NOT_A_TEACHER),
        ("My husband Tom is a teacher, plays chess and speaks Dutch.", NOT_A_TEACHER),
        ("I use VS Code as my editor and pnpm for JavaScript projects.", "I switched from VS Code to Neovim."),
        ("Our team uses Jira for tickets and Slack for chat", "We moved from Jira to Linear"),
        ("I drink tea in the morning and coffee in the afternoon", "I gave up coffee"),
        ("I have yoga on Monday and pilates on Thursday", "yoga has moved to Tuesday"),
        ("I play tennis and football", "I've given up tennis"),
        ("I use pnpm and VS Code", "I switched from VS Code to Neovim"),
        ("I subscribe to Netflix, Spotify and Disney", "I cancelled Spotify"),
        ("My standup is at 9:30 and takes 15 minutes", "My standup has moved to 10:15"),
        ("My flight is at 9:10 and from gate B4", "My flight has been moved to 9:40"),
        ("I live in Graz and love the mountains", TO_WELS),
        ("I live in Graz and work there as a nurse", TO_WELS),
        ("My sister works at Bosch and can't eat nuts", "My sister no longer works at Bosch"),
        ("I drive a Skoda and my wife drives a Mini.", "I no longer drive a Skoda."),
        ("My mother lives in Turin and my father lives in Genoa.", "My father moved to Pisa."),
        ("I train on Monday and Thursday.", "I moved my training from Monday to Tuesday."),
        ("Anna and Ben are vegetarians", "Ben is no longer a vegetarian"),
    ],
)
def test_what_states_other_things_too_is_left(old: str, new: str) -> None:
    assert leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I moved to Graz, and love it", TO_WELS),
        ("I live in Graz and it is lovely", TO_WELS),
        ("I live in Graz and am very happy", TO_WELS),
        ("I live in Leipzig with two flatmates and a cat", "I've moved from Leipzig to Dresden"),
        ("My standup is at 9:30, every day", "My standup has moved to 10:15"),
        ("My dentist appointment is on Tuesday, 12 March, at 10:00", "My dentist appointment has moved to Thursday"),
        ("I have a meeting with Anna and the team on Monday", "The meeting with Anna and the team has moved to Friday"),
        ("I work at Marks and Spencer", "I quit Marks and Spencer"),
        ("I use vim as my editor for code and prose", "I've switched from vim to helix"),
        ("We meet on Tuesdays and Thursdays", "we no longer meet on Tuesdays and Thursdays"),
        ("My boss is Sandra, and she is great", "My new boss is Oliver"),
    ],
)
def test_what_states_one_thing_is_changed_as_a_whole(old: str, new: str) -> None:
    assert not leaves_some(old, new)


ACME = "The Acme project uses Django and Postgres 14."


@pytest.mark.parametrize(
    ("old", "new", "leaves"),
    [
        (ACME, "Acme upgraded to Postgres 16.", True),
        (ACME, "We upgraded the Acme project from Postgres 14 to Postgres 16", True),
        ("The Acme project uses Postgres 14.", "Acme has upgraded to Postgres 16.", False),
        ("We use Postgres 14 in production", "we upgraded to Postgres 16", False),
        ("We run Node 18 and Go 1.21", "We upgraded Node to 20", True),
        ("My phone is an iPhone 14", "I upgraded to an iPhone 15", False),
    ],
)
def test_another_version_changes_the_older_one(old: str, new: str, leaves: bool) -> None:
    assert (relation(old, new), leaves_some(old, new)) == ("update", leaves)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Acme has 12 people", "Acme upgraded to Postgres 16."),
        ("The Beta project uses Postgres 14", "Acme upgraded to Postgres 16."),
        ("We use Postgres 16", "we upgraded to Postgres 16"),
        ("I read that Postgres 14 is out of support soon", "we upgraded from Postgres 14 to 16"),
        ("I read that Postgres 14 is out of support soon", "we upgraded to Postgres 16"),
        ("We use Postgres 14", "Should we have upgraded to Postgres 16?"),
        ("We use Postgres 14", "we want to have upgraded to Postgres 16 by May"),
    ],
)
def test_the_same_version_or_that_of_something_else_changes_nothing(old: str, new: str) -> None:
    assert relation(old, new) != "update"


KARL = "My new boss is called Karl."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My parrot is called Coco", "No wait, my parrot is called Kiki"),
        ("My parrot is called Coco", "No, my parrot is called Kiki"),
        ("My husband is called Stefan.", "Correction: my husband is called Stephan, with ph."),
        ("My husband is called Stefan", "My husband's name is spelled Stephan"),
        (KARL, "I was joking, my boss is still Rita."),
        (KARL, "Haha, just kidding, Rita is still my boss."),
        (KARL, "I was only kidding about Karl. My boss is Rita."),
    ],
)
def test_a_name_is_corrected_and_a_joke_taken_back(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    "new",
    [
        "I was joking when I said my boss is Rita",
        "My boss is Rita now, just kidding",
        "I was joking!",
        "Are you kidding? My boss is now Rita",
        "Just kidding, haha, my boss is Rita /s",
    ],
)
def test_what_is_said_in_fun_takes_nothing_back(new: str) -> None:
    assert relation(KARL, new) != "update"


GOLF, ZED = "I drive a VW Golf.", "I switched from VS Code to Zed."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (GOLF, "I sold my Golf and bought a Tesla."),
        (GOLF, "I sold the Golf, so now I take the bus"),
        ("I work at Siemens", "I left Siemens and joined Bosch"),
        ("I drive a Honda", "I traded in the Honda and got a Yamaha"),
        ("I drink coffee every day", "I gave up coffee and switched to tea"),
        ("I go to the gym twice a week.", "I quit the gym."),
        ("I go to the gym on Mondays", "I quit the gym and started swimming"),
        (ZED, "I went back to VS Code."),
        (ZED, "I'm back on VS Code"),
        (ZED, "I use VS Code again."),
        ("I moved from Slack to Teams.", "We went back to Slack"),
        ("I gave up coffee", "I am back to drinking coffee"),
    ],
)
def test_what_is_over_or_as_it_was_before_is_told_with_what_came_next(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (GOLF, "I sold my bike and bought a Tesla."),
        ("I go to the gym on Mondays", "I left the gym early"),
        ("I drink tea every day", "I gave up tea cakes and bought fruit"),
        (ZED, "I went back to Zed"),
        (ZED, "I went back to bed"),
        ("I use Zed as my editor", "I went back to sleep"),
        (ZED, "I might go back to VS Code"),
    ],
)
def test_another_thing_that_is_over_changes_nothing(old: str, new: str) -> None:
    assert relation(old, new) != "update"


BOSS, EXAM = "My boss is called Sandra.", "My eye exam is on Monday, 7 December at 10:00."
DEADLINE = "The Globex deadline has moved to 13 November."


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BOSS, "Sandra left, my new boss is Oliver."),
        (BOSS, "Sandra was promoted, now Oliver is my boss."),
        (BOSS, "Sandra retired and Oliver is my new boss"),
        (BOSS, "Oliver is my boss now."),
        (BOSS, "Oliver is my new boss."),
        ("My boss's name is Sandra", "My new boss is Oliver"),
        ("Sandra is my boss", "My new boss is Oliver"),
        ("Sandra is my boss", "Oliver is my boss now"),
        ("My therapist is Anna", "Anna went on leave, now my therapist is Ben"),
        (EXAM, "They moved my eye exam again, it's now on Friday, 11 December at 11:30."),
        (EXAM, "My eye exam was postponed once more. The new date is 18 December."),
        (EXAM, "My eye exam got rescheduled, now it is on Friday"),
        (EXAM, "They pushed my eye exam back again; it's on Friday now"),
        (EXAM, "The clinic moved my eye exam yet again and it's now on Friday"),
        ("My GP is Dr. Stone", "Dr. Stone retired, Dr. Reed is my new GP"),
        ("They moved my eye exam again, it's now on Friday", "They moved my eye exam yet again, it's on Monday"),
        (
            "Leo's dentist appointment is on 10 November at 8:00",
            "The dentist moved Leo's appointment again, now it's Friday, 13 November at 9:15.",
        ),
        (DEADLINE, "Globex deadline is now 20 November, final."),
        (
            "Our contact at Initech is Peter Gibbons",
            "Our contact at Initech is no longer Peter Gibbons, it is Milton Waddams.",
        ),
        (DEADLINE, "The Globex deadline has moved again. It's 20 November now."),
        ("Emil wears shoe size 24", "Emil wears shoe size 27 now"),
        ("My son wears shoe size 24", "My son wears shoe size 27 now"),
        ("Our group plays on Thursdays", "Our group plays on Wednesdays now"),
    ],
)
def test_the_newer_value_of_the_same_thing_is_the_present_one(old: str, new: str) -> None:
    assert relation(old, new) == "update"
    assert not leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BOSS, "My colleague Wanda is my friend now"),
        (BOSS, "I met Oliver, my new colleague, now and then"),
        (BOSS, "Is Wanda my boss now?"),
        (BOSS, "Wanda is my boss's wife now"),
        (BOSS, "Wanda might be my new boss"),
        ("Clara is my friend", "Ben is my friend now"),
        ("Clara is my sister", "Ben is my new neighbour"),
        ("Wanda is my boss", "My boss is now angry"),
        (EXAM, "They moved my eye exam again, it's a pity"),
        (EXAM, "They moved my desk, it's now on Friday that we meet"),
        (EXAM, "They moved my haircut, it's now on Friday"),
        (EXAM, "If they move my eye exam again, it's now on Friday"),
        ("Nora wears shoe size 29", "Emil wears shoe size 27 now"),
        ("The A team plays on Thursdays", "The B team plays on Wednesdays now"),
        ("Gate 12 leads to the hall", "Gate 14 leads to the hall now"),
    ],
)
def test_another_thing_or_a_supposed_value_changes_nothing(old: str, new: str) -> None:
    assert relation(old, new) != "update"


@pytest.mark.parametrize("piece", ["tea and ", "I use a for b and ", "my ", ", and is ", "and ", "( "])
def test_a_text_of_any_length_is_told_apart_quickly(piece: str) -> None:
    hostile = piece * 5000
    assert leaves_some(hostile, "I gave up tea")
    assert relation(hostile, f"I switched from {hostile} to {hostile}") is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My new doctor is Dr. Lee.", "My new doctor is out of town this week."),
        ("My new gym is Fit24.", "My new gym is open all night."),
        ("My new flat is on Kant Street.", "My new flat is on the third floor."),
        ("My new teacher is Ms. Hall.", "My new teacher is strict."),
        ("My new colleague is Bea.", "My new colleague is Tom."),
        ("My new client is Acme.", "My new client is Globex."),
    ],
)
def test_what_the_new_one_is_like_and_another_of_several_change_nothing(old: str, new: str) -> None:
    assert relation(old, new) != "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My doctor is Dr. Lee.", "My new doctor is Dr. Kim."),
        ("My new boss is Karl.", "My new boss is Rita."),
        ("The haircut was postponed to Monday.", "The haircut was postponed again, to Tuesday."),
        ("My exam has been moved to 8 December at 11:00.", "The exam was moved once more, to 15 December at 9:00."),
        (
            "My dentist appointment is on Tuesday, 10 March at 9:30.",
            "My dentist appointment has moved from Tuesday to Thursday, 12 March at 14:00.",
        ),
    ],
)
def test_another_one_and_another_move_take_the_place_of_the_last(old: str, new: str) -> None:
    assert relation(old, new) == "update"
    assert not leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "My physio appointment is on 18 August at 10:15.",
            "The garage has moved my appointment to 27 August at 8:30.",
        ),
        (
            "Paula's violin lesson is on 18 August at 16:00.",
            "The driving school called: my lesson was moved to 27 August.",
        ),
        ("The dentist appointment is on 18 August at 10:15.", "The bank called: my appointment was cancelled."),
        ("The meeting with Anna is on Monday at 10:00.", "Ben called: our meeting has moved to Tuesday at 12:00."),
    ],
)
def test_what_others_moved_or_called_off_is_not_what_one_has_with_somebody_else(old: str, new: str) -> None:
    assert relation(old, new) != "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My appointment at the garage is on 18 August.", "The garage has moved my appointment to 27 August at 8:30."),
        ("The dentist appointment is on 18 August at 10:15.", "The dentist called: my appointment was cancelled."),
        ("The appointment is on 18 August at 10:15.", "The bank has moved my appointment to 27 August."),
        ("The team meeting is at 14:00.", "My boss moved the meeting to 15:00."),
        ("My physio appointment is on 18 August at 10:15.", "They have moved my appointment to 27 August at 8:30."),
        ("The movers come on 28 November.", "No, the movers come on 29 November, not on the 28th."),
        ("I'm vegetarian since 2019.", "I'm not vegetarian anymore."),
        ("I drink coffee every morning.", "I stopped drinking coffee, only tea now."),
        ("My phone number is 0421 555 0137.", "I have a new phone number: 0176 555 0299."),
        ("The project deadline is 30 October.", "The deadline slipped to 13 November."),
    ],
)
def test_what_was_told_by_who_it_is_with_or_by_nobody_of_note_changes_it(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I have a boat.", "We sold the boat last summer."),
        ("I'm allergic to shellfish.", "Turns out I'm not allergic to shellfish after all, the test was negative."),
        ("I'm running a 10k on 20 September.", "I won't be running the 10k after all."),
        ("We are moving to Porto in spring.", "We're not moving to Porto after all."),
        ("We are moving to Porto in spring.", "We have decided not to move to Porto."),
        ("I take 20 mg of lisinopril every morning.", "The doctor raised my lisinopril to 40 mg."),
        ("I pay 900 euros rent.", "Rent went up to 980 from January."),
        ("My standup is at 9:30 every day.", "The standup has just moved to 10."),
        ("I use Vim for writing code.", "I switched from Vim to Helix for good."),
        ("I drive a Skoda Octavia.", "Traded the Skoda in for a Kia EV6 over the weekend."),
        ("The dentist appointment is on Friday.", "The dentist appointment was cancelled today."),
        ("The tram ticket costs 3 euros", "They raised the price of the tram ticket to 4 euros."),
        ("The standup is on Friday", "They moved the standup to Monday from Friday"),
        (
            "parents evening for milas class is on 22 September at 19:00",
            "also i was wrong, parents evening is not 22 sept its the 24th",
        ),
        ("i take 18 units of tresiba at night", "i take 20 units of tresiba at night now, not 18"),
        ("My locker code is 4412", "My locker code isn't 4412, it's 4421 🙈"),
        ("pickup is at 15:30 from kindergarten", "they changed the hours, pickup is at 15:00 now"),
        ("our nanny is called Petra", "petra quit, new nanny is Svenja, starts monday"),
        ("My phone number is 0151 2345", "got a new phone number: 0160 9988"),
        ("The party is on Friday", "The party is not on Friday but on Saturday"),
        ("My exam is on 3 Sep.", "My exam moved to 5 September"),
    ],
)
def test_a_change_is_told_with_when_and_why_it_came_about(old: str, new: str) -> None:
    assert relation(old, new) == "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I'm running a 10k on 20 September.", "I hurt my ankle, so I can't run the 10k."),
        ("We are having dinner with Rosa on Friday at 8.", "We are not having dinner with Rosa."),
    ],
)
def test_a_plan_is_contradicted_without_its_day(old: str, new: str) -> None:
    assert relation(old, new) == "contradiction"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My rent is 900 euros.", "Last month my rent was 950 euros."),
        ("The trip to Rome is in May.", "We cancelled the trip in June."),
        ("i take 18 units of tresiba at night", "i take 20 units of lantus at night now, not 18"),
        ("The party is at 7", "The party is not cancelled, it's at 8"),
        ("I run every morning.", "I can't run today."),
        ("I work on Fridays.", "I do not work on Fridays until noon."),
        ("I go swimming on Thursdays.", "My swimming on Thursday was cancelled this week."),
        ("I take the 7:12 train.", "The 7:12 train was cancelled today."),
        ("Book club is on the first Tuesday of the month.", "Book club has moved to Wednesday this month only."),
        ("I use Vim for writing code.", "I switched from Vim to Word for letters."),
        ("I like Marvel films.", "I no longer like the last Marvel film."),
        ("I'm down to 85 kilos.", "Sorry, typo earlier: I'm 43."),
        ("I live in Munich.", "I moved to Berlin 10 years ago."),
        ("I like red wine with cheese.", "I don't like red wine."),
        ("My wife likes red wine.", "I don't like red wine after all."),
        ("I'm running a marathon in May.", "I did not run a marathon."),
    ],
)
def test_another_time_another_part_and_somebody_else_change_nothing(old: str, new: str) -> None:
    assert relation(old, new) in ("compatible", "unrelated")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ines is allergic to nuts.", "Ines moved to Spain."),
        ("Gareth works for Tesco.", "Gareth has moved to York with his family, a nice house with a garden."),
        ("Gareth is allergic to bees.", "Gareth has moved to York"),
        ("Ines is a nurse.", "Ines moved to Spain."),
        ("Ines is vegetarian.", "Ines moved to Spain."),
        ("Ines works for Bosch.", "Ines moved to Spain."),
        ("Ines was born in Porto.", "Ines moved to Spain."),
        ("Ines is getting married in June.", "Ines moved to Spain."),
        ("Ines' phone number is 07700 900123", "Ines moved to Spain."),
        ("Ines's birthday is 3 June", "Ines moved to Spain."),
        ("Ines works at the bakery.", "Ines has moved to the flat upstairs."),
        ("Wilf is deaf in one ear.", "Wilf has moved to Ripon."),
        ("Wilf has a spare key.", "Wilf has moved to a home in Ripon."),
        ("Ben is diabetic.", "Ben has switched to decaf."),
        ("declans dentist appointment has moved to 20 jan", "Declan moved to Sligo"),
        ("Kirsty's wedding has moved to 5 June", "Kirsty has moved to York."),
        ("Mother's physio appointment has moved to Tuesday", "Mother has moved to Ripon"),
        ("The choir has moved to Tuesday", "The choir has moved to St John's hall"),
        ("Priya's salon has moved to Elm Street", "Priya moved to Hull"),
        ("Ola works at the bakery", "Ola moved to Spain"),
        ("My mate Joss is moving to Leeds", "my move to Leeds is off"),
        ("Dawn works at PureGym.", "I cancelled PureGym."),
        ("PureGym is open all night.", "I cancelled PureGym."),
        ("I met Tariq at PureGym.", "I cancelled PureGym."),
        ("Dawn's PureGym card is in my drawer.", "I cancelled PureGym."),
        ("Dawn works at Netflix.", "I cancelled Netflix."),
        ("I met Joss at slimming world.", "I have cancelled slimming world."),
        ("Maureen sings in the choir too.", "I've left the choir."),
        ("Maureen plays bowls at the club.", "I've left the club."),
        ("Lorna works at the library.", "I've left the library."),
        ("Maureen has a dental appointment on Friday.", "My dental appointment is cancelled."),
        ("I cancelled the holiday insurance.", "I cancelled the holiday."),
        ("Dawn paid the holiday deposit.", "I cancelled the holiday."),
        ("My holiday reading is Dickens.", "I cancelled the holiday."),
        ("gas is with Octopus", "gas has gone up to 70"),
        ("Kirsty had a scan, due date is now 2 aug not 9", "Kirsty has moved to York"),
    ],
)
def test_where_somebody_moved_and_what_one_left_change_nothing_else_of_them(old: str, new: str) -> None:
    assert relation(old, new) != "update"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ines is in Leeds", "Ines moved to Spain"),
        ("My office is on Elm Street", "My office has moved to Oak Road"),
        ("The choir meets at the library", "The choir has moved to St John's hall"),
        ("Our standup is at 9:30", "Our standup moved to 10"),
        ("Our standup is on Teams", "Our standup moved to Zoom"),
        ("My dentist appointment is on Tuesday", "My dentist appointment has moved to Friday"),
        ("The picnic is on Sunday", "The picnic is cancelled"),
        ("I have Netflix", "I cancelled Netflix"),
        ("My Netflix subscription costs 12", "I cancelled Netflix"),
        ("I have a dental appointment on Friday", "My dental appointment is cancelled"),
        ("Anna's wedding is on 5 June", "Anna's wedding is called off"),
        ("I sing in the choir", "I've left the choir"),
        ("I go to PureGym", "I cancelled PureGym"),
        ("My gym is PureGym", "I cancelled PureGym"),
        ("rent is 780 a month", "rent gone up to 825"),
        ("I pay 30 a month for the gym", "I cancelled the gym"),
        ("Our move to Bath is in June", "Our move to Bath is off"),
        ("The meeting is in room 4", "The meeting has moved to room 9"),
        ("The launch is on Friday", "The launch has slipped to Monday"),
        ("My dentist is Dr Klein", "I switched dentists from Dr Klein to Dr Wolf"),
        ("I'm moving to Leeds", "my move to Leeds is off"),
    ],
)
def test_where_and_when_something_is_and_what_one_had_change_with_it(old: str, new: str) -> None:
    assert relation(old, new) == "update"
    assert not leaves_some(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rent is 780 a month and council tax 110", "rent gone up to 825"),
        ("gas 60, water 30", "gas has gone up to 70"),
    ],
)
def test_an_amount_beside_another_one_is_left(old: str, new: str) -> None:
    assert leaves_some(old, new)


FRAGMENTS = [
    "",
    "I.",
    "We",
    "Now.",
    "now I",
    "From now on we",
    "🙂",
    "no longer",
    "my now",
    "Now is",
    "I have three hens",
]


@pytest.mark.parametrize("old", FRAGMENTS)
@pytest.mark.parametrize("new", [*FRAGMENTS, "I live in Graz now"])
def test_what_breaks_off_changes_nothing(old: str, new: str) -> None:
    assert relation(old, new) != "update"
