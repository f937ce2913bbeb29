"""What a statement says is over, and which older ones may be so no longer."""

from __future__ import annotations

import pytest

from services.shared.core.fact_changes import effects
from services.shared.core.over import is_over, words_of_over
from services.shared.core.updates import relation


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("I drive a Honda Jazz", "The Jazz got written off in a crash."),
        ("I bought a Honda Jazz.", "I finally sold the Jazz"),
        ("My car is a Honda Jazz.", "I have sold the Jazz."),
        ("I bought a Bose headset", "I returned the Bose headset"),
        ("We're moving to Bath in June", "Bath fell through, we're staying in Bristol"),
        ("We go to Gino's every Friday", "Gino's closed down"),
        ("I take Lisinopril in the morning", "My doctor took me off Lisinopril"),
        ("My favourite band is Elbow", "Honestly I've gone off Elbow"),
        ("My allotment is on Dyke Road", "gave up the allotment"),
        ("We have a dog, Biscuit. She's a beagle.", "Biscuit died last week. Heartbroken."),
        ("Ana owes me 40 quid", "Ana paid me back"),
        ("booked crete 3-10 june w Dawn", "crete fell thru. dawn broke her ankle"),
        ("doing slimming world with Dawn on mondays", "gave up slimming world. cba"),
        ("i drive a corsa btw, its a 2014 one", "corsa got nicked last nite from the staff car park"),
        ("My uncle takes metoprolol", "They stopped his metoprolol straight away"),
        ("Grandad takes metoprolol 50 mg", "Dr Lund took him off metoprolol"),
        ("Grandad is on metoprolol", "They took grandad off metoprolol"),
        ("Heron uses MySQL", "We moved Heron to MariaDB"),
        ("Heron uses MySQL", "Heron uses MariaDB now"),
        ("Heron runs on MySQL", "Heron went back to MariaDB"),
        ("Heron is hosted on Linode", "I moved Heron from Linode to Scaleway"),
    ],
)
def test_what_is_gone_may_end_what_was_said_of_it(before: str, text: str) -> None:
    assert words_of_over(text)
    assert is_over(before, text)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("My brother drives a Jazz", "I sold the Jazz"),
        ("My favourite film is Coffee and Cigarettes", "I gave up cigarettes"),
        ("My brother's car is a Honda Jazz", "I sold the Jazz"),
        ("My uncle takes metoprolol", "They stopped her donepezil"),
        ("My locker has a metoprolol sticker", "They stopped his metoprolol"),
        ("Heron runs on MySQL", "Robin moved to MariaDB"),
        ("Heron uses MySQL", "Heron uses MySQL now"),
        ("Heron uses MySQL", "Heron has moved to Thursday"),
        ("Grandma Rose makes the best dumplings", "Grandma Rose died"),
        ("Ana is my sister", "Ana paid me back"),
        ("We visited Bath in 2019", "Bath fell through"),
        ("I drive a Honda Jazz", "My brother's Jazz was stolen"),
        ("I drive a Honda Jazz", "Was the Jazz stolen?"),
        ("I drive a Honda Jazz", "If the Jazz was stolen I'd cry"),
        ("I have an appointment on Tuesday", "The alarm went off"),
        ("We live in Leeds", "Sold! We got the house in Leeds"),
        ("Wilf's scooter is blue.", "I have sold the scooter."),
        ("I bought the scooter from Mr Pemberley.", "I have sold the scooter."),
        ("I got my bike from Joss", "my bike got stolen"),
        ("Wilf owes me a pint from the Mother Shipton.", "The Mother Shipton has closed down."),
        ("I have tickets for the gig", "The gig was sold out"),
    ],
)
def test_what_is_of_others_or_only_supposed_ends_nothing(before: str, text: str) -> None:
    assert not is_over(before, text)


@pytest.mark.parametrize("piece", ["the jazz was sold ", "i sold ", "died ", "took me off ", "and "])
def test_a_text_of_any_length_is_read_quickly(piece: str) -> None:
    assert not is_over("I drive a Honda", piece * 20_000)


