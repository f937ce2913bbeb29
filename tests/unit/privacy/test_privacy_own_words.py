"""What of a message its user says, and what is pasted, quoted, or only to be worked on."""

import pytest

from services.shared.privacy.own_words import own_words

TEXT = "I have moved to Madrid. My name is Olga."


def is_own(said: str, text: str) -> bool:
    """Whether a sentence of a text is its user's own."""
    return said in own_words(text)


def opened(announcements: str, between: str) -> list[str]:
    return [f"{one}{between}{TEXT}" for one in announcements.strip().splitlines()]


AFTER_EMPTY_LINE = """
What do you think of this letter from my aunt?
Is the English ok?
Is my German correct
How does this sound?
How do these lines read?
Does it sound polite enough?
Any typos?
Are there any mistakes in this?
Is this too formal?
Is this grammatically right?
What does this say about her?
What does he mean?
What means this?
What do you make of this?
What do you think about this:
Thoughts on this?
How should I reply?
What should I write back to my landlord?
How would you respond to this?
Is this a scam?
Is this message spam or real?
Who wrote this?
Hi! I need your help again. Can you check this mail for me?
Please look over this. It is for my sister.
Could you make this a bit more formal?
Can you put this into proper German?
please correct my sister's homework
I need you to translate this into Polish
Got a reply from the client today:
Got a mail from the landlord
Received this from HR this morning.
My friend wrote this, what do you think?
My son sent me this yesterday.
I found this on Reddit.
Saw this in the newspaper, funny or not?
She posted this on Facebook last night:
my aunt wrote to me yesterday.
Ben texted me this morning.
Here is the persona for the chatbot:
This is the speech my father gave:
Below is the obituary:
Look at this review
Whatsapp from my brother
Letter from Aunt May
Forum post I found
Story for my blog, chapter 1
Chapter 7
Short horror story, second draft
Testimonials for the landing page:
Dutch class sentences:
Excerpt from her new novel
Press release, version 3
Bio for my client:
My daughter's homework:
Her reply:
The job ad for my old position
Dating profile of my friend
Cover letter of an applicant
Got this application for our job ad:
A tweet that I saw
Email chain with Siemens
Script for the video
Eulogy for my uncle
Reddit thread about moving
Text message from mum
----- Original Message -----:
To whom it may concern,
Dear Mrs Holloway,
Dear hiring manager,
"""

ON_THE_NEXT_LINE = """
Forum post I found
Whatsapp from my brother
Bio for my client:
my little sister's homework, correct it please:
Here is the persona for the chatbot:
Dutch class sentences:
Testimonials for the landing page:
Can you shorten this?
Is the grammar right?
What does she mean?
What does my boss want to say?
Poem by my niece:
Transcript of the voicemail:
Letter from the landlord:
Comment under my video:
System prompt:
He sent this:
From my sister:
In her own words:
"""

ON_THE_SAME_LINE = """
Plot idea:
Idea for a story:
Bio for my client:
Letter from my aunt:
Reply from the landlord:
Message from Ben:
What do you think of this answer by my student, a short text:
How does this sound:
Is this sentence correct:
Can you correct this sentence:
Got this from my sister:
My brother texted:
Testimonial:
Persona:
Lyrics:
Caption:
Practice sentences:
Make this more polite:
Anna says:
Please proofread:
From my boss:
"""

