"""What models have read, for people to check: readings of a job, the sheet drawn, labels returned.

A job in which models, or rules before them, put texts into categories says so as `Readings`. The
rest is the same for all of them:

    for_people.csv      N different texts, drawn by the seed, for people to label; see `draw_sheet`
    for_study.csv       the same texts as items of a labelling study: prompt_id, prompt_text,
                        question, categories ("NAME=TEXT | NAME=TEXT")
    people_labels.csv   what came back, as it came: item_id, rater_id, label

A job that asks people more than one question has such a sheet for each, the further ones called by
what they are of: for_people_pairs.csv, for_study_pairs.csv.
"""

from __future__ import annotations

import csv
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from ..errors import InputError, InputFault
from ..formats import listed
from .humans.missing import WORDS
from .readers.dispatch import open_table
from .run_folder import csv_table
from .spreadsheets import writable

LABELS_FILE: Final = "people_labels.csv"

_ITEM: Final = ("item_id", "response_id")
_LABEL: Final = ("label", "category", "value")
_RATER: Final = ("rater_id", "rater")
_SHOWN: Final = 20
_BETWEEN: Final = " | "
_STUDY_COLUMNS: Final = ("prompt_id", "prompt_text", "question", "categories")


@dataclass(frozen=True, slots=True)
class MachineReading:
    """One text and what was read in it.

    Attributes:
        texts: what its reader saw, in the order of `Readings.shown`.
        label: the category.
        unit: what readings have in common that are no independent draws: the prompt, the case.
        group: values of the keys of `Readings.by`, such as the model whose answer it is.
        weight: how much it weighs in rates.
        means: what a person's choice among `Readings.offered` says of this text: where the altered
            answer stands first, "A" means raised.
    """

    texts: tuple[str, ...]
    label: str
    unit: str
    group: tuple[str, ...] = ()
    weight: float = 1.0
    means: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rate:
    """A share that the job prints of its readings; of numbers, their mean.

    Attributes:
        title: what it is called.
        categories: the share is of these; of numbers, none.
        among: the share is among readings of these categories; all readings where there are none.
    """

    title: str
    categories: frozenset[str] = frozenset()
    among: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Readings:
    """What a job has read.

    Attributes:
        question: what people are asked about a text.
        categories: label to what it means ("" where it says so itself); none: a number is read.
        shown: names of the columns with the texts.
        unit: what `MachineReading.unit` is called: "prompt".
        by: the keys of estimates that `MachineReading.group` has values of.
        rates: the shares that the job prints of these readings.
        rows: every reading that came to a category, one by one; may be called again.
        name: what tells it from others of the job in reports; "" where there is one alone.
        sheet: of the further sheets of a job the one that it is on; readings of one sheet ask the
            same question of the same texts.
        item: what one is called: "text", "pair".
        offered: what people choose among, where that is not `categories`; see
            `MachineReading.means`.
    """

    question: str
    categories: Mapping[str, str]
    shown: tuple[str, ...]
    unit: str
    by: tuple[Literal["respondent", "baseline", "framing", "group"], ...]
    rates: tuple[Rate, ...]
    rows: Callable[[], Iterator[MachineReading]]
    name: str = ""
    sheet: str = ""
    item: str = "text"
    offered: Mapping[str, str] = field(default_factory=dict)

    @property
    def choices(self) -> Mapping[str, str]:
        """What people choose among; nothing where they give a number."""
        return self.offered or self.categories

    @property
    def file(self) -> str:
        """Of the sheet."""
        return sheet_file("for_people", self.sheet)

    def item_id(self, one: MachineReading) -> str:
        """The same for the same texts, and not to be taken for a number by a spreadsheet.

        The same texts have another on another sheet, where something else is asked of them.
        """
        shown = "\x1f".join((*one.texts, *filter(None, [self.sheet])))
        return f"r{sha256(shown.encode('utf-8', 'surrogatepass')).hexdigest()[:14]}"

    def category(self, text: object) -> str | None:
        """The choice that a cell names, capitals aside; None if it is none of them."""
        plain = plain_label(text)
        if not self.choices:
            return None if plain in WORDS else plain or None
        return next((name for name in self.choices if plain_label(name) == plain), None)


