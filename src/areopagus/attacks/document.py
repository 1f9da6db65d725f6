"""What is shown of an attack: a document made of run.json and the estimates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.common_judges import FEWEST_JUDGES
from ..aggregation.estimate import Estimate
from ..formats import percent, said, units, words
from ..graphs.detectors import DETECTORS
from ..graphs.screening import GATES
from ..records.estimates import estimates_by, select
from ..reports.document import (
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Records,
    Section,
    Table,
)
from ..reports.panel_answer import NOT_CALIBRATED
from ..reports.panel_responses import MOST_ROWS
from ..reports.run_sections import job_sections
from ..reports.views import Measure, estimates_table
from .answer import NO_KEYS, Answer
from .effects import ANY

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN: Final = 6
_EFFECTS: Final = (
    Measure("shift", "shift", is_signed=True),
    Measure("beyond", "beyond harmless", is_signed=True),
    Measure("moved", "moved", "value", digits=0, is_percent=True),
    Measure("verdicts_moved", "verdicts moved", "value", digits=0, is_percent=True),
    Measure("worst", "worst", "value"),
    Measure("pairs", "pairs scored", "n_of"),
)
_FLAGGED: Final = Measure("flagged", "flagged", "value", digits=0, is_percent=True)
_FAMILY: Final = (
    *_EFFECTS[:2],
    Measure("beyond", "p (Holm)", "p_adjusted"),
    Measure("beyond", "found", "verdict"),
    Measure("shift", "p (Holm), shift", "p_adjusted"),
    Measure("shift", "found, shift", "verdict"),
    *_EFFECTS[2:5],
    _FLAGGED,
    Measure("neutralised_shift", "shift, neutralised", is_signed=True),
    _EFFECTS[5],
    Measure("screened", "screened", "n_of"),
)
_MOST: Final = (
    Measure("shift", "shift", "value", is_signed=True),
    Measure("beyond", "beyond", is_signed=True),
    Measure("moved", "moved", "value", digits=0, is_percent=True),
    _FLAGGED,
    Measure("beyond", "p (Holm)", "p_adjusted"),
)
_MOST_RAW: Final = (
    Measure("shift", "shift", is_signed=True),
    *_MOST[2:4],
    Measure("shift", "p (Holm)", "p_adjusted"),
)
_BREAKDOWNS: Final = (
    ("places", "detail", "place"),
    ("models", "model", "model"),
    ("criteria", "criterion", "criterion"),
)


def attack_document(
    record: Mapping[str, Any], estimates: pd.DataFrame, *, people: str = NOT_CALIBRATED
) -> Document:
    """What is shown of an attack.

    Args:
        record: the content of run.json.
        estimates: of `effects.estimate`.
        people: how near the panel is to people.
    """
    found = _Shown(record, estimates)
    return Document(
        title="Attack on a panel",
        kind="attack",
        headline=list(found.headline()),
        trust=list(found.trust(people)),
        notices=[str(notice) for notice in record["notices"]],
        sections=[
            Section("families", "What moves the panel most", found.most(), "summary"),
            Section("effects", "By family of attacks", found.families()),
            Section("cells", "By place, model and criterion", found.breakdowns()),
            Section("detectors", "Detectors", found.detectors()),
            Section("balance", "Judges on both sides", found.balance()),
            Section("statuses", "What became of the judgments", found.statuses(), "appendix"),
            *appendix(record),
        ],
        is_demonstration=bool(record["demonstration"]),
    )


class _Shown(Answer):
    """The tables and pictures of an attack."""

    def most(self) -> list[Part]:
        """The families that move the panel most."""
        families = self.sorted_families()
        of_statuses: list[Part] = [_statuses_chart(self)] if self.by_status_family else []
        if not families:
            return [*of_statuses, *filter(None, [self._few_statuses()])]
        chosen = families[:MOST_SHOWN]
        left = len(self.by_family) - len(chosen)
        parts: list[Part] = [_forest(self, families), *of_statuses]
        beyond = [self.by_family[f]["beyond"] for f in chosen] if self._has_controls else []
        limits = beyond or [self.by_family[f]["shift"] for f in chosen]
        found = self._table(
            chosen,
            f"Points{over_prompts(limits)}"
            + ("; beyond: harmless prose." if any(one.is_defined for one in beyond) else ".")
            + (f" The largest of {len(self.by_family)}." if left else ""),
            _MOST if beyond else _MOST_RAW,
        )
        return [*parts, found] if found else parts

    def balance(self) -> list[Part]:
        """Judgments on both sides, and what is left out, where judges are missing on one."""
        rows = select(self.estimates, "balance")
        if not (rows[rows["measure"] == "one_sided"]["value"] > 0).any():
            return []
        keys = {"group": "family", "detail": "compared"}
        named = {"group": self.names}
        parts = [
            estimates_table(
                self.estimates, "balance", keys=keys, where={"model": None}, named=named,
                measures=[
                    Measure("judgments", "on both sides", "n_of"),
                    Measure("one_sided", "on one side only", "value", is_count=True),
                    Measure("responses_left_out", "responses left out", "value", is_count=True),
                    Measure("raw", "whoever scored", "value", is_signed=True),
                    Measure("moved", "unbalanced by", "value", is_signed=True),
                ],
                caption="Pairs of judgments by the same judge, of those planned. Responses left "
                f"out were scored by fewer than {FEWEST_JUDGES} of the same judges on both sides. "
                "Whoever scored: difference of panel means; unbalanced by: how far that is from "
                "the judges common to both sides.",
                label="Judges on both sides",
            ),
            estimates_table(
                self.estimates, "balance", keys={**keys, "model": "model"}, named=named,
                measures=[Measure("model_left_out", "left out", "value", is_count=True)],
                caption="Models without a judge who scored a response of the family on both sides.",
                label="Models left out",
            ),
        ]  # fmt: skip
        return [part for part in parts if part is not None]

    def _table(
        self, families: Sequence[str], caption: str, measures: Sequence[Measure]
    ) -> Table | None:
        rows = self.estimates[self.estimates["group"].isin(families)]
        place = {family: at for at, family in enumerate(families)}
        rows = rows.sort_values("group", key=lambda names: names.map(place), kind="stable")
        return estimates_table(
            rows, "families", keys={"group": "family"}, measures=measures,
            caption=caption.strip(), label="By family", named={"group": self.names},
        )  # fmt: skip

    def families(self) -> list[Part]:
        """All families: effects, tests, what they are."""
        level = float(self.record["identity"]["plan"]["level"])
        shifts = [row[name] for row in self.by_family.values() for name in ("shift", "beyond")]
        table = self._table(
            list(self.by_family),
            f"Shift in points (attacked minus clean){over_prompts(shifts, level)}; "
            "beyond harmless: attacked minus harmless prose of the same length in the same place, "
            "tested where there is such a control, else the raw shift. moved: judgments moved by "
            f"{self.threshold:g} points or more as demanded, or to the demanded end of the scale; "
            "verdicts: the same of the panel's means; worst: the largest such move of a mean; "
            "flagged: attacked responses with a new flag.",
            _FAMILY,
        )
        about: dict[str, str] = {}
        if isinstance(self.record["families"], Mapping):
            about = {str(name): str(label) for name, label in self.record["families"].items()}
        asks = {
            f: "highest" if row["direction"].value > 0 else "lowest"
            for f, row in self.by_family.items()
        } | self.asked_status
        told = Table(
            "What the families are, and what their texts ask for: an end of the scale, or a "
            "judgment without a score.",
            "Families",
            [Column("family", "id"), Column("asks for"), Column("what it is", "wide")],
            [[f, asked, about.get(f, "")] for f, asked in asks.items()],
        )
        points = Points([("", sentence) for sentence in self.readings()])
        parts = [table, self._statuses_table(level), points, told]
        return [part for part in parts if part is not None]

    def _few_statuses(self) -> Table | None:
        """Families that ask for no score in a few columns, where there are no others."""
        chosen = list(self.by_status_family)[:MOST_SHOWN]
        rows = self.estimates[self.estimates["group"].isin(chosen)]
        measure = "beyond" if self._has_status_controls else "shift"
        more = [self.by_status_family[family][measure] for family in chosen]
        return estimates_table(
            rows, "families", keys={"group": "family", "detail": "asks for"},
            measures=[
                Measure("attacked", "attacked", "value"),
                Measure("control", "harmless prose", "value"),
                Measure(measure, "more", is_signed=True),
                Measure("beyond", "p (Holm)", "p_adjusted"),
                Measure("shift", "p (Holm)", "p_adjusted"),
            ],
            caption=f"Share of judgments that end as the family asks{over_prompts(more)}; "
            "more: than "
            + ("under harmless prose." if self._has_status_controls else "in clean responses."),
            label="Families that ask for no score",
        )  # fmt: skip

    @property
    def _has_status_controls(self) -> bool:
        return any(row["beyond"].is_defined for row in self.by_status_family.values())

    def _statuses_table(self, level: float) -> Table | None:
        """Families that ask for no score."""
        shares = [
            row[name] for row in self.by_status_family.values() for name in ("attacked", "beyond")
        ]
        rows = self.estimates[self.estimates["detail"].notna()]
        return estimates_table(
            rows, "families", keys={"group": "family", "detail": "asks for"},
            measures=[
                Measure("attacked", "attacked"),
                Measure("control", "harmless prose", "value"),
                Measure("clean", "clean", "value"),
                Measure("beyond", "beyond harmless", is_signed=True),
                Measure("beyond", "p (Holm)", "p_adjusted"),
                Measure("beyond", "found", "verdict"),
                Measure("shift", "p, no control", "p_adjusted"),
                Measure("shift", "found, no control", "verdict"),
                Measure("pairs", "pairs answered", "n_of"),
                _FLAGGED,
            ],
            caption="Families that ask judges to abstain, to refuse, or to reply in another form: "
            f"share of judgments that end so{over_prompts(shares, level)}. A "
            "judgment counts where the same judge replied on both sides, scored or not; a "
            "provider's filter is a refusal. Tested and corrected with all families.",
            label="Families that ask for no score",
        )  # fmt: skip

    def readings(self) -> Iterator[str]:
        """What can be said of the families, and the caution that goes with it."""
        tested = sum(
            not math.isnan(self.tested(f).p_adjusted)
            for f in (*self.by_family, *self.by_status_family)
        )
        rule = (
            f"at {self.alpha:g} after Holm's correction over {units(tested, 'family', 'families')}"
        )

        every = [*self.by_family, *self.by_status_family]

        def names(*verdicts: str) -> str:
            return ", ".join(f for f in every if self.tested(f).verdict in verdicts)

        rows = {**self.by_family, **self.by_status_family}
        is_raw = {f for f, row in rows.items() if not row["beyond"].verdict}
        if tested and len(is_raw) < len(rows):
            yield (
                "Move scores (or keep judges from them) as they demand, beyond harmless prose of "
                f"the same length in the same place ({rule}): {names('as demanded') or 'none'}."
            )
        for verdict, told in _OTHERWISE:
            if names(verdict):
                yield f"{told}: {names(verdict)}."
        if any(not math.isnan(self.tested(f).p_adjusted) for f in is_raw):
            against = names("raw shift against its demand")
            yield (
                "Without a control the raw shift is tested, in which length and prose have their "
                f"part ({rule}). Shifted as they demand: "
                f"{names('raw shift as demanded') or 'none'}"
                + (f"; against their demand: {against}." if against else ".")
            )
        if untested := names("not tested"):
            yield f"Not tested ({said(self.untested_of())}): {untested}."
        yield (
            "A family that moved nothing here has not been shown harmless: the texts are fixed, "
            "few and known. Whoever may adapt to a judge does better."
        )

    def breakdowns(self) -> list[Part]:
        """All attacks by place, model and criterion; each family likewise."""
        parts: list[Part | None] = []
        for table, key, head in _BREAKDOWNS:
            parts.append(
                estimates_table(
                    self.estimates, table, keys={key: head}, measures=_EFFECTS,
                    where={"group": None}, caption=f"All attacks, by {head}.", label=f"By {head}",
                )
            )  # fmt: skip
        parts += [_heatmap(self), self._family_records()]
        harmless = select(self.estimates, "harmless")
        by = harmless["item"].fillna("all")
        for _, key, head in _BREAKDOWNS:
            name = harmless[key].fillna("").astype(str)
            name = name.map(words) if key == "criterion" else name
            by = by.where(harmless[key].isna(), f"{head} " + name)
        parts.append(
            estimates_table(
                harmless.assign(item=by), "harmless", keys={"item": "of"},
                measures=[Measure("shift", is_signed=True), _EFFECTS[5]],
                caption="Harmless prose of the same length in the same places, attacks left out: "
                "shift in points.",
                label="Harmless insertions",
            )
        )  # fmt: skip
        return [part for part in parts if part is not None]

    def _family_records(self) -> Records | None:
        rows = []
        for table, key, head in _BREAKDOWNS:
            cells = select(self.estimates, table)
            for at, row in estimates_by(cells[cells["group"].notna()], ["group", key]):
                shift, beyond = row["shift"], row["beyond"]
                rows.append(
                    [
                        at["group"], head, words(at[key] or "") if key == "criterion" else at[key],
                        *(known(x) for x in (shift.value, shift.low, shift.high)),
                        *(known(x) for x in (beyond.value, beyond.low, beyond.high)),
                        known(row["moved"].value), known(row["verdicts_moved"].value),
                        row["worst"].value if "worst" in row else None,
                        row["pairs"].n, row["pairs"].n_planned,
                    ]
                )  # fmt: skip
        if not rows:
            return None
        return Records(
            name="family-cells",
            caption="Each family by place, model and criterion: shift in points with its "
            "interval, the same beyond harmless prose (attacked minus control), and shares of "
            "judgments and of verdicts moved.",
            label="Family by place, model and criterion",
            columns=[
                Column("family", "id"), Column("by"), Column("which", "id"),
                *(Column(name, "number", is_signed=True) for name in _LIMITS),
                Column("moved", "number"), Column("verdicts moved", "number"),
                Column("worst", "number"), Column("scored", "count"), Column("planned", "count"),
            ],
            rows=rows[:MOST_ROWS],
            filters=[0, 1],
            left_out=max(0, len(rows) - MOST_ROWS),
            file="estimates.csv",
        )  # fmt: skip

    def detectors(self) -> list[Part]:
        """What the detectors find, and their false alarms."""
        parts: list[Part | None] = [Paragraph("Detectors flag; they change no score.")]
        rows = {**self.by_family, **self.by_status_family}
        shown = [f for f, row in rows.items() if row["flagged"].is_defined]
        parts.append(
            _chart(
                "detected", "Attacked responses that are flagged",
                "Share of the attacked responses of each family with a flag that the clean "
                "response does not have, with intervals over prompts.",
                [(f, rows[f]["flagged"]) for f in shown],
                axis="share newly flagged", scale=(0.0, 1.0),
            )
        )  # fmt: skip
        parts.append(
            estimates_table(
                self.estimates, "detectors", keys={"group": "detector"},
                named={"group": {name: words(name) for name in (ANY, *DETECTORS)}},
                measures=[
                    Measure("alarms_clean", "clean responses"),
                    Measure("flagged_clean", "clean flagged", "n_of"),
                    Measure("alarms_control", "controls"),
                    Measure("flagged_control", "controls flagged", "n_of"),
                    Measure("alarms_telling", "telling words"),
                    Measure("flagged_telling", "texts flagged", "n_of"),
                ],
                caption="False alarms as shares: on clean responses and on controls (newly "
                "flagged) over prompts, and on clean texts with telling words over these texts.",
                label="False alarms",
            )
        )  # fmt: skip
        hits: dict[str, list[str]] = {}
        for at, row in estimates_by(select(self.estimates, "detected"), ["group", "detail"]):
            told = f"{at['detail']} {percent(row['flagged'].value)}"
            hits.setdefault(str(at["group"]), []).append(told)
        about = {
            ANY: f"any of those below, and the gates ({', '.join(map(words, GATES))})",
            **DETECTORS,
        }
        parts.append(
            Table(
                "What each detector looks for, and the families of which it newly flags a "
                "response.",
                "What detectors find",
                [Column("detector", "id"), Column("looks for", "wide"), Column("finds", "wide")],
                [
                    [words(flag), told, ", ".join(hits.get(flag, ()))]
                    for flag, told in about.items()
                ],
            )
        )
        return [part for part in parts if part is not None]

    def statuses(self) -> list[Part]:
        """What became of the judgments on attacked responses."""
        table = estimates_table(
            self.estimates, "statuses", keys={"group": "family", "detail": "status"},
            named={"detail": {"not_asked": "not asked"}},
            measures=[Measure("judgments", field="value", is_count=True)],
            caption="Judgments on attacked responses, by what became of them.",
            label="Statuses", is_short=True,
        )  # fmt: skip
        return [table] if table else []


_OTHERWISE: Final = (
    ("against its demand", "Move scores against their demand"),
    (
        "ahead of harmless prose",
        "Fare better, by their demand, than harmless prose, but do not move clean scores that way",
    ),
    (
        "behind harmless prose",
        "Fare worse, by their demand, than harmless prose, but do not move clean scores that way",
    ),
)
_LIMITS: Final = ("shift", "low", "high", "beyond harmless", "beyond, low", "beyond, high")


def _forest(found: _Shown, families: Sequence[str]) -> Chart:
    rows = [(found.names[family], found.tested(family)) for family in families]
    rows = [
        (f"{name}, raw" if not found.by_family[family]["beyond"].verdict else name, one)
        for family, (name, one) in zip(families, rows, strict=True)
    ]
    if harmless := found._row("harmless", **NO_KEYS):
        rows.append(("harmless prose − clean", harmless["shift"]))
    return _chart(
        "families",
        "Shift by family",
        "Points beyond harmless prose of the same length (attacked minus control), with intervals "
        "over prompts; raw: no control, attacked minus clean. Families marked (lowest) succeed to "
        "the left. The last row is what harmless prose itself did.",
        rows,
        axis="points",
        reference=0.0,
        is_diverging=True,
    )


def _statuses_chart(found: _Shown) -> Chart:
    return _chart(
        "statuses",
        "Judgments kept from scoring",
        "Share of judgments that end as the family asks, beyond harmless prose of the same length "
        "(attacked minus control; without controls minus clean), with intervals over prompts.",
        [(str(found.names[family]), found.tested(family)) for family in found.by_status_family],
        axis="share of judgments",
        reference=0.0,
        is_diverging=True,
    )


def _heatmap(found: _Shown) -> Chart | None:
    cells = select(found.estimates, "models")
    rows: dict[str, dict[str, float]] = {}
    for at, row in estimates_by(cells[cells["group"].notna()], ["group", "model"]):
        one = row["beyond"] if row["beyond"].is_defined else row["shift"]
        rows.setdefault(str(at["group"]), {})[str(at["model"])] = one.value
    models = list(dict.fromkeys(name for row in rows.values() for name in row))
    if len(models) < 2:
        return None
    return Chart(
        "heatmap", "models", "By family and model",
        "Mean shift beyond harmless prose by each model's judges; raw where there is no control.",
        [str(found.names[family]) for family in rows], models,
        [[row.get(model, math.nan) for model in models] for row in rows.values()],
        is_diverging=True,
    )  # fmt: skip


def _chart(
    name: str, title: str, caption: str, rows: Sequence[tuple[str, Estimate]], **more: Any
) -> Chart:
    return Chart(
        "forest", name, title, caption, [label for label, _ in rows],
        values=[[one.value] for _, one in rows],
        low=[[one.low] for _, one in rows],
        high=[[one.high] for _, one in rows],
        **more,
    )  # fmt: skip


def over_prompts(shown: Iterable[Estimate], level: float | None = None) -> str:
    """That figures stand with intervals over prompts; empty where none has one."""
    if not any(one.has_interval for one in shown):
        return ""
    return " with intervals over prompts" if level is None else (
        f" with {level:.0%} intervals over prompts"
    )  # fmt: skip


def known(value: float) -> float | None:
    """The number; None where it is undefined."""
    return value if math.isfinite(value) else None


def appendix(record: Mapping[str, Any]) -> list[Section]:
    """What a job cost and what was asked of whom, for those who check."""
    return [replace(section, audience="appendix") for section in job_sections(record)]
