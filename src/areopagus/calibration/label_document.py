"""What is shown of labels: sections of the document of a calibration, and of an agreement."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ..aggregation.estimate import Estimate
from ..formats import number, said
from ..reports.document import Cell, Chart, Column, Paragraph, Part, Points, Scalar, Table
from . import tables
from .answer import AT_LEAST_HALF_NOTE, Answer, Keys


def labels_in_short(shown: Answer, so: Mapping[str, str]) -> Iterator[Part]:
    """The summary: kappa beside that of one more person, and the rates.

    Args:
        shown: the answer.
        so: verdicts in words.
    """
    found = []
    for keys, figures in shown.groups("labels", "criterion"):
        verdict = shown.label_verdict(keys, figures)
        one, panel, apart = (
            shown.of("label one person", name, criterion=keys["criterion"])
            for name in ("of_one", "of_machine", "difference")
        )
        if panel is None or not panel.is_defined:
            panel = figures["kappa"]
        found.append((shown.label_named(keys), so.get(verdict, verdict), panel, one, apart))
    if not found:
        return
    names, _, of_panel, of_one, _ = zip(*found, strict=True)
    if not any(one.is_defined for one in of_panel):  # a caution says why
        yield from _rates(shown)
        return
    yield _kappas(names, of_one, of_panel)
    yield Table(
        "Kappa with a response's other people: 0 is chance, or always the same label. "
        f"{AT_LEAST_HALF_NOTE}",
        "Labels",
        [Column("criterion", "id"), Column("panel", "number"), Column("person", "number"),
         Column("gap", "estimate", is_signed=True), Column("panel is", "id")],
        [
            [name, panel.value, one.value if one else None, apart, so_it_is]
            for name, so_it_is, panel, one, apart in found
        ],
    )  # fmt: skip
    yield from _rates(shown)


def _rates(shown: Answer) -> Iterator[Part]:
    rows: list[list[Scalar | Cell]] = []
    for keys, _ in shown.groups("labels", "criterion"):
        rates = shown.groups("label rates", "group", criterion=keys["criterion"])
        # of two labels the second says all
        for which, rate in rates[1:] if len(rates) == 2 else rates:
            name = f"{shown.label_named(keys)}: {which['group']}"
            rows.append([name, rate["raw"], rate["corrected"]])
    if rows:
        yield Table(
            "Share of a label over all responses, by the panel and as people would find it.",
            "Rates",
            [Column("label", "id"), Column("by the panel", "estimate"),
             Column("corrected", "estimate")],
            rows,
        )  # fmt: skip


def labels_in_detail(shown: Answer) -> Iterator[Part]:
    """Everything of the panel and people's labels, and where its figures come from."""
    for declared in (
        tables.LABEL_AGREEMENT, tables.LABEL_ONE_PERSON, tables.LABEL_CATEGORIES,
        tables.LABEL_RATES,
    ):  # fmt: skip
        if made := declared.shown(shown.estimates):
            yield made
    for keys, figures in shown.groups("labels", "criterion"):
        if made := _confusion(shown, keys):
            yield made
        if (cut := figures.get("cut")) is not None:
            told = f"{number(cut.value)}: {said(cut.method)}."
            yield Points([(f"Cut on {shown.label_named(keys)}:", told)])
    yield from _chance(shown)


def _chance(shown: Answer) -> Iterator[Part]:
    rates = shown.groups("label rates", "criterion", "group")
    if not rates:
        return
    verdicts = {figures["corrected"].verdict for _, figures in rates if "corrected" in figures}
    if "if random" in verdicts:
        yield Paragraph(
            "It was not said whether the labelled prompts are a random sample of all (--rated "
            "random): the corrected rates hold if they are."
        )


def label_people(shown: Answer) -> Iterator[Part]:
    """How far people's labels agree."""
    if made := tables.LABEL_PEOPLE.shown(shown.estimates):
        yield made


def _confusion(shown: Answer, keys: Keys) -> Table | None:
    found = shown.groups("label confusion", "group", "detail", criterion=keys["criterion"])
    if not found:
        return None
    titles = list(dict.fromkeys(str(key["detail"]) for key, _ in found))
    cells = {(key["group"], key["detail"]): figures["n"].value for key, figures in found}
    rows: list[list[Scalar | Cell]] = [
        [name, *(cells[name, title] for title in titles)]
        for name in dict.fromkeys(key["group"] for key, _ in found)
    ]
    digits = 0 if all(value == round(value) for value in cells.values()) else 1
    return Table(
        f"Responses by people's label (rows) and the panel's, {shown.label_named(keys)}; a "
        "response of several people is divided among their labels.",
        f"Confusion, {shown.label_named(keys)}",
        [Column("people", "id"), *(Column(title, "number", digits) for title in titles)],
        rows,
    )


def _kappas(
    names: Sequence[str], of_one: Sequence[Estimate | None], of_panel: Sequence[Estimate]
) -> Chart:
    columns = {"one more person": of_one, "panel": of_panel}
    value, low, high = (
        [
            [math.nan if one is None else getattr(one, field) for one in row]
            for row in zip(*columns.values(), strict=True)
        ]
        for field in ("value", "low", "high")
    )
    return Chart(
        "forest", "labels", "Panel and people, labels",
        "Cohen's kappa with a response's other people, with intervals over prompts; the dashed "
        "line is chance.",
        rows=list(names), columns=list(columns), values=value, low=low, high=high,
        axis="kappa", reference=0.0, hollow=("one more person",),
    )  # fmt: skip
