"""What run.json says of a panel: what makes it this one, and what else is good to know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .judges.templates import FIRST, JudgeTemplate, load_template

if TYPE_CHECKING:
    from .panel import Panel


def identity_of(panel: Panel) -> dict[str, Any]:
    """What makes two runs runs of the same panel: a change here changes what is asked."""
    contract, settings = panel.brief.contract, panel.settings
    return {
        "rubric": {"id": panel.rubric.id, "sha256": panel.rubric.sha256},
        "personas": {persona.id: persona.sha256 for persona in panel.personas},
        "models": {
            backend.spec.name: {
                "model": backend.spec.model,
                "api_base": backend.spec.api_base,
                "structured": backend.spec.structured,
                "score_mode": backend.spec.score_mode or settings.score_mode,
                "parameters": backend.spec.parameters(),
            }
            for backend in panel.backends
        },
        "mode": settings.mode,
        "order": settings.order,
        "rationale": settings.rationale,
        "anchors": settings.anchors,
        "repeats": settings.repeats,
        "template": _identity_of(panel.template),
        "criteria": list(contract.criteria),
        "scale": [contract.low, contract.high],
    }


def description_of(panel: Panel) -> dict[str, Any]:
    """The panel as run.json records it beside its identity."""
    described: dict[str, Any] = {
        "personas": [
            {"id": p.id, "label": p.label, "axis": p.axis, "version": p.version}
            for p in panel.personas
        ],
        "rubric": {"id": panel.rubric.id, "label": panel.rubric.label},
        "template": {**_template(panel.template), "label": panel.template.label},
        "quorum": panel.settings.quorum,
        "models": [
            {
                "name": backend.spec.name,
                "requested": backend.spec.parameters(),
                "effective": backend.effective_parameters(),
                "prices": getattr(backend, "price_source", None),
                "structured": panel.ledger.capability(backend.spec.identity)
                if backend.spec.structured == "auto"
                else backend.spec.structured,
            }
            for backend in panel.backends
        ],
    }
    if panel.plan is not None:
        described["plan"] = panel.plan.to_json()
    if panel.precision is not None:
        described["precision"] = panel.precision.to_json()
    return described


def _identity_of(template: JudgeTemplate) -> str | dict[str, str]:
    # The first version had one wording, and wrote its version alone: its folders are continued.
    first = template.id == FIRST and template.sha256 == load_template(FIRST).sha256
    return template.version if first else _template(template)


def _template(template: JudgeTemplate) -> dict[str, str]:
    return {"id": template.id, "version": template.version, "sha256": template.sha256}
