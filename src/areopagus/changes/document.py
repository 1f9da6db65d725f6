"""What is shown of two runs before and after, made of run.json and the estimates alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..audits.headline import capital, sentence, turned
from ..formats import estimate, listed_all, number, plain, said, units, words
from ..records.estimates import KEYS, estimates_of
from ..reports.comparison import is_decided, of_family
from ..reports.document import (
    Cell,
    Chart,
    Column,
    Document,
    Paragraph,
    Part,
    Points,
    Scalar,
    Section,
    Table,
)
from .figures import ANSWER, WHEN

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMED: Final = 4
MOST_ROWS: Final = 8
"""Rows of the summary's table and drawing; the details hold all."""
MOST_SETTINGS: Final = 30
FEW_SETTINGS: Final = 3
"""Settings that are named where the answer stands."""
STORED: Final = (
    "Nothing was asked anew: both runs read one ledger, and the replies of one are those of the "
    "other. Run the later one again with a ledger of its own (--ledger FILE)."
)
_LONG: Final = 80
_SHORT: Final = 50
_ROUNDING: Final = 1e-9


@dataclass(frozen=True)
class Shown:
    """One figure as it is shown."""

    of: Mapping[str, Any]
    before: Estimate
    after: Estimate
    change: Estimate

    @property
    def label(self) -> str:
        """What it is called."""
        return str(self.of["label"])

    @property
    def short(self) -> str:
        """Whose it is, of several alike."""
        return str(self.of["short"])

    @property
    def is_changed(self) -> bool:
        """Whether a change is shown."""
        return is_decided(self.change)

    def ends(self) -> str:
        """ "from 14.2 to 8.1"."""
        both = (number(one.value, self.of["digits"]) for one in (self.before, self.after))
        return "from {} to {}".format(*both)

    @property
    def points(self) -> str:
        """ " points" where it is in points and its name does not say so."""
        is_told = "points" in self.label
        return " points" if self.of.get("in_points") and not is_told else ""

    def size(self, *, fell: bool) -> str:
        """The change with the limits that decide, as a size."""
        shown = of_family(self.change)
        return f"{estimate(turned(shown) if fell else shown, self.of['digits'])}{self.points}"

    def way(self) -> tuple[str, bool]:
        """What it did in words, and whether its value fell."""
        fell = self.change.value < 0
        null = self.of["null"]
        if null is None:
            return ("fell" if fell else "rose"), fell
        before, after = self.before.value - null, self.after.value - null
        name = self.of["null_name"]
        crossed = before * after < 0 and not (self.before.covers(null) or self.after.covers(null))
        if crossed:
            return f"to the other side of {name}", fell
        return f"{'nearer to' if abs(after) < abs(before) else 'further from'} {name}", fell


def shown_figures(record: Mapping[str, Any], estimates: pd.DataFrame) -> list[Shown]:
    """The figures of a comparison, in order."""
    names = [name for name in KEYS if name != "when"]
    by_place: dict[tuple[Any, ...], dict[str, Any]] = {}
    at = estimates[["table", "measure", *names, "when"]].to_numpy(dtype=object).tolist()
    for (*place, when), row in zip(at, estimates_of(estimates), strict=True):
        by_place.setdefault(tuple(place), {})[when] = row
    places = [
        (of["table"], of["measure"], *(of["keys"].get(name) or None for name in names))
        for of in record["figures"]
    ]
    return [
        Shown(of, *(by_place[place][when] for when in WHEN))
        for of, place in zip(record["figures"], places, strict=True)
    ]


def change_document(record: Mapping[str, Any], estimates: pd.DataFrame) -> Document:
    """What is shown: the answer, why it can be trusted, the changes, and what was compared."""
    figures = shown_figures(record, estimates)
    answer = [one for one in figures if one.of["family"] == ANSWER]
    details: dict[str, list[Shown]] = {}
    for one in figures:
        if one.of["family"] != ANSWER:
            details.setdefault(one.of["section"], []).append(one)
    sections = [
        Section("changes", "What has changed", list(_summary(answer)), "summary"),
        Section("all-changes", "Every figure of the answer", list(_tables(answer))),
        *(
            Section(f"details-{k}", capital(heading), list(_tables(mine)))
            for k, (heading, mine) in enumerate(details.items())
        ),
        Section("not-compared", "What is not compared", list(_untested(record))),
        Section("runs", "The two runs", list(_runs(record))),
        Section("meaning", "What these figures mean and do not mean", [_meaning(record)]),
    ]
    return Document(
        title=record["title"],
        kind="comparison",
        headline=list(
            _headline(answer, [one for mine in details.values() for one in mine], record)
        ),
        trust=[
            *((a, b) for a, b in record["trust"]),
            ("settings", settings(record)),
            ("decided", _decides(answer, figures)),
        ],
        notices=[sentence(one) for one in record["notices"]],
        sections=sections,
        is_demonstration=bool(record["demonstration"]),
        demonstration="An embedded stand-in took part, which is no language model.",
    )


