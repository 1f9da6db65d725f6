"""openevals and LangSmith: the panel as an evaluator function.

    judge = create_panel_evaluator("panel.yaml", max_cost=5)
    langsmith.evaluate(target, data=…, evaluators=[judge])

What LangSmith calls feedback is made of every verdict: one result for `composite` and one for each
criterion. A verdict without a number (inconclusive or screened) gives results whose `score` is
None and whose `comment` says why. LangSmith shows such feedback without a score, and its means are
over what has one.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from .evaluator import PanelEvaluator
from .verdicts import answered_text, asked_text, comment_on, scores_of, verdict_metadata

if TYPE_CHECKING:
    from ..experiment.backends import Model
    from ..panel import Panel
    from ..records.types import Verdict


class EvaluatorResult(TypedDict):
    """One result, with the keys of openevals.

    Attributes:
        key: "composite" or a criterion, after the prefix.
        score: the panel's mean on the rubric's scale, or None.
        comment: interval and counts, or why there is no score.
        metadata: of `composite` the whole verdict in numbers; None elsewhere.
    """

    key: str
    score: float | None
    comment: str
    metadata: dict[str, Any] | None


def create_panel_evaluator(
    panel: PanelEvaluator | Panel | str | Path | Sequence[Model] | None = None,
    *,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., list[EvaluatorResult]]:
    """A function `(*, inputs, outputs, reference_outputs=None, **kwargs)` that asks the panel.

    `inputs` and `outputs` are texts, chat messages, or mappings that hold one of these under a
    usual name (`question`, `answer`, `messages` …). `reference_outputs` is not looked at: there is
    no right answer. In a test that is marked `langsmith` the results are logged as its feedback.

    Args:
        panel: as of `PanelEvaluator`, or one, which the caller then saves and closes.
        prefix: of the results' keys, where other evaluators have the same ones.
        settings: `out`, `max_cost` and further arguments of `PanelEvaluator`.

    Raises:
        InputError: everything wrong with the settings; by the function, texts that are not found.
    """
    evaluator = PanelEvaluator.of(panel, **settings)

    def areopagus_panel(
        *, inputs: Any, outputs: Any, reference_outputs: Any = None, **kwargs: Any
    ) -> list[EvaluatorResult]:
        verdict = evaluator.score(asked_text(inputs, "inputs"), answered_text(outputs, "outputs"))
        return _logged(_results(verdict, evaluator, prefix))

    return areopagus_panel


def create_async_panel_evaluator(
    panel: PanelEvaluator | Panel | str | Path | Sequence[Model] | None = None,
    *,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., Awaitable[list[EvaluatorResult]]]:
    """The asynchronous twin of `create_panel_evaluator`."""
    evaluator = PanelEvaluator.of(panel, **settings)

    async def areopagus_panel(
        *, inputs: Any, outputs: Any, reference_outputs: Any = None, **kwargs: Any
    ) -> list[EvaluatorResult]:
        asked, answered = asked_text(inputs, "inputs"), answered_text(outputs, "outputs")
        return _logged(_results(await evaluator.ascore(asked, answered), evaluator, prefix))

    return areopagus_panel


def _results(verdict: Verdict, evaluator: PanelEvaluator, prefix: str) -> list[EvaluatorResult]:
    is_demonstration = evaluator.is_demonstration
    told = verdict_metadata(verdict, is_demonstration=is_demonstration)
    told["run"] = evaluator.out.name  # it goes to a server: the paths of this machine stay
    return [
        EvaluatorResult(
            key=prefix + one.name,
            score=one.value,
            comment=comment_on(one, verdict, is_demonstration=is_demonstration),
            metadata=told if place == 0 else None,
        )
        for place, one in enumerate(scores_of(verdict))
    ]


def _logged(results: list[EvaluatorResult]) -> list[EvaluatorResult]:
    """The results, which are the feedback of a test marked `langsmith` where one is under way."""
    # Nothing is traced by what nobody has imported; and the verdict is paid for by now.
    if "langsmith" not in sys.modules:
        return results
    from langsmith import get_current_run_tree, testing

    if get_current_run_tree() is None:
        return results
    for one in results:
        try:
            testing.log_feedback(key=one["key"], score=one["score"], comment=one["comment"])
        except ValueError:  # traced, but no such test: `evaluate` takes what is returned
            break
    return results
