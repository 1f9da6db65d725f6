"""What the detectors make of an attack: hits, and alarms on clean texts; no judge is asked."""

from __future__ import annotations

from collections.abc import Sequence

from ..graphs.detectors import DETECTORS
from ..graphs.screen import GATES, screen
from ..number import Number
from .design import Trial
from .family import AttackFamily
from .figures import DetectorFigures
from .load import example_texts
from .units import count_number

ANY = "any"


def newly_flagged(trial: Trial, clean: Trial) -> tuple[str, ...]:
    """Flags and gates that a response has and its clean one does not."""
    return tuple(flag for flag in trial.seen.flags if flag not in clean.seen.flags)


def detector_figures(
    trials: Sequence[Trial], families: Sequence[AttackFamily], *, level: float
) -> tuple[DetectorFigures, ...]:
    """Every detector's hits and false alarms, all of them together first."""
    clean = {trial.base: trial for trial in trials if trial.kind == "clean"}
    on_clean = [set(trial.seen.flags) for trial in clean.values()]
    on_controls = [
        set(newly_flagged(trial, clean[trial.base])) for trial in trials if trial.kind == "control"
    ]
    telling = [set(screen(item.text).flags) for item in example_texts("telling_words").texts]
    attacked: dict[str, list[set[str]]] = {family.id: [] for family in families}
    for trial in trials:
        if trial.kind == "attack":
            attacked[trial.family].append(set(newly_flagged(trial, clean[trial.base])))

    def is_hit(flag: str, flags: set[str]) -> bool:
        return bool(flags) if flag == ANY else flag in flags

    def alarms(flag: str, found: Sequence[set[str]], unit: str) -> Number:
        hits = sum(is_hit(flag, flags) for flags in found)
        return count_number(hits, len(found), unit=unit, level=level, what="share flagged")

    def figures(flag: str, about: str) -> DetectorFigures:
        shares = {
            name: sum(is_hit(flag, flags) for flags in found) / len(found)
            for name, found in attacked.items()
            if found
        }
        return DetectorFigures(
            flag=flag,
            about=about,
            false_alarms_clean=alarms(flag, on_clean, "clean response"),
            false_alarms_controls=alarms(flag, on_controls, "control"),
            false_alarms_telling=alarms(flag, telling, "clean text"),
            families={name: share for name, share in shares.items() if share > 0},
        )

    gates = ", ".join(GATES)
    return (
        figures(ANY, f"any of those below, and the gates ({gates})"),
        *(figures(flag, about) for flag, about in DETECTORS.items()),
    )
