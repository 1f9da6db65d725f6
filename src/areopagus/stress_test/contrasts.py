"""The questions of a stress test: contrasts of conditions over the long table of its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import Contrast, Scores

if TYPE_CHECKING:
    import pandas as pd

    from .config import StressConfig
    from .scores import StressScores

COMPOSITE = "composite"
"""The criterion's name of a response's mean over the criteria."""

FRAMING_PAIRS: Final = (
    (("empirical_i",), ("empirical_friend",)),
    (("emotion_agree", "emotion_disagree"), ("empirical_i", "empirical_friend")),
)
"""A view held oneself against a friend's; conviction against casual belief."""

ABSTAINED: Final = "abstained"


def arm_of(target: str, condition: str) -> str:
    """The arm of a target's responses under a condition."""
    return f"{target} | {condition}"


def long_table(scores: StressScores) -> pd.DataFrame:
    """One row a judge and response that it was to score.

    Returns:
        arm, respondent, condition; unit: the text of the baseline; item: prompt and response
        repeat; persona, model, repeat of the judge; a column a criterion, nan where not scored.
    """
    import pandas as pd

    target, condition, prompt, repeat, judge = (
        at.ravel() for at in np.indices(scores.scores.shape[:5])
    )

    def named(names: Sequence[object], codes: npt.NDArray[np.int64]) -> npt.NDArray[np.object_]:
        values: npt.NDArray[np.object_] = np.array(names, dtype=object)[codes]
        return values

    persona, model, asking = zip(*scores.judges, strict=True)
    table = pd.DataFrame(
        {
            "respondent": named(scores.targets, target),
            "condition": named(scores.conditions, condition),
            "unit": named(scores.units, prompt), "item": named(scores.prompts, prompt),
            "response_repeat": repeat, "persona": named(persona, judge),
            "model": named(model, judge), "repeat": named(asking, judge),
        }
    )  # fmt: skip
    table["arm"] = list(map(arm_of, table["respondent"], table["condition"]))
    table["item"] += " #" + table["response_repeat"].map(str)
    for k, criterion in enumerate(scores.criteria):
        table[criterion] = scores.scores[..., k].ravel()
    if scores.wanted is None:
        return table
    return table[scores.wanted.ravel()].reset_index(drop=True)


def coded(table: pd.DataFrame, criteria: Sequence[str]) -> Scores:
    """The long table as the engine reads it."""
    columns = cast("Mapping[str, Any]", table)
    return Scores.of(
        columns, arm="arm", unit="unit", item="item", persona="persona", model="model",
        repeat="repeat", columns=criteria,
    )  # fmt: skip


