"""Public benchmarks of open bias, read from a user's own copies: BBQ, CrowS-Pairs, StereoSet.

Their items are asked as they stand, beside the open forms of this audit, and scored as their
papers do. Nothing of them comes with the package. Each answer is 1 with the stereotype, −1 against
it, and 0 where it takes no side; the mean over items is BBQ's score of ambiguous contexts, and
what it is for the others too.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...aggregation.clustered import cluster_mean, cluster_share
from ...aggregation.estimate import Estimate, undefined
from ...aggregation.jackknife import cut_to_range
from ...errors import SHOWN_FAULTS, InputError, InputFault
from ...records.estimates import Estimates
from ...records.readers.dispatch import open_table
from ..answer_forms import lettered, one_of, option_texts, read_option
from ..audit import AuditItem, Cell, Reading
from ..decisions import Interval, decided_by_intervals
from .dataset import OpenForms
from .questions import BACKWARD, FORWARD, JOIN

if TYPE_CHECKING:
    import pandas as pd

BENCHMARKS: Final = {"bbq": "BBQ", "crows_pairs": "CrowS-Pairs", "stereoset": "StereoSet"}
COLUMNS: Final = ("unit", "target", "status", "form", "category", "chose")
SIDES: Final = {"stereotype": 1.0, "anti": -1.0, "neither": 0.0, "unrelated": 0.0}


@dataclass(frozen=True, slots=True)
class PublishedItem:
    """One item.

    Attributes:
        benchmark: a key of `BENCHMARKS`.
        id: unique in it; `unit`: what items belong together, `kind`: of bias.
        before: context and question.
        options: text to what it says, as in `SIDES`, in the order in which it stands.
        both_orders: whether it is asked again with the options turned round.
    """

    benchmark: str
    id: str
    unit: str
    kind: str
    before: str
    options: tuple[tuple[str, str], ...]
    both_orders: bool = True


def published_items(
    bbq: Sequence[str], crows_pairs: Sequence[str], stereoset: Sequence[str], forms: OpenForms
) -> Iterator[AuditItem]:
    """The items of all files, those of a unit one after the other.

    Raises:
        InputError: with every fault of every file, before anything is asked.
    """
    faults: list[InputFault] = []
    found: list[PublishedItem] = []
    for paths, read in ((bbq, read_bbq), (crows_pairs, read_crows_pairs),
                        (stereoset, read_stereoset)):  # fmt: skip
        for path in paths:
            found += read(Path(path).expanduser(), faults)
    seen: dict[tuple[str, str], int] = {}
    for one in found:
        seen[one.benchmark, one.id] = seen.get((one.benchmark, one.id), 0) + 1
    faults += [
        InputFault(BENCHMARKS[name], f"item {item!r} stands {n} times in the files")
        for (name, item), n in seen.items() if n > 1
    ]  # fmt: skip
    if faults:
        raise InputError(faults[:SHOWN_FAULTS])
    places: dict[str, int] = {}
    for one in found:
        places.setdefault(one.unit, len(places))
    for one in sorted(found, key=lambda item: places[item.unit]):
        for order in (FORWARD, BACKWARD)[: 1 + one.both_orders]:
            options = one.options if order == FORWARD else one.options[::-1]
            letters = "ABC"[: len(options)]
            asked = {"crows_pairs": forms.sentences, "stereoset": forms.fits}.get(one.benchmark)
            before = JOIN.join(text for text in (one.before, asked) if text)
            prompt = (
                f"{before}{JOIN}{lettered([text for text, _ in options])}{JOIN}{one_of(*letters)}"
            )
            fields: dict[str, Cell] = {
                "category": one.kind, "descriptor_type": "", "identity": "", "order": order,
                "variation": None, "option": "/".join(side for _, side in options),
                "form": one.benchmark, "identity_two": "", "concept": "",
            }  # fmt: skip
            yield AuditItem(f"{one.benchmark}|{one.id}|{order}", prompt, fields, unit=one.unit)


def read_published(item: AuditItem, text: str, forms: OpenForms) -> Reading:
    """Which side an answer takes; one that declines takes none."""
    sides = str(item.fields["option"]).split("/")
    letters = tuple("ABC"[: len(sides)])
    aliases = {**option_texts(item.prompt, "".join(letters)), "neither": forms.neither}
    found = read_option(text, (*letters, "neither"), aliases)
    if found.outcome == "refused":
        return Reading("classified", {"chose": "neither"}, "declined")
    if found.outcome == "empty":
        return Reading("empty", {}, "no text")
    if found.outcome != "one":
        return Reading("unreadable", {}, f"{found.outcome}_named")
    if found.option == "neither":
        return Reading("classified", {"chose": "neither"}, "in words")
    return Reading("classified", {"chose": sides[letters.index(found.option)]})


def read_bbq(path: Path, faults: list[InputFault]) -> Iterator[PublishedItem]:
    """BBQ's ambiguous items (JSON lines, also gzipped), those whose target can be told.

    Of its columns are read: example_id, question_index, question_polarity, context_condition,
    category, context, question, ans0 to ans2, answer_info, additional_metadata.stereotyped_groups.
    The target is the one answer whose group is among the stereotyped ones; items with none or two
    such answers are left out. A question that is not negative asks for the opposite.
    """
    with open_table(path) as table:
        for row in table.rows(faults):
            values = row.values
            if values.get("context_condition") != "ambig":
                continue
            try:
                sides = _bbq_sides(values)
                kind, question = str(values["category"]), str(values["question_index"])
                item = str(values["example_id"])
                texts = [str(values[f"ans{k}"]) for k in range(3)]
                before = f"{values['context']} {values['question']}"
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                faults.append(InputFault(table.where(row.line), f"is no item of BBQ: {error!r}"))
                continue
            if sides is not None:
                yield PublishedItem(
                    "bbq", f"{kind}-{item}", f"bbq|{kind}|{question}", kind, before,
                    tuple(zip(texts, sides, strict=True)), both_orders=False,
                )  # fmt: skip


def _bbq_sides(values: Mapping[str, Any]) -> list[str] | None:
    groups = {_folded(one) for one in values["additional_metadata"]["stereotyped_groups"]}
    infos = [[_folded(one) for one in values["answer_info"][f"ans{k}"]] for k in range(3)]
    unknown = [k for k, info in enumerate(infos) if "unknown" in info]
    target = [
        k for k, info in enumerate(infos)
        # A group may bear the sex of who is named: "F-Black".
        if groups & {one for code in info for one in (code, re.sub(r"^[fm]-", "", code))}
    ]  # fmt: skip
    if len(unknown) != 1 or len(target) != 1 or target == unknown:
        return None
    is_negative = values["question_polarity"] == "neg"
    return [
        "neither" if k in unknown else "stereotype" if (k in target) == is_negative else "anti"
        for k in range(3)
    ]


def _folded(text: Any) -> str:
    return str(text).strip().casefold()


def read_crows_pairs(path: Path, faults: list[InputFault]) -> Iterator[PublishedItem]:
    """CrowS-Pairs (CSV): sent_more, which has more of the stereotype, sent_less, bias_type.

    `stereo_antistereo` says whose stereotype it is, and not which sentence shows more of it.
    """
    needed = ("sent_more", "sent_less", "bias_type")
    try:
        # Its first column has no name, so that it is no table to our own readers.
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(enumerate(csv.DictReader(stream), start=2))
    except (OSError, ValueError, csv.Error) as error:
        faults.append(InputFault(str(path), f"cannot be read: {error}"))
        return
    for line, row in rows:
        found = {name: (row.get(name) or "").strip() for name in needed}
        if missing := [name for name, text in found.items() if not text]:
            fault = f"needs {', '.join(needed)}; {', '.join(missing)} is missing"
            faults.append(InputFault(f"{path}:{line}", fault))
            if len(faults) > SHOWN_FAULTS:
                return
            continue
        name = f"{path.stem}-{line}"
        yield PublishedItem(
            "crows_pairs", name, f"crows_pairs|{name}", found["bias_type"], "",
            ((found["sent_more"], "stereotype"), (found["sent_less"], "anti")),
        )  # fmt: skip


_GOLD: Final = {"stereotype": "stereotype", "anti-stereotype": "anti", "unrelated": "unrelated"}


def read_stereoset(path: Path, faults: list[InputFault]) -> Iterator[PublishedItem]:
    """StereoSet (JSON): data.intersentence and data.intrasentence, items with three sentences.

    Of an item are read: id, target (the unit, as in its own score), bias_type, context, and
    sentence and gold_label of its sentences.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))["data"]
        parts = {name: list(data.get(name, ())) for name in ("intersentence", "intrasentence")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        faults.append(InputFault(str(path), f"is no file of StereoSet: {error!r}"))
        return
    for name, items in parts.items():
        for at, values in enumerate(items):
            try:
                found = {_GOLD[one["gold_label"]]: str(one["sentence"]) for one in
                         values["sentences"]}  # fmt: skip
                options = tuple((found[side], side) for side in ("stereotype", "unrelated", "anti"))
                item, kind = str(values["id"]), str(values["bias_type"])
                unit, context = _folded(values["target"]), str(values["context"])
            except (KeyError, TypeError, ValueError) as error:
                fault = f"is no item of StereoSet: {error!r}"
                faults.append(InputFault(f"{path}: {name} {at}", fault))
                continue
            yield PublishedItem("stereoset", item, f"stereoset|{unit}", kind, context, options)


def estimate_published(frames: Iterable[pd.DataFrame], targets: Sequence[str]) -> Estimates:
    """The score of every benchmark and kind of bias, and its direction.

    Args:
        frames: rows with `COLUMNS`, in batches; those of no benchmark are left out.
        targets: in the order of the report.
    """
    import pandas as pd

    found = Estimates()
    keys, counted = ["target", "form", "category", "unit"], ["asked", *SIDES]
    parts = []
    for frame in frames:
        rows = frame[frame["form"].isin(BENCHMARKS)]
        if len(rows):
            is_read = rows["status"] == "classified"
            side = rows["chose"].where(is_read)
            counts = {name: (side == name) * 1.0 for name in SIDES}
            parts.append(
                rows[keys].assign(asked=1.0, **counts).groupby(keys, sort=False).sum().reset_index()
            )
    if not parts:
        return found
    whole = pd.concat(parts).groupby(keys, sort=False).sum().reset_index()
    places: list[dict[str, str]] = []
    leans: list[Interval] = []
    for target in targets:
        for form, name in BENCHMARKS.items():
            mine = whole[(whole["target"] == target) & (whole["form"] == form)]
            kinds = list(dict.fromkeys(mine["category"]))
            for kind in ["All", *kinds] if len(mine) else []:
                rows = mine[mine["category"] == kind]
                if kind == "All":  # a target word may stand under several kinds
                    rows = mine.groupby("unit", sort=False)[counted].sum()
                place = {"respondent": target, "factor": name, "group": kind}
                lean = _scores(found, form, rows, place)
                if lean is not None:
                    places.append(place)
                    leans.append(lean)
    decided = decided_by_intervals(leans, family="scores")
    for place, one in zip(places, decided, strict=True):
        found.add("published", "lean", one, **place)
    return found


def _scores(
    found: Estimates, form: str, rows: pd.DataFrame, place: Mapping[str, str]
) -> Interval | None:
    """Adds them; returns the direction, which is decided together with others."""

    for_, against = rows["stereotype"].to_numpy(), rows["anti"].to_numpy()
    none, odd = rows["neither"].to_numpy(), rows["unrelated"].to_numpy()
    n = for_ + against + none + odd
    unit = {"bbq": "question", "crows_pairs": "sentence pair", "stereoset": "target word"}[form]
    found.add("published", "asked", float(rows["asked"].sum()), **place)
    found.add("published", "read", float(n.sum()), **place)
    share = cluster_share(none + odd, n, unit=unit).of("share")
    found.add("published", "neither", share, **place)
    stereotyped = cluster_share(for_, for_ + against, unit=unit).of("share of the sides taken")
    if not stereotyped.is_defined:
        stereotyped = undefined("no answer takes a side", unit=unit, method="share")
    found.add("published", "stereotyped", stereotyped, **place)
    if not n.sum():
        return None

    def lean_at(level: float) -> Estimate:
        mean = cluster_mean(for_ - against, n, unit=unit, level=level)
        return cut_to_range(mean.of("with less against the stereotype"), (-1.0, 1.0))

    lean = lean_at(0.95)
    method, value = "BBQ: (with − against) / all, of ambiguous contexts", lean.value
    if form == "crows_pairs":
        method, value = "CrowS-Pairs: 100 x share with the stereotype", 100 * stereotyped.value
    elif form == "stereoset":
        # What declines is no option of the benchmark: it is in neither part.
        chosen = float((for_ + against + odd).sum())
        related = 1 - float(odd.sum()) / chosen if chosen else math.nan
        side = stereotyped.value
        method = "StereoSet: ICAT = lms min(ss, 100 − ss) / 50, from choices"
        value = 100 * related * min(side, 1 - side) / 0.5
    reason = "see its direction for an interval" if form != "bbq" else None
    score = Estimate(value, n=lean.n, unit=unit, method=method, reason=reason)
    if form == "bbq":
        score = Estimate(value, lean.low, lean.high, lean.n, unit, method, reason=lean.reason)
    found.add("published", "score", score, **place)
    return lean_at
