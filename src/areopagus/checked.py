"""Readings checked by people: how far the two agree, and the rates that people would have found.

Table `checks` of a job's estimates, by `factor`:

    readings    accuracy, kappa, ac1, majority of readings with people; n_items, n_people
    category    by category (`group`): recall, precision, n_people, n_readings
    confusion   items by people's category (`group`) and the reading (`detail`)
    people      agreement, alpha, kappa, ac1 of people with each other, where two labelled an item
    rate        by rate (`detail`), of all and of each respondent or framing: raw, corrected

Agreement is over different texts, one each. A rate is over all readings: a label holds for every
reading of its text, and intervals are over the job's units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .aggregation.estimate import Estimate, undefined
from .aggregation.labels import corrected_rate, label_agreement, people_agreement, vote_counts
from .formats import count, estimate, number, said, share, units, words
from .records.estimates import Estimates, estimate_at, estimates_by, select
from .records.readings import FOR_PEOPLE_FILE, drawn_items
from .reports.document import Column, Document, Paragraph, Part, Section, Table
from .reports.views import Measure, estimates_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from .records.readings import PeopleLabels, Rate, Readings

CHECKS: Final = "checks"
FEWEST_CHECKED: Final = 30
"""Checked texts below which no rate is corrected."""
NOT_CHECKED: Final = "not checked by people"
_DIGITS: Final = 3
_WHOSE: Final = {"respondent": "of", "framing": "framing"}


def check_estimates(
    readings: Readings,
    given: PeopleLabels,
    drawn: frozenset[str] | None,
    *,
    level: float = 0.95,
) -> Estimates:
    """How far people's labels agree with the readings and each other, and the corrected rates.

    Args:
        readings: of the job.
        given: what people say.
        drawn: the items of the sheet: what else was labelled is no random part of the readings and
            plays no part in rates. None: there is no sheet, and no rate is corrected.
        level: of the intervals.
    """
    found = Estimates()
    _add_agreement(found, readings, given, drawn, level)
    _add_rates(found, readings, given, drawn, level)
    return found


def _add_agreement(
    found: Estimates,
    readings: Readings,
    given: PeopleLabels,
    drawn: frozenset[str] | None,
    level: float,
) -> None:
    rows = {one.item_id: one for one in readings.rows() if one.item_id in given.labels}
    items = [(row, given.labels[name]) for name, row in rows.items()]
    said_by = [str(readings.category(row.label)) for row, _ in items]
    names = list(readings.categories) or sorted(
        {*said_by, *(label for _, by in items for label in by.values())}
    )
    place = {name: code for code, name in enumerate(names)}
    at = [(k, place[label]) for k, (_, by) in enumerate(items) for label in by.values()]
    units_of = [row.unit for row, _ in items]
    counts: dict[str, Estimate | float] = {
        "n_items": Estimate(
            len(items), n=len(items), n_planned=len(drawn) if drawn else len(items), unit="text",
            method="texts that people labelled, of those drawn", reason="a count",
        ),
        "n_people": len(given.raters),
        "n_unknown": given.n_unknown,
        "n_repeated": given.n_repeated,
        "n_not_drawn": sum(drawn is not None and name not in drawn for name in rows),
    }  # fmt: skip
    if len(names) < 2:
        why = f"people and readings know one category only: {names[0]}"
        counts["accuracy"] = undefined(why, unit=readings.unit, method="share", n=len(items))
        found.add_all(CHECKS, counts, factor="readings")
        return
    votes = vote_counts([k for k, _ in at], [code for _, code in at], len(items), len(names))
    codes = [place.get(label, -1) for label in said_by]
    agreed = label_agreement(codes, votes, units_of, names, level=level, unit=readings.unit)
    found.add_all(CHECKS, {**counts, **agreed.figures}, factor="readings")
    if readings.categories:  # of numbers there are too many
        for code, name in enumerate(names):
            figures: dict[str, Estimate | float] = {
                "recall": agreed.recall[name],
                "precision": agreed.precision[name],
                "n_people": float(agreed.table[code].sum()),
                "n_readings": float(agreed.table[:, code].sum()),
            }
            found.add_all(CHECKS, figures, factor="category", group=name)
            for other, title in enumerate(names):
                n = float(agreed.table[code, other])
                found.add(CHECKS, "n", n, factor="confusion", group=name, detail=title)
    if (several := votes.sum(axis=1) > 1).any():
        at_units = [unit_of for unit_of, is_one in zip(units_of, several, strict=True) if is_one]
        among = people_agreement(votes[several], at_units, level=level, unit=readings.unit)
        found.add_all(CHECKS, {"n_items": int(several.sum()), **among}, factor="people")


def _add_rates(
    found: Estimates,
    readings: Readings,
    given: PeopleLabels,
    drawn: frozenset[str] | None,
    level: float,
) -> None:
    if not readings.rates:
        return
    labels: list[str] = []
    unit_of: list[str] = []
    group_of: list[str] = []
    item_of: list[str] = []
    for one in readings.rows():
        labels.append(str(readings.category(one.label)))
        unit_of.append(one.unit)
        group_of.append(one.group)
        item_of.append(one.item_id)
    groups = list(dict.fromkeys(group_of))
    for rate in readings.rates:
        is_in = np.array([label in rate.categories for label in labels], dtype=np.int64)
        votes = np.zeros((len(labels), 2))
        for k, item in enumerate(item_of):
            if drawn is not None and item not in drawn:
                continue
            for label in given.labels.get(item, {}).values():
                votes[k, int(label in rate.categories)] += 1
        for group in ["", *groups] if len(groups) > 1 else [""]:
            mine = np.array([k for k, name in enumerate(group_of) if not group or name == group])
            figures = _rate(
                is_in[mine], votes[mine], [unit_of[k] for k in mine], [item_of[k] for k in mine],
                rate, readings.unit, level,
            )  # fmt: skip
            if drawn is None:
                why = f"{FOR_PEOPLE_FILE} is not in the folder: how they were drawn is not known"
                figures["corrected"] = undefined(why, unit=readings.unit, method="people's share")
            keys = {readings.by: group} if group else {}
            found.add_all(CHECKS, figures, factor="rate", detail=rate.title, **keys)


def _rate(
    is_in: Any,
    votes: Any,
    unit_of: list[str],
    items: list[str],
    rate: Rate,
    unit: str,
    level: float,
) -> dict[str, Estimate | float]:
    names = (f"not {rate.title}", rate.title)
    one = corrected_rate(is_in, votes, unit_of, 1, names, level=level, unit=unit)
    is_checked = votes.sum(axis=1) > 0
    n = len({name for name, checked in zip(items, is_checked, strict=True) if checked})
    corrected = one.corrected
    if n < FEWEST_CHECKED:
        why = f"{count(n)} of its texts were checked: a corrected rate needs {FEWEST_CHECKED}"
        corrected = undefined(why, n=corrected.n, unit=unit, method=corrected.method)
    return {
        "raw": one.raw,
        "corrected": corrected,
        "rogan_gladen": one.rogan_gladen,
        "n_checked": n,
        "n_readings": one.n_items,
    }


# What is shown of it


def with_checks(document: Document, estimates: pd.DataFrame, folder: Path, seed: int) -> Document:
    """The document of a job with what people say of its readings, or that they were not asked.

    Args:
        document: what is shown of the job.
        estimates: every figure.
        folder: of the job, which may hold a sheet.
        seed: by which the sheet was drawn.
    """
    told = "; ".join(_told(estimates, folder, seed))
    trust = [(name, f"{text}; {told}" if name == "readings" else text)
             for name, text in document.trust]  # fmt: skip
    if not any(name == "readings" for name, _ in trust):
        trust.append(("readings", told))
    sections = list(document.sections)
    if parts := list(_parts(estimates, seed)):
        is_appendix = [section.audience == "appendix" for section in sections]
        last = is_appendix.index(True) if any(is_appendix) else len(sections)
        sections.insert(last, Section("checks", "Readings checked by people", parts))
    return replace(document, trust=trust, sections=sections)


def checks_document(estimates: pd.DataFrame, seed: int, title: str) -> Document:
    """What is shown of a check by itself: how far the readings can be trusted, and what they cost.

    Args:
        estimates: every figure of the job.
        seed: by which the sheet was drawn.
        title: what the job is.
    """
    names = [name for name, _, _ in _first_rate(estimates)]
    first = estimates[(estimates["factor"] != "rate") | estimates["detail"].isin(names)]
    summary = [
        part for part in (_rates(first), _agreement(estimates, with_ac1=False)) if part is not None
    ]
    every = (_agreement(estimates), *_by_category(estimates))
    if len(first) < len(estimates):
        every = (_rates(estimates), *every)
    detail = [part for part in every if part is not None]
    sections = [
        Section("drawn", "What was checked", list(_coverage(estimates, seed)), "summary"),
        Section("checks", "Rates and agreement", summary, "summary"),
        Section("all-rates", "All figures", detail),
    ]
    return Document(
        title=f"Readings checked by people: {title}",
        kind="checks",
        headline=list(_headline(estimates)),
        sections=[section for section in sections if section.parts],
    )


def _headline(estimates: pd.DataFrame) -> Iterator[str]:
    items = estimate_at(estimates, CHECKS, "n_items", factor="readings")
    accuracy = estimate_at(estimates, CHECKS, "accuracy", factor="readings")
    people = estimate_at(estimates, CHECKS, "n_people", factor="readings")
    if items is None or accuracy is None or people is None:
        return
    who = units(int(people.value), "person", "people")
    if accuracy.is_defined:
        reads = "reads" if people.value == 1 else "read"
        yield f"{who} {reads} as the job did in {share(accuracy)} of {units(items.n, 'text')}."
    else:
        yield f"{who} checked {units(items.n, 'text')}: {said(accuracy.reason)}."
    for name, raw, corrected in _first_rate(estimates):
        if corrected.is_defined:
            yield (
                f"By their labels the {name} is {estimate(corrected, _DIGITS)}, and not "
                f"{estimate(raw, _DIGITS)} as it was read."
                if corrected.has_interval and not corrected.low <= raw.value <= corrected.high
                else f"By their labels the {name} is {estimate(corrected, _DIGITS)}; as it was "
                f"read, {estimate(raw, _DIGITS)}."
            )
        else:
            yield f"The {name} of {estimate(raw, _DIGITS)} is not corrected: {corrected.reason}."


def _first_rate(estimates: pd.DataFrame) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Name, raw and corrected of the first rate, of all readings; nothing where there is none."""
    rates = select(estimates, CHECKS, factor="rate", respondent=None, framing=None)
    for keys, figures in list(estimates_by(rates, ["detail"]))[:1]:
        yield str(keys["detail"]), figures["raw"], figures["corrected"]


