"""People's labels of responses: agreement of people, of a panel with them, and corrected rates.

A panel that gives labels is compared as it is: its label of a response is the one that most of its
judges gave. A panel that gives scores is compared in order (AUC), and as a label at a cut.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from ..aggregation.alternative_annotator import alt_test
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.jackknife import recomputed
from ..aggregation.labels import (
    Labels,
    against_one_person,
    best_cut,
    corrected_rate,
    label_agreement,
    people_agreement,
)
from ..errors import InputError, InputFault
from ..formats import listed, number, words
from ..records.estimates import Estimates
from ..records.types import OVERALL
from .dataset import Dataset
from .label_sets import MOST_LABELS, high_label, place_of
from .panel_people import MOST_CELLS, add_form
from .people import BELOW_CHANCE, BELOW_CHANCE_ALPHA

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FOLDS: Final = 10
"""Folds of prompts of which each is left out where a cut is chosen."""

PEOPLE, AGREEMENT, CATEGORIES = "label people", "labels", "label categories"
CONFUSION, ONE_PERSON, RATES = "label confusion", "label one person", "label rates"


@dataclass(frozen=True, slots=True)
class Cut:
    """What was said of one criterion: from which score on a response has which label.

    Attributes:
        label: that a high score stands for, or None.
        at: the lowest score that has it, or None where it is to be chosen.
    """

    label: str | None
    at: float | None


@dataclass(frozen=True, slots=True)
class PanelLabels:
    """The panel as one that labels.

    Attributes:
        codes: shape (R,), its label of each response; -1 where it has none.
        tested: the same for agreement with people, where the cut of a response is chosen without
            the responses of its prompt's fold.
        score: shape (R,), of a panel that scores; None of one that labels.
        high: the code that a high score stands for; None of a panel that labels.
        cut: the cut; None likewise.
    """

    codes: Integers
    tested: Integers
    score: Floats | None = None
    high: int | None = None
    cut: Estimate | None = None


def cuts_of(given: Sequence[str]) -> dict[str, Cut]:
    """Returns what `--cut` says, by criterion: "helpful=7", "tone=fair:7" or "tone=fair".

    Raises:
        InputError: what cannot be read, all of it.
    """
    found: dict[str, Cut] = {}
    faults = []
    for text in given:
        criterion, is_there, rest = text.partition("=")
        label, _, at = rest.rpartition(":") if ":" in rest else ("", "", rest)
        try:
            cut = Cut(label.strip() or None, float(at))
        except ValueError:
            cut = Cut(rest.strip(), None)
            if label:
                is_there = ""
        if not is_there or not criterion.strip() or not rest.strip():
            told = f"must be CRITERION=SCORE, CRITERION=LABEL:SCORE or CRITERION=LABEL, got {text}"
            faults.append(InputFault("`cut`", told))
            continue
        found[criterion.strip()] = cut
    if faults:
        raise InputError(faults)
    return found


def add_label_people(out: Estimates, dataset: Dataset, *, level: float = 0.95) -> None:
    """Adds the table "label people": how far people's labels agree, by criterion.

    n_raters, n_items, n_prompts, n_labels; and of responses with two labels or more, with intervals
    over prompts, the figures of `people_agreement`. The verdict on alpha is `BELOW_CHANCE` where it
    is below 0 at .01, divided by the criteria: it halts a calibration, as with ratings.
    """
    prompt = dataset.responses.prompt
    for one in dataset.labels.people:
        votes = one.votes(len(dataset.responses))
        items = votes.sum(axis=1) > 0
        figures: dict[str, Estimate | float] = {
            "n_raters": len(np.unique(one.rater)),
            "n_items": int(items.sum()),
            "n_prompts": len(np.unique(prompt[items])),
            "n_labels": len(one),
        }
        if why := _no_categories(one):
            figures["alpha"] = undefined(why)
        else:
            figures |= people_agreement(votes[items], prompt[items], level=level)
            alpha = figures["alpha"]
            if isinstance(alpha, Estimate) and alpha.is_defined and alpha.n >= MIN_UNITS:
                # without a spread over prompts the value stands for the interval
                p = float(alpha.value >= 0)
                if alpha.se > 0:
                    p = float(stdtr(alpha.n - 1, alpha.value / alpha.se))
                is_below = p < BELOW_CHANCE_ALPHA / len(dataset.labels.people)
                figures["alpha"] = replace(
                    alpha, p=p, p_method="t, one-sided: below 0",
                    verdict=BELOW_CHANCE if is_below else None,
                )  # fmt: skip
        out.add_all(PEOPLE, figures, criterion=one.criterion)


def add_labels(
    out: Estimates,
    dataset: Dataset,
    *,
    cuts: Mapping[str, Cut] | None = None,
    rated: str | None = None,
    level: float = 0.95,
    epsilon: float = 0.2,
    seed: int = 0,
) -> None:
    """Adds how far a panel agrees with people's labels, and what rates of labels they make of its.

    By criterion, with intervals over prompts:

    labels            accuracy, kappa (`label_agreement`); of a panel that scores also the cut and
                      auc, the share of pairs of responses with different labels in which the one
                      with the label scores higher, ties one half
    label categories  recall and precision by label (`group`)
    label confusion   responses by people's label (`group`) and the panel's (`detail`)
    label one person  the panel and one more person against the others (`against_one_person`)
    label rates       by label: raw, corrected (`corrected_rate`)
    alt-test          the alternative annotator test by accuracy, prompts as units

    Args:
        out: takes the figures.
        dataset: responses, people's labels, the panel.
        cuts: by criterion; see `cuts_of`.
        rated: how the labelled prompts were taken from all: "random", "chosen", None if not said.
        level: nominal coverage.
        epsilon: of the alt-test.
        seed: of folds and of the alt-test.

    Raises:
        InputError: a cut of a criterion, or of a label, that people did not give.
    """
    given = dict(cuts or {})
    _require_known(given, dataset.labels.people)
    for one in dataset.labels.people:
        panel = _panel_labels(one, dataset, given.get(one.criterion, Cut(None, None)), seed)
        if isinstance(panel, str):
            out.add(AGREEMENT, "kappa", undefined(panel), criterion=one.criterion)
            continue
        _add_criterion(out, dataset, one, panel, rated=rated, level=level)
        _add_alt_test(out, dataset, one, panel, epsilon=epsilon, seed=seed)


def _require_known(cuts: Mapping[str, Cut], people: tuple[Labels, ...]) -> None:
    by_name = {one.criterion: one for one in people}
    faults = []
    for name, cut in cuts.items():
        if name not in by_name:
            told = f"people gave labels on {listed(list(by_name), 6) or 'nothing'}"
            faults.append(InputFault("`cut`", told, name))
        elif cut.label is not None and place_of(cut.label, by_name[name].categories) is None:
            told = f"people's labels are {', '.join(by_name[name].categories)}, got {cut.label}"
            faults.append(InputFault("`cut`", told, name))
    if faults:
        raise InputError(faults)


def _no_categories(one: Labels) -> str | None:
    """Why labels say nothing: one of them only, or so many that they are texts."""
    if len(one.categories) < 2:
        return f"one label throughout: {', '.join(one.categories)}"
    if len(one.categories) > MOST_LABELS:
        return f"{len(one.categories):,} different labels are no categories ({MOST_LABELS} are)"
    return None


def _panel_labels(one: Labels, dataset: Dataset, cut: Cut, seed: int) -> PanelLabels | str:
    """The panel's labels, or why it has none."""
    R = len(dataset.responses)
    if why := _no_categories(one):
        return why
    own = dataset.labels.of_panel(one.criterion)
    if own is not None:
        if cut != Cut(None, None):
            told = "the panel gave labels: a cut is for scores"
            raise InputError([InputFault("`cut`", told, one.criterion)])
        shared = np.intersect1d(one.code, own.code)
        if not len(shared):
            of_people, of_panel = (
                ", ".join(one.categories[code] for code in np.unique(codes).tolist())
                for codes in (one.code, own.code)
            )
            return f"people say {of_people} and the panel {of_panel}: they share no label"
        codes = own.most(R)
        return PanelLabels(codes, codes)
    if dataset.panel is None:
        named = ", ".join(other.criterion for other in dataset.labels.panel)
        return f"the panel gave labels on {named or 'nothing'} only"
    high = high_label(one.categories)
    if cut.label is not None:
        high = place_of(cut.label, one.categories)
    if high is None:
        return (
            f"which of {', '.join(one.categories)} a high score stands for is not known: "
            f"`cut` {one.criterion}=LABEL says it"
        )
    is_own = one.criterion in dataset.panel.criteria and one.criterion != OVERALL
    score = dataset.panel.mean(one.criterion if is_own else None).score
    return _at_cut(score, one, high, cut.at, dataset.responses.prompt, is_own=is_own, seed=seed)


