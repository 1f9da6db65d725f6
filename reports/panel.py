"""The document of a panel run, from run.json, its estimates and the tables of its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.respondents import TOO_FEW_PROMPTS
from ..formats import UNDEFINED, count, dollars, interval, listed, number, said, units, words
from ..precision.text import precision_of, precision_sentences, spared_word
from ..records.design import design_sentence, stored_design
from ..records.estimates import estimates_by, select
from ..records.sources import HUMAN, sources
from .differences import Differences
from .document import SHADES, Cell, Chart, Column, Document, Paragraph, Part, Points, Section, Table
from .grounds import NOT_CALIBRATED, judges_told
from .panel_responses import all_responses, divided_responses, set_apart
from .prompt_view import all_prompts, compared_prompts, where_they_differ
from .run_sections import cost_section, panel_asked, state_told
from .views import Measure, estimates_table

if TYPE_CHECKING:
    import pandas as pd

MOST_MARKED: Final = 9
"""Respondents whose markers are still told apart in one picture."""
MOST_LINES: Final = 40
"""Respondents that a picture with a line for each can hold."""
MOST_IN_MAP: Final = 24
"""Personas in the drawn map of agreement; its table has all."""
NARROWEST_RANGE: Final = 0.1
"""Least range of a shading, as a share of the scale: noise must not look like a pattern."""

SKEWED: Final = 0.75
"""Skewness of means over prompts from which it is said that intervals for such judges may be short:
those of an exponential distribution have 2, those of the skewed worlds simulated about 1.2."""
FEWEST_SKEWED: Final = 20
"""Prompts from which that skewness tells something, and the intervals fall short."""

_SOURCE_COLUMNS: Final = ("source", "true_source", "input_source")

Rows = Sequence[Mapping[str, str]]
Figures = dict[tuple[str, ...], dict[str, Estimate]]


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
    view = _View(record, estimates, part, people)
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
            *where_they_differ(prompts),
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
            Section("judges", "Judges", _judges(view)),
            Section(
                "disagreement",
                "Disagreement",
                [
                    *divided_responses(scores, view.axes, view.counts("disagreement")),
                    *_axes(view, scores),
                ],
            ),
            all_prompts(prompts),
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
            Section("counts", "Counts", _counts(view)),
            Section("meaning", "What the numbers mean", [_meaning(view)]),
            cost_section(record, Paragraph(_replies_told(record))),
            panel_asked(record),
        ],
    )


def panel_answer(
    record: Mapping[str, Any], estimates: pd.DataFrame
) -> tuple[list[str], list[tuple[str, str]]]:
    """Headline and trust of a panel run, of run.json and its estimates alone."""
    view = _View(record, estimates)
    return view.headline(), view.trust()


class _View:
    """A run's estimates, as its sections look at them."""

    def __init__(
        self,
        record: Mapping[str, Any],
        estimates: pd.DataFrame,
        part: str | None = None,
        people: str | None = None,
    ) -> None:
        self.people = people or NOT_CALIBRATED
        self.record, self.estimates, self.part = record, estimates, part
        low, high = record["identity"]["scale"]
        self.scale = (float(low), float(high))
        criteria = tuple(str(name) for name in record["identity"]["criteria"])
        self.criteria = ("composite", *criteria) if len(criteria) > 1 else ("composite",)
        self.heads = {
            "composite": "composite" if len(criteria) > 1 else words(criteria[0]),
            **{name: words(name) for name in criteria},
        }
        self.axes = tuple(dict.fromkeys(str(p["axis"]) for p in record["panel"]["personas"]))
        self.axis_of = {str(p["id"]): str(p["axis"]) for p in record["panel"]["personas"]}
        self._rows: dict[tuple[str, ...], Figures] = {}
        self._such: dict[str, dict[str, Estimate]] | None = None
        self.differences = Differences(estimates)

    def rows(self, table: str, *keys: str) -> Figures:
        """Keys ("" for null) to their figures by measure."""
        if (table, *keys) not in self._rows:
            rows = select(self.estimates, table)
            found = estimates_by(rows[rows["universe"] != "such judges"], keys)
            self._rows[table, *keys] = {
                tuple(at[key] or "" for key in keys): figures for at, figures in found
            }
        return self._rows[table, *keys]

    def counts(self, factor: str) -> dict[str, int]:
        """What responses came to, such as their flags, to how many there are."""
        rows = self.rows("responses", "factor", "group")
        return {
            group: int(figures["responses"].value)
            for (name, group), figures in rows.items()
            if name == factor
        }

    @property
    def best_first(self) -> list[str]:
        """Respondents by their composites; those without one last."""
        rows = self.rows("respondent", "respondent", "criterion")
        means = {who: found["mean"] for (who, name), found in rows.items() if name == "composite"}
        return sorted(
            means, key=lambda who: (-means[who].value if means[who].is_defined else np.inf, who)
        )

    def mean(self, respondent: str, criterion: str = "composite") -> Estimate:
        """A respondent's mean; that of the run for ""."""
        if not respondent:
            return self.rows("run", "criterion")[criterion,]["mean"]
        return self.rows("respondent", "respondent", "criterion")[respondent, criterion]["mean"]

    def such_judges(self, respondent: str) -> Estimate:
        """A respondent's mean composite with its interval for such judges."""
        found = self._of_both("mean", respondent)
        return undefined("") if found is None else found

    def such_judges_shown(self, respondent: str) -> str:
        """The limits of that."""
        found = self.such_judges(respondent)
        return interval(found.low, found.high)

    def skewed_told(self, respondents: Sequence[str]) -> list[str]:
        """Whose interval for such judges may be too short, as means over prompts are skewed."""
        skewed = []
        for name in respondents:
            found, such = self._of_both("skewness", name), self.such_judges(name)
            if found and such.has_interval and such.n >= FEWEST_SKEWED:
                skewed += [_short(name)] if abs(found.value) > SKEWED else []
        if not skewed:
            return []
        told = (
            f"means of prompts are skewed for {listed(skewed)}: there the interval for such judges "
            "may be too short (on skewed data it covered .93 at 30 prompts and .90 at 100 in the "
            "place of .95)"
        )
        return [told]

    def _of_both(self, measure: str, respondent: str) -> Estimate | None:
        """A figure of the composite that speaks of such judges."""
        if self._such is None:
            rows = select(self.estimates, "respondent")
            rows = rows[(rows["universe"] == "such judges") & (rows["criterion"] == "composite")]
            self._such = {
                str(at["respondent"]): figures for at, figures in estimates_by(rows, ["respondent"])
            }
        return self._such.get(respondent, {}).get(measure)

    def headline(self) -> list[str]:
        """Who scores higher than whom; of one respondent, what it scored."""
        if answer := self.differences.headline():
            return answer
        names = [name for name in self.best_first if self.mean(name).is_defined]
        low, high = self.scale
        if not names:
            return ["No response has a score."]
        points = f"on the scale {low:g} to {high:g}"

        def told(name: str) -> str:
            mean = self.mean(name)
            return f"{number(mean.value)}" + (
                f" [{number(mean.low)}, {number(mean.high)}]" if mean.has_interval else ""
            )

        if len(names) == 1:
            return [f"The mean composite of {_short(names[0])} is {told(names[0])} {points}."]
        return [f"The mean composite over all respondents is {told('')} {points}."]

    def trust(self) -> list[tuple[str, str]]:
        """Whether the numbers can be trusted, and why."""
        record, judgments = self.record, self.judgments
        counts = {name: n for name, n in judgments.items() if name != "scored"}
        rule = precision_of(record)
        spared = ""
        if rule and rule["not_asked"]:
            counts["not_asked"] -= rule["not_asked"]
            spared = f", {count(rule['not_asked'])} {spared_word(rule)}"
        others = ", ".join(f"{count(n)} {words(name)}" for name, n in counts.items() if n)
        scored = f"{count(judgments['scored'])} scored of {count(self.n_planned)}"
        coverage = f"{scored} planned judgments{spared}" + (f"; {others}" if others else "")
        if counts["failed"]:
            coverage += ", asked again by the same command"
        verdicts = self.verdicts
        missing = [f"{count(n)} {name}" for name, n in verdicts.items() if n and name != "scored"]
        responses = f"{count(verdicts['scored'])} scored of {count(record['responses']['n'])}" + (
            f"; {', '.join(missing)}" if missing else ""
        )
        told = [("responses", responses)]
        if not missing:
            told = []
            coverage += f"; {responses.replace(' scored', '')} responses"
        told.insert(0, ("coverage", coverage))
        if (design := stored_design(self.estimates)) is not None:
            told.insert(0, ("design", design_sentence(design)))
        panel = record["panel"]
        judges = judges_told(panel, self.rows("worth")[()]["effective judges"])
        told += [
            *self.unbalanced(),
            # with one model the design has said so already
            *(
                one
                for one in self.differences.trust()
                if len(panel["models"]) > 1 or one[0] == "others"
            ),
            ("judges", judges),
            ("people", self.people),
        ]
        if flags := self.counts("flags"):
            named = [f"{words(_short(name))} {count(n)}" for name, n in flags.items()]
            told.append(("flags", listed(named)))
        if answers := record.get("answers"):
            n = answers["counts"]
            missing = [
                f"{count(n[name])} {words(name)}"
                for name in ("empty", "refused", "failed", "not_asked")
                if n[name]
            ]
            answered = f"{count(n['answered'])} answered of {count(n['planned'])} planned"
            told.insert(0, ("answers", "; ".join([answered, *missing])))
        return told

    def unbalanced(self) -> list[tuple[str, str]]:
        """Which models are missing on responses that others have, and what that moved."""
        models = self.rows("responses", "factor", "group")
        missing = [
            f"{group} on {units(int(figures['responses'].value), 'response')}"
            for (name, group), figures in models.items()
            if name == "unbalanced"
        ]
        if not missing:
            return []
        moved = {
            who: figures["moved"].value
            for (who, _), figures in self.rows("respondent", "respondent", "criterion").items()
            if "moved" in figures
        }
        told = listed(
            [f"{_short(who)} {number(one, is_signed=True)}" for who, one in moved.items()]
        )
        return [
            (
                "unbalanced",
                f"too little of {listed(missing)}; means are freed from it, which moved {told}",
            )
        ]

    @property
    def judgments(self) -> dict[str, int]:
        """Status to number of judgments: of the table, or of the whole of a run read in part."""
        found = {
            status: int(figures["judgments"].value)
            for (status, detail), figures in self.rows("judgments", "group", "detail").items()
            if not detail
        }
        return {**found, **self.record["counts"]} if self.part else found

    @property
    def verdicts(self) -> dict[str, int]:
        """Status of a response to how many there are."""
        found = {"scored": 0, **self.counts("status")}
        return {**found, **self.record["verdicts"]} if self.part else found

    @property
    def n_planned(self) -> int:
        """Judgments planned: the sum of all statuses."""
        return sum(self.judgments.values()) if not self.part else int(self.record["n_planned"])

    def mismatch(self) -> list[str]:
        """That files of the folder do not agree, or that not all responses are read."""
        record = self.record
        if self.part:
            told = (
                "The run is long: differences, intervals for such judges, distributions, ranks, "
                f"judges, disagreement and lists are of {self.part}. Counts, cost and means by "
                "respondent are of all."
            )
            return [told]
        stored = {name: number for name, number in record["counts"].items() if number}
        found = {name: number for name, number in self.judgments.items() if number}
        if stored == found and record["n_planned"] == self.n_planned:
            return []
        told = (
            f"run.json counts {sum(stored.values())} judgments of {record['n_planned']} planned, "
            f"judgments.parquet holds {self.n_planned}: the run was not ended, or the files are of "
            "different runs. Counts and means by judge are those of the tables, means by "
            "respondent and the cost those of run.json."
        )
        return [told]


