"""pydantic-evals: the panel as an evaluator of its data sets.

    dataset = Dataset(cases=[Case(inputs="…")], evaluators=[PanelJudge("panel.yaml", max_cost=5)])
    Dataset.from_file("cases.yaml", custom_evaluator_types=[PanelJudge])

A verdict with a number gives scores, `composite` and one for each criterion, each with its interval
as the reason. Every verdict gives the label `panel`: "scored", or "inconclusive" or "screened" with
the reason and without scores, so that the report's averages are over what was scored and its labels
say which share that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, InputFault
from .evaluator import PanelEvaluator
from .verdicts import answered_text, asked_text, comment_on, scores_of

try:
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise InputError(
        [InputFault("pydantic_evals", f"is not installed, or too old ({error})")],
        hint="install it with: pip install -U pydantic-evals",
    ) from error


# pydantic-evals has types of its own, which the checker of this project does not see.
@dataclass(repr=False)
class PanelJudge(Evaluator):  # type: ignore[misc, unused-ignore]
    """A panel of judges as an evaluator; the case's inputs are the prompt, its output the response.

    Judges of the same settings are one panel under one cap, however often a file names them.

    Attributes:
        panel: the path of a panel.yaml, a model's name or several; the embedded text-feature
            baseline when left out. In a program also a Panel or a PanelEvaluator, which a file
            cannot hold.
        max_cost: US dollars that are not passed.
        out: the run folder; a new one under runs/ when left out.
        prefix: of the names of scores and label, where other evaluators have the same ones.
    """

    panel: Any = None
    max_cost: float | None = None
    out: str | None = None
    prefix: str = ""

    def __post_init__(self) -> None:
        # No field: what is written into a file is how to make it.
        self.evaluator = PanelEvaluator.shared(self.panel, out=self.out, max_cost=self.max_cost)

    async def evaluate(self, ctx: EvaluatorContext) -> Mapping[str, EvaluationReason]:
        """Scores and label of a case by name.

        Raises:
            InputError: no text is found in its inputs or its output.
        """
        prompt, response = asked_text(ctx.inputs, "inputs"), answered_text(ctx.output, "output")
        verdict = await self.evaluator.ascore(prompt, response)
        is_demonstration = self.evaluator.is_demonstration
        scores = scores_of(verdict)
        comments = [comment_on(one, verdict, is_demonstration=is_demonstration) for one in scores]
        found = {f"{self.prefix}panel": EvaluationReason(verdict.status, comments[0])}
        for one, comment in zip(scores, comments, strict=True):
            if one.value is not None:
                found[self.prefix + one.name] = EvaluationReason(one.value, comment)
        return found