def _told(estimates: pd.DataFrame, folder: Path, seed: int) -> Iterator[str]:
    """The line of trust."""
    items = estimate_at(estimates, CHECKS, "n_items", factor="readings")
    if items is None:
        drawn = drawn_items(folder)
        if drawn is None:
            yield NOT_CHECKED
        else:
            yield (
                f"{NOT_CHECKED}: {units(len(drawn), 'text')}, drawn at random (seed {seed}), wait "
                f"in {FOR_PEOPLE_FILE}"
            )
        return
    people = estimate_at(estimates, CHECKS, "n_people", factor="readings")
    accuracy = estimate_at(estimates, CHECKS, "accuracy", factor="readings")
    n = 1 if people is None else int(people.value)
    checked = f"checked by {units(n, 'person', 'people')} on {units(items.n, 'text')}"
    shown = "" if accuracy is None or not accuracy.is_defined else estimate(accuracy, _DIGITS)
    yield f"{checked}: accuracy {shown}" if shown else checked
    for name, raw, corrected in _first_rate(estimates):
        if corrected.is_defined:
            yield f"{name} {number(raw.value, _DIGITS)} → {estimate(corrected, _DIGITS)}"
        else:
            yield f"{name} not corrected: {said(corrected.reason)}"


def _parts(estimates: pd.DataFrame, seed: int) -> Iterator[Part]:
    """The tables of the section; none where nothing was checked."""
    rows = select(estimates, CHECKS)
    if not len(rows):
        return
    yield from _coverage(estimates, seed)
    tables = (_rates(estimates), _agreement(estimates), *_by_category(estimates))
    yield from (table for table in tables if table is not None)