def _at_cut(
    score: Floats,
    one: Labels,
    high: int,
    at: float | None,
    prompt: Integers,
    *,
    is_own: bool,
    seed: int,
) -> PanelLabels | str:
    votes = one.votes(len(score))
    people = votes.sum(axis=1)
    both = np.flatnonzero(np.isfinite(score) & (people > 0))
    if not len(both):
        return "no response is both labelled and scored"
    low = next(code for code in range(len(one.categories)) if code != high)
    share = votes[both, high] / people[both]
    which = one.criterion if is_own else "composite"
    why = "" if is_own or one.criterion == OVERALL else ", having no such criterion"
    name = f"{one.categories[high]} where the panel's {which} is at least that{why}"

    def coded(cut: Floats | float) -> Integers:
        found = np.where(score >= cut, high, low)
        return np.where(np.isfinite(score), found, -1)

    if at is not None:
        codes = coded(at)
        stated = Estimate(at, n=len(both), unit="response", method=f"{name}; stated",
                          reason="stated: no interval")  # fmt: skip
        return PanelLabels(codes, codes, score, high, stated)
    whole = best_cut(score[both], share)
    if math.isnan(whole):
        return "no cut can be chosen: scores or labels are all alike"
    places = np.unique(prompt[both], return_inverse=True)[1].reshape(-1)
    n_prompts = int(places.max()) + 1
    fold = np.random.default_rng(seed).permutation(n_prompts)[places] % min(FOLDS, n_prompts)
    by_response = np.full(len(score), whole)
    chosen = []
    for k in np.unique(fold).tolist():
        rest = fold != k
        without = best_cut(score[both][rest], share[rest]) if rest.any() else math.nan
        without = whole if math.isnan(without) else without
        by_response[both[~rest]] = without
        chosen.append(without)
    ends = number(min(chosen)), number(max(chosen))
    told = "the same in all folds of prompts"
    if ends[0] != ends[1]:
        told = f"from {ends[0]} to {ends[1]} over folds of prompts"
    found = Estimate(
        whole, n=len(both), unit="response", method=f"{name}; chosen for kappa, {told}",
        reason="chosen: no interval; agreement is counted out of fold",
    )  # fmt: skip
    return PanelLabels(coded(whole), coded(by_response), score, high, found)


