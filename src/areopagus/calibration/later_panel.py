"""`LaterPanel`: what a calibration is applied to, and how its panel differs from the calibrated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import MOST_ABSTAINED
from ..records.humans import JudgmentReading, read_judgments
from ..records.prompt_units import prompt_units
from ..records.run_folder import RUN_FILE
from ..records.tables import read_scores
from ..run import Run
from .dataset import responses_of, texts_by_response, with_unique_ids
from .panel_scores import QUORUM, PanelScores, panel_of_run
from .reading import Judges, Texts, identity_of, panel_of_judgments

_SHOWN = 200

_OF_JUDGMENTS = {"judges", "criteria"}
"""What makes the panel of stored judgments this panel: all that such a table says."""


@dataclass(frozen=True, slots=True)
class LaterPanel:
    """The panel that a calibration is applied to: of a run, or of stored judgments.

    Attributes:
        path: the folder or file, for messages.
        panel: its judgments.
        identity: what makes its panel this panel.
        ids, prompts: of each response, in the panel's order.
        units: of each response: the prompt that it answers, of those with one text the first.
        respondents: who wrote each; None where that is not known.
        is_declined: shape (R,), whether most judges say that the response declined.
        notices: what was left out or assumed on reading.
    """

    path: str
    panel: PanelScores
    identity: dict[str, Any]
    ids: list[str]
    prompts: list[str]
    units: list[str]
    respondents: list[str | None]
    is_declined: npt.NDArray[np.bool_]
    notices: tuple[str, ...]

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest score; without end where stored judgments do not say."""
        low, high = self.identity.get("scale", (-math.inf, math.inf))
        return float(low), float(high)


def later_panel(judges: Judges, texts: Texts) -> LaterPanel:
    """Returns the panel of a run or its folder, or of stored judgments or their file.

    Args:
        judges: these.
        texts: of the responses; says who wrote those of stored judgments.

    Raises:
        InputError: they cannot be read.
    """
    if isinstance(judges, str | Path):
        path = Path(judges)
        is_run = path.is_dir() or path.name == RUN_FILE
        judges = Run(path) if is_run else read_judgments(path)
    if not isinstance(judges, Run):
        return _of_judgments(judges, texts)
    rows = read_scores(judges.path)
    ids, prompts = ([row[name] for row in rows] for name in ("response_id", "prompt_id"))
    panel = panel_of_run(
        judges.path,
        {name: place for place, name in enumerate(ids)},
        quorum=float(judges.record.get("panel", {}).get("quorum", QUORUM)),
        axis_of={},
    )
    unit_of = prompt_units(rows)
    return LaterPanel(
        str(judges.path), panel, identity_of(judges), ids, prompts,
        [unit_of[name] for name in prompts], [row.get("respondent_id") or None for row in rows],
        np.array([float(row.get("share_abstained") or 0) > MOST_ABSTAINED for row in rows]), (),
    )  # fmt: skip


def _of_judgments(judges: JudgmentReading, texts: Texts) -> LaterPanel:
    stored = judges.reading.require_sound()
    (table,) = with_unique_ids(stored.table)
    responses, notices = responses_of(table)
    panel, identity, told = panel_of_judgments(judges, table, responses)
    prompts = [responses.prompt_ids[code] for code in responses.prompt.tolist()]
    return LaterPanel(
        stored.path, panel, identity, list(responses.ids), prompts, prompts,
        _writers(responses.ids, texts.columns.get("respondent_id", {}),
                 texts_by_response(table, "source")),
        np.zeros(len(responses.ids), dtype=bool), (*notices, *told),
    )  # fmt: skip


def _writers(ids: Sequence[str], *said: Mapping[str, str]) -> list[str | None]:
    """Who wrote each response, from the first that names all: two would mix ways of naming."""
    names = next((one for one in said if all(name in one for name in ids)), {})
    return [names.get(name) for name in ids]


def panel_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns how two panels differ, one sentence each; none where they are the same."""
    if (set(then) == _OF_JUDGMENTS) != (set(now) == _OF_JUDGMENTS):
        kinds = ("a run of this program", "a table of stored judgments")
        told = kinds if set(now) == _OF_JUDGMENTS else kinds[::-1]
        return (f"the panel of {told[0]} was calibrated, and this is {told[1]}",)
    return tuple(_differences(dict(then), dict(now)))


def _differences(there: Any, here: Any, prefix: str = "") -> list[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        found = []
        for name in sorted(set(there) | set(here)):
            found += _differences(there.get(name), here.get(name), f"{prefix}{name}.")
        return found
    if there == here:
        return []
    name = prefix.rstrip(".")
    if _is_names(there) and _is_names(here) and set(there) != set(here):
        parts = [
            f"{word}: {', '.join(names)}"
            for word, names in (
                ("calibrated and missing now", [one for one in there if one not in here]),
                ("new", [one for one in here if one not in there]),
            )
            if names
        ]
        return [f"{name}: {'; '.join(parts)}"]
    return [f"{name}: calibrated with {_shown(there)}, now {_shown(here)}"]


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _shown(value: Any) -> str:
    """The value as JSON; a long one is cut between its words, and says so."""
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN].rsplit(' ', 1)[0]} … ({len(text):,} characters)"