def is_changed(old: str, new: str) -> bool:
    """Whether a newer statement changes an older one, by its words or by its facts."""
    return relation(old, new) in ("update", "contradiction") or effects(new, [old])[0] in ("replaced", "unclear")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The wedding is on 6 June.", "We had to move the wedding to 13 June."),
        ("My dentist appointment is on 3 December.", "I had to reschedule my dentist appointment to 9 December."),
        ("Our flight is on 3 December.", "Unfortunately we had to rebook our flight to 9 December."),
        ("The offsite is on 3 May.", "We've had to push the offsite to 9 May."),
        ("The launch is on 3 May.", "They were forced to postpone the launch to 9 May."),
        ("The deadline is 3 May.", "We managed to move the deadline to 9 May."),
        ("I drive a Golf.", "I had to sell the Golf."),
        ("I drive a Golf.", "I had to get rid of the Golf."),
        ("Our wedding is on 6 June.", "We had to call off our wedding."),
        ("We use Slack.", "We had to switch from Slack to Teams."),
        ("I subscribe to the Guardian.", "I had to cancel the Guardian."),
        ("I live in Lisbon.", "I had to move to Porto."),
        ("My haircut is on Friday.", "My haircut is cancelled, the salon is closed."),
        ("My haircut is on Friday.", "My haircut was cancelled as the salon is closed."),
        ("The workshop is on 3 May.", "The workshop has been called off, the trainer is ill."),
        ("My dentist appointment is on Friday.", "My dentist appointment is cancelled, the dentist is ill."),
        ("My driving test is on 3 December.", "I rescheduled my driving test for 15 December."),
        ("The concert is on 5 December.", "The concert is over."),
        ("My exam is on 5 December.", "My exam is done."),
        ("My physics exam is on 5 December.", "My physics exam's over!"),
        ("My knee operation is on 5 December.", "My knee operation is finally behind me."),
        ("My driving test is on 5 December.", "I passed my driving test."),
    ],
)
def test_what_had_to_be_changed_or_is_over_has_changed(old: str, new: str) -> None:
    assert is_changed(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My meeting room is B12.", "We had to move the meeting room's chairs to C3."),
        ("The wedding is on 6 June.", "We might have to move the wedding to 13 June."),
        ("The wedding is on 6 June.", "We have to move the wedding to 13 June."),
        ("The wedding is on 6 June.", "If we had to move the wedding to 13 June, who could come?"),
        ("The wedding is on 6 June.", "I hope we will not have to move the wedding to 13 June."),
        ("The wedding is on 6 June.", "We never had to move the wedding to 13 June."),
        ("The wedding is on 6 June.", "My mother thinks we had to move the wedding to 13 June."),
        ("The wedding is on 6 June.", "Tom had to move his wedding to 13 June."),
        ("I drive a Golf.", "My neighbour had to sell his Golf."),
        ("I drive a Golf.", "I had to sell tickets."),
        ("I drive a Golf.", "I had to leave the Golf at home."),
        ("I live in Lisbon.", "I had to move to the back of the room."),
        ("I live in Lisbon.", "My sister had to move to Porto."),
        ("I live in Lisbon.", "I'd have to move to Porto."),
        ("I work at Siemens.", "I had to leave work early."),
        ("I drink coffee.", "I had to stop for coffee."),
        ("My haircut is on Friday.", "The concert is cancelled, the singer is ill."),
        ("My haircut is on Friday.", "Is my haircut cancelled, or is the salon open?"),
        ("My haircut is on Friday.", "If my haircut is cancelled, the salon will call."),
        ("My haircut is on Friday.", "My haircut is not cancelled, the salon is open."),
        ("The concert is on 5 December.", "The concert is over three hours long."),
        ("The concert is on 5 December.", "The concert is over at ten."),
        ("The concert is on 5 December.", "Once the concert is over, we eat."),
        ("The concert is on 5 December.", "The concert is over on 5 December."),
        ("The concert is on 5 December.", "The concert is not over."),
        ("The concert is on 5 December.", "Is the concert over?"),
        ("The concert is on 5 December.", "The rain is over."),
        ("My exam is on 5 December.", "My homework is done."),
        ("My physics exam is on 5 December.", "My maths exam is done."),
        ("My exam is on 5 December.", "The exam is done in pencil."),
        ("My exam is on 5 December.", "I wish my exam was over."),
        ("My exam is on 5 December.", "My sister's exam is done."),
        ("My presentation is on 5 December.", "My presentation is done."),
        ("The team meeting is on Mondays.", "The team meeting is over."),
        ("My driving test is on 15 December.", "My brother passed his driving test."),
    ],
)
def test_what_only_had_to_be_changed_elsewhere_has_not_changed(old: str, new: str) -> None:
    assert not is_changed(old, new)
