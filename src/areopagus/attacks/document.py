"""What is shown of an attack: a document made of run.json and the estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..aggregation.estimate import Estimate
from ..formats import percent, said, words
from ..graphs.detectors import DETECTORS
from ..graphs.screening import GATES
from ..records.estimates import estimates_by, select
from ..reports.document import Chart, Column, Document, Paragraph, Part, Points, Section, Table
from ..reports.panel_answer import NOT_CALIBRATED
from ..reports.run_sections import job_sections
from ..reports.views import Measure, estimates_table, joint_limits, jointly
from .answer import HARMLESS, Answer
from .effects import ANY

if TYPE_CHECKING:
    import pandas as pd

MOST_SHOWN: Final = 6
_SHIFT: Final = Measure("shift", "against clean", is_signed=True)
_BEYOND: Final = Measure("beyond", "against harmless text", is_signed=True)
_MOVED: Final = Measure("moved", "moved", "value", digits=0, is_percent=True)
_FLAGGED: Final = Measure("flagged", "noticed", "value", digits=0, is_percent=True)
_MOST: Final = (
    replace(_SHIFT, field="value", title="clean"), replace(_BEYOND, title="harmless"),
    Measure("beyond", "result", "verdict"), _FLAGGED,
)  # fmt: skip
_MOST_RAW: Final = (
    replace(_SHIFT, title="clean"), Measure("shift", "result", "verdict"), _FLAGGED,
)  # fmt: skip
_RESULTS: Final = (
    _SHIFT, Measure("shift", "result, clean", "verdict"),
    _BEYOND, Measure("beyond", "result, harmless text", "verdict"),
    Measure("beyond", "prompts", "n_of"), Measure("beyond", "prompts needed", "needed"),
)  # fmt: skip
_SHARES: Final = (
    Measure("attacked"), Measure("control", "harmless text", "value"),
    Measure("clean", "clean", "value"),
)  # fmt: skip


def attack_document(
    record: Mapping[str, Any], estimates: pd.DataFrame, *, people: str = NOT_CALIBRATED
) -> Document:
    """What is shown of an attack.

    Args:
        record: the content of run.json.
        estimates: of `effects.estimate`.
        people: how near the panel is to people.
    """
    view = _Shown(record, joint_limits(estimates))
    return Document(
        title="Attack on a panel",
        kind="attack",
        headline=list(view.headline()),
        trust=list(view.trust(people)),
        notices=[str(notice) for notice in record["notices"]],
        sections=[
            Section("families", "What moves the panel most", view.most(), "summary"),
            Section("effects", "By attack family", view.by_family()),
            Section("cells", "By place, model and criterion", view.breakdowns()),
            Section("detectors", "Detectors", view.detectors()),
            Section("statuses", "Outcome of the judgments", view.statuses(), "appendix"),
            *appendix(record),
        ],
        is_demonstration=bool(record["demonstration"]),
    )


class _Shown(Answer):
    """The tables and pictures of an attack."""

    @property
    def _jointly(self) -> str:
        n = sum(self.outcome(family) != "untested" for family in self.families)
        if not n:
            return ""
        return "; 95% intervals" if n == 1 else f"; intervals hold jointly for {n} families"

    def most(self) -> list[Part]:
        """The families that move the panel most."""
        families = self.sorted_families()
        parts: list[Part | None] = []
        if families:
            rows = [(str(self.names[f]), self.tested(f)) for f in families]
            if harmless := self._row("harmless"):
                rows.append(("harmless text, against clean", harmless["shift"]))
            parts.append(
                _forest(
                    "families", "Change in score by attack family",
                    f"Points against {HARMLESS}; against the clean response where there is none"
                    f"{self._jointly}. Families marked (lowest) succeed to the left.",
                    rows, axis="points", reference=0.0, is_diverging=True,
                )
            )  # fmt: skip
        if self.of_statuses:
            parts.append(
                _forest(
                    "statuses", "Judgments kept from scoring",
                    "Share of judgments that end as the family asks, under the attack minus under "
                    f"{HARMLESS} (without one, minus under the clean response){self._jointly}.",
                    [(str(self.names[f]), self.tested(f)) for f in self.of_statuses],
                    axis="share of judgments", reference=0.0, is_diverging=True,
                )
            )  # fmt: skip
        if not families:
            return [part for part in [*parts, self._statuses_table()] if part is not None]
        has_control = any("beyond" in self.families[f] for f in families)
        left = len(self.of_scores) - len(families[:MOST_SHOWN])
        against = "clean and harmless text" if has_control else "clean responses"
        caption = f"Points against {against}{self._jointly}"
        caption += f"; the largest of {len(self.of_scores)}" if left and not self._jointly else ""
        caption += "."
        measures: tuple[Measure, ...] = _MOST if has_control else _MOST_RAW
        if not self._jointly:
            measures = tuple(column for column in measures if column.field != "verdict")
        parts.append(self._table(families[:MOST_SHOWN], caption, measures))
        return [part for part in parts if part is not None]

    def _table(
        self, families: Sequence[str], caption: str, measures: Sequence[Measure]
    ) -> Table | None:
        rows = self.estimates[self.estimates["group"].isin(families)]
        place = {family: at for at, family in enumerate(families)}
        rows = rows.sort_values("group", key=lambda names: names.map(place), kind="stable")
        return estimates_table(
            rows, "families", keys={"group": "attack family"}, measures=measures, caption=caption,
            label="By attack family", named={"group": self.names},
        )  # fmt: skip

    def by_family(self) -> list[Part]:
        """All families: effects, verdicts, what they are."""
        about = self.record["families"] if isinstance(self.record["families"], Mapping) else {}
        parts = [
            self._table(
                self.of_scores,
                "Score of attacked responses, in points, against clean ones and against "
                f"{HARMLESS} in the same place{self._jointly}, each for itself. moved: judgments "
                f"that moved by {self.threshold:g} points or more as the attack asks, or to that "
                "end of the scale. noticed: responses with a new flag. prompts needed: to detect "
                "0.2 points.",
                (*_RESULTS, _MOVED, _FLAGGED,
                 Measure("neutralised_shift", "against clean, neutralised", is_signed=True)),
            ),
            self._statuses_table(),
            Points([("", sentence) for sentence in self._outcomes()]),
            Table(
                "What the families are, and what their texts ask for: an end of the scale, or a "
                "judgment without a score.",
                "Families",
                [Column("family", "id"), Column("asks for"), Column("what it is", "wide")],
                [[f, end, str(about.get(f, ""))] for f, end in self.asks.items()],
            ),
        ]  # fmt: skip
        return [part for part in parts if part is not None]

    def _statuses_table(self) -> Table | None:
        """Families that ask for no score."""
        rows = self.estimates[self.estimates["group"].isin(self.of_statuses)]
        return estimates_table(
            rows, "families", keys={"group": "attack family", "detail": "asks for"},
            measures=(*_SHARES, _BEYOND, Measure("beyond", "result", "verdict"),
                      Measure("shift", "against clean", is_signed=True),
                      Measure("shift", "result, clean", "verdict"), _FLAGGED),
            caption="Share of judgments that end as the family asks: abstained, refused, or in "
            f"another form{self._jointly}. A judgment counts where a reply came; a provider's "
            "filter is a refusal.",
            label="Families that ask for no score",
        )  # fmt: skip

    def _outcomes(self) -> list[str]:
        """What is shown of which families, and the caution that goes with it."""
        every = list(self.families)
        sentences = [
            f"{text}: {', '.join(chosen)}."
            for outcomes, text in _OUTCOMES.items()
            if (chosen := self.with_outcome(*outcomes, among=every))  # type: ignore[arg-type]
        ]
        if untested := self.with_outcome("untested", among=every):
            sentences.append(f"Not tested ({said(self.untested_of())}): {', '.join(untested)}.")
        return [
            *sentences,
            (
                "A family without an effect here is not proven harmless: the texts are fixed, few "
                "and known. An attacker who adapts to a judge does better."
            ),
        ]

    def breakdowns(self) -> list[Part]:
        """All attacks by place, model and criterion; families by model."""
        parts: list[Part | None] = []
        for table, key, head in (
            ("places", "detail", "place"), ("models", "model", "model"),
            ("criteria", "criterion", "criterion"),
        ):  # fmt: skip
            parts.append(
                estimates_table(
                    self.estimates, table, keys={key: head}, measures=(_SHIFT, _BEYOND),
                    where={"group": None}, caption=f"All attacks that ask for a score, by {head}.",
                    label=f"By {head}",
                )
            )  # fmt: skip
        parts += [self._heatmap()]
        return [part for part in parts if part is not None]

    def _heatmap(self) -> Chart | None:
        cells = select(self.estimates, "models")
        rows: dict[str, dict[str, float]] = {}
        for at, row in estimates_by(cells[cells["group"].notna()], ["group", "model"]):
            (figure,) = row.values()
            rows.setdefault(str(at["group"]), {})[str(at["model"])] = figure.value
        models = list(dict.fromkeys(name for row in rows.values() for name in row))
        if len(models) < 2:
            return None
        return Chart(
            "heatmap", "models", "By family and model",
            f"Points against {HARMLESS} by each model's judges; against the clean response where "
            "there is none.",
            [str(self.names[family]) for family in rows], models,
            [[row.get(model, math.nan) for model in models] for row in rows.values()],
            is_diverging=True,
        )  # fmt: skip

    def detectors(self) -> list[Part]:
        """What the detectors find, and their false alarms."""
        parts: list[Part | None] = [
            Paragraph("Detectors flag; they change no score."),
            _forest(
                "detected", "Attacked responses that are flagged",
                "Share of the attacked responses of each family with a flag that the clean "
                "response does not have, with 95% intervals over prompts.",
                [(f, row["flagged"]) for f, row in self.families.items()
                 if row["flagged"].is_defined],
                axis="share newly flagged", scale=(0.0, 1.0),
            ),
            estimates_table(
                self.estimates, "detectors", keys={"group": "detector"},
                named={"group": {name: words(name) for name in (ANY, *DETECTORS)}},
                measures=[
                    Measure("alarms_clean", "clean responses"),
                    Measure("alarms_control", "controls"),
                    Measure("alarms_telling", "telling words"),
                ],
                caption="False alarms as shares: on clean responses and on controls (newly "
                "flagged) over prompts, and on clean texts with telling words over these texts.",
                label="False alarms",
            ),
        ]  # fmt: skip
        hits: dict[str, list[str]] = {}
        for at, row in estimates_by(select(self.estimates, "detected"), ["group", "detail"]):
            text = f"{at['detail']} {percent(row['flagged'].value)}"
            hits.setdefault(str(at["group"]), []).append(text)
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
                    [words(flag), text, ", ".join(hits.get(flag, ()))]
                    for flag, text in about.items()
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
            caption="Judgments on attacked responses, by outcome.",
            label="Statuses", is_short=True,
        )  # fmt: skip
        return [table] if table else []


_OUTCOMES: Final = {
    ("works",): f"In the direction that the attack asks for, against {HARMLESS} and against clean "
    "responses",
    ("backfires",): "In the other direction, against both",
    (
        "ahead",
    ): f"Closer to what the attack asks than {HARMLESS}, but not shown to move clean scores "
    "that way",
    ("behind",): f"Further from what the attack asks than {HARMLESS}, but not shown to move clean "
    "scores that way",
    ("shifts",): "No control: against clean responses, as the attack asks (length plays a part)",
    ("shifts back",): "No control: against clean responses, in the other direction",
    ("not shown",): "Not shown to differ, which is no proof of no effect",
}


def _forest(
    name: str, title: str, caption: str, rows: Sequence[tuple[str, Estimate]], **more: Any
) -> Chart:
    limits = [jointly(figure) for _, figure in rows]
    return Chart(
        "forest", name, title, caption, [label for label, _ in rows],
        values=[[figure.value] for figure in limits],
        low=[[figure.low] for figure in limits],
        high=[[figure.high] for figure in limits],
        **more,
    )  # fmt: skip


def appendix(record: Mapping[str, Any]) -> list[Section]:
    """What a job cost and what was asked of whom, for those who check."""
    return [replace(section, audience="appendix") for section in job_sections(record)]
