"""English words that decide whether two texts state the same: what may be left out, and what never may."""

from __future__ import annotations

from services.shared.core.spelling import NUMBER_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words("not no never none nobody nothing nowhere neither nor without hardly barely scarcely ain't")

NUMERIC = _words(
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty"
    " ninety hundred hundreds thousand thousands million millions billion billions dozen dozens half quarter third"
    " first second fourth fifth sixth seventh eighth ninth tenth once twice thrice double triple single couple pair"
    " few several many more less most least fewer all some any every each both"
)

TIMES = _words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
    " january february march april may june july august september october november december jan feb mar apr jun jul"
    " aug sep sept oct nov dec spring summer autumn fall winter today tomorrow yesterday tonight now later soon ago"
    " before after since until till during morning afternoon evening night noon midnight midday daily weekly monthly"
    " yearly annually hourly always never often sometimes usually rarely seldom already yet still again next last"
    " previous early earlier late am pm second seconds minute minutes hour hours day days week weeks weekend weekends"
    " month months year years decade decades century centuries"
)

PRONOUNS = _words(
    "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself we us"
    " our ours ourselves they them their theirs themselves who whom whose this that these those"
)

MODALS = _words("can could may might must shall should will would ought need dare want wants wanted")

DIRECTIONS = _words(
    "on off in out up down left right above below over under inside outside into onto from to with within toward"
    " towards north south east west northern southern eastern western forward backward backwards open closed near far"
)

CRITICAL = NEGATIONS | NUMBER_WORDS.keys() | NUMERIC | TIMES | PRONOUNS | MODALS | DIRECTIONS
"""Words that are never taken for a typing error of another."""

ARTICLES = _words("a an the")
INTENSIFIERS = _words("really very just actually basically simply please")
DETERMINERS = _words("my your his her its our their this that these those every each some any no")
PREPOSITIONS = _words("at behind beside by for from in into of off on onto out over through to under with")
BARE_NOUNS = _words(
    "question charge case place front back end way school bed hospital prison jail church college university sea court"
    " class market town home work office power control view face sight touch order time night day fact part general"
    " common love light heart mind hand hands foot top board fire track air line point purpose sale strike duty call"
    " watch leave trial record future past bars table person force shape store stock need season term principle"
    " practice particular possession parliament public private short long secret turn theory reality"
)
"""Nouns that mean another thing without an article after a preposition: in charge, out of question, in prison."""

TAKING = _words("take takes took taken taking give gives gave keep keeps kept lose loses lost catch caught")
TAKEN = _words("place part charge care time turns shape note action effect office root hold heart fire way house")
"""After a verb of taking these mean another thing without an article: take place, lose heart."""

PEOPLES = _words(
    "french english dutch irish welsh scottish spanish british swiss chinese japanese portuguese polish danish finnish"
    " swedish turkish german russian rich poor blind deaf dead old young sick homeless unemployed"
)
"""Words that mean people after "the" and a language or a quality without it."""

SEASONS = _words("spring summer autumn fall winter")
PAST = _words("came got left bought moved met saw heard found lost made went told said read had")
"""Past forms without -ed after which "just" means a moment ago."""

LINKING = _words("am is are was were be been feel feels felt look looks looked")
NOT_AFTER_SO = _words("that far much many long")
INTERJECTIONS = _words(
    "oh so well hey hi hello um uh umm uhh hm hmm ah aha ok okay alright yeah yep yup yes also anyway anyhow honestly"
    " frankly btw tbh fyi"
)
OPENING_PHRASES = tuple(
    tuple(phrase.split())
    for phrase in ("by the way", "to be honest", "to be fair", "to tell the truth", "in fact", "as a matter of fact")
)
"""What may open a text before it comes to its subject. "You know" and "I mean" do not: they may be the statement."""

SUBJECTS = _words("i you he she it we they there this the a an my your his her its our their")
AUXILIARIES = _words("am is are was were do does did have has had can could will would shall should may might must")
PERSONS = _words("i you he she we they")
ASKING_ONLY_PERSONS = _words("do did have had was were")
"""Verbs that ask before a person only: "did the laundry" leaves out who did it."""

