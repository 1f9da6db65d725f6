"""What is shown of a calibration, and of an agreement: made of run.json and the estimates alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..formats import count, estimate, listed, number, said, units, words
from ..records.estimates import estimate_at, estimates_by, select
from ..reports.document import (
    Audience,
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Scalar,
    Section,
    Table,
)
from ..reports.views import Measure, estimates_table
from .calibration_items import TABLE as ITEMS
from .corrections import ADOPTED
from .decision_study import THIS_PANEL
from .judges import SOURCE_ONLY, USELESS
from .people import EVERY

if TYPE_CHECKING:
    import pandas as pd

FEW_PROMPTS: Final = 20
"""Below so many prompts some intervals are too short, and judges are named by mistake too often,
not to say so."""

MOST_RATERS: Final = 300
"""Raters of one table and criterion; of more, the harshest and the most lenient."""

_CRITERION: Final = {"criterion": "criterion", "detail": "given as"}
_RANK_AND_SCORE: Final[Mapping[str, Mapping[str | None, str]]] = {
    "detail": {"rank": "ranks", "score": "scores"}
}

EFFECTS: Final[Mapping[str | None, str]] = {
    "q": "prompts",
    "r:q": "responses within prompts",
    "P": "personas",
    "M": "models",
    "PM": "personas x models",
    "qP": "prompts x personas",
    "qM": "prompts x models",
    "rP": "responses x personas",
    "rM": "responses x models",
    "rPM": "responses x personas x models",
}


def demonstration(stand_ins: Sequence[str]) -> str:
    """Returns the sentence that heads whatever an embedded stand-in had a part in."""
    which = listed(stand_ins, 4)
    return (
        f"An embedded stand-in took part ({which}), which is no language model. These numbers show "
        "how the tool works; they are no findings."
    )


def calibration_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """Describes a calibration: whether the panel may stand in for people, and where not."""
    shown = _Shown(record, estimates)
    sections = [
        ("criteria", "By criterion", shown.by_criterion(), "summary"),
        ("matched", "What was matched", shown.matched(), "detail"),
        ("people", "People with people", shown.people(), "detail"),
        ("raters", "Raters, harsh and lenient", shown.raters(), "detail"),
        ("panel", "Panel with people", shown.panel(), "detail"),
        ("one-person", "Panel against one more person", shown.one_person(), "detail"),
        ("judges", "Judges, personas, models, axes", shown.judges(), "detail"),
        ("how-many", "How many judges", shown.how_many(), "detail"),
        ("corrections", "Corrections, out of fold", shown.corrections(), "detail"),
        ("alt-test", "May the panel stand in for a rater?", shown.alt_test(), "detail"),
        ("items", "Calibration items", shown.items(), "detail"),
        ("limitations", "What cannot be said with these data", shown.limitations(), "detail"),
        ("paper", "The paper's definitions and figures", shown.paper(), "appendix"),
        ("method", "How it was computed", shown.method(), "appendix"),
    ]
    stand_ins = record["stand_ins"]
    return Document(
        title="Calibration of a panel against people",
        kind="calibration",
        headline=list(shown.headline()),
        trust=list(shown.trust()),
        sections=_sections(sections),
        is_demonstration=bool(stand_ins),
        demonstration=demonstration(stand_ins),
    )


def agreement_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """Describes how far people agree with each other."""
    shown = _Shown(record, estimates)
    sections = [
        ("criteria", "By criterion", shown.people_by_criterion(), "summary"),
        ("matched", "What was matched", shown.matched(), "detail"),
        ("people", "People with people", shown.people(), "detail"),
        ("raters", "Raters, harsh and lenient", shown.raters(), "detail"),
        ("items", "Calibration items", shown.items(), "detail"),
        ("limitations", "What cannot be said with these data", shown.limitations(), "detail"),
        ("paper", "The paper's definitions and figures", shown.paper(), "appendix"),
        ("method", "How it was computed", shown.method(), "appendix"),
    ]
    return Document(
        title="Agreement of people with people",
        kind="agreement",
        headline=list(shown.agreement_headline()),
        trust=list(shown.people_trust()),
        sections=_sections(sections),
    )


def _sections(given: Sequence[tuple[str, str, Iterator[Part], Any]]) -> list[Section]:
    """The sections that hold something."""
    made = []
    for name, title, parts, audience in given:
        kept = list(parts)
        if kept:
            who: Audience = audience
            made.append(Section(name, title, kept, who))
    return made


class _Shown:
    """Parts of the document of one calibration, or of one agreement."""

    def __init__(self, record: Mapping[str, Any], estimates: pd.DataFrame) -> None:
        self.record, self.estimates = record, estimates
        target = record.get("target")
        self.main: dict[str, str] = (
            {"criterion": target["criterion"], "detail": target["kind"]} if target else {}
        )

    def of(self, table: str, measure: str, **keys: str | None) -> Estimate | None:
        """One estimate, or None."""
        return estimate_at(self.estimates, table, measure, **keys)

    def n(self, table: str, measure: str, **keys: str | None) -> int:
        """One count; 0 where there is none."""
        found = self.of(table, measure, **keys)
        return 0 if found is None or math.isnan(found.value) else int(found.value)

    def groups(
        self, table: str, keys: Sequence[str], **where: str | None
    ) -> list[tuple[dict[str, Any], dict[str, Estimate]]]:
        """Rows that belong together; see `estimates_by`."""
        return list(estimates_by(select(self.estimates, table, **where), keys))

    def table(self, name: str, measures: Sequence[Measure], caption: str, **given: Any) -> Table:
        """`estimates_table`; a table without rows where there is nothing."""
        keys = given.pop("keys", _CRITERION)
        named = {**_RANK_AND_SCORE, **given.pop("named", {})}
        made = estimates_table(
            self.estimates,
            name,
            keys=keys,
            measures=measures,
            caption=caption,
            named=named,
            **given,
        )
        return made or Table(caption, caption[:60], [], [])

    # ------------------------------------------------------------------ the answer

    def headline(self) -> Iterator[str]:
        """Says on what the panel may stand in for one more person, and on what it may not."""
        found: dict[str, list[str]] = {}
        for keys, figures in self.groups("panel", ["criterion", "detail"]):
            found.setdefault(self._verdict(keys, figures), []).append(self.named(keys))
        if not found:
            yield "Nothing can be compared: people and panel share no criterion."
            return
        is_last = {
            "better": "orders responses better than one more person would, on {}",
            "not told apart": "is not told apart from one more person on {}",
            "agrees": "agrees with people on {}",
            "worse": "is worse than one more person on {}",
            "none": "is not shown to agree with people on {}",
        }
        parts = [text.format(listed(found[k])) for k, text in is_last.items() if k in found]
        if parts:
            yield f"The panel {'; '.join(parts)}."
        if "few" in found:
            yield f"Cannot tell on {listed(found['few'])}: too few prompts for an interval."
        if "noise" in found:
            yield (
                f"Cannot tell on {listed(found['noise'])}: people are not shown to agree better "
                "than chance there, and nothing can be calibrated against it."
            )
        if self._is_confounded():
            yield (
                "Source confound: the panel tells people from models, and within either source its "
                "agreement is not shown to be above chance."
            )

    def _verdict(self, keys: Mapping[str, Any], figures: Mapping[str, Estimate]) -> str:
        tau, ceiling = figures["tau"], figures.get("ceiling")
        if not tau.has_interval and tau.n < 6:
            return "few"
        if ceiling is None or not ceiling.is_defined or (ceiling.has_interval and ceiling.low <= 0):
            return "noise"
        if not (tau.low if tau.has_interval else tau.value) > 0:
            return "none"
        one = self.of("one person", "accuracy_difference", rater=None, **keys)
        return (one.verdict if one is not None else None) or "agrees"

    def _is_confounded(self) -> bool:
        beyond = self.of("panel", "beyond_source", **self.main)
        return beyond is not None and beyond.verdict is not None

    def named(self, keys: Mapping[Any, Any]) -> str:
        """The criterion in words; with what people gave where that is no matter of course."""
        name = words(str(keys["criterion"]))
        kinds = set(select(self.estimates, "people")["detail"])
        return f"{name} ({keys['detail']}s)" if len(kinds) > 1 else name

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether it can be trusted: design, coverage, people, panel, judges, corrections."""
        yield from self.design()
        yield from self.people_line(self.main)
        yield from self._panel_line()
        worth, size = self.of("size", "worth"), self.n("matched", "n_judges")
        if worth is not None and worth.is_defined:
            repeats = self.n("matched", "n_repeats") or 1
            many = f"{units(size * repeats, 'judgment')} a response"
            yield "judges", f"{many} are worth about {number(worth.value, 1)} independent ones"
        yield from self._corrected()
        test = self.of("alt-test", "winning_rate", detail="by rank", baseline=None)
        if test is not None and test.is_defined:
            power = self.of("alt-test", "power", detail="by rank", baseline=None)
            strength = (
                f"; a judge as good as a rater would pass with probability {number(power.value)}"
                if power is not None and power.is_defined
                else ""
            )
            yield "alt-test", f"{test.verdict}{strength}"
        if cautions := list(self.cautions()):
            yield "cautions", " ".join(cautions)

    def people_trust(self) -> Iterator[tuple[str, str]]:
        """The same of people alone."""
        yield from self.design()
        for keys, _ in self.groups("people", ["criterion", "detail"])[:1]:
            yield from self.people_line(keys)
        harsh = self._raters_called("harsh", "lenient", "constant")
        if harsh:
            yield "raters", "; ".join(harsh)

    def design(self) -> Iterator[tuple[str, str]]:
        """Who rated what, and how much of it."""
        one = {"criterion": self.main.get("criterion"), "detail": self.main.get("detail")}
        if not self.main or self.of("people", "n_raters", **one) is None:
            first = self.groups("people", ["criterion", "detail"])
            one = first[0][0] if first else {}
        n = {name: self.n("matched", f"n_{name}") for name in ("raters", "prompts", "responses")}
        sizes = ", ".join(units(n[name], name[:-1]) for name in n)
        n_ratings = self.n("people", "n_ratings", **one) if one else 0
        whole = n["raters"] * n["responses"]
        if whole and n_ratings == whole:
            told = "every rater rated every response"
        elif n["responses"]:
            told = f"{number(n_ratings / n['responses'], 1)} ratings a response and criterion"
        else:
            told = "no ratings"
        alone = "; one response a prompt" if n["responses"] == n["prompts"] else ""
        yield "design", f"{sizes}: {told}{alone}"
        both = self.of("matched", "n_both")
        if both is not None:
            judged = {
                str(k["group"]): int(f["n_judgments"].value)
                for k, f in self.groups("matched", ["group"], factor="status")
            }
            scored = judged.get("scored", 0)
            responses = units(both.n_planned or 0, "response")
            judgments = f"{count(scored)} of {units(sum(judged.values()), 'judgment')} scored"
            yield (
                "coverage",
                f"{judgments}; {count(both.n)} of {responses} rated and scored",
            )

    def people_line(self, keys: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """How far people agree on one criterion, in a line."""
        tau = self.of("people", "tau", **keys) if keys else None
        if tau is None:
            return
        parts = [f"tau {estimate(tau)} between two of them"]
        for name, measure in (("alpha", "alpha_interval"), ("alpha", "alpha_ordinal")):
            alpha = self.of("people", measure, **keys)
            if alpha is not None and alpha.is_defined:
                parts.append(f"{name} {number(alpha.value)}")
                break
        mean, m = self.of("people", "icc_mean", **keys), self.of("people", "mean_raters", **keys)
        if mean is not None and mean.is_defined and m is not None:
            parts.append(f"the mean of {m.value:.3g} is worth {number(mean.value)}")
        yield "people", "; ".join(parts) if tau.is_defined else f"undefined: {said(tau.reason)}"

    def _panel_line(self) -> Iterator[tuple[str, str]]:
        tau = self.of("panel", "tau", **self.main) if self.main else None
        if tau is None:
            return
        told = f"tau {estimate(tau)}" if tau.is_defined else f"tau undefined: {said(tau.reason)}"
        ceiling = self.of("panel", "ceiling", **self.main)
        if ceiling is not None and ceiling.is_defined:
            told += f", ceiling {number(ceiling.value)}"
        right, of_one, difference = (
            self.of("one person", measure, rater=None, **self.main)
            for measure in ("accuracy_of_panel", "accuracy_of_one", "accuracy_difference")
        )
        if right is not None and of_one is not None and difference is not None:
            told += (
                f"; pairs as people {number(right.value)}, one more person "
                f"{number(of_one.value)}: {estimate(difference, is_signed=True)}"
            )
        yield "panel", told

    def _corrected(self) -> Iterator[tuple[str, str]]:
        earned = [
            f"{name} {words(str(keys['group']))}"
            for name, table, plain in (("weights", "weights", "equal"), ("map", "maps", "as is"))
            for keys, found in self.groups(table, ["group"])
            for one in (found.get("tau"), found.get("error"))
            if one is not None and one.verdict == ADOPTED and keys["group"] != plain
        ]
        if earned:
            yield "corrected", f"{', '.join(earned)}: earned out of fold; areopagus apply uses it"
        elif self.groups("maps", ["group"]):
            yield "corrected", "no map and no weights are earned: keep the scores as they are"

    def cautions(self) -> Iterator[str]:
        """What a reader must know before the numbers."""
        above = [
            self.named(keys)
            for keys, found in self.groups("panel", ["criterion", "detail"])
            if found["tau"].verdict
        ]
        if above:
            yield f"Tau above its ceiling on {listed(above)}: chance, ties or shared errors."
        for verdict in (USELESS, SOURCE_ONLY):
            if names := self._judges_called(verdict):
                yield f"{verdict.capitalize()}: {listed(names, 3)}."
        if harsh := self._raters_called("harsh", "lenient", "constant"):
            yield f"Raters: {'; '.join(harsh)}."
        if 0 < self.n("matched", "n_prompts_both") < FEW_PROMPTS:
            yield "Few prompts: some intervals are too short, and good judges may be named."

    def _judges_called(self, verdict: str) -> list[str]:
        measure = "within" if verdict == SOURCE_ONLY else "accuracy"
        rows = self.estimates[
            (self.estimates["table"] == "judges")
            & (self.estimates["factor"] == "judge")
            & (self.estimates["measure"] == measure)
            & (self.estimates["verdict"] == verdict)
        ]
        return [str(name) for name in rows["group"]]

    def _raters_called(self, *verdicts: str) -> list[str]:
        rows = self.estimates[
            (self.estimates["table"] == "raters") & self.estimates["rater"].notna()
        ]
        found = []
        for verdict in verdicts:
            mine = rows.loc[rows["verdict"] == verdict, "rater"].drop_duplicates()
            if len(mine):
                found.append(f"{verdict}: {listed(mine.tolist(), 3)}")
        return found

    def agreement_headline(self) -> Iterator[str]:
        """Says on what people agree better than chance."""
        shared: list[str] = []
        apart: list[str] = []
        unknown: list[str] = []
        for keys, figures in self.groups("people", ["criterion", "detail"]):
            if keys["criterion"] == EVERY or "n_raters" not in figures:
                continue
            tau = _first_defined(figures, "tau", "alpha_ordinal")
            known = tau is not None and tau.has_interval
            into = unknown if tau is None or not known else shared if tau.low > 0 else apart
            into.append(self.named(keys))
        if shared:
            yield f"People agree better than chance on {listed(shared)}."
        if apart:
            yield f"They are not shown to agree better than chance on {listed(apart)}."
        if unknown:
            yield f"Cannot tell on {listed(unknown)}: no figure of agreement has an interval there."
        if not (shared or apart or unknown):
            yield "Nothing can be said: nobody's ratings count."

    # ------------------------------------------------------------------ by criterion

    def by_criterion(self) -> Iterator[Part]:
        """The picture and the table of the summary."""
        names: list[str] = []
        series: dict[str, list[Estimate | None]] = {
            "two people": [], "one more person": [], "panel": [], "ceiling": [],
        }  # fmt: skip
        rows: list[list[Scalar]] = []
        for keys, figures in self.groups("panel", ["criterion", "detail"]):
            people = figures.get("tau_of_raters")
            one = self.of("one person", "tau_of_one", rater=None, **keys)
            names.append(self.named(keys))
            for name, found in zip(
                series, (people, one, figures["tau"], figures.get("ceiling")), strict=True
            ):
                series[name].append(found)
            ceiling = figures.get("ceiling")
            rows.append(
                [names[-1], people, figures["tau"], ceiling.value if ceiling else None]
            )  # fmt: skip
        if not names:
            return
        yield _forest(
            "ceiling", "Panel and people by criterion", names, series,
            "Tau-b within prompts: of two raters, of one rater and of the panel with the mean of "
            "the others, and the ceiling that a judge who knows the truth would reach with these "
            "raters. Bars are intervals over prompts.",
            axis="tau-b within prompts", reference=0.0, hollow=("two people", "one more person"),
        )  # fmt: skip
        yield Table(
            "Tau-b within prompts: of two raters with each other, of the panel with their mean.",
            "By criterion",
            [
                Column("criterion", "id"),
                Column("two people", "estimate"),
                Column("panel", "estimate"),
                Column("ceiling", "number"),
            ],
            rows,
        )

    def people_by_criterion(self) -> Iterator[Part]:
        """The summary of people alone."""
        yield from self._agreement_chart()
        yield self.table(
            "people",
            [Measure("tau", "tau of two"), _plain("alpha_ordinal", "alpha"),
             _plain("icc_mean", "ICC of the mean")],
            "Tau-b of two raters within prompts; ordinal alpha; ICC of the mean of a prompt's "
            "raters.",
        )  # fmt: skip

    def _agreement_chart(self) -> Iterator[Part]:
        found = [
            (keys, figures)
            for keys, figures in self.groups("people", ["criterion", "detail"])
            if "n_raters" in figures
        ]
        measures = {
            "pairwise tau": "tau", "alpha, ordinal": "alpha_ordinal", "ICC of one rater": "icc_one",
        }  # fmt: skip
        if found:
            yield _forest(
                "agreement", "Agreement of people by criterion",
                [self.named(keys) for keys, _ in found],
                {title: [one.get(name) for _, one in found] for title, name in measures.items()},
                "Pairwise tau within prompts, Krippendorff's ordinal alpha, and the ICC of one "
                "rater, with their intervals over prompts; an open marker has none.",
                axis="agreement of people", reference=0.0,
            )  # fmt: skip

    # ------------------------------------------------------------------ people

    def matched(self) -> Iterator[Part]:
        """What the figures rest on, and what was left out, by name."""
        told = self.record["matched"]
        points = [("People:", f"{self._people_counts()}.")]
        if self.of("matched", "n_judges") is not None:
            n = {name: self.n("matched", f"n_{name}")
                 for name in ("judges", "personas", "models", "repeats")}  # fmt: skip
            design = f"{units(n['personas'], 'persona')} × {units(n['models'], 'model')}"
            statuses = ", ".join(
                f"{count(found['n_judgments'].value)} {words(str(keys['group']))}"
                for keys, found in self.groups("matched", ["group"], factor="status")
                if found["n_judgments"].value
            )
            points.append((
                "Panel:",
                (f"{units(n['judges'], 'judge')} ({design}, {units(n['repeats'], 'repeat')}); "
                f"judgments: {statuses}."),
            ))  # fmt: skip
            for name, label in (("n_scored", "With a panel score:"), ("n_rated", "Rated:"),
                                ("n_both", "Rated and scored:")):  # fmt: skip
                found = self.of("matched", name)
                if found is not None:
                    of = units(found.n_planned or 0, "judged response")
                    points.append((label, f"{count(found.n)} of {of}."))
        for name, one, many in (
            ("n_item_ratings", "rating of a calibration item, kept apart",
             "ratings of calibration items, kept apart"),
            ("n_missing", "empty rating cell", "empty rating cells"),
        ):  # fmt: skip
            if n_these := self.n("matched", name):
                points.append(("", f"{units(n_these, one, many)}."))
        for sentence, places in told["misfits"]:
            points.append((f"{sentence}:", f"{'; '.join(_first(places, 20))}."))
        if told["unrated"]:
            n_unrated = self.n("matched", "n_unrated")
            left = n_unrated - len(told["unrated"][:8])
            names = ", ".join(told["unrated"][:8]) + (f" and {left:,} more" if left > 0 else "")
            points.append((f"{units(n_unrated, 'judged response')} nobody rated:", f"{names}."))
        for reason, rows in told["left_out"]:
            n_rows = self.n("matched", "n_left_out", group=reason)
            points.append(("Left out on reading:", f"{count(n_rows)}: {reason} ({rows})."))
        points += [("Note:", f"{notice}.") for notice in told["notices"]]
        yield Points(points)

    def _people_counts(self) -> str:
        names = ("rater", "prompt", "response", "rating")
        return ", ".join(units(self.n("matched", f"n_{name}s"), name) for name in names)

    def people(self) -> Iterator[Part]:
        """How far people agree with each other."""
        if not len(select(self.estimates, "people")):
            yield Paragraph("Undefined: nobody's ratings count.")
            return
        if self.record["kind"] == "calibration":
            yield from self._agreement_chart()
        counts = ("raters", "prompts", "responses", "ratings")
        yield self.table(
            "people",
            [Measure(f"n_{name}", name, field="value", is_count=True) for name in counts],
            "What there is of each criterion.",
            is_short=True,
        )
        yield self.table(
            "people",
            [
                Measure("tau", "pairwise tau"), Measure("w", "W"),
                _plain("w_by_chance", "W by chance"),
                Measure("mean_spearman", "r̄"), Measure("mean_spearman", "p", field="p"),
                Measure("alpha_ordinal", "alpha, ordinal"),
                Measure("alpha_interval", "alpha, interval"), Measure("ac2", "AC2"),
            ],
            "Order within prompts: tau of pairs of raters, Kendall's W (1/m when nobody agrees) "
            "and r̄ = (mW − 1)/(m − 1), 0 when nobody agrees, with its permutation p. Alpha is "
            "taken over all responses; AC2 stays high where one value prevails.",
        )  # fmt: skip
        yield self.table(
            "people",
            [
                Measure("icc_one", "ICC(3,1)"), _plain("mean_raters", "m", digits=1),
                Measure("icc_mean", "ICC(3,m)"), Measure("icc_absolute", "ICC(2,1)"),
                Measure("same_first", "same first choice"),
                _plain("same_first_by_chance", "by chance"),
                Measure("same_order", "same order"),
            ],
            "Raters who rated whole prompts: ICC of one rater and of the mean of a prompt's m "
            "raters (consistency), absolute agreement of one rater, shared first choices and "
            "shared orders.",
        )  # fmt: skip
        if self.of("people", "same_on_all", criterion=EVERY) is not None:
            share = self.of("people", "same_on_all", criterion=EVERY)
            yield Paragraph(
                f"One score on all criteria: {number(share.value if share else None)} of "
                f"{units(share.n if share else 0, 'rater and response', 'raters and responses')}."
            )
        points = []
        for keys, found in self.groups("people", ["criterion", "detail"]):
            label = f"{self.named(keys)}:"
            points += [(label, text) for text in _oddities(found)]
        if points:
            yield Points(points)
        if 0 < self.n("matched", "n_prompts") < FEW_PROMPTS:
            yield Paragraph(
                "With few prompts some intervals are too short. Measured coverage of 95% at 9 "
                "prompts: AC2 .930, ICC .935 to .938, same first choice .917; at 26 .946, .947 and "
                ".945.", "quiet",
            )  # fmt: skip

    def raters(self) -> Iterator[Part]:
        """Who is harsh or lenient, and who says nothing."""
        rows = select(self.estimates, "raters")
        of_raters = rows[rows["rater"].notna()]
        named = of_raters[of_raters["measure"] == "deviation"]
        if len(named):
            main = named[named["criterion"] == named["criterion"].iloc[0]]
            main = main[main["value"].notna()].iloc[: MOST_RATERS // 5]
            found = [self._deviation(row) for row in main.to_dict("records")]
            if found:
                yield _forest(
                    "severity", f"Severity of raters, {self.named(main.iloc[0])}",
                    [name for name, _ in found], {"deviation": [one for _, one in found]},
                    "Points above (lenient, to the right) or below (harsh) the other usual raters "
                    "on the same responses, with intervals over prompts.",
                    axis="points from the other usual raters", reference=0.0,
                )  # fmt: skip
            shown = self.estimates.drop(index=_between(named, MOST_RATERS))
            table = estimates_table(
                shown, "raters", keys={"rater": "rater", **_CRITERION}, named=_RANK_AND_SCORE,
                measures=[
                    Measure("deviation"), Measure("deviation", "p (Holm)", field="p_adjusted"),
                    _plain("shrunk"), _verdict("deviation", "called"),
                    _plain("share_tied", "tied", digits=0, is_percent=True),
                ],
                caption="Points from the other usual raters on the same responses, the same shrunk "
                "towards 0 for what chance adds, and the share of prompts whose responses all got "
                "one value. Named after Holm's correction.",
            )  # fmt: skip
            if table is not None:
                yield table
        why = rows[rows["rater"].isna() & rows["reason"].notna()]
        if len(why):
            yield Points([
                (f"{self.named(row)}:", f"no severities: {row['reason']}.")
                for row in why.to_dict("records")
            ])  # fmt: skip

    @staticmethod
    def _deviation(row: Mapping[Any, Any]) -> tuple[str, Estimate]:
        verdict = row["verdict"]
        name = f"{row['rater']} ({verdict})" if isinstance(verdict, str) else str(row["rater"])
        return name, Estimate(row["value"], low=row["low"], high=row["high"])

    def items(self) -> Iterator[Part]:
        """Packets mixed in unmarked."""
        if len(select(self.estimates, ITEMS)):
            yield self.table(
                ITEMS,
                [
                    _count("n_raters", "raters"),
                    _count("n_responses", "responses"),
                    _verdict("lowest", "lowest"),
                    _plain("floor_last", "weak one last"),
                    _count("n_tied", "tied all"),
                    _plain("w", "W"),
                    _plain("gap_to_standard", "models here less elsewhere"),
                ],
                "Did raters put the response last that was made weak on purpose (share of those "
                "who put anything before anything)? What do they make of packets by models alone?",
                keys={"item": "prompt", "group": "kind", **_CRITERION},
            )

    # ------------------------------------------------------------------ panel

    def panel(self) -> Iterator[Part]:
        """The panel against the mean of the raters."""
        if not self.main:
            yield Paragraph("Undefined: people and panel share no criterion.")
            return
        yield self.table(
            "panel",
            [
                _count("n_responses", "responses"),
                Measure("tau"), Measure("tau", "p", field="p"),
                Measure("mean_tau", "mean tau by prompt"), Measure("accuracy", "pairs as people"),
                _count("n_ties", "pairs tied"),
                Measure("ceiling"), _verdict("tau", "tau is"),
                _plain("pooled_tau", "pooled tau"),
            ],
            "Tau-b within prompts, pairs ordered as people do (ties one half, chance .50), and the "
            "ceiling. Pooled tau is the paper's definition, which differences between prompts "
            "inflate.",
        )  # fmt: skip
        preferred = self.of("pair types", "source_only", group="cross")
        if preferred is not None:
            yield self.table(
                "pair types",
                [
                    _count("n_pairs", "n"),
                    Measure("accuracy", "panel"), Measure("source_only"), Measure("length_only"),
                ],
                "Pairs ordered as people do, by where the two responses come from. The source-only "
                f"judge {preferred.verdict}, the length-only judge the longer response: what the "
                "panel is above them is more than recognition.",
                keys={"group": "pairs"},
            )  # fmt: skip
        yield self.table(
            "panel",
            [Measure("beyond_source", "panel less source-only judge", is_signed=True),
             Measure("beyond_length", "panel less length-only judge", is_signed=True)],
            "Pairs ordered as people do, less judges that look at one thing only.",
        )  # fmt: skip
        if 0 < self.n("matched", "n_prompts_both") < FEW_PROMPTS:
            yield Paragraph(
                "With few prompts some intervals are too short. Measured coverage of 95% at 9 "
                "prompts: tau (bootstrap) .942, mean of per-prompt tau and pair accuracy .925, "
                "within source .933; at 26 .952, .945, .946.", "quiet",
            )  # fmt: skip

    def one_person(self) -> Iterator[Part]:
        """The panel against one more person, on the same footing."""
        if not len(select(self.estimates, "one person")):
            return
        yield self.table(
            "one person",
            [
                Measure("tau_of_one", "one person, tau"), Measure("tau_of_panel", "panel, tau"),
                Measure("tau_difference", "difference", is_signed=True),
                Measure("accuracy_of_one", "one person, pairs"),
                Measure("accuracy_of_panel", "panel, pairs"),
                Measure("accuracy_difference", "difference", is_signed=True),
                _verdict("accuracy_difference", "so the panel is"),
            ],
            "Each rater is left out in turn; rater and panel are both compared with the mean of "
            "the same other raters. Difference: panel less person.",
            where={"rater": None},
        )  # fmt: skip
        rows = select(self.estimates, "one person")
        each = rows[rows["rater"].notna()]
        if len(each):
            kept = list(dict.fromkeys(each["rater"]))[:MOST_RATERS]
            table = estimates_table(
                each[each["rater"].isin(kept)], "one person", keys={"rater": "rater left out"},
                measures=[
                    Measure("accuracy_of_one", "rater"), Measure("accuracy_of_panel", "panel"),
                ],
                caption=f"Pairs ordered as the other raters order them, {self.named(self.main)}.",
                is_short=True,
            )  # fmt: skip
            if table is not None:
                yield table

    def judges(self) -> Iterator[Part]:
        """Every judge, persona, model and axis."""
        found = self.groups("judges", ["group"], factor="judge")
        known = [(str(k["group"]), f["accuracy"]) for k, f in found if f["accuracy"].is_defined]
        if known:
            known.sort(key=lambda row: -row[1].value)
            short = [re.sub(r"[\w.-]+/", "", name) for name, _ in known]  # without providers
            names = short if len(set(short)) == len(short) else [name for name, _ in known]
            called = [one if one.verdict else None for _, one in known]
            columns = {
                "judge": [None if one.verdict else one for _, one in known],
                "useless, or source only": called,
            }
            yield _forest(
                "judges", "Judges", names, columns if any(called) else {"": columns["judge"]},
                "Pairs ordered as people do, with intervals over prompts, the best first; the "
                "dashed line is chance.",
                axis="pairs ordered as people do, ties one half", reference=0.5, scale=(0.0, 1.0),
                hollow=("useless, or source only",),
            )  # fmt: skip
        caption = (
            "Pairs ordered as people do; severity: points above the panel; without it: change of "
            "the panel's share of pairs when it is left out (above 0 the panel agrees better "
            "without it)."
        )
        tilts = (
            "Own family: points more for responses of its own family; length: points a doubling of "
            "length, people's mean held fixed; spread: standard deviation within prompts."
        )
        for kind in ("judge", "persona", "model", "axis"):
            where = {"factor": kind}
            if not len(select(self.estimates, "judges", factor=kind)):
                continue
            yield self.table(
                "judges",
                [
                    _count("n_scored", "scored"),
                    Measure("accuracy", "pairs as people"), _plain("tau"),
                    Measure("severity", is_signed=True),
                    Measure("without", "without it", digits=3, is_signed=True),
                    _verdict("accuracy", "called"),
                ],
                f"By {kind}. {caption}", keys={"group": kind}, where=where, label=f"By {kind}",
            )  # fmt: skip
            yield self.table(
                "judges",
                [
                    Measure("own_family", is_signed=True), Measure("length", is_signed=True),
                    _plain("spread"),
                    Measure("cross", "cross pairs"), Measure("within", "within source"),
                    _plain("abstained", digits=1, is_percent=True),
                    Measure("severity_apart", "severity, taken apart", is_signed=True),
                ],
                f"By {kind}: tilts. {tilts}", keys={"group": kind}, where=where,
                label=f"Tilts by {kind}",
            )  # fmt: skip
        why = self.of("judges", "severity_apart", group=None)
        if why is not None and why.reason:
            yield Paragraph(f"Severity is not taken apart: {why.reason}.", "quiet")
        named = self._judges_called(USELESS) + self._judges_called(SOURCE_ONLY)
        if named and self.n("matched", "n_prompts_both") < FEW_PROMPTS:
            yield Paragraph(
                "With few prompts good judges may be among those named: at 9 prompts that befell "
                "one or more of ten in a third of simulated worlds, at 26 in none.", "quiet",
            )  # fmt: skip

    def how_many(self) -> Iterator[Part]:
        """How many judges are enough."""
        rows: list[list[Scalar]] = []
        for name, label in (("worth", "from how its judges agree"),
                            ("worth_by_errors", "from their errors against people")):  # fmt: skip
            worth, null = self.of("size", name), self.of("size", f"{name}_if_independent")
            if worth is not None:
                why = worth.reason if not worth.is_defined else null.reason if null else ""
                rows.append([label, worth, null, null.verdict if null else "", said(why)])
        if rows:
            yield Table(
                "Worth in independent judgments, for these personas and models, and what so many "
                "independent judges come out as on such data (2.5%, 50% and 97.5% of simulations): "
                "a panel below shares errors, one inside is not shown to.",
                "Worth in independent judgments",
                [Column("worth", "id"), Column("of this panel", "estimate", 1),
                 Column("if independent", "estimate", 1), Column("it lies"),
                 Column("note", "wide")],
                rows,
            )  # fmt: skip
        scores = self.of("size", "n_scores")
        if len(select(self.estimates, "components")):
            n_planned = scores.n_planned if scores else None
            sample = (
                ", a sample of prompts" if scores and n_planned and n_planned > scores.n else ""
            )
            yield self.table(
                "components",
                [
                    _count("n_levels", "levels"),
                    Measure("variance", digits=3), _verdict("variance", "note"),
                ],
                f"Variance components of {units(scores.n if scores else 0, 'judgment')}{sample}. "
                "Measured coverage of 95%: .914 to .956 at 9 prompts, .939 to .950 at 26. Facets "
                "of fewer than five levels are hardly known.",
                keys={"group": "component"}, named={"group": EFFECTS},
            )  # fmt: skip
        designs = self.groups("designs", ["group"])
        why = next((f["e_rho2"].reason for _, f in designs if "calls" not in f), None)
        if why:
            yield Paragraph(f"Designs: undefined: {why}.")
            return
        if not designs:
            return
        yield _designs_chart(designs)
        sizes = [Measure(name, field="value", is_count=True)
                 for name in ("personas", "models", "repeats", "calls")]  # fmt: skip
        yield self.table(
            "designs",
            [*sizes, _plain("e_rho2", "reliability", digits=3),
             _plain("standard_error", digits=3)],
            "Best design for each budget of calls a response: expected reliability of the order of "
            "responses to one prompt, and the standard error of a mean in points. areopagus score "
            "--plan takes a panel by it.",
            keys={"group": "budget"},
        )  # fmt: skip
        yield self.table(
            "designs needed",
            [*sizes, _verdict("calls", "note")],
            "Fewest calls a response for a standard error in points: of the order of responses to "
            "one prompt, or of the level of a score. A dash: no design that was looked at.",
            keys={"detail": "for the", "group": "standard error"},
        )

    # ------------------------------------------------------------------ use

    def corrections(self) -> Iterator[Part]:
        """What is earned out of fold."""
        points = []
        for table, measure, label in (
            ("weights", "tau", "Weights of judges:"), ("maps", "error", "Map to people's scale:"),
        ):  # fmt: skip
            taken = [
                str(keys["group"])
                for keys, found in self.groups(table, ["group"])
                if measure in found and found[measure].verdict == ADOPTED
            ]
            why = self.of(table, measure, group=None)
            for name in taken:
                keep = name in ("equal", "as is")
                plain = "keep equal weights" if name == "equal" else "keep the scores as they are"
                points.append((label, f"{plain if keep else f'adopt {words(name)}'}."))
            if why is not None and why.reason:
                points.append((label, f"{why.reason}."))
        if self.record["map_note"]:
            points.append(("", f"{self.record['map_note']}."))
        levels = self.record["levels"]
        if levels:
            keys = {"criterion": levels["criterion"], "detail": levels["kind"]}
            points.append(("People's level:", f"{self.named(keys)}, for maps, means and widths."))
        for table, label in (("group means", "Means of people's ratings:"),):
            none = self.of(table, "rated_alone", group=None)
            if none is not None and none.reason:
                points.append((label, f"{none.reason}."))
        if points:
            yield Points(points)
        if len(select(self.estimates, "judge weights")):
            yield self.table(
                "weights",
                [
                    _plain("tau", "out of fold", digits=3),
                    _plain("tau_in_sample", "in sample", digits=3),
                    _plain("gain", digits=3, is_signed=True),
                    Measure("gain", "p (Holm)", field="p_adjusted"),
                    _verdict("tau", "verdict"),
                ],
                "Tau with people by way of weighting judges, and the gain over equal weights.",
                keys={"group": "weights"}, label="Weights",
            )  # fmt: skip
        yield from self._curve()
        if self.of("maps", "error", group="as is") is not None:
            yield self.table(
                "maps",
                [
                    _plain("error"),
                    _plain("gain", "gain over simpler", digits=3, is_signed=True),
                    Measure("gain", "p (Holm)", field="p_adjusted"),
                    _plain("gain_over_mean", "over the mean", digits=3,
                            is_signed=True),
                    Measure("gain_over_mean", "p", field="p"),
                    _verdict("error", "verdict"),
                ],
                "Root mean squared error against people's means, out of fold; how much squared "
                "error falls against the simpler way of telling people's level, and against "
                "people's mean given to every response: a map must gain over both.",
                keys={"group": "map"}, label="Maps", named={"group": {"mean": "people's mean"}},
            )  # fmt: skip
        if self.of("group means", "n_rated", group="all") is not None:
            yield self.table(
                "group means",
                [
                    _count("n_rated", "rated"),
                    _count("n_not_rated", "not rated"),
                    Measure("rated_alone"), Measure("with_panel", "with the panel"),
                    _plain("weight"), _verdict("with_panel", "verdict"),
                ],
                "People's mean of groups of responses: of those rated alone, and with the panel's "
                "scores of the others; earned where that is narrower.",
                keys={"group": "group"},
            )  # fmt: skip
        width = self.of("conformal", "half_width")
        if width is not None and width.is_defined:
            yield Paragraph(
                f"Around a calibrated score, ±{number(width.value)} points cover people's mean in "
                f"90% of cases (split conformal over {units(width.n, width.unit)}); human noise is "
                "included."
            )

    def _curve(self) -> Iterator[Part]:
        found = self.groups("calibration curve", ["item"])
        if len(found) < 2:
            return
        x = [figures["panel"].value for _, figures in found]
        y = [figures["people"].value for _, figures in found]
        yield Chart(
            "line", "reliability", "Calibration curve",
            "People's mean score over groups of responses with like panel scores, beside the line "
            "of equality.",
            rows=["people's mean", "equal to the panel"], x=x, values=[y, x],
            axis="people's mean score", axis_x="panel score",
        )  # fmt: skip

    def alt_test(self) -> Iterator[Part]:
        """The alternative annotator test."""
        none = self.of("alt-test", "winning_rate", detail=None)
        if none is not None:
            yield Paragraph(f"Not made: {none.reason}.")
        found = [
            (keys, figures["winning_rate"])
            for keys, figures in self.groups("alt-test", ["detail", "baseline"])
            if "winning_rate" in figures and keys["detail"]
        ]
        if not found:
            return
        for keys, rate in found:
            if not keys["baseline"] and rate.reason and not rate.reason.startswith("over raters"):
                yield Paragraph(f"{keys['detail'].capitalize()}: {rate.reason}.")
        yield _forest(
            "alt_test", "Alternative annotator test",
            [f"{keys['detail']}: {keys['baseline'] or 'the panel'}" for keys, _ in found],
            {"winning rate": [replace(rate, low=math.nan, high=math.nan) for _, rate in found]},
            "Winning rate of the panel against single raters, and what a copy of a human, a random "
            "and a constant judge get. The panel passes from one half on.",
            axis="winning rate over raters", reference=0.5, scale=(0.0, 1.0),
        )  # fmt: skip
        yield self.table(
            "alt-test",
            [
                _plain("winning_rate"),
                _verdict("winning_rate", "verdict"),
                _plain("advantage"), _plain("power"),
                _plain("power_of_truth", "power, the truth"),
                _plain("epsilon"),
            ],
            "Winning rate: share of raters whom the panel may replace, being as close to the "
            "others as they are, epsilon allowed for what a human costs. Advantage: how often it "
            "is as close or closer. Power: of a judge as good as one human, and of one who knows "
            "the truth. The rank form with prompts as units is the one to read.",
            keys={"detail": "form", "baseline": "judge"}, where={},
            named={"detail": {None: ""}, "baseline": {None: "the panel"}},
        )  # fmt: skip

    def limitations(self) -> Iterator[Part]:
        """What these data leave open."""
        rows = self.record["limitations"]
        if rows:
            yield Points([(f"{what}:", f"{said(reason)}.") for what, reason in rows])
        else:
            yield Paragraph("Nothing was left out for want of data.")

    def paper(self) -> Iterator[Part]:
        """The paper's definitions and figures."""
        yield Paragraph(
            "Computed as the SCRuB paper does, to be held against its figures (in brackets) and "
            "for nothing else."
        )
        rows: list[list[Scalar]] = []
        named = {
            "w_raw_ranks": "W, raw ranks, no tie correction",
            "tau_concatenated": "pairwise tau, ranks concatenated",
            "alpha_raw_ranks": "ordinal alpha of raw ranks",
            "w": "W",
            "tau": "tau",
            "model_wins": "model-person pairs won by the model (.744)",
            "model_wins_untied": "the same without ties",
            "model_first": "rankings with a model first (.808)",
            "inferred": "INFERRED from justifications, all responses (.308)",
            "inferred_within": "INFERRED from justifications, within prompts",
        }
        for keys, figures in self.groups("paper", ["criterion", "detail", "respondent", "group"]):
            for measure, found in figures.items():
                label = named.get(measure, "")
                if measure == "mean":
                    label = f"mean {keys['detail']}, {keys['respondent']}"
                if label:
                    place = f", {keys['group']}" if keys["group"] else ""
                    note = said(found.reason) if not found.is_defined else ""
                    rows.append([f"{label}{place}", self.named(keys), found, found.n, note])
        if rows:
            yield Table(
                "The paper's definitions.",
                "The paper's figures",
                [Column("figure", "id"), Column("criterion", "id"), Column("value", "estimate"),
                 Column("n", "count"), Column("note", "wide")],
                rows,
            )  # fmt: skip

    def method(self) -> Iterator[Part]:
        """Settings and versions."""
        config = self.record["config"]
        settings = ", ".join(f"{name} {value}" for name, value in config.items())
        about = (
            f"{config['level']:.0%}; the unit is the prompt unless another is named. Limits are "
            "cut where the range of a figure ends; fewer than six prompts have none."
        )
        points = [
            ("Intervals:", about),
            ("Settings:", f"{settings}."),
            ("Every figure:", "estimates.csv, with its method, unit, n and reason."),
            ("Versions:", ", ".join(f"{k} {v}" for k, v in self.record["versions"].items()) + "."),
        ]  # fmt: skip
        if families := self.record.get("families"):
            told = ", ".join(f"{model}: {family}" for model, family in families.items())
            points.insert(2, ("Families of models:", f"{told}."))
        yield Points(points)


def _count(name: str, title: str = "") -> Measure:
    """A column of whole numbers."""
    return Measure(name, title, field="value", is_count=True)


def _plain(
    name: str,
    title: str = "",
    *,
    digits: int = 2,
    is_signed: bool = False,
    is_percent: bool = False,
) -> Measure:
    """A column of values without their intervals."""
    return Measure(name, title, "value", digits, is_signed, is_percent)


def _verdict(name: str, title: str = "") -> Measure:
    """A column of what was decided of a measure."""
    return Measure(name, title, field="verdict")


def _first_defined(figures: Mapping[str, Estimate], *names: str) -> Estimate | None:
    return next((figures[n] for n in names if n in figures and figures[n].is_defined), None)


def _first(places: Sequence[str], most: int) -> list[str]:
    left = len(places) - most
    return [*places[:most], *([f"and {left:,} more"] if left > 0 else [])]


def _oddities(found: Mapping[str, Estimate]) -> Iterator[str]:
    """What is odd about the ratings of one criterion, a sentence each."""
    pairs = found.get("n_rater_pairs")
    if pairs is not None and pairs.n_planned and pairs.n < pairs.n_planned:
        missing = pairs.n_planned - pairs.n
        yield f"pairs of raters without a tau: {missing:,} of {pairs.n_planned:,}."
    if "n_partial" in found and found["n_partial"].value:
        cells = units(int(found["n_partial"].value), "rater x prompt cell")
        yield f"incomplete, in tau and alpha, not in W and ICC: {cells}."
    if "n_constant" in found and found["n_constant"].value:
        raters = units(int(found["n_constant"].value), "rater")
        yield f"one value throughout, left out of W, ICC and severity: {raters}."
    tied = found.get("share_tied")
    if tied is not None and tied.is_defined and tied.value > 0:
        yield f"one value for all responses of a prompt: {tied.value:.1%} of {tied.n:,} cells."
    if "n_too_large" in found and found["n_too_large"].value:
        prompts = units(int(found["n_too_large"].value), "prompt")
        yield f"too large for figures by prompt, left out: {prompts}."
    if "n_groups_apart" in found:
        yield f"{count(found['n_groups_apart'].value)} groups of raters share no response."


def _between(rows: pd.DataFrame, most: int) -> list[Any]:
    """Of raters sorted by severity, those of each criterion that one table cannot hold."""
    left: list[Any] = []
    for _, mine in rows.groupby(["criterion", "detail"], sort=False):
        index = list(mine.index)
        left += index[most // 2 : max(len(index) - most // 2, most // 2)]
    return left


def _designs_chart(designs: Sequence[tuple[dict[str, Any], dict[str, Estimate]]]) -> Chart:
    best = [(f["calls"].value, f["e_rho2"].value) for k, f in designs if k["group"] != THIS_PANEL]
    here = [(f["calls"].value, f["e_rho2"].value) for k, f in designs if k["group"] == THIS_PANEL]
    x = sorted({calls for calls, _ in (*best, *here)})
    rows = {"best design for the calls": dict(best), THIS_PANEL: dict(here)}
    return Chart(
        "line", "designs", "Reliability by number of judges",
        "Expected reliability of the order of responses to one prompt: of the best design for each "
        "number of calls a response, and of this panel.",
        rows=list(rows), x=x, axis="expected reliability", axis_x="calls a response",
        values=[[known.get(calls, math.nan) for calls in x] for known in rows.values()],
        scale=(0.0, 1.0),
    )  # fmt: skip


def _forest(
    name: str,
    title: str,
    rows: Sequence[str],
    columns: Mapping[str, Sequence[Estimate | None]],
    caption: str,
    **given: Any,
) -> Chart:
    """A forest plot: a marker with its interval for every row and column."""

    def table(field: str) -> list[list[float]]:
        return [
            [math.nan if one is None else getattr(one, field) for one in row]
            for row in zip(*columns.values(), strict=True)
        ]

    return Chart(
        "forest", name, title, caption, rows=rows, columns=list(columns), values=table("value"),
        low=table("low"), high=table("high"), **given,
    )  # fmt: skip