def _add_criterion(
    out: Estimates,
    dataset: Dataset,
    one: Labels,
    panel: PanelLabels,
    *,
    rated: str | None,
    level: float,
) -> None:
    prompt, categories = dataset.responses.prompt, one.categories
    votes = one.votes(len(dataset.responses))
    if panel.high is not None and len(categories) > 2:
        # a cut tells one label from all others together
        votes = np.column_stack([votes.sum(axis=1) - votes[:, panel.high], votes[:, panel.high]])
        categories = (f"not {categories[panel.high]}", categories[panel.high])
        codes, tested = (
            np.where(x < 0, -1, (x == panel.high).astype(np.int64))
            for x in (panel.codes, panel.tested)
        )
        panel = replace(panel, codes=codes, tested=tested, high=1)
    of_people = votes.sum(axis=1) > 0
    found = label_agreement(panel.tested, votes, prompt, categories, level=level)
    n_both = Estimate(
        found.n_items, n=found.n_items, n_planned=int(of_people.sum()), unit="response",
        method="responses that people and panel labelled, of those that people did",
        reason="a count",
    )  # fmt: skip
    keys = {"criterion": one.criterion}
    n_panel = Estimate(
        float((panel.codes >= 0).sum()), n=int((panel.codes >= 0).sum()), n_planned=len(votes),
        unit="response", method="responses that the panel labelled: its judges do not tie, or it "
        "has a score", reason="a count",
    )  # fmt: skip
    counts = {"n_both": n_both, "n_panel": n_panel}
    out.add_all(AGREEMENT, {**counts, **found.figures, "cut": panel.cut}, **keys)
    if panel.score is not None and panel.high is not None:
        out.add_all(AGREEMENT, _order(panel.score, votes, panel.high, prompt, level), **keys)
    for code, name in enumerate(categories):
        figures: dict[str, Estimate | float] = {
            "n_people": float(found.table[code].sum()),
            "n_panel": float(found.table[:, code].sum()),
            "recall": found.recall[name],
            "precision": found.precision[name],
        }
        out.add_all(CATEGORIES, figures, group=name, **keys)
        for other, title in enumerate(categories):
            out.add(
                CONFUSION, "n", float(found.table[code, other]), group=name, detail=title, **keys
            )
    out.add_all(ONE_PERSON, _one_person(panel.tested, votes, prompt, level), **keys)
    for code, name in enumerate(categories):
        rate = corrected_rate(panel.codes, votes, prompt, code, categories, level=level)
        corrected = rate.corrected
        if rated == "chosen" and rate.n_checked < rate.n_items:
            corrected = undefined("the labelled prompts were chosen: the rest may differ from them")
        elif corrected.is_defined:
            is_known = rated == "random" or rate.n_checked == rate.n_items
            corrected = replace(corrected, verdict="random" if is_known else "if random")
        n_checked = Estimate(
            rate.n_checked, n=rate.n_checked, n_planned=rate.n_items, unit="response",
            method="responses with a panel label that people labelled too", reason="a count",
        )  # fmt: skip
        figures = {"raw": rate.raw, "corrected": corrected, "n_checked": n_checked}
        out.add_all(RATES, figures, group=name, **keys)


