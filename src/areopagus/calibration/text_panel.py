"""The printed report: the panel's side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..aggregation.estimate import Estimate
from ..formats import listed, said, units
from ..number import cell, heading, item, plain, probability, show, table
from .alt import AltTestResult
from .cautions import FEW_PROMPTS
from .corrections import Corrections
from .how_many import HowMany
from .judges_table import JudgeRow, JudgesTable, Kind
from .one_person import AgainstOnePerson
from .panel_people import PanelPeople
from .panel_worth import NullBand
from .unsaid import Unsaid

MOST_ROWS = 60

_MAPS = {"mean": "people's mean for every response", "isotonic": "isotonic map"}

KINDS: tuple[Kind, ...] = ("judge", "persona", "model", "axis")


def panel_lines(panel: PanelPeople) -> list[str]:
    """Returns the panel with people."""
    lines = heading("3. Panel with people")
    if not panel.by_target:
        return lines + item("", "undefined: people and panel share no criterion")
    for one in panel.by_target:
        lines += [
            "",
            *item(
                one.target,
                f"{units(one.n_responses, 'response')} in {units(one.n_prompts, 'prompt')}",
            ),
        ]
        lines += item("tau-b within prompts", show(one.tau), indent=4)
        lines += item("no association", probability(one.p), indent=4)
        lines += item("mean of per-prompt tau", show(one.mean_tau), indent=4)
        lines += item("pairs ordered as people do, ties 1/2", show(one.accuracy), indent=4)
        lines += item("ceiling that these raters allow", show(one.ceiling), indent=4)
        if one.above_ceiling:
            lines += item(
                "CAUTION",
                "tau is above the ceiling: chance, ties, or errors shared with these raters",
                indent=4,
            )
        lines += item("the paper's definition: pooled tau-b", show(one.pooled_tau), indent=4)
    if any(one.accuracy.has_interval and one.n_prompts < FEW_PROMPTS for one in panel.by_target):
        lines += ["", *item(
            "few prompts",
            "some intervals are too short. Measured coverage of 95% at 9 prompts: tau (bootstrap) "
            ".942, mean of per-prompt tau and pair accuracy .925, within source .933; at 26 .952, "
            ".945, .946",
        )]  # fmt: skip
    lines.append("")
    if panel.pair_types:
        lines += item(
            "by type of pair",
            f"pair accuracy; the source-only judge prefers every {panel.source_preferred}'s "
            "response, the length-only judge the longer one",
        )
        lines += table(
            ("pairs", "n", "panel", "source only", "length only"),
            (
                (row.pair_type, f"{row.n_pairs:,}", cell(row.panel), cell(row.source_only),
                 cell(row.length_only))
                for row in panel.pair_types
            ),
        )  # fmt: skip
    lines += item("panel less source-only judge", show(panel.beyond_source))
    lines += item("panel less length-only judge", show(panel.beyond_length))
    if panel.source_confound:
        lines += item(
            "SOURCE CONFOUND",
            "the panel tells people from models, and within either source its agreement is not "
            "shown to be above chance",
        )
    return lines


def one_person_lines(one: AgainstOnePerson) -> list[str]:
    """Returns the panel against one person."""
    lines = heading("4. Panel against one more person, on the same footing")
    lines += item("", "each rater is left out in turn; rater and panel are both compared with "
                  "the mean of the same other raters")  # fmt: skip
    lines += item("one person, tau", show(one.human_tau))
    lines += item("panel, tau", show(one.panel_tau))
    lines += item("panel less person, tau", show(one.tau_difference))
    lines += item("one person, pair accuracy", show(one.human_accuracy))
    lines += item("panel, pair accuracy", show(one.panel_accuracy))
    lines += item("panel less person, pair accuracy", show(one.accuracy_difference))
    difference = one.accuracy_difference
    if difference.has_interval:
        verdict = (
            "better than one more person" if difference.low > 0
            else "worse than one more person" if difference.high < 0
            else "not shown to differ from one more person"
        )  # fmt: skip
        lines += item("so the panel is", verdict)
    rows = one.raters[:20]
    if rows:
        lines += table(
            ("rater left out", "prompts", "rater", "panel"),
            ((r.rater, str(r.n_prompts), cell(r.human), cell(r.panel)) for r in rows),
        )
        if len(one.raters) > 20:
            lines += item("", f"{len(one.raters) - 20:,} more raters in the JSON")
    return lines


def judges_lines(judges: JudgesTable) -> list[str]:
    """Returns every judge, persona, model and axis."""
    lines = heading("5. Every judge, persona, model and axis")
    if not judges.rows:
        return lines + item("", "undefined: people and panel share no criterion")
    if judges.useless:
        lines += item("USELESS (agreement covers chance)", listed(judges.useless, 12))
    if judges.source_only:
        lines += item("SOURCE ONLY (at chance within source)", listed(judges.source_only, 12))
    n_prompts = max(row.accuracy.n for row in judges.rows)
    if (judges.useless or judges.source_only) and n_prompts < FEW_PROMPTS:
        lines += item(
            "CAUTION",
            f"with {units(n_prompts, 'prompt')} good judges may be among those named: at 9 prompts "
            "that befell one or more of ten in a third of simulated worlds, at 26 in none",
        )
    for kind in KINDS:
        rows = judges.of(kind)
        if not rows:
            continue
        shown = rows[:MOST_ROWS]
        lines += ["", *table(
            (kind, "scored", "accuracy", "tau", "severity", "spread"),
            ((r.name, f"{r.n_scored:,}", cell(r.accuracy), cell(r.tau), cell(r.severity),
              cell(r.spread)) for r in shown),
        )]  # fmt: skip
        lines += ["", *table(
            (kind, "without it", "own family", "length", "abst."),
            ((r.name, cell(r.without, digits=3), cell(r.own_family), cell(r.length),
              cell(r.abstention)) for r in shown),
        )]  # fmt: skip
        if len(rows) > len(shown):
            lines += item("", f"{len(rows) - len(shown):,} more in the JSON")
    legend = (
        "accuracy: pairs ordered as people do, ties 1/2; severity: points above the panel; without "
        "it: change of the panel's accuracy when it is left out; own family: points more for its "
        "own family's responses; length: points a doubling of length, people's mean held fixed"
    )
    lines += ["", *item("", legend)]
    lines += _why_undefined(judges.rows)
    apart = judges.severity_parts
    if apart.parts:
        lines += ["", *item("severity taken apart",
                            "score = response + persona + model, fitted together")]  # fmt: skip
        lines += table(
            ("", "name", "severity"),
            ((part.kind, part.name, cell(part.severity)) for part in apart.parts[:MOST_ROWS]),
        )
        if len(apart.parts) > MOST_ROWS:
            lines += item("", f"{len(apart.parts) - MOST_ROWS:,} more in the JSON")
    else:
        lines += item("severity taken apart", f"not made: {apart.reason}")
    return lines


def _why_undefined(rows: Sequence[JudgeRow]) -> list[str]:
    lines = []
    for name in ("accuracy", "severity", "without", "own_family", "length", "abstention"):
        reasons = {
            number.reason
            for row in rows
            if (number := getattr(row, name)).reason
            and not (number.is_defined and name == "abstention")
        }
        if reasons:
            lines += item(f"{name.replace('_', ' ')}, where missing", "; ".join(sorted(reasons)))
    return lines


def how_many_lines(size: HowMany) -> list[str]:
    """Returns how many judges are enough."""
    lines = heading("6. How many judges")
    if size.components:
        lines += item("variance components", f"of {size.n_scores:,} judgments"
                      + (", a sample of prompts" if size.is_sample else ""))  # fmt: skip
        lines += table(
            ("component", "levels", "variance", ""),
            (
                (c.meaning, f"{c.n_levels:,}", cell(c.variance, digits=3),
                 "negative: counts as 0" if c.is_negative else "")
                for c in size.components
            ),
        )  # fmt: skip
        lines += item("", "the intervals of few prompts are too short: measured coverage of 95% "
                      "is .914 to .956 at 9 prompts, .939 to .950 at 26")  # fmt: skip
    if size.few_levels:
        lines += item("hardly known", f"{', '.join(size.few_levels)}: fewer than five levels")
    lines += item("worth in independent judgments", show(size.effective, digits=1))
    lines += _null(size.effective_null, size.effective)
    lines += item(_errors_label(size), show(size.effective_of_errors, digits=1))
    lines += _null(size.effective_of_errors_null, size.effective_of_errors)
    lines += item(
        "", "both hold for these personas and models; few models say little of others", indent=4
    )
    if size.reason:
        lines += item("designs", f"undefined: {size.reason}")
    if size.designs:
        lines += item("best design for each budget of calls a response",
                      "told apart are responses to one prompt")  # fmt: skip
        rows = [
            (f"{d.budget:,}", str(d.personas), str(d.models), str(d.repeats), str(d.calls),
             plain(d.e_rho2), plain(d.standard_error))
            for d in size.designs
        ]  # fmt: skip
        if size.this_panel is not None:
            d = size.this_panel
            rows.append(("this panel", str(d.personas), str(d.models), str(d.repeats),
                         str(d.calls), plain(d.e_rho2), plain(d.standard_error)))  # fmt: skip
        lines += table(
            ("budget", "personas", "models", "repeats", "calls", "Erho2", "std. error"), rows
        )
    if size.needed:
        lines += item(
            "fewest calls a response for a standard error, in points",
            "of the order of responses to one prompt, and of the level of a score",
        )
        lines += table(
            ("std. error", "for the", "personas", "models", "repeats", "calls"),
            (
                (plain(one.standard_error, 2), one.aim, *(
                    ("-", "-", "-", "not reached") if one.calls is None
                    else (str(one.personas), str(one.models), str(one.repeats), str(one.calls))
                ))
                for one in size.needed
            ),
        )  # fmt: skip
    return lines


def _errors_label(size: HowMany) -> str:
    source = f" ({size.errors_from})" if size.errors_from else ""
    return f"from errors against people{source}"


def _null(null: NullBand, number: Estimate) -> list[str]:
    """What independent judges come out as, and on which side of it the panel stands."""
    if not number.is_defined:
        return []
    if not null.is_known:
        return item("independent judges come out as", f"unknown: {null.reason}", indent=4)
    high = plain(null.null_high, 1) if math.isfinite(null.null_high) else "infinity"
    verdict = (
        "below it: errors are shared" if number.value < null.null_low
        else "inside: no shared errors are shown" if not number.value > null.null_high
        else "above it: errors offset each other"
    )  # fmt: skip
    text = f"{plain(null.null_low, 1)} to {high} ({null.method}); the panel is {verdict}"
    return item("independent judges come out as", text, indent=4)


def corrections_lines(found: Corrections) -> list[str]:
    """Returns the corrections and which are earned."""
    lines = heading("7. Corrections, out of fold")
    weights = found.weights
    lines += item("weights of judges", "keep equal weights" if weights.adopted == "equal"
                  else f"ADOPT {weights.adopted}")  # fmt: skip
    if weights.reason:
        lines += item("", weights.reason, indent=4)
    for name, number in weights.tau.items():
        inside = weights.tau_in_sample.get(name)
        text = f"undefined: {number.reason}"
        if number.is_defined:
            text = f"{plain(number.value)} out of fold, "
            text += f"{plain(inside.value) if inside else 'undef.'} in sample"
        if name in weights.p:
            text += f"; gain {probability(weights.p[name])}"
        lines += item(f"tau, {name}", text, indent=4)
    score_map = found.score_map
    if found.levels_from:
        lines += item("people's level, for all that follows", found.levels_from)
    lines += item("map to people's scale", score_map.reason or (
        "keep the scores as they are" if score_map.adopted == "as is"
        else f"ADOPT the {score_map.adopted} map"))  # fmt: skip
    if score_map.note:
        lines += item("", score_map.note, indent=4)
    for name, number in score_map.error.items():
        text = f"root mean squared error {plain(number.value, 2)} ({units(number.n, number.unit)})"
        for test in (name, f"{name} over mean"):
            if test in score_map.p:
                text += f"; {probability(score_map.p[test])}"
        lines += item(_MAPS.get(name, name), text, indent=4)
    if found.group_means_reason:
        lines += item("means of people's ratings", f"undefined: {found.group_means_reason}")
    for mean in found.group_means:
        lines += item(
            f"people's mean of {mean.group}",
            f"{show(mean.labelled_only, digits=2)}; with the panel's {mean.n_unlabelled:,} other "
            f"scores {show(mean.prediction_powered, digits=2)}, weight {plain(mean.weight, 2)}: "
            + ("EARNED" if mean.earned else "not narrower: keep the plain mean"),
        )
    return lines + item("conformal half-width", show(found.conformal, digits=2))


def alt_lines(tests: tuple[AltTestResult, ...], reason: str | None) -> list[str]:
    """Returns the alt-test."""
    lines = heading("8. May the panel stand in for a rater? (alternative annotator test)")
    if reason:
        lines += item("", f"not made: {reason}")
    for test in tests:
        lines += item(
            f"{test.form} ({test.score}, unit {test.unit}, epsilon {test.epsilon:g})",
            test.verdict.upper(),
        )
        lines += item("winning rate", show(test.winning_rate, digits=2), indent=4)
        lines += item("advantage probability", show(test.advantage, digits=2), indent=4)
        if test.power.is_defined:
            lines += item("power of a judge as good as one human", plain(test.power.value, 2),
                          indent=4)  # fmt: skip
            lines += item("power of a judge who knows the truth",
                          plain(test.power_of_truth.value, 2), indent=4)  # fmt: skip
        for name, (rate, advantage) in test.references.items():
            lines += item(f"a {name} judge gets", f"winning rate {plain(rate, 2)}, advantage "
                          f"{plain(advantage, 2)}", indent=4)  # fmt: skip
        if test.note:
            lines += item("note", test.note, indent=4)
    return lines


def unsaid_lines(unsaid: tuple[Unsaid, ...], number: str) -> list[str]:
    """Returns what cannot be said."""
    lines = heading(f"{number}. What cannot be said with these data")
    for one in unsaid:
        count = f" ({units(one.n_figures, 'figure')})" if one.n_figures else ""
        lines += item(one.what, said(one.reason) + count)
    return lines if unsaid else lines + item("", "nothing was left out for want of data")
