"""The report of an audit, from its definition, its run.json and its estimates alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..experiment.cost_cap import cap_notices
from ..formats import count, estimate, listed, number, p_value, units
from ..records.estimates import estimates_by, select
from ..reports.document import Chart, Document, Paragraph, Part, Points, Records, Section
from ..reports.run_sections import job_sections, state_told
from ..reports.views import Measure, estimates_chart, estimates_table
from .contrasts import UNREAD
from .definition import ANSWER_STATUSES, Change, Contrast, Definition, Outcome, TableView
from .estimate import ALPHA, CROSS

if TYPE_CHECKING:
    import pandas as pd

Labels = Mapping[str, Mapping[str, str]]

MOST_NAMED: Final = 4
"""Models, or groups, that a sentence names."""
_DIFFERS: Final = ("differs", "differs within margin")


def document(
    definition: Definition,
    record: Mapping[str, Any],
    estimates: pd.DataFrame,
    *,
    records: Sequence[Records] = (),
    folder: str = "",
) -> Document:
    """What is shown of an audit.

    Args:
        definition: of the audit, as its options had it.
        record: the content of run.json.
        estimates: every figure, see `estimate.estimate`.
        records: prompts and answers behind the figures.
        folder: of the run, for the commands that show more.
    """
    view = _View(definition, record, estimates)
    result = record.get("result", {})
    asked = [str(one["model"]) for one in record["identity"].get("targets", {}).values()]
    stand_ins = sorted({name for name in asked if name.startswith("offline/")})
    return Document(
        title=f"{definition.title}: {view.whose}",
        kind="audit",
        headline=list(view.headline()),
        trust=list(view.trust()),
        state="" if record["state"] == "complete" else state_told(record),
        notices=[
            _sentence(text)
            for text in (
                *cap_notices(result),
                *([definition.warning] if definition.warning else ()),
                *result.get("limitations", ()),
                *result.get("notices", ()),
            )
        ],
        sections=[
            *view.sections(),
            *_records_section(records),
            *view.appendix(),
            *job_sections(record),
        ],
        more=[f"More: areopagus report {folder} --full"] if folder else [],
        is_demonstration=bool(stand_ins),
        demonstration=demonstration(stand_ins),
    )


def document_of_tables(
    definition: Definition, record: Mapping[str, Any], estimates: pd.DataFrame
) -> Document:
    """The same of figures that no single run has: nothing of cost, settings and prompts."""
    view = _View(definition, record, estimates)
    return Document(
        title=definition.title,
        kind="audit",
        headline=list(view.headline()),
        trust=list(view.trust()),
        notices=[_sentence(text) for text in record["result"].get("notices", ())],
        sections=[*view.sections(), *view.appendix()],
    )


def demonstration(stand_ins: Sequence[str]) -> str:
    """What the banner says of the embedded models that answered."""
    return (
        f"The embedded stand-in {' and '.join(stand_ins)} answered. It is no language model: its "
        "answers are picked by a hash of the prompt, and say nothing about any model."
    )


class _View:
    """The parts of the report."""

    def __init__(
        self, definition: Definition, record: Mapping[str, Any], estimates: pd.DataFrame
    ) -> None:
        self.definition, self.record, self.estimates = definition, record, estimates
        self.respondents = tuple(record.get("targets", ()))
        self.labels: Labels = record.get("result", {}).get("labels", {})

    @property
    def whose(self) -> str:
        """Whose answers they are, for a title."""
        names = self.respondents
        return names[0] if len(names) == 1 else units(len(names), "model") if names else "no model"

    # What is said first

    def headline(self) -> Iterator[str]:
        """The answer: which groups differ, the first outcome, and whom the others favour."""
        for name, contrast in self.definition.contrasts.items():
            yield from self._differing(name, contrast)
        for place, (name, outcome) in enumerate(self.definition.outcomes.items()):
            found = self.by_respondent("outcomes", name)
            if not any(one.is_defined for one in found.values()):
                continue
            if outcome.neutral is not None:
                yield _preference(outcome, found)
            elif not place:
                yield self._levels(name, outcome, found)

    def _levels(self, name: str, outcome: Outcome, found: Mapping[str, Estimate]) -> str:
        known = [(who, one) for who, one in found.items() if one.is_defined]
        known.sort(key=lambda pair: -pair[1].value)
        shown = known if len(known) <= MOST_NAMED else [*known[:2], *known[-2:]]
        said = ", ".join(f"{who} {_with_p(one, outcome.digits)}" for who, one in shown)
        sentence = f"{outcome.title[:1].upper()}{outcome.title[1:]}: {said}"
        if len(known) > len(shown):
            sentence += f" (the two highest and the two lowest of {len(known)} models)"
        test = self.figure("models", "cochran_q_units", factor=name)
        if test is not None and test.p == test.p:
            differ = "the models differ" if test.p <= ALPHA else "no difference of models is shown"
            sentence += f"; {differ} (p {_p(test.p)})"
        return f"{sentence}."

    def trust(self) -> Iterator[tuple[str, str]]:
        """Whether it can be trusted, and why."""
        counts = self.counts()
        planned, done = counts.get("planned", 0), counts.get("classified", 0)
        others = [
            f"{counts[name]:,} {name.replace('_', ' ')}"
            for name in ANSWER_STATUSES
            if name != "classified" and counts.get(name)
        ]
        if planned:
            said = f"{done:,} of {planned:,} answers classified"
            yield "coverage", ", ".join([said, *others])
        if bounds := list(self._bounds(counts)):
            yield "unread", "; ".join(bounds)
        if direction := self._direction():
            yield "direction", direction
        if judges := self._judges():
            yield "judges", judges
        n = self._n_units()
        if n:
            yield "unit", f"intervals and tests are over {units(n, self.definition.unit_word)}"
        if planned:
            yield "people", self._people()

    def _bounds(self, counts: Mapping[str, int]) -> Iterator[str]:
        """Between what the first outcome lies, whatever the unread answers are."""
        if not sum(counts.get(name, 0) for name in UNREAD):
            return
        for name, outcome in self.definition.outcomes.items():
            least = self.by_respondent("outcomes", f"{name}_least")
            most = self.by_respondent("outcomes", f"{name}_most")
            wide = {
                who: most[who].value - least[who].value
                for who in least
                if who in most and least[who].is_defined
            }
            if not wide:
                continue
            who = max(wide, key=lambda one: wide[one])
            whose = f" of {who}" if len(self.respondents) > 1 else ""
            yield (
                f"whatever the others are, the {outcome.title}{whose} lies between "
                f"{number(least[who].value, outcome.digits)} and "
                f"{number(most[who].value, outcome.digits)}"
            )
        for name, contrast in self.definition.contrasts.items():
            values = [
                self._rows(name, f"difference{end}")["value"].to_numpy(dtype=np.float64)
                for end in ("", "_least", "_most")
            ]
            if len(values[0]) and len(values[0]) == len(values[1]) == len(values[2]):
                moved = np.nanmax(np.abs(np.stack(values[1:]) - values[0]), initial=0.0)
                moved_said = number(float(moved), contrast.digits)
                yield f"the others could move no {contrast.title} by more than {moved_said}"

    def _direction(self) -> str:
        said = []
        for name, outcome in self.definition.outcomes.items():
            if outcome.neutral is None or len(self.respondents) < 2:
                continue
            sides = [_side(outcome, one) for one in self.by_respondent("outcomes", name).values()]
            parts = [
                f"{word}: {sides.count(side)} of {units(len(sides), 'model')}"
                for side, word in (("above", outcome.above), ("below", outcome.below))
                if sides.count(side)
            ]
            said.append(", ".join(parts) or f"no model is shown to be off {outcome.neutral:g}")
        for name, contrast in self.definition.contrasts.items():
            said += self._directions(name, contrast)
        return "; ".join(said)

    def _judges(self) -> str:
        names = [str(name) for name in self.record.get("judges", ())]
        if not self.definition.takes_judges:
            return ""
        if not names:
            return "none: rules alone read the answers"
        for name, agreement in self.definition.agreement.items():
            same = self.figure("judges", "same", factor=name)
            if same is not None and same.is_defined:
                return (
                    f"two judges say the same on {number(100 * same.value, 0)}% of "
                    f"{units(same.n, 'distinct question')} ({agreement.title})"
                )
        return "agreement not measured: no two judges read the same answer"

    def _people(self) -> str:
        same = self.figure("people", "same", factor="audit")
        if same is None:
            how = ": --for-people 200" if self.definition.people else ""
            return f"no reading was checked by people{how}"
        said = f"people read the same in {number(100 * same.value, 0)}% of "
        said += units(same.n, "answer")
        among = self.figure("people", "same", factor="people")
        if among is not None:
            said += f"; two people in {number(100 * among.value, 0)}% of {among.n:,}"
        return said

    def _n_units(self) -> int:
        for name in self.definition.outcomes:
            found = self.by_respondent("outcomes", name)
            if found:
                return max(one.n for one in found.values())
        for name in self.definition.contrasts:
            rows = self._rows(name, "difference")
            if len(rows):
                return int(rows["n"].max())
        return 0

    # Sections

    def sections(self) -> Iterator[Section]:
        """The tables and drawings of the definition, the audit's own after them."""
        for name, contrast in self.definition.contrasts.items():
            title = f"{contrast.title[:1].upper()}{contrast.title[1:]}"
            if parts := list(self._contrast_summary(name, contrast)):
                yield Section(name, title, parts, audience="summary")
        if parts := list(self._first_outcomes()):
            yield Section("outcomes", "Outcomes", parts, audience="summary")
        for name, contrast in self.definition.contrasts.items():
            for part, (heading, parts) in enumerate(self._contrast_details(name, contrast)):
                yield Section(f"{name}-{part}", heading, parts)
        yield from self._own_sections()
        if parts := list(self._all_outcomes()):
            yield Section("all-outcomes", "All outcomes", parts)
        if self.definition.shares and (parts := list(self._shares())):
            yield Section("shares", "Shares", parts)
        if parts := list(self._by_part()):
            yield Section("parts", "By part of the prompts", parts)
        if parts := list(self._models()):
            yield Section("models", "Do the models differ?", parts)
        if parts := list(self._agreement()):
            yield Section("agreement", "Agreement of the two judges", parts)
        people = estimates_table(
            self.estimates, "people", keys={"factor": "people with"}, is_short=True,
            measures=[
                Measure("same", "same", digits=3), Measure("same", "answers", field="n"),
                Measure("kappa", "Cohen's kappa", digits=3),
            ],
            named={"factor": {"audit": "the audit's readings", "people": "each other"}},
            caption="What people read in the answers drawn for them, with what the audit has read "
            "in them, and with each other. 95% interval over answers.",
            label="People",
        )  # fmt: skip
        if people is not None:
            yield Section("people", "Checked by people", [people])

    def _first_outcomes(self) -> Iterator[Part]:
        """What the headline speaks of."""
        outcomes = self.definition.outcomes
        first = [
            Measure(name, one.title, digits=one.digits)
            for place, (name, one) in enumerate(outcomes.items())
            if not place or one.summary or one.neutral is not None
        ]
        table = estimates_table(
            self.estimates, "outcomes", keys={"respondent": "model"}, measures=first,
            caption=f"With 95% intervals over {self.definition.unit_word}s.", label="Outcomes",
        )  # fmt: skip
        if table is None:
            return
        if len(self.respondents) > 1:
            for name, one in list(outcomes.items())[:1]:
                if (chart := self._forest(name, one)) is not None:
                    yield chart
        yield table

    def _all_outcomes(self) -> Iterator[Part]:
        """All outcomes with how they are read, then those of papers and their bounds."""
        named: dict[str, Outcome | Change] = {**self.definition.outcomes}
        named |= self.definition.changes
        measures = [
            Measure(name, one.title, digits=one.digits if isinstance(one, Outcome) else 2)
            for name, one in named.items()
        ]
        table = estimates_table(
            self.estimates, "outcomes", keys={"respondent": "model"}, measures=measures,
            caption=_sentences([one.note for one in named.values() if one.note]),
            label="All outcomes",
        )  # fmt: skip
        if table is not None:
            yield table
        beside = [
            Measure(f"{name}{end}", f"{one.title}{said}", digits=one.digits)
            for name, one in self.definition.outcomes.items()
            for end, said in (
                ("_answers", ", over answers"), ("_least", ", at least"), ("_most", ", at most"),
            )
        ]  # fmt: skip
        unit = self.definition.unit_word
        table = estimates_table(
            self.estimates, "outcomes", keys={"respondent": "model"}, measures=beside,
            caption="Over answers: Wilson's interval, as papers have it; it takes answers to "
            f"prompts of one {unit} for independent and is too narrow for them. At least and at "
            "most: if all answers that came and could not be read were at one end of the scale.",
            label="Over answers, and bounds",
        )  # fmt: skip
        if table is not None:
            yield table

    # Contrasts

    def _rows(self, table: str, measure: str) -> pd.DataFrame:
        rows = select(self.estimates, table)
        return rows[rows["measure"] == measure]

    def _overall(self, name: str) -> dict[tuple[str, str], Estimate]:
        """(factor, group) to the difference over all models, or of the only one."""
        rows = self._rows(name, "difference")
        if len(self.respondents) > 1:
            rows = rows[rows["respondent"].isna()]
        return {
            (str(key["factor"]), str(key["group"])): found["difference"]
            for key, found in estimates_by(rows, ["factor", "group"])
        }

    def _group_names(self, contrast: Contrast) -> dict[str, dict[str | None, str]]:
        """What the values of the keys of a contrast's tables are called."""
        column = contrast.factor[-1]
        factors = self.labels.get(contrast.factor[0], {}) if len(contrast.factor) > 1 else {}
        details = _optional({})
        for part in contrast.by:
            details.update(self.labels.get(part, {}))
        return {
            "group": _optional(self.labels.get(column, {})),
            "factor": _optional({contrast.factor[0]: self.word(contrast.factor[0]), **factors}),
            "detail": details,
            "respondent": {None: "all models"},
        }

    def _differing(self, name: str, contrast: Contrast) -> Iterator[str]:
        found = self._overall(name)
        if not found:
            return
        names = self._group_names(contrast)["group"]
        differing = {cell: one for cell, one in found.items() if one.verdict in _DIFFERS}
        parts = []
        for sign, word in ((1, contrast.more), (-1, contrast.less)):
            mine = [(cell, one) for cell, one in differing.items() if sign * one.value > 0]
            mine.sort(key=lambda pair: -abs(pair[1].value))
            said = [
                f"{names.get(group, group)} {estimate(one, contrast.digits, is_signed=True)}"
                for (_, group), one in mine[:MOST_NAMED]
            ]
            more = f" and {len(mine) - MOST_NAMED} more" if len(mine) > MOST_NAMED else ""
            if said:
                side = "above" if sign > 0 else "below"
                head = word or f"{side} the {contrast.reference_name}"
                parts.append(f"{head}: {', '.join(said)}{more}")
        points = f" ({contrast.points})" if contrast.points else ""
        if parts:
            yield _sentence(f"{'; '.join(parts)}{points}")
        others = len(found) - len(differing)
        alike = sum(one.verdict == "equivalent" for one in found.values())
        if others:
            which = "other " if parts else ""
            verb = "is" if others == 1 else "are"
            told = f"{units(others, f'{which}group')} {verb} not shown to differ"
            if contrast.margin is not None and alike:
                told += f", {alike} of them shown to lie within ±{contrast.margin:g}"
            yield _sentence(told)

    def _directions(self, name: str, contrast: Contrast) -> Iterator[str]:
        """How many models agree with the direction of each group that differs."""
        if len(self.respondents) < 2:
            return
        names = self._group_names(contrast)["group"]
        rows = self._rows(name, "difference")
        rows = rows[rows["respondent"].notna()]
        for (factor, group), one in self._overall(name).items():
            if one.verdict not in _DIFFERS:
                continue
            mine = rows[(rows["factor"] == factor) & (rows["group"] == group)]["value"]
            same = int((np.sign(mine) == np.sign(one.value)).sum())
            side = "above" if one.value > 0 else "below"
            yield f"{names.get(group, group)} {side} in {same} of {units(len(mine), 'model')}"

    def _contrast_summary(self, name: str, contrast: Contrast) -> Iterator[Part]:
        named = self._group_names(contrast)
        several = len(self.respondents) > 1
        rows = self.estimates[self.estimates["table"] == name]
        own = rows[rows["respondent"].notna()] if several else rows
        for factor in dict.fromkeys(self._rows(name, "difference")["factor"]):
            said = named["factor"].get(factor, factor)
            chart = estimates_chart(
                own, name, "forest", measure="difference", rows="group", columns="respondent",
                where={"factor": factor}, named=named, name=f"{name}_{factor}",
                title=f"{contrast.title[:1].upper()}{contrast.title[1:]}: {said}",
                caption=f"Less the {contrast.reference_name}, with 95% intervals over "
                f"{self.definition.unit_word}s.",
                axis=contrast.points or contrast.title, reference=0.0, digits=contrast.digits,
            )  # fmt: skip
            if chart is not None:
                yield chart
        overall = rows[rows["respondent"].isna()] if several else rows
        overall = overall[overall["verdict"].isin(_DIFFERS)]
        table = estimates_table(
            overall, name, keys={"group": "group"}, named=named,
            measures=[
                Measure("difference", contrast.title, digits=contrast.digits, is_signed=True),
                Measure("difference", "p, Holm", field="p_adjusted"),
            ],
            caption=f"Groups that differ from the {contrast.reference_name}"
            f"{', mean over all models' if several else ''}.",
            label=f"Groups that differ in {contrast.title}",
        )  # fmt: skip
        if table is not None:
            yield table

    def _contrast_details(self, name: str, contrast: Contrast) -> Iterator[tuple[str, list[Part]]]:
        named, title = self._group_names(contrast), contrast.title
        keys = {"respondent": "model", "factor": "of", "group": "group"}
        unit = self.definition.unit_word

        def table(which: str, measures: list[Measure], caption: str, **more: Any) -> list[Part]:
            made = estimates_table(
                self.estimates, which, keys={**keys, **more}, measures=measures, caption=caption,
                named=named,
            )  # fmt: skip
            return [] if made is None else [made]

        digits = contrast.digits
        difference = Measure("difference", title, digits=digits, is_signed=True)
        tests = [
            Measure("mean", contrast.mean_title, digits=digits), difference,
            Measure("difference", "p, Holm", field="p_adjusted"),
            Measure("equivalence", "p, equivalence, Holm", field="p_adjusted"),
            Measure("difference", "verdict", field="verdict"),
        ]  # fmt: skip
        margin = contrast.margin
        caption = (
            f"{_sentence(contrast.note)} Holm: sign flips of {unit}s with a t freed of skewness "
            "(Hall), which a few units with a large difference do not mislead, over all groups of "
            "all models."
        )
        if margin is not None:
            caption += (
                f" Equivalent: shown to lie within ±{margin:g} (two one-sided tests, Holm over the "
                "groups of a kind); undecided: neither is shown."
            )
        heading = f"{title[:1].upper()}{title[1:]} of every group"
        yield heading, table(name, tests, caption.strip())
        beside = [
            Measure("t", "p, paired t", field="p"), Measure("t", "p, t, Holm", field="p_adjusted"),
            Measure("sign_flips", "p, sign flips, Holm", field="p_adjusted"),
            Measure("difference_least", "at least", field="value", digits=digits, is_signed=True),
            Measure("difference_most", "at most", field="value", digits=digits, is_signed=True),
            Measure("answered", "answers with a value", digits=2),
        ]  # fmt: skip
        said = (
            "The paired t-test over units, uncorrected as papers have it; other tests. At least "
            "and at most: if all answers that came and could not be read were at the ends of the "
            "scale."
        )
        yield "Other tests, bounds, and answers with a value", table(name, beside, said)
        if margin is not None and (points := list(self._alike(name, contrast, named))):
            text = (
                f"Shown by equivalence, within ±{margin:g}. A paper's rule takes every group "
                "without a significant t-test; with few units or noisy answers that names groups "
                "that differ."
            )
            heading = f"Which groups are like the {contrast.reference_name}"
            yield heading, [Points(points), Paragraph(text, "quiet")]
        for column in contrast.by:
            parts = table(
                f"{name}_by_{column}", [difference, Measure("difference", f"{unit}s", field="n")],
                f"The {title} within each {self.word(column)}.", detail=self.word(column),
            )  # fmt: skip
            if parts:
                yield f"{title[:1].upper()}{title[1:]} by {self.word(column)}", parts
        pairs = estimates_table(
            self.estimates, f"{name}_models",
            keys={"respondent": "model", "baseline": "minus", "group": "group"},
            measures=[
                difference, Measure("difference", "p, Holm", field="p_adjusted"),
                Measure("difference", "verdict", field="verdict"),
            ],
            caption=f"Differences of the {title} between models, Holm over pairs and groups.",
            named=named,
        )  # fmt: skip
        if pairs is not None:
            yield f"Do the models differ in {title}?", [pairs]

    def _alike(
        self, name: str, contrast: Contrast, named: Mapping[str, Mapping[str | None, str]]
    ) -> Iterator[tuple[str, str]]:
        """Which group each model takes for the default, by kind of group."""
        rows = select(self.estimates, name)
        groups: dict[tuple[str | None, str | None], dict[str, dict[str, Estimate]]] = {}
        for key, found in estimates_by(rows, ["respondent", "factor", "group"]):
            if "difference" in found:
                inside = groups.setdefault((key["respondent"], key["factor"]), {})
                inside[named["group"].get(key["group"], str(key["group"]))] = found
        for (who, factor), members in groups.items():
            told = {
                word: [g for g, one in members.items() if one["difference"].verdict in verdicts]
                for word, verdicts in (
                    ("shown", ("equivalent", "differs within margin")),
                    ("undecided", ("undecided",)),
                )
            }  # fmt: skip
            known = {g: one for g, one in members.items() if one["difference"].is_defined}
            near = min(known, key=lambda g: abs(known[g]["difference"].value), default="")
            paper = [g for g, one in members.items() if "t" in one and one["t"].p > ALPHA]
            parts = [f"shown: {listed(told['shown']) or 'none'}"]
            parts += [f"undecided: {listed(told['undecided'])}"] if told["undecided"] else []
            parts += [f"nearest: {near}"] if near else []
            parts.append(f"by p > .05: {listed(paper) or 'none'}")
            head = f"{who or 'all models'}, {named['factor'].get(factor, factor or '')}:"
            yield head, "; ".join(parts)

    def _forest(self, name: str, outcome: Outcome) -> Chart | None:
        found = self.by_respondent("outcomes", name)
        if not any(one.is_defined for one in found.values()):
            return None
        column = [[one.value] for one in found.values()]
        return Chart(
            "forest", name, f"{outcome.title[:1].upper()}{outcome.title[1:]} by model",
            f"Points with 95% intervals over {self.definition.unit_word}s.",
            rows=list(found), values=column,
            low=[[one.low] for one in found.values()], high=[[one.high] for one in found.values()],
            axis=outcome.title, reference=outcome.neutral, scale=outcome.scale,
            digits=outcome.digits,
        )  # fmt: skip

    def _shares(self) -> Iterator[Part]:
        for name, shares in self.definition.shares.items():
            wide = estimates_table(
                self.estimates,
                "shares",
                keys={"respondent": "model", "group": shares.title.lower()},
                measures=[Measure("share", "share of answers")],
                where={"factor": name},
                named={"group": _optional(shares.levels)},
                caption=f"{shares.title}. {shares.note}".strip(),
                label=shares.title,
            )
            chart = estimates_chart(
                self.estimates, "shares", "heatmap", measure="share", rows="respondent",
                columns="group", where={"factor": name}, named={"group": _optional(shares.levels)},
                title=shares.title, caption=shares.note, scale=(0.0, 1.0), name=name,
            )  # fmt: skip
            if chart is not None:
                yield chart
            if wide is not None:
                yield wide

    def _by_part(self) -> Iterator[Part]:
        several = len(self.respondents) > 1
        outcomes = {name: one for name, one in self.definition.outcomes.items() if one.parts}
        rows = self.estimates[self.estimates["table"] == "parts"]
        rows = rows[rows["respondent"].notna()] if several else rows
        for crossed in self.definition.by:
            factor, said = CROSS.join(crossed), " and ".join(map(self.word, crossed))
            named = {"group": self.part_names(crossed)}
            if len(crossed) == 2:
                yield from self._maps(rows, crossed)
                continue
            measures = [
                Measure(f"{name}{end}", f"{one.title}{more}", digits=one.digits)
                for name, one in outcomes.items()
                for end, more in (("", ""), ("_answers", ", over answers"))
            ]
            table = estimates_table(
                rows, "parts",
                keys={"group": said, **({"respondent": "model"} if several else {})},
                measures=measures, where={"factor": factor}, named=named,
                caption=f"By {said}.", label=f"By {said}",
            )  # fmt: skip
            if table is not None:
                yield table

    def _maps(self, rows: pd.DataFrame, crossed: tuple[str, ...]) -> Iterator[Part]:
        """The first outcome by two columns of the prompts: a drawing a model."""
        outcome = next((item for item in self.definition.outcomes.items() if item[1].parts), None)
        if outcome is None:
            return
        name, one = outcome
        whole = select(rows, "parts", factor=CROSS.join(crossed))
        whole = whole[whole["measure"] == name]
        for who in dict.fromkeys(whole["respondent"]):
            mine = whole[whole["respondent"].isna() if who is None else whole["respondent"] == who]
            cells = {str(row["group"]): float(row["value"]) for row in mine.to_dict("records")}
            down, across = (
                list(dict.fromkeys(cell.split(CROSS)[k] for cell in cells)) for k in (0, 1)
            )
            values = [[cells.get(f"{a}{CROSS}{b}", np.nan) for b in across] for a in down]
            whose = f", {who}" if who else ""
            yield Chart(
                "heatmap", "_by_".join((name, *crossed)) + (f"_{self._place(who)}" if who else ""),
                f"{one.title[:1].upper()}{one.title[1:]} by {' and '.join(map(self.word, crossed))}"
                f"{whose}",
                "Grey: no answer.", rows=[self.label(crossed[0], v) for v in down],
                columns=[self.label(crossed[1], v) for v in across], values=values,
                scale=one.scale, digits=one.digits,
            )  # fmt: skip

    def _place(self, who: str) -> int:
        return self.respondents.index(who) + 1 if who in self.respondents else 0

    def _models(self) -> Iterator[Part]:
        for name, outcome in self.definition.outcomes.items():
            tests = [
                (f"{test.method}:" if test.method else f"{measure}:", _test_said(test))
                for measure in ("chi_square", "cochran_q", "cochran_q_units")
                if (test := self.figure("models", measure, factor=name)) is not None
            ]
            if not tests:
                continue
            yield Paragraph(f"{outcome.title[:1].upper()}{outcome.title[1:]}", "heading")
            yield Points(tests)
            unit = self.definition.unit_word
            level = self.figure("models", "alpha_bonferroni", factor=name)
            table = estimates_table(
                self.estimates,
                "models",
                keys={"respondent": "model", "baseline": "minus"},
                where={"factor": name},
                measures=[
                    Measure("difference", digits=3, is_signed=True),
                    Measure("difference", f"p, {unit}s, Holm", field="p_adjusted"),
                    Measure("difference", "verdict", field="verdict"),
                    Measure("difference_prompts", "over prompts", digits=3, is_signed=True),
                    Measure("only_first", "only first", field="value", is_count=True),
                    Measure("only_second", "only second", field="value", is_count=True),
                    Measure("mcnemar", "McNemar mid-p", field="p"),
                    Measure("mcnemar", "McNemar, Holm", field="p_adjusted"),
                    Measure("independent", "as independent, Bonferroni", field="p_adjusted"),
                ],
                caption=f"Differences of the {outcome.title} on the same prompts: with the {unit} "
                "as the unit, over prompts, and as a paper's chi-square of independent samples"
                + (f" (Bonferroni's level {level.value:.3g})." if level is not None else "."),
                label="Pairs of models",
            )
            if table is not None:
                yield table

    def _agreement(self) -> Iterator[Part]:
        if not self.definition.takes_judges:
            return
        table = estimates_table(
            self.estimates[self.estimates["factor"] != "rulings"],
            "judges",
            keys={"factor": "over"},
            measures=[
                Measure("same", "same", digits=3), Measure("same", "questions", field="n"),
                Measure("kappa", "Cohen's kappa", digits=3), Measure("ac1", "Gwet's AC1", digits=3),
            ],
            named={"factor": {k: one.title for k, one in self.definition.agreement.items()}},
            caption="Before anything was settled, over the distinct questions that both gave a "
            "vote on; what rules decided is not among them.",
            label="Agreement of the judges",
            is_short=True,
        )  # fmt: skip
        if table is None:
            yield Paragraph("Not measured: no two judges read the same answer.")
        else:
            yield table
        rulings = select(self.estimates, "judges", factor="rulings")
        said = [
            f"{count(row['value'])} {str(row['group']).replace('_', ' ')}"
            for row in rulings.to_dict("records")
        ]
        if said:
            yield Paragraph(f"Answers judged: {', '.join(said)}.")

    def _own_sections(self) -> Iterator[Section]:
        sections: dict[tuple[str, str], list[Part]] = {}
        for view in self.definition.tables:
            if parts := list(self._own(view)):
                sections.setdefault((view.section, view.audience), []).extend(parts)
        for place, ((title, audience), parts) in enumerate(sections.items()):
            name = f"own-{place}"
            yield Section(name, title, parts, audience=audience)  # type: ignore[arg-type]

    def _own(self, view: TableView) -> Iterator[Part]:
        named = {key: self._names_of(key) for key in (*view.keys, "group", "factor", "respondent")}
        if (chart := view.chart) is not None:
            drawn = estimates_chart(
                self.estimates, view.table, chart.kind, measure=chart.measure, rows=chart.rows,
                columns=chart.columns, facets=chart.facets, where=view.where, named=named,
                title=chart.title, caption=chart.caption, axis=chart.axis, scale=chart.scale,
                reference=chart.reference, is_diverging=chart.is_diverging, digits=chart.digits,
                name=f"{view.table}_{chart.measure}",
            )  # fmt: skip
            if drawn is not None:
                yield drawn
        if view.measures:
            table = estimates_table(
                self.estimates, view.table, keys=view.keys,
                measures=[Measure(**one.model_dump()) for one in view.measures],
                caption=view.caption, where=view.where, named=named,
            )  # fmt: skip
            if table is not None:
                yield table

    def appendix(self) -> Iterator[Section]:
        """What became of the askings, and figures of which better ones stand above."""
        counts = estimates_table(
            self.estimates, "counts", keys={"respondent": "model"},
            measures=[
                Measure(name, field="value", is_count=True)
                for name in ("planned", *self._statuses())
            ],
            caption="Planned askings by what became of them.", label="Askings by status",
        )  # fmt: skip
        if counts is not None:
            yield Section("askings", "What became of the askings", [counts], audience="detail")
        if self.definition.source:
            said = f"After {self.definition.source}"
            yield Section("source", "Source", [Paragraph(_sentence(said))], audience="appendix")

    # Figures and names

    def by_respondent(self, table: str, measure: str) -> dict[str, Estimate]:
        """Respondent to one figure, in the order of the report."""
        rows = select(self.estimates, table, factor=None, group=None)
        rows = rows[rows["measure"] == measure]
        return {
            str(key["respondent"]): found[measure]
            for key, found in estimates_by(rows, ["respondent"])
            if key["respondent"] is not None
        }

    def figure(self, table: str, measure: str, **keys: str) -> Estimate | None:
        """One figure of no pair of respondents."""
        rows = select(self.estimates, table, baseline=None, **keys)
        rows = rows[rows["measure"] == measure]
        return next((found[measure] for _, found in estimates_by(rows, [])), None)

    def counts(self) -> dict[str, int]:
        """Status to askings of all respondents."""
        rows = select(self.estimates, "counts")
        totals = rows.groupby("measure", sort=False)["value"].sum()
        return {str(name): int(value) for name, value in totals.items()}

    def _statuses(self) -> list[str]:
        counts = self.counts()
        return [name for name in ANSWER_STATUSES if counts.get(name)]

    def word(self, column: str) -> str:
        """What a column is called."""
        return self.definition.named.get(column, column.replace("_", " "))

    def label(self, column: str, value: str) -> str:
        """What a value of a column is called."""
        return self.labels.get(column, {}).get(value, value)

    def part_names(self, crossed: Sequence[str]) -> dict[str | None, str]:
        """Values of a part to what they are called."""
        return _optional(self.labels.get(crossed[0], {}))

    def _names_of(self, key: str) -> dict[str | None, str]:
        found: dict[str | None, str] = {}
        if key in ("group", "factor", "item", "detail"):
            for names in self.labels.values():
                found.update(names)
        if key == "respondent":
            found[None] = "all models"
        return found


