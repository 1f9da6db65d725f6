"""Packets for other tools, made of the packets folder alone: still blinded, nothing of the map."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args
from xml.sax.saxutils import escape, quoteattr

from ..errors import InputError, InputFault, StoreError, visible_text
from ..records.run_folder import replaced
from ..records.spreadsheets import (
    WORKBOOK_TEXT,
    cell_length,
    spreadsheet_safe,
    too_long_for_cell,
    write_text,
)
from ..records.types import OVERALL
from ..rubrics import Rubric
from .design import labels
from .folder import Packet, StudyFile, csv_text, json_text, read_packets, read_study, write_private


def label_studio_tasks(packets: Sequence[Packet]) -> list[dict[str, Any]]:
    """Returns the tasks of one rater, to be imported as JSON."""
    return [
        {
            "data": {
                "rater": packet.rater,
                "packet": str(packet.number),
                "question": packet.prompt,
                **{f"response_{one.label}": one.text for one in packet.responses},
            }
        }
        for packet in packets
    ]


def label_studio_config(study: StudyFile, rubric: Rubric, n_responses: int) -> str:
    """Returns the labelling interface: a number for each response and criterion.

    Controls are called LABEL__criterion, which become the columns of Label Studio's exports.
    `Number` and not `Rating`, because stars begin at 1 whatever the scale.
    """
    low, high = rubric.scale.low, rubric.scale.high
    lines = [
        "<View>",
        "  <Style>.htx-text{ white-space: pre-wrap; }</Style>",
        f'  <Header value={quoteattr(_one_line(study.title))} size="3"/>',
        f'  <Header value={quoteattr(_one_line(study.instructions))} size="5"/>',
    ]
    for one in rubric.dimensions:
        told = f"{one.label}: {one.question}"
        lines.append(f'  <Header value={quoteattr(_one_line(told))} size="5"/>')
    lines.append('  <Header value="Question"/>')
    lines.append('  <Text name="question" value="$question"/>')
    for label in labels(n_responses):
        name = f"response_{label}"
        lines.append(f'  <Header value="Response {label}"/>')
        lines.append(f'  <Text name="{name}" value="${name}"/>')
        for one in rubric.dimensions:
            lines.append(f'  <Header value={quoteattr(_one_line(one.label))} size="6"/>')
            lines.append(
                f'  <Number name="{label}__{escape(one.id)}" toName="{name}" min="{low}" '
                f'max="{high}" step="1" required="true"/>'
            )
    lines.append('  <Header value="Why this order? (optional)"/>')
    lines.append('  <TextArea name="justification" toName="question" rows="4" maxSubmissions="1"/>')
    return "\n".join([*lines, "</View>", ""])


def _one_line(text: str) -> str:
    """A value that begins with a dollar sign would be taken for a field of the task."""
    plain = " ".join(text.split())
    return plain.replace("$", "＄")


_TEMPLATE = "printable.html.j2"


def printable_page(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> str:
    """Returns the page; every text is escaped, and characters that act are made visible."""
    import jinja2

    source = (
        resources.files(__name__.rpartition(".")[0]).joinpath(_TEMPLATE).read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Of every text that the page shows, so that none is forgotten.
        finalize=lambda value: visible_text(value, keep="\n") if isinstance(value, str) else value,
    )
    environment.filters["lines"] = _paragraphs
    return environment.from_string(source).render(study=study, rubric=rubric, packets=packets)


def _paragraphs(text: str) -> list[list[str]]:
    """Paragraphs, each as its lines."""
    plain = visible_text(text, keep="\n")
    return [block.split("\n") for block in plain.split("\n\n") if block.strip()]


def qualtrics_survey(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> str:
    """Returns the survey of one rater."""
    return "\n".join(_lines(study, rubric, packets)) + "\n"


def _lines(study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> Iterator[str]:
    yield "[[AdvancedFormat]]"
    yield ""
    # Embedded data: the export gets a column "rater" with the code.
    yield f"[[ED:rater:{packets[0].rater}]]"
    yield ""
    yield "[[Block:Criteria]]"
    yield "[[Question:DB]]"
    yield "[[ID:CRITERIA]]"
    told = [f"<b>{markup(study.title)}</b>", markup(study.instructions), markup(rubric.purpose)]
    told += [
        f"<b>{markup(one.label)}</b>: {markup(one.definition)} <i>{markup(one.question)}</i>"
        for one in rubric.dimensions
    ]
    yield "<br><br>".join(told)
    for packet in packets:
        yield ""
        yield f"[[Block:Page {packet.number}]]"
        yield "[[Question:DB]]"
        yield f"[[ID:P{packet.number}]]"
        yield f"<b>Question {packet.number}</b><br>{markup(packet.prompt)}"
        for one in packet.responses:
            yield ""
            yield "[[Question:Matrix]]"
            yield f"[[ID:P{packet.number}{one.label}]]"
            yield f"<b>Response {one.label}</b><br>{markup(one.text)}"
            yield "[[AdvancedChoices]]"
            for place, dimension in enumerate(rubric.dimensions, start=1):
                yield f"[[Choice:{place}]]"
                yield markup(dimension.label)
            yield "[[AdvancedAnswers]]"
            for score in rubric.scale.values:
                yield f"[[Answer:{score}]]"
                yield str(score)
        yield ""
        yield "[[Question:TE:Essay]]"
        yield f"[[ID:P{packet.number}WHY]]"
        yield "Why this order? (optional)"


def markup(text: str) -> str:
    """Returns a text as one line of markup in which nothing is a tag, a command or a piped field.

    Qualtrics takes question texts for HTML, `${…}` for a field to be filled in, and a line that
    begins with two brackets for a command of the format.
    """
    plain = html.escape(text, quote=True)
    for sign in "$[]{}":
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return "<br>".join(" ".join(line.split()) for line in plain.split("\n"))


PacketKind = Literal["csv", "xlsx", "label-studio", "qualtrics", "html"]
PACKET_KINDS: tuple[PacketKind, ...] = get_args(PacketKind)


@dataclass(frozen=True, slots=True)
class ExportedPackets:
    """What an export wrote: the folder, its files, and how to bring the answers back."""

    folder: Path
    files: tuple[Path, ...]
    how: str


def export_packets(
    folder: str | Path, kind: str, *, out: str | Path | None = None
) -> ExportedPackets:
    """Writes every rater's packets in another form, one file a rater, named by code.

    Which rater a code is stands in the organiser's raters.csv. `study collect` reads what comes
    back; the columns that it goes by must stay as they are.

    Args:
        folder: the study.
        kind: one of `PACKET_KINDS`.
        out: the folder; by default `export-KIND` in the study. Earlier files are replaced.

    Raises:
        InputError: no study, an unknown form, or a form that cannot hold the study.
        StoreError: it cannot be written.
    """
    if kind not in PACKET_KINDS:
        raise InputError(f"`kind`: must be one of {', '.join(PACKET_KINDS)}, got {kind!r}")
    study = read_study(folder)
    rubric = study.rubric
    if rubric is None:
        raise InputError(
            [InputFault(str(folder), f"is a {study.kind} study: there is nothing to rate")]
        )
    by_rater: dict[str, list[Packet]] = {}
    for packet in read_packets(folder):
        by_rater.setdefault(packet.rater, []).append(packet)
    if kind == "xlsx":
        _check_workbook(study, rubric, by_rater)
    target = Path(out) if out is not None else Path(folder) / f"export-{kind}"
    try:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(f"{target}: cannot be made ({error.strerror or error})") from error
    files: list[Path] = []
    for rater, packets in by_rater.items():
        file = target / f"{rater}.{_SUFFIXES[kind]}"
        if kind == "xlsx":
            _write_workbook(file, study, rubric, packets)
            file.chmod(0o600)
        else:
            write_private(file, _text(kind, study, rubric, packets))
        files.append(file)
    if kind == "label-studio":
        most = max(len(packet.labels) for packets in by_rater.values() for packet in packets)
        file = target / "labeling_config.xml"
        write_private(file, label_studio_config(study, rubric, most))
        files.append(file)
    how = _HOW[kind]
    if study.rank or set(study.justify) - {OVERALL}:
        how += " Only `study serve` asks for raters' own order, and for reasons by criterion."
    return ExportedPackets(target, tuple(files), how)


_SUFFIXES = {
    "csv": "csv",
    "xlsx": "xlsx",
    "label-studio": "json",
    "qualtrics": "txt",
    "html": "html",
}
_HOW = {
    "csv": "Raters fill in the columns of criteria and send the file back.",
    "xlsx": "Raters fill in the columns of criteria and send the workbook back.",
    "label-studio": "One project a rater: import the JSON, set labeling_config.xml as the "
    "labelling interface, export as CSV or JSON.",
    "qualtrics": "One survey a rater: import the TXT file, export answers as CSV with choice text.",
    "html": "Print it, or open it in a browser; scores are typed into the CSV of this study.",
}


def _text(kind: str, study: StudyFile, rubric: Rubric, packets: Sequence[Packet]) -> str:
    if kind == "csv":
        names = _columns(rubric)
        rows = _rows(packets)
        return csv_text(names, ({n: spreadsheet_safe(v) for n, v in r.items()} for r in rows))
    if kind == "label-studio":
        return json_text(label_studio_tasks(packets))
    if kind == "qualtrics":
        return qualtrics_survey(study, rubric, packets)
    return printable_page(study, rubric, packets)


def _columns(rubric: Rubric) -> tuple[str, ...]:
    shown = ("rater", "packet", "sitting", "question", "label", "response")
    return (*shown, *rubric.dimension_ids, "justification")


def _rows(packets: Iterable[Packet]) -> Iterable[dict[str, Any]]:
    for packet in packets:
        for one in packet.responses:
            yield {
                "rater": packet.rater,
                "packet": packet.number,
                "sitting": packet.session,
                "question": packet.prompt,
                "label": one.label,
                "response": one.text,
            }


def _check_workbook(study: StudyFile, rubric: Rubric, by_rater: dict[str, list[Packet]]) -> None:
    texts = [
        (f"packet {packet.number} of {rater}", text)
        for rater, packets in by_rater.items()
        for packet in packets
        for text in (packet.prompt, *(one.text for one in packet.responses))
    ]
    texts += [(name, text) for name, text in _guide(study, rubric)]
    lengths = [(where, cell_length(_shown(text))) for where, text in texts]
    faults = [
        InputFault(where, too_long_for_cell(length))
        for where, length in lengths
        if length > WORKBOOK_TEXT
    ]
    if faults:
        raise InputError(faults, hint="export as csv: nothing is cut there")


def _guide(study: StudyFile, rubric: Rubric) -> list[tuple[str, str]]:
    """What the raters are told, as titles and texts."""
    low, high = rubric.scale.low, rubric.scale.high
    lines = [("What to do", study.instructions), ("Purpose", rubric.purpose)]
    lines += [("Scale", f"whole numbers from {low} (worst) to {high} (best)")]
    for one in rubric.dimensions:
        lines.append((one.label, f"{one.definition}\n{one.question}"))
        lines += [(f"  {score}", one.anchors[score]) for score in sorted(one.anchors)]
    return lines


def _shown(text: str) -> str:
    return visible_text(text, keep="\n\t")


def _write_workbook(
    file: Path, study: StudyFile, rubric: Rubric, packets: Sequence[Packet]
) -> None:
    try:
        import xlsxwriter
    except ImportError as error:
        raise InputError("xlsx needs another package: pip install 'areopagus[xlsx]'") from error
    names = _columns(rubric)
    low, high = rubric.scale.low, rubric.scale.high
    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with replaced(file) as part:
        book = xlsxwriter.Workbook(str(part), options)
        head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        box = {"valign": "top", "bg_color": "#FFF8E1", "border": 1, "border_color": "#BBBBBB"}
        entry = book.add_format({**box, "align": "center"})
        free = book.add_format({**box, "text_wrap": True})
        sheet = book.add_worksheet("ratings")
        sheet.write_row(0, 0, names, head)
        sheet.freeze_panes(1, 5)
        widths = {"question": 40, "response": 90, "justification": 40}
        for column, name in enumerate(names):
            sheet.set_column(column, column, widths.get(name, 12))
        first, last = 6, 5 + len(rubric.dimensions)
        count = 0
        for count, row in enumerate(_rows(packets), start=1):
            for column, name in enumerate(names):
                value = row.get(name)
                if isinstance(value, str):
                    write_text(sheet, count, column, _shown(value), wrapped)
                elif value is not None:
                    sheet.write_number(count, column, value, wrapped)
                else:
                    sheet.write_blank(count, column, None, entry if column <= last else free)
        sheet.data_validation(1, first, max(count, 1), last, {
            "validate": "integer", "criteria": "between", "minimum": low, "maximum": high,
            "error_title": "Not a score", "error_message": f"A whole number from {low} to {high}",
        })  # fmt: skip
        guide = book.add_worksheet("criteria")
        guide.set_column(0, 0, 24)
        guide.set_column(1, 1, 110)
        for place, (name, text) in enumerate(_guide(study, rubric)):
            write_text(guide, place, 0, _shown(name), head)
            write_text(guide, place, 1, _shown(text), wrapped)
        book.close()