@dataclass(frozen=True, slots=True)
class PeopleLabels:
    """What people say, one label a person and item.

    Attributes:
        labels: item to rater to label.
        n_unknown: labels of items that are not among the readings, which are left out.
        n_repeated: labels that say once more what the same person said, which count once.
        cells: item, rater and label of every filled cell, as they came.
    """

    labels: Mapping[str, Mapping[str, str]]
    n_unknown: int = 0
    n_repeated: int = 0
    cells: Sequence[tuple[str, str, str]] = ()

    @property
    def raters(self) -> tuple[str, ...]:
        """Who labelled, by name."""
        return tuple(sorted({name for given in self.labels.values() for name in given}))


def sheet_file(name: str, sheet: str, more: str = "") -> str:
    """The file of a sheet: for_people.csv of the first, for_people_pairs.csv of another."""
    return f"{'_'.join(filter(None, (name, sheet, more)))}.csv"


def draw_sheets(folder: Path, readings: Sequence[Readings], n: int, seed: int) -> list[Path]:
    """Draws so many different texts a sheet, writes them for people to label, returns the sheets.

    A simple random sample of the different texts: they are put into an order by a hash of text and
    seed, and the first are taken, so that a larger sheet holds the smaller. Neither what was read
    in them nor whose they are stands in the sheet. Labels that stand in the folder's sheet already
    are carried over; where they are of texts that are not drawn any more it is kept beside.

    Raises:
        StoreError: the folder cannot be written.
    """
    by_sheet: dict[str, list[Readings]] = {}
    for one in readings:
        by_sheet.setdefault(one.sheet, []).append(one)
    return [_draw_sheet(folder, mine, n, seed) for mine in by_sheet.values()]


def _draw_sheet(folder: Path, readings: Sequence[Readings], n: int, seed: int) -> Path:
    first = readings[0]

    def keyed() -> Iterator[tuple[str, str, tuple[str, ...]]]:
        seen: set[str] = set()
        for row in (row for one in readings for row in one.rows()):
            name = first.item_id(row)
            if name not in seen:
                seen.add(name)
                yield sha256(f"{seed}|{name}".encode()).hexdigest(), name, row.texts

    path = folder / first.file
    chosen = heapq.nsmallest(n, keyed())
    filled = _filled_in(path)
    if not filled.keys() <= {name for _, name, _ in chosen}:
        path.replace(folder / sheet_file("for_people", first.sheet, "before"))
    named, allowed = (
        _BETWEEN.join(
            f"{name}{sign}{meaning}" if meaning else name for name, meaning in first.choices.items()
        )
        for sign in ("=", ": ")
    )
    header = ["item_id", *first.shown, "question", "categories", "label"]
    heads = [name.removesuffix("_text").replace("_", " ").upper() for name in first.shown]
    with (
        csv_table(path, header) as writer,
        csv_table(folder / sheet_file("for_study", first.sheet), _STUDY_COLUMNS) as study,
    ):
        for _, name, texts in chosen:
            asked = (first.question, allowed or "a number", filled.get(name, ""))
            writer.write([name, *map(writable, texts), *map(writable, asked)])
            whole = "\n\n".join(map("{}:\n{}".format, heads, texts))
            study.write([name, *map(writable, (whole, first.question, named))])
    return path


def in_drawn_order(one: str, other: str) -> tuple[str, str]:
    """Two texts in an order drawn by a hash of both, whichever is given first."""
    first, second = sorted((one, other))
    drawn = sha256(f"{first}\x1f{second}".encode("utf-8", "surrogatepass")).digest()[0]
    return (second, first) if drawn % 2 else (first, second)


def split_categories(cell: str) -> tuple[str, ...]:
    """The categories of a cell of for_study.csv, each as NAME=TEXT or NAME."""
    return tuple(part.strip() for part in cell.split(_BETWEEN.strip()) if part.strip())


def _filled_in(path: Path) -> dict[str, str]:
    """The labels that somebody has written into the folder's own sheet."""
    if not path.is_file():
        return {}
    with open_table(path) as table:
        rows = [row for _, row in table.rows([])]
    cells = {_text(row.get("item_id")): _text(row.get("label")) for row in rows}
    return {item: label for item, label in cells.items() if label}


def drawn_items(folder: Path, readings: Readings) -> frozenset[str] | None:
    """The items of the sheet that readings are on; None where the folder has none.

    Raises:
        InputError: it cannot be read.
    """
    path = folder / readings.file
    if not path.is_file():
        return None
    faults: list[InputFault] = []
    with open_table(path) as table:
        found = frozenset(str(row.get("item_id") or "") for _, row in table.rows(faults))
    if faults:
        raise InputError(faults)
    return found


