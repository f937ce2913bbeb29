"""Whether a text names a time that only the day on which it is said makes clear: tomorrow, next week, on Monday."""

from __future__ import annotations

import re

from services.shared.core.text import fold


def names_relative_time(text: str) -> bool:
    """Whether a text names a time relative to the day on which it is said.

    "The dentist is tomorrow" said on another day is another statement; "the dentist is on Tuesday, 10 March" and "I
    swim every Monday" are not. Knows English, German, French, Spanish, Italian, Portuguese, Dutch, Chinese and
    Japanese. A word in doubt, as in "Today Show" or "diary of yesterday", counts as relative.
    """
    folded = fold(text)
    if _WORD.search(folded) or _PHRASE.search(folded) or _names_bare_weekday(folded):
        return True
    return bool(_HIER.search(folded) and _FRENCH.search(folded))


def _bounded(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(patterns)})(?!\w)")


_WORD = re.compile(
    _bounded(
        # English
        r"today|tonight|tonite|tomorrow|tommorrow|tomorow|tmrw|tmr|2morrow|yesterday|overmorrow|ago|just now|right now"
        r"|recently|lately|soon|later|the other day",
        # German, and Dutch where it has the same word
        r"heute?|heutige[nrms]?|(?:vor)?gestern|gestrige[nrms]?|(?:ü|ue)bermorgen|morgige[nrms]?|vorhin|soeben"
        r"|k(?:ü|ue)rzlich|neulich|demn(?:ä|ae)chst|bald|vor kurzem|(?<!guten )(?<!jeden )(?<!am )morgen",
        # French
        r"aujourd'hui|avant-hier|(?:apr(?:è|e)s-)?demain|r(?:é|e)cemment|bient(?:ô|o)t|tout (?:à|a) l'heure"
        r"|hier (?:soir|matin|apr(?:è|e)s-midi)",
        # Spanish
        r"hoy|ayer|anteayer|antier|anoche|anteanoche|recientemente|hace poco|(?<!la )ma(?:ñ|n)ana",
        # Italian
        r"oggi|ieri|l'altro ieri|avantieri|domani|dopodomani|stasera|stamattina|stamani|stamane|stanotte|poco fa",
        # Portuguese
        r"hoje|(?:ante)?ontem|amanh(?:ã|a)|recentemente|em breve|h(?:á|a) pouco",
        # Dutch
        r"vandaag|(?:eer)?gisteren|overmorgen|van(?:avond|ochtend|morgen|middag|nacht)|gister(?:en)?avond|straks"
        r"|geleden|onlangs|binnenkort",
    ).pattern
    # Chinese and Japanese
    + r"|[今明昨][天日晚夜晩早朝]|[后後前]天|一昨日|明後日|[今去明来來昨]年"
    r"|[今来來先上下这這本][个個]?(?:周|週|星期|礼拜|禮拜|月|季度)|[天日周週月年期分時时][间間钟鐘]?[前后後]|[かヶヵ]月[前後]"
    r"|きょう|あした|きのう|おととい|あさって|けさ|さっき"
)

_NUMBER = (
    r"(?:[0-9][0-9.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty"
    r"|sixty|ninety|few|couple|several|half an?"
    r"|ein(?:e[nrms]?)?|zwei|drei|vier|f(?:ü|ue)nf|sechs|sieben|acht|neun|zehn|elf|zw(?:ö|oe)lf|paar|wenigen?|einigen?"
    r"|mehreren?|une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|quinze|quelques|un[ao]s?|dos|tres|cuatro|cinco|seis|siete"
    r"|ocho|nueve|diez|poc[oa]s|algun[oa]s|un|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|qualche|poch[ie]|uma?|dois"
    r"|duas|tr(?:ê|e)s|quatro|sete|oito|dez|algumas|alguns|een|twee|drie|vijf|zes|zeven|negen|tien|enkele)"
)
_EN_DAY = "(?:mon|tues?|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?"
_DE_DAY = "(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend"
_FR_DAY = "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
_ES_DAY = "lunes|martes|mi(?:é|e)rcoles|jueves|viernes|s(?:á|a)bado|domingo"
_IT_DAY = "luned(?:ì|i)|marted(?:ì|i)|mercoled(?:ì|i)|gioved(?:ì|i)|venerd(?:ì|i)|sabato|domenica"
_PT_DAY = "(?:segunda|ter(?:ç|c)a|quarta|quinta|sexta)-feira|s(?:á|a)bado|domingo"
_NL_DAY = "(?:maan|dins|woens|donder|vrij|zater|zon)dag"

