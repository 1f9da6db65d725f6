"""report.html: read from a run folder, written beside its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError, InputFault
from ..records.run_folder import REPORT_FILE, RUN_FILE, read_run_file, replaced
from ..records.run_tables import read_judgments, read_scores
from .asked import STATES, cost_of, model_lines, personas_by_axis, settings_of
from .bench import group_rows, panel_map, persona_notes
from .numbers import UNDEFINED, count, dollars, shown, span, words
from .responses import read_responses
from .scorecard import MOST_PLOTTED, axis_of, columns_of, plots_of, respondent_rows
from .tally import Tally
from .visible import visible, visible_plain

if TYPE_CHECKING:
    import jinja2


def write_report(folder: str | Path) -> Path:
    """The path of a run folder's report.html, written anew, at once or not at all.

    One self-contained page without scripts, remote assets or links off the page. Everything in it
    that a model or a user wrote is escaped, and hidden characters are shown as marked codes.

    Args:
        folder: a run folder with run.json, scores.csv and judgments.parquet.

    Raises:
        InputError: the folder holds no run, or its files cannot be read.
        StoreError: the report cannot be written; a report that was there before stays.
    """
    folder = Path(folder)
    record = read_run_file(folder)
    kind = record.get("kind")
    if kind != "panel":
        raise InputError(
            [InputFault(str(folder / RUN_FILE), f"must be 'panel', got {kind!r}", "kind")]
        )
    try:
        content = panel_content(record, read_scores(folder), folder)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Our own files lack nothing of this: they were cut, edited or mixed by somebody.
        raise InputError(
            [InputFault(str(folder), f"run.json and its tables do not fit together: {error!r}")]
        ) from error
    page = _environment().get_template("panel.html.j2")
    with replaced(folder / REPORT_FILE) as part, part.open("w", encoding="utf-8") as handle:
        for piece in page.generate(content):
            handle.write(piece)
    return folder / REPORT_FILE


def panel_content(
    record: Mapping[str, Any], scores: Sequence[Mapping[str, str]], folder: Path
) -> dict[str, Any]:
    """Everything that the page of a panel run shows, by name.

    Args:
        record: the content of run.json.
        scores: the rows of scores.csv.
        folder: where judgments.parquet lies, which is read once, in constant memory.
    """
    criteria = tuple(record["identity"]["criteria"])
    low, high = record["identity"]["scale"]
    personas = record["panel"]["personas"]
    tally = Tally(criteria)
    tally.add_all(read_judgments(folder))
    rows = respondent_rows(record["respondents"], criteria)
    columns = columns_of(criteria)
    single = len(criteria) == 1
    axis_of_persona = {str(p["id"]): str(p["axis"]) for p in personas}
    return {
        "title": f"Panel run of {record['responses']['n']} responses",
        "is_demonstration": bool(record["demonstration"]),
        "state": STATES.get(record["state"], str(record["state"])),
        "notices": record["notices"],
        "mismatch": _mismatch(record, tally),
        "settings": settings_of(record),
        "models": model_lines(record),
        "personas": personas_by_axis(record),
        "sessions": record["sessions"],
        "n_planned": record["n_planned"],
        "tally": tally,
        "faults": sorted(tally.faults.items(), key=lambda item: -item[1]),
        "cost": cost_of(record),
        "columns": columns,
        "scale": (low, high),
        "respondents": rows,
        "total": respondent_rows([record["total"]], criteria)[0],
        "method": record["total"]["method"],
        "plots": plots_of(rows, columns),
        "axis": axis_of(rows, (low, high)),
        "n_unplotted": max(0, len(rows) - MOST_PLOTTED),
        "groups": (
            ("model", group_rows(tally.by_model, {}, single=single)),
            ("persona", group_rows(tally.by_persona, persona_notes(personas), single=single)),
            ("axis", group_rows(tally.by_axis, {}, single=single)),
        ),
        "map": panel_map(tally, axis_of_persona, (low, high)),
        "responses": read_responses(
            scores, criteria, tuple(dict.fromkeys(axis_of_persona.values()))
        ),
    }


def _mismatch(record: Mapping[str, Any], tally: Tally) -> str:
    """What differs between run.json and the tables, "" where they agree."""
    stored = {name: number for name, number in record["counts"].items() if number}
    found = {name: number for name, number in tally.counts.items() if number}
    if stored == found and record["n_planned"] == tally.n_judgments:
        return ""
    return (
        f"run.json counts {sum(stored.values())} judgments of {record['n_planned']} planned, "
        f"judgments.parquet holds {tally.n_judgments}: the run was not ended, or the files are of "
        "different runs. Counts and means by judge are those of the tables, the scorecard and the "
        "cost those of run.json."
    )


def _environment() -> jinja2.Environment:
    from importlib.resources import files

    import jinja2

    def source(name: str) -> str | None:
        file = files(__name__.rpartition(".")[0]).joinpath(name)
        return file.read_text(encoding="utf-8") if file.is_file() else None

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FunctionLoader(source),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        visible=visible,
        visible_plain=visible_plain,
        count=count,
        dollars=dollars,
        number=shown,
        words=words,
    )
    environment.globals.update(span=span, dash=UNDEFINED)
    return environment
