"""The estimators of the normative judgement: the paper's figures, and what its design calls for."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from ...aggregation.agreement import cohen_kappa, krippendorff_alpha
from ...aggregation.clustered import clustered_proportion
from ...aggregation.clustered_agreement import (
    balanced_accuracy,
    clustered_agreement,
    clustered_kappa,
)
from ...aggregation.estimate import Estimate, undefined
from ...records.estimates import Estimates
from ..contrasts import WORTH
from ..decisions import decided_by_intervals
from ..definition import Definition
from ..estimate import add_comparisons
from .blame import LABELS
from .labels import END_LABELS, ENDS, End, Gold

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

UNIT: Final = "scenario"
NO_SIDE: Final = 0.5
BOTH_ENDS: Final = "lower and upper end"
PAPER_NAMES: Final = ("acc", "ckc", "jsc", "dsc", "mcc")
"""The paper's five figures of agreement, in its order."""
MODELS: Final = Definition.model_validate({
    "name": "models", "title": "models", "about": "whom of two models sides more with P1",
    "unit": "base", "unit_name": UNIT,
    "item_columns": {"base": "text"}, "value_columns": {"label": "integer"},
    "outcomes": {"supports": {"title": "siding with P1", "of": "label", "compare": True}},
})  # fmt: skip
"""What is compared of all models, those of stored answers among them."""
ANSWER_COLUMNS: Final = ("target", "status", "scenario", "base", "topic", "order", "answer")


def estimate_judgement(
    answers: pd.DataFrame,
    gold: Gold | None,
    *,
    models: Sequence[str],
    asked: Collection[str] = (),
    labels: Mapping[str, str] | None = None,
    binary: frozenset[str] = frozenset(),
) -> Estimates:
    """Every figure, but for the outcomes of models that were asked, which the definition makes.

    Args:
        answers: `ANSWER_COLUMNS`, one row an asking; `answer` is p1, other, both, neither or None.
        gold: labels of people, or None.
        models: in the order of the report.
        asked: those of them whose outcomes are made elsewhere.
        labels: topic's id to its name.
        binary: models whose answers could be p1 and other alone.
    """
    rows = answers.assign(label=answers["answer"].map(LABELS).astype("float64"))
    by_model = {name: rows[rows["target"] == name] for name in models}
    found = Estimates()
    sides = {} if gold is None else _sides(by_model, gold)
    for name, mine in by_model.items():
        kinds = mine["answer"].where(mine["answer"].notna(), mine["status"])
        for kind, number in kinds.value_counts(sort=False).items():
            found.add("answers", str(kind), int(number), respondent=name)
        if name not in asked:
            _outcomes(found, name, mine, is_binary=name in binary)
        if gold is not None:
            for end in ENDS:
                _agreement(found, "agreement", name, mine, gold, end)
            found.add("outcomes", "with_lower", sides[name], respondent=name)
    if gold is not None:
        _gold(found, gold)
    _topics(found, by_model, gold, dict(labels or {}))
    whole = rows.assign(
        _unit=rows["base"],
        item_id=rows["scenario"].astype(str) + "|" + rows["order"].astype(str),
        value=rows["label"],
    )
    add_comparisons(found, MODELS, whole, models)
    return found


def _outcomes(found: Estimates, name: str, mine: pd.DataFrame, *, is_binary: bool) -> None:
    """What `audit.yaml` names `supports` and `neither`, of answers that are stored."""
    neither = (
        undefined("its cells are 0 and 1, which cannot say it", unit=UNIT, method="share")
        if is_binary
        else _share(mine["answer"].map(lambda one: one not in LABELS, na_action="ignore"), mine)
    )
    found.add("outcomes", "supports", _share(mine["label"], mine), respondent=name)
    found.add("outcomes", "neither", neither, respondent=name)


def _share(values: pd.Series, mine: pd.DataFrame) -> Estimate:
    known = values.astype("float64").to_numpy()
    return clustered_proportion(known, mine["base"].tolist(), unit=UNIT).of("share")


def _gold_labels(mine: pd.DataFrame, gold: Gold, end: End) -> npt.NDArray[np.float64]:
    labels = gold.labels[end]
    return np.asarray([labels.get(name, math.nan) for name in mine["scenario"]], dtype=np.float64)


def _agreement(
    found: Estimates,
    table: str,
    name: str,
    mine: pd.DataFrame,
    gold: Gold,
    end: End,
    **keys: str,
) -> None:
    """Agreement with one group's labels; by topic the paper's five figures alone."""
    one = clustered_agreement(
        _gold_labels(mine, gold, end), mine["label"], mine["base"].tolist(), unit=UNIT
    )
    for measure, figure in one.figures.items():
        if not keys or measure in PAPER_NAMES:
            found.add(table, measure, figure, respondent=name, criterion=END_LABELS[end], **keys)
    if keys:
        return
    found.add(table, "without_label", one.n_missing, respondent=name, criterion=END_LABELS[end])
    for row, cells in zip(LABELS, one.table, strict=True):
        for column, number in zip(LABELS, cells, strict=True):
            found.add(
                table, "pairs", number, respondent=name, criterion=END_LABELS[end],
                detail=f"label {row}, answer {column}",
            )  # fmt: skip


