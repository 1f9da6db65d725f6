"""What every column of a run's tables means: the one source of docs, codebooks and exports.

docs/results.md holds the same sentences (a test compares them), a codebook shows them with what was
found, and SPSS and Stata files carry the labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

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
    "models as a random facet, personas within the rest (few judges were asked)": "`--precision` "
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
    "role_tokens": "chat-template tokens, role markers, or tags such as `</response>`",
    "addresses_judge": "a phrase that talks to a judge or asks for a score",
    "score_claim": "a sentence that says which score the text deserves or got",
    "vote_lookalike": "something like a judge's JSON reply",
    "encoded_payload": "base64 that decodes to readable text",
    "hidden_markup": "an HTML comment, or a style that hides text",
    "lookalike_letters": "Cyrillic letters inside Latin words, or letters of full width",
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
        about: what it holds; neighbours that share it stand in one row of the docs.
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


def _count(name: str, label: str, about: str) -> Variable:
    return Variable(name, label, about, "count", "judgments")


def _points(name: str, label: str, about: str, missing: Missing = "response") -> Variable:
    return Variable(name, label, about, "number", _POINTS, missing=missing)


SCORE_VARIABLES: Final = (
    Variable("response_id", "Response", "from the input", "id"),
    Variable("prompt_id", "Prompt", "from the input", "id"),
    Variable("respondent_id", "Respondent: who wrote the response", "from the input", "id"),
    Variable("status", "Status of the response", "see above", "category", values=RESPONSE_STATUS),
    Variable("reason", "Why there is no score", "see above"),
    _count("n_scored", "Judgments scored", "judgments"),
    _count("n_planned", "Judgments planned", "judgments"),
    _points("composite", "Composite score", "mean over criteria of the panel means, unweighted"),
    _points("composite_low", "Composite: lower end of the 95% interval", "its 95% interval"),
    _points("composite_high", "Composite: upper end of the 95% interval", "its 95% interval"),
    Variable(
        "interval_method", "How the interval was made",
        "how the interval was made, and why there is none", "category", values=INTERVAL_METHOD,
    ),
    Variable(
        "interval_reason", "Why there is no interval",
        "how the interval was made, and why there is none",
    ),
    _points(
        "median", "Median of the judges' composites",
        "of the judgments' composites; trimmed by 10% of the judgments at each end",
    ),
    _points(
        "trimmed_mean", "Mean of the judges' composites, trimmed by 10% at each end",
        "of the judgments' composites; trimmed by 10% of the judgments at each end",
    ),
    _points(
        "sd", "Standard deviation between judges",
        "standard deviation between judges' composites, a judge's repeats averaged first, divisor "
        "n − 1", "unmeasured",
    ),
    Variable(
        "disagreement", "Disagreement between judges", "see below", "category", values=DISAGREEMENT
    ),
    Variable(
        "share_abstained", "Share of judgments abstained",
        "abstained over planned, without those that `precision` spared", "number", "share, 0 to 1",
        missing="unmeasured",
    ),
    *(
        _count(f"n_{name}", f"Judgments {name.replace('_', ' ')}", "judgments by status")
        for name in _OF_JUDGMENTS
    ),
    Variable(
        "cost_usd", "Cost of the judgments",
        "what the replies cost when they were paid; empty where a price is unknown", "number",
        "US dollars", missing="unmeasured",
    ),
    Variable(
        "flags", "Flags of the screen", "of the screen, separated by spaces", "words", values=FLAGS
    ),
    Variable(
        "unbalanced", "Models of which fewer judgments were scored than the quorum",
        "models of which fewer judgments were scored than the quorum demands, separated by commas: "
        "the composite of this row rests on other judges than elsewhere",
    ),
    Variable(
        "prompt_text_id", "Unit of analysis: prompts of the same text",
        "made from the prompt's text: prompts that share it are one unit of analysis, whatever "
        "their `prompt_id`", "id",
    ),
)  # fmt: skip
"""Columns of scores.csv that every run has, in order; see `tables.SCORE_COLUMNS`."""

_WHO = "by whom; `repeat` from 0"
_ASKED = (
    "what was asked for: `dimensions`, `holistic`, `no_rubric`; `integer`, `expected`"
)  # fmt: skip
_TOKENS = (
    "sums over its replies; null where the endpoint does not say. Input includes cached, output "
    "includes reasoning"
)
_STATED = "see above; `detail` is a sentence and may quote the reply"


def _tokens(name: str, label: str) -> Variable:
    return Variable(name, label, _TOKENS, "count", "tokens", missing="unmeasured")


JUDGMENT_VARIABLES: Final = (
    Variable("response_id", "Response", "what was judged", "id"),
    Variable("prompt_id", "Prompt", "what was judged", "id"),
    Variable("respondent_id", "Respondent: who wrote the response", "what was judged", "id"),
    Variable("persona", "Persona of the judge", _WHO, "category", of="persona"),
    Variable("axis", "Axis of the persona", _WHO, "category"),
    Variable("model", "Model of the judge", _WHO, "category"),
    Variable("repeat", "Repeat, from 0", _WHO, "count"),
    Variable("status", "Status of the judgment", _STATED, "category", values=JUDGMENT_STATUS),
    Variable("reason", "Why it is not scored", _STATED),
    Variable("detail", "What was wrong, in a sentence", _STATED),
)
"""Columns of judgments.parquet before the criteria; see `tables.JUDGMENT_COLUMNS`."""

PROVENANCE_VARIABLES: Final = (
    Variable("rationale", "The judge's words", "the judge's words, where the run asked for them"),
    Variable("mode", "What was asked for", _ASKED, "category", values=_MODES),
    Variable("score_mode", "How the score was read", _ASKED, "category", values=_SCORE_MODES),
    Variable(
        "structured", "How structured output was asked for",
        "how structured output was asked for: `json_schema`, `json_object_schema`, `json_object`, "
        "`prompt`", "category", values=_STRUCTURED,
    ),
    Variable(
        "answered_by", "Model named in the answer",
        "the model name in the answer, which may differ from the one asked", "category",
    ),
    Variable(
        "repaired", "Whether a repair was asked for",
        "whether a repair was asked for; replies behind the vote (0, 1, 2)", "category",
        values=_YES_NO,
    ),
    Variable(
        "calls", "Replies behind the vote",
        "whether a repair was asked for; replies behind the vote (0, 1, 2)", "count", "replies",
        missing="unmeasured",
    ),
    _tokens("input_tokens", "Input tokens, cached ones included"),
    _tokens("cached_input_tokens", "Input tokens read from a cache"),
    _tokens("output_tokens", "Output tokens, reasoning included"),
    _tokens("reasoning_tokens", "Output tokens of reasoning"),
    Variable(
        "cost_usd", "Cost of the judgment",
        "what its replies cost when they were paid; null where a price is unknown", "number",
        "US dollars", missing="unmeasured",
    ),
    Variable("ledger_key", "Key in the ledger", "key of its first call in the ledger", "id"),
)  # fmt: skip
"""Columns of judgments.parquet after the criteria; see `tables.PROVENANCE_COLUMNS`."""

PROMPT_TEXT: Final = Variable("prompt_text", "Text of the prompt", "what was asked")
RESPONSE_TEXT: Final = Variable("response_text", "Text of the response", "what was judged")

CRITERION_OF_SCORES: Final = (
    "one for each criterion, with `_low` and `_high`", "panel mean and its 95% interval",
)  # fmt: skip
CRITERION_OF_JUDGMENTS: Final = (
    "one for each criterion", "the vote; also of an abstained judgment; null otherwise",
)  # fmt: skip
MEANS: Final = (
    "`axis_NAME`, `model_NAME`, `persona_NAME`", "mean composite of the scored judgments of each",
)  # fmt: skip
CARRIED: Final = (
    "the input's other columns", "as they came; `input_NAME` where a name is taken",
)  # fmt: skip


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
        known[name] = replace(
            _points(name, label, CRITERION_OF_SCORES[1]), of="criterion", source=name
        )
        for end, told in (("low", "lower"), ("high", "upper")):
            known[f"{name}_{end}"] = _points(
                f"{name}_{end}", f"{label}: {told} end of the 95% interval", CRITERION_OF_SCORES[1]
            )
    for of, label, names in (
        ("axis", "Mean composite of the {} judges", dict.fromkeys(axes_of(record))),
        ("model", "Mean composite of the model {}", dict.fromkeys(models_of(record))),
        ("persona", "Mean composite of the persona {}", personas_of(record)),
    ):
        for name, shown in names.items():
            column = f"{of}_{name}"
            one = _points(column, label.format(shown or name), MEANS[1], "unmeasured")
            known[column] = replace(one, of=of, source=name)
    numbers = set(numeric)
    return [
        known.get(name)
        or Variable(
            name, f"{name} (of the input)", CARRIED[1], "number" if name in numbers else "text",
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
        replace(_points(name, label, "the vote", "judgment"), of="criterion", source=name)
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


def markdown_rows(variables: Iterable[Variable], *more: tuple[str, str]) -> list[str]:
    """The rows of a table for the docs: names, and what they hold; equal neighbours joined.

    Args:
        variables: in order.
        more: (what stands in the place of the names, what they hold), after them.
    """
    joined: list[tuple[list[str], str]] = []
    for one in variables:
        if joined and joined[-1][1] == one.about:
            joined[-1][0].append(f"`{one.name}`")
        else:
            joined.append(([f"`{one.name}`"], one.about))
    rows = [(", ".join(names), about) for names, about in joined]
    return [f"| {names} | {about} |" for names, about in (*rows, *more)]