CHATS = [
    "[12/10/2026, 14:02] Ben Smith: I have moved to Madrid\n[12/10/2026, 14:03] Rita: cool",
    "[12/10/2026, 14:02] Zbyszko: I have moved to Madrid",
    "12/10/2026, 14:02 - Ben: I have moved to Madrid\n12/10/2026, 14:03 - +Me: cool",
    "12.10.26, 14:02 - Ewa Maria: I have moved to Madrid\nand my name is Olga\n12.10.26, 14:03 - Me: ok",
    "2026-10-12 14:02 ben: I have moved to Madrid",
    "[2:02 PM] Ben: I have moved to Madrid\n[2:03 PM] Me: cool",
    "[14:02] <Kasimir> I have moved to Madrid\n[14:03] <me> ok",
    "14:02 Ben: I have moved to Madrid\n14:03 Me: cool",
    "14:02 ben: I have moved to Madrid\n14:03 me: cool",
    "Chat with my landlord so far\nMe: hi\nHim: I have moved to Madrid, call me there",
    "me: where are you\nher: I have moved to Madrid",
    "Interview notes\nQ: Where are you based?\nA: I have moved to Lyon",
    "Q1: Where are you based?\nA1: I have moved to Lyon\n\nQ2: And your name?\nA2: My name is Olga",
    "Question: Where are you based?\nAnswer: I have moved to Lyon",
    "Interviewer: Where do you live?\nCandidate: I live in Madrid. My name is Olga.",
    "User: I have moved to Madrid\nAssistant: Noted!",
    "Anna:\nI have moved to Madrid\nMy name is Olga",
    "Anna:\n\nI have moved to Madrid\nMy name is Olga",
    "Anna: I have moved to Madrid",
    "Mum: I have moved to Madrid",
    "The landlord: I have moved to Madrid",
    "Jekaterina: have you heard?\nWiktor: I have moved to Madrid",
    "Zed: I have moved to Madrid\nKwame: wow\nZed: yes",
    "**Ben:** I have moved to Madrid\n**Ana:** where to?",
    "Ben Smith  14:02\nI have moved to Madrid",
    "Ben Smith — Today at 14:02\nI have moved to Madrid\nRita — Today at 14:05\nMy name is Olga",
    "Whatsapp from my brother\nHe: I have moved to Madrid, I no longer live in Rome",
    "Coach: How are you?\nOlga: My name is Olga.\n\nI have moved to Madrid.\n\nCoach: Good.",
    '"My name is Olga. I have moved to Madrid. I love it." What does she want?',
    "“My name is Olga. I have moved to Madrid. I love it.”",
    "```\nI have moved to Madrid\n```",
    "> I have moved to Madrid\nso what?",
    "My aunt wrote this:\n> I have moved to Madrid",
    'Plot idea: a man says he has moved to Madrid. I have moved to Madrid, he says.',
]  # fmt: skip

PASTED = [
    *opened(AFTER_EMPTY_LINE, "\n\n"),
    *opened(ON_THE_NEXT_LINE, "\n"),
    *opened(ON_THE_NEXT_LINE, "\n\n"),
    *opened(ON_THE_NEXT_LINE, "\n- "),
    *opened(ON_THE_SAME_LINE, " "),
    *opened(ON_THE_SAME_LINE, "\n"),
    *CHATS,
    *(f"{TEXT}{blanks}Translate this into German." for blanks in ("\n\n", "\n \n", "\n\t\n  ", "\n \n\n")),
    "12.05.24 Zoltar: I have moved to Madrid.",
]


@pytest.mark.parametrize("text", PASTED)
def test_what_is_pasted_is_nobody_s_own(text: str) -> None:
    assert not is_own("I have moved to", text)
    assert not is_own("My name is Olga", text)


OWN_AFTER = """
About me:
A bit about myself:
Some things to remember:
Some facts about me:
Here is some info about me:
Here's my situation:
Please remember this:
Remember the following:
Save this for later:
Update:
To be clear:
Short version:
Long story short:
Funny story:
My answer:
My reply:
My bio:
My profile:
My story:
Quick intro:
Just so you know:
Good news:
News from me:
Notes:
Note to self:
What changed this year:
What I told you already:
I told you already:
As I said:
My situation right now:
Background:
For context:
Summary of my year:
PS:
Correction:
Let me correct that:
Today:
One more thing:
Me:
Home:
Hi Claude,
Dear diary,
Hello!
Can you help me plan my week?
What should I do?
What do you suggest?
Is this normal?
How can I improve my English?
Is my English good enough for the exam?
Can you recommend a doctor here?
Do you remember me?
Any ideas?
Should I learn Spanish?
I need to update my CV.
I got a letter from the bank today.
I wrote a letter to my aunt.
We had an interview today.
I finished reading the novel.
My boss sent an email.
I posted the story.
Wrote two mails, answered the client
Posts on my blog are doing great
I have to answer this mail by Friday
I'm reviewing applications all week
Songs I like: jazz.
Letters to write: aunt, bank.
The article is done.
Exercise is important to me.
Post office was closed
Message 1:
Statement 2:
My cv draft:
Comment thread:
@Anna:
I had a chat with Ben about the job
I read this in the morning light.
"""


