"""What a newer statement leaves as it is: what is only called after it, of others, or of another time."""

from __future__ import annotations

import pytest

from services.shared.core.updates import relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My favourite film is Smoke.", "I quit smoking."),
        ("My toddler only drinks oat milk.", "I stopped drinking milk."),
        ("My parrot loves singing.", "I stopped singing."),
        ("I run a youth club on Fridays.", "I gave up running because of my knee."),
        ("My favourite board game is Fishing Village.", "I gave up fishing."),
        ("Our team lunch is on Tuesdays.", "Team lunch has moved to Wednesday because Tom is away."),
        ("The class is taught by Ms Kay.", "The class is taught by Mr Jay this term instead of Ms Kay."),
        ("My flight costs 210 euros.", "My flight leaves at 8 now."),
        ("I drink wine with dinner.", "My wife drinks water instead of wine."),
        ("The wedding rehearsal is on 4 June.", "The wedding has moved to 12 June."),
        ("We have a garden.", "We no longer have a gardener."),
        ("My favourite group is Signal.", "I switched from Signal to Threema."),
        ("The wedding invitations go out on 3 March.", "The wedding has moved to 12 June."),
        ("The conference registration closes on 1 April.", "The conference has moved to 9 May."),
        ("The exam registration is on 2 May.", "The exam has moved to 20 June."),
        ("The party shopping is on Friday.", "The party has moved to Saturday."),
        ("I paid 80 euros at my dentist appointment on 3 March.", "My dentist appointment has moved to 9 September."),
        ("My nose is running.", "I stopped running."),
        ("My guests drink wine.", "I stopped drinking wine."),
        ("My students love dancing.", "I gave up dancing."),
        ("My favourite sweet is chocolate cigarettes.", "I gave up cigarettes."),
        ("My favourite dress is wine red.", "I gave up wine."),
        ("I have a bread knife from Solingen.", "I gave up bread."),
        ("I have a chess computer from 1985.", "I gave up chess."),
        ("My hen is called Berta.", "My new hen is called Agathe."),
        ("My baby is called Ole.", "My new baby is called Eva."),
        ("My song is called Rain.", "My new song is called Snow."),
        ("My plant is a fern.", "My new plant is a cactus."),
        ("I work at the bank on Fridays.", "My cousin works at the post office instead of the bank."),
        ("I pay by card.", "My mother pays cash instead of by card."),
        ("My daughter is 7.", "My daughter is 130 cm tall now."),
        ("The meeting is at 10.", "The meeting takes 2 hours now."),
        ("My meeting with Ute is on Mondays.", "My meeting with Ute moved to Tuesday because she was ill."),
        ("Our weekly is on Monday.", "The weekly was moved to Tuesday owing to Easter Monday."),
        ("The hotel for the conference is booked from 4 May.", "The conference has moved to 9 May."),
        ("Our first date was on a Friday at the concert.", "The concert has moved to Saturday."),
        ("I love the tulips in Amsterdam.", "I moved from Amsterdam to Utrecht."),
        ("My allotment is in Amsterdam.", "I moved from Amsterdam to Utrecht."),
        ("My shares in SAP are worth 4000 euros.", "We switched from SAP to Odoo."),
        ("I love zoom lenses.", "I switched from Zoom to Jitsi."),
        ("I work for a tennis magazine.", "I gave up tennis."),
        ("I study wine making.", "I gave up wine."),
        ("I need a bread box.", "I gave up bread."),
        ("My dog is called Coffee.", "I gave up coffee."),
        ("My nickname is Sugar.", "I gave up sugar."),
        ("My goal is to bake bread for the fair.", "I gave up bread."),
        ("My baby weighs 5 kilos.", "My baby is 3 months old now."),
        ("My sweater is from wool.", "My new sweater is from cotton."),
    ],
)
def test_what_is_only_called_after_it_of_others_or_of_another_time_is_not_changed(old: str, new: str) -> None:
    assert relation(old, new) != "update"
