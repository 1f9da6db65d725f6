"""A run's tables as variables: label, kind, unit, values and what each means, and why numbers miss.

What a column holds is said in `columns`, of which the reference is made as well; here is what a
codebook and files for SPSS and Stata need beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from .columns import meaning
from .run_folder import JUDGMENTS_FILE, SCORES_FILE

Kind = Literal["id", "text", "words", "category", "count", "number"]
Missing = Literal["", "judgment", "response", "unmeasured"]

MISSING: Final[dict[str, str]] = {
    "abstained": "the judge says that the response declines to answer",
    "refused": "the judge declined to judge",
    "unreadable": "a reply came, and no vote could be read in it",
    "failed": "no reply came",
    "not_asked": "nothing was sent",
    "inconclusive": "fewer judgments than the quorum were scored",
    "screened": "there was nothing to judge",
    "not_measured": "there is no such figure here",
}
"""Why a number is missing, in the order of the codes that exports give it."""

_OF_JUDGMENTS = ("abstained", "refused", "unreadable", "failed", "not_asked")
_OF_RESPONSES = ("inconclusive", "screened", "not_measured")

JUDGMENT_STATUS: Final = {
    "scored": "a vote; the only one that enters a mean",
    "abstained": "the judge says that the response declines to answer; its integers are stored, "
    "never averaged",
    "refused": "the judge declined to judge",
    "unreadable": "a reply came, and no vote could be read in it, even after one repair",
    "failed": "no reply came",
    "not_asked": "nothing was sent",
}
RESPONSE_STATUS: Final = {
    "scored": "at least the quorum of its planned judgments was scored",
    "inconclusive": "fewer were: no headline number; `reason` says how many and what became of the "
    "others",
    "screened": "there was nothing to judge; nobody was asked",
}
DISAGREEMENT: Final = {
    "low": "below .10 (.9 points)",
    "moderate": "from .10",
    "high": "from .20 (1.8 points)",
    "split": "two axis means, of axes with at least two judges each, lie at least .20 of the width "
    "and two standard errors apart; goes before the others",
    "undefined": "fewer than two judges scored",
}
INTERVAL_METHOD: Final = {
    "personas and models as random facets (Henderson I, Satterthwaite t)": "at least two of each, "
    "crossed enough",
    "personas within one model; the model facet is not estimable": "one model: t over persona "
    "means, for that model only",
    "models within one persona; the persona facet is not estimable": "one persona",
    "models as a random facet, personas within the rest (few judges were asked)": "`precision` "
    "stopped early: too few crossed cells for both facets",
    "none": "no interval",
}
_NOTHING = "nothing to judge: "
FLAGS: Final = {
    "empty": _NOTHING + "no text",
    "no_letters": _NOTHING + "no letter or digit",
    "opener_only": _NOTHING + 'nothing but an opening phrase such as "Let\'s think step by step"',
    "too_long": _NOTHING + "more than 200,000 characters",
    "repeated_text": "this respondent gives the very same text to several prompts (of different "
    "texts)",
    "invisible_characters": "characters that a reader does not see",
    "bidi_controls": "characters that a reader does not see",
    "tag_characters": "characters that a reader does not see",
    "control_characters": "characters that a reader does not see",
    "marker_lookalike": "something like the markers around judged texts",
    "role_tokens": "chat-template tokens, role markers, tags such as `</response>`, or headings in "
    "bracketed capitals",
    "panel_wording": "words that only the judges of this panel are shown",
    "addresses_judge": "a phrase that talks to a judge or asks for a score or verdict",
    "score_claim": "a sentence that says which score or verdict the text deserves or got",
    "vote_lookalike": "something like a judge's JSON reply",
    "encoded_payload": "readable text in a code, or a demand hidden by its way of writing",
    "hidden_markup": "an HTML comment, or a style that hides text",
    "lookalike_letters": "letters of another alphabet, width or shape inside Latin words",
    "blank_flood": "a long run of blank lines or blanks",
}
_MODES = {
    "dimensions": "every criterion of the rubric",
    "holistic": "one score by the whole rubric",
    "no_rubric": "one score without a rubric",
}
_SCORE_MODES = {
    "integer": "the whole number in the reply",
    "expected": "the mean over the scores' probabilities",
}
_STRUCTURED = {
    "json_schema": "by a JSON schema",
    "json_object_schema": "as a JSON object, with a schema",
    "json_object": "as a JSON object",
    "prompt": "by words alone",
}
_YES_NO = {"no": "", "yes": ""}


@dataclass(frozen=True, slots=True)
class Variable:
    """A column of a run's tables.

    Attributes:
        name: of the column.
        label: in a few words, at most 80 characters.
        about: what it holds, in the words of the reference.
        kind: "id" and "text"; "words" (several values, with blanks between them); "category" (one
            of several values); "count" (whole) and "number".
        unit: of a number; "" where it has none.
        values: those of a category, in order, and what each means.
        missing: why a number may be missing: by the status of its "judgment", by that of its
            "response", or "unmeasured" alone.
        source: the text behind it: a criterion's definition, a persona's description; or "".
        of: which of the panel's parts it belongs to: "criterion", "persona", "model", "axis",
            "input", or "".
    """

    name: str
    label: str
    about: str
    kind: Kind = "text"
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    missing: Missing = ""
    source: str = ""
    of: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.kind in ("count", "number")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why its numbers may be missing, by the names of `MISSING`."""
        if self.missing == "judgment":
            return _OF_JUDGMENTS
        if self.missing == "response":
            return _OF_RESPONSES
        return ("not_measured",) if self.missing == "unmeasured" else ()


