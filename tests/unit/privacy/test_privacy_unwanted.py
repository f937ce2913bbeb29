"""What a user does not want remembered, as they say in the message itself."""

from __future__ import annotations

import time

import pytest

from services.shared.privacy import unwanted
from services.shared.privacy.unwanted import is_unwanted


@pytest.mark.parametrize(
    "text",
    [
        "don't remember this: my pin is 4477",
        "Don't remember this chats.",
        "Please do not keep this conversations.",
        "Off the record, I'm looking for another job.",
        "I'm looking for another job, but that's off the record.",
        "please don't save this. I had a fight with Jo",
        "do not store this message, my pin is 4477",
        "keep this between us, dont store it: I am pregnant",
        "pls dont remember this but my boss is an idiot",
        "My salary is 80k. Please do not record that!",
        "I had a test done, no need to remember this though",
        "Hey, you don't have to keep this, I just need to vent",
        "Never memorise what I tell you now: the code is 1234",
        "DON’T SAVE THIS\nthe code is 1234",
        "Please don't remember that I have a lump in my breast.",
        "I have a lump in my breast, don't remember that please.",
        "Please do not store this information: my pin is x7.",
        "Don't add this to your memory: my pin is x7.",
        "I don't want you to save this: my pin is x7.",
        "Keep this out of memory: my pin is x7",
        "My pin is x7, please don't keep it.",
        "I'm pregnant - please don't write that down anywhere.",
        "I was fired today, please make sure this isn't saved.",
        "I am undocumented. You must not remember that.",
        "Don't commit this to memory. My pin is x7",
        "x" * 5000 + ". Please don't save this.",
        "right this bit you are not to remember ok the code of the safe is 9021",
        "You're not to keep this: I failed the exam",
        "please dont keep this one Jo has lost her job",
        "Please you don't remember this: I owe Karl 900 euro",
        "Not remember this please: I was in hospital",
        "You must to forget this: Jo was married before",
        "Confidential, do not log: the firm is nearly broke",
        "Delete this after: the token is ab-77",
        "You should not remember that I take lithium",
        "Keep this off the record: my PIN is 4711.",
        "Let's keep it off the record, I was arrested.",
        '"Off the record": the firm is for sale',
        "**Don't remember this:** my PIN is 4711",
        "My code is 4711. Forget I said that.",
        "My code is 4711. Please forget this right away.",
        "This stays between us, don't keep it.",
        "Not for your memory: my code is 4711",
        "The gate opens with 4711. Don't remember that.",
        "The gate opens with 4711, do not remember it",
        "Please don't take note of that: the gate opens with 4711",
        "don't memorise my pin 4711",
        "i'd rather you didn't store this, the gate opens with 4711",
        "I don't want that kept: the gate opens with 4711",
        "This is not to be logged: the gate opens with 4711",
        "It must not be saved anywhere. The gate opens with 4711",
        "Leave that out of your memory: the gate opens with 4711",
        "Could you please not keep this: the gate opens with 4711",
        "Would you mind not storing this? The gate opens with 4711",
        "Please avoid saving this: the gate opens with 4711",
        "Never store my card number 4711",
        "[don't save] the gate opens with 4711",
        "Don`t keep this: the gate opens with 4711",
        "The gate opens with 4711. Now erase that from your memory.",
        "The gate opens with 4711. Forget that I told you.",
        "The gate opens with 4711. Please delete this message.",
        "From now on don't remember anything I say",
        "make no note of this: I was let go",
        "I was let go, please don't keep that on file",
        "Please do not record this in my profile. I was let go.",
        "What I tell you now should not be stored anywhere. I was let go.",
        "this chat should not be remembered, I was let go",
        "This isn't for your memory but I was let go",
        "for your ears only: I was let go",
        "could you not remember what i said about my wife",
        "forget i said anything about the affair",
        "quick question, please don't save, is 38.9 a fever",
        "I've pawned my mother's ring. Don't keep that, I'll buy it back on Friday.",
        "my brother is in rehab... dont note it",
        "It doesnt go in ur memory but I'm leaving her",
        "is it possible you don't store this? my blood group is AB",
        "pretend I never said this: I hate my job",
        "treat this as if I hadn't told you, but I voted for the other lot",
        "Would you mind forgetting that my mother drinks?",
        "dnt save dis msg, i owe him 300",
        "don not safe this please, I have no visa",
        "Only for this chat: my weight is 94 kg",
        "My scan is on Monday (please don't save!!)",
        "Answer without storing it: is a glass of wine a day too much?",
        "I don't want this coming up in later chats, I was in prison in 2009.",
        "I'd prefer this not to land in your memory. I failed my driving test again.",
        "make no record of the fact that I was there",
        "Please sir not to keep this thing, I am having debts",
        "I have left the church. I should not like this to be stored.",
        "once you've answered, please erase this: what does a divorce cost?",
        "Bitte merk dir das nicht: ich bin krank.",
        "Ich habe Schulden. Das bitte nicht speichern!",
        "No guardes esto, por favor: debo dinero",
        "Je suis malade, ne retiens pas ça.",
        "Non memorizzarlo, per favore. Sono incinta.",
        "Não guardes isto: estou doente",
        "Onthoud dit alsjeblieft niet: ik ben ziek",
        "Nie zapisuj tego: jestem chory",
        "Would you be so kind as not to store this? I have met somebody.",
        "That is not something I want you to keep. My brother is in prison.",
        "Let's not have this stored. I got an offer from Bosch.",
        "It's not meant to be saved: Ben told me that he is ill. What can I bring?",
        "Please be sure you're not keeping this. My mother drinks.",
        "I don't want you to have this recorded, but I hear voices.",
        "dont save this my sister uses my phone",
        "Draft the mail for Harlow and store nothing please.",
        "After replying, delete this please. I owe 1,430.",
        "Ich bin wieder schwanger. Das soll nirgends gespeichert werden.",
        "das musst du dir nicht merken, wo gibt es hier Ramen?",
        "Esto no quiero que se quede guardado: me divorcio.",
        "J'ai menti sur mon CV, retiens pas ça hein.",
        "Ik ben gezakt, dit hoef je niet te bewaren.",
        "Это запоминать не нужно: я увольняюсь.",
        "Bunu hafızana alma tamam mı, kaldım",
    ],
)
def test_a_message_says_that_it_is_not_to_be_kept(text: str) -> None:
    assert is_unwanted(text)


