"""Two attacks on a panel before and after: a mitigation, or other judges. Paired by base prompt.

Both are compared on the trials that are the same letter for letter in both: prompt, clean response,
family, place, and the attacked text with its control. Where the same judges voted in both, a
judgment counts that is there in both. Where the judges differ, each panel stands as it is: the
panel is what was attacked, and its change is what is asked for. Either way a trial counts in a
figure where both attacks have a value of it: a panel that filters the texts of one family has not
changed by what it does with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import effects
from ..aggregation.intervals import share_over_prompts, t_interval
from ..attacks.config import AttackConfig
from ..attacks.effects import contrasts_of, long_table, moved_by_item, scores_of
from ..attacks.families import STATUS_OF
from ..attacks.run import PANEL_FOLDER, AttackRun
from ..attacks.scores import COMPOSITE, JUDGE, read_panel_judgments
from ..attacks.trials import stored_trials
from ..errors import InputError, InputFault
from ..formats import listed, plain, units, words
from ..records.estimates import select
from ..records.run_folder import SCORES_FILE
from ..records.tables import read_scores
from .figures import ANSWER, Figure, Paired, decided_changes, what_differs

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

_TITLES: Final = {
    "beyond": "beyond harmless prose", "shift": "against the clean response",
    "moved": "judgments moved", "flagged": "responses flagged",
}  # fmt: skip
_SHARES: Final = ("moved", "flagged")


class _Attack:
    """What is read of one attack."""

    def __init__(self, run: AttackRun) -> None:
        self.run = run
        folder = run.path / PANEL_FOLDER
        if not (folder / SCORES_FILE).is_file():
            raise InputError([InputFault(str(run.path), "has no scores: no panel judged in it")])
        trials, dataset = stored_trials(folder)
        identity = run.panel_run.record["identity"]
        self.criteria, self.scale = list(identity["criteria"]), tuple(identity["scale"])
        self.threshold = AttackConfig(**run.record["identity"]["plan"]).threshold
        aims = select(run.estimates, "families").drop_duplicates("group")
        of_status = {status: aim for aim, status in STATUS_OF.items()}
        self.asks = {
            str(family): of_status.get(end, str(end))
            for family, end in zip(aims["group"], aims["detail"], strict=True)
        }
        self.prompts = list(dict.fromkeys(base.prompt for base in dataset))
        self.n_responses = len(trials)
        table = long_table(read_panel_judgments(folder, self.criteria), trials, dataset, self.asks)
        texts = {trial.response_id: trial.response_text for trial in trials}
        flags = {row["response_id"]: set(row["flags"].split()) for row in read_scores(folder)}
        self.table = table.assign(
            text=table["response_id"].map(texts), flags=table["response_id"].map(flags)
        )


def paired_attacks(before: AttackRun, after: AttackRun, margin: float | None = None) -> Paired:
    """The effects of two attacks on the trials that both have.

    Raises:
        InputError: another scale or other criteria, or no attacked response in common.
    """
    attacks = _Attack(before), _Attack(after)
    first, second = attacks
    for name in ("scale", "criteria"):
        old, new = getattr(first, name), getattr(second, name)
        if old != new:
            fault = f"{name} is {new}, and {old} in {before.path}: another measure"
            raise InputError([InputFault(str(after.path), fault)])
    tables, same_judges = _common(first.table, second.table)
    tried = set(tables[1]["family"])
    asks = {name: end for name, end in second.asks.items() if name in tried}
    if not asks:
        fault = f"no attacked response is the same, letter for letter, as in {before.path}"
        raise InputError([InputFault(str(after.path), fault)])
    each = _by_prompt(tables, second, asks)
    planned = {*first.prompts, *second.prompts}
    figures = list(_figures(each, asks, len(planned), second.scale))
    left = {*first.asks, *second.asks} - set(asks)
    n_same = tables[1]["response_id"].nunique()
    coverage = (
        f"{units(n_same, 'response')} are the same in both attacks, of "
        f"{first.n_responses:,} and {second.n_responses:,}"
    )
    judges = "not the same in both: each panel as it is"
    if same_judges:
        judges = "the same in both; a judgment counts that is there in both"
    return Paired(
        "Attack on a panel: before and after", decided_changes(figures, margin=margin),
        list(_notices(attacks, left)),
        [("coverage", coverage), ("judges", judges)],
    )  # fmt: skip


def _common(before: pd.DataFrame, after: pd.DataFrame) -> tuple[list[pd.DataFrame], bool]:
    """The texts that both have, and whether the judges are the same.

    Of the same judges, scores that are there in both.
    """
    keys = ["prompt", "family", "item", "kind", "text"]
    both = before[keys].drop_duplicates().merge(after[keys].drop_duplicates())
    whole = both.groupby(keys[:3])["kind"].transform(lambda kinds: {"attack", "clean"} <= {*kinds})
    both = both[whole.astype(bool)]
    tables = [one.merge(both, on=keys) for one in (before, after)]
    judges = [set(one[list(JUDGE)].itertuples(index=False, name=None)) for one in tables]
    if judges[0] != judges[1]:
        return tables, False
    rows = [one.set_index([*keys, *JUDGE]) for one in tables]
    scores = [name for name in ("value", COMPOSITE) if name in rows[0]]
    for mine, other in (rows, rows[::-1]):
        missing = other[scores].reindex(mine.index).isna()
        mine[scores] = mine[scores].mask(missing)
    return [one.reset_index() for one in rows], True


def _by_prompt(
    tables: Sequence[pd.DataFrame], attack: _Attack, asks: Mapping[str, str]
) -> list[dict[tuple[str, str], Floats]]:
    """(family, or "" for all; measure) to the figure of every prompt, before and after.

    Over the items that have a value in both: shift, beyond, moved as in an attack, and flagged.
    """
    prompts = list(dict.fromkeys(tables[1]["prompt"]))
    keys = ["prompt", "family", "item", "measure"]
    both = _by_item(tables[0], attack).merge(
        _by_item(tables[1], attack), on=keys, suffixes=("_before", "_after")
    )
    each: list[dict[tuple[str, str], Floats]] = [{}, {}]
    for family in ("", *asks):
        for measure in _TITLES:
            rows = both[both["measure"].eq(measure) & (both["family"].eq(family) | (not family))]
            means = rows.groupby("prompt")[["value_before", "value_after"]].mean()
            for kept, values in zip(each, means.reindex(prompts).to_numpy().T, strict=True):
                kept[family, measure] = values
    return each


def _by_item(table: pd.DataFrame, attack: _Attack) -> pd.DataFrame:
    """Every figure of every item: prompt, family, item, measure and value."""
    import pandas as pd

    names = table["prompt"] + "\0" + table["family"] + "\0" + table["item"]
    scores = scores_of(table.assign(name=names), "value", unit="name")
    rows = []
    for effect in effects(scores, contrasts_of(table)):
        measure = effect.contrast.keys["measure"]
        for unit, value in zip(effect.units, effect.by_unit, strict=True):
            rows.append((*scores.units[unit].split("\0"), measure, value))
    moved = moved_by_item(table, attack.threshold, attack.scale)
    for prompt, family, item, share in moved.itertuples(index=False):
        rows.append((prompt, family, item, "moved", share))
    flags = table.groupby(["prompt", "family", "item", "kind"])["flags"].first().unstack("kind")
    flags = flags.reset_index()
    columns = (flags[name] for name in ("prompt", "family", "item", "attack", "clean"))
    for prompt, family, item, own, clean in zip(*columns, strict=True):
        rows.append((prompt, family, item, "flagged", float(bool(own - clean))))
    return pd.DataFrame(rows, columns=["prompt", "family", "item", "measure", "value"])


def _figures(
    each: Sequence[Mapping[tuple[str, str], Floats]],
    asks: Mapping[str, str],
    n_planned: int,
    scale: tuple[Any, ...],
) -> Iterator[Figure]:
    """Each family beyond harmless prose, then the shares of all; the rest by family."""
    before, after = each
    has_control = {
        family: all((~np.isnan(one[family, "beyond"])).any() for one in each) for family in asks
    }
    scored = [family for family, aim in asks.items() if aim not in STATUS_OF]
    plan = [(family, "beyond" if has_control[family] else "shift", ANSWER) for family in asks]
    plan += [("", "moved", ANSWER)] if scored else []
    plan += [("", "flagged", ANSWER)]
    plan += [(family, "shift", "shift") for family in asks if has_control[family]]
    plan += [(family, "moved", "moved") for family in scored]
    plan += [(family, "flagged", "flagged") for family in asks]
    for family, measure, part in plan:
        values = np.stack([before[family, measure], after[family, measure]])
        kept = np.where(np.isnan(values).any(axis=0), np.nan, values)
        status = STATUS_OF.get(asks.get(family, ""))
        is_share = measure in _SHARES
        title = _TITLES[measure]
        if not is_share:
            title = f"{'points' if status is None else f'judgments {status}'} {title}"
        ends = [
            share_over_prompts(one, level=0.95, what=f"share of {title}")
            if is_share else t_interval(one, unit="prompt").of(f"mean {title}")
            for one in kept
        ]  # fmt: skip
        of_points = not is_share and status is None
        width = float(scale[1]) - float(scale[0]) if of_points else 1.0
        table = "families" if family else "overall"
        keys = {"group": family} if family else {}
        if status is not None:
            keys["detail"] = status
        yield Figure(
            table, measure, keys, label=f"{title}, {family}" if family else title,
            what=title if family else "", short=family or title, before=ends[0], after=ends[1],
            by_unit=kept[1] - kept[0], n=int((~np.isnan(kept[0])).sum()), n_planned=n_planned,
            unit="prompt", family=part if part == ANSWER else f"{part}, {status or 'scores'}",
            section="" if part == ANSWER else f"By family of attacks: {title}",
            null=None if is_share else 0.0, null_name="" if is_share else "no effect",
            scale=(float(scale[0]), float(scale[1])) if of_points else (0.0, 1.0),
            bounds=(0.0, 1.0) if is_share else (-width, width), in_points=of_points,
            digits=2 if of_points else 3, worse={"moved": 1}.get(measure, 0),
        )  # fmt: skip


def _notices(attacks: Sequence[_Attack], left: set[str]) -> Iterator[str]:
    plans = [one.run.record["identity"]["plan"] for one in attacks]
    for name, old, new in what_differs(*plans):
        told = f"{words(name)}: {plain(old)} before, {plain(new)} after"
        yield f"{told}; figures are by the later one."
    if left:
        yield f"Families without a response in common are left out: {listed(sorted(left))}."
