"""What raters labelled: one row a label, how far they agree, and what they differ on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..aggregation.agreement import krippendorff_alpha
from ..aggregation.clustered_agreement import clustered_kappa
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import jackknife
from ..aggregation.proportions import wilson
from ..formats import listed
from ..records.estimates import Estimates
from .checks import share_of
from .folder import Packet, StudyFile
from .returned import iso_time
from .store import SavedPage

LABEL_COLUMNS = (
    "rater", "group", "item_id", "prompt_id", "criterion", "kind", "label", "duration_s", "time",
    "comment",
)  # fmt: skip
"""What `agreement` and `calibrate` read, and an audit that takes gold labels of two groups."""

ALIKE_LEAST = 8
"""Labels of one rater that are all one from which this is named."""

_UNIT = "item"


def label_rows(
    study: StudyFile,
    packets: Sequence[Packet],
    saved: Sequence[SavedPage],
    prompt_of: Mapping[tuple[str, int], str],
    rater_of: Mapping[str, str],
    group_of: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """A row for each label that was given."""
    by_page = {(page.rater, page.number): page for page in saved}
    for packet in packets:
        page = by_page.get((packet.rater, packet.number))
        label = None if page is None else page.labels.get(study.criterion)
        if page is None or label is None:
            continue
        item = prompt_of[packet.rater, packet.number]
        yield {
            "rater": rater_of[packet.rater],
            "group": group_of.get(packet.rater, ""),
            "item_id": item,
            "prompt_id": item,
            "criterion": study.criterion,
            "kind": "label",
            "label": label,
            "duration_s": round(page.active_ms / 1000, 1) or "",
            "time": iso_time(page.saved_at),
            "comment": page.comment,
        }


def add_agreement(
    found: Estimates, rows: Sequence[Mapping[str, Any]], n_planned: int, golds: Mapping[str, int]
) -> dict[str, list[str]]:
    """Adds how far raters agree; returns item to its labels, of items on which they differ.

    labels: labels given, of those asked for.
    golds: items that have all their labels, of all.
    same: share of items with two labels or more whose labels are all the same; Wilson's interval.
    alpha: Krippendorff's, nominal, with a jackknife interval over items: who labelled plays no
        part in it, so that raters may differ from item to item.
    kappa: Cohen's, of two groups with one label each an item; interval by jackknife over items.

    Args:
        found: where figures go.
        rows: of `label_rows`.
        n_planned: labels asked for.
        golds: item to how many labels it is to have.
    """
    by_item: dict[str, list[Mapping[str, Any]]] = {item: [] for item in golds}
    for row in rows:
        by_item[row["item_id"]].append(row)
    n_whole = sum(len(by_item[item]) == n for item, n in golds.items())
    found.add("labels", "labels", share_of(len(rows), n_planned, "label"))
    found.add("labels", "golds", share_of(n_whole, len(golds), _UNIT))
    pairs = {item: [str(row["label"]) for row in those] for item, those in by_item.items()}
    shared = {item: labels for item, labels in pairs.items() if len(labels) > 1}
    differing = {item: labels for item, labels in shared.items() if len(set(labels)) > 1}
    if not shared:
        found.add("labels", "alpha", undefined("no item has two labels", unit=_UNIT))
        return {}
    found.add("labels", "same", wilson(len(shared) - len(differing), len(shared), unit=_UNIT))
    found.add("labels", "alpha", _alpha(list(shared.values())))
    found.add("labels", "kappa", _kappa(by_item))
    return differing


def _alpha(items: Sequence[Sequence[str]]) -> Estimate:
    code = {name: k for k, name in enumerate(sorted({one for labels in items for one in labels}))}
    table = np.full((max(map(len, items)), len(items)), math.nan)
    for at, labels in enumerate(items):
        table[: len(labels), at] = [code[one] for one in labels]
    value = krippendorff_alpha(table)
    method = "Krippendorff's alpha, nominal"
    if math.isnan(value):
        return undefined("only one label was used", unit=_UNIT, method=method, n=len(items))
    left_out = np.asarray(
        [krippendorff_alpha(np.delete(table, at, axis=1)) for at in range(len(items))]
    )
    return jackknife(value, left_out, n=len(items), unit=_UNIT, method=method, bounds=(-1.0, 1.0))


def _kappa(by_item: Mapping[str, Sequence[Mapping[str, Any]]]) -> Estimate | None:
    """Of two groups; None where raters have none, or an item has several labels of one."""
    groups = sorted({str(row["group"]) for rows in by_item.values() for row in rows})
    if len(groups) != 2:
        return None
    sides: list[tuple[str, str]] = []
    items: list[str] = []
    for item, rows in by_item.items():
        of = {str(row["group"]): str(row["label"]) for row in rows}
        if len(of) < len(rows):
            return None
        if len(of) == 2:
            sides.append((of[groups[0]], of[groups[1]]))
            items.append(item)
    code = {name: k for k, name in enumerate(sorted({one for pair in sides for one in pair}))}
    if len(code) != 2:
        reason = "only one label was used" if len(code) < 2 else "more than two labels"
        return undefined(reason, unit=_UNIT, n=len(items))
    first, second = (np.asarray([code[pair[k]] for pair in sides]) for k in (0, 1))
    return clustered_kappa(first, second, items, unit=_UNIT)


def label_flags(
    found: Estimates, rater_of: Mapping[str, str], packets: Sequence[Packet],
    rows: Sequence[Mapping[str, Any]], shared: Mapping[str, Sequence[str]],
) -> dict[str, list[str]]:  # fmt: skip
    """Adds each rater's figures and returns what to look at: pages not done, one label only."""
    asked = Counter(packet.rater for packet in packets)
    flags: dict[str, list[str]] = {}
    for code, rater in rater_of.items():
        mine = [row for row in rows if row["rater"] == rater]
        used = Counter(str(row["label"]) for row in mine)
        found.add("raters", "pages", share_of(len(mine), asked[code], "page"), rater=rater)
        told: list[str] = []
        if len(mine) < asked[code]:
            told.append(f"incomplete: {len(mine)} of {asked[code]} pages")
        others = {label for item in {row["item_id"] for row in mine} for label in shared[item]}
        if len(mine) >= ALIKE_LEAST and len(used) == 1 and len(others) > 1:
            told.append(f"one label, {next(iter(used))}, on all {len(mine)} pages")
        if told:
            flags[rater] = told
    return flags


def told_of_differences(differing: Mapping[str, Sequence[str]]) -> str:
    """A sentence that names the items on which golds differ."""
    named = [f"{item} ({', '.join(sorted(labels))})" for item, labels in sorted(differing.items())]
    return f"{len(differing)} items with different labels, to be settled: {listed(named, 5)}"
