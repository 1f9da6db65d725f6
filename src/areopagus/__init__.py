"""A panel of ten disciplinary and ideological judges for responses that have no right answer.

Names are resolved when they are first used, so that `import areopagus` loads nothing heavy.
"""

from __future__ import annotations

from typing import Any

from .lazy import lazy_imports

_HOME = {
    "AreopagusError": ".errors",
    "AttackRun": ".attacks",
    "AuditRun": ".auditing",
    "BackendSpec": ".judges.models.backend",
    "InputError": ".errors",
    "InputFault": ".errors",
    "Judgment": ".records.types",
    "Ledger": ".records.ledger",
    "Panel": ".panel",
    "PanelSpec": ".graphs.panel_spec",
    "Persona": ".personas",
    "Prices": ".judges.models.prices",
    "Progress": ".experiment.job",
    "PromptRun": ".prompts",
    "ProviderError": ".errors",
    "RescoreRun": ".attacks",
    "Rubric": ".rubrics",
    "Run": ".run",
    "RunInterrupted": ".run",
    "Session": ".experiment.session",
    "StoreError": ".errors",
    "StressConfig": ".stress_test",
    "StressRun": ".stress_test",
    "Verdict": ".records.types",
    "aattack": ".attacks",
    "aaudit": ".auditing",
    "aconstruct_prompts": ".prompts",
    "agreement": ".calibration",
    "arescore": ".attacks",
    "arespond": ".experiment.respond",
    "ascore_prompts": ".panel",
    "astress": ".stress_test",
    "attack": ".attacks",
    "audit": ".auditing",
    "calibrate": ".calibration",
    "construct_prompts": ".prompts",
    "load_persona": ".personas",
    "load_personas": ".personas",
    "load_rubric": ".rubrics",
    "rescore": ".attacks",
    "respond": ".experiment.respond",
    "score_prompts": ".panel",
    "stress": ".stress_test",
}

__all__ = [
    "AreopagusError",
    "AttackRun",
    "AuditRun",
    "BackendSpec",
    "InputError",
    "InputFault",
    "Judgment",
    "Ledger",
    "Panel",
    "PanelSpec",
    "Persona",
    "Prices",
    "Progress",
    "PromptRun",
    "ProviderError",
    "RescoreRun",
    "Rubric",
    "Run",
    "RunInterrupted",
    "Session",
    "StoreError",
    "StressConfig",
    "StressRun",
    "Verdict",
    "__version__",
    "aattack",
    "aaudit",
    "aconstruct_prompts",
    "agreement",
    "arescore",
    "arespond",
    "ascore_prompts",
    "astress",
    "attack",
    "audit",
    "calibrate",
    "construct_prompts",
    "load_persona",
    "load_personas",
    "load_rubric",
    "rescore",
    "respond",
    "score_prompts",
    "stress",
]


_find, __dir__ = lazy_imports(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("areopagus")
    return _find(name)
