from .attacks import AttackRun as AttackRun
from .attacks import RescoreRun as RescoreRun
from .attacks import aattack as aattack
from .attacks import arescore as arescore
from .attacks import attack as attack
from .attacks import rescore as rescore
from .auditing import AuditRun as AuditRun
from .auditing import aaudit as aaudit
from .auditing import audit as audit
from .calibration import agreement as agreement
from .calibration import calibrate as calibrate
from .errors import AreopagusError as AreopagusError
from .errors import InputError as InputError
from .errors import InputFault as InputFault
from .errors import ProviderError as ProviderError
from .errors import StoreError as StoreError
from .experiment.job import Progress as Progress
from .experiment.respond import arespond as arespond
from .experiment.respond import respond as respond
from .experiment.session import Session as Session
from .graphs.panel_spec import PanelSpec as PanelSpec
from .judges.models.backend import BackendSpec as BackendSpec
from .judges.models.prices import Prices as Prices
from .panel import Panel as Panel
from .panel import ascore_prompts as ascore_prompts
from .panel import score_prompts as score_prompts
from .personas import Persona as Persona
from .personas import load_persona as load_persona
from .personas import load_personas as load_personas
from .prompts import PromptRun as PromptRun
from .prompts import aconstruct_prompts as aconstruct_prompts
from .prompts import construct_prompts as construct_prompts
from .records.ledger import Ledger as Ledger
from .records.types import Judgment as Judgment
from .records.types import Verdict as Verdict
from .rubrics import Rubric as Rubric
from .rubrics import load_rubric as load_rubric
from .run import Run as Run
from .run import RunInterrupted as RunInterrupted
from .stress_test import StressConfig as StressConfig
from .stress_test import StressRun as StressRun
from .stress_test import astress as astress
from .stress_test import stress as stress

__version__: str

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
