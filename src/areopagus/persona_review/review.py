"""`review_persona`: where personas depart from people, by stored scores; nobody is asked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..calibration.dataset import Dataset, stand_ins_of, targets_of, with_unique_ids
from ..calibration.matched import add_matched
from ..calibration.panel_scores import ALONE
from ..calibration.reading import panel_dataset, read_people, run_named, texts_of
from ..errors import InputError, InputFault
from ..experiment.config import takes_options
from ..experiment.run_record import versions
from ..progress import READING, doing, shows_progress
from ..records.estimates import Estimates, write_estimates
from ..records.run_folder import RUN_FILE, RUN_FORMAT, read_run_file, replaced, unwritable
from ..records.tables import judgment_frame, read_texts
from ..run import Run
from .config import ReviewConfig
from .departures import DepartingResponse, add_departures, departing, largest
from .response_table import write_departures
from .run import ReviewRun

if TYPE_CHECKING:
    from ..records.humans import HumanReading, HumanTable, JudgmentReading


@takes_options(ReviewConfig)
@shows_progress
def review_persona(
    run: Run | JudgmentReading | str | Path,
    human: HumanReading | HumanTable | str | Path,
    *,
    scale: tuple[float, float] | None = None,
    **options: Any,
) -> ReviewRun:
    """Says where personas depart from people, and writes the folder of the review.

    Args:
        run: a run or its folder; or stored judgments of any tool, or their file.
        human: people's ratings: a reading, a table, or a file in any layout.
        scale: lowest and highest score, where neither side says.
        options: the fields of `ReviewConfig`.

    Raises:
        InputError: unreadable input, with all faults; judgments without personas; a persona that
            the run does not have; nothing that both people and panel scored; or an `out` that
            holds another kind of run.
        StoreError: the folder cannot be written.
    """
    config = ReviewConfig.checked(**options)
    doing(READING)
    source = _folder_of(run)
    folder = Path(config.out or (source or Path("runs") / "personas") / ReviewRun.kind)
    if (folder / RUN_FILE).is_file():
        read_run_file(folder, kind=ReviewRun.kind)  # another kind of run is not written over
    dataset, reading, _ = panel_dataset(run, human, texts=texts_of(None, run), scale=scale)
    panel, targets = dataset.panel, targets_of(dataset)
    if panel is None or panel.personas == (ALONE,):
        raise InputError("the judgments name no persona: there is none to review")
    if not targets:
        raise InputError("people rated nothing that the panel scored: see areopagus calibrate")
    names = panel.personas
    if unknown := [name for name in config.personas if name not in names]:
        raise InputError(
            [InputFault("personas", f"the run has no persona {name}") for name in unknown],
            hint=f"It has: {', '.join(names)}.",
        )
    chosen = [name for name in names if not config.personas or name in config.personas]
    doing("comparing personas with people")
    out, responses = Estimates(), dataset.responses
    matched = add_matched(out, dataset, reading, targets[0])
    compared = departing(dataset, targets)
    add_departures(out, compared, names, chosen, responses.respondent, level=config.level)
    rows = [row for name in chosen for row in largest(compared, names, name)]
    _, people, _ = read_people(human if reading is None else reading)
    comments = _comments(people if source else with_unique_ids(people)[0])
    stand_ins = list(stand_ins_of(dataset))
    record = {
        "format": RUN_FORMAT,
        "kind": ReviewRun.kind,
        "state": "complete",
        "versions": versions(),
        "config": config.model_dump(mode="json", exclude={"out"}),
        "run": run_named(run),
        "stand_ins": stand_ins,
        "matched": matched,
        "personas": chosen,
        "panel_personas": list(names),
        "models": list(panel.models),
        "criteria": [departing_on.keys for departing_on in compared],
    }
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    write_estimates(folder, out.frame())
    write_departures(folder, _table_rows(dataset, rows, source, comments))
    with replaced(folder / RUN_FILE) as part:
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        part.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    review = ReviewRun(folder)
    review.write_report()
    return review


def _folder_of(run: Any) -> Path | None:
    if isinstance(run, Run):
        return run.path
    if isinstance(run, str | Path):
        path = Path(run)
        if path.name == RUN_FILE:
            return path.parent
        return path if path.is_dir() else None
    return None


def _table_rows(
    dataset: Dataset,
    rows: Sequence[DepartingResponse],
    source: Path | None,
    comments: Mapping[str, list[tuple[str, str]]],
) -> Iterable[dict[str, Any]]:
    """The responses with their texts, the persona's reasons and people's comments."""
    responses = dataset.responses
    ids = {responses.ids[row.response] for row in rows}
    texts: Mapping[str, tuple[str, str]] = {}
    reasons: dict[tuple[str, str], list[tuple[str, str]]] = {}
    if source is not None and ids:
        texts = read_texts(source, ids)
        frame = judgment_frame(source, ["response_id", "persona", "model", "rationale"])
        frame = frame[frame["rationale"].notna() & frame["response_id"].isin(ids)]
        for name, persona, model, rationale in frame.itertuples(index=False):
            if text := str(rationale).strip():
                reasons.setdefault((str(persona), str(name)), []).append((str(model), text))
    for row in rows:
        name = responses.ids[row.response]
        prompt, response = texts.get(name, ("", ""))
        yield {
            "persona": row.persona,
            "response_id": name,
            "prompt_id": responses.prompt_ids[responses.prompt[row.response]],
            "respondent_id": responses.respondent[row.response] or "",
            "criterion": row.keys["criterion"],
            "kind": row.keys["detail"],
            "score": row.score,
            "others": row.others,
            "people": row.people,
            "gap": row.gap,
            "prompt": prompt,
            "response": response,
            "reasons": reasons.get((row.persona, name), []),
            "comments": comments.get(name, []),
        }


def _comments(people: HumanTable) -> dict[str, list[tuple[str, str]]]:
    """Rater and comment, by response; what a rater wrote of several criteria alike stands once."""
    mine = people.select(people.comment.codes >= 0)
    comments: dict[str, list[tuple[str, str]]] = {}
    columns = (mine.response_id.texts(), mine.rater_id.texts(), mine.comment.texts())
    for name, rater, comment in zip(*(one.tolist() for one in columns), strict=True):
        entry = (rater, comment.strip())
        if entry[1] and entry not in comments.setdefault(name, []):
            comments[name].append(entry)
    return comments
