"""People's preferences between two responses: their agreement, the panel's accuracy, worths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import verdict_limits
from ..aggregation.one_more_person import choices_beside_one_person
from ..aggregation.pair_counting import round_ties
from ..aggregation.preferences import (
    Preferences,
    preference_accuracy,
    preference_agreement,
    worths,
)
from ..records.estimates import Estimates
from .dataset import Dataset, panel_criterion
from .judges import NOT_ABOVE_CHANCE
from .panel_scores import PanelScores, judge_name
from .people import BELOW_CHANCE

PREFERENCES, JUDGES, WORTHS = "preferences", "preferences of judges", "worths"
"""The tables."""


def add_preferences(out: Estimates, dataset: Dataset, *, level: float = 0.95) -> None:
    """Adds what people prefer of two responses, by criterion, and the panel beside them.

    Table "preferences":

    n_preferences, n_pairs, n_shared, n_raters, n_prompts, n_ties, raters_a_pair    counts
    equal, kappa, ceiling   of `preference_agreement`; the verdict of kappa is "below chance" where
                    its interval lies below 0
    only_score      the score of all compared responses; no row where their scores differ
    accuracy        the panel on people's decided preferences; ties of the panel one half
    n_decided, n_panel_ties  those preferences, and those on pairs that the panel ties
    accuracy_of_one, accuracy_of_panel, accuracy_difference  of `choices_beside_one_person`, as
                    shares of pairs, (1 + d)/2: one more person and the panel against each of the
                    other people, and panel less person with its verdict

    Table "preferences of judges", on the first criterion that the panel judged: the accuracy of
    every judge, "not shown above chance" where its interval covers one half.

    Table "worths": `win_share` and `worth` (log, mean 0) of respondents, over prompts.
    """
    has_judges = False
    for given in dataset.preferences:
        keys = {"criterion": given.criterion}
        agreed = preference_agreement(given, level=level)
        low, high = verdict_limits(agreed.kappa)
        is_below = high < 0 and low < 0
        out.add_all(
            PREFERENCES,
            {
                "n_preferences": len(given),
                "n_pairs": agreed.n_pairs,
                "n_shared": agreed.n_shared,
                "n_raters": len(np.unique(given.rater)),
                "n_prompts": len(np.unique(given.prompt)),
                "n_ties": agreed.n_ties,
                "raters_a_pair": len(given) / agreed.n_pairs,
                "equal": agreed.equal,
                "kappa": replace(agreed.kappa, verdict=BELOW_CHANCE if is_below else None),
            },
            **keys,
        )
        if dataset.panel is None:
            out.add(PREFERENCES, "ceiling", agreed.ceiling, **keys)
        elif not is_below:
            _add_panel(out, dataset.panel, given, agreed.ceiling, level=level)
        if not (has_judges or is_below):
            has_judges = _add_judges(out, dataset, given, level=level)
        _add_respondents(out, dataset, given, level=level)


def _add_panel(
    out: Estimates, panel: PanelScores, given: Preferences, ceiling: Estimate, *, level: float
) -> None:
    keys = {"criterion": given.criterion}
    is_judged, criterion = panel_criterion(given.criterion, panel)
    if not is_judged:
        why = "the panel did not judge this criterion"
        out.add(PREFERENCES, "accuracy", undefined(why), **keys)
        return
    scores = panel.ensemble(criterion)
    compared = scores[np.union1d(given.first, given.second)]
    compared = round_ties(compared[np.isfinite(compared)])
    if len(compared) > 1 and np.ptp(compared) == 0:
        out.add(PREFERENCES, "only_score", float(compared[0]), **keys)
    found = preference_accuracy(given, scores, level=level)
    beside = choices_beside_one_person(given, scores, level=level)
    out.add_all(
        PREFERENCES,
        {
            "accuracy": found.accuracy,
            "n_decided": found.n_decided,
            "n_panel_ties": found.n_ties,
            "accuracy_of_one": _as_share(beside.of_one, 0.5),
            "accuracy_of_panel": _as_share(beside.of_scores, 0.5),
            "ceiling": ceiling,
            "accuracy_difference": _as_share(beside.difference, 0.0),
        },
        **keys,
    )


def _as_share(d: Estimate, chance: float) -> Estimate:
    """Returns a Somers' d, or a difference of two, as a share of pairs."""
    return replace(
        d, value=chance + d.value / 2, low=chance + d.low / 2, high=chance + d.high / 2,
        se=d.se / 2, method=d.method.replace("Somers' d", "accuracy, ties one half,"),
    )  # fmt: skip


def _add_judges(out: Estimates, dataset: Dataset, given: Preferences, *, level: float) -> bool:
    """Returns whether the panel judged this criterion."""
    panel = dataset.panel
    if panel is None:
        return False
    is_judged, criterion = panel_criterion(given.criterion, panel)
    if not is_judged:
        return False
    table = panel.by_judge(criterion)
    for p, persona in enumerate(panel.personas):
        for m, model in enumerate(panel.models):
            score = table[:, p, m]
            if not np.isfinite(score).any():
                continue
            found = preference_accuracy(given, score, level=level)
            is_above = verdict_limits(found.accuracy)[0] > 0.5
            out.add_all(
                JUDGES,
                {
                    "accuracy": replace(
                        found.accuracy, verdict=None if is_above else NOT_ABOVE_CHANCE
                    ),
                    "n_decided": found.n_decided,
                    "n_ties": found.n_ties,
                },
                factor="judge", group=judge_name(persona, model), persona=persona, model=model,
                criterion=given.criterion,
            )  # fmt: skip
    return True


def _respondents(dataset: Dataset) -> tuple[str | None, ...]:
    """Who wrote each response: as files say, or by a name that recurs as PROMPT/NAME."""
    responses = dataset.responses
    if any(responses.respondent):
        return responses.respondent
    rests: list[str | None] = []
    for name, code in zip(responses.ids, responses.prompt.tolist(), strict=True):
        start = f"{responses.prompt_ids[code]}/"
        rest = name.removeprefix(start) if name.startswith(start) else ""
        rests.append(rest if len(rest) > 1 and not rest.isdigit() else None)
    several = {name for name in rests if name is not None and rests.count(name) > 1}
    return tuple(name if name in several else None for name in rests)


def _add_respondents(out: Estimates, dataset: Dataset, given: Preferences, *, level: float) -> None:
    who = _respondents(dataset)
    names = [name for name in dict.fromkeys(who) if name is not None]
    code = {name: place for place, name in enumerate(names)}
    of = np.array([-1 if name is None else code[name] for name in who], dtype=np.int64)
    first, second = of[given.first], of[given.second]
    mine = (first >= 0) & (second >= 0) & (first != second)
    if not mine.any():
        return
    used = np.unique(np.concatenate([first[mine], second[mine]]))
    found = worths(
        np.searchsorted(used, first[mine]), np.searchsorted(used, second[mine]), given.won[mine],
        len(used), given.prompt[mine].tolist(), unit="prompt", level=level,
    )  # fmt: skip
    for place in sorted(range(len(used)), key=lambda place: -found.win_share[place].value):
        figures = {"win_share": found.win_share[place], "worth": found.log_worth[place]}
        respondent = names[int(used[place])]
        out.add_all(WORTHS, figures, respondent=respondent, criterion=given.criterion)
