"""Agreement of two labelings: the SilverSpoon paper's four names, and the textbook measures."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .chance_corrected import cohen_kappa
from .prompt_means import Floats

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """How far two labelings of the same items agree.

    Attributes:
        n: items that both labeled.
        n_missing: items left out because one of the two is missing.
        accuracy: share of equal labels; the paper's ACC.
        kappa: Cohen's kappa; nan where a margin is empty: of a labeling that always says the same
            the formula makes 0, which says nothing of the items.
        paper_jaccard, paper_dice: the paper's JSC and DSC, in which every mismatch counts as a
            false positive and a false negative at once: a / (2 − a) and a, for accuracy a. They
            are the accuracy under two more names.
        mcc: Matthews correlation (of two labels: phi); nan where a margin is empty, which some
            libraries call 0.
        jaccard, dice: by label, the textbook set forms: shared / union, and 2 shared / sum, of the
            items that each labeling gives that label; nan where neither gives it.
        labels: the labels found, sorted.
        table: counts, (labels, labels), rows the first labeling.
        reason: why something is undefined, or None.
    """

    n: int
    n_missing: int
    accuracy: float
    kappa: float
    paper_jaccard: float
    paper_dice: float
    mcc: float
    jaccard: tuple[float, ...]
    dice: tuple[float, ...]
    labels: tuple[Hashable, ...]
    table: tuple[tuple[int, ...], ...]
    reason: str | None = None


def label_agreement(
    first: Sequence[Hashable | None], second: Sequence[Hashable | None]
) -> LabelAgreement:
    """Returns every measure of agreement between two labelings.

    ACC, JSC, DSC and MCC as in SilverSpoon (arXiv 2403.14633), checked against its published
    Yi-6B rows; with TP = matches and each mismatch a FP and a FN, JSC = TP / (TP + FP + FN) =
    ACC / (2 − ACC) and DSC = 2 TP / (2 TP + FP + FN) = ACC. MCC for several labels after Gorodkin
    (2004).

    Args:
        first: one label an item; None is missing. Labels of one kind that can be sorted.
        second: likewise.

    Raises:
        ValueError: sequences of different length.
    """
    if len(first) != len(second):
        raise ValueError(f"must be of one length, got {len(first)} and {len(second)}")
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    n_missing = len(first) - len(pairs)
    if not pairs:
        nan = math.nan
        return LabelAgreement(
            0, n_missing, nan, nan, nan, nan, nan, (), (), (), (), "no item has both labels"
        )
    labels = tuple(sorted({label for pair in pairs for label in pair}, key=_order))
    place = {label: at for at, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)), dtype=np.int64)
    for a, b in pairs:
        table[place[a], place[b]] += 1
    n = len(pairs)
    shared, rows, columns = np.diag(table), table.sum(axis=1), table.sum(axis=0)
    accuracy = float(shared.sum() / n)
    codes = np.asarray([(place[a], place[b]) for a, b in pairs])
    is_varied = min(np.count_nonzero(rows), np.count_nonzero(columns)) > 1
    kappa = cohen_kappa(codes[:, 0], codes[:, 1]) if is_varied else math.nan
    mcc = _mcc(float(shared.sum()), rows.astype(float), columns.astype(float), n)
    reason = None
    if not is_varied:
        reason = "one labeling gives a single label: kappa and MCC are undefined"
    return LabelAgreement(
        n=n,
        n_missing=n_missing,
        accuracy=accuracy,
        kappa=kappa,
        paper_jaccard=accuracy / (2 - accuracy),
        paper_dice=accuracy,
        mcc=mcc,
        jaccard=_ratios(shared, rows + columns - shared),
        dice=_ratios(2 * shared, rows + columns),
        labels=labels,
        table=tuple(tuple(int(value) for value in row) for row in table),
        reason=reason,
    )


def _mcc(shared: float, rows: Floats, columns: Floats, n: int) -> float:
    spread = (n * n - float(rows @ rows)) * (n * n - float(columns @ columns))
    if spread <= 0:
        return math.nan
    return (n * shared - float(rows @ columns)) / math.sqrt(spread)


def _ratios(parts: Counts, wholes: Counts) -> tuple[float, ...]:
    pairs = zip(parts.tolist(), wholes.tolist(), strict=True)
    return tuple(part / whole if whole else math.nan for part, whole in pairs)


def _order(label: Hashable) -> tuple[str, Hashable]:
    return type(label).__name__, label