# The answer


def _headline(
    answer: Sequence[Shown], details: Sequence[Shown], record: Mapping[str, Any]
) -> Iterator[str]:
    """What changed, the largest first within each way; then what is not shown to have."""
    if record.get("is_stored"):
        yield STORED  # alike to the last digit, which says nothing of the model
        return
    ways: dict[tuple[str, str], list[Shown]] = {}
    changed = [one for one in answer if one.is_changed]
    for one in sorted(changed, key=_weight, reverse=True):
        ways.setdefault((one.of["what"], one.way()[0]), []).append(one)
    for (what, way), mine in ways.items():
        is_plain = way in ("fell", "rose")
        by_size: dict[str, list[str]] = {}  # what changed alike, to the last digit, is said once
        for one in mine:
            size = f"by {one.size(fell=one.way()[1])}, {one.ends()}"
            by_size.setdefault(size, []).append(one.label if is_plain and not what else one.short)
        told = [
            f"{_listed(names)} {f'{way} ' if is_plain and not what else ''}{size}"
            for size, names in list(by_size.items())[:MOST_NAMED]
        ]
        left = sum(map(len, list(by_size.values())[MOST_NAMED:]))
        more = f"; and {left} more" if left else ""
        head = way if is_plain else f"{way} after"
        if what:
            head = f"{what}{'' if is_plain else ','} {head}"
        yield sentence(f"{'' if is_plain and not what else f'{head}: '}{'; '.join(told)}{more}")
    by_verdict: dict[str | None, list[Shown]] = {}
    for one in answer:
        by_verdict.setdefault(one.change.verdict, []).append(one)
    if open_ := by_verdict.get("open", []):
        head = "open" if changed else "no figure of the answer is shown to have changed"
        yield sentence(f"{head}: {_named(open_)}")
        one = max(open_, key=_weight)
        if not changed:
            needed = one.change.needed
            more = f"; about {units(needed, one.change.unit)} would tell" if needed else ""
            change = estimate(of_family(one.change), one.of["digits"], is_signed=True)
            yield sentence(
                f"The largest change is that of {one.label}: {change}{one.points}, "
                f"{one.ends()}{more}"
            )
    alike = by_verdict.get("alike", [])
    if same := [one for one in alike if one.change.value == 0 and not one.change.has_interval]:
        yield sentence(f"the same on every {same[0].change.unit}: {_named(same)}")
    if alike := [one for one in alike if one not in same]:
        within = f" within ±{record['margin']:g}" if record["margin"] else ""
        yield sentence(f"Alike{within}: {_named(alike)}")
    small = by_verdict.get("undefined", [])
    for reason in dict.fromkeys(said(one.change.reason) for one in small):
        mine = [one for one in small if said(one.change.reason) == reason]
        yield sentence(f"Whether it changed cannot be told for {_named(mine)}: {reason}")
    if not answer:
        reasons = dict.fromkeys(reason for _, reason in record["untested"])
        why = next(iter(reasons), "the two runs have no figure of it in common")
        yield sentence(f"Nothing can be told of the answer: {said(why)}")
    elsewhere = [one for one in details if one.is_changed]
    if elsewhere and not changed:
        yield sentence(
            f"In the details {len(elsewhere)} of {units(sum(map(_is_tested, details)), 'change')} "
            f"{'is' if len(elsewhere) == 1 else 'are'} shown: {_named(elsewhere)}"
        )


