"""What a statement says is over, and which older ones may be so no longer."""

from __future__ import annotations

import pytest

from services.shared.core.over import is_over, words_of_over


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
