"""What the detectors make of an attack: hits, and alarms on clean texts; no judge is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..graphs.screening import DETECTORS, GATES, screen
from .design import Trial
from .family import AttackFamily
from .figures import DetectorFigures
from .load import example_texts
from .units import Floats, count_number, per_prompt, share_number

ANY = "any"


@dataclass(slots=True)
class _Seen:
    """Flags of some texts, and the code of the prompt that each of them answers."""

    flags: list[set[str]] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)

    def add(self, flags: set[str], prompt: int) -> None:
        self.flags.append(flags)
        self.prompts.append(prompt)

    def hits(self, flag: str) -> npt.NDArray[np.bool_]:
        return np.asarray([_is_hit(flag, flags) for flags in self.flags], dtype=bool)

    def counts(self, flag: str) -> tuple[int, int]:
        """Texts flagged, and texts."""
        return int(self.hits(flag).sum()), len(self.flags)

    def shares(self, flag: str, n_prompts: int) -> Floats:
        """The share of each prompt's texts; nan for a prompt without any."""
        prompts = np.asarray(self.prompts, dtype=np.int64)
        return per_prompt(self.hits(flag).astype(np.float64), prompts, n_prompts)


def newly_flagged(trial: Trial, clean: Trial) -> tuple[str, ...]:
    """Flags and gates that a response has and its clean one does not."""
    return tuple(flag for flag in trial.seen.flags if flag not in clean.seen.flags)


def detector_figures(
    trials: Sequence[Trial],
    families: Sequence[AttackFamily],
    *,
    prompts: npt.NDArray[np.int64],
    n_prompts: int,
    level: float,
) -> tuple[DetectorFigures, ...]:
    """Every detector's hits and false alarms, all of them together first.

    Args:
        trials: of the attack.
        families: of the corpus.
        prompts: the code of each trial's prompt, which is the unit: one prompt's texts, families
            and places are no independent trials.
        n_prompts: how many there are.
        level: of the intervals.
    """
    clean = {trial.base: trial for trial in trials if trial.kind == "clean"}
    on_clean, on_controls = _Seen(), _Seen()
    attacked = {family.id: _Seen() for family in families}
    for trial, prompt in zip(trials, prompts.tolist(), strict=True):
        if trial.kind == "clean":
            on_clean.add(set(trial.seen.flags), prompt)
            continue
        new = set(newly_flagged(trial, clean[trial.base]))
        if trial.kind == "control":
            on_controls.add(new, prompt)
        elif trial.kind == "attack":
            attacked[trial.family].add(new, prompt)
    telling = [set(screen(item.text).flags) for item in example_texts("telling_words").texts]

    def alarms(flag: str, seen: _Seen, of: str) -> Estimate:
        if not seen.flags:
            return undefined(f"no {of}s", method="share flagged")
        return share_number(seen.shares(flag, n_prompts), level=level, what="share flagged")

    def figures(flag: str, about: str) -> DetectorFigures:
        shares = {
            name: float(np.nanmean(seen.shares(flag, n_prompts)))
            for name, seen in attacked.items()
            if seen.flags
        }
        return DetectorFigures(
            flag=flag,
            about=about,
            false_alarms_clean=alarms(flag, on_clean, "clean response"),
            false_alarms_controls=alarms(flag, on_controls, "control"),
            # Each of these texts was written for itself and answers no prompt of the attack.
            false_alarms_telling=count_number(
                sum(_is_hit(flag, flags) for flags in telling), len(telling), unit="clean text",
                level=level, what="share flagged",
            ),
            families={name: share for name, share in shares.items() if share > 0},
            clean_counts=on_clean.counts(flag),
            control_counts=on_controls.counts(flag),
        )  # fmt: skip

    gates = ", ".join(GATES)
    return (
        figures(ANY, f"any of those below, and the gates ({gates})"),
        *(figures(flag, about) for flag, about in DETECTORS.items()),
    )


def _is_hit(flag: str, flags: set[str]) -> bool:
    return bool(flags) if flag == ANY else flag in flags
