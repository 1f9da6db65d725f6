"""What is noticed by its form: marks around texts, turns of a conversation, replies, hidden markup.

Every quantifier is bounded, or matches characters that end at the next start: a text of the longest
size is searched in linear time. Each pattern has pieces of text of which one must be there for it
to match: they are found much faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from pydantic import BaseModel

from ...yaml_files import STRICT, read_document
from .phrases import Found
from .views import folded

INVISIBLE: Final = re.compile(
    "[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]+"
    # One chooses the shape of the character before it; a run of them carries hidden bytes.
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{3,}"
)
BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]+")
TAGS: Final = re.compile("[\U000e0000-\U000e007f]+")
CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")

_LOOKALIKE: Final = re.compile(
    # Cyrillic and Greek letters that look Latin, inside a word that has Latin ones; and runs of
    # letters in full width, in the mathematical alphabets, in circles and squares, or of small
    # capitals, which are Latin ones in other clothes.
    "[A-Za-z][аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅοА-ЯΑΒΕΗΙΚΜΝΟΡΤΧ]"
    "|[аеорсухіјѕԁһӏԛԝАВЕКМНОРСТХІЈЅοΑΒΕΗΙΚΜΝΟΡΤΧ][A-Za-z]"
    "|[\uff21-\uff3a\uff41-\uff5a](?:[\uff21-\uff3a\uff41-\uff5a\u3000 ]){11}"
    "|[\U0001d400-\U0001d7ff]{4}"
    "|(?:[\u24b6-\u24e9\u249c-\u24b5\U0001f130-\U0001f189\U0001f1e6-\U0001f1ff] ?){6}"
    "|[ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ]{4}"
)
_CAPITALS: Final = re.compile(
    # A heading of two or more words in capitals, in brackets or between rules, as of a system; not
    # a place to fill in.
    r"[\[=-](?:(?<=\[)(?!YOUR|INSERT|ADD|FILL|NAME|DATE|CITATION|LINK|PLACEHOLDER)"
    r"[A-Z][A-Z0-9]{1,20}(?:[ _/&:.\-]{1,3}[A-Z0-9]{1,20}){1,8}(?: ?[\]:(-]|\n)"
    r"|[=-]{2,12} ?[A-Z]{2,20}(?:[ _-][A-Z0-9.]{2,20}){1,6} ?(?:={3}|-{3}))"
)
CHARACTERS: Final = (
    ("control_characters", CONTROLS),
    ("role_tokens", _CAPITALS),
    ("invisible_characters", INVISIBLE),
    ("bidi_controls", BIDI),
    ("tag_characters", TAGS),
    ("lookalike_letters", _LOOKALIKE),
)
"""Patterns of characters, for the text as it came; in ASCII there are only the first two."""

_JUDGED: Final = (
    r"(?:prompt|response|answer|essay|submission|material|text|input|document|panel|conversation"
    r"|instructions?|context|candidate|assignment|evaluation|assessment|grading|scoring|judging"
    r"|screening|session|rubric|assistant(?:'s)?\s{1,3}[ab12]?(?:'s)?\s{0,3}answer)"
)
_EDGE: Final = r"(?:end|begin|start)"

# Who judges or runs the judging, and what is sent to them. In brackets any of the two make a
# notice; at the beginning of a line, which may head an essay, only those that no essay is about.
_JUDGING: Final = (
    r"(?:evaluat(?:ion|ors?|ing)|assess(?:ments?|ors?|ing)|scor(?:ing|ers?)|grad(?:ing|ers?)"
    r"|rat(?:ing|ers?)|judg(?:es?|ing|e?ment)|review(?:ers?|ing)|rank(?:ing|ers?)|rubric"
    r"|screen(?:ing|ers?)|calibration|recruit(?:ers?|ing|ment)|hiring|examiners?|admin|moderator)"
)
_RUNNING: Final = (
    rf"(?:{_JUDGING}|system|administrator|developer|operator|ai|llm|model|prompt|control|internal"
    r"|hidden|review|applicant tracking|candidate|submission|feedback|workflow|panel|committee"
    r"|team)"
)
_NOTICE: Final = (
    r"(?:notes?|notices?|directives?|overrides?|instructions?|memos?|messages?|bulletins?"
    r"|reminders?|updates?|alerts?|guidance|addendum)"
)
_ORDER: Final = (
    rf"(?:{_NOTICE}|protocols?|guidelines?|configuration|parameters|calibration|signals?|mandates?"
    r"|metadata|modes?|polic(?:y|ies)|commands?|orders?|context|criteria|rubric|scoring)"
)
_WORDS: Final = r"[\s_:,\-]{1,3}(?:[a-z]{1,16}[\s_:,\-]{1,3}){0,3}"
_OPENS: Final = "[\\[{<\u3010\u300c\u300e\u00ab\u27e6]|={2}|-{3}|\\*{3}|~{3}"
_PIECES_OF_NOTICE: Final = (
    "note", "notic", "directive", "overrid", "instruct", "memo", "message", "bulletin", "remind",
    "update", "alert", "guid", "addendum",
)  # fmt: skip
_PIECES_OF_JUDGING: Final = (
    "evaluat", "assess", "scor", "grad", "rat", "judg", "review", "rank", "rubric", "screen",
    "calibrat", "recruit", "hiring", "examiner", "admin", "moderator",
)  # fmt: skip
_PIECES_OF_MACHINES: Final = (
    "ai judg", "ai grad", "ai review", "ai eval", "ai rater", "ai scor", "ai assess", "ai screen",
    "ai exam", "ai recruit", "ai-", "llm", "gpt", "automat", "machine ", " bot", " agent",
    " assistant", " ai,", " ai:",
)  # fmt: skip
# The same in other languages, as far as their accents and look-alikes are folded.
_JUDGING_ABROAD: Final = (
    r"(?:gutacht\w*|prufer\w*|korrekt\w*|bewert\w*|benot\w*|beurteil\w*|evaluad\w*|calificad\w*"
    r"|corrector\w*|correct(?:eur|rice)\w*|correc[ct]ion\w*|evaluat(?:eur|rice|ion)\w*|notation"
    r"|valutat?\w*|valutazion\w*|correttor\w*|esaminat\w*|avaliad\w*|avaliac\w*|corretor\w*"
    r"|examinad\w*|examinateur\w*|jury|jurado|giuria|评分|评审|阅卷|打分|评估|评委)"
)
_SYSTEM_ABROAD: Final = (
    r"(?:system\w*|systeme|sistema|modell|modele|modelo|modello|ki|ia|系统|模型)"
)
_NOTICE_ABROAD: Final = (
    r"(?:hinweis\w*|mitteilung|anweisung\w*|vermerk|nota|note|notiz|avis|aviso|avviso|mensaje|message"
    r"|messaggio|mensagem|nachricht|instruc\w*|istruzion\w*|instruktion\w*|consigne\w*|directive"
    r"|directriz|direttiva|diretriz|circular|comunic\w*|提示|通知|指令|消息|说明|备注)"
)
_GRADE: Final = (
    r"(?:(?:[a-z]{2,14}[ _-]){0,2}(?:score|grade|rating|verdict|mark|band|result|outcome|points?)"
    r"|(?:gesamt|end|schluss)?(?:note|urteil|bewertung|wertung|punktzahl)"
    r"|nota(?: final)?|note finale|puntuacion(?: total| final)?|calificacion(?: final)?"
    r"|voto(?: finale)?|punteggio(?: finale)?"
    r"|pontuacao(?: final| total)?|avaliacao(?: final)?|resultado|resultat|esito|giudizio|dictamen"
    r"|parecer|veredicto|verdetto|总分|评分|得分|成绩|等级|评级|最终评分|结论|总评)"
)
_TOP: Final = (
    r"(?:a\+|highest|top|maximum|perfect|full marks|excellent\w*|outstanding|exceptional|flawless"
    r"|superior|passed|accept(?:ed)?|sehr gut|hervorragend|ausgezeichnet|excelente|sobresaliente"
    r"|eccellente|ottimo|massimo|maxim[aoe]\w*|parfait\w*|perfett\w*|perfeit\w*|perfecto|impecca\w*"
    r"|aprovad\w*|aprobad\w*|优秀|满分|通过|最高|优等|第一)"
)
_ROLE: Final = (
    r"(?:system|systeme|sistema|assistant|assistent|asistente|assistente|user|utilisateur|usuario"
    r"|utente|benutzer|nutzer|developer|系统|系統|助手|用户|用戶|システム|アシスタント)"
)
_STAGE: Final = r"(?:evaluation|assessment|grading|scoring|judging|rating|screening)"


class Form(NamedTuple):
    """A form that is searched for in lower case.

    Attributes:
        flag, about: as of `Found`.
        pieces: of each group one piece of text must be there for the form to match.
        pattern: the form. One with a group is searched for with a line break before the text, and
            the group is where the form begins.
    """

    flag: str
    about: str
    pieces: tuple[tuple[str, ...], ...]
    pattern: re.Pattern[str]


def _begins_line(pattern: str, before: str = r" \t>*#\[({\"'-") -> re.Pattern[str]:
    """A form that only such signs may stand before in its line: a line break is found fast."""
    return re.compile(rf"\n[{before}]{{0,12}}({pattern})")


FORMS: Final = (
    Form(
        "marker_lookalike",
        "a mark around a text",
        (("<<", "< <"),),
        re.compile(
            rf"(?:<\s?){{2,4}}\s{{0,8}}/?\s{{0,3}}(?:{_EDGE}\s{{1,8}}(?:of\s{{1,8}})?)?"
            rf"{_JUDGED}\b[^>\n]{{0,80}}>{{0,4}}"
        ),
    ),
    Form(
        "marker_lookalike",
        "words of the marks around a text",
        (("marker of this", "the marked "),),
        re.compile(
            r"\bmarker of this message\b[^\n]{0,80}"
            r"|\bthe marked (?:material|text) ends\b[^\n]{0,80}"
        ),
    ),
    Form(
        "marker_lookalike",
        "a ruled end or beginning of a text",
        (("---", "===", "***", "###", "___", "~~~", ">>>", "- -"), ("end", "begin", "start")),
        re.compile(
            rf"(?:[-=*#_~>]\s?){{3}}[-=*#_~>\s]{{0,40}}{_EDGE}\s{{1,3}}(?:of\s{{1,3}})?"
            rf"(?:the\s{{1,3}})?(?:[a-z]{{1,20}}\s{{1,3}})?{_JUDGED}\b[^\n\w]{{0,60}}"
        ),
    ),
    Form(
        "marker_lookalike",
        "an end or beginning of a text in brackets",
        (("[", "{"), ("end", "begin", "start")),
        re.compile(
            rf"[\[{{]\s{{0,3}}/?(?:the[\s_])?{_EDGE}[\s_]{{1,3}}(?:of[\s_]{{1,3}})?(?:the[\s_]{{1,3}})?"
            rf"(?:[a-z]{{1,20}}[\s_]{{1,3}})?{_JUDGED}(?:\s[a-c\d]{{1,2}})?\s{{0,3}}[\]}}]"
        ),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("system", "assistant"), (":",)),
        _begins_line(
            r"(?:system|assistant)\]?(?: (?:message|prompt|turn|note|override|notice|update))?"
            r"[ \t*]{0,4}:",
            before=r" \t>*#\[",
        ),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("#",), ("instruction", "response", "input", "user", "human"), (":",)),
        _begins_line(
            r"#{1,4} ?(?:instructions?|response|input|user|human)[ \t]{0,4}:", before=r" \t"
        ),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("\nhuman:", "\nhuman :"),),
        re.compile(r"\n[ \t]{0,8}\nhuman ?:"),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("gpt4 correct ",),),
        re.compile(r"gpt4 correct (?:user|assistant):"),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        ((":", "\n"), ("s", "t", "系", "助", "用", "シ", "ア")),
        _begins_line(
            rf"[#\[{{(<*]{{1,4}}\s?{_ROLE}\s?(?:[\]}})>*]{{1,4}}|:|\n)"
            r"|(?:systeme|sistema|asistente|assistente|assistent)[ \t*]{0,4}:"
            r"|[\"']role[\"']\s?:\s?[\"'](?:system|user|assistant|developer)",
            before=r" \t",
        ),
    ),
    Form(
        "role_tokens",
        "the beginning of a turn",
        (("\u3010",),),
        re.compile(rf"\u3010\s?{_ROLE}\s?\u3011"),
    ),
    Form(
        "addresses_judge",
        "a notice to the judge in brackets",
        (("[", "{", "\u3010", "\u300c", "\u300e", "\u00ab", "\u27e6", "<", "("),),
        re.compile(
            rf"[\[{{<(\u3010\u300c\u300e\u00ab\u27e6]\s?(?:[^\s\]:]{{1,16}}\s){{0,2}}(?:"
            rf"{_NOTICE_ABROAD}\W(?:[^\s\]:]{{1,16}}\s){{0,4}}(?:{_JUDGING_ABROAD}|{_SYSTEM_ABROAD}\b)"
            rf"|(?:{_JUDGING_ABROAD}|{_SYSTEM_ABROAD})\W?{_NOTICE_ABROAD})"
        ),
    ),
    Form(
        "addresses_judge",
        "a hidden note about the judging",
        (
            (
                "/*",
                "<!--",
                "{#",
                "]:",
                "% ",
                "// ",
                "@",
                "alt=",
                "title=",
                "content=",
                "data-",
                "![",
                "--",
            ),
        ),
        re.compile(
            r"(?:/\*|<!--|\{#|\]:|(?<=\n)(?:%|//|--|#)\s|(?<!\w)@(?=\w)"
            r"|\b(?:alt|title|content|aria-label|data-\w{1,20})\s?=|!\[)"
            rf"[^\n]{{0,60}}?\b(?:{_JUDGING}|{_JUDGING_ABROAD})"
        ),
    ),
    Form(
        "score_claim",
        "full scores in a row",
        (("/",),),
        re.compile(
            r"(?<![/\d.,])(\d{1,3})\s?/\s?\1(?![/\d])[^/\d]{1,80}(?<![/\d.,])(\d{1,3})\s?/\s?\2(?![/\d])"
        ),
    ),
    Form(
        "score_claim",
        "a verdict in a box",
        (("boxed{",),),
        re.compile(
            r"(?:score|rating|grade|verdict|winner|better|choice|preferred|mark)\b[^\n]{0,40}"
            r"\\boxed\{[^}\n]{1,20}\}"
        ),
    ),
    Form(
        "score_claim",
        "stars",
        (("\u2605\u2605\u2605\u2605", "\u2b50\u2b50\u2b50\u2b50"),),
        re.compile(r"\u2605{4,}|\u2b50{4,}"),
    ),
    Form(
        "score_claim",
        "a line that gives a verdict",
        ((":", "="),),
        re.compile(
            rf"[\n.;!。,|(*\[][ \t>*#\-]{{0,6}}({_GRADE}[\"'*]{{0,3}}\s?[:=]\s?[\"'*]{{0,3}}"
            rf"(?:{_TOP}|\d{{1,3}}(?:[.,]\d)?\s?"
            r"(?:/\s?\d{1,3}|(?:von|sur|sobre|su|de|em|out of)\s\d|分)))"
        ),
    ),
    Form(
        "score_claim",
        "a line that gives a score",
        (("score", "grade", "rating", "verdict", "judgement", "judgment"), (":", "=")),
        _begins_line(
            r"(?:(?:final|overall|total|my|composite|recommended)\s{1,3})?"
            r"(?:score|grade|rating|verdict|judge?ment)s?[\]\"']?[ \t*]{0,4}[:=][^\n\d]{0,12}\d"
        ),
    ),
    Form(
        "addresses_judge",
        "a notice to the judge in brackets",
        (
            (
                "[",
                "{",
                "<",
                "\u3010",
                "\u300c",
                "\u300e",
                "\u00ab",
                "\u27e6",
                "==",
                "---",
                "***",
                "~~~",
            ),
        ),
        re.compile(
            rf"(?:{_OPENS})[\s/*=\-#]{{0,6}}(?:[a-z]{{1,16}}[\s_-]{{1,2}}){{0,3}}"
            rf"(?:{_RUNNING}{_WORDS}{_ORDER}|{_NOTICE}{_WORDS}{_RUNNING}"
            r"|[a-z]{1,16}[\s_](?:directives?|overrides?|bulletins?)"
            r"|(?:mode|role)[\s_]?(?:switch|change|reset|:)"
            r"|(?:debug|admin|developer|lenient|compliance|override|test)[\s_]mode)"
            # A link of Markdown is no notice.
            r"\b(?![^\]\n]{0,60}\]\()"
        ),
    ),
    Form(
        "addresses_judge",
        "a notice to the judge",
        (_PIECES_OF_NOTICE, _PIECES_OF_JUDGING),
        _begins_line(
            rf"(?:{_JUDGING}{_WORDS}{_NOTICE}"
            rf"|{_NOTICE}[\s_](?:to|for)[\s_](?:[a-z]{{1,12}}[\s_]){{0,3}}{_JUDGING})"
            r"\b[^\n.:]{0,30}(?:[:\u2014\u2013]|[ \t*]{0,4}\n)"
        ),
    ),
    Form(
        "addresses_judge",
        "talks to a machine that judges",
        (_PIECES_OF_MACHINES, _PIECES_OF_JUDGING),
        re.compile(
            r"\b(?:(?:ai|llm|gpt|automat(?:ed|ic)|machine)[\s-]"
            r"(?:judg(?:es?|ing)|graders?|grading|reviewers?|evaluators?|raters?|scorers?|assessors?"
            r"|screeners?|examiners?|recruiters?)"
            rf"|{_JUDGING}\s(?:assistant|bot|agent|ai|llm))s?\s?[,:!\u2014\u2013]"
        ),
    ),
    Form(
        "addresses_judge",
        "says that the judging is over",
        (
            (
                "evaluation",
                "assessment",
                "grading",
                "scoring",
                "judging",
                "rating",
                "screening",
                "session",
            ),
            ("complete", "conclud", "finish", "end", "over", "closed", "terminat"),
        ),
        re.compile(
            r"[.!?\n\[({*#=:\-]\s{0,3}((?:"
            rf"end of (?:the |this |your )?{_STAGE}(?: session| phase)?"
            rf"|(?:session|(?:the )?(?:evaluation|grading|scoring|judging)|{_STAGE}"
            rf"|(?:the |this |your )?{_STAGE} (?:session|phase|task|round|process))"
            r" (?:is |has been |has |now )?(?:now )?"
            r"(?:completed?|concluded|finished|ended|over|closed|terminated)))"
            r"\s?(?:[.!:;\])}*=#\n\u2014\u2013-]|,? (?:for|so|and)\b|$)"
        ),
    ),
    Form(
        "addresses_judge",
        "sets how to judge",
        (("evaluation", "assessment", "grading", "scoring", "judging", "screening", "review"),),
        _begins_line(
            r"(?:evaluation|assessment|grading|scoring|judging|screening|review)[ _]"
            r"(?:mode|stance|posture|tone|setting|baseline|threshold|floor|override)\s{0,3}[:=]"
        ),
    ),
    Form(
        "score_claim",
        "a verdict in double brackets",
        (("[[",),),
        re.compile(r"\[\[\s?(?:\d{1,3}(?:\.\d)?|[abc]|[ab]\s?[<>=]{1,2}\s?[ab]|tie|yes|no)\s?\]\]"),
    ),
    Form(
        "score_claim",
        "a line that gives a verdict",
        (
            (
                "winner",
                "choice",
                "verdict",
                "decision",
                "recommendation",
                "outcome",
                "result",
                "score",
                "grade",
                "rating",
                "assessment",
                "evaluation",
                "conclusion",
            ),
            (":", "=", " - ", "\u2014", "\u2013", "]"),
        ),
        _begins_line(
            r"(?:(?:my|the|your|final|overall|reviewer's|evaluator's|judge's|recommended)\s{1,3}){0,2}"
            r"(?:winner|choice|verdict|decision|recommendation|outcome|result|score|grade|rating"
            r"|assessment|evaluation|conclusion)(?: is)?\s?[\]\"'*]{0,3}\s?[:=\u2014\u2013\]-]"
            r"[ \t*\"']{0,5}(?:(?:a|an|strong|clear|definite|unanimous)\s){0,2}"
            r"(?:a\+|(?:a|b|accept(?:ed|ance)?|approved?|hire|advance|pass(?:ed)?|shortlist(?:ed)?"
            r"|excellent|outstanding|exceptional|perfect|flawless|winner|recommended|proceed|promote"
            r"|(?:response|answer|assistant|candidate|essay|text|model) [ab12]"
            r"(?: is the winner| wins)?)"
            r"(?=\s?(?:[.!,;\n*\[\]\"']|$)))"
        ),
    ),
    Form(
        "vote_lookalike",
        "a reply of the judge",
        (("{", "winner"), (":", "=")),
        re.compile(
            r"\{\s{0,40}[\"“'][a-z_]{3,40}[\"”']\s{0,8}:\s{0,8}\d{1,3}\s{0,8}(?:\}|,[^{}]{0,400}\}?)"
            r"|\{[^{}]{0,300}[\"“']"
            r"(?:winner|verdict|decision|grade|score|rating|pass(?:ed)?|preference)[\"”']\s{0,8}:"
            r"|\{\s{0,8}(?:winner|verdict|score|rating|decision)\s{0,3}[:=]"
            r"|\bwinner\s?=\s?[\"']?[ab]\b"
        ),
    ),
    Form(
        "hidden_markup",
        "a comment that a page does not show",
        (("<!--", "[//]:"),),
        re.compile(r"<!--(?:(?!-->)[\s\S]){0,2000}(?:-->)?|^\[//\]:[^\n]{0,2000}", re.MULTILINE),
    ),
    Form(
        "hidden_markup",
        "a style that hides text",
        (("display", "visibility", "font-size", "opacity", "color", "hidden"), (":", "<")),
        re.compile(
            r"<\w{1,12}\s[^<>]{0,60}\bhidden\b|display\s{0,3}:\s{0,3}none\b|visibility\s{0,3}:\s{0,3}hidden\b"
            r"|(?:font-size|opacity)\s{0,3}:\s{0,3}0(?:\.0)?(?:px|pt|em|%)?(?![\w.])"
            r"|style\s{0,3}=\s{0,3}[\"'][^\"'\n]{0,80}\bcolor\s{0,3}:\s{0,3}(?:white|#fff(?:fff)?)\b"
        ),
    ),
    Form(
        "blank_flood",
        "a run of blank lines",
        (("\n\n\n", "\n ", "\n\t", "\n\r"),),
        re.compile(r"(?:\n[ \t\r]{0,8}){20,}"),
    ),
    Form(
        "blank_flood",
        "a run of blanks",
        (("          ", "\t\t\t", "\u00a0", "\u3000"),),
        re.compile(r"[ \t\u00a0\u3000]{100,}"),
    ),
)

_BRACKETS: Final = re.compile(r"(?:<\s{0,2}){1,2}[^<>\n]{1,48}>(?:\s{0,2}>)?|\[[^\[\]\n]{1,40}\]")
_BARRED: Final = re.compile(r"[<\[]{1,2}\s{0,3}/?\s{0,3}\|[^|]{2,40}\|\s{0,3}[>\]]{1,2}")
_LOOSE: Final = re.compile(r"[\s_\-]")


class ChatTokens(BaseModel):
    """The file of the chat tokens."""

    model_config = STRICT

    id: str
    families: Mapping[str, tuple[str, ...]]


@cache
def chat_tokens() -> Mapping[str, str]:
    """Token to family; the token without case, blanks, underscores and hyphens."""
    path = resources.files("areopagus.graphs.detectors") / "chat_tokens.yaml"
    families = read_document(path, ChatTokens, kind="chat tokens").families
    return {
        _LOOSE.sub("", folded(token)): family
        for family, tokens in families.items()
        for token in tokens
    }


@cache
def _bare_tokens() -> tuple[str, ...]:
    """Tokens that stand in no brackets."""
    return tuple(token for token in chat_tokens() if not _BRACKETS.fullmatch(token))


def find_marks(text: str) -> Iterator[Found]:
    """What a reading holds by its form."""
    lines = f"\n{text}"
    for form in FORMS:
        if all(any(piece in text for piece in group) for group in form.pieces):
            if form.pattern.groups:
                for match in form.pattern.finditer(lines):
                    yield Found(form.flag, match.start(1) - 1, match.end() - 1, form.about)
            else:
                for match in form.pattern.finditer(text):
                    yield Found(form.flag, match.start(), match.end(), form.about)
    if "<" in text or "[" in text or "]" in text:
        yield from _find_tokens(text)


def _find_tokens(text: str) -> Iterator[Found]:
    tokens = chat_tokens()
    for match in _BRACKETS.finditer(text):
        family = tokens.get(_LOOSE.sub("", match[0]))
        if family is None and _BARRED.fullmatch(match[0]):
            family = "a token of no known family"
        if family is not None:
            yield Found("role_tokens", match.start(), match.end(), family)
    for token in _bare_tokens():
        start = text.find(token)
        while start >= 0:
            yield Found("role_tokens", start, start + len(token), tokens[token])
            start = text.find(token, start + len(token))
