"""Which names of a session are of people, and which are of things, firms, places, or no names at all."""

import pytest

from services.shared.core.persons import people_of


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Fiesta", "the Fiesta needs a new clutch"),
        ("Duster", "We drive a Duster now"),
        ("Picasso", "We sold our Picasso yesterday"),
        ("Apoquel", "Rufus is on Apoquel 16 mg for his skin"),
        ("Apoquel", "vet says Rufus only needs Apoquel once a day now"),
        ("Jardiance", "I take Jardiance in the morning"),
        ("Jardiance", "I'm allergic to Jardiance"),
        ("Ventolin", "They put her on Ventolin"),
        ("Tallyo", "I must send the invoice to Tallyo by Friday"),
        ("Tallyo", "a startup named Tallyo pays me"),
        ("Kite", "Contact at Kite is Miriam Stone"),
        ("Kite Books", "I work for Kite Books"),
        ("Adobe", "I cancelled Adobe. Now I use Affinity"),
        ("Affinity", "Now I use Affinity for finals"),
        ("Berlin", "Felix says Berlin has too good a kebab"),
        ("Schauinsland", "we went for a walk on the Schauinsland"),
        ("Tannhäuser", "I heard the Tannhäuser overture with Gerda"),
        ("Tosca", "we have tickets for Tosca"),
        ("St Luke", "then I came to St Luke's"),
        ("CV", "I need to update my CV"),
        ("NHS", "NHS letters again"),
        ("Grandpa", "Grandpa says hi"),
        ("Herr", "My neighbour Herr Obermann is ill"),
        ("Bravo", "Bravo!"),
        ("Zenit", "He quit Zenit in May."),
        ("Ikea", "We met at Ikea"),
    ],
)
def test_what_is_spoken_of_as_a_thing_is_no_person(name: str, said: str) -> None:
    assert people_of([name], [said]) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Zosia", "Zosia learned to swim"),
        ("Kuba", "I take Kuba to school"),
        ("Kuba", "We met at Kuba's place"),
        ("Lowie", "I bought Lowie a present"),
        ("Lowie", "my Lowie is five"),
        ("Oona", "Ania left Oona"),
        ("Obermann", "Herr Obermann takes blood thinners"),
        ("Okafor", "ask Dr. Okafor for a reference"),
        ("Miriam Stone", "Contact at Kite is Miriam Stone"),
        ("Joost", "the Joost thing again"),
        ("Marcus", "I looked at Marcus"),
        ("Florence", "Florence is lovely"),
        ("Chelsea", "my niece Chelsea dances"),
        ("Lyon", "Mr Lyon called"),
        ("JJ", "JJ came round"),
        ("Max", "I work for Max"),
        ("Wren", "I had lunch with Wren and Isolde"),
        ("Tove", "Tove needs me"),
        ("Aoibhe", "I called Aoibhe about the flat"),
        ("Pieter", "the owner Pieter is very nice"),
    ],
)
def test_people_are_kept(name: str, said: str) -> None:
    assert people_of([name], [said]) == [name]


@pytest.mark.parametrize(
    ("written", "name"), [("Bravo Zosia", "Zosia"), ("Poor Rufus", "Rufus"), ("Tell Oona", "Oona")]
)
def test_what_only_stands_before_a_name_is_no_part_of_it(written: str, name: str) -> None:
    assert people_of([written, name], [f"{written}."]) == [name]


def test_a_capital_at_the_beginning_of_an_answer_makes_no_name() -> None:
    assert people_of(["Fingers"], ["I have the interview today"], ["Good luck. Fingers crossed."]) == []
    assert people_of(["Oona"], ["Oona is ill"], ["Oona will be fine."]) == ["Oona"]
    assert people_of(["Oona"], ["My boss is ill"], ["Is it Oona again?"]) == ["Oona"]
