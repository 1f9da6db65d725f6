"""What commands need, loaded once in the process from which those of the tests are forked."""

from __future__ import annotations

import importlib

from areopagus.environment import own_process
from areopagus.judges.models.litellm_setup import litellm_module

MODULES = (
    *("pandas", "pyarrow.parquet", "scipy.optimize", "scipy.stats", "areopagus.auditing.api"),
    *("areopagus.batch.engine", "areopagus.calibration.responses", "areopagus.cli.calibrate"),
    *("areopagus.cli.score", "areopagus.cli.stress", "areopagus.experiment.score"),
    *("areopagus.graphs.adjudication", "areopagus.graphs.panel", "areopagus.graphs.reframing"),
    *("areopagus.graphs.prompt_construction", "areopagus.prompts.job"),
    *("areopagus.records.ledger.sqlite", "areopagus.reports.panel", "areopagus.stress_test.job"),
)

own_process()  # as in a command: what litellm prints is not heard
litellm_module()
for name in MODULES:
    try:
        importlib.import_module(name)
    except ImportError as error:  # the server of the forks would go on without a word
        raise RuntimeError(f"{name} is not there any more") from error
