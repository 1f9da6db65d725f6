"""`areopagus.audit` and its asynchronous twin."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async
from ..audits.audit import Audit
from ..experiment.config import AuditConfig, takes_options
from ..experiment.job import run_job
from ..progress import OnProgress
from .job import AuditJob
from .run import AuditRun

if TYPE_CHECKING:
    from ..panel import Panel
    from ..records.ledger import Ledger


@takes_options(AuditConfig)
def audit(
    name: str | Path | Audit[Any],
    *,
    target: Any = None,
    judges: Any = None,
    panel: Panel | None = None,
    responses: Any = None,
    options: Mapping[str, Any] | None = None,
    ledger: str | Path | Ledger | None = None,
    on_progress: OnProgress = None,
    **config: Any,
) -> AuditRun:
    """Audits models for a bias, by one of the built-in audits or one of your own.

    The target answers the audit's prompts; rules read the answers, judges classify what rules
    cannot decide, and the figures of the audit's paper are reported with corrected statistics
    beside them.

    Args:
        name: an audit's name (`areopagus audit --list`), a folder with an audit of your own (its
            code is run), or an `Audit`.
        target: the models under test: model strings, settings, chat models or backends; the
            embedded stand-in when left out.
        judges: up to three models: the first two classify apart from each other, the third settles
            what they disagree on. Without any, rules alone classify, and what they cannot decide
            stays unclassified.
        panel: take the panel's models (three at most) as judges and its ledger.
        responses: answers that are there already, instead of a target: item_id, response_text;
            optional respondent_id and repeat.
        options: options of the audit's own, by name.
        ledger: a file or an open Ledger; the user's shared one when left out.
        on_progress: as of `Panel.score_many`.
        config: the fields of `AuditConfig`, which the command takes as well.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    job = _job(
        name, target, judges=judges, panel=panel, responses=responses, options=options,
        ledger=ledger, on_progress=on_progress, **config,
    )  # fmt: skip
    return run_job(job)


async def aaudit(name: str | Path | Audit[Any], *, target: Any = None, **given: Any) -> AuditRun:
    """The asynchronous twin of `audit`."""
    return await run_async(_job(name, target, **given).run())


def _job(
    name: str | Path | Audit[Any],
    target: Any,
    *,
    judges: Any = None,
    panel: Panel | None = None,
    responses: Any = None,
    options: Mapping[str, Any] | None = None,
    ledger: str | Path | Ledger | None = None,
    on_progress: OnProgress = None,
    **config: Any,
) -> AuditJob:
    if panel is not None:
        judges = judges if judges is not None else judging_models(panel)
        ledger = ledger if ledger is not None else panel.ledger
    checked = AuditConfig.checked(target=target, judges=judges, responses=responses, **config)
    return AuditJob(name, checked, options=options, ledger=ledger, on_progress=on_progress)


def judging_models(panel: Panel) -> list[Any]:
    """The panel's models as judges of an audit; none where the embedded baseline judges."""
    from ..judges.factory import is_made_of_settings

    return [
        # A backend of our own is made anew from its settings: the audit closes its own.
        backend.spec if is_made_of_settings(backend) else backend
        for backend in panel.backends
        if not backend.spec.is_offline
    ]