def settings(record: Mapping[str, Any]) -> str:
    """In which settings the runs differ: their names where they are few, else how many."""
    differ = record["differs"]
    # A model moves to another address and stays the same: named where nothing else differs.
    differ = [one for one in differ if not one[0].endswith(".api_base")] or differ
    if not differ:
        return "the same in both"
    if len(differ) > FEW_SETTINGS:
        return f"{len(differ)} differ: see “The two runs” in the details"
    return "; ".join(_setting(*one) for one in differ)


def _setting(name: str, old: str | None, new: str | None) -> str:
    told = [plain(one) for one in (old, new)]
    if name.endswith("_sha256"):
        return f"other {words(name.removesuffix('_sha256'))}"
    if None in (old, new) and max(map(len, told)) > _SHORT:
        return f"{name} {'after' if old is None else 'before'} alone"
    if any(len(one) > _SHORT for one in told):
        return f"{name} differs"
    return f"{name}: {told[0]} before, {told[1]} after"


def _weight(one: Shown) -> float:
    """How far a change is from nothing, in its own errors: figures have different scales."""
    change = one.change
    if not change.value:
        return 0.0
    if not change.has_interval:  # all units alike, or no limits can be had
        return math.inf if change.se <= _ROUNDING else 0.0
    width = change.high - change.low
    return abs(change.value) / width if width > 0 else math.inf


def _listed(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMED + 1:
        return listed_all(names)
    return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED} more"


def _named(figures: Sequence[Shown]) -> str:
    """What they are called, those alike together: "bias of A, B and 3 more"."""
    by_what: dict[str, list[str]] = {}
    for one in figures:
        by_what.setdefault(one.of["what"], []).append(one.of["short"])
    parts = []
    for what, names in by_what.items():
        told = _listed(names)
        parts.append(f"{what} ({told})" if what else told)
    is_nested = len(parts) > 1 and any(" and " in part for part in parts)
    return "; ".join(parts) if is_nested else listed_all(parts)


def _is_tested(one: Shown) -> bool:
    return one.change.verdict not in (None, "undefined")


def _decides(answer: Sequence[Shown], figures: Sequence[Shown]) -> str:
    tested = [one for one in answer if _is_tested(one)]
    n = max((one.change.n for one in tested), default=0)
    unit = next((one.change.unit for one in answer if one.change.n == n), "unit")
    planned = max((one.change.n_planned or 0 for one in answer), default=0)
    of = f" of {planned:,} planned" if planned > n else ""
    n_more = sum(map(_is_tested, figures)) - len(tested)
    if not tested:
        more = f"; {n_more:,} in the details" if n_more else ""
        return f"no change of the answer is decided{more}"
    more = f"; {n_more:,} more in the details" if n_more else ""
    what = units(len(tested), "change")
    return f"{what} decided over {units(n, unit)}{of}, by intervals that hold jointly{more}"


# Tables and the drawing


def _summary(answer: Sequence[Shown]) -> Iterator[Part]:
    known = [one for one in answer if one.change.is_defined]
    if not known:
        return
    ranked = sorted(known, key=_weight, reverse=True)
    # Figures of one kind, the most that there are, upon one axis.
    kinds = Counter((str(one.of["what"]), int(one.of["digits"])) for one in known)
    (what, digits), _ = kinds.most_common(1)[0]
    drawn = [
        one for one in ranked
        if (one.of["what"], one.of["digits"]) == (what, digits) and one.change.has_interval
    ][:MOST_ROWS]  # fmt: skip
    if drawn:
        yield Chart(
            "forest", "changes", f"Changes of {what}" if what else "Changes",
            "After less before, the surest first, with 95% intervals; 0 is no change.",
            rows=[one.of["short"] for one in drawn],
            values=np.array([[one.change.value] for one in drawn]),
            low=np.array([[of_family(one.change).low] for one in drawn]),
            high=np.array([[of_family(one.change).high] for one in drawn]),
            axis=f"change, {what}" if what else "change", reference=0.0, digits=digits,
        )  # fmt: skip
    yield from _tables(ranked[:MOST_ROWS], n_all=len(ranked), is_short=True)