def _one_person(
    tested: Integers, votes: Floats, prompt: Integers, level: float
) -> dict[str, Estimate]:
    if not ((votes.sum(axis=1) > 1) & (tested >= 0)).any():
        return {"difference": undefined("no response was labelled by two people")}
    return against_one_person(tested, votes, prompt, level=level)


def _order(
    score: Floats, votes: Floats, high: int, prompt: Integers, level: float
) -> dict[str, Estimate]:
    """AUC over all responses, against the label that most of the people gave."""
    share = votes[:, high] / np.where(votes.sum(axis=1) > 0, votes.sum(axis=1), np.nan)
    y = np.where(share > 0.5, 1.0, np.where(share < 0.5, 0.0, np.nan))
    name = "pairs of different labels in which the one with the label scores higher, ties one half"
    both = np.isfinite(score) & np.isfinite(y)
    x, z = score[both], y[both]
    auc = recomputed(
        lambda mask: _auc(x[mask], z[mask]), prompt[both], method=f"AUC: {name}", level=level,
        bounds=(0.0, 1.0),
    )  # fmt: skip
    if not auc.is_defined:
        auc = replace(auc, reason="people gave one label to all scored responses")
    return {"auc": auc}


def _auc(x: Floats, y: Floats) -> float:
    from scipy.stats import rankdata

    n_high = int(y.sum())
    n_low = len(y) - n_high
    if not n_high or not n_low:
        return math.nan
    ranks = float(rankdata(x)[y == 1].sum())
    return (ranks - n_high * (n_high + 1) / 2) / (n_high * n_low)


def _add_alt_test(
    out: Estimates, dataset: Dataset, one: Labels, panel: PanelLabels, *, epsilon: float, seed: int
) -> None:
    usable = panel.tested[one.item] >= 0
    raters, items = np.unique(one.rater[usable]), np.unique(one.item[usable])
    form = f"labels, {words(one.criterion)}"
    if len(raters) < 2 or len(raters) * len(items) > MOST_CELLS:
        why = "one rater" if len(raters) < 2 else f"more than {MOST_CELLS:,} raters x responses"
        out.add("alt-test", "winning_rate", undefined(why, unit="rater"), detail=form)
        return
    # by name, so that what random judges are drawn from does not depend on the order of the file
    by_name = sorted(raters.tolist(), key=lambda code: dataset.labels.rater_ids[code])
    by_rater: dict[int, dict[int, int]] = {code: {} for code in by_name}
    columns = (one.rater[usable], one.item[usable], one.code[usable])
    for who, what, code in zip(*(column.tolist() for column in columns), strict=True):
        # with a cut, every label but the high one is the same to the panel
        is_other = panel.high is not None and code != panel.high
        by_rater[who][what] = -1 if is_other else code
    judge = {
        int(r): -1 if panel.high is not None and panel.tested[r] != panel.high
        else int(panel.tested[r])
        for r in items
    }  # fmt: skip
    prompt_of = {int(r): int(dataset.responses.prompt[r]) for r in items}
    test = alt_test(judge, by_rater, epsilon=epsilon, score="accuracy", groups=prompt_of, seed=seed)
    add_form(out, form, test)
