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
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..aggregation.effects import mean_by_prompt, share_over_prompts
from ..aggregation.intervals import t_interval
from ..attacks.config import AttackConfig
from ..attacks.effects import effects_by_prompt
from ..attacks.families import STATUS_OF
from ..attacks.run import PANEL_FOLDER, AttackRun
from ..attacks.scores import Scores, read_panel_scores
from ..attacks.trials import BaseResponse, Trial, stored_trials
from ..errors import InputError, InputFault
from ..formats import listed, plain, units, words
from ..records.run_folder import SCORES_FILE
from ..records.tables import read_scores
from .figures import ANSWER, Figure, Paired, decided_changes, what_differs

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
        self.trials, self.dataset = stored_trials(folder)
        self.flags = {row["response_id"]: set(row["flags"].split()) for row in read_scores(folder)}
        ids = [one.response_id for one in self.trials]
        identity = run.panel_run.record["identity"]
        self.criteria, self.scale = list(identity["criteria"]), tuple(identity["scale"])
        self.scores = read_panel_scores(folder, ids, self.criteria)
        self.config = AttackConfig(**run.record["identity"]["plan"])
        self.quorum = float(run.record["panel"]["quorum"])
        rows = run.estimates
        aims = rows[(rows["table"] == "families") & (rows["measure"] == "direction")]
        self.asks = {
            str(family): "highest" if value > 0 else "lowest"
            for family, value in zip(aims["group"], aims["value"], strict=True)
        }
        # Of families that ask for no score: what they are after.
        aims = rows[(rows["table"] == "families") & (rows["measure"] == "attacked")]
        of_status = {status: aim for aim, status in STATUS_OF.items()}
        for family, status in zip(aims["group"], aims["detail"], strict=True):
            self.asks[str(family)] = of_status[str(status)]

    def voted(self, judges: Sequence[tuple[str, str, int]]) -> Scores:
        """Its votes, these judges' first."""
        ids = [one.response_id for one in self.trials]
        return read_panel_scores(self.run.path / PANEL_FOLDER, ids, self.criteria, judges)

    def key(self, trial: Trial) -> tuple[str, ...]:
        """What makes a trial the same in another attack."""
        base = self.dataset[trial.base]
        clean = (_prompt(base), base.response_text)
        return (*clean, trial.kind, trial.family, trial.placement or "", trial.response_text)


def _prompt(base: BaseResponse) -> str:
    return base.prompt_text or base.prompt_id


@dataclass(frozen=True)
class _Common:
    """The trials of both attacks, by the order of the second.

    Attributes:
        trials, dataset: of the second attack, those that the first has too.
        rows: of both attacks, the place of each trial among theirs.
    """

    trials: Sequence[Trial]
    dataset: Sequence[BaseResponse]
    rows: tuple[list[int], list[int]]

    @classmethod
    def of(cls, attacks: Sequence[_Attack]) -> _Common:
        before, after = attacks
        known: dict[tuple[str, ...], int] = {}
        for place, trial in enumerate(before.trials):
            known.setdefault(before.key(trial), place)
        both = [
            (known[key], place)
            for place, trial in enumerate(after.trials)
            if (key := after.key(trial)) in known
        ]
        clean = {after.trials[k].base for _, k in both if after.trials[k].kind == "clean"}
        both = [(one, k) for one, k in both if after.trials[k].base in clean]
        bases = {base: at for at, base in enumerate(sorted(clean))}
        return cls(
            [replace(after.trials[k], base=bases[after.trials[k].base]) for _, k in both],
            [after.dataset[base] for base in bases],
            ([one for one, _ in both], [other for _, other in both]),
        )

    def of_families(self, names: set[str]) -> _Common:
        """The trials of these families alone; those of "" are the clean responses."""
        kept = [k for k, trial in enumerate(self.trials) if trial.family in names]
        before, after = ([rows[k] for k in kept] for rows in self.rows)
        return _Common([self.trials[k] for k in kept], self.dataset, (before, after))


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
    common = _Common.of(attacks)
    tried = {trial.family for trial in common.trials if trial.kind == "attack"}
    asks = {name: end for name, end in second.asks.items() if name in tried}
    if not asks:
        fault = f"no attacked response is the same, letter for letter, as in {before.path}"
        raise InputError([InputFault(str(after.path), fault)])
    common = common.of_families({"", *asks})
    scores, same_judges = _scores(attacks, common)
    planned = {_prompt(base) for attack in attacks for base in attack.dataset}
    each = _effects(attacks, common, scores, asks)
    figures = list(_figures(each, asks, len(planned), second.scale))
    left = {*first.asks, *second.asks} - set(asks)
    coverage = (
        f"{units(len(common.trials), 'response')} are the same in both attacks, of "
        f"{len(first.trials):,} and {len(second.trials):,}"
    )
    judges = "not the same in both: each panel as it is"
    if same_judges:
        judges = "the same in both; a judgment counts that is there in both"
    return Paired(
        "Attack on a panel: before and after", decided_changes(figures, margin=margin),
        list(_notices(attacks, left)),
        [("coverage", coverage), ("judges", judges)],
    )  # fmt: skip


