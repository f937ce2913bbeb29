"""Whether a text is English, so that rules of English may be applied to it."""

from __future__ import annotations

from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def is_english(words: Iterable[str]) -> bool:
    """Whether words in lower case are those of an English text. When in doubt they are not.

    Counts words that only English has against those that only German, French, Spanish, Italian, Portuguese or Dutch
    have, and words in another script.
    """
    english = other = 0
    for word in words:
        if word in _ENGLISH or ("'" in word and _is_contraction(word)):
            english += 1
        elif word in _OTHER or _is_of_another_script(word):
            other += 1
    return english > other


def _is_contraction(word: str) -> bool:
    return word.partition("'")[0] in _ENGLISH or word.endswith(("n't", "'re", "'ve", "'ll", "'m"))


def _is_of_another_script(word: str) -> bool:
    return not word.isascii() and word.isalpha() and min(word) > "\u024f"


_ENGLISH = _words(
    "i the and you your yours my mine he she his her hers we they them their theirs our ours it its this that these"
    " those is are were been being be have has had do does did done doing not with without from for of to by at about"
    " would could should shall might must can cannot may will who what when where why how which whose if because"
    " than then there here please every each both all any some many much more most other another into onto over under"
    " before after again always never often only just really very actually basically simply also too still yet now"
    " today tomorrow yesterday tonight"
    " like likes liked love loves loved hate want wants wanted need needs needed know knows knew think thinks thought"
    " believe guess hope feel say says said tell told ask asked call called get gets got give gave go goes going went"
    " gone come comes came make makes made take takes took put see saw seen look looks live lives lived work works"
    " worked use used buy bought pay paid keep kept let start started learn learned move moved meet met find found"
    " good new old big small best better great little long first last next one two three four five six seven eight"
    " nine ten eleven twelve thirty forty fifty hundred thousand"
    " day days week weeks month year years time morning evening people children mother father mum mom brother sister"
    " wife husband friend friends house home room water book food dog cat car name number"
    " im dont cant doesnt didnt isnt arent wasnt wont"
    " couldnt wouldnt shouldnt ive youre theyre weve thats whats gonna"
    " wanna gotta dunno cancelled travelling traveling colour color favourite favorite"
)
_OTHER = (
    _words(
        # German
        "ich du er sie wir ihr mich mir dich dir uns euch ihn"
        " ihm der das dem den des ein eine einen einem einer und oder"
        " aber nicht kein keine ist sind bin bist war waren habe"
        " hast haben hat hatte wird werden auf aus bei mit nach"
        " von vor zu zum zur für fürs über unter ohne auch noch nur sehr schon wenn weil dass wie wo wer dieser diese"
        " dieses mein meine meinen meiner dein deine sein seine"
        " unser heute morgen gestern immer nie jeden trinkt im ins"
        # French
        " je tu il elle nous vous ils elles le la les un une du"
        " au aux et ou mais ne pas est sont suis êtes était ai as"
        " avons avez ont ce cette ces mon ma mes ton ta tes"
        " son sa ses notre votre leur dans sur sous pour avec sans chez"
        " que qui quand comme très plus moins aussi aujourd'hui demain hier veux j'ai j'aime c'est n'est"
        # Spanish
        " yo tú él ella nosotros ellos el los las una unos y o pero es son soy eres somos está estoy están hay"
        " tengo tiene tienes mi mis tus su sus nuestro del al en"
        " con sin por para porque muy más también hoy mañana gusta se lo"
        # Italian
        " io lui lei noi voi loro lo gli uno ed ma non sono sei"
        " siamo è era ho hai abbiamo hanno mio mia miei tuo tua di da"
        " dal della nel nella con per tra fra che chi quando"
        " come molto più anche oggi domani ieri sempre mai questo questa"
        # Portuguese
        " eu ele ela nós eles os uma não é são sou estou tenho tem meu"
        " minha seu sua do da dos das ao no na nos nas em com sem"
        " mas porque muito mais também hoje amanhã ontem isto isso"
        # Dutch
        " ik jij hij wij jullie het een van voor niet geen ben"
        " zijn heb heeft hebben deze dit dat mijn jouw ons onze met"
        " naar bij ook nog zeer vandaag gisteren altijd nooit maar"
    )
    - _ENGLISH
    - _words("as no me ton son sur plus chat pour")
)
