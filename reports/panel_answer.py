"""What a panel run answers and on what that rests: headline, trust, and the figures behind them.

`judges_told` and `panel_worth` say the same of the panel of a stress test or an attack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate, undefined
from ..formats import count, interval, listed, number, share, short, units, words
from ..precision.text import precision_of, spared_word
from ..records.design import design_sentence, stored_design
from ..records.estimates import ESTIMATES_FILE, estimate_at, estimates_by, read_estimates, select
from .comparison import NOT_CALIBRATED as NOT_CALIBRATED  # noqa: PLC0414 - of every page
from .comparison import Differences, other_judges
from .document import BY_THIS_PANEL, in_demonstration
from .weak_models import weak_models, weak_models_line, with_weak_models

if TYPE_CHECKING:
    import pandas as pd

SKEWED: Final = 0.75
"""Skewness of means over prompts from which intervals for other judges are called short: those of
an exponential distribution have 2, those of the skewed worlds simulated about 1.2."""
FEWEST_SKEWED: Final = 20
"""Prompts from which that skewness tells something, and the intervals fall short."""

NOT_SCORED: Final = "not scored"
"""In the table `missing`: without a score, whatever the reason."""

Figures = dict[tuple[str, ...], dict[str, Estimate]]


def panel_worth(folder: Path | None) -> Estimate | None:
    """How many independent judges a panel's run says its votes are worth; None where it does not.

    Args:
        folder: of the panel's run; None where nothing was judged.
    """
    if folder is None or not (folder / ESTIMATES_FILE).is_file():
        return None
    return estimate_at(read_estimates(folder), "worth", "effective judges")


def judges_told(panel: Mapping[str, Any], worth: Estimate | None) -> str:
    """Who judged, and what the votes on a response are worth.

    Args:
        panel: the part of run.json that describes it.
        worth: from `panel_worth`.
    """
    n_personas, n_models = len(panel["personas"]), len(panel["models"])
    personas, models = units(n_personas, "persona"), units(n_models, "model")
    if worth is not None and worth.is_defined:
        many = units(worth.n, "judgment")
        return f"{personas} × {models}: {many}, worth about {worth.value:.2g} independent ones"
    if min(n_personas, n_models) > 1:
        why = f" ({worth.reason})" if worth is not None and worth.reason else ""
        return f"{personas} × {models}; how many independent judges that equals is unknown{why}"
    alone, n = ("model", n_personas) if n_models == 1 else ("persona", n_models)
    if n == 1:
        return "one judge"
    return f"One {alone} cannot show how many independent judges these {count(n)} equal."


def panel_answer(
    record: Mapping[str, Any], estimates: pd.DataFrame
) -> tuple[list[str], list[tuple[str, str]]]:
    """Headline and trust of a panel run, of run.json and its estimates alone."""
    view = PanelView(record, estimates)
    first, *others = view.headline()
    first = in_demonstration(first) if record["demonstration"] else first
    return [first, *others], view.trust()


class PanelView:
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
        first, *_ = criteria
        self.criteria = ("composite", *criteria) if len(criteria) > 1 else ("composite",)
        self.heads = {
            "composite": "composite" if len(criteria) > 1 else words(first),
            **{name: words(name) for name in criteria},
        }
        self.axes = tuple(dict.fromkeys(str(p["axis"]) for p in record["panel"]["personas"]))
        self.axis_of = {str(p["id"]): str(p["axis"]) for p in record["panel"]["personas"]}
        self._rows: dict[tuple[str, ...], Figures] = {}
        self._such: dict[str, Estimate] | None = None
        self.differences = Differences(estimates)
        self.weak_models = weak_models(estimates)

    def rows(self, table: str, *keys: str) -> Figures:
        """Keys ("" for null) to their figures by measure."""
        if (table, *keys) not in self._rows:
            rows = select(self.estimates, table)
            found = estimates_by(rows[rows["universe"] != "judges like these"], keys)
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
        means = {
            who: found["mean"]
            for (who, name), found in rows.items()
            if name == "composite" and "mean" in found
        }
        return sorted(
            means, key=lambda who: (-means[who].value if means[who].is_defined else np.inf, who)
        )

    def mean(self, respondent: str, criterion: str = "composite") -> Estimate:
        """A respondent's mean; that of the run for ""."""
        if not respondent:
            return self.rows("run", "criterion")[criterion,]["mean"]
        return self.rows("respondent", "respondent", "criterion")[respondent, criterion]["mean"]

    def such_judges(self, respondent: str) -> Estimate:
        """A respondent's mean composite with its interval for other judges as well."""
        if self._such is None:
            rows = select(self.estimates, "respondent", criterion="composite")
            rows = rows[(rows["universe"] == "judges like these") & (rows["measure"] == "mean")]
            self._such = {
                str(at["respondent"]): figures["mean"]
                for at, figures in estimates_by(rows, ["respondent"])
            }
        return self._such.get(respondent, undefined(""))

    @property
    def other_judges(self) -> str:
        """Which other judges such an interval speaks of."""
        return other_judges([self.such_judges(name) for name in self.best_first])

    def such_judges_shown(self, respondent: str) -> str:
        """The limits of that."""
        found = self.such_judges(respondent)
        return interval(found.low, found.high)

    def skewed_told(self, respondents: Sequence[str]) -> list[str]:
        """Whose interval for other judges may be too short, as means over prompts are skewed."""
        rows = select(self.estimates, "respondent")
        rows = rows[rows["measure"] == "skewness"]
        skewness = {
            str(at["respondent"]): found["skewness"]
            for at, found in estimates_by(rows, ["respondent"])
        }
        skewed = []
        for name in respondents:
            found, such = skewness.get(name), self.such_judges(name)
            if found and such.has_interval and such.n >= FEWEST_SKEWED:
                skewed += [short(name)] if abs(found.value) > SKEWED else []
        if not skewed:
            return []
        told = (
            f"means of prompts are skewed for {listed(skewed)}: there the interval for "
            f"{self.other_judges} may be too short (on skewed data it covered .93 at 30 prompts "
            "and .90 at 100 in the place of .95)"
        )
        return [told]

    def headline(self) -> list[str]:
        """Who scores higher than whom, and whether the models could tell; or what one scored."""
        models = len(self.record["panel"]["models"])
        return with_weak_models(self._answer(), self.weak_models, models)

    def _answer(self) -> list[str]:
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
            mean = f"the mean composite of {short(names[0])} is {told(names[0])} {points}."
        else:
            mean = f"the mean composite over all respondents is {told('')} {points}."
        return [f"{BY_THIS_PANEL}{mean}"]

    def trust(self) -> list[tuple[str, str]]:
        """Whether the numbers can be trusted, and why."""
        record, judgments = self.record, self.judgments
        counts = {name: n for name, n in judgments.items() if name != "scored"}
        rule = precision_of(record)
        spared = ""
        if rule and rule["not_asked"]:
            counts["not_asked"] -= rule["not_asked"]
            spared = f", {count(rule['not_asked'])} {spared_word(rule)}"
        screened = record["faults"].get("not_asked: screened", 0)
        counts["not_asked"] -= screened
        again = "" if "imported" in record["identity"] else " (asked again by the same command)"
        others = ", ".join(
            f"{count(n)} {words(name)}" + (again if name == "failed" else "")
            for name, n in [*counts.items(), ("not asked (screened responses)", screened)]
            if n
        )
        scored = f"{count(judgments['scored'])} scored of {count(self.n_planned)}"
        coverage = f"{scored} planned judgments{spared}" + (f"; {others}" if others else "")
        verdicts = self.verdicts
        missing = [f"{count(n)} {name}" for name, n in verdicts.items() if n and name != "scored"]
        responses = f"{count(verdicts['scored'])} scored of {count(record['responses']['n'])}" + (
            f"; {', '.join(missing)}" if missing else ""
        )
        told = [("responses", responses)]
        if not missing:
            told = []
            coverage += f"; {responses.replace(' scored', '')} responses"
        told = [*weak_models_line(self.weak_models), ("coverage", coverage), *told]
        if (design := stored_design(self.estimates)) is not None:
            told.insert(0, ("design", design_sentence(design)))
        panel = record["panel"]
        judges = judges_told(panel, self.rows("worth")[()]["effective judges"])
        told += [
            *self.missing(),
            *self.unbalanced(),
            *self.differences.trust(),
            ("judges", judges),
            ("people", self.people),
        ]
        if flags := self.counts("flags"):
            named = [f"{words(short(name))} {count(n)}" for name, n in flags.items()]
            told.append(("flags", listed(named, 3)))
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

    def missing(self) -> list[tuple[str, str]]:
        """That judges leave the answers of some respondents without a score more often."""
        rows = select(self.estimates, "missing", detail=NOT_SCORED)
        shares = {
            str(at["respondent"]): found["share"]
            for at, found in estimates_by(rows[rows["measure"] == "share"], ["respondent"])
        }
        differ = {
            str(at["respondent"]): found["difference"].value
            for at, found in estimates_by(rows[rows["measure"] == "difference"], ["respondent"])
            if found["difference"].verdict in ("higher", "lower")
        }
        if not differ:
            return []
        if len(shares) == 2:
            named = sorted(shares, key=lambda who: -shares[who].value)
        else:
            named = sorted(differ, key=lambda who: -abs(differ[who]))
            most = max(shares, key=lambda who: shares[who].value)
            named += [most] if most not in differ else []
        told = listed([f"{short(who)} {share(shares[who])}" for who in named])
        what = f"UNEQUAL: judgments without a score differ by respondent ({told}); means speak of "
        return [("missing", f"{what}what was scored")]

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
            if "moved" in figures and abs(figures["moved"].value) >= 0.005
        }
        shifts = [f"{short(who)} {number(one, is_signed=True)}" for who, one in moved.items()]
        so = f", which moved {listed(shifts)}" if shifts else ", which moved no mean by 0.01"
        return [("unbalanced", f"too little of {listed(missing)}; means are freed from it{so}")]

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
                "The run is long: differences, intervals for other judges, distributions, ranks, "
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