def _scores(attacks: Sequence[_Attack], common: _Common) -> tuple[list[Scores], bool]:
    """The votes on the trials in common; of the same judges, those that are there in both."""
    before, after = attacks
    names = tuple(trial.response_id for trial in common.trials)
    same = set(before.scores.judges) == set(after.scores.judges)
    sides = [before.scores, after.voted(before.scores.judges) if same else after.scores]
    given = [
        replace(
            one, values=one.values[rows], responses=names,
            statuses=None if one.statuses is None else one.statuses[rows],
        )
        for one, rows in zip(sides, common.rows, strict=True)
    ]  # fmt: skip
    statuses = [one.statuses for one in given if one.statuses is not None]
    if not same or len(statuses) < len(given):
        return given, False
    unscored = np.isnan(given[0].values) | np.isnan(given[1].values)
    unasked = (statuses[0] == "") | (statuses[1] == "")
    return [
        replace(
            one, values=np.where(unscored, np.nan, one.values),
            statuses=np.where(unasked, "", status),
        )
        for one, status in zip(given, statuses, strict=True)
    ], True  # fmt: skip


def _effects(
    attacks: Sequence[_Attack],
    common: _Common,
    scores: Sequence[Scores],
    asks: Mapping[str, str],
) -> list[dict[tuple[str, str], Floats]]:
    """As `effects_by_prompt`, before and after, over the trials that have a value in both."""
    alone = _Alone.of(common)
    codes = {text: k for k, text in enumerate(dict.fromkeys(map(_prompt, common.dataset)))}
    place = np.array([codes[_prompt(common.dataset[trial.base])] for trial in alone.attacked])
    sides = [
        effects_by_prompt(
            alone.trials, alone.dataset, asks, alone.scores(one), attacks[1].config,
            scale=attacks[1].scale, quorum=attack.quorum,
        ) | _flagged(attack, common, rows, asks)
        for one, attack, rows in zip(scores, attacks, common.rows, strict=True)
    ]  # fmt: skip
    found: list[dict[tuple[str, str], Floats]] = [{}, {}]
    for key in sides[0]:
        is_known = ~np.isnan(sides[0][key]) & ~np.isnan(sides[1][key])
        for kept, side in zip(found, sides, strict=True):
            values = np.where(is_known, side[key], np.nan)
            kept[key] = mean_by_prompt(values, place, len(codes))
    return found


@dataclass(frozen=True)
class _Alone:
    """Every attacked response as if it stood alone: with a prompt, a clean response and a control
    of its own, so that what is made prompt by prompt is made response by response.

    Attributes:
        attacked: the attacked responses, in their order.
        trials, dataset: of each what it is compared with, and itself.
        rows: places of the trials among all.
    """

    attacked: Sequence[Trial]
    trials: Sequence[Trial]
    dataset: Sequence[BaseResponse]
    rows: Sequence[int]

    @classmethod
    def of(cls, common: _Common) -> _Alone:
        clean = {one.base: k for k, one in enumerate(common.trials) if one.kind == "clean"}
        row = {one.response_id: k for k, one in enumerate(common.trials)}
        attacked = [k for k, one in enumerate(common.trials) if one.kind == "attack"]
        trials, rows = [], []
        for base, k in enumerate(attacked):
            control = row.get(common.trials[k].response_id.replace("-attack-", "-control-", 1))
            for place in (clean[common.trials[k].base], k, control):
                if place is not None:
                    trials.append(replace(common.trials[place], base=base))
                    rows.append(place)
        mine = [common.trials[k] for k in attacked]
        dataset = [replace(common.dataset[one.base], prompt_text=one.response_id) for one in mine]
        return cls(mine, trials, dataset, rows)

    def scores(self, given: Scores) -> Scores:
        """The votes on its trials."""
        statuses = given.statuses
        return replace(
            given, values=given.values[self.rows], responses=(),
            statuses=None if statuses is None else statuses[self.rows],
        )  # fmt: skip


def _flagged(
    attack: _Attack, common: _Common, rows: Sequence[int], asks: Mapping[str, str]
) -> dict[tuple[str, str], Floats]:
    """Whether an attacked response has a flag that the clean one has not, as the run noticed."""
    seen = [attack.flags[attack.trials[row].response_id] for row in rows]
    clean = {trial.base: seen[k] for k, trial in enumerate(common.trials) if trial.kind == "clean"}
    mine = [k for k, trial in enumerate(common.trials) if trial.kind == "attack"]
    is_new = np.array([bool(seen[k] - clean[common.trials[k].base]) for k in mine], dtype=float)
    families = np.array([common.trials[k].family for k in mine])
    return {
        (name, "flagged"): np.where((families == name) | (not name), is_new, np.nan)
        for name in ("", *asks)
    }


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