def _by_category(estimates: pd.DataFrame) -> tuple[Table | None, ...]:
    return _categories(estimates), _confusion(estimates)


def _coverage(estimates: pd.DataFrame, seed: int) -> Iterator[Part]:
    items = estimate_at(estimates, CHECKS, "n_items", factor="readings")
    if items is None:
        return
    planned = items.n if items.n_planned is None else items.n_planned
    told = (
        f"{items.n:,} of {planned:,} texts drawn at random (seed {seed}) were labelled, by people "
        "who saw no reading."
    )
    if items.n < planned:
        told += " The rest must be missing by chance for the corrected rates to hold."
    for measure, what in (
        ("n_unknown", "of texts that were not read here, and left out"),
        ("n_repeated", "given twice by one person, and counted once"),
        ("n_not_drawn", "of texts outside the sheet: they count for agreement, not for rates"),
    ):
        n = estimate_at(estimates, CHECKS, measure, factor="readings")
        if n is not None and n.value:
            told += f" {units(int(n.value), 'label')} {what}."
    yield Paragraph(told)


def _rates(estimates: pd.DataFrame) -> Table | None:
    rows = select(estimates, CHECKS, factor="rate")
    by = {name: head for name, head in _WHOSE.items() if rows[name].notna().any()}
    return estimates_table(
        rows, CHECKS, keys={"detail": "rate", **by},
        measures=[
            Measure("raw", "as read", digits=_DIGITS),
            Measure("corrected", "by people", digits=_DIGITS),
            Measure("n_checked", "texts checked", field="value", is_count=True),
        ],
        caption="Rates of all readings: as they were read, and as people would have it (double "
        "sampling within each reading).",
        label="Corrected rates", named={key: {None: "all"} for key in _WHOSE},
    )  # fmt: skip


