"""MLflow: the panel as a scorer of `mlflow.genai.evaluate`.

    mlflow.genai.evaluate(data=data, scorers=[panel_scorer("panel.yaml", max_cost=5)])

A verdict becomes feedback named `composite`, and one for each criterion, with interval and counts
as the rationale. A verdict without a number (inconclusive or screened) becomes feedback without a
value, with an error that says why; MLflow leaves it out of the metrics of the run.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, InputFault
from ..judges.models.litellm_setup import litellm_module
from .evaluator import PanelEvaluator
from .verdicts import answered_text, asked_text, comment_on, scores_of, verdict_metadata

if TYPE_CHECKING:
    from ..experiment.backends import Model
    from ..panel import Panel
    from ..records.types import Verdict

try:
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback  # pyright: ignore[reportMissingImports]
    from mlflow.genai.scorers import Scorer, scorer  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise InputError(
        [InputFault("mlflow", f"is not installed, or too old ({error})")],
        hint="install it with: pip install -U mlflow",
    ) from error


def panel_scorer(
    panel: PanelEvaluator | Panel | str | Path | Sequence[Model] | None = None,
    *,
    name: str = "areopagus",
    prefix: str = "",
    **settings: Any,
) -> Scorer:
    """A scorer that takes `inputs` and `outputs`; expectations are not looked at.

    Args:
        panel: as of `PanelEvaluator`, or one, which the caller then saves and closes.
        name: of the scorer, under which MLflow shows what it raises.
        prefix: of the names of the feedback, where other scorers have the same ones.
        settings: `out`, `max_cost` and further arguments of `PanelEvaluator`.

    Raises:
        InputError: everything wrong with the settings; by the scorer, texts that are not found.
    """
    evaluator = PanelEvaluator.of(panel, **settings)
    # `evaluate` imports litellm, which would then fetch its prices from the network.
    litellm_module()
    # MLflow gives up after five minutes; the panel has time limits of its own for each call.
    has_timeout = "timeout" in inspect.signature(scorer).parameters
    options: dict[str, Any] = {"timeout": 0} if has_timeout else {}

    def areopagus_panel(inputs: Any, outputs: Any) -> list[Feedback]:
        verdict = evaluator.score(asked_text(inputs, "inputs"), answered_text(outputs, "outputs"))
        return _feedback(verdict, evaluator, prefix)

    return scorer(areopagus_panel, name=name, **options)


def _feedback(verdict: Verdict, evaluator: PanelEvaluator, prefix: str) -> list[Feedback]:
    is_demonstration = evaluator.is_demonstration
    models = sorted({backend.spec.name for backend in evaluator.panel.backends})
    source = AssessmentSource(
        source_type="CODE" if is_demonstration else "LLM_JUDGE",
        source_id=f"areopagus: {', '.join(models)}",
    )
    told = verdict_metadata(verdict, is_demonstration=is_demonstration)
    told["run"] = evaluator.out.name  # it goes to a server: the paths of this machine stay
    # MLflow keeps texts.
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in told.items()
        if value is not None
    }
    found = []
    for place, one in enumerate(scores_of(verdict)):
        why = None
        if one.reason is not None:
            code = verdict.status if verdict.status != "scored" else "unscored"
            why = AssessmentError(error_code=code.upper(), error_message=one.reason)
        found.append(
            Feedback(
                name=prefix + one.name,
                value=one.value,
                error=why,
                source=source,
                rationale=comment_on(one, verdict, is_demonstration=is_demonstration),
                metadata=texts if place == 0 else None,
            )
        )
    return found
