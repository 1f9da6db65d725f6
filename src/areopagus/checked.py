"""Readings checked by people: how far the two agree, and the rates that people would have found.

Table `checks` of a job's estimates, by `factor`:

    readings    accuracy, kappa of readings with people; n_items, n_people
    category    by category (`group`): recall, precision, n_people, n_readings
    confusion   items by people's category (`group`) and the reading (`detail`)
    people      agreement, alpha of people with each other, where two labelled an item
    rate        by rate (`detail`), of all and of each respondent or framing: raw, corrected

`criterion` says of which readings, where a job has several. Agreement is over different texts, one
each. A rate is over all readings: a label holds for every reading of its text, and intervals are
over the job's units. Shares are corrected by `corrected_rate`, means of numbers by `ppi_mean`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .aggregation.clustered import cluster_mean
from .aggregation.estimate import Estimate, undefined
from .aggregation.labels import corrected_rate, label_agreement, people_agreement, vote_counts
from .aggregation.prediction_powered import MIN_OTHERS, ppi_mean
from .formats import count, estimate, number, said, share, units, words
from .records.estimates import Estimates, estimate_at, estimates_by, select
from .records.readings import drawn_items
from .reports.document import Column, Document, Paragraph, Part, Section, Table
from .reports.views import Measure, estimates_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from .records.readings import MachineReading, PeopleLabels, Rate, Readings

CHECKS: Final = "checks"
FEWEST_CHECKED: Final = 30
"""Checked texts below which no rate is corrected."""
NOT_CHECKED: Final = "not checked by people"
_DIGITS: Final = 3
_WHOSE: Final = {"respondent": "of", "baseline": "and", "framing": "framing", "group": "group"}
_OF: Final = {"criterion": "reading"}


def check_estimates(
    readings: Sequence[Readings],
    given: PeopleLabels,
    drawn: Sequence[frozenset[str] | None],
    *,
    level: float = 0.95,
) -> Estimates:
    """How far people's labels agree with the readings and each other, and the corrected rates.

    Args:
        readings: of the job; those of which people labelled nothing have no figures.
        given: what people say.
        drawn: of each the items of its sheet: what else was labelled is no random part of the
            readings and plays no part in rates. None: there is no sheet, and no rate is corrected.
        level: of the intervals.
    """
    found = Estimates()
    labels = {"n_unknown": given.n_unknown, "n_repeated": given.n_repeated}
    for one, sheet in zip(readings, drawn, strict=True):
        rows = _Rows.of(one, given, sheet)
        if rows.items:
            keys = {"criterion": one.name}
            found.add_all(CHECKS, labels, factor="readings", **keys)
            labels = {}  # they are of all the files, and said once
            _add_agreement(found, one, rows, sheet, level, keys)
            _add_rates(found, one, rows, sheet, level, keys)
    return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """Readings and what people say of them, in the categories that were read.

    Attributes:
        rows: every reading.
        names: of each, the item.
        said: of each, what people say of its text.
        items: the different texts that people labelled, by the first reading of each.
        n_drawn: the sheet's texts that are among the readings.
    """

    rows: list[MachineReading]
    names: list[str]
    said: list[dict[str, str]]
    items: dict[str, int]
    n_drawn: int

    @classmethod
    def of(cls, readings: Readings, given: PeopleLabels, sheet: frozenset[str] | None) -> _Rows:
        rows = list(readings.rows())
        names = [readings.item_id(row) for row in rows]
        said_of = [
            {who: row.means.get(label, label) for who, label in given.labels.get(name, {}).items()}
            for row, name in zip(rows, names, strict=True)
        ]
        items: dict[str, int] = {}
        for k, name in enumerate(names):
            if said_of[k]:
                items.setdefault(name, k)
        n_drawn = len(items if sheet is None else sheet & set(names))
        return cls(rows, names, said_of, items, n_drawn)


def _add_agreement(
    found: Estimates,
    readings: Readings,
    rows: _Rows,
    drawn: frozenset[str] | None,
    level: float,
    keys: Mapping[str, str],
) -> None:
    items = [(rows.rows[k], rows.said[k]) for k in rows.items.values()]
    said_by = [_as_read(readings, row.label) for row, _ in items]
    names = list(readings.categories) or sorted(
        {*said_by, *(label for _, by in items for label in by.values())}
    )
    place = {name: code for code, name in enumerate(names)}
    at = [(k, place[label]) for k, (_, by) in enumerate(items) for label in by.values()]
    units_of = [row.unit for row, _ in items]
    counts: dict[str, Estimate | float] = {
        "n_items": Estimate(
            len(items), n=len(items), n_planned=rows.n_drawn, unit=readings.item,
            method="items that people labelled, of those drawn", reason="a count",
        ),
        "n_people": len({who for _, by in items for who in by}),
        "n_not_drawn": sum(drawn is not None and name not in drawn for name in rows.items),
    }  # fmt: skip
    if len(names) < 2:
        why = f"people and readings know one category only: {names[0]}"
        counts["accuracy"] = undefined(why, unit=readings.unit, method="share", n=len(items))
        found.add_all(CHECKS, counts, factor="readings", **keys)
        return
    votes = vote_counts([k for k, _ in at], [code for _, code in at], len(items), len(names))
    codes = [place.get(label, -1) for label in said_by]
    agreed = label_agreement(codes, votes, units_of, names, level=level, unit=readings.unit)
    found.add_all(CHECKS, {**counts, **agreed.figures}, factor="readings", **keys)
    if readings.categories:  # of numbers there are too many
        for code, name in enumerate(names):
            figures: dict[str, Estimate | float] = {
                "recall": agreed.recall[name],
                "precision": agreed.precision[name],
                "n_people": float(agreed.table[code].sum()),
                "n_readings": float(agreed.table[:, code].sum()),
            }
            found.add_all(CHECKS, figures, factor="category", group=name, **keys)
            for other, title in enumerate(names):
                n = float(agreed.table[code, other])
                found.add(CHECKS, "n", n, factor="confusion", group=name, detail=title, **keys)
    if (several := votes.sum(axis=1) > 1).any():
        at_units = [unit_of for unit_of, is_one in zip(units_of, several, strict=True) if is_one]
        among = people_agreement(votes[several], at_units, level=level, unit=readings.unit)
        found.add_all(CHECKS, {"n_items": int(several.sum()), **among}, factor="people", **keys)


def _as_read(readings: Readings, label: str) -> str:
    """The label of a reading as `plain_label` has people's, where it is a number."""
    return label if readings.categories else str(readings.category(label))