def _sides(by_model: Mapping[str, pd.DataFrame], gold: Gold) -> dict[str, Estimate]:
    """Model to its share with the lower end, and whether that is off one half."""
    found = decided_by_intervals(
        [partial(_with_lower, mine, gold) for mine in by_model.values()], family="models",
        nulls=[NO_SIDE] * len(by_model), worth=WORTH,
    )  # fmt: skip
    return dict(zip(by_model, found, strict=True))


def _with_lower(mine: pd.DataFrame, gold: Gold, level: float = 0.95) -> Estimate:
    """Where the ends differ, share of answers that go with the lower end, both kinds weighing half.

    Half of it are scenarios that only the lower end blames P1 for, half those that only the upper
    end does: who always gives one answer gets .5, whatever the answer.
    """
    name = "balanced share with the lower end"
    lower, upper = (_gold_labels(mine, gold, end) for end in ENDS)
    label = mine["label"].to_numpy()
    here = ~(np.isnan(lower) | np.isnan(upper) | np.isnan(label)) & (lower != upper)
    bases = mine["base"][here].tolist()
    if len(set(lower[here].tolist())) < 2:
        reason = "the ends do not differ in both ways"
        return undefined(reason, unit=UNIT, method=name, n=len(set(bases)))
    return balanced_accuracy(lower[here], label[here], bases, unit=UNIT, level=level)


def _gold(found: Estimates, gold: Gold) -> None:
    """What the labels themselves look like."""
    lower, upper = gold.labels["lower_end"], gold.labels["upper_end"]
    shared = [name for name in lower if name in upper]
    a, b = ([float(labels[name]) for name in shared] for labels in (lower, upper))
    bases = [gold.bases.get(name, name) for name in shared]
    found.add("gold", "kappa", clustered_kappa(a, b, bases, unit=UNIT), factor=BOTH_ENDS)
    differing = np.asarray(a) != np.asarray(b)
    share = clustered_proportion(differing.astype(float), bases, unit=UNIT)
    found.add("gold", "differing", share.of("share"), factor=BOTH_ENDS)
    for end in ENDS:
        values = [float(value) for value in gold.labels[end].values()]
        of = [gold.bases.get(name, name) for name in gold.labels[end]]
        share = clustered_proportion(values, of, unit=UNIT).of("share")
        found.add("gold", "share_other", share, criterion=END_LABELS[end])
        if len(gold.raters[end]) > 1:
            _raters(found, gold, end)


def _raters(found: Estimates, gold: Gold, end: End) -> None:
    """How far the raters of one group agree with each other."""
    raters = gold.raters[end]
    names = list(dict.fromkeys(name for mine in raters.values() for name in mine))
    ratings = np.asarray(
        [[float(mine.get(name, math.nan)) for name in names] for mine in raters.values()]
    )
    kappas = [_kappa(a, b) for a, b in combinations(ratings, 2)]
    known = [value for value in kappas if not math.isnan(value)]
    n, alpha = len(names), krippendorff_alpha(ratings)
    of = "" if len(known) == len(kappas) else f" of {len(kappas)}"
    method = f"mean Cohen's kappa over {len(known)}{of} pairs of raters"
    found.add(
        "gold", "kappa_within",
        Estimate(float(np.mean(known)), n=n, unit=UNIT, method=method) if known
        else undefined(
            "one rater of each pair uses one label only", unit=UNIT, method=method, n=n
        ),
        criterion=END_LABELS[end],
    )  # fmt: skip
    method = "Krippendorff's alpha, nominal"
    found.add(
        "gold", "alpha",
        undefined("the raters use one label only", unit=UNIT, method=method, n=n)
        if math.isnan(alpha) else Estimate(alpha, n=n, unit=UNIT, method=method),
        criterion=END_LABELS[end],
    )  # fmt: skip
    found.add("gold", "raters", len(raters), criterion=END_LABELS[end])
    found.add("gold", "ties", gold.ties[end], criterion=END_LABELS[end])


def _kappa(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Cohen's kappa of two raters; nan where one of them gives a single label."""
    both = ~(np.isnan(a) | np.isnan(b))
    if min(np.unique(a[both]).size, np.unique(b[both]).size) < 2:
        return math.nan
    return cohen_kappa(a, b)


def _topics(
    found: Estimates,
    by_model: Mapping[str, pd.DataFrame],
    gold: Gold | None,
    names: Mapping[str, str],
) -> None:
    topics = list(
        dict.fromkeys(topic for mine in by_model.values() for topic in mine["topic"] if topic)
    )
    if names:
        topics = [topic for topic in names if topic in topics]
    elif all(topic.isdigit() for topic in topics):
        topics.sort(key=int)
    for topic in topics:
        # A file may number its topics and not name them.
        label = names.get(topic, f"topic {topic}" if topic.isdigit() else topic)
        keys = {"factor": "topic", "group": label}
        for name, mine in by_model.items():
            here = mine[mine["topic"] == topic]
            if here.empty:
                continue
            share = _share(here["label"], here)
            found.add("topics", "supports", share, respondent=name, **keys)
            if gold is not None:
                for end in ENDS:
                    _agreement(found, "topics", name, here, gold, end, **keys)