OWN = [
    *(
        f"{one}{between}I live in Lisbon."
        for one in OWN_AFTER.strip().splitlines()
        for between in ("\n", "\n\n", "\n- ")
    ),
    *(f"{one} I live in Lisbon." for one in OWN_AFTER.strip().splitlines() if one.endswith(":") and one[:4] != "What"),
]


@pytest.mark.parametrize("text", OWN)
def test_what_a_user_says_of_themselves_is_understood(text: str) -> None:
    assert is_own("I live in Lisbon", text)


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Update: I moved to Lisbon", ["I moved to Lisbon"]),
        ("Short version: I live in Lisbon now.", ["I live in Lisbon"]),
        ("About me:\n- I live in Lisbon\n- I am a nurse", ["I live in Lisbon", "I am a nurse"]),
        ("About me:\n* I live in Lisbon\n\n* I am a nurse\n", ["I live in Lisbon", "I am a nurse"]),
        ("Name: see above\nHome: I live in Lisbon\nJob: I am a nurse", ["I live in Lisbon", "I am a nurse"]),
        ("Work: I am a nurse\nDiet: I am vegan\nWork: I am tired", ["I am a nurse", "I am vegan"]),
        ("Monday: I work from home\nTuesday: yoga\nI live in Lisbon", ["I live in Lisbon"]),
        ("Lisbon: I live in Lisbon\nPorto: I want to go there", ["I live in Lisbon"]),
        ("9:00 standup\n14:00 dentist moved to 15:00\nI live in Lisbon", ["I live in Lisbon"]),
        ("9:00 Standup: numbers\n10:00 Dentist: bring the card\nI live in Lisbon", ["I live in Lisbon"]),
        ("12 Oct 2026: I live in Lisbon", ["I live in Lisbon"]),
        ("Dentist 14:30\nI live in Lisbon", ["I live in Lisbon"]),
        ("Ben: he owes me 20 euros\nI live in Lisbon", ["I live in Lisbon"]),
        ("Me: I live in Lisbon", ["I live in Lisbon"]),
        (
            "I am a nurse.\n\nI live in Lisbon with two cats. It rains.\n\nWhat do you think?",
            ["I am a nurse", "I live in Lisbon"],
        ),
        (
            "Two things.\n\nI live in Lisbon now: it is warm. I am a nurse: long hours.",
            ["I live in Lisbon", "I am a nurse"],
        ),
        ("Ana: where are you?\nBen: in Madrid\n\nI live in Lisbon, so no.", ["I live in Lisbon"]),
        ("My aunt wrote this:\n> I have moved\nI live in Lisbon, though.", ["I live in Lisbon"]),
        ('My TV is 40" wide. I live in Lisbon. My desk is 60" wide.', ["I live in Lisbon"]),
        ('They call it "home office". I live in Lisbon. It is "fine".', ["I live in Lisbon"]),
        ("Hi Claude,\n\nI live in Lisbon.\n\nThanks,\nRita", ["I live in Lisbon"]),
    ],
)
def test_lists_notes_and_paragraphs_of_a_user_are_their_own(text: str, own: list[str]) -> None:
    assert all(is_own(said, text) for said in own)