_MONTH = (
    r"(?:jan|gen|ene|feb|fev|fév|mar|mär|mae|mrt|apr|avr|abr|mai|may|maj|mag|mei|maio|jun|jui|giu|jul|lug|aug|août|aout"
    r"|ago|sep|set|oct|okt|ott|out|nov|dec|dez|déc|dic)[^\W\d]*"
)
_EN_UNIT = (
    "(?:second|sec|minute|min|hour|hr|day|night|week|weekend|fortnight|month|quarter|semester|term|year|yr|decade"
    "|century)s?"
)
_EN_SPAN = (
    rf"{_EN_UNIT}|{_EN_DAY}|{_MONTH}|morning|afternoon|evening|noon|lunchtime|spring|summer|autumn|fall|winter|season"
    r"|christmas|easter|time|few|couple|(?:one|two|three|four|five|six|seven|ten|[0-9]+)"
)
_DE_UNIT = (
    "(?:sekunde|minute|stunde|tag|nacht|n(?:ä|ae)cht|woche|wochenende|monat|jahr|quartal|semester|sommer|winter"
    "|fr(?:ü|ue)hling|herbst|mal)(?:e|en|n|s|es|ern)?"
)
_FR_UNIT = (
    "(?:seconde|minute|heure|jour|nuit|semaine|week-end|weekend|mois|an|ann(?:é|e)e|trimestre|(?:é|e)t(?:é|e)|hiver"
    "|printemps|automne)s?"
)
_ES_UNIT = (
    "(?:segundo|minuto|hora|d(?:í|i)a|noche|semana|fin de semana|m(?:e|é)s(?:es)?|a(?:ñ|n)o|trimestre|verano|invierno"
    "|oto(?:ñ|n)o|primavera)s?"
)
_IT_UNIT = (
    "(?:second[oi]|minut[oi]|or[ae]|giorn[oi]|nott[ei]|settiman[ae]|fine settimana|weekend|mes[ei]|ann[oi]|trimestr[ei]"
    "|estate|inverno|autunno|primavera)"
)
_PT_UNIT = (
    "(?:segundo|minuto|hora|dia|noite|semana|fim de semana|m(?:ê|e)s(?:es)?|ano|trimestre|ver(?:ã|a)o|inverno|outono"
    "|primavera)s?"
)
_NL_UNIT = (
    "(?:seconde|minuut|minuten|uur|uren|dag|dagen|nacht|nachten|week|weken|weekend|maand|maanden|jaar|jaren|kwartaal"
    "|zomer|winter|lente|herfst)"
)

