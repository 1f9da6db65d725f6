"""What is shown of an applied calibration: who is better on people's scale, and who moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..aggregation.estimate import Estimate
from ..formats import estimate, listed_all, number, percent, said, told_by_reason, units
from ..records.estimates import estimates_by, select
from ..reports.comparison import HIGHER, LOWER, is_decided, of_family
from ..reports.document import Audience, Chart, Column, Document, Part, Points, Section, Table
from .answer import demonstration
from .results import HOLDS_IF_ALIKE, RANDOM, Sampled

if TYPE_CHECKING:
    import pandas as pd

MOVED = "moved"
"""The verdict on a judge that scores identical responses differently now."""

MOST_NAMED = 3
"""Respondents that a sentence names."""
MOST_LINES = 40

Figures = dict[str, Estimate]
Pair = tuple[str, str]


def applied_document(
    estimates: pd.DataFrame,
    sampled: Sampled,
    *,
    rated: str | None,
    corrections: Sequence[str],
    withheld: Sequence[tuple[str, str]],
    differences: Sequence[str],
    notices: Sequence[str],
    stand_ins: Sequence[str],
    n_responses: int,
) -> Document:
    """Describes what a calibration makes of a run.

    Args:
        estimates: the tables "means", "comparison" and "drift".
        sampled: what people rated of the run.
        rated: how the rated prompts were taken, as was said at calibration.
        corrections, withheld: of the scores: what was applied, and what was not and why.
        differences: what differs between the panels.
        notices: what a reader must know.
        stand_ins: embedded stand-ins that had a part in it.
        n_responses: of the run.
    """
    means = {
        str(keys["respondent"]): found
        for keys, found in estimates_by(select(estimates, "means"), ["respondent"])
    }
    pairs = _pairs(estimates)
    drift = select(estimates, "drift")
    moved = drift.loc[drift["verdict"] == MOVED, "group"].tolist()
    results: list[Part] = []
    # a reason stands once: in the headline, or below the first table
    notes = _reasons([*pairs.values(), *means.values()], sampled.refused)
    if pairs:
        results += [_chart(means, pairs), _differences(pairs, notes)]
    results.append(_means(means, () if pairs else notes))
    remarks = [
        ("", f"Corrections applied: {_corrections(corrections, withheld)}."),
        *(("earned and not applied:", f"{name}: {why}") for name, why in withheld),
        *(("differs:", text) for text in differences),
        *(("", text) for text in notices),
    ]
    scores: list[Part] = [Points(remarks)]
    sections = [Section("results", "Raw and corrected", results, "summary")]
    if len(drift):
        audience: Audience = "summary" if moved else "detail"
        sections.append(Section("drift", "Judges since", [_drift(drift)], audience))
    sections.append(
        Section("scores", f"Scores of {units(n_responses, 'response')}", scores, "summary")
    )
    made: list[Part] = [_alone(pairs)] if pairs and sampled.refused is None else []
    sections.append(Section("meaning", "How the figures were made", [*made, _meaning()]))
    return Document(
        title="A calibration applied",
        kind="applied",
        sections=sections,
        headline=_headline(means, pairs, sampled),
        trust=_trust(pairs or means, sampled, rated, drift, moved),
        is_demonstration=bool(stand_ins),
        demonstration=demonstration(stand_ins) if stand_ins else "",
    )


def _pairs(estimates: pd.DataFrame) -> dict[Pair, Figures]:
    """(respondent, baseline) to its figures by measure; the raw difference for this panel."""
    table = select(estimates, "comparison")
    table = table[table["universe"] != "judges like these"]
    return {
        (str(keys["respondent"]), str(keys["baseline"])): found
        for keys, found in estimates_by(table, ["respondent", "baseline"])
    }


def _headline(means: dict[str, Figures], pairs: dict[Pair, Figures], sampled: Sampled) -> list[str]:
    is_known = any(_known(one) for one in means.values())
    why = sampled.refused
    if why is None:
        return [_on_people(means, pairs)] if is_known else [f"Not corrected: {_why_none(means)}."]
    if is_known:
        return [_by_map(means, pairs), f"That is a guide without an interval: {why}."]
    return [f"Not corrected: {why}.", _raw(means, pairs)]


def _known(figures: Figures) -> bool:
    return figures["corrected"].is_defined


def _why_none(means: dict[str, Figures]) -> str:
    reasons = ((name, one["corrected"].reason) for name, one in means.items())
    return told_by_reason((name, reason) for name, reason in reasons if reason)


def _on_people(means: dict[str, Figures], pairs: dict[Pair, Figures]) -> str:
    """Who is better on people's scale and by how much, and what the panel alone says."""
    top = next(iter(means))
    with_top = {pair: found for pair, found in pairs.items() if top in pair and _known(found)}
    if not with_top:
        told = [
            f"{name} {estimate(one['corrected'])} (the panel alone: {estimate(one['mean'])})"
            for name, one in list(means.items())[:MOST_NAMED]
            if _known(one)
        ]
        more = len(means) - len(told)
        return f"On people's scale: {listed_all([*told, *([f'{more} more'] if more else [])])}."
    if len(with_top) == 1:
        (((first, second), found),) = with_top.items()
        one, raw = of_family(found["corrected"]), of_family(found["difference"])
        points = f"{estimate(one, is_signed=True)} points"
        alone = f"the panel alone says {estimate(raw, is_signed=True)}"
        if is_decided(one):
            names = (first, second) if one.verdict == HIGHER else (second, first)
            return f"On people's scale {names[0]} is better than {names[1]}: {points}; {alone}."
        what = "is open" if one.verdict == "open" else "has no limits"
        return (
            f"On people's scale the difference between {first} and {second} {what}: {points}; "
            f"{alone}."
        )
    told = []
    for verdict, words in (
        (HIGHER, "better than"), (LOWER, "worse than"), ("open", "not shown to differ from"),
        ("undefined", "without limits against"),
    ):  # fmt: skip
        names_told = [
            f"{other} ({estimate(of_family(found['corrected']), is_signed=True)})"
            for (_, other), found in with_top.items()
            if found["corrected"].verdict == verdict
        ]
        told += [f"{words} {_some(names_told)}"] if names_told else []
    return f"On people's scale {top} is {', '.join(told)}.{_other_verdicts(pairs)}"


