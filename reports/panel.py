"""The document of a panel run, from run.json, its estimates and the tables of its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..aggregation.respondents import TOO_FEW_PROMPTS
from ..formats import UNDEFINED, count, dollars, said, units, words
from ..precision.text import precision_of, precision_sentences
from ..records.estimates import estimates_by, select
from ..records.sources import HUMAN, sources
from .document import Chart, Column, Document, Paragraph, Part, Points, Section, Table
from .panel_answer import NOT_SCORED, PanelView
from .panel_judges import judges_parts
from .panel_responses import all_responses, divided_responses, set_apart
from .prompt_view import all_prompts, compared_prompts, where_they_differ
from .run_sections import cost_section, panel_asked, state_told
from .views import Measure, estimates_chart, estimates_table

if TYPE_CHECKING:
    import pandas as pd

MOST_MARKED: Final = 9
"""Respondents whose markers are still told apart in one picture."""
MOST_LINES: Final = 40
"""Respondents that a picture with a line for each can hold."""

_SOURCE_COLUMNS: Final = ("source", "true_source", "input_source")

Rows = Sequence[Mapping[str, str]]


def panel_document(
    record: Mapping[str, Any],
    estimates: pd.DataFrame,
    scores: Rows,
    folder: Path,
    *,
    part: str | None = None,
    people: str | None = None,
) -> Document:
    """What is shown of a panel run.

    Args:
        record: the content of run.json.
        estimates: every figure of the run.
        scores: the rows of scores.csv.
        folder: where judgments.parquet and, if the run has it, texts.parquet lie.
        part: which part of the responses of a long run the tables hold; None where it is all.
        people: what a calibration has found; None where the panel is not calibrated.

    Raises:
        InputError: a table of the folder cannot be read.
    """
    view = PanelView(record, estimates, part, people)
    prompts = compared_prompts(scores, folder, record)
    notices = [*view.mismatch(), *map(str, record["notices"])]
    return Document(
        title=f"Panel run of {units(record['responses']['n'], 'response')}",
        kind="panel",
        is_demonstration=bool(record["demonstration"]),
        headline=view.headline(),
        trust=view.trust(),
        state=state_told(record),
        notices=notices,
        sections=[
            *(
                [
                    Section(
                        "comparison",
                        "Who scores higher",
                        view.differences.summary(
                            view.heads,
                            {name: view.mean(name) for name in view.best_first},
                            view.scale,
                        ),
                        "summary",
                    )
                ]
                if view.differences.others
                else []
            ),
            Section(
                "respondents",
                "Respondents",
                _respondents(view),
                # each mean stands beside its difference
                "detail" if view.differences.others else "summary",
            ),
            *where_they_differ(prompts, view.differences.leading),
            all_prompts(prompts),
            *(
                [
                    Section(
                        "differences",
                        "Differences",
                        view.differences.detail(
                            view.heads, n_models=len(record["panel"]["models"])
                        ),
                    )
                ]
                if view.differences.others
                else []
            ),
            Section("criteria", "By criterion", _criteria(view, scores)),
            Section("spread", "Ranking and spread", _ranking(view, scores)),
            Section("judges", "Judges", judges_parts(view)),
            Section(
                "disagreement",
                "Disagreement",
                [
                    *divided_responses(scores, view.axes, view.counts("disagreement")),
                    *_axes(view, scores),
                ],
            ),
            set_apart(scores, view.counts("flags")),
            all_responses(
                scores,
                folder=folder,
                table=prompts.table,
                heads=[view.heads[name] for name in view.criteria[1:] or view.criteria],
                axes=view.axes,
                scale=view.scale,
            ),
            *_fewer_judges(record),
            *_missing(view),
            Section("counts", "Counts", _counts(view)),
            Section("meaning", "What the numbers mean", [_meaning(view)]),
            *(
                []
                if record["identity"].get("imported")
                else [cost_section(record, Paragraph(_replies_told(record)))]
            ),
            panel_asked(record),
        ],
    )


def _respondents(view: PanelView) -> list[Part]:
    """Composites, and what they rest on."""
    names = view.best_first
    if not names:
        told = "run.json holds no means by respondent: the run was not ended."
        return [Paragraph(told, "notice")]
    figures = view.rows("respondent", "respondent", "criterion")
    # Where respondents are compared, that is the answer, and their means have details below.
    others = view.differences.others
    rows: list[list[Any]] = []
    for name in names:
        mean, responses = view.mean(name), figures[name, "composite"]["responses"]
        n = f"{count(responses.n)} of {count(responses.n_planned)}"
        marked = figures[name, "composite"].get("unbalanced responses")
        is_marked = marked is not None and marked.value > 0
        shown = [] if others else [view.such_judges_shown(name)]
        rows.append([f"{name} *" if is_marked else name, mean, *shown, n, mean.n])
    verdicts, whole = view.verdicts, view.mean("")
    n = f"{count(verdicts['scored'])} of {count(view.record['responses']['n'])}"
    means = [view.mean(name) for name in names]
    if not others:
        means += [view.such_judges(name) for name in names]
    reasons = _why_none(means, view.other_judges)
    if others:  # said there, where the same prompts are too few
        reasons = [one for one in reasons if not one.endswith(f": {TOO_FEW_PROMPTS}")]
    low, high = view.scale
    return [
        Table(
            caption=f"Mean over prompts, scale {low:g} to {high:g}; interval for this panel"
            + ("" if others else f", for {view.other_judges}"),
            label="Respondents",
            columns=[
                Column("respondent", "id"),
                Column(view.heads["composite"], "estimate"),
                *([] if others else [Column(view.other_judges.removesuffix(" on this model"))]),
                Column("responses"),
                Column("prompts", "count"),
            ],
            rows=rows,
            foot=[["all responses", whole, *([] if others else [""]), n, whole.n]]
            if len(names) > 1
            else [],
            notes=[
                *reasons,
                *([] if others else view.skewed_told(names)),
                *(
                    ["* unbalanced: see above"]
                    if any(str(row[0]).endswith(" *") for row in rows)
                    else []
                ),
            ],
            is_short=True,
        )
    ]


def _criteria(view: PanelView, scores: Rows) -> list[Part]:
    """Means by criterion, drawn and as a table."""
    names = view.best_first
    if not names or len(view.criteria) == 1:
        return [Paragraph("There is one criterion: its means stand above.", "quiet")]
    rows: list[list[Any]] = [
        [name or "all responses", *(view.mean(name, criterion) for criterion in view.criteria)]
        for name in (*names, "")
    ]
    return [
        _means_chart(view, names, scores),
        Table(
            caption="Mean over prompts and its 95% interval, by criterion.",
            label="By criterion",
            columns=[
                Column("respondent", "id"),
                *(Column(view.heads[name], "estimate") for name in view.criteria),
            ],
            rows=rows[:-1],
            foot=rows[-1:] if len(names) > 1 else [],
            notes=_why_none([one for row in rows for one in row[1:]]),
        ),
    ]


def _why_none(means: Sequence[Estimate], other_judges: str = "") -> list[str]:
    """Why means, or their intervals, are missing: each reason once."""
    notes: dict[str, None] = {}
    for one in means:
        what = "interval" if one.is_defined else "mean"
        if one.universe == "judges like these" and one.is_defined:
            what = f"interval for {other_judges}"
        if one.reason:
            notes[f"no {what}: {said(one.reason)}"] = None
    return list(notes)


def _means_chart(view: PanelView, names: Sequence[str], scores: Rows) -> Chart:
    people = _people(scores)
    shown = names[:MOST_MARKED]
    criteria = view.criteria[1:] or view.criteria
    means = [[view.mean(name, criterion) for name in shown] for criterion in criteria]
    more = len(names) - len(shown)
    return Chart(
        "forest",
        "scorecard",
        "Means by criterion",
        "A marker is the mean over prompts, the bar its 95% interval over prompts; an open marker "
        "without a bar has none. Open diamonds in orange are people."
        + (f" {units(more, 'more respondent')} in the table only." if more else ""),
        rows=[view.heads[name] for name in criteria],
        columns=shown,
        values=[[one.value for one in row] for row in means],
        low=[[one.low for one in row] for row in means],
        high=[[one.high for one in row] for row in means],
        scale=view.scale,
        axis="mean score",
        hollow=[name for name in shown if name in people],
    )


def _people(scores: Rows) -> set[str]:
    """Respondents who are people, by what the input says of its responses."""
    source: dict[str, str | None] = {}
    for row in scores:
        said_of_it = next((row[name] for name in _SOURCE_COLUMNS if row.get(name)), None)
        source.setdefault(row["respondent_id"], said_of_it)
    codes = sources(list(source.values()), [None] * len(source), list(source))
    return {name for name, code in zip(source, codes, strict=True) if code == HUMAN}


def _ranking(view: PanelView, scores: Rows) -> list[Part]:
    names = view.best_first
    ranks, spread = view.rows("rank", "respondent"), view.rows("spread", "respondent")
    nothing = Estimate(float("nan"))
    lines: list[list[Any]] = [
        [
            name,
            view.mean(name),
            view.such_judges_shown(name),
            ranks.get((name,), {}).get("mean rank", nothing),
            *(
                spread.get((name,), {}).get(measure, nothing).value
                for measure in ("lower quartile", "median", "upper quartile")
            ),
        ]
        for name in names
    ]
    reasons = dict.fromkeys(
        said(figures["mean rank"].reason)
        for figures in ranks.values()
        if figures["mean rank"].reason
    )
    values: dict[str, list[float]] = {}
    for row in scores:
        if row["composite"]:
            values.setdefault(row["respondent_id"], []).append(float(row["composite"]))
    shown = names[:MOST_LINES]
    if not shown:
        return [Paragraph("No respondent has a score.")]
    return [
        Chart(
            "strip",
            "distribution",
            "Spread of the composites",
            "How the composites of single responses are spread: line at the median, box around the "
            "middle half, whiskers from 5% to 95%; in brackets how many there are.",
            rows=shown,
            points=[values.get(name, ()) for name in shown],
            scale=view.scale,
            axis="composite of a response",
        ),
        Table(
            caption="Ordered by the mean composite, with its interval for this panel and for "
            f"{view.other_judges}. Mean rank: over the prompts on which every "
            "respondent has a score, 1 = best, ties share their places. Quartiles are those of the "
            "composites of its responses. An order is no test.",
            label="Ranking",
            columns=[
                Column("respondent", "id"),
                Column("mean composite", "estimate"),
                Column(view.other_judges.removesuffix(" on this model")),
                Column("mean rank", "estimate"),
                Column("lower quartile", "number"),
                Column("median", "number"),
                Column("upper quartile", "number"),
            ],
            rows=lines,
            notes=[
                *(f"mean rank: {reason}" for reason in reasons),
                *(view.skewed_told(names) if view.differences.others else []),
            ],
        ),
    ]


def _axes(view: PanelView, scores: Rows) -> list[Part]:
    if len(view.axes) < 2:
        return []
    made = estimates_table(
        view.estimates,
        "axes",
        keys={"group": "axis", "baseline": "minus"},
        measures=[
            Measure("mean", field="value", is_signed=True),
            *(Measure(name, field="value", is_signed=True) for name in ("5%", "median", "95%")),
            Measure("mean", "responses", field="n"),
        ],
        caption="Axis against axis: differences between their means on the same response, in "
        "points.",
        label="Differences between axes",
        is_short=True,
    )
    first, second = view.axes[:2]
    points = [
        (float(x), float(y))
        for x, y in ((row.get(f"axis_{first}"), row.get(f"axis_{second}")) for row in scores)
        if x and y
    ]
    chart = Chart(
        "scatter",
        "axes",
        f"{words(first)} against {words(second)}",
        "Each mark is a response, where the means of the two axes of personas put it. Along the "
        "diagonal both say the same; far from it they part.",
        rows=["response"],
        points=[points],
        axis=f"mean of the {words(second)} personas",
        axis_x=f"mean of the {words(first)} personas",
        scale=view.scale,
    )
    return [*([chart] if points else []), *([made] if made is not None else [])]


_ENDINGS: Final = {
    "precise": "the wanted half width was reached",
    "allowance": "as many were asked as a response may have",
    "everyone": "the whole panel was asked",
    "cut_short": "the run stopped before the rule did",
    "screened": "nobody was asked: there was nothing to judge",
}


def _fewer_judges(record: Mapping[str, Any]) -> list[Section]:
    """The section on a stopping rule; none where the run had no rule."""
    found = precision_of(record)
    if found is None:
        return []
    return [
        Section(
            "precision",
            "Fewer judges",
            [
                *(Paragraph(sentence) for sentence in precision_sentences(found)),
                Paragraph(f"The order is {found['order']}, seed {found['seed']}."),
                Table(
                    caption="Why no more judges were asked.",
                    label="Endings",
                    columns=[Column("why"), Column("responses", "count")],
                    rows=[(told, found["responses"][name]) for name, told in _ENDINGS.items()],
                    is_short=True,
                ),
            ],
            "summary",
        )
    ]


def _missing(view: PanelView) -> list[Section]:
    """Judgments without a score by respondent; nothing where every judgment has one."""
    rows = select(view.estimates, "missing")
    shares = rows[rows["measure"] == "share"]
    if not (shares["value"] > 0).any():
        return []
    kinds = [name for name in dict.fromkeys(shares["detail"]) if name != NOT_SCORED]
    of_kind = {
        (str(at["respondent"]), str(at["detail"])): found["share"].value
        for at, found in estimates_by(shares, ["respondent", "detail"])
    }
    lines: list[list[Any]] = []
    reasons: dict[str, None] = {}
    for at, found in estimates_by(rows[rows["detail"] == NOT_SCORED], ["respondent"]):
        who, difference = str(at["respondent"]), found.get("difference")
        cells = [of_kind.get((who, kind)) for kind in kinds]
        for one in (found["share"], difference):
            if one is not None and one.reason:
                reasons[said(one.reason)] = None
        tested: list[Any] = ["", None, ""]
        if difference is not None:
            tested = [difference, _known(difference.p), difference.verdict or ""]
        lines.append([who, found["share"], *cells, *tested])
    chart = estimates_chart(
        view.estimates, "missing", "forest", measure="share", rows="respondent",
        where={"detail": NOT_SCORED, "baseline": None}, name="missing",
        title="Judgments without a score", axis="share of judgments", scale=(0.0, 1.0),
        caption="Share of a respondent's judgments that have no score, with its interval over "
        "prompts.",
    )  # fmt: skip
    table = Table(
        caption="Shares of judgments that have no score, as means over prompts, and why. "
        "Difference: from the other respondents on the same prompts, tested by rearranging "
        "respondents within prompts; p is that of the largest. A mean speaks of what was scored: "
        "where the weak answers are left out, it is too high.",
        label="Judgments without a score",
        columns=[
            Column("respondent", "id"),
            Column("without a score", "estimate"),
            *(Column(words(kind), "number") for kind in kinds),
            Column("difference", "estimate", is_signed=True),
            Column("p", "p"),
            Column("verdict"),
        ],
        rows=lines,
        notes=[f"no interval or test: {reason}" for reason in reasons],
    )
    parts: list[Part] = [table] if chart is None or len(lines) > MOST_LINES else [chart, table]
    return [Section("missing", "Judgments without a score", parts)]


def _known(value: float) -> float | None:
    return value if value == value else None


def _counts(view: PanelView) -> list[Part]:
    found = view.rows("judgments", "group", "detail")
    faults = sorted(
        (
            (status, detail, int(figures["judgments"].value))
            for (status, detail), figures in found.items()
            if detail
        ),
        key=lambda row: -row[2],
    )
    parts: list[Part] = [
        Table(
            caption="What became of every planned judgment.",
            label="Statuses",
            columns=[Column("status"), Column("judgments", "count")],
            rows=[(words(status), n) for status, n in view.judgments.items()],
            foot=[("planned", view.n_planned)],
            is_short=True,
        )
    ]
    if faults:
        parts.append(
            Table(
                caption="Why judgments are neither scored nor abstained.",
                label="Faults",
                columns=[Column("status"), Column("reason"), Column("judgments", "count")],
                rows=[(words(status), words(reason), n) for status, reason, n in faults],
                is_short=True,
            )
        )
    return parts


def _replies_told(record: Mapping[str, Any]) -> str:
    cost = record["cost"]
    unknown, known_usd = cost["judgments_with_unknown_price"], cost["replies_usd"]
    told = f"The replies behind these tables cost {dollars(known_usd)}"
    if not unknown:
        return f"{told} when they were paid, whoever paid."
    if not known_usd:
        return f"What the replies behind these tables cost is unknown: {count(unknown)} judgments."
    return f"{told} where the price is known; {count(unknown)} judgments have no known price."


def _meaning(view: PanelView) -> Points:
    methods = view.counts("interval_method")
    named = "; ".join(f"{name} ({units(n, 'response')})" for name, n in methods.items())
    told = f"Estimator: {named}." if named else "No response of this run has one."
    unit = (
        "Responses to one prompt share what it brings, so they are averaged first. The interval "
        f"speaks of other such prompts, put to this panel ({view.record['total']['method']}); "
        "with fewer than six prompts there is none."
    )
    one_response = f"It says how far the panel's mean might move with other judges. {told}"
    return Points(
        [
            ("The prompt is the unit.", unit),
            ("Many judgments are not many raters.", _NOT_RATERS),
            ("The interval on one response is of another kind.", one_response),
            ("A panel mean is not a human judgment.", _NOT_HUMAN),
            ("Overlapping or separate intervals are no test.", _NO_TEST),
            ("What was not scored is not a low score.", _NOT_LOW),
            (f"{UNDEFINED} means undefined,", "with the reason below. It is never a zero."),
        ]
    )


_NOT_RATERS: Final = (
    "Ten personas of one model share its training and its habits. More judgments make this panel's "
    "mean steadier, not truer."
)
_NOT_HUMAN: Final = (
    "Until the panel is calibrated against human ratings of such responses, how near it comes to "
    "what people say is unknown."
)
_NO_TEST: Final = (
    "Respondents are compared by their differences on the same prompts, over the judges that "
    "scored both."
)
_NOT_LOW: Final = (
    "It is counted and enters no mean. If it is not spread evenly, the means of those who remain "
    "may mislead."
)