BESIDE = """
What do you think of this bio?
What do you make of this review?
Is this profile text good?
Does this sound natural?
Read this on a forum.
Saw this on Reddit.
Found this in a bottle on the beach.
This is from a review I read.
Here's the character for my novel.
Here's a character for my story.
My monologue for drama class.
What would you say to someone who tells you this?
What do you make of this paragraph?
Do you like this intro?
Would you swipe on this dating profile?
Thoughts on this caption?
How's this cover letter?
How is this opening paragraph?
Rate this Tinder bio.
Please rate my poem.
Can you improve this text message?
Is this sentence correct?
Is this email polite enough?
Does this message sound rude?
Does this read like proper English?
Is the grammar ok?
Is my German correct?
Any typos?
Any mistakes in this?
Is this good English?
Is this grammatically correct?
How does this sound?
I read this in an advice column.
Just read this on Mumsnet.
I came across this on LinkedIn.
This comes from a self-help book.
Here is my monologue for the play.
The first scene of my play.
A poem by my daughter for school.
What would you think of this post?
What would you answer if someone wrote this?
Hi! What do you think about this short bio?
So, how do you like this slogan?
How would you rate this personal statement?
Do you understand this letter?
What do you think of the following testimonial?
Does this introduction work for a website?
Would you reply to this message?
Here's the opening of my novel.
What do people think of this confession?
I found this comment online.
"""

OWN_BESIDE = """
What do you think?
Can you help me with this?
What do you think of this?
What do you think of this plan?
What do you think of this city?
Is this normal?
Is this a scam?
Is this correct?
Is this okay?
Does this sound good?
Does this sound right?
How should I reply?
Does it sound like a plan?
What do you make of my situation?
What do you think of my bio?
What do you think about the new law?
Do you like this weather?
Do you like this song?
What do you think of this book?
What do you think of this contract?
Any tips?
Thoughts on my plan?
How about Friday?
Do you understand this?
Can you explain this letter from the bank?
I got a letter today.
I read a lot on Reddit.
I read this book twice.
I found this flat on the internet.
I found this in my garden.
I got this from my doctor.
My sister gave me this.
Here's my story.
Here's my bio.
This is my first message.
This is my situation.
Here's the thing.
Here's what happened.
This is me.
This is from my sister.
My part in the project.
My role in the company.
The scene at work.
Great review.
Please fix my profile.
Please correct this in your notes.
Please improve this.
I posted this yesterday.
Why do people say this?
Sorry, I should have said this.
I have to say this.
Did I tell you this?
How's life?
How's this for news?
Is this text about me?
Rate my day.
Is this message saved?
I love this poem.
I answered this letter.
How do you like this rain?
Can you fix this?
Is my English good enough for the exam?
Is this too much?
Is this too late?
Have I told you this?
I must confess this.
Let me introduce myself.
A short bio.
Update from me.
I got this job last week.
I noticed this in my knee.
I read this on the train.
My doctor said this.
Never told anyone this.
Let me just say this.
"""


@pytest.mark.parametrize("announcement", BESIDE.strip().splitlines())
def test_a_text_that_is_announced_on_its_own_line_is_pasted(announcement: str) -> None:
    assert not is_own("I live in Nice", f"{announcement} I'm a pastry chef and I live in Nice.")


@pytest.mark.parametrize(
    "opening",
    [
        *OWN_BESIDE.strip().splitlines(),
        "What do you think of this letter? I got it from my landlord.",
        "Read this on a forum. Do you believe it?",
        *("What do you think of this profile picture?", "How about this post office?", "How does it sound?"),
        "What do you make of this review? They say the pan is bad.",
        "Is the grammar ok? You know that I'm no native speaker.",
    ],
)
def test_what_follows_a_question_or_a_remark_on_its_line_is_the_user_s_own(opening: str) -> None:
    assert is_own("I'm a pastry chef and I live in Nice.", f"{opening} I'm a pastry chef and I live in Nice.")


def test_blanks_stand_where_somebody_else_speaks() -> None:
    text = "Look at this.\n> I moved\nFunny."
    assert own_words(text) == "Look at this.\n         \nFunny."
    assert len(own_words(PASTED[0])) == len(PASTED[0])


@pytest.mark.parametrize(
    "piece", ["Ben: ", "\n14:02 ", "Dear ", '" "a', "```\n", "this letter? ", "is the ", "\n\n:", "a b "]
)
def test_a_text_of_any_form_is_read_quickly(piece: str) -> None:
    assert len(own_words(piece * 2000)) == len(piece) * 2000