def _by_map(means: dict[str, Figures], pairs: dict[Pair, Figures]) -> str:
    """What the map makes of the panel's scores, without a verdict."""
    top = next(iter(means))
    told = [
        f"{number(found['corrected'].value, is_signed=True)} points against {other}"
        for (first, other), found in pairs.items()
        if first == top and _known(found)
    ]
    if told:
        return f"By the map, {top} has {_some(told)} on people's scale."
    each = [
        f"{name} {number(one['corrected'].value)} (the panel alone: {estimate(one['mean'])})"
        for name, one in means.items()
        if _known(one)
    ]
    return f"By the map, means on people's scale: {_some(each)}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed_all([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _other_verdicts(pairs: dict[Pair, Figures]) -> str:
    """On how many pairs the panel alone says something else."""
    both = [
        (found["difference"].verdict, found["corrected"].verdict)
        for found in pairs.values()
        if "undefined" not in (found["difference"].verdict, found["corrected"].verdict)
    ]
    if not both:
        return ""
    n = sum(one != other for one, other in both)
    return f" The panel alone says otherwise of {n} of {units(len(both), 'pair')}."


def _raw(means: dict[str, Figures], pairs: dict[Pair, Figures]) -> str:
    """What the panel alone says, in one sentence."""
    known = ((pair, f["difference"]) for pair, f in pairs.items() if f["difference"].is_defined)
    if found := next(known, None):  # none, where no two answered the same prompt
        (first, second), one = found
        told = f"{first} less {second} {estimate(one, is_signed=True)} points"
    else:
        name, figures = next(iter(means.items()))
        told = f"{name} {estimate(figures['mean'])}"
    return f"The panel's own scores: {told}."


def _trust(
    shown: dict[Pair, Figures] | dict[str, Figures],
    sampled: Sampled,
    rated: str | None,
    drift: pd.DataFrame,
    moved: Sequence[str],
) -> list[tuple[str, str]]:
    told = []
    if sampled.n_rated:
        how = {RANDOM: "drawn at random, as was said", None: "nobody said how they were taken"}
        drawn = how.get(rated, "chosen")
        if sampled.n_rated == sampled.n_prompts:
            drawn = "every one of them"
        told.append(
            (
                "people",
                (
                    f"{sampled.n_rated:,} of {units(sampled.n_prompts, 'prompt')} rated by "
                    f"{units(sampled.n_raters, 'rater')}, {drawn}"
                ),
            )
        )
    if sampled.n_new and sampled.n_prompts:
        told.append(
            (
                "new",
                (
                    f"{units(sampled.n_new, 'prompt')} of this run were not calibrated: raw "
                    "figures hold them, corrected ones do not"
                ),
            )
        )
    if sampled.refused is None:
        widths = [
            ((one.high - one.low), (alone.high - alone.low))
            for found in shown.values()
            if (one := found["corrected"]).has_interval
            and (alone := found.get("people alone", one)).has_interval
        ]
        if widths and sampled.n_rated < sampled.n_prompts:
            gain = 1 - sum(one for one, _ in widths) / sum(alone for _, alone in widths)
            sentence = (
                f"makes the intervals {percent(gain)} narrower than people's ratings alone"
                if gain >= 0.005
                else "makes the intervals no narrower than people's ratings alone"
            )
            told.append(("panel", sentence))
        told.append(("holds for", "other prompts of this kind, these raters"))
    if sampled.n_unpaired:
        what = units(sampled.n_unpaired, "difference")
        told.append(("raters", f"{what} on a prompt between different raters: none rated both"))
    n_judges = int((drift["measure"] == "change").sum())
    if n_judges:
        sentence = (
            f"{len(moved)} of {n_judges} judges score identical responses differently now"
            if moved
            else f"none of {units(n_judges, 'judge')} is shown to score identical responses "
            "differently now"
        )
        told.append(("drift", sentence))
    return told