def _optional(names: Mapping[str, str]) -> dict[str | None, str]:
    found: dict[str | None, str] = {}
    found.update(names)
    return found


def _records_section(records: Sequence[Records]) -> list[Section]:
    if not records:
        return []
    return [Section("answers", "Prompts and answers", list(records), audience="detail")]


def _side(outcome: Outcome, found: Estimate) -> str:
    """On which side of no preference the interval lies."""
    if outcome.neutral is None or not found.has_interval:
        return "open"
    if found.low > outcome.neutral:
        return "above"
    return "below" if found.high < outcome.neutral else "open"


def _preference(outcome: Outcome, found: Mapping[str, Estimate]) -> str:
    """Whom which models favour, as a sentence."""
    parts = []
    for side, word in (("above", outcome.above), ("below", outcome.below)):
        whose = {who: one for who, one in found.items() if _side(outcome, one) == side}
        if whose and len(found) == 1:
            who, one = next(iter(whose.items()))
            return f"{who} {word}: {outcome.title} {estimate(one, outcome.digits)}."
        if whose and len(whose) <= MOST_NAMED:
            named = ", ".join(
                f"{who} {estimate(one, outcome.digits)}" for who, one in whose.items()
            )
            parts.append(f"{word}: {named}")
        elif whose:
            parts.append(f"{word}: {len(whose)} of {len(found)} models")
    others = [who for who, one in found.items() if one.is_defined and _side(outcome, one) == "open"]
    if not parts:
        alone = f" ({estimate(found[others[0]], outcome.digits)})" if len(others) == 1 else ""
        told = f"{outcome.title}{alone} is not told from {outcome.neutral:g}"
        return f"No preference is shown: {told}."
    if others:
        parts.append(f"not shown to differ from {outcome.neutral:g}: {listed(others, MOST_NAMED)}")
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _test_said(test: Estimate) -> str:
    if test.p != test.p:
        return f"undefined ({test.reason})." if test.reason else "undefined."
    said = f" by {test.p_method}" if test.p_method else ""
    value = f"{number(test.value, 2)}, " if test.is_defined else ""
    return f"{value}p {_p(test.p)}{said}; {units(test.n, test.unit)}."


def _with_p(found: Estimate, digits: int) -> str:
    """The figure, with the p of its own test where it has one."""
    said = estimate(found, digits)
    return said if found.p != found.p else f"{said} (p {_p(found.p)})"


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def _sentence(text: str) -> str:
    end = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{end}"


def _sentences(texts: Sequence[str]) -> str:
    return " ".join(_sentence(text) for text in texts)


__all__ = ["demonstration", "document"]
