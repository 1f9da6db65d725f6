"""What an audit compares: its answers as one long table, and contrasts over that.

    arm       figure, respondent, factor, group, detail: what is counted or compared
    unit      the definition's; units that share a prompt are one
    item      what arms have in common: the prompt, or what `match` says of a contrast
    value     what the answer comes to; nan where it has none

`long_table` makes the rows of one run and `contrasts_of` reads from them what there is to compare,
so that two runs are compared by putting their tables together (`aggregation.effects.arm_when`).
A contrast's groups are taken less the reference where `match` is alike: answers are averaged over
repeats and over `average` before. Where a unit belongs to one group alone, there is nothing in
common, and the engine compares the means of two groups over their own units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..aggregation import effects as engine
from ..aggregation.effects import Effect, Scores, effects
from .definition import Change, Contrast, Definition, Outcome

Floats = npt.NDArray[np.float64]
Bounds = tuple[float, float]

UNREAD: Final = ("unclassified", "unreadable")
"""Statuses of answers that came and have no value."""
CROSS: Final = " x "
"""Between the columns, and the values, of crossed parts."""
ALL: Final = ""
"""All respondents together."""
ROW: Final = ("figure", "respondent", "factor", "group", "detail", "reference")
"""Columns that name an arm; `reference` is the group that it is compared with, itself for one."""
WORTH: Final = 0.1
"""What an open comparison without a margin is worth detecting, as a part of the scale."""
LEAN: Final = "_lean"


def long_table(
    definition: Definition,
    answers: pd.DataFrame,
    *,
    levels: bool = True,
    unread: Literal["", "least", "most"] = "",
) -> pd.DataFrame:
    """Returns one row an answer, or a mean of answers, in each arm that it belongs to.

    Args:
        definition: of the audit.
        answers: one row a planned asking, with `estimate.columns_of(definition)` and `_unit`.
        levels: also outcomes, shares and changes by themselves, and by part of the prompts; else
            only what is compared.
        unread: every answer that came and could not be read stands at the end of the scale where
            a group's difference from its reference is least, or most.

    Returns:
        Columns `ROW`, `arm`, `unit`, `item`, `value`.
    """
    parts: list[pd.DataFrame] = []
    if not unread:
        for name, outcome in definition.read_outcomes.items():
            if levels or outcome.compare:
                parts += _outcome_rows(definition, name, outcome, answers, levels=levels)
        for name, change in definition.changes.items():
            parts += _change_rows(name, change, answers, levels=levels)
        for name, shares in definition.shares.items() if levels else ():
            column = answers[shares.of]
            for level in shares.levels:
                is_it = (column == level).fillna(False).to_numpy(dtype=np.float64)
                value = np.where(column.isna(), np.nan, is_it)
                parts.append(_rows(answers, "shares", value, factor=name, group=level))
    for name, contrast in definition.contrasts.items():
        parts += _contrast_rows(definition, name, contrast, answers, unread)
    if not parts:
        return pd.DataFrame(columns=[*ROW, "arm", "unit", "item", "value"])
    table = pd.concat(parts, ignore_index=True)
    return table.assign(arm=[_arm(row) for row in zip(*(table[c] for c in ROW[:-1]), strict=True)])


def _arm(row: Sequence[object]) -> str:
    return "\x1f".join(map(str, row))


def _rows(
    answers: pd.DataFrame, figure: str, value: npt.ArrayLike, item: str = "item_id", **names: str
) -> pd.DataFrame:
    columns = {name: names.get(name, "") for name in ROW[2:]}
    return pd.DataFrame({
        "figure": figure, "respondent": answers["target"].to_numpy(), **columns,
        "unit": answers["_unit"].to_numpy(), "item": answers[item].to_numpy(), "value": value,
    })  # fmt: skip


def _outcome_rows(
    definition: Definition, name: str, outcome: Outcome, answers: pd.DataFrame, *, levels: bool
) -> Iterator[pd.DataFrame]:
    value = values_of(outcome, answers)
    yield _rows(answers, f"outcomes.{name}", value)
    for crossed in definition.by if levels and outcome.parts else ():
        is_part = answers[list(crossed)].notna().all(axis=1).to_numpy()
        mine = answers[is_part]
        rows = _rows(mine, f"parts.{name}", value[is_part], factor=CROSS.join(crossed))
        yield rows.assign(group=[CROSS.join(map(str, one)) for one in mine[[*crossed]].to_numpy()])


def _change_rows(
    name: str, change: Change, answers: pd.DataFrame, *, levels: bool
) -> Iterator[pd.DataFrame]:
    """Whether each question's answer changes; and whether it leans, in either asking."""
    first = answers[answers["repeat"] == 0]
    if not tells_apart(change, first):
        return
    if levels:
        by = ["target", *change.within]
        groups = first.groupby(by, sort=False, dropna=False)
        whole = groups[change.of].agg(["size", "count", "nunique"])
        whole = whole.assign(_unit=groups["_unit"].first()).reset_index()
        whole = whole[(whole["size"] == 2) & (whole["count"] == 2)]
        whole = whole.assign(_item=_joined(whole, change.within))
        is_other = (whole["nunique"] == 2).to_numpy(dtype=np.float64)
        yield _rows(whole, f"outcomes.{name}", is_other, "_item")
    if change.lean:
        known = first[first[change.of].notna()]
        known = known.assign(_item=_joined(known, change.within))
        leans = known[change.of].astype("string").isin(change.lean).to_numpy(dtype=np.float64)
        is_first = (known[change.across] == change.first).to_numpy()
        for side, detail in ((is_first, "first"), (~is_first, "other")):
            yield _rows(
                known[side], f"outcomes.{name}{LEAN}", leans[side], "_item", detail=detail
            )  # fmt: skip