_POINTS = "points of the scale"
_JUDGMENTS = "judgments"
_TOKENS = "tokens"
_DOLLARS = "US dollars"

# (name, label, kind, unit, why numbers are missing, values)
_Row = tuple[str, str, Kind, str, Missing, Mapping[str, str]]
_NONE: Final[Mapping[str, str]] = {}

_SCORES: Final[tuple[_Row, ...]] = (
    ("response_id", "Response", "id", "", "", _NONE),
    ("prompt_id", "Prompt", "id", "", "", _NONE),
    ("respondent_id", "Respondent: who wrote the response", "id", "", "", _NONE),
    ("status", "Status of the response", "category", "", "", RESPONSE_STATUS),
    ("reason", "Why there is no score", "text", "", "", _NONE),
    ("n_scored", "Judgments scored", "count", _JUDGMENTS, "", _NONE),
    ("n_planned", "Judgments planned", "count", _JUDGMENTS, "", _NONE),
    ("composite", "Composite score", "number", _POINTS, "response", _NONE),
    ("composite_low", "Composite: lower end of the 95% interval", "number", _POINTS, "response",
     _NONE),
    ("composite_high", "Composite: upper end of the 95% interval", "number", _POINTS, "response",
     _NONE),
    ("interval_method", "How the interval was made", "category", "", "", INTERVAL_METHOD),
    ("interval_reason", "Why there is no interval", "text", "", "", _NONE),
    ("median", "Median of the judges' composites", "number", _POINTS, "response", _NONE),
    ("trimmed_mean", "Mean of the judges' composites, trimmed by 10% at each end", "number",
     _POINTS, "response", _NONE),
    ("sd", "Standard deviation between judges", "number", _POINTS, "unmeasured", _NONE),
    ("disagreement", "Disagreement between judges", "category", "", "", DISAGREEMENT),
    ("share_abstained", "Share of judgments abstained", "number", "share, 0 to 1", "unmeasured",
     _NONE),
    ("n_abstained", "Judgments abstained", "count", _JUDGMENTS, "", _NONE),
    ("n_refused", "Judgments refused", "count", _JUDGMENTS, "", _NONE),
    ("n_unreadable", "Judgments unreadable", "count", _JUDGMENTS, "", _NONE),
    ("n_failed", "Judgments failed", "count", _JUDGMENTS, "", _NONE),
    ("n_not_asked", "Judgments not asked", "count", _JUDGMENTS, "", _NONE),
    ("cost_usd", "Cost of the judgments", "number", _DOLLARS, "unmeasured", _NONE),
    ("flags", "Flags of the screen", "words", "", "", FLAGS),
    ("unbalanced", "Models with fewer judgments than the quorum", "text", "", "", _NONE),
    ("prompt_text_id", "Unit of analysis: prompts of the same text", "id", "", "", _NONE),
)  # fmt: skip
_JUDGES: Final[tuple[_Row, ...]] = (
    ("response_id", "Response", "id", "", "", _NONE),
    ("prompt_id", "Prompt", "id", "", "", _NONE),
    ("respondent_id", "Respondent: who wrote the response", "id", "", "", _NONE),
    ("persona", "Persona of the judge", "category", "", "", _NONE),
    ("axis", "Axis of the persona", "category", "", "", _NONE),
    ("model", "Model of the judge", "category", "", "", _NONE),
    ("repeat", "Repeat, from 0", "count", "", "", _NONE),
    ("status", "Status of the judgment", "category", "", "", JUDGMENT_STATUS),
    ("reason", "Why it is not scored", "text", "", "", _NONE),
    ("detail", "What was wrong, in a sentence", "text", "", "", _NONE),
)
_PROVENANCE: Final[tuple[_Row, ...]] = (
    ("rationale", "The judge's words", "text", "", "", _NONE),
    ("mode", "What was asked for", "category", "", "", _MODES),
    ("score_mode", "How the score was read", "category", "", "", _SCORE_MODES),
    ("structured", "How structured output was asked for", "category", "", "", _STRUCTURED),
    ("answered_by", "Model named in the answer", "category", "", "", _NONE),
    ("repaired", "Whether a repair was asked for", "category", "", "", _YES_NO),
    ("calls", "Replies behind the vote", "count", "replies", "unmeasured", _NONE),
    ("input_tokens", "Input tokens, cached ones included", "count", _TOKENS, "unmeasured", _NONE),
    ("cached_input_tokens", "Input tokens read from a cache", "count", _TOKENS, "unmeasured",
     _NONE),
    ("output_tokens", "Output tokens, reasoning included", "count", _TOKENS, "unmeasured", _NONE),
    ("reasoning_tokens", "Output tokens of reasoning", "count", _TOKENS, "unmeasured", _NONE),
    ("cost_usd", "Cost of the judgment", "number", _DOLLARS, "unmeasured", _NONE),
    ("ledger_key", "Key in the ledger", "id", "", "", _NONE),
)  # fmt: skip


