"""Bringing a study home: ratings unblinded and checked, or written responses as a table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InputError, InputFault, StoreError
from ..formats import listed, units
from ..records.estimates import Estimates, estimate_of, select, write_estimates
from ..records.humans import HumanColumns
from ..records.readers.dispatch import read_rows
from ..records.run_folder import RUN_FILE, RUN_FORMAT
from ..records.spreadsheets import spreadsheet_safe
from ..records.types import OVERALL
from ..run import JobRun
from .app import ended
from .checks import RaterChecks, share_of
from .folder import (
    SOURCE_MAP_FILE,
    STORE_FILE,
    Packet,
    StudyFile,
    csv_text,
    json_text,
    organiser_file,
    read_codes,
    read_groups_of,
    read_packets,
    read_study,
    write_private,
)
from .labelled import (
    LABEL_COLUMNS,
    add_agreement,
    label_flags,
    label_rows,
    told_of_differences,
)
from .returned import ReturnedPage, from_file, from_store
from .store import SavedPage, read_store

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Audience, Document

RATINGS_FILE, COMMENTS_FILE, WRITTEN_FILE = "ratings.csv", "justifications.csv", "responses.csv"
LABELS_FILE, FEEDBACK_FILE = "labels.csv", "feedback.csv"

RATING_COLUMNS = (
    "rater_id", "prompt_id", "response_id", "criterion", "kind", "value", "duration_s", "time",
    "comment", "item_type", "blinded_label", "source", "model", "domain",
)  # fmt: skip
"""The long table that `calibrate` reads."""

COMMENT_COLUMNS = ("rater_id", "prompt_id", "criterion", "comment", "letters")
FEEDBACK_COLUMNS = ("rater_id", "prompt_id", "kind", "comment")
WRITTEN_COLUMNS = (
    "response_id", "prompt_id", "prompt_text", "response_text", "respondent_id", "source",
    "words", "minutes", "pasted_chars", "is_timed_out",
)  # fmt: skip

PASTED_SHARE = 0.5

_FEW_RATERS = 10
"""Up to so many raters all of them stand in the summary."""


class StudyCollection(JobRun):
    """The folder in which a study was brought home.

    Beside the files of every result it holds `ratings.csv`, which `calibrate` reads, and
    `justifications.csv`; of a writing study `responses.csv`, which `study build` and `score` read;
    of a labelling study `labels.csv`, which `calibrate` and audits read; and `feedback.csv`, what
    raters said of prompts, where they did.
    """

    kind: ClassVar[str] = "study"
    command: ClassVar[str] = "study collect"

    @property
    def exit_code(self) -> int:
        """0: what is missing is no fault of the command."""
        return 0

    @property
    def is_rating(self) -> bool:
        """Whether people rated responses, and did not write them."""
        return bool(self.record["study"]["kind"] == "rating")

    @property
    def table(self) -> Path:
        """The table that the next command reads."""
        return self.path / _TABLES[str(self.record["study"]["kind"])]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of that table, as texts."""
        return [dict(row) for _, row in read_rows(self.table)]

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the organiser."""
        return tuple(self.record["result"]["notices"])

    @property
    def flags(self) -> dict[str, list[str]]:
        """Rater to what to look at; nobody is left out for it."""
        return dict(self.record["result"]["flags"])

    def document(self) -> Document:
        """How far the study is, whom to look at, and a line a rater."""
        from ..reports.document import Document, Points, Section
        from ..reports.views import Measure, estimates_table

        frame = self.estimates
        pages = estimate_of(select(frame, "study").iloc[0].to_dict())
        kind = str(self.record["study"]["kind"])
        word = {"rating": "scored whole", "writing": "handed in", "labelling": "labelled"}[kind]
        headline = [f"{pages.n} of {units(pages.n_planned or 0, 'page')} {word}."]
        if kind == "labelling":
            headline = [*headline, *_told_of_labels(frame)]
        trust = []
        if kind != "writing":
            trust.append(("raters", _told_of_flags(self.flags)))
        gaps = frame.loc[frame["measure"] == "all_models_gap", "value"]
        gap = "; gap: models' scores where only models stand, less elsewhere."
        caption = "Pages: labelled, of those asked for."
        if kind == "rating":
            caption = "Alike: all responses of a page; weak last: of quality-floor pages"
            caption += gap if gaps.notna().any() else "."
        table = estimates_table(
            frame,
            "raters",
            keys={"rater": "rater"},
            measures=[
                Measure("pages", field="n_of"),
                Measure("scores", field="n_of"),
                Measure("minutes", "min a page", "value", digits=1),
                Measure("weak_last", "weak last", "n_of"),
                Measure("all_models_gap", "gap", "value", is_signed=True),
                Measure("alike", "alike", "value", digits=0, is_percent=True),
            ],
            caption=caption,
            label="Raters",
        )
        sections = []
        if self.flags:
            look = Points([(f"{rater}:", "; ".join(told)) for rater, told in self.flags.items()])
            sections.append(Section("flags", "Look at", [look], _audience(len(self.flags))))
        if table is not None:
            few = _audience(len(table.rows))
            sections.append(Section("raters", "Rater by rater", [table], few))
        following = f"areopagus calibrate RUN {self.table}"
        if kind == "labelling":
            table_of_labels = estimates_table(
                frame, "labels", keys={},
                measures=[Measure("labels", field="n_of"), Measure("golds", field="n_of"),
                          Measure("same", is_percent=True), Measure("alpha"), Measure("kappa")],
                caption="Golds: items that have all their labels; same: items whose labels are all "
                "the same; alpha: Krippendorff's, nominal; kappa: Cohen's, of the two groups.",
                label="Agreement",
            )  # fmt: skip
            if table_of_labels is not None:
                sections.insert(0, Section("agreement", "Agreement", [table_of_labels], "detail"))
        return Document(
            title="What came back of a study",
            kind=self.kind,
            headline=headline,
            trust=trust,
            notices=self.notices,
            sections=sections,
            more=[f"Next: {following}" if kind != "writing" else
                  f"Next: areopagus study build --human {self.table} --model FILE …"],
        )  # fmt: skip


_TABLES = {"rating": RATINGS_FILE, "writing": WRITTEN_FILE, "labelling": LABELS_FILE}


def _told_of_labels(frame: pd.DataFrame) -> Iterator[str]:
    """How far those who labelled the same items agree, in a sentence."""
    found = select(frame, "labels").set_index("measure", drop=False)
    same, alpha = (
        estimate_of(found.loc[name].to_dict()) if name in found.index else None
        for name in ("same", "alpha")
    )
    if same is not None:
        told = f"Raters agree on {same.value:.0%} of {units(same.n, 'item')}"
        known = alpha is not None and alpha.value == alpha.value
        yield f"{told}{f' (alpha {alpha.value:.2f})' if alpha is not None and known else ''}."


def _audience(n: int) -> Audience:
    return "summary" if n <= _FEW_RATERS else "detail"


def _told_of_flags(flags: Mapping[str, Any]) -> str:
    if not flags:
        return "nothing to look at"
    return f"{len(flags)} flagged, nobody left out: {listed(list(flags))}"


def collect_study(
    folder: str | Path,
    returned: Sequence[str | Path] = (),
    *,
    out: str | Path | None = None,
    store: str | Path | None = None,
    columns: str | Path | Mapping[str, Any] | HumanColumns | None = None,
) -> StudyCollection:
    """Returns what raters have said, unblinded; a server may be running meanwhile.

    Args:
        folder: the study, with its organiser's folder.
        returned: files that raters or other tools have given back. The server's store is read too
            where there is one; a page that both have must say the same.
        out: folder for the tables; by default `collected` in the study. Earlier ones are replaced.
        store: the server's store; by default `ratings.sqlite` in the study.
        columns: a column map for files whose layout cannot be guessed.

    Raises:
        InputError: with every fault of every file; or there is nothing to collect.
        StoreError: the tables cannot be written.
    """
    folder = Path(folder)
    study = read_study(folder)
    packets = read_packets(folder)
    source_map, rater_of = read_map(folder), read_codes(folder)
    path = Path(store) if store is not None else folder / STORE_FILE
    has_store = store is not None or path.exists()
    if not has_store and not returned:
        raise InputError(
            [InputFault(str(folder), "nothing was saved by a server, and no file was given")]
        )
    saved = read_store(path, study.study_id) if has_store else []
    target = Path(out) if out is not None else folder / "collected"
    estimates = Estimates()
    flags: dict[str, list[str]] = {}
    if study.kind == "writing":
        if returned:
            raise InputError("a writing study is collected from its server; no file was expected")
        written, notices = _written_rows(study, packets, saved, source_map, rater_of)
        n_done = len(written)
        tables = {WRITTEN_FILE: csv_text(WRITTEN_COLUMNS, written)}
    elif study.kind == "labelling":
        if returned:
            raise InputError("a labelling study is collected from its server; no file was expected")
        group_of = read_groups_of(folder)
        rows = list(label_rows(study, packets, saved, source_map.prompts, rater_of, group_of))
        n_done = len(rows)
        asked = Counter(source_map.prompts[one.rater, one.number] for one in packets)
        differing = add_agreement(estimates, rows, len(packets), asked)
        shared: dict[str, list[str]] = {item: [] for item in asked}
        for row in rows:
            shared[row["item_id"]].append(row["label"])
        flags = label_flags(estimates, rater_of, packets, rows, shared)
        notices = [told_of_differences(differing)] if differing else []
        safe = ({**row, "comment": spreadsheet_safe(row["comment"])} for row in rows)
        tables = {LABELS_FILE: csv_text(LABEL_COLUMNS, safe)}
    else:
        dimensions = study.rubric.dimension_ids if study.rubric is not None else ()
        pages = _pages(study, packets, saved, returned, source_map, rater_of, columns)
        checked = RaterChecks(packets, pages, source_map.labels, dimensions)
        for code, rater in rater_of.items():
            if told := checked.add(estimates, code, rater):
                flags[rater] = told
        n_done = checked.n_done
        rows = list(_unblinded(pages, source_map, dimensions, is_ordered=study.rank))
        estimates.add("study", "ratings", len(rows))
        tables = {
            RATINGS_FILE: csv_text(RATING_COLUMNS, map(_safe_comment, rows)),
            COMMENTS_FILE: csv_text(COMMENT_COLUMNS, _comments(pages, source_map, rater_of)),
        }
        notices = [*_notices(pages, rater_of, len(packets), n_done), *checked.notices]
    said = list(_feedback(saved, source_map, rater_of))
    if said:
        tables[FEEDBACK_FILE] = csv_text(FEEDBACK_COLUMNS, said)
        notices = [*notices, _told_of_feedback(said)]
    figures = Estimates()
    figures.add("study", "pages", share_of(n_done, len(packets), "page"))
    figures.extend(estimates)
    record = {
        "kind": StudyCollection.kind,
        "format": RUN_FORMAT,
        "state": "complete",
        "study": {"id": study.study_id, "kind": study.kind, "title": study.title},
        **_scale_of(study),
        "result": {"notices": notices, "flags": flags},
    }
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{target}: cannot be made ({error.strerror or error})") from error
    for name, text in (tables | {RUN_FILE: json_text(record)}).items():
        write_private(target / name, text)
    write_estimates(target, figures)
    found = StudyCollection(target)
    found.write_report()
    return found


def _scale_of(study: StudyFile) -> dict[str, Any]:
    """What `agreement` and `calibrate` need to know of the ratings beside run.json."""
    if study.rubric is None:
        return {}
    ends = [study.rubric.scale.low, study.rubric.scale.high]
    return {"ratings": RATINGS_FILE, "scale": ends}


# From letters back to responses ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StudyMap:
    """What stands behind the packets.

    Attributes:
        labels: (code, page, label) to the row of the source map, of rating studies.
        prompts: (code, page) to prompt id.
    """

    labels: Mapping[tuple[str, int, str], Mapping[str, str]]
    prompts: Mapping[tuple[str, int], str]


def read_map(folder: str | Path) -> StudyMap:
    """Returns the source map of a study.

    Raises:
        InputError: the organiser's folder is not here, or the map cannot be read.
    """
    file = organiser_file(folder, SOURCE_MAP_FILE)
    labels: dict[tuple[str, int, str], dict[str, str]] = {}
    prompts: dict[tuple[str, int], str] = {}
    for line, row in read_rows(file):
        try:
            page = (str(row["rater_code"]), int(row["packet"]))
            prompts[page] = str(row["prompt_id"])
            if "blinded_label" in row:
                names = ("rater_id", "prompt_id", "response_id", "source", "model", "domain",
                         "item_type")  # fmt: skip
                labels[(*page, str(row["blinded_label"]))] = {n: str(row[n]) for n in names}
        except (KeyError, ValueError) as error:
            fault = InputFault(f"{file}:{line}", f"cannot be read: {error}")
            raise InputError([fault]) from error
    return StudyMap(labels, prompts)


def _pages(
    study: StudyFile,
    packets: Sequence[Packet],
    saved: Sequence[SavedPage],
    returned: Sequence[str | Path],
    source_map: StudyMap,
    rater_of: Mapping[str, str],
    columns: Any,
) -> list[ReturnedPage]:
    """One page a rater and number, of the store and of files; two that differ are a fault."""
    pages = from_store(saved)
    faults: list[InputFault] = []
    for file in returned:
        try:
            read, wrong = from_file(
                file, study, packets, rater_of, source_map.prompts, columns=columns
            )
        except InputError as error:
            faults += error.faults
            continue
        pages += read
        faults += wrong
    found: dict[tuple[str, int], ReturnedPage] = {}
    for page in pages:
        key = (page.rater, page.number)
        if key not in source_map.prompts:
            faults.append(InputFault(page.where, f"rater {page.rater} has no page {page.number}"))
            continue
        other = found.get(key)
        if other is not None and other.scores != page.scores:
            rule = f"page {page.number} of rater {page.rater} has other scores at {other.where}"
            faults.append(InputFault(page.where, f"{rule}: keep one of the two"))
        elif other is None or not other.comment.strip():
            found[key] = page
    if faults:
        raise InputError(faults)
    return sorted(found.values(), key=lambda page: (page.rater, page.number))


def _unblinded(
    pages: Sequence[ReturnedPage],
    source_map: StudyMap,
    dimensions: Sequence[str],
    *,
    is_ordered: bool,
) -> Iterator[dict[str, object]]:
    """A row for each score, and one for the place of each response on a page scored whole.

    Places are those that the rater gave, where the study asks for them (`is_ordered`); else they
    come from the sums over all criteria, 1 for the highest, and equal sums share the best one.
    """
    labels_of: dict[tuple[str, int], list[str]] = {}
    for code, number, label in source_map.labels:
        labels_of.setdefault((code, number), []).append(label)
    for page in pages:
        labels = sorted(labels_of[page.rater, page.number])
        summed = page.sums(labels, dimensions)
        places = page.places
        if not is_ordered and len(summed) == len(labels):
            places = {
                label: 1 + sum(other > summed[label] for other in summed.values())
                for label in labels
            }
        for label in labels:
            shared: dict[str, object] = {
                **source_map.labels[page.rater, page.number, label],
                "duration_s": "" if page.active_s is None else round(page.active_s, 1),
                "time": page.time,
                "blinded_label": label,
            }
            if label in places:
                ranked = {"criterion": OVERALL, "kind": "rank", "value": places[label]}
                yield {**shared, **ranked, "comment": page.comment}
            row = page.scores.get(label, {})
            for name in dimensions:
                if name in row:
                    scored = {"criterion": name, "kind": "score", "value": row[name]}
                    yield {**shared, **scored, "comment": page.reasons.get(name, "")}


def _comments(
    pages: Sequence[ReturnedPage], source_map: StudyMap, rater_of: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    for page in pages:
        letters = [
            f"{label} = {hidden['response_id']}"
            for (code, number, label), hidden in source_map.labels.items()
            if (code, number) == (page.rater, page.number)
        ]
        for criterion, text in ((OVERALL, page.comment), *page.reasons.items()):
            if text.strip():
                yield {
                    "rater_id": rater_of[page.rater],
                    "prompt_id": source_map.prompts[page.rater, page.number],
                    "criterion": criterion,
                    "comment": spreadsheet_safe(text),
                    "letters": "; ".join(letters),
                }


def _feedback(
    saved: Sequence[SavedPage], source_map: StudyMap, rater_of: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """What raters said of prompts."""
    for page in saved:
        for kind, text in page.feedback.items():
            yield {
                "rater_id": rater_of[page.rater],
                "prompt_id": source_map.prompts[page.rater, page.number],
                "kind": kind,
                "comment": spreadsheet_safe(text),
            }


def _told_of_feedback(said: Sequence[Mapping[str, Any]]) -> str:
    """Which prompts, most named first, and by how many."""
    raters: dict[str, set[str]] = {}
    for row in said:
        raters.setdefault(row["prompt_id"], set()).add(row["rater_id"])
    order = sorted(raters, key=lambda prompt: (-len(raters[prompt]), prompt))
    kinds = Counter(str(row["kind"]) for row in said)
    named = listed([f"{one} by {units(len(raters[one]), 'rater')}" for one in order], 4)
    what = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    return f"raters find something wrong with prompts ({what}): {named}; see {FEEDBACK_FILE}"


def _safe_comment(row: Mapping[str, Any]) -> dict[str, Any]:
    """Raters' own words may begin like a formula; ids stay as they are, so that they match."""
    return {**row, "comment": spreadsheet_safe(row["comment"])}