def tells_apart(change: Change, answers: pd.DataFrame) -> bool:
    """Whether the columns of a change tell every two prompts apart: else no pair is known."""
    return not answers.duplicated(["target", *change.within, change.across]).any()


def _joined(rows: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    return ["\x1f".join(map(str, one)) for one in rows[[*columns]].to_numpy(dtype=object)]


def _contrast_rows(
    definition: Definition, name: str, contrast: Contrast, answers: pd.DataFrame, unread: str
) -> Iterator[pd.DataFrame]:
    prepared = prepare(contrast, answers, definition.outcomes, unread)
    groups = prepared[~prepared["is_reference"]]
    for column, details in (("", prepared), *(
        (one, groups if one in contrast.average else prepared) for one in contrast.by
    )):  # fmt: skip
        means = _over_wordings(contrast, details, keep=column)
        rows = _rows(
            means.assign(_item=_joined(means, contrast.match)), f"contrasts.{name}",
            means["value"], "_item",
        )  # fmt: skip
        names = {name: means[name].to_numpy() for name in ("factor", "group", "reference")}
        if column:
            names["detail"] = (f"{column}\x1f" + means[column].astype(str)).to_numpy()
        yield from with_all(rows.assign(**names))


def with_all(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of every model; and where there are several, all of them as those of one.

    Of all models together, a model's prompts are compared with its own.
    """
    yield rows
    if rows["respondent"].nunique() > 1:
        yield rows.assign(respondent=ALL, item=rows["respondent"] + "\x1f" + rows["item"])


def values_of(outcome: Outcome, rows: pd.DataFrame) -> Floats:
    """The outcome of every row; nan where it has none."""
    column = rows[outcome.of]
    if outcome.any_value:
        values = column.notna().to_numpy(dtype=np.float64)
    elif outcome.values:
        is_one = column.astype("string").isin(outcome.values).to_numpy(dtype=np.float64)
        values = np.where(column.isna().to_numpy(), np.nan, is_one).astype(np.float64)
    else:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    if outcome.among:
        is_known = rows[list(outcome.among)].notna().any(axis=1).to_numpy()
        values = np.where(is_known, values, np.nan)
    return np.asarray(values, dtype=np.float64)


def prepare(
    contrast: Contrast, frame: pd.DataFrame, outcomes: Mapping[str, Outcome], unread: str = ""
) -> pd.DataFrame:
    """The answers with `value`, and `factor`, `group`, `reference` of their cell.

    Args:
        contrast, frame, outcomes: of the audit.
        unread: see `long_table`.
    """
    outcome = outcomes.get(contrast.of) or Outcome(title=contrast.of, of=contrast.of)
    names = list(contrast.factor)
    parts = frame[names].astype("string").fillna("")
    is_reference = np.ones(len(frame), dtype=bool)
    for column, values in contrast.reference.items():
        is_reference &= frame[column].astype("string").fillna("").isin(values).to_numpy()
    group = parts[names[-1]]
    factor = parts[names[0]] if len(names) > 1 else pd.Series(names[0], index=frame.index)
    factor = factor.where(~is_reference, "")
    alone = next(iter(group[is_reference]), "")
    reference = factor.map(lambda value: contrast.references.get(value, alone))
    value = values_of(outcome, frame)
    if unread:
        low, high = contrast.scale
        end = np.where(is_reference == (unread == "least"), high, low)
        value = np.where(frame["status"].isin(UNREAD) & np.isnan(value), end, value)
    return frame.assign(
        value=value,
        factor=factor.astype(object),
        group=group.astype(object),
        reference=reference.where(~is_reference, group).astype(object),
        is_reference=is_reference,
    )


def _over_wordings(contrast: Contrast, rows: pd.DataFrame, *, keep: str = "") -> pd.DataFrame:
    """Means over repeats, and over the columns of `average` after that, but for the one to keep."""
    cell = ["target", "factor", "group", "reference", "_unit", *contrast.match]
    if keep and keep not in (*contrast.average, *cell):
        cell.append(keep)
    found = rows.groupby(list(dict.fromkeys((*cell, *contrast.average))), sort=False)["value"]
    means = found.mean().reset_index()
    for place in range(len(contrast.average)):
        kept = [column for column in contrast.average[: place + 1] if column == keep]
        left = [*kept, *contrast.average[place + 1 :]]
        means = means.groupby([*cell, *left], sort=False)["value"].mean().reset_index()
    return means


# What is compared


def contrasts_of(definition: Definition, table: pd.DataFrame) -> list[engine.Contrast]:
    """Returns every level and every comparison that the definition names, of the arms there are.

    Args:
        definition: of the audit.
        table: `long_table` of its answers, or some figures of it.

    Returns:
        Their keys are those of their row in the table of estimates, with `table` and `measure`.
    """
    arms = table.drop_duplicates("arm")
    found: list[engine.Contrast] = []
    for figure, rows in arms.groupby("figure", sort=False):
        kind, _, name = str(figure).partition(".")
        if kind == "contrasts":
            found += of_groups(name, definition.contrasts[name], rows)
        elif name.endswith(LEAN) and name not in definition.outcomes:
            found += _leans(name, rows)
        else:
            outcome = definition.outcomes.get(name)
            found += _levels(kind, name or "share", rows, outcome is None or outcome.is_share)
            if kind == "outcomes" and outcome is not None and outcome.compare:
                found += _of_models(name, outcome, rows)
    return found


def _keys(table: str, measure: str, **keys: str) -> dict[str, str]:
    named = {name: value for name, value in keys.items() if value}
    return {"table": table, "measure": measure, **named}


def _levels(
    table: str, measure: str, arms: pd.DataFrame, is_share: bool
) -> Iterator[engine.Contrast]:
    """A share weighs every answer alike, another mean every unit."""
    for row in arms.to_dict("records"):
        keys = {name: str(row[name]) for name in ("respondent", "factor", "group")}
        yield engine.Contrast(
            {row["arm"]: 1.0}, "value", _keys(table, measure, **keys), is_pooled=is_share
        )


def _of_models(name: str, outcome: Outcome, arms: pd.DataFrame) -> Iterator[engine.Contrast]:
    """Every pair of models, on the prompts to which both have a value."""
    arm = dict(zip(arms["respondent"], arms["arm"], strict=True))
    for one, other in combinations(arm, 2):
        keys = _keys("models", "difference", respondent=one, baseline=other, factor=name)
        family = f"pairs of models in {outcome.title}"
        yield engine.Contrast({arm[one]: 1.0, arm[other]: -1.0}, "value", keys, family)


def _leans(name: str, arms: pd.DataFrame) -> Iterator[engine.Contrast]:
    for respondent, mine in arms.groupby("respondent", sort=False):
        arm = dict(zip(mine["detail"], mine["arm"], strict=True))
        if len(arm) == 2:
            keys = _keys("outcomes", name, respondent=str(respondent))
            weights = {arm["first"]: 1.0, arm["other"]: -1.0}
            yield engine.Contrast(weights, "value", keys, "models")


def of_groups(name: str, contrast: Contrast, arms: pd.DataFrame) -> Iterator[engine.Contrast]:
    """Groups less their reference, of every model and over all; by column; and between models.

    A family is what a reader looks through: the groups of the models, those over all models, those
    within the values of one column, and those of pairs of models.
    """
    place = ["respondent", "factor", "group", "detail"]
    arm = {tuple(row): a for *row, a in arms[[*place, "arm"]].to_numpy(dtype=object).tolist()}
    everybody = list(dict.fromkeys(arms["respondent"]))
    respondents = [who for who in everybody if who != ALL]
    plain = arms[arms["detail"] == ""].drop_duplicates(["factor", "group"])
    cells = plain[["factor", "group", "reference"]].to_numpy(dtype=object).tolist()

    def gap(
        who: str, factor: str, group: str, reference: str, detail: str = ""
    ) -> dict[str, float]:
        """Arms of the group and its reference; none where the answers lack either."""
        mine = arm.get((who, factor, group, detail))
        # What is averaged over is not told apart in the reference.
        other = arm.get((who, "", reference, detail)) or arm.get((who, "", reference, ""))
        return {mine: 1.0, other: -1.0} if mine and other else {}

    for who in everybody:
        for factor, group, reference in cells:
            keys = {"respondent": who, "factor": factor, "group": group}
            if mean := arm.get((who, factor, group, "")):
                yield engine.Contrast({mean: 1.0}, "value", _keys(name, "mean", **keys))
            if factor and (weights := gap(who, factor, group, reference)):
                family = "groups" if who else "groups of all models"
                yield engine.Contrast(
                    weights, "value", _keys(name, "difference", **keys), family, contrast.margin
                )
    for column in contrast.by:
        inside = arms[arms["detail"].str.startswith(f"{column}\x1f") & (arms["factor"] != "")]
        is_averaged = column in contrast.average
        # Within what units are, all models together.
        for who in everybody if is_averaged else everybody[-1:]:
            of_all = "" if who else " of all models"
            for (factor, group), mine in inside.groupby(["factor", "group"], sort=False):
                details = list(dict.fromkeys(mine["detail"]))
                reference = str(mine["reference"].iloc[0])
                for detail in details if len(details) > 1 or not is_averaged else ():
                    keys = {"factor": str(factor), "group": str(group)}
                    keys |= {"detail": detail.partition("\x1f")[2]}
                    keys |= {"respondent": who} if is_averaged else {}
                    if weights := gap(who, str(factor), str(group), reference, detail):
                        yield engine.Contrast(
                            weights, "value", _keys(f"{name}_by_{column}", "difference", **keys),
                            f"differences by {column}{of_all}", contrast.margin,
                        )  # fmt: skip
    for one, other in combinations(respondents, 2):
        for factor, group, reference in cells:
            first, second = (gap(who, factor, group, reference) for who in (one, other))
            if factor and first and second:
                keys = {"respondent": one, "baseline": other, "factor": factor, "group": group}
                weights = first | {at: -weight for at, weight in second.items()}
                yield engine.Contrast(
                    weights, "value", _keys(f"{name}_models", "difference", **keys),
                    "pairs of models x groups", contrast.margin,
                )  # fmt: skip


def compared(
    definition: Definition, table: pd.DataFrame, contrasts: Sequence[engine.Contrast] | None = None
) -> list[Effect]:
    """Returns what the engine makes of the contrasts, figure by figure, each on its scale.

    Args:
        definition: of the audit.
        table: `long_table`.
        contrasts: of these; those of the table if left out.
    """
    found: list[Effect] = []
    figure_of = dict(zip(table["arm"], table["figure"], strict=True))
    wanted = contrasts_of(definition, table) if contrasts is None else contrasts
    of_figure: dict[str, list[engine.Contrast]] = {}
    for one in wanted:
        of_figure.setdefault(figure_of[next(iter(one.arms))], []).append(one)
    for figure, mine in of_figure.items():
        rows = table[table["figure"] == figure]
        scale = _scale(definition, figure, rows["value"])
        worth = WORTH * (scale[1] - scale[0]) if scale else WORTH
        columns = {name: rows[name] for name in ("arm", "unit", "item", "value")}
        scores = Scores.of(columns, arm="arm", unit="unit", item="item", columns=["value"])
        less = definition.contrasts.get(figure.partition(".")[2])
        of = f"group less {less.reference_name.removeprefix('the ')}" if less else "difference"
        found += effects(scores, mine, scale=scale, worth=worth, unit=definition.unit_word, of=of)
    return found


def _scale(definition: Definition, figure: str, values: pd.Series) -> Bounds | None:
    """The scale, where all values lie on it: a definition need not state it."""
    kind, _, name = figure.partition(".")
    scale = (0.0, 1.0)
    if kind == "contrasts":
        contrast = definition.contrasts[name]
        outcome = definition.outcomes.get(contrast.of)
        scale = outcome.scale if outcome else contrast.scale
    elif name in definition.outcomes:
        scale = definition.outcomes[name].scale
    return scale if values.dropna().between(*scale).all() else None
