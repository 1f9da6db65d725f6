"""What a panel's run leaves in its folder: the tables, what they come to, and run.json's account.

Every verdict goes into the tables and into a running summary as it comes; the verdicts themselves
are not kept.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ..records.estimates import write_estimates
from ..records.prompt_units import prompt_text_id, prompt_units, shared_texts_told
from ..records.run_folder import RunFolder
from ..records.tables import RunTables
from ..records.types import NOT_WANTED, STATUSES, Verdict
from ..run import RespondentMean, Run
from .run_record import RunRecord

if TYPE_CHECKING:
    from ..aggregation.rater_severity import AdditiveFit
    from ..aggregation.respondents import PromptUnitMeans
    from ..graphs.panel_spec import PanelRecord, PanelSpec
    from ..judges.models.client import Client


class RunWriter:
    """judgments.parquet, scores.csv and texts.parquet; used in a `with` block.

    At its end the tables take the place of earlier ones; where the block breaks off, those stay.

    Attributes:
        summary: what the verdicts come to so far.
    """

    def __init__(self, panel: PanelRecord, folder: Path, *, carried: Sequence[str] = ()) -> None:
        """Takes the panel, the run's folder, and the columns that responses carry."""
        self.summary = RunningSummary(panel)
        self._tables = RunTables(
            folder,
            criteria=panel.criteria,
            personas=list(panel.axes),
            models=panel.models,
            axes=sorted({*panel.axes.values()} - {""}),
            carried=carried,
        )

    def __enter__(self) -> Self:
        self._tables.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._tables.__exit__(*error)

    def add(
        self, verdict: Verdict, prompt: str, response: str, carried: Mapping[str, Any] | None = None
    ) -> None:
        """One more response, with the columns that it carries."""
        self._tables.add(verdict, prompt, response, carried)
        self.summary.add(verdict, prompt)


def write_run(
    panel: PanelSpec,
    path: Path,
    judged: Iterable[tuple[Mapping[str, Any], Verdict]],
    client: Client,
    *,
    source: str,
    carried: Sequence[str] = (),
) -> Run:
    """A panel's run, with its estimates, in a folder of its own, of verdicts that are there.

    Args:
        panel: who judged.
        path: the folder.
        judged: each response (prompt_text, response_text, what it carries) with its verdict.
        client: through which the panel asked.
        source: what run.json says that the responses are of.
        carried: columns that responses carry.

    Raises:
        StoreError: the folder cannot be written.
    """
    identity = panel.identity() | {"responses_sha256": source}
    folder = RunFolder.open(path, identity)
    try:
        with RunWriter(panel, path, carried=carried) as writer:
            for row, verdict in judged:
                texts = row["prompt_text"], row["response_text"]
                writer.add(verdict, *texts, {name: row[name] for name in carried})

        def described() -> dict[str, Any]:
            told = describe_run(
                panel, source, writer.summary, is_demonstration=panel.is_demonstration
            )
            return {"kind": "panel", "identity": identity, "ledger": panel.ledger.place, **told}

        RunRecord(folder, client, described).write("complete")
    finally:
        folder.close()
    run = Run(path)
    write_estimates(path, run.estimate_stored())
    return run


def describe_run(
    panel: PanelRecord,
    source: str,
    summary: RunningSummary,
    *,
    responses: Mapping[str, Any] | None = None,
    panel_description: Mapping[str, Any] | None = None,
    notices: Sequence[str] = (),
    is_demonstration: bool,
) -> dict[str, Any]:
    """What run.json says of a panel's run, beside what it says of every job.

    Args:
        panel: who judges.
        source: what the responses are of, such as a file's name.
        summary: what the verdicts come to so far.
        responses: how many responses, prompts and respondents there are; those of the summary where
            more are not known of.
        panel_description: `panel.describe()`, where it was made before.
        notices: what is to be said of the responses, after what is to be said of the panel.
        is_demonstration: whether an embedded stand-in answered.
    """
    respondents, total = summary.means()
    responses = summary.sizes() if responses is None else responses
    return {
        "demonstration": is_demonstration,
        "source": source,
        "notices": [*panel.notices, *notices, *summary.notices()],
        "responses": dict(responses),
        "panel": panel.describe() if panel_description is None else panel_description,
        "n_planned": responses["n"] * len(panel.planned()) - summary.n_absent,
        "counts": dict(summary.counts),
        "verdicts": dict(summary.verdicts),
        "faults": dict(summary.faults),
        "flags": dict(summary.flags),
        "cost": {
            "replies_usd": summary.cost_usd,
            "judgments_with_unknown_price": summary.unknown_price,
            "note": "what the replies in these tables cost when they were paid, whoever paid",
        },
        "respondents": [item.to_json() for item in respondents],
        "total": total.to_json(),
    }