def _short(name: str, most: int = 40) -> str:
    """A name for a sentence: names of models differ at their ends."""
    return name if len(name) <= most else f"{name[: most - 13]}…{name[-12:]}"


def _respondents(view: _View) -> list[Part]:
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
    reasons = dict.fromkeys(said(one.reason) for one in means if one.reason)
    if others:  # said there, where the same prompts are too few
        reasons.pop(TOO_FEW_PROMPTS, None)
    low, high = view.scale
    return [
        Table(
            caption=f"Mean over prompts, scale {low:g} to {high:g}; interval for this panel"
            + ("" if others else ", for such judges"),
            label="Respondents",
            columns=[
                Column("respondent", "id"),
                Column(view.heads["composite"], "estimate"),
                *([] if others else [Column("such judges")]),
                Column("responses"),
                Column("prompts", "count"),
            ],
            rows=rows,
            foot=[["all responses", whole, *([] if others else [""]), n, whole.n]]
            if len(names) > 1
            else [],
            notes=[
                *(f"no interval: {reason}" for reason in reasons),
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


def _criteria(view: _View, scores: Rows) -> list[Part]:
    """Means by criterion, drawn and as a table."""
    names = view.best_first
    if not names or len(view.criteria) == 1:
        return [Paragraph("There is one criterion: its means stand above.", "quiet")]
    rows: list[list[Any]] = [
        [name or "all responses", *(view.mean(name, criterion) for criterion in view.criteria)]
        for name in (*names, "")
    ]
    reasons = dict.fromkeys(said(one.reason) for row in rows for one in row[1:] if one.reason)
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
            notes=[f"no interval: {reason}" for reason in reasons],
        ),
    ]


def _means_chart(view: _View, names: Sequence[str], scores: Rows) -> Chart:
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


def _ranking(view: _View, scores: Rows) -> list[Part]:
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
            caption="Ordered by the mean composite, with its interval for this panel and for such "
            "judges. Mean rank: over the prompts on which every "
            "respondent has a score, 1 = best, ties share their places. Quartiles are those of the "
            "composites of its responses. An order is no test.",
            label="Ranking",
            columns=[
                Column("respondent", "id"),
                Column("mean composite", "estimate"),
                Column("such judges"),
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


def _judges(view: _View) -> list[Part]:
    notes = {
        str(p["id"]): f"{p.get('label', '')} ({p.get('axis', '')})"
        for p in view.record["panel"]["personas"]
    }
    worth = view.rows("worth")[()]["effective judges"]
    parts: list[Part] = [
        Paragraph(_worth_told(worth)),
        Paragraph(
            "Means over responses: each judge group's mean on a response, averaged over the "
            "responses of which it scored something. Groups may have scored different responses; "
            "compare those with the same n. Differences between them are severity as much as "
            "insight."
        ),
    ]
    means = view.rows("judges", "factor", "group", "criterion")
    statuses = view.rows("judges by status", "factor", "group", "detail")
    for factor in ("model", "persona", "axis"):
        rows: list[list[Any]] = []
        for name in dict.fromkeys(group for kind, group, _ in means if kind == factor):
            first = means[factor, name, "composite"]
            others = [
                f"{count(figures['judgments'].value)} {words(status)}"
                for (kind, group, status), figures in statuses.items()
                if (kind, group) == (factor, name)
                and status != "scored"
                and figures["judgments"].value
            ]
            rows.append(
                [
                    Cell(name, note=notes.get(name, "") if factor == "persona" else ""),
                    *(means[factor, name, criterion]["mean"].value for criterion in view.criteria),
                    first["mean"].n,
                    first["judgments"].n,
                    first["judgments"].n_planned,
                    int(first["repaired"].value),
                    ", ".join(others) or "none",
                ]
            )
        parts.append(
            Table(
                caption=f"By {factor}: mean score over n responses, and what became of the planned "
                "judgments. Repaired: a second ask was needed to read the vote.",
                label=f"Means by {factor}",
                columns=[
                    Column(factor, "id"),
                    *(Column(view.heads[name], "number") for name in view.criteria),
                    Column("n responses", "count"),
                    Column("scored", "count"),
                    Column("planned", "count"),
                    Column("repaired", "count"),
                    Column("not scored", "wide"),
                ],
                rows=rows,
            )
        )
    parts.append(_persona_by_model(view))
    return [*parts, *_agreement(view)]


def _worth_told(worth: Estimate) -> str:
    many = f"{count(worth.n)} judgments of a response"
    if not worth.is_defined:
        return f"How many independent judgments the {many} are worth is undefined: {worth.reason}."
    return (
        f"The {many} are worth {worth.value:.1f} independent single ones, by the variance "
        "components of this run's composites. An error that all judges share does not show in "
        "it: that takes a calibration against people."
    )


def _persona_by_model(view: _View) -> Table:
    found = view.rows("persona by model", "persona", "model")
    personas = list(dict.fromkeys(persona for persona, _ in found))
    models = list(dict.fromkeys(model for _, model in found))
    known = [figures["mean"].value for figures in found.values() if figures["mean"].is_defined]
    shade = _shading(known, view.scale)
    rows: list[list[Any]] = []
    for persona in personas:
        cells = [found[persona, model]["mean"] for model in models]
        rows.append(
            [
                persona,
                view.axis_of.get(persona, ""),
                *(
                    Cell(
                        one.value,
                        note=f"n {count(one.n)}" if one.n else "nothing scored",
                        shade=shade(one.value) if one.is_defined else None,
                    )
                    for one in cells
                ),
            ]
        )
    return Table(
        caption="Persona by model: mean composite over responses, with the number of responses. "
        "The stronger the shade, the higher.",
        label="Persona by model",
        columns=[Column("persona"), Column("axis", "id"), *(Column(m, "number") for m in models)],
        rows=rows,
        is_map=True,
        is_short=len(models) < 3,
    )


def _shading(known: Sequence[float], scale: tuple[float, float]) -> Callable[[float], int]:
    """A value's shade over the range of them all, at least a tenth of the scale."""
    low, high = (min(known), max(known)) if known else scale
    missing = NARROWEST_RANGE * (scale[1] - scale[0]) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    return lambda value: min(max(int((value - low) / (high - low) * SHADES), 0), SHADES - 1)


def _axes(view: _View, scores: Rows) -> list[Part]:
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


def _agreement(view: _View) -> list[Part]:
    found = view.rows("agreement", "persona", "baseline")
    names = sorted(
        (persona for persona, other in found if not other),
        key=lambda name: view.axis_of.get(name, ""),
    )
    tau = {key: figures["tau"].value for key, figures in found.items()}
    if len(names) < 2 or all(np.isnan(value) for value in tau.values()):
        return []

    def cell(first: str, second: str) -> float:
        return tau.get((first, second), tau.get((second, first), float("nan")))

    told = (
        "Kendall's tau-b between the personas' mean composites over the responses that both "
        "scored: 1 = the same order, 0 = none, −1 = the reverse. It counts differences between "
        "prompts as well as within them, and says nothing of severity."
    )
    parts: list[Part] = []
    if len(names) <= MOST_IN_MAP:
        parts.append(
            Chart(
                "heatmap",
                "agreement",
                "Agreement of the personas",
                told,
                rows=[words(name) for name in names],
                columns=[words(name) for name in names],
                values=[[cell(a, b) for b in names] for a in names],
                scale=(-1.0, 1.0),
            )
        )
    rows: list[list[Any]] = []
    for first in names:
        cells = [
            Cell(value, shade=None if np.isnan(value) else min(7, max(0, int(8 * value))))
            for value in (cell(first, second) for second in names)
        ]
        rows.append([first, view.axis_of.get(first, ""), tau[first, ""], *cells])
    parts.append(
        Table(
            caption=told if not parts else "The same, with each persona's mean with the others.",
            label="Agreement of the personas",
            columns=[
                Column("persona"),
                Column("axis", "id"),
                Column("mean with others", "number"),
                *(Column(words(name), "number") for name in names),
            ],
            rows=rows,
            is_map=True,
        )
    )
    return parts


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


def _counts(view: _View) -> list[Part]:
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
                rows=[(words(status), reason, n) for status, reason, n in faults],
                is_short=True,
            )
        )
    return parts


def _replies_told(record: Mapping[str, Any]) -> str:
    cost = record["cost"]
    told = f"The replies behind these tables cost {dollars(cost['replies_usd'])} "
    unknown = cost["judgments_with_unknown_price"]
    if not unknown:
        return f"{told}when they were paid, whoever paid."
    return (
        f"{told}where the price is known; {count(unknown)} judgments have replies whose price is "
        "unknown, which is not counted as nothing."
    )


def _meaning(view: _View) -> Points:
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
