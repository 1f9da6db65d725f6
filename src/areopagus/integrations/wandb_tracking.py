"""A run in Weights & Biases, by its own client.

The run's id there is made of the run's identity and figures: what is logged again is the same run,
and a run that went on since is another one of the same group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, ProviderError
from ..judges.models.credentials import redact
from .tracking import TrackedRun, missing

if TYPE_CHECKING:
    import pandas as pd

_TARGET = re.compile(r"(?:(?P<entity>[^/\s]+)/)?(?P<project>[^/\s]+)")


def log_run(
    told: TrackedRun, files: Mapping[str, Path], target: str, scores: pd.DataFrame | None
) -> str:
    """Logs it, and returns where it stands.

    WANDB_MODE=offline writes a folder below wandb/ instead, for `wandb sync`.

    Args:
        told: of the run.
        files: name to file.
        target: PROJECT or ENTITY/PROJECT.
        scores: one row a response, which become a table; None where there are none.

    Raises:
        InputError: wandb is not installed, or the target is none.
        ProviderError: the server did not take it.
    """
    named = _TARGET.fullmatch(target)
    if named is None:
        raise InputError(f"wandb: takes PROJECT or ENTITY/PROJECT, got {target!r}")
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise missing("wandb", error) from error

    # What its client would tell of this machine beside the run: nothing of that was asked for.
    settings = wandb.Settings(
        console="off",
        disable_code=True,
        disable_git=True,
        host="",
        save_code=False,
        silent=True,
        x_disable_machine_info=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    group = f"areopagus-{told.identity[:12]}"
    try:
        with wandb.init(
            entity=named["entity"],
            project=named["project"],
            id=f"{group}-{told.content[:8]}",
            name=told.name,
            group=group,
            notes=told.description,
            config={**told.parameters, **told.tags},
            allow_val_change=True,
            resume="allow",
            reinit="create_new",  # a run of the host's goes on
            settings=settings,
        ) as run:
            run.summary.update(dict(told.metrics))
            # It would cut a longer table off; scores.csv has every row.
            if scores is not None and len(scores) <= wandb.Table.MAX_ROWS:
                # What is missing is nothing there, and no number.
                plain = scores.astype(object).where(scores.notna(), None)
                run.log({"scores": wandb.Table(dataframe=plain)})
            artifact = wandb.Artifact(group, type="areopagus-run")
            for name, path in files.items():
                artifact.add_file(str(path), name=name)
            run.log_artifact(artifact)
            where = "offline: send it with wandb sync" if run.offline else run.url
            run_id = run.id
    except wandb.Error as error:
        raise ProviderError("bad_request", redact(f"Weights & Biases: {error}")) from error
    return f"project {target}, run {run_id} ({where})"