def _tables(figures: Sequence[Shown], *, n_all: int = 0, is_short: bool = False) -> Iterator[Part]:
    """One table for each thing that figures are of."""
    by_what: dict[tuple[str, int], list[Shown]] = {}
    for one in figures:
        by_what.setdefault((one.of["what"], int(one.of["digits"])), []).append(one)
    for (what, digits), mine in by_what.items():
        reasons = dict.fromkeys(said(one.change.reason) for one in mine if one.change.reason)
        families = {one.change.family for one in mine if one.change.family}
        family = "each family" if len(families) > 1 else next(iter(families), "")
        of = f", the surest {len(figures)} of {n_all}" if n_all > len(figures) else ""
        whole = Column("before", "estimate", digits), Column("after", "estimate", digits)
        columns = [
            Column("figure", "id"), *(replace(c, kind="number") if is_short else c for c in whole),
            Column("change", "estimate", digits, is_signed=True),
            *([] if is_short else [Column("units"), Column("verdict"), Column("needed", "count")]),
        ]  # fmt: skip
        jointly = f" Intervals of changes hold jointly for {family}." if family else ""
        has_value = any(e.is_defined for one in mine for e in (one.before, one.after, one.change))
        head = (
            f"{capital(f'{what} before') if what else 'Before'}, after, and the change on what "
            f"both have{of}"
        )
        yield Table(
            f"{head if has_value else 'Without a value in both runs'}.{jointly}", "Changes",
            columns, [_row(one, what, is_short=is_short) for one in mine],
            notes=[one for one in reasons if one],
        )  # fmt: skip


def _row(one: Shown, what: str, *, is_short: bool) -> list[Scalar | Cell]:
    change = one.change
    ends: list[Scalar | Cell] = [Cell(one.before), Cell(one.after)]
    if is_short:
        ends = [one.before.value, one.after.value]
    row = [
        one.of["short"] if what else one.label,
        *ends,
        Cell(of_family(change), is_bold=one.is_changed),
    ]
    if not is_short:
        planned = change.n if change.n_planned is None else change.n_planned
        row += [f"{change.n:,} of {planned:,}", change.verdict or "", change.needed]
    return row


def _untested(record: Mapping[str, Any]) -> Iterator[Part]:
    given = [(f"{capital(name)}:", f"{said(reason)}.") for name, reason in record["untested"]]
    if given:
        yield Points(given)
    if record["of"] == "audit":
        yield Paragraph(
            "Counts, test statistics and bounds of unread answers are those of each run; its own "
            "report has them.",
            "quiet",
        )


def _runs(record: Mapping[str, Any]) -> Iterator[Part]:
    rows: list[list[Scalar | Cell]] = [
        [when, one["name"], ", ".join(_respondents(one)), one["state"], one["version"]]
        for when, one in zip(("before", "after"), record["runs"], strict=True)
    ]
    yield Table(
        "What is held against what.", "Runs",
        [Column("", "id"), Column("run", "id"), Column("models or judges", "wide"),
         Column("state"), Column("made with")],
        rows,
    )  # fmt: skip
    differ = record["differs"]
    if not differ:
        yield Paragraph("Their settings are the same.")
        return
    yield Table(
        f"What differs in the settings of the two runs{_left(differ)}.", "Settings that differ",
        [Column("setting", "id"), Column("before", "wide"), Column("after", "wide")],
        [[name, _shortened(old), _shortened(new)] for name, old, new in differ[:MOST_SETTINGS]],
    )  # fmt: skip


def _respondents(run: Mapping[str, Any]) -> Iterator[str]:
    """Their names, with the model behind each that is called otherwise."""
    for name in run["respondents"]:
        model = run.get("models", {}).get(name, name)
        yield name if model == name else f"{name} ({model})"


def _left(rows: Sequence[Any]) -> str:
    return f", the first {MOST_SETTINGS} of {len(rows)}" if len(rows) > MOST_SETTINGS else ""


def _shortened(value: Any) -> str:
    text = "–" if value is None else str(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _meaning(record: Mapping[str, Any]) -> Points:
    margin = (
        f"Alike: its interval lies within ±{record['margin']:g}."
        if record["margin"] else
        "Nothing is said to be alike: that needs a margin (--margin), fixed before looking."
    )  # fmt: skip
    causes = (
        "What differs between the runs besides the change that you mean is listed above; two runs "
        "cannot tell causes apart."
    )
    return Points(
        [
            ("Pairs.", "A figure before and after rests on the same items, letter for letter."),
            (
                "Intervals decide.",
                (
                    "Those of changes hold for all of one family at once. Higher or lower: 0 is "
                    f"left out. Open is not the same as unchanged. {margin}"
                ),
            ),
            ("Cause.", causes),
        ]
    )