def read_labels(files: Sequence[str | Path], readings: Sequence[Readings]) -> PeopleLabels:
    """Reads labels that came back: sheets with their column filled in, or one row a label.

    Args:
        files: tables with item_id (or response_id) and label (or category), optionally rater_id.
            Without that column a file is one person's, called by the file's name, or by its path
            where two files have one name.
        readings: of the job.

    Raises:
        InputError: a file that cannot be read, a label that is none of the categories, two labels
            of one person for one item, or no label of any item of this job.
    """
    known = {one.item_id(row): one for one in readings for row in one.rows()}
    found: dict[str, dict[str, str]] = {}
    faults: list[InputFault] = []
    cells: list[tuple[str, str, str]] = []
    n_unknown = n_repeated = 0
    paths = [Path(file) for file in files]
    stems = [path.stem for path in paths]
    for path in paths:
        person = path.stem if stems.count(path.stem) == 1 else str(path)
        for where, item, rater, text in _cells(path, person, faults):
            cells.append((item, rater, text))
            if item not in known:
                n_unknown += 1
                continue
            label = known[item].category(text)
            if label is None:
                if plain_label(text) in WORDS:
                    continue
                told = f"must be one of {', '.join(known[item].choices)}, got {text!r}"
                faults.append(InputFault(where, told, "label"))
                continue
            given = found.setdefault(item, {})
            n_repeated += given.get(rater) == label
            if given.setdefault(rater, label) != label:
                told = f"{item} is labelled twice by one person, {given[rater]} and {label}"
                faults.append(InputFault(where, told, "item_id"))
    if faults:
        raise InputError(faults[:_SHOWN])
    if not found:
        ours = listed(sorted(known), 3)
        told = f"holds no label of anything that was read here ({ours})"
        raise InputError([InputFault(", ".join(map(str, files)), told, "item_id")])
    return PeopleLabels(found, n_unknown, n_repeated, cells)


def write_labels(folder: Path, given: PeopleLabels) -> None:
    """Keeps the labels in the job's folder, in the place of those that were there.

    Raises:
        StoreError: the folder cannot be written.
    """
    with csv_table(folder / LABELS_FILE, ["item_id", "rater_id", "label"]) as writer:
        for cells in given.cells:
            writer.write(map(writable, cells))


def kept_labels(folder: Path, readings: Sequence[Readings]) -> PeopleLabels | None:
    """The labels that the folder keeps; None where there are none of what is read there now.

    Raises:
        InputError: its file cannot be read, or holds what is no category any more.
    """
    path = folder / LABELS_FILE
    if not path.is_file():
        return None
    known = {one.item_id(row) for one in readings for row in one.rows()}
    with path.open(newline="", encoding="utf-8") as lines:
        if not any(row["item_id"] in known for row in csv.DictReader(lines)):
            return None
    return read_labels([path], readings)


def plain_label(value: object) -> str:
    """A label as people write it: without capitals, 85 for 85.0, blanks for underscores."""
    text = " ".join(str(value).replace("_", " ").split())
    try:
        return f"{float(text):g}"
    except ValueError:
        return text.casefold()


def _cells(
    file: Path, person: str, faults: list[InputFault]
) -> Iterator[tuple[str, str, str, str]]:
    """Place, item, rater and label of every filled cell."""
    with open_table(file) as table:
        names: dict[str, str | None] | None = None
        for line, row in table.rows(faults):
            if names is None:
                names = _columns(file, row, faults)
            item, label, rater = (names[what] for what in ("item", "label", "rater"))
            if item is None or label is None:
                return
            text = _text(row.get(label))
            if text:
                by = _text(row.get(rater)) if rater is not None else ""
                yield table.where(line), _text(row.get(item)), by or person, text


def _columns(file: Path, row: Mapping[str, Any], faults: list[InputFault]) -> dict[str, str | None]:
    usual = {name.strip().casefold(): name for name in row}

    def column(names: Iterable[str]) -> str | None:
        return next((usual[name] for name in names if name in usual), None)

    found = {"item": column(_ITEM), "label": column(_LABEL), "rater": column(_RATER)}
    for what, names in (("item", _ITEM), ("label", _LABEL)):
        if found[what] is None:
            faults.append(InputFault(str(file), f"has no column {names[0]}"))
    return found


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()