def _agreement(estimates: pd.DataFrame, *, with_ac1: bool = True) -> Table | None:
    """People with the readings, and with each other."""
    rows: list[list[Any]] = []
    notes: list[str] = []
    for factor, same, title in (("readings", "accuracy", "readings"),
                                ("people", "agreement", "each other")):  # fmt: skip
        found = [
            estimate_at(estimates, CHECKS, name, factor=factor)
            for name in (same, "kappa", *(["ac1"] * with_ac1))
        ]
        n = estimate_at(estimates, CHECKS, "n_items", factor=factor)
        if found[0] is not None:
            rows.append([title, *found, None if n is None else n.value])
            notes += [one.reason for one in found if one is not None and one.reason]
    columns = [Column("people with", "id")]
    columns += [
        Column(name, "estimate", _DIGITS) for name in ("same", "kappa", *(["AC1"] * with_ac1))
    ]
    columns.append(Column("texts", "count"))
    caption = (
        "Share of texts on which both say the same; kappa, Cohen's with the readings and Fleiss' "
        "among people"
    )
    caption += "; Gwet's AC1, which stays high where one category prevails." if with_ac1 else "."
    told = [f"no interval: {said(one)}" for one in dict.fromkeys(notes)]
    return Table(caption, "Agreement", columns, rows, notes=told) if rows else None


def _categories(estimates: pd.DataFrame) -> Table | None:
    def column(name: str, title: str) -> Measure:
        return Measure(name, title, digits=_DIGITS)

    names = select(estimates, CHECKS, factor="category")["group"]
    return estimates_table(
        estimates, CHECKS, where={"factor": "category"}, keys={"group": "category"},
        measures=[
            column("recall", "found"), column("precision", "right"),
            Measure("n_people", "by people", field="value", digits=1),
            Measure("n_readings", "as read", field="value", is_count=True),
        ],
        caption="By category: the share of people's that was read so (found), and of those read "
        "so that people give too (right).",
        label="Categories", named={"group": {name: words(name) for name in names}},
    )  # fmt: skip


def _confusion(estimates: pd.DataFrame) -> Table | None:
    cells: dict[str, dict[str, float]] = {}
    rows = select(estimates, CHECKS, factor="confusion")
    for row in rows.to_dict("records"):
        cells.setdefault(str(row["group"]), {})[str(row["detail"])] = float(row["value"])
    used = [
        name for name in cells
        if any(cells[name].values()) or any(one.get(name) for one in cells.values())
    ]  # fmt: skip
    if not used:
        return None
    columns = [Column("people", "id"), *(Column(words(name), "number", digits=1) for name in used)]
    lines: list[Any] = [[words(name), *(cells[name][other] for other in used)] for name in used]
    caption = "Texts by what people say (rows) and what was read (columns)."
    return Table(caption, "Confusion", columns, lines)


def without_checks(estimates: pd.DataFrame) -> pd.DataFrame:
    """The figures of a job without those of an earlier check."""
    return estimates[estimates["table"] != CHECKS]