_PHRASE = _bounded(
    # this morning, next week, the last three days, last Monday
    rf"(?:this|next|last|coming|upcoming|past|previous) (?:{_EN_SPAN})",
    # in two days, within the next hour, a week from now
    rf"(?:in|within) (?:about |around |exactly |just |the next |a )?{_NUMBER}(?: of| more)?[ -]{_EN_UNIT}",
    rf"(?:{_EN_UNIT}) (?:from now|from today|back)|(?:at|on|over|by|until|for) the weekend|from now on",
    rf"(?:n(?:ä|ae)chste|letzte|diese|kommende|vergangene|vorige)[nrms]? (?:{_NUMBER} )?"
    rf"(?:{_DE_UNIT}|{_DE_DAY}|{_MONTH}|morgen|abend|(?:nach|vor)mittag|weihnachten|ostern)",
    rf"(?:in|vor) (?:\w+\.? )?(?:{_NUMBER} |halben ){_DE_UNIT}|am wochenende",
    r"(?:dies|dieses|letztes|n(?:ä|ae)chstes) jahr",
    rf"(?:{_FR_UNIT}|{_FR_DAY}) (?:prochaine?|derni(?:è|e)re?|pass(?:é|e)e?|qui vient)s?",
    rf"(?:prochaine?|derni(?:è|e)re?)s? {_FR_UNIT}",
    rf"(?:cette|cet|ce) (?:{_FR_UNIT}|matin(?:é|e)e|matin|apr(?:è|e)s-midi|soir(?:é|e)e|soir)",
    rf"(?:il y a|dans|d'ici) (?:environ )?{_NUMBER} {_FR_UNIT}",
    rf"(?:est[ae]|pr(?:ó|o)xim[oa]|pasad[oa]|(?:ú|u)ltim[oa])s? (?:{_ES_UNIT}|{_ES_DAY}|tarde|ma(?:ñ|n)ana)",
    rf"(?:{_ES_UNIT}|{_ES_DAY}) (?:que viene|que entra|pasad[oa]|pr(?:ó|o)xim[oa])s?",
    rf"(?:hace|dentro de|en) (?:un[oa]s )?{_NUMBER} {_ES_UNIT}",
    rf"(?:quest[oa] |quest'|prossim[oa] |scors[oa] )(?:{_IT_UNIT}|{_IT_DAY}|mattina|pomeriggio|sera)",
    rf"(?:{_IT_UNIT}|{_IT_DAY}) (?:prossim[oa]|scors[oa]|passat[oa])",
    rf"(?:fra|tra) (?:circa )?(?:{_NUMBER} |un')?{_IT_UNIT}|{_NUMBER} {_IT_UNIT} fa|un'ora fa",
    rf"(?:[nd]?est[ae]|pr(?:ó|o)xim[oa]|passad[oa]|(?:ú|u)ltim[oa])s? (?:{_PT_UNIT}|{_PT_DAY}|manh(?:ã|a)|tarde)",
    rf"(?:{_PT_UNIT}|{_PT_DAY}) (?:que vem|passad[oa]|pr(?:ó|o)xim[oa])s?",
    rf"(?:h(?:á|a)|daqui a|dentro de|em) {_NUMBER} {_PT_UNIT}",
    rf"(?:volgend|vorig|afgelopen|komend|dez|laatst)e? (?:{_NL_UNIT}|{_NL_DAY}|{_MONTH}|ochtend|middag|avond)",
    rf"dit (?:{_NL_UNIT})|over (?:ongeveer )?{_NUMBER} {_NL_UNIT}|in het weekend|het weekend",
)

_HIER = _bounded("hier")
_FRENCH = _bounded("j'|je|nous|vous|ils?|elles?|mon|ma|mes|suis|(?:é|e)tait")
"""Words of a text in which "hier" is yesterday, and not here as in German and Dutch."""

_WEEKDAY = re.compile(
    rf"(?<![\w-])(?:{_EN_DAY}|(?:{_DE_DAY})(?:morgen|abend|(?:nach|vor)mittag|mittag|nacht|früh)?|{_FR_DAY}|{_ES_DAY}"
    rf"|{_IT_DAY}|{_PT_DAY}|{_NL_DAY}(?:avond|ochtend|morgen|middag)?)(?![\w-])"
    r"|(?<![每毎])(?:星期|周|週|礼拜|禮拜)[一二三四五六日天]|(?<![毎週])[月火水木金土日]曜"
)
_SHORT = frozenset("mon tue tues wed thu thur thurs fri sat sun".split())
_BEFORE_SHORT = re.compile(r"(?:on|by|until|till|for|from|and|or|to|,|;) ?$")
_EVERY = re.compile(
    r"(?<!\w)(?:every|each|any|all|alternate|jede[nrms]?|chaque|le|les|cada|los|todos os|ogni|il|la|tutt[ie] [il]e?"
    r"|elke?|iedere?)(?: (?:second|other|single|zweiten?|andere|deux|tweede))?[ ]$"
)
_AND = re.compile(r"(?:,|and|or|&|und|oder|et|ou|y|o|e|en|of)[ ]*$")
_DATE = re.compile(
    r"[ ,.(]*(?:the |den |dem |le |el |il |o |de )?"
    rf"(?:[0-9]{{1,2}}(?:st|nd|rd|th)?[ ./-]+(?:of |de )?(?:{_MONTH}|[0-9])|{_MONTH}\.? [0-9]|[0-9]{{4}}-[0-9])"
)


def _names_bare_weekday(folded: str) -> bool:
    """Whether a weekday stands alone: neither every such day nor one with its date."""
    every = False
    for found in _WEEKDAY.finditer(folded):
        before, after = folded[max(0, found.start() - 24) : found.start()], folded[found.end() : found.end() + 24]
        if found[0] in _SHORT and not _BEFORE_SHORT.search(before):
            continue  # the sun, he sat, newly wed
        every = bool(_EVERY.search(before)) or (every and bool(_AND.search(before)))
        if not every and not _DATE.match(after):
            return True
    return False