def columns_of(criteria: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """The weights of the composite, and of each criterion."""
    whole = dict.fromkeys(criteria, 1 / len(criteria))
    return {COMPOSITE: whole, **{name: {name: 1.0} for name in criteria}}


def contrasts_of(
    table: pd.DataFrame, criteria: Sequence[str], config: StressConfig
) -> list[Contrast]:
    """Every comparison of scores; the keys of each name its row of the estimates.

    degradation   baseline minus framing, of the composite and of each criterion: positive is worse
    contrast      one framing's degradation minus that of others, one criterion's minus that of the
                  others
    asymmetry     degradation under agreement minus that under disagreement
    comparison    one target's degradation minus another's, on the same prompts

    Args:
        table: of `long_table`.
        criteria: its columns of scores.
        config: what was decided beforehand.
    """
    targets, conditions = (list(dict.fromkeys(table[name])) for name in ("respondent", "condition"))
    framings = [name for name in conditions if name != config.baseline]
    return [
        *_degradations(targets, framings, criteria, config),
        *_contrasts(targets, framings, criteria, config),
        *_asymmetries(targets, framings, criteria, config),
        *_comparisons(targets, framings, criteria, config),
    ]


def abstentions(scores: StressScores) -> Scores:
    """Whether the response to a prompt declined, by arm; nan where that is unknown."""
    places = list(np.ndindex(scores.abstained.shape))
    table = {
        "arm": [arm_of(scores.targets[t], scores.conditions[c]) for t, c, _ in places],
        "unit": [scores.units[p] for *_, p in places],
        "item": [scores.prompts[p] for *_, p in places],
        ABSTAINED: scores.abstained.ravel(),
    }
    return Scores.of(table, arm="arm", unit="unit", item="item", columns=[ABSTAINED])


def abstention_contrasts(scores: StressScores, baseline: str) -> list[Contrast]:
    """Share of prompts that a target declines under a framing, minus that at the baseline."""
    return [
        Contrast(
            {arm_of(target, framing): 1.0, arm_of(target, baseline): -1.0}, ABSTAINED,
            {"table": "abstention", "measure": "difference", "respondent": target,
             "framing": framing},
            family=f"abstentions of {target}",
        )
        for target in scores.targets for framing in scores.conditions if framing != baseline
    ]  # fmt: skip


def _drop(target: str, framings: Sequence[str], baseline: str) -> dict[str, float]:
    """Arms of the mean degradation under some framings."""
    return {
        arm_of(target, baseline): 1.0,
        **{arm_of(target, name): -1 / len(framings) for name in framings},
    }


def _against(target: str, first: Sequence[str], second: Sequence[str]) -> dict[str, float]:
    """Arms of the degradation under the first framings minus that under the second.

    The baseline cancels, and its noise with it.
    """
    return {
        **{arm_of(target, name): 1 / len(second) for name in second},
        **{arm_of(target, name): -1 / len(first) for name in first},
    }


def _degradations(
    targets: Sequence[str], framings: Sequence[str], criteria: Sequence[str], config: StressConfig
) -> Iterator[Contrast]:
    for target in targets:
        whose = f" of {target}" if config.family == "target" else ""
        keys = {"table": "degradation", "measure": "degradation", "respondent": target}
        for framing in framings:
            for name, columns in columns_of(criteria).items():
                yield Contrast(
                    _drop(target, [framing], config.baseline), columns,
                    {**keys, "framing": framing, "criterion": name},
                    ("composites" if name == COMPOSITE else "criteria by framing") + whose,
                    config.margin,
                )  # fmt: skip
        yield Contrast(
            _drop(target, framings, config.baseline), columns_of(criteria)[COMPOSITE],
            {**keys, "criterion": COMPOSITE}, f"means over framings{whose}", config.margin,
        )  # fmt: skip


def _contrasts(
    targets: Sequence[str], framings: Sequence[str], criteria: Sequence[str], config: StressConfig
) -> Iterator[Contrast]:
    columns = columns_of(criteria)

    def others(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        # Of two, either against the other is the same comparison.
        for name in names if len(names) > 2 else names[: len(names) - 1]:
            yield name, [other for other in names if other != name]

    sides: list[tuple[str, Sequence[str], Sequence[str]]] = [
        ("condition", (name,), rest) for name, rest in others(framings)
    ]
    if len(framings) > 2:
        sides += [
            ("framing", first, second)
            for first, second in FRAMING_PAIRS
            if {*first, *second} <= {*framings}
        ]
    for target in targets:
        keys = {"table": "contrast", "measure": "difference", "respondent": target}
        family = f"contrasts of {target}"
        for factor, first, second in sides:
            at = {"factor": factor, "group": ", ".join(first), "detail": ", ".join(second)}
            yield Contrast(
                _against(target, first, second), columns[COMPOSITE], {**keys, **at}, family,
                config.margin,
            )  # fmt: skip
        for name, rest in others(criteria):
            at = {"factor": "dimension", "group": name, "detail": ", ".join(rest)}
            weights = {name: 1.0, **dict.fromkeys(rest, -1 / len(rest))}
            yield Contrast(
                _drop(target, framings, config.baseline), weights, {**keys, **at}, family,
                config.margin,
            )  # fmt: skip


def _asymmetries(
    targets: Sequence[str], framings: Sequence[str], criteria: Sequence[str], config: StressConfig
) -> Iterator[Contrast]:
    if not {config.agree, config.disagree} <= {*framings}:
        return
    for target in targets:
        for criterion in criteria:
            is_declared = criterion == config.asymmetry_dimension
            yield Contrast(
                _against(target, [config.agree], [config.disagree]), criterion,
                {"table": "asymmetry", "measure": "difference", "respondent": target,
                 "framing": config.agree, "baseline": config.disagree, "criterion": criterion,
                 "detail": "declared" if is_declared else ""},
                "declared asymmetries" if is_declared else "further asymmetries", config.margin,
            )  # fmt: skip


def _comparisons(
    targets: Sequence[str], framings: Sequence[str], criteria: Sequence[str], config: StressConfig
) -> Iterator[Contrast]:
    for name, columns in columns_of(criteria).items():
        for first, second in combinations(targets, 2):
            for framing in ("", *framings):
                chosen = [framing] if framing else framings
                arms = _drop(first, chosen, config.baseline)
                for arm, weight in _drop(second, chosen, config.baseline).items():
                    arms[arm] = -weight
                family = "comparisons of targets" + ", by framing" * bool(framing)
                yield Contrast(
                    arms, columns,
                    {"table": "comparison", "measure": "difference", "respondent": first,
                     "baseline": second, "framing": framing, "criterion": name},
                    family + ", by criterion" * (name != COMPOSITE), config.margin,
                )  # fmt: skip
