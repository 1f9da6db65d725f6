"""What each contrast of a method has changed by, from one run to another.

    before, after    long tables of the two runs, by the method's own `long_table`
    contrasts        what the method compares, by its own `contrasts_of`
    change           the contrast after less that before, over the judges and the items that every
                     arm has in both runs (`aggregation.effects.before_and_after`)

The values before and after are over the same judges and items, so that their difference is the
change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..aggregation.effects import Contrast, Effect, Scores, arm_when, before_and_after, effects
from ..aggregation.estimate import Estimate
from ..formats import words
from .figures import ANSWER, LESS, Change

if TYPE_CHECKING:
    import pandas as pd

TEXT = "text"
"""A column of what was asked or judged: it has to be the same in both runs."""

Described = Callable[[Contrast], Mapping[str, Any] | None]


def joined(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """The rows of both runs, their arms named by `arm_when`.

    Args:
        before, after: with columns `arm`, `unit` and `item`, or `prompt` for the unit. Where there
            is a column `text`, rows whose text the other run lacks have no score.
    """
    import pandas as pd

    sides = {"before": before, "after": after}
    if TEXT in before and TEXT in after:
        place = ["arm", *(name for name in ("unit", "prompt", "item") if name in before), TEXT]
        keys = {when: pd.MultiIndex.from_frame(table[place]) for when, table in sides.items()}
        other = {"before": "after", "after": "before"}
        numbers = list(before.select_dtypes("float").columns)
        for when, table in sides.items():
            is_same = keys[when].isin(keys[other[when]])
            sides[when] = table.assign(**{name: table[name].where(is_same) for name in numbers})
    named = [
        table.assign(arm=[arm_when(when, str(arm)) for arm in table["arm"]])
        for when, table in sides.items()
    ]
    return pd.concat(named, ignore_index=True)


def changes_of(
    before: pd.DataFrame,
    after: pd.DataFrame,
    contrasts: Iterable[Contrast],
    coded: Callable[[pd.DataFrame], Scores],
    described: Described,
    *,
    unit: str = "prompt",
    scale: tuple[float, float] | None = None,
    margin: float | None = None,
) -> list[Change]:
    """Returns what each contrast has changed by, with its values before and after.

    Args:
        before, after: long tables of the two runs; see `joined`.
        contrasts: of one of them; those of which a run lacks an arm are left out.
        coded: the long table as the engine takes it.
        described: what is shown of a contrast (`describe`), None to leave it out.
        unit: what is independent.
        scale: the lowest and the highest score.
        margin: within which a change of the answer in points is alike.
    """
    scores = coded(joined(before, after))
    kept: list[Contrast] = []
    shown: list[Mapping[str, Any]] = []
    for one in contrasts:
        of = described(one)
        arms = {arm_when(when, arm) for arm in one.arms for when in ("before", "after")}
        if of is not None and arms <= set(scores.arms):
            fits = margin is not None and of["family"] == ANSWER and of["in_points"]
            kept.append(replace(one, margin=margin if fits else None))
            shown.append(of)
    options: dict[str, Any] = {"unit": unit, "scale": scale}
    changes = effects(scores, before_and_after(kept), of=LESS, **options)
    ends = {
        when: effects(scores, [_only(when, one) for one in kept], **options)
        for when in ("before", "after")
    }
    return [
        Change(of, _undecided(before_), _undecided(after_), change.this_panel)
        for of, before_, after_, change in zip(
            shown, ends["before"], ends["after"], changes, strict=True
        )
    ]


def describe(contrast: Contrast, *, label: str = "", **more: Any) -> dict[str, Any]:
    """What run.json keeps of a contrast, for the report; see `figures.Figure`."""
    keys = dict(contrast.keys)
    table, measure = keys.pop("table", ""), keys.pop("measure", "")
    what = more.pop("what", words(measure))
    label = label or ", ".join(map(words, keys.values()))
    return {
        "table": table, "measure": measure, "keys": keys, "what": what, "short": label,
        "label": f"{what} {label}".strip(), "family": ANSWER, "section": "", "null": None,
        "null_name": "", "digits": 2, "worse": 0, "tested": "", "in_points": True,
        "scale": [0.0, 1.0],
    } | more  # fmt: skip


def _only(when: str, contrast: Contrast) -> Contrast:
    """The contrast in one run; the arms of the other only say which judges and items count."""
    other = {"before": "after", "after": "before"}[when]
    return replace(
        contrast,
        arms={arm_when(when, arm): weight for arm, weight in contrast.arms.items()}
        | {arm_when(other, arm): 0.0 for arm in contrast.arms},
        margin=None,
    )


def _undecided(effect: Effect) -> Estimate:
    """What a single run decides is in its own folder; here it would be another's."""
    return replace(
        effect.this_panel, p=math.nan, p_method=None, family=None, verdict=None, needed=None,
        low_family=math.nan, high_family=math.nan,
    )  # fmt: skip