QUESTION_WORDS = _words("what who where when why how which whose")
SAYING = _words(
    "think thinks thought know knows knew say says said believe believes believed hope hopes hoped feel feels felt"
    " guess mean means meant remember remembers remembered sure glad heard hear noticed told"
)
NOT_BEFORE_PLEASE = MODALS | NEGATIONS | _words("i you he she we they to and or as")
TELLING = _words("tell tells told remind reminds reminded promise promised warn warned")
TOLD = _words("me you him her us them")
"""Between a word of telling and a "that" that may be left out: "she told me that …"."""

LETTERED = _words(
    "plan vitamin type class grade group hepatitis option section team exhibit side category block building level tier"
    " series model appendix schedule column row point letter influenza an"
)
"""Words after which "a" is a name: plan A, vitamin A."""

NOT_AFTER_ARTICLE = (
    CRITICAL
    | LINKING
    | PEOPLES
    | _words(
        "little lot bit m and or but at of for by as about has have had do does did a an the number majority minority"
        " only other same while"
    )
)
"""Words before which an article is none, as the name An, or matters: a few, the last, the US; and "m" of 10 a.m."""

PARENTHESES = (("you", "know"), ("i", "mean"))
"""Phrases that say nothing when a pause follows them: "you know, it rains", unlike "you know it rains"."""

DENIALS = _words(
    "not no never none nobody nothing nowhere neither nor without cannot stop"
    " nein nicht nie kein keine niemand nichts ohne non ne pas jamais rien aucun não nunca nada ningún nadie jamás mai"
    " niente nessuno nee niet nooit geen niets"
)
"""Negations beside which a pause changes what is said: "No, more meetings" and "No more meetings"."""

DENIALS_WITHOUT_APOSTROPHE = _words(
    "dont cant wont doesnt didnt isnt arent wasnt werent havent hasnt hadnt wouldnt couldnt shouldnt mustnt"
)
SURNAMES = _words(
    "mould mold moulder molder grey gray tyre tire armour armor labour labor harbour harbor plough plow savour savor"
    " vigour vigor honour honor programme program centre center kerb curb cheque check"
)
"""Words in either spelling that are names, too, so that a capital counts even where a sentence begins."""

WRITTEN_EITHER_WAY = _words("i i'm i'd i'll i've im ive am pm ok km kg cm mm mg mph km/h a.m p.m tv")
"""Words whose capitals tell nothing."""

CASED_UNITS = _words("kb mb gb tb mw kw kwh ms m g")
"""Units that are others in capitals: 5 Mb and 5 MB, 5 mW and 5 MW."""

NUMBERED = (
    CRITICAL
    | ARTICLES
    | LINKING
    | _words(
        "option options item items step figure fig table note footnote ref reference source case choice chapter page"
        " part point rule row column line seat room door gate level index number question answer variant version type"
        " group list paragraph section article appendix exhibit slide task ticket issue bug card box slot key entry"
        " message result image and or of see cf than as for by about pick choose chose take like prefer want mark score"
        " rating"
    )
)
"""Words after which a bracketed number is part of what is said and no citation mark."""

SECRETS = _words(
    "password passphrase passcode pwd pin token secret login username passwort kennwort passe contraseña clave senha"
    " wachtwoord parola"
)
NAMED_TO_THE_LETTER = SECRETS | _words(
    "key nickname handle hostname branch variable constant function method command identifier regex pattern column"
    " field attribute enum flag hash uuid id code serial"
)
"""What is named to the letter by the word after "is": my password is Rain!"""

NAMING = _words("is was are called named = ist lautet est es é è")

SWAPPED_BUT_WORDS = _words(
    "causal casual marital martial united untied unites unties silver sliver slivers silvers sacred scared barely"
    " barley singing signing singer signer singers signers signed singed resigned resinged bleated belated carved"
    " craved carving craving carver craver farmed framed farming framing farmer framer farmers framers perfect"
    " prefect perfects prefects perform preform performs preforms performed preformed trials trails trailing trialing"
    " trialed trailed dairies diaries slated salted calming clamming compiler complier nuclear unclear angles angels"
    " saliva salvia martian martina"
)
"""Words that become another word when two neighbouring letters change places: never a typing error."""