def _all(table: str, rows: Iterable[_Row]) -> tuple[Variable, ...]:
    return tuple(
        Variable(name, label, meaning(table, name) or "", kind, unit, values, missing)
        for name, label, kind, unit, missing, values in rows
    )


SCORE_VARIABLES: Final = _all(SCORES_FILE, _SCORES)
"""Columns of scores.csv that every run has, in order; see `tables.SCORE_COLUMNS`."""
JUDGMENT_VARIABLES: Final = _all(JUDGMENTS_FILE, _JUDGES)
"""Columns of judgments.parquet before the criteria; see `tables.JUDGMENT_COLUMNS`."""
PROVENANCE_VARIABLES: Final = _all(JUDGMENTS_FILE, _PROVENANCE)
"""Columns of judgments.parquet after the criteria; see `tables.PROVENANCE_COLUMNS`."""
PROMPT_TEXT, RESPONSE_TEXT = (
    Variable(name, label, meaning(SCORES_FILE, name) or "")
    for name, label in (
        ("prompt_text", "Text of the prompt"),
        ("response_text", "Text of the response"),
    )
)

OF_CRITERION: Final = "the panel's mean of this criterion, or an end of its 95% interval"
OF_VOTE: Final = "the vote on this criterion"
OF_PART: Final = "mean composite of the scored judgments of this axis, model or persona"
OF_INPUT: Final = "a column of the input, as it came"


def _points(name: str, label: str, about: str, missing: Missing = "response") -> Variable:
    return Variable(name, label, about, "number", _POINTS, missing=missing)


def score_variables(
    record: Mapping[str, Any], header: Sequence[str], numeric: Iterable[str] = ()
) -> list[Variable]:
    """The columns of a run's scores.csv, in order.

    Args:
        record: run.json.
        header: the names in the file.
        numeric: those that hold nothing but numbers, for the columns that the input carried.
    """
    known = {one.name: one for one in SCORE_VARIABLES}
    for name, label in criteria_of(record).items():
        known[name] = replace(_points(name, label, OF_CRITERION), of="criterion", source=name)
        for end, told in (("low", "lower"), ("high", "upper")):
            known[f"{name}_{end}"] = _points(
                f"{name}_{end}", f"{label}: {told} end of the 95% interval", OF_CRITERION
            )
    for of, label, names in (
        ("axis", "Mean composite of the {} judges", dict.fromkeys(axes_of(record))),
        ("model", "Mean composite of the model {}", dict.fromkeys(models_of(record))),
        ("persona", "Mean composite of the persona {}", personas_of(record)),
    ):
        for name, shown in names.items():
            column = f"{of}_{name}"
            one = _points(column, label.format(shown or name), OF_PART, "unmeasured")
            known[column] = replace(one, of=of, source=name)
    numbers = set(numeric)
    return [
        known.get(name)
        or Variable(
            name, f"{name} (of the input)", OF_INPUT, "number" if name in numbers else "text",
            of="input",
        )
        for name in header
    ]  # fmt: skip


def judgment_variables(record: Mapping[str, Any]) -> list[Variable]:
    """The columns of a run's judgments.parquet, in order; categories with the panel's values."""
    values = {
        "persona": personas_of(record),
        "axis": dict.fromkeys(axes_of(record), ""),
        "model": dict.fromkeys(models_of(record), ""),
    }
    votes = [
        replace(_points(name, label, OF_VOTE, "judgment"), of="criterion", source=name)
        for name, label in criteria_of(record).items()
    ]
    who = [
        replace(one, values=values[one.name]) if one.name in values else one
        for one in JUDGMENT_VARIABLES
    ]
    return [*who, *votes, *PROVENANCE_VARIABLES]


def criteria_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Criterion to its label, by the run's record alone."""
    names = record.get("identity", {}).get("criteria", ())
    return {name: name.replace("_", " ").capitalize() for name in names}


def personas_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Persona to its name as people read it."""
    named = {one["id"]: one.get("label", "") for one in record.get("panel", {}).get("personas", ())}
    ids = record.get("identity", {}).get("personas", {})
    return {name: named.get(name, "") for name in (ids or named)}


def axes_of(record: Mapping[str, Any]) -> list[str]:
    """The axes of the run's personas, in order."""
    personas = record.get("panel", {}).get("personas", ())
    return list(dict.fromkeys(str(one["axis"]) for one in personas if one.get("axis")))


def models_of(record: Mapping[str, Any]) -> list[str]:
    """The run's judge models, in order."""
    return list(record.get("identity", {}).get("models", {}))