def _add_rates(
    found: Estimates,
    readings: Readings,
    rows: _Rows,
    drawn: frozenset[str] | None,
    level: float,
    keys: Mapping[str, str],
) -> None:
    groups = list(dict.fromkeys(row.group for row in rows.rows))
    chosen: list[tuple[str, ...]] = [(), *groups] if len(groups) > 1 else [()]
    places: dict[tuple[str, ...], list[int]] = {group: [] for group in chosen}
    for k, row in enumerate(rows.rows):
        if row.weight > 0:
            for group in {(), row.group} & places.keys():
                places[group].append(k)
    for rate in readings.rates:
        for group, mine in places.items():
            whose = {key: value for key, value in zip(readings.by, group, strict=False) if value}
            figures = rate_figures(
                readings, rate, [rows.rows[k] for k in mine],
                # what was not drawn is no random part of the readings
                [rows.said[k] if drawn is None or rows.names[k] in drawn else {} for k in mine],
                [rows.names[k] for k in mine], level=level,
            )  # fmt: skip
            if not figures:
                continue
            checked = {rows.names[k] for k in mine if rows.said[k]}
            n = len(checked if drawn is None else checked & drawn)
            corrected = figures["corrected"]
            if drawn is None:
                why = f"{readings.file} is not in the folder: how they were drawn is not known"
                corrected = undefined(why, unit=readings.unit, method=corrected.method)
            elif n < FEWEST_CHECKED:
                why = f"{count(n)} of its texts were checked: a corrected rate needs "
                why += str(FEWEST_CHECKED)
                corrected = undefined(
                    why, n=corrected.n, unit=readings.unit, method=corrected.method
                )
            told: dict[str, Estimate | float] = {**figures, "corrected": corrected}
            told |= {"n_checked": n, "n_readings": len(mine)}
            found.add_all(CHECKS, told, factor="rate", detail=rate.title, **whose, **keys)