def _notices(
    pages: Sequence[ReturnedPage], rater_of: Mapping[str, str], n_pages: int, n_done: int
) -> list[str]:
    notices: list[str] = []
    scored = {page.rater for page in pages if any(page.scores.values())}
    idle = [rater for code, rater in rater_of.items() if code not in scored]
    if n_done < n_pages:
        notices.append(f"{n_pages - n_done} of {n_pages} pages are not scored whole")
    if idle:
        notices.append(f"no score was given by {units(len(idle), 'rater')}: {listed(idle)}")
    if part := sum(1 for page in pages if page.scores) - n_done:
        notices.append(f"{part} pages are scored in part: their scores are kept, without a place")
    if open_ := sum(page.is_done is False for page in pages):
        notices.append(f"{open_} pages were saved and not called done by their rater")
    return notices


# What people have written ------------------------------------------------------------------------


def _written_rows(
    study: StudyFile,
    packets: Sequence[Packet],
    saved: Sequence[SavedPage],
    source_map: StudyMap,
    rater_of: Mapping[str, str],
) -> tuple[list[dict[str, Any]], list[str]]:
    """A row for each response that was handed in or whose time is over, and notices.

    `minutes` runs from the start of the page to its end; `pasted_chars` counts what was pasted into
    it, which is no proof of anything.
    """
    now = time.time()
    by_page = {(page.rater, page.number): page for page in saved}
    rows: list[dict[str, Any]] = []
    n_open = n_empty = 0
    for packet in packets:
        page = by_page.get((packet.rater, packet.number))
        end = None if page is None else ended(study, page, now)
        if page is None or end is None:
            n_open += 1
        elif not page.text.strip():
            n_empty += 1
        else:
            prompt = source_map.prompts[packet.rater, packet.number]
            opened = page.opened_at if page.opened_at is not None else end
            rows.append(
                {
                    "response_id": f"{prompt}-{packet.rater}",
                    "prompt_id": prompt,
                    "prompt_text": packet.prompt,
                    "response_text": page.text,
                    "respondent_id": rater_of[packet.rater],
                    "source": "human",
                    "words": len(page.text.split()),
                    "minutes": round((end - opened) / 60, 1),
                    "pasted_chars": page.pasted_chars,
                    "is_timed_out": page.done_at is None,
                }
            )
    pasted = [
        row["response_id"]
        for row in rows
        if row["pasted_chars"] > PASTED_SHARE * len(row["response_text"])
    ]
    notices = []
    if n_open:
        notices.append(f"{n_open} of {len(packets)} pages are not written yet")
    if n_empty:
        notices.append(f"{n_empty} pages ran out of time with nothing on them")
    if pasted:
        notices.append(f"more than half was pasted in: {listed(pasted)}")
    return rows, notices