@pytest.mark.parametrize(
    "text",
    [
        "I don't remember this place",
        "I don't remember this.",
        "Dont remember it, but the hotel was near the beach",
        "You don't remember that, but I told you yesterday",
        "Don't remember that?",
        "Please remember this: my pin is 4477",
        "Don't forget this: my pin is 4477",
        "Do not store this medicine in the fridge",
        "Don't save this file as PDF",
        "Don't keep it, send it back",
        "I bought bread. The manual said: don't remember this. I live in Lund.",
        "Translate into German: don't remember this. I'm learning German.",
        "Don't save this for later: buy milk now, I'm out of it.",
        "I don't want you to worry about this",
        "Make sure that it is not frozen",
        "Keep it out of reach of children",
        "He told me off the record that they will merge",
        'What happens when I say "don\'t remember this"?',
        "We never record this show",
        "They do not store that in the cellar",
        "The band has an off the record cover album",
        "You are not to blame for this",
        "Please don't keep this up all night",
        "You must forget this silly idea of a boat",
        "I did not remember this morning that it was my turn",
        "Delete this paragraph after the headline",
        "The form is broken: this is not saved when I click the button",
        "Never store potatoes in the fridge",
        "I told him to forget it, and he did",
        "Don't forget that I like tea",
        "I can't remember it",
        "I don't want to remember that day",
        "Could you not book the early train?",
        "I don't want this saved as a draft, it goes out on Thursdays",
        "I don't want it stored in the cellar, the piano needs dry air",
        "no need to remember the old address any more, my new one is Birkenweg 4",
        "keep it off the record player, I tell the cat",
        "It should not be stored above 25 degrees",
        "I rinse the rice. Don't remember where I learned that.",
        "is it possible you don't have a vegetarian option?",
        "pretend you are a pirate and never say please",
        "treat this wood with oil, never with wax",
        "We are not saving this month, the roof leaks.",
        "Only for this chat group: bring salad",
        "I paid without saving the receipt",
        "my safe this morning was open",
        "Merk dir das bitte: ich bin Vegetarierin",
        "Ich kann die Datei nicht speichern.",
        "No guardes esto en la nevera, se estropea.",
        "Je ne garde pas les reçus.",
        "Retiens ça : je suis végétarien",
        "Onthoud dit: ik eet geen vlees",
        "Não lembro o nome dele.",
        "The spy whispers: keep nothing. What could the letter say?",
        "Das hat er sich nicht gemerkt.",
        "Das Dokument wurde nicht gespeichert.",
        "Kartoffeln nicht im Kühlschrank aufbewahren",
        "Non voglio che resti a cena.",
        "Je n'ai pas enregistré le document.",
        "No registré el paquete.",
        "Vergeet dit niet: morgen tandarts",
        "Bunu unutma: yarın dişçi",
        "",
    ],
)
def test_what_only_sounds_like_it_is_kept(text: str) -> None:
    assert not is_unwanted(text)


@pytest.mark.parametrize("piece", ["please ", "don't remember ", ", and ", "off the ", "- ", "this "])
def test_a_text_of_any_length_is_read_quickly(piece: str) -> None:
    started = time.thread_time()
    is_unwanted(piece * 20_000)
    assert time.thread_time() - started < 1


def test_each_line_of_a_conversation_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def unfolded(text: str) -> str:
        seen.append(text)
        return text

    monkeypatch.setattr(unwanted, "unfolded", unfolded)
    assert not is_unwanted(
        "".join(f"User: I live in Turku, {number} km away.\nAssistant: ok\n" for number in range(30))
    )
    assert len(seen) == len(set(seen)) > 30