def _chart(means: dict[str, Figures], pairs: dict[Pair, Figures]) -> Chart:
    top = next(iter(means))
    shown = [(pair, one) for pair, one in pairs.items() if pair[0] == top][:MOST_LINES]
    columns = {"panel alone": "difference", "on people's scale": "corrected"}

    def of(part: str) -> list[list[float]]:
        return [
            [getattr(of_family(one[name]), part) for name in columns.values()] for _, one in shown
        ]

    return Chart(
        "forest",
        "corrected",
        f"{top} less the others, raw and corrected",
        "Difference in points, with its interval over prompts; right of the line is higher.",
        rows=[other for (_, other), _ in shown],
        columns=list(columns),
        values=of("value"),
        low=of("low"),
        high=of("high"),
        reference=0.0,
        is_diverging=True,
        axis="difference in points",
    )


def _reasons(found: Sequence[Figures], told: str | None) -> list[str]:
    """Why corrected figures, or their intervals, are missing; each once, and none told already."""
    notes: dict[str, None] = {}
    for figures in found:
        one = figures["corrected"]
        if one.reason and one.reason != told and not one.has_interval:
            what = "no interval" if one.is_defined else "not corrected"
            notes[f"{what}: {said(one.reason)}"] = None
    return list(notes)


def _differences(pairs: dict[Pair, Figures], notes: Sequence[str]) -> Table:
    family = next((one["corrected"].family for one in pairs.values()), None)
    jointly = f"; intervals hold jointly for {family}" if family else ""
    return Table(
        caption="Differences in points over prompts: as the panel says, and on people's scale"
        f"{jointly}.",
        label="Differences",
        columns=[
            Column("pair", "id"),
            Column("raw", "estimate", is_signed=True),
            Column("corrected", "estimate", is_signed=True),
        ],
        rows=[
            [
                f"{first} less {second}",
                of_family(figures["difference"]),
                of_family(figures["corrected"]),
            ]
            for (first, second), figures in pairs.items()
        ],
        notes=notes,
    )


def _means(means: dict[str, Figures], notes: Sequence[str]) -> Table:
    return Table(
        caption="Means over prompts: as the panel says, and on people's scale.",
        label="Means",
        columns=[
            Column("respondent", "id"),
            Column("prompts", "count"),
            Column("raw", "estimate"),
            Column("corrected", "estimate"),
        ],
        rows=[[name, one["mean"].n, one["mean"], one["corrected"]] for name, one in means.items()],
        notes=notes,
    )


def _drift(drift: pd.DataFrame) -> Table:
    rows = [
        (
            str(keys["group"]),
            figures["change"],
            int(figures["n_responses"].value),
            figures["change"].p_adjusted,
            "the judge moved, not the respondents" if figures["change"].verdict else "",
        )
        for keys, figures in estimates_by(drift, ["group"])
    ]
    columns = [
        Column("judge", "id"),
        Column("change", "estimate", is_signed=True),
        Column("responses", "count"),
        Column("p (Holm)", "p"),
        Column("verdict", "wide"),
    ]
    return Table("Change of each judge on identical responses.", "Drift", columns, rows)


def _alone(pairs: dict[Pair, Figures]) -> Table:
    """What people's ratings alone say, and how far the panel is listened to."""
    nothing = Estimate(float("nan"))
    return Table(
        caption="What the panel adds: differences by people's ratings of the rated prompts alone, "
        "with the panel, and how far it is listened to (0 to 1).",
        label="What the panel adds",
        columns=[
            Column("pair", "id"),
            Column("rated", "count"),
            Column("people alone", "estimate", is_signed=True),
            Column("corrected", "estimate", is_signed=True),
            Column("weight", "number"),
        ],
        rows=[
            [
                f"{first} less {second}",
                one["corrected"].n,
                one.get("people alone", nothing),
                one["corrected"],
                one.get("weight", nothing).value,
            ]
            for (first, second), one in pairs.items()
        ],
    )


def _corrections(applied: Sequence[str], withheld: Sequence[tuple[str, str]]) -> str:
    return ", ".join(applied) or ("none" if withheld else "none were earned")


def _meaning() -> Points:
    return Points(
        [
            (
                "Corrected:",
                (
                    "what people would say on average, from the panel's scores of all prompts and "
                    "what these miss on the rated ones (PPI++, the prompt is the unit). The panel "
                    "need not be right for it; the rated prompts must be a random sample."
                ),
            ),
            (
                "A difference between people's means on a prompt",
                "is that of the raters who rated both sides.",
            ),
            ("By the map alone:", f"{HOLDS_IF_ALIKE}. There is no interval."),
            (
                "A judge that moved",
                (
                    "does no harm to corrected figures: people's ratings are held against the "
                    "scores of this run. Calibrated scores and maps are of the judge as it was."
                ),
            ),
        ]
    )
