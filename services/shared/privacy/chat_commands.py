"""Commands in natural language: what a text asks of the memory, or that it asks nothing of it.

A command is the whole of a text. One that stands within a longer text, a quotation or a question about commands is
none: a command that is not understood costs the user another sentence, one that was not meant costs a memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from contracts.v1.chat import ChatCommand, ChatVerb
from services.shared.language import wordlists
from services.shared.language.language import language_of
from services.shared.language.text import fold
from services.shared.privacy.command_spelling import respelled
from services.shared.privacy.listed_places import PLACE, PLACES, places_in
from services.shared.privacy.unwanted import wish_alone

_LONGEST = 200  # characters; only a correction may be longer
_MOST_WORDS = 6

_POLITE_BEFORE = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|and|so|now|well|actually|alright|just|kindly|please|p[lsz]{2,3})\b[,!]? *"
    r"|(?:can|could|would) you +|you (?:can|may|should) +|i(?: want|'d like| would like) you to +|let's +"
    r"|make sure (?:to|you) +)",
    re.IGNORECASE,
)
_POLITE_AFTER = re.compile(
    r"(?:[\s,.!?…]*\b(?:please|p[lsz]{2,3}|thanks|thank you|thx|for me|for now|so far|before)\b){0,3}[\s,.!?…]*$",
    re.IGNORECASE,
)
_ASKS_WHETHER = re.compile(r"\b(?:can|could|would) you\b(?!.*\b(?:please|p[lsz]{2,3})\b)", re.IGNORECASE)
_APOSTROPHES = str.maketrans("’‘`´“”„", "''''\"\"\"")

_THAT = "(?:that|this)"
_TOPIC = r"(?P<about>[^\s.,;:!?\"][^,;:!?\"\n]*)"
_MEMORY = "(?:the |your |my )?memory"
_DO_YOU = "(?:do you|have you)(?: still| all)?"
_INCOGNITO = "incognito(?: mode)?"
_HERE = "(?: (?:for|in) this (?:chat|conversation))?"
_REMOVE = "(?:forget|delete|erase|remove|drop|wipe|clear|get rid of)"
_ABOUT = "(?:about|regarding|concerning|relat(?:ed|ing) to|(?:that has |having )?to do with)"
_KNOWN = "you (?:know|remember|(?:have )?(?:remembered|stored|saved|learned)|have)"
_SAID = "(?:said|told you|mentioned)"
_SHOW = "(?:show|list|tell)(?: me)?"
_CONFLICT = "(?:conflicts?|contradicts?)(?: itself)?"
_ALL = "(?:everything|anything|all(?: of it)?)"
_NAME = r"(?-i:[A-ZÀ-ÖØ-Þ])[\w'-]*(?: (?-i:[A-ZÀ-ÖØ-Þ])[\w'-]*){0,2}"
_MINE = r"(?:my|our) [\w'-]+(?: [\w'-]+)?"
_SEVERAL = rf"(?:{_MINE}|{_NAME})(?:(?:, (?:and |or )?| and | or )(?:{_MINE}|{_NAME}|the [\w'-]+))*"
_DATUM = (
    "(?:names?|numbers?|pass(?:word|code|phrase)s?|pin|codes?|address|e-?mail|phone|birthday|anniversary|appointment|"
    "username|login|iban|salary|diagnosis|allergy|medication|nickname|wi-?fi|licen[cs]e plate|reservation|booking)"
)
_SECRET = "(?:(?:api|aws|access|ssh|gpg|licen[cs]e|encryption|secret) (?:keys?|tokens?)|credentials?)"
_WHOSE = rf"(?:of|for|to|at) (?:{_MINE}|{_NAME}|the [\w'-]+)"
_DATA = rf"the (?:(?:[\w'-]+ ){{1,3}}{_DATUM}|{_DATUM} {_WHOSE}|(?:[\w'-]+ )?{_SECRET}(?: {_WHOSE})?)"
_WHEN = (
    "(?:today|yesterday|tonight|last night|this (?:morning|afternoon|evening|week|month|chat|conversation)"
    "|in this (?:chat|conversation)|last (?:week|month))"
)
_CLAUSE = r"[^\s.,;:!?\"](?:[^,;:!?\"\n]|:(?=\d)|,(?= \d)|[!?](?=\w))*"
_NO_SUBJECT = (
    "(?:it|this|that|these|those|there|you|your|yours|what|which|who|when|where|why|how|if|not|never|all|one|some|any"
    r"|(?:every|any|some|no)(?:thing|one|body))\b"
)
_SUBJECT = (
    rf"(?:{_NAME}(?: [\w'-]+){{0,3}}|(?:the|his|her|their)(?: [\w'-]+){{1,4}}|he|she|they"
    rf"|(?!{_NO_SUBJECT})[a-z][\w'-]+(?: [\w'-]+){{0,2}})"
)
_INFO = "(?:all|any)(?: of)?(?: the| your)? (?:info|information|data|details|facts)(?: you have)?"
_HOLDS = "(?:is|are|was|were|has|have|had|lives?|works?|likes?|loves?|hates?|moved|plays?|drives?|studies|owns?)"
_PLACES = rf"(?P<places>{PLACES})"
_ALL_LISTED = (
    "(?P<all>(?:both|these|those|all (?:of )?(?:these|those))(?: memories| entries| ones)?"
    "|all of them|both of them|them(?: all| both)?)"
)
_ASKED = wordlists.pattern("chat_commands", "asked")
_STATED = "(?:like|love|hate|dislike|prefer|enjoy|live in|come from|work (?:at|for|as)|play|drink|eat|speak|own)"

_RULES: tuple[tuple[ChatVerb, tuple[str, ...]], ...] = (
    (
        "recall",
        (
            f"what {_DO_YOU} (?:remember|remembered|recall|know|learned|stored|saved)(?: about me)?",
            "what do you have (?:on|about) me",
            "what (?:else|all) do you (?:remember(?: about me)?|know about me)",
            "(?:what|which) memories do you have(?: (?:of|about) me)?",
            "how many memories (?:do you have|are there|have you (?:got|kept|stored|saved))(?: (?:of|about|on) me)?",
            "how (?:much|many things) (?:do|have) you (?:remember(?:ed)?|know|learned|stored|saved)(?: about me)?",
            f"what(?:'s| is) in {_MEMORY}",
            f"{_SHOW} (?:all )?(?:of )?my memories",
            f"(?:{_SHOW}|can i see) (?:what|everything) you (?:remember|have remembered|know)(?: about me)?",
            f"what(?: all)? {_DO_YOU} (?:remember|remembered|recall|stored|saved) (?:about|regarding|on) {_TOPIC}",
            f"what do you know (?:about|of) (?P<mine>(?:my|our) {_TOPIC})",
            f"what(?: else| all)? do you know about (?P<lone>{_NAME})",
            f"(?:show|tell)(?: me)? (?:what|everything) you know about (?P<lone>{_NAME})",
            f"do you know (?:anything|something) about (?P<lone>{_NAME})",
            f"what (?:did i|have i) (?:say|said|tell you|told you|mention|mentioned) (?:about|regarding) {_TOPIC}",
            f"(?:is there )?anything in {_MEMORY} about {_TOPIC}",
            f"what do you have in {_MEMORY} about {_TOPIC}",
            f"do you have (?P<mine>my {_TOPIC}) in {_MEMORY}",
            f"do you remember (?:anything|something|what i {_SAID}) about {_TOPIC}",
            f"what(?:'s| is) in {_MEMORY} about {_TOPIC}",
            f"(?:which|what) memories do you have (?:about|of) {_TOPIC}",
            f"(?:show|tell)(?: me)? (?:what|everything) you (?:remember|have stored) about {_TOPIC}",
            f"(?:show|tell)(?: me)? (?:what|everything) you know about (?P<mine>(?:my|our) {_TOPIC})",
        ),
    ),
    (
        "erase",
        (
            "(?:forget|erase|delete|wipe) everything",
            f"{_REMOVE} everything from {_MEMORY}",
            f"{_REMOVE} {_ALL}(?: that)? {_KNOWN} (?:about|on|of) me",
            f"forget {_ALL} about me",
            "(?:delete|erase|remove|clear|wipe|forget) all (?:of )?(?:my |your )?memories(?: of me)?",
            "(?:delete|erase|clear|wipe) (?:my|your) (?:whole |entire )?memory(?: of me)?",
            "forget (?:me|all)",
            f"{_REMOVE} (?:{_ALL}|{_INFO}) about me",
        ),
    ),
    (
        "forget",
        (
            f"forget {_THAT}(?: memory| one| last (?:bit|part|one|message))?",
            f"{_REMOVE} (?:{_THAT}|the last) memory",
            f"(?:scrap|discard) {_THAT} memory",
            f"{_REMOVE} {_THAT} from {_MEMORY}",
            f"forget (?:(?:what|that|the last thing) )?i (?:just )?(?:said|told you)(?: {_THAT})?",
            "forget (?:my|the) (?:last|previous) (?:message|sentence)",
            f"{_REMOVE} (?:{_PLACES}|{_ALL_LISTED})",
        ),
    ),
    (
        "forget_about",
        (
            f"forget {_ALL} {_ABOUT} {_TOPIC}",
            f"{_REMOVE} (?:{_ALL}(?: that)?|what(?:ever)?) (?:{_KNOWN}|i (?:have )?{_SAID}) {_ABOUT} {_TOPIC}",
            f"{_REMOVE} (?:{_ALL}(?: that)?|what) you (?:know|remember) (?:of|on) {_TOPIC}",
            f"{_REMOVE} {_ALL} {_ABOUT} (?P<short>{_TOPIC})",
            f"{_REMOVE} (?:(?:every|any|all) mentions? of|{_ALL} (?:that )?mention(?:s|ing)) (?P<mention>{_TOPIC})",
            f"{_REMOVE} {_INFO} {_ABOUT} (?P<mention>{_TOPIC})",
            f"{_REMOVE} {_ALL} on (?P<lone>{_NAME})",
            f"{_REMOVE} (?:all |the |my )*memories (?:about|of) {_TOPIC}",
            f"{_REMOVE} (?:the |my |your )?memory about {_TOPIC}",
            f"{_REMOVE} (?:{_ALL}|what)(?: that)? i {_SAID} (?P<when>{_WHEN})",
            rf"{_REMOVE} \"(?P<quoted>[^\"]+)\"",
            f"forget (?P<datum>{_DATA})",
            f"forget about (?P<several>{_SEVERAL})",
            f"{_REMOVE} (?P<held>the {_TOPIC}) from your memory",
            rf"{_REMOVE} (?P<named>[\w'-]+(?: [\w'-]+){{0,2}}) from (?:your |my )memory",
            rf"forget (?P<lone>{_NAME}(?:(?<='s)(?: [\w-]+){{1,2}})?)",
            f"forget (?P<mine>my {_TOPIC})",
            f"{_REMOVE} (?P<mine>my {_TOPIC}) from {_MEMORY}",
            rf"(?:forget|{_REMOVE} the fact) that (?P<clause>(?:i|i'm|i've|my|we|we're|our)\b {_CLAUSE})",
            rf"forget that (?P<clause>{_SUBJECT} {_HOLDS} {_CLAUSE})",
            rf"forget (?P<asked>{_ASKED} {_CLAUSE})",
            rf"{_REMOVE} (?P<asked>{_ASKED} {_CLAUSE}) from {_MEMORY}",
        ),
    ),
    (
        "unpin",
        (
            f"unpin (?:{_THAT}|it)(?: memory)?",
            f"remove the pin from (?:{_THAT}|it)(?: memory)?",
            f"unpin (?P<places>{PLACE})",
        ),
    ),
    (
        "pin",
        (
            f"pin (?:{_THAT}|it)(?: memory| one)?",
            f"pin (?P<places>{PLACE})",
            "pin what i (?:just )?said",
            rf"pin(?: that|:) (?P<clause>(?:i|i'm|i've|my|we|we're|our)\b {_CLAUSE})",
            f"(?:keep|leave) (?:{_THAT}|it)(?: memory)? (?:pinned|forever)",
            f"always remember {_THAT}",
            f"remember {_THAT} forever",
        ),
    ),
    (
        "memory_off",
        (
            f"(?:(?:turn|switch) {_MEMORY}|memory) off",
            f"(?:turn|switch) off {_MEMORY}",
            f"(?:disable|deactivate|pause|suspend) {_MEMORY}",
            "stop remembering(?: things| anything| what i say)?",
        ),
    ),
    (
        "memory_on",
        (
            f"(?:(?:turn|switch) {_MEMORY}|memory) (?:back )?on(?: again)?",
            f"(?:turn|switch) (?:back )?on {_MEMORY}(?: again)?",
            f"(?:enable|activate|reactivate|resume|unpause) {_MEMORY}(?: again)?",
            "start remembering(?: things)?(?: again)?",
            "remember things again",
        ),
    ),
    (
        "incognito_start",
        (
            f"(?:start|begin|enable|enter|use|go|activate|turn on|switch on|switch to) {_INCOGNITO}{_HERE}",
            f"(?:turn|switch) {_INCOGNITO} on{_HERE}",
            f"{_INCOGNITO} on",
            "start an incognito (?:chat|conversation|session)",
            "make this (?:chat|conversation) incognito",
            f"{_INCOGNITO} for this (?:chat|conversation)",
            f"(?:be|stay) incognito(?: (?:for|in) this (?:chat|conversation))?{_HERE}",
            "private mode(?: on)?",
        ),
    ),
    (
        "incognito_end",
        (
            f"(?:end|stop|leave|exit|quit|disable|deactivate|turn off|switch off) {_INCOGNITO}{_HERE}",
            f"(?:turn|switch) {_INCOGNITO} off{_HERE}",
            f"{_INCOGNITO} off",
        ),
    ),
    (
        "explain",
        (
            f"why (?:do you|would you|did you) (?:think|believe|say) (?:{_THAT}|so)(?: about me)?",
            f"how (?:do|did|come) you know {_THAT}(?: about me)?",
            f"what(?:'s| is) {_THAT} based on",
            f"where(?:'s| is| does) {_THAT}(?: come)? from",
            f"where (?:did you get|do you have|do you know) {_THAT}(?: from)?",
            f"what makes you (?:think|say|believe) (?:{_THAT}|so)",
            f"why (?:do|would|did) you (?:think|believe|say)(?: that)? (?P<fact>i {_STATED} {_TOPIC})",
            f"what makes you (?:think|believe|say)(?: that)? (?P<fact>i {_STATED} {_TOPIC})",
        ),
    ),
    (
        "conflicts",
        (
            f"what {_CONFLICT} in {_MEMORY}",
            f"(?:which|what) (?:of )?(?:my |your )?memories {_CONFLICT}(?: with)?(?: each other)?",
            f"do (?:any(?: of)? )?(?:my |your )?memories {_CONFLICT}(?: with)?(?: each other)?",
            f"(?:are there )?any (?:conflicts|contradictions) in {_MEMORY}",
            f"{_SHOW} (?:the |all |my )?(?:conflicts|contradictions) in {_MEMORY}",
        ),
    ),
    (
        "state",
        (
            "(?:are (?:you|we)|am i) (?:still |now )?(?:incognito|off the record)(?: now)?",
            "is this (?:chat|conversation) (?:still |now )?(?:incognito|off the record)",
            "are you (?:still )?remembering this(?: chat| conversation)?",
        ),
    ),
    (
        "undo",
        (
            "undo that",
            "undo (?:the |that )?(?:forgetting|correction|last memory command)",
            "(?:restore|bring back) (?:that|this|the last|the deleted|the forgotten) memory",
            "bring (?:that|this) memory back",
            "unforget (?:that|this|it)",
        ),
    ),
    ("settle", ("keep (?P<about>the newer|the older|both) (?:memory|memories|statement|statements)",)),
)
_COMPILED = tuple((verb, re.compile(rule, re.IGNORECASE)) for verb, rules in _RULES for rule in rules)

_CORRECTION = re.compile(
    rf"(?:please )?(?:(?P<bare>correct)|correct {_THAT}(?: memory)?(?: to)?|correction)(?: please)? ?:"
    r" *(?P<words>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_KNOWS = re.compile(r"\byou know (?:anything |something )?about\b", re.IGNORECASE)
_FORGETS_THAT = re.compile(r"\bforget that \S+ \S", re.IGNORECASE)
_OWN = re.compile(r"\b(?:i|i'm|i've|i'll|my|mine|me|we|we're|our|us)\b", re.IGNORECASE)

_ENDS = r"(?<!\b[DM]r)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bProf)(?<!\bInc)(?<!\bLtd)[.!?] (?!\d)"
_SENTENCES = re.compile(rf"{_ENDS}\S", re.IGNORECASE)
_NO_TOPIC = re.compile(rf"\b(?:being|that|which|who|he|she|they|and then|so|but|yourself)\b|{_ENDS}", re.IGNORECASE)
_NO_CLAUSE = re.compile(rf"\b(?:and then|so|but)\b|{_ENDS}", re.IGNORECASE)
_AND = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
_ELSEWHERE = re.compile(wordlists.pattern("chat_commands", "elsewhere"), re.IGNORECASE)
_SHOWS_ME = re.compile(rf"{_SHOW}|can i see", re.IGNORECASE)
_OF_USER = re.compile(
    r"\b(?:i|i'm|i've|my|mine|me|we|we're|our|us|memories|(?:in|my|your|the) memory)\b", re.IGNORECASE
)
_FROM_MEMORY = re.compile(rf" from {_MEMORY}$", re.IGNORECASE)
_NO_LONE_NAME = re.compile(
    r"\b(?:me|you|him|her|them|us|this|that|these|those|all|every\w*|any\w*|nothing|what|who|how|where|when|why|if|about"
    r"|your\w*|my\w*|not|never|the)\b",
    re.IGNORECASE,
)
_NO_TOPIC_TO_FORGET = re.compile(r"\b(?:and|or|imagine|again)\b", re.IGNORECASE)
_NO_SHORT_TOPIC = re.compile(r"\b(?:in|on|from|at|of|with|older|the|above)\b", re.IGNORECASE)
_NOT_MINE = re.compile(r"\b(?:head|self|manners|previous|instructions|at)\b", re.IGNORECASE)
_WANTED = re.compile(r"\bi(?: want|'d like| would like| need) you to (?:please )?forget about\b", re.IGNORECASE)
_NO_DATUM = re.compile(rf"\b{wordlists.pattern('chat_commands', 'no datum')}\b", re.IGNORECASE)
_NO_OWN_MATTER = re.compile(rf"\b{wordlists.pattern('chat_commands', 'no own matter')}\b", re.IGNORECASE)
_NO_FACT = re.compile(r"\b(?:him|her|them|it|so|too|always|never|myself|people|being|when|because)\b", re.IGNORECASE)
_IDIOM = re.compile(
    r"(?:i|we)\b (?:(?:asked|ever|even|was here)\b.*"
    r"|(?:said|mentioned|told you)(?: (?:it|that|this|so|anything|something))?)",
    re.IGNORECASE,
)

_WISH = re.compile(
    r"(?:forget(?= (?:that|this|what|who|where|when|how|why|everything|anything|all)\b|(?!.* (?:is|are|was|were)\b))"
    r"|(?:delete|erase|remove|clear|wipe)"
    r"(?=.* (?:memor(?:y|ies)|you (?:remember|know))\b"
    r"| (?:the |this |that )?(?:fact|memory|entry|stuff) (?:about|that)\b))"
    r"(?: (?:[^\s,;:!?—–]|:(?=\d)|,(?= \d))+)+"
    r"|(?:scratch|strike|delete|erase|unremember) "
    r"(?:that|this|it|them(?: (?:all|both))?|both|all of them|my last message)",
    re.IGNORECASE,
)
_YES_FIRST = re.compile(r"^(?:y|yes+|yep|yeah|yup|sure)\b[,.!]* +", re.IGNORECASE)
_INSTRUCTS = re.compile(
    r"(?:(?:forget|ignore|disregard|override)(?:,? (?:and|or) )?)+ (?:about )?"
    r"(?:(?:(?:all|any|every|the|your|my|of|previous|prior|earlier|above|preceding|last|former|system|old) )*"
    r"(?:instructions?|prompts?)|(?:all )?(?:of )?your (?:rules|guidelines|training)"
    r"|(?:everything|all|what)(?: that)? you (?:were|have been|are) (?:told|taught|given))\b",
    re.IGNORECASE,
)
"""Orders to a model, which are no memories whatever follows."""

_OF_SEVERAL = re.compile(
    rf"{_REMOVE}\b(?: [\w'-]+){{0,6}}? about(?: [\w'-]+){{1,4}}? (?:and|or)(?: (?:my|our|the))?(?: [\w'-]+){{1,2}}",
    re.IGNORECASE,
)
"""Wishes about several things."""

_GOES_ON = (
    r"\b(?:and|or) (?:i|we|you|he|she|it|they|then|so|please"
    r"|tell|give|write|help|let|remember|book|buy|call|make|send)\b"
)
_STATES = re.compile(
    rf"{_GOES_ON}"
    r"|\b(?:is|are|was|were|has|have|will|would|can)\b",
    re.IGNORECASE,
)
_NO_ASKED = re.compile(
    rf"{_GOES_ON}|{_NO_CLAUSE.pattern}|{wordlists.pattern('chat_commands', 'of the talk')}", re.IGNORECASE
)
_OTHER_VERB = re.compile(rf"\b{wordlists.pattern('chat_commands', 'verbs of other languages')}\b", re.IGNORECASE)
_TELLS_MORE = re.compile(rf"\b(?:and|but|or|so|because|since|instead)\b|{_ENDS}", re.IGNORECASE)


def command_in(text: str) -> ChatCommand | None:
    """The command that a text is, or None."""
    said = text.translate(_APOSTROPHES).strip()
    if found := _CORRECTION.fullmatch(said):
        return _correction(found["words"], needs_own=bool(found["bare"]))
    if len(said) > _LONGEST or "\n" in said:
        return None
    plain = respelled(said)
    understood = _understood(said) or (_understood(plain) if plain.lower() != said.lower() else None)
    return understood or _not_to_be_kept(said)


def _not_to_be_kept(said: str) -> ChatCommand | None:
    """The command that a wish is that nothing of the conversation be kept, or not what was said before."""
    match wish_alone(said):
        case "chat":
            return ChatCommand(verb="incognito_start")
        case "before":
            return ChatCommand(verb="forget")
    return None


def _understood(said: str) -> ChatCommand | None:
    words = without_manners(said)
    if _WANTED.search(said):
        words = re.sub(r"^forget about (?!my |our )(?=[a-z])", "forget everything about ", words)
    commands = (_command(verb, match) for verb, rule in _COMPILED if (match := rule.fullmatch(words)))
    command = next((command for command in commands if command), None)
    return None if command and _only_wonders(command, said) else command


def is_wish(text: str) -> bool:
    """Whether a text is a command that tells nothing new, as a correction does."""
    found = command_in(text)
    return found is not None and found.verb != "correct"


def states_something(text: str) -> bool:
    """Whether a text tells something that may be remembered: it is no command, or one with a statement in it."""
    return not is_wish(text) or _FORGETS_THAT.search(text) is not None


def asks_in_general(text: str) -> bool:
    """Whether a question is one of general knowledge unless a memory mentions what it names: "what do you know …?"."""
    return _KNOWS.search(respelled(text)) is not None


def asks_to_forget(text: str) -> bool:
    """Whether a text is a wish to have something forgotten, understood or not, and tells nothing beside it."""
    said = text.translate(_APOSTROPHES).strip()
    if len(said) > _LONGEST or "\n" in said:
        return False
    words = _YES_FIRST.sub("", without_manners(respelled(said)))
    if _INSTRUCTS.match(words) or (_OF_SEVERAL.fullmatch(words) and not _STATES.search(words)):
        return True
    return _WISH.fullmatch(words) is not None and not (_TELLS_MORE.search(words) or _is_of_other_language(words))


def _is_of_other_language(words: str) -> bool:
    """Whether a sentence that begins with an English verb is of another language: "Forget Paris war ein Film."."""
    is_other = language_of(re.findall(r"\w+", fold(words))) not in (None, "english")
    return is_other and _OTHER_VERB.search(words) is not None


def without_manners(said: str) -> str:
    """What is said without "please" and the like around it."""
    said = " ".join(said.split())
    while found := _POLITE_BEFORE.match(said):
        said = said[found.end() :]
    return _POLITE_AFTER.sub("", said)


def _correction(words: str, *, needs_own: bool) -> ChatCommand | None:
    """A bare "correct:" also begins an answer to a question; one about the speaker begins a correction."""
    is_statement = len(words.split()) >= 3 and not _SENTENCES.search(words) and not words.endswith("?")
    is_meant = not needs_own or _OWN.search(words)
    return ChatCommand(verb="correct", about=words) if is_statement and is_meant else None


def _only_wonders(command: ChatCommand, said: str) -> bool:
    """Whether "can you forget my name?" asks for an ability: without a "please" nobody can tell."""
    return command.verb in ("erase", "forget_about") and _ASKS_WHETHER.search(said) is not None


def _command(verb: ChatVerb, found: re.Match[str]) -> ChatCommand | None:
    groups = {name: value for name, value in found.groupdict().items() if value}
    if verb == "forget_about":
        groups = {name: _FROM_MEMORY.sub("", value) for name, value in groups.items()}
    if _is_unfit(verb, groups):
        return None
    if "all" in groups or "places" in groups:
        return ChatCommand(verb=verb, of_list=True, places=places_in(groups.get("places", "")))
    if when := groups.get("when"):
        return ChatCommand(verb=verb, about=f"what you said {when}", when=when)
    about = next((groups[name] for name in _WHOLE if name in groups), groups.get("about", ""))
    in_clause = verb == "forget_about" and not _IN_CLAUSE.isdisjoint(groups)
    return ChatCommand(
        verb=verb, about=about, in_clause=in_clause, or_chat=bool(about) and _may_be_chat(verb, groups, found.string)
    )


def _may_be_chat(verb: ChatVerb, groups: Mapping[str, str], words: str) -> bool:
    """Whether it is meant for whoever talks if nothing is found: it is not surely about the user and nothing else."""
    if verb == "recall":
        return not _OF_USER.search(_SHOWS_ME.sub("", words))
    clause = groups.get("clause", "")
    return not _OR_CHAT.isdisjoint(groups) or bool(clause and (_AND.search(clause) or not _OWN.search(clause)))


_WHOLE = ("mine", "asked", "clause", "datum", "several", "held", "quoted", "fact", "lone", "named")
_OR_CHAT = frozenset(("fact", "lone", "mention"))
_IN_CLAUSE = frozenset(("asked", "clause"))


def _is_unfit(verb: ChatVerb, groups: Mapping[str, str]) -> bool:
    """Whether what was found is no topic: an idiom, a matter of the talk itself, or the beginning of something else."""
    topic = groups.get("about", "")
    if asked := groups.get("asked"):
        return not _OWN.search(asked) or _NO_ASKED.search(asked) is not None
    if clause := groups.get("clause"):
        return bool(_NO_CLAUSE.search(clause) or _IDIOM.fullmatch(clause))
    if len(topic.split()) > _MOST_WORDS or topic.casefold() in ("it", "this", "me") or _NO_TOPIC.search(topic):
        return True
    name = groups.get("lone", groups.get("named", ""))
    unfit = (
        verb in ("recall", "forget_about") and _ELSEWHERE.search(topic),
        verb == "forget_about" and _NO_TOPIC_TO_FORGET.search(topic),
        not {"short", "mention"}.isdisjoint(groups) and _NO_SHORT_TOPIC.search(topic),
        bool(name) and (_NO_LONE_NAME.search(name) or _NO_OWN_MATTER.search(name)),
        "mine" in groups and _NOT_MINE.search(topic),
        "datum" in groups and _NO_DATUM.search(groups["datum"]),
        "several" in groups and _NO_OWN_MATTER.search(groups["several"]),
        "fact" in groups and _NO_FACT.search(groups["fact"]),
        "quoted" in groups and len(groups["quoted"].split()) < 2,
    )
    return any(unfit)