class RunningSummary:
    """Fed one verdict after the other; holds a few numbers a response, no text.

    Attributes:
        counts: status to number of judgments.
        verdicts: status of the verdict to number of responses.
        faults: "status: reason" to number of judgments that are neither scored nor abstained.
        flags: flag of the screen to number of responses.
        cost_usd: sum over judgments whose price is known.
        unknown_price: judgments whose replies have no known price.
        n_absent: judgments that imported files have no row for; they are in no count.
        n_settled_judgments: judgments not asked because there was nothing to judge, or because a
            stopping rule had enough: neither is a shortfall.
    """

    def __init__(self, panel: PanelRecord) -> None:
        self.criteria, self._scale = panel.criteria, panel.scale
        self.counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
        self.verdicts: dict[str, int] = {"scored": 0, "inconclusive": 0, "screened": 0}
        self.faults: dict[str, int] = {}
        self.flags: dict[str, int] = {}
        self.cost_usd = 0.0
        self.unknown_price = 0
        self.n_settled_judgments = self.n_absent = 0
        self._adjusting = _Adjusting(self.criteria)
        self._values = array("d")
        self._prompts = array("l")
        self._respondents = array("l")
        self._patterns = array("l")
        self._n_unbalanced = array("b")
        self._prompt_codes: dict[str, int] = {}
        self._prompt_texts: dict[tuple[str, str], None] = {}
        self._respondent_codes: dict[str, int] = {}

    def add(self, verdict: Verdict, prompt: str) -> None:
        """One more response, to a prompt of this text."""
        self.verdicts[verdict.status] += 1
        for status, number in verdict.counts.items():
            self.counts[status] += number
        for flag in verdict.flags:
            self.flags[flag] = self.flags.get(flag, 0) + 1
        for judgment in verdict.judgments:
            if judgment.calls and judgment.cost_usd is None:
                self.unknown_price += 1
            self.cost_usd += judgment.cost_usd or 0.0
            if judgment.status in ("scored", "abstained"):
                continue
            self.n_absent += judgment.reason == "absent"
            self.n_settled_judgments += judgment.reason in ("screened", *NOT_WANTED)
            if judgment.reason in NOT_WANTED:
                continue  # nothing is wrong with it
            name = f"{judgment.status}: {judgment.reason}"
            self.faults[name] = self.faults.get(name, 0) + 1
        self._n_unbalanced.append(bool(verdict.unbalanced))
        self._patterns.append(self._adjusting.add(verdict))
        self._values.append(_nan(verdict.composite))
        self._values.extend(_nan(verdict.dimensions.get(name)) for name in self.criteria)
        self._prompts.append(
            self._prompt_codes.setdefault(verdict.prompt_id, len(self._prompt_codes))
        )
        self._prompt_texts[verdict.prompt_id, prompt_text_id(prompt) if prompt else ""] = None
        self._respondents.append(
            self._respondent_codes.setdefault(verdict.respondent_id, len(self._respondent_codes))
        )

    def sizes(self) -> dict[str, int]:
        """How many responses were added, of how many prompts, and how many wrote them."""
        return {
            "n": len(self._prompts),
            "prompts": len({*self._units().values()}),
            "respondents": len(self._respondent_codes),
        }

    def _units(self) -> dict[str, str]:
        """Prompt id to its unit of analysis; see `records.prompt_units`."""
        return prompt_units(
            {"prompt_id": name, "prompt_text_id": text} for name, text in self._prompt_texts
        )

    def notices(self) -> list[str]:
        """That prompt ids share a text, where they do."""
        told = shared_texts_told(self._units())
        return [] if told is None else [told]

    @property
    def is_short(self) -> bool:
        """Whether a judgment was not asked for that was wanted."""
        return self.counts["not_asked"] > self.n_settled_judgments

    def means(self) -> tuple[list[RespondentMean], RespondentMean]:
        """Means by respondent, in their order of appearance, and of the run.

        They are freed from which judges happened to score a response; where no judgment is
        missing, they are the plain means.
        """
        if not self._prompts:
            return [], RespondentMean("run", 0, 0, 0, None, None, "no response was scored")
        import numpy as np

        from ..aggregation.respondents import by_prompt_unit

        width = 1 + len(self.criteria)
        values = np.frombuffer(self._values, dtype=np.float64).reshape(-1, width)
        unit_of = self._units()
        units = np.array([self._prompt_codes[unit_of[name]] for name in self._prompt_codes])
        prompts = units[np.frombuffer(self._prompts, dtype=np.dtype("l"))]
        respondents = np.frombuffer(self._respondents, dtype=np.dtype("l"))
        unbalanced = np.frombuffer(self._n_unbalanced, dtype=np.int8)
        moved = self._adjusting.moved()[np.frombuffer(self._patterns, dtype=np.dtype("l"))]
        scores, run = by_prompt_unit(values + moved, prompts, respondents)
        plain = None
        if moved.any():
            of_each, of_all = by_prompt_unit(values, prompts, respondents)
            plain = {int(one.label): one.means[0].value for one in of_each}
            plain[_RUN] = of_all.means[0].value
        by_code = {int(one.label): one for one in scores}
        marked = np.bincount(respondents, weights=unbalanced, minlength=len(by_code))

        def mean(name: str, code: int, found: PromptUnitMeans, n_unbalanced: float) -> Any:
            before = None if plain is None else plain[code]
            return self._mean(name, found, before, int(n_unbalanced))

        return [
            mean(name, code, by_code[code], marked[code])
            for name, code in self._respondent_codes.items()
        ], mean("run", _RUN, run, marked.sum())

    def _mean(
        self, name: str, found: PromptUnitMeans, plain: float | None, n_unbalanced: int
    ) -> RespondentMean:
        from ..aggregation.jackknife import cut_to_range

        composite, *dimensions = (cut_to_range(one, self._scale) for one in found.means)
        return RespondentMean(
            respondent_id=name,
            n_responses=found.n_responses,
            n_scored=found.n_scored[0],
            n_prompts=composite.n,
            composite=_finite(composite.value),
            interval=(composite.low, composite.high) if composite.has_interval else None,
            reason=composite.reason,
            dimensions={
                criterion: (_finite(one.value), _finite(one.low), _finite(one.high))
                for criterion, one in zip(self.criteria, dimensions, strict=True)
            },
            moved=0.0 if plain is None else _finite(composite.value - plain),
            n_unbalanced=n_unbalanced,
        )