def rate_figures(
    readings: Readings,
    rate: Rate,
    rows: Sequence[MachineReading],
    said_of: Sequence[Mapping[str, str]],
    texts: Sequence[str],
    *,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """A rate as it was read (`raw`) and as people would have it (`corrected`).

    Args:
        readings: what was read, of which kind.
        rate: which.
        rows: the readings.
        said_of: of each reading, what people say, by person; nothing where nobody was asked.
        texts: of each reading, the item: equal for one text.
        level: of the intervals.

    Returns:
        Nothing where it is a mean and a reading, or what a person says, is no number.
    """
    if readings.categories:
        return _share(rows, said_of, texts, rate, readings.unit, level)
    return _mean(rows, said_of, rate, readings.unit, level)


def _share(
    rows: Sequence[MachineReading],
    said_of: Sequence[Mapping[str, str]],
    texts: Sequence[str],
    rate: Rate,
    unit: str,
    level: float,
) -> dict[str, Estimate]:
    """A share of the readings, and of people's."""
    # of a share among some, what it is not among stands apart
    names = [f"not {rate.title}", rate.title, *(["none of them"] if rate.among else [])]

    def code(label: str) -> int:
        return int(label in rate.categories) if not rate.among or label in rate.among else 2

    votes = np.zeros((len(rows), len(names)))
    for k, by in enumerate(said_of):
        for label in by.values():
            votes[k, code(label)] += 1
    weights = np.array([row.weight for row in rows])
    one = corrected_rate(
        [code(row.label) for row in rows], votes, [row.unit for row in rows], 1, names,
        among=(0, 1) if rate.among else None, weights=None if (weights == 1).all() else weights,
        texts=texts, level=level, unit=unit,
    )  # fmt: skip
    return {"raw": one.raw, "corrected": one.corrected}


def _mean(
    rows: Sequence[MachineReading],
    said_of: Sequence[Mapping[str, str]],
    rate: Rate,
    unit: str,
    level: float,
) -> dict[str, Estimate]:
    """The mean of numbers as they were read, and as people read them; nothing of what is none."""
    try:
        f = np.array([float(row.label) for row in rows])
        y = np.array([
            np.mean([float(label) for label in by.values()]) if by else np.nan for by in said_of
        ])  # fmt: skip
    except ValueError:
        return {}
    units_of = np.array([row.unit for row in rows], dtype=object)
    is_checked = np.isfinite(y)

    def plain(values: Any, of: Any) -> Estimate:
        _, place = np.unique(of.astype(str), return_inverse=True)
        return cluster_mean(np.bincount(place, values), np.bincount(place), level=level, unit=unit)

    raw = plain(f, units_of).of("mean of the readings")
    rest = units_of[~is_checked]
    if is_checked.sum() < 2:
        return {"raw": raw, "corrected": undefined("nobody checked a text", unit=unit)}
    if len(set(rest)) < MIN_OTHERS:  # there is nothing to predict
        corrected = plain(y[is_checked], units_of[is_checked]).of("people's own mean")
    else:
        corrected = ppi_mean(
            y[is_checked], f[is_checked], f[~is_checked], groups=units_of[is_checked].tolist(),
            unlabelled_groups=rest.tolist(), level=level,
        ).mean  # fmt: skip
    return {"raw": raw, "corrected": replace(corrected, unit=unit)}


# What is shown of it


def with_checks(
    document: Document,
    estimates: pd.DataFrame,
    readings: Sequence[Readings],
    folder: Path,
    seed: int,
) -> Document:
    """The document of a job with what people say of its readings, or that they were not asked.

    Args:
        document: what is shown of the job.
        estimates: every figure.
        readings: of the job.
        folder: of the job, which may hold sheets.
        seed: by which the sheets were drawn.
    """
    told = "; ".join(_told(estimates, readings, folder, seed))
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
    rates = select(estimates, CHECKS, factor="rate")
    names = [(of, name) for of in _checked(estimates) for name, *_ in _first_rate(estimates, of)]
    at = zip(rates["criterion"], rates["detail"], strict=True)
    is_first = [(of if isinstance(of, str) else None, name) in names for of, name in at]
    first = rates[is_first]
    summary = [part for part in (_rates(first), _agreement(estimates)) if part is not None]
    every = (_agreement(estimates), *_by_category(estimates))
    if len(first) < len(rates):
        every = (_rates(rates), *every)
    detail = [part for part in every if part is not None]
    sections = [
        Section("drawn", "What was checked", list(_coverage(estimates, seed)), "summary"),
        Section("checks", "Rates and agreement", summary, "summary"),
        Section("all-rates", "All figures", detail),
    ]
    return Document(
        title=f"Readings checked by people: {title}",
        kind="checks",
        headline=[one for of in _checked(estimates) for one in _headline(estimates, of)],
        sections=sections,
    )


def _checked(estimates: pd.DataFrame) -> list[str | None]:
    """Of which readings people labelled something."""
    rows = select(estimates, CHECKS, factor="readings")
    return [keys["criterion"] for keys, _ in estimates_by(rows, ["criterion"])]


def _headline(estimates: pd.DataFrame, of: str | None) -> Iterator[str]:
    items, accuracy, people = (
        estimate_at(estimates, CHECKS, name, factor="readings", criterion=of)
        for name in ("n_items", "accuracy", "n_people")
    )
    if items is None or accuracy is None or people is None:
        return
    who = units(int(people.value), "person", "people")
    about = f"{of[:1].upper()}{of[1:]}: " if of else ""
    if accuracy.is_defined:
        reads = "reads" if people.value == 1 else "read"
        yield f"{about}{who} {reads} as the job did in {share(accuracy)} of {_items(items)}."
    else:
        yield f"{about}{who} checked {_items(items)}: {said(accuracy.reason)}."
    for name, raw, corrected in _first_rate(estimates, of):
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


def _items(items: Estimate) -> str:
    """ "200 texts", "120 pairs"."""
    return units(items.n, items.unit)


def _first_rate(
    estimates: pd.DataFrame, of: str | None
) -> Iterator[tuple[str, Estimate, Estimate]]:
    """Name, raw and corrected of the first rate, of all readings; nothing where there is none."""
    whole: dict[str, None] = dict.fromkeys(_WHOSE)
    rates = select(estimates, CHECKS, factor="rate", criterion=of, **whole)
    for keys, figures in list(estimates_by(rates, ["detail"]))[:1]:
        yield str(keys["detail"]), figures["raw"], figures["corrected"]


def _told(
    estimates: pd.DataFrame, readings: Sequence[Readings], folder: Path, seed: int
) -> Iterator[str]:
    """The line of trust."""
    checked = _checked(estimates)
    for of in checked:
        yield from _told_of(estimates, of)
    unchecked = [one for one in readings if (one.name or None) not in checked]
    if not checked and not any((folder / one.file).is_file() for one in unchecked):
        yield NOT_CHECKED
        return
    for sheet in dict.fromkeys(one.sheet for one in unchecked):
        mine = [one for one in unchecked if one.sheet == sheet]
        about = "" if len(readings) == 1 else f"{' and '.join(one.name for one in mine)} "
        drawn = drawn_items(folder, mine[0])
        wait = ""
        if drawn is not None:
            wait = f": {units(len(drawn), mine[0].item)}, drawn at random (seed {seed}), wait in "
            wait += mine[0].file
        yield f"{about}{NOT_CHECKED}{wait}"


def _told_of(estimates: pd.DataFrame, of: str | None) -> Iterator[str]:
    items, people, accuracy = (
        estimate_at(estimates, CHECKS, name, factor="readings", criterion=of)
        for name in ("n_items", "n_people", "accuracy")
    )
    if items is None:
        return
    n = 1 if people is None else int(people.value)
    checked = (
        f"{f'{of} ' if of else ''}checked by {units(n, 'person', 'people')} on {_items(items)}"
    )
    shown = "" if accuracy is None or not accuracy.is_defined else estimate(accuracy, _DIGITS)
    yield f"{checked}: accuracy {shown}" if shown else checked
    for name, raw, corrected in _first_rate(estimates, of):
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


def _by_category(estimates: pd.DataFrame) -> Iterator[Table | None]:
    for of in _checked(estimates):
        yield _categories(estimates, of)
        yield _confusion(estimates, of)


def _coverage(estimates: pd.DataFrame, seed: int) -> Iterator[Part]:
    for of in _checked(estimates):
        items = estimate_at(estimates, CHECKS, "n_items", factor="readings", criterion=of)
        if items is None:
            continue
        planned = items.n if items.n_planned is None else items.n_planned
        told = f"{of[:1].upper()}{of[1:]}: " if of else ""
        told += (
            f"{items.n:,} of {units(planned, items.unit)} drawn at random (seed {seed}) were "
            "labelled, by people who saw no reading."
        )
        if items.n < planned:
            told += " The rest must be missing by chance for the corrected rates to hold."
        for measure, what in (
            ("n_unknown", "of texts that were not read here, and left out"),
            ("n_repeated", "given twice by one person, and counted once"),
            ("n_not_drawn", "of texts outside the sheet: they count for agreement, not for rates"),
        ):
            n = estimate_at(estimates, CHECKS, measure, factor="readings", criterion=of)
            if n is not None and n.value:
                told += f" {units(int(n.value), 'label')} {what}."
        yield Paragraph(told)


def _rates(estimates: pd.DataFrame) -> Table | None:
    rows = select(estimates, CHECKS, factor="rate")
    heads = {**_OF, "detail": "rate", **_WHOSE}
    by = {name: head for name, head in heads.items() if rows[name].notna().any()}
    return estimates_table(
        rows, CHECKS, keys=by,
        measures=[
            Measure("raw", "as read", digits=_DIGITS),
            Measure("corrected", "by people", digits=_DIGITS),
            Measure("n_checked", "checked", field="value", is_count=True),
        ],
        caption="Rates of all readings: as they were read, and as people would have it (shares by "
        "double sampling within each reading, means prediction-powered).",
        label="Corrected rates", named={key: {None: "all"} for key in _WHOSE},
    )  # fmt: skip


def _agreement(estimates: pd.DataFrame) -> Table | None:
    """People with the readings, and with each other."""
    rows: list[list[Any]] = []
    notes: list[str] = []
    several = len(_checked(estimates)) > 1
    for of in _checked(estimates):
        for factor, same, beyond, title in (
            ("readings", "accuracy", "kappa", "readings"),
            ("people", "agreement", "alpha", "each other"),
        ):
            found = [
                estimate_at(estimates, CHECKS, name, factor=factor, criterion=of)
                for name in (same, beyond)
            ]
            n = estimate_at(estimates, CHECKS, "n_items", factor=factor, criterion=of)
            if found[0] is not None:
                about = [of or ""] if several else []
                rows.append([*about, title, *found, None if n is None else n.value])
                notes += [one.reason for one in found if one is not None and one.reason]
    columns = [Column("reading", "id")] if several else []
    columns.append(Column("people with", "id"))
    columns += [Column(name, "estimate", _DIGITS) for name in ("same", "beyond chance")]
    columns.append(Column("items", "count"))
    caption = (
        "Share of items on which both say the same; and beyond chance: Cohen's kappa with the "
        "readings, Krippendorff's alpha among people."
    )
    told = [f"no interval: {said(one)}" for one in dict.fromkeys(notes)]
    return Table(caption, "Agreement", columns, rows, notes=told) if rows else None


def _of(of: str | None) -> str:
    return f" of {of}" if of else ""


def _categories(estimates: pd.DataFrame, of: str | None) -> Table | None:
    def column(name: str, title: str) -> Measure:
        return Measure(name, title, digits=_DIGITS)

    where = {"factor": "category", "criterion": of}
    names = select(estimates, CHECKS, **where)["group"]
    return estimates_table(
        estimates, CHECKS, where=where, keys={"group": "category"},
        measures=[
            column("recall", "found"), column("precision", "right"),
            Measure("n_people", "by people", field="value", digits=1),
            Measure("n_readings", "as read", field="value", is_count=True),
        ],
        caption=f"By category{_of(of)}: the share of people's that was read so (found), and of "
        "those read so that people give too (right).",
        label=f"Categories{_of(of)}", named={"group": {name: words(name) for name in names}},
    )  # fmt: skip


def _confusion(estimates: pd.DataFrame, of: str | None) -> Table | None:
    cells: dict[str, dict[str, float]] = {}
    rows = select(estimates, CHECKS, factor="confusion", criterion=of)
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
    caption = f"Items{_of(of)} by what people say (rows) and what was read (columns)."
    return Table(caption, f"Confusion{_of(of)}", columns, lines)


def without_checks(estimates: pd.DataFrame) -> pd.DataFrame:
    """The figures of a job without those of an earlier check."""
    return estimates[estimates["table"] != CHECKS]