_RUN = -1
_BLOCK = 256
"""Responses that are taken into the fit at once."""


class _Adjusting:
    """The additive fit of a run's judgments, and which judges scored each response."""

    def __init__(self, criteria: Sequence[str]) -> None:
        self._criteria = criteria
        self._judges: dict[tuple[str, str], int] = {}
        self._patterns: dict[tuple[int, ...], int] = {}
        self._waiting: list[Verdict] = []
        self._fit: AdditiveFit | None = None

    def add(self, verdict: Verdict) -> int:
        """Takes in what a verdict rests on, and returns the number of its pattern of judges."""
        if not self._judges:
            for judgment in verdict.judgments:
                judge = judgment.persona, judgment.model
                self._judges.setdefault(judge, len(self._judges))
        counts = [0] * len(self._judges)
        if verdict.composite is not None:
            for judgment in verdict.judgments:
                if judgment.status == "scored":
                    counts[self._judges[judgment.persona, judgment.model]] += 1
            self._waiting.append(verdict)
            if len(self._waiting) >= _BLOCK:
                self._take()
        return self._patterns.setdefault(tuple(counts), len(self._patterns))

    def _take(self) -> AdditiveFit:
        import numpy as np

        from ..aggregation.rater_severity import AdditiveFit

        judges, width = len(self._judges), 1 + len(self._criteria)
        if self._fit is None:
            self._fit = AdditiveFit(judges, width)
        totals = np.zeros((len(self._waiting), judges, width))
        counts = np.zeros((len(self._waiting), judges))
        for row, verdict in enumerate(self._waiting):
            for judgment in verdict.judgments:
                if judgment.status != "scored":
                    continue
                at = self._judges[judgment.persona, judgment.model]
                scores = [judgment.scores[name] for name in self._criteria]
                totals[row, at] += (sum(scores) / len(scores), *scores)
                counts[row, at] += 1
        self._fit.add(totals, counts)
        self._waiting.clear()
        return self._fit

    def moved(self) -> Any:
        """Shape (patterns, 1 + criteria): what adjusting adds to the means of such a response."""
        import numpy as np

        return self._take().moved(np.array(list(self._patterns), dtype=np.float64))


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
