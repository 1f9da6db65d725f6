"""`calibrate` a panel against people, and `agreement` of people alone: estimated once, kept whole.

A calibration asks nobody. Its folder holds what every folder of results holds, and the scores that
later runs are compared with:

run.json               what was compared, with what settings, and what was left out
estimates.parquet      every figure; estimates.csv the same
judge_scores.parquet   the judges' scores of the calibrated responses, for the test of drift
people_scores.parquet  people's ratings on the panel's criterion, to correct results with
report.html            what is shown of it; report.txt the same as text, figures/ its charts
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError, InputFault
from ..experiment.config import AgreementConfig, CalibrateConfig, takes_options
from ..experiment.run_record import versions
from ..progress import READING, doing, shows_progress
from ..records.estimates import Estimates, frame_of, write_estimates
from ..records.humans import HumanReading, HumanTable, JudgmentReading
from ..records.humans.match import Scale
from ..records.run_folder import RUN_FILE, RUN_FORMAT, replaced, unwritable
from ..run import JobRun
from ..shown import Shown
from .copies import copied_raters
from .corrections import add_corrections
from .dataset import COMPOSITE, Dataset, Target, stand_ins_of, targets_of, with_levels
from .decision_study import add_decision_study
from .document import agreement_document, calibration_document, calibration_headline
from .facets import add_many_facets
from .judges import add_judges
from .labels import add_label_people, add_labels, cuts_of
from .matched import add_matched, limitations
from .panel_people import add_alt_test, add_panel
from .paper import add_paper
from .people import add_calibration_items, add_people, contradictions, none_left
from .preferences import add_preferences
from .reading import (
    Inferred,
    Texts,
    inferred_ratings,
    panel_dataset,
    people_dataset,
    run_named,
    texts_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Document
    from ..run import Run

JUDGE_SCORES_FILE = "judge_scores.parquet"
PEOPLE_SCORES_FILE = "people_scores.parquet"

_HINT = (
    "areopagus calibrate RUN HUMANS writes RUN/calibration: name that folder, or a file of "
    "calibrate --json or agreement --json"
)

MOST_KEPT = 2000
"""Calibrated responses whose judge scores are kept for the test of drift; whole prompts, in
order."""


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """How far people agree with each other.

    Attributes:
        record: what run.json says: kind, settings, what was compared and what was left out.
        estimates: every figure, a row each; see `records.estimates`.
    """

    record: dict[str, Any]
    estimates: pd.DataFrame

    def document(self) -> Document:
        """What is shown, made of record and estimates alone."""
        return agreement_document(self.record, self.estimates)

    @property
    def text(self) -> str:
        """The whole document as text of 80 columns."""
        from ..reports.text import render_text

        return "\n".join(render_text(self.document(), full=True))

    def __str__(self) -> str:
        from ..reports.text import render_text

        return "\n".join(render_text(self.document()))

    def __repr__(self) -> str:
        first = " ".join(self.document().headline[:1])
        return f"{type(self).__name__}({first})"


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(Agreement):
    """What people's ratings say about a panel.

    Attributes:
        judge_scores: the judges' scores of the calibrated responses: response_id, prompt_id,
            text_sha256 (null where texts are not known), judge, score.
        people_scores: every response of the run: response_id, respondent, text_sha256, rater,
            score; a row a rating on what map and levels are fitted to, and one without rater and
            score where nobody rated the response. Empty where people gave ranks only.
    """

    judge_scores: pd.DataFrame
    people_scores: pd.DataFrame

    def document(self) -> Document:
        """What is shown, made of record and estimates alone."""
        return calibration_document(self.record, self.estimates)

    def write(self, folder: str | Path, *, figures: bool = True) -> CalibrationRun:
        """Writes the folder of the calibration, which `apply` and `score --plan` take.

        Args:
            folder: made where it is missing.
            figures: whether charts are drawn.

        Raises:
            StoreError: it cannot be written.
        """
        path = Path(folder)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(path, error) from error
        write_estimates(path, self.estimates)
        with replaced(path / JUDGE_SCORES_FILE) as part:
            self.judge_scores.to_parquet(part, index=False)
        with replaced(path / PEOPLE_SCORES_FILE) as part:
            self.people_scores.to_parquet(part, index=False)
        # The page of the run that was calibrated says what was found, from run.json alone.
        record = {
            **self.record,
            "headline": calibration_headline(self.record, self.estimates),
        }
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        with replaced(path / RUN_FILE) as part:
            part.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        run = CalibrationRun(path)
        run.write_report(figures=figures)
        return run


class CalibrationRun(JobRun):
    """The folder of a calibration."""

    kind: ClassVar[str] = "calibration"

    def document(self) -> Document:
        """What is shown, made of run.json and the estimates alone."""
        return calibration_document(self.record, self.estimates)

    @property
    def judge_scores(self) -> pd.DataFrame:
        """As `Calibration.judge_scores`.

        Raises:
            InputError: they cannot be read.
        """
        import pandas as pd

        try:
            return pd.read_parquet(self.path / JUDGE_SCORES_FILE)
        except (OSError, ValueError) as error:
            where = str(self.path / JUDGE_SCORES_FILE)
            raise InputError([InputFault(where, f"cannot be read: {error}")]) from error

    @property
    def people_scores(self) -> pd.DataFrame | None:
        """As `Calibration.people_scores`; None of a folder that was written without them.

        Raises:
            InputError: they cannot be read.
        """
        import pandas as pd

        path = self.path / PEOPLE_SCORES_FILE
        if not path.is_file():
            return None
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error


def figures_of(path: str | Path) -> tuple[Path, Mapping[str, Any], pd.DataFrame]:
    """The place, the record and the estimates of a calibration or an agreement.

    Args:
        path: the folder of a calibration, the run whose calibration it is, or a file of
            `calibrate --json` or `agreement --json`.

    Raises:
        InputError: it is none of these.
    """
    place = Path(path)
    if place.name == RUN_FILE:
        place = place.parent
    if place.is_dir():
        inside = place / CalibrationRun.kind  # where `calibrate RUN` writes by default
        run = CalibrationRun(inside if inside.is_dir() else place)
        return run.path, run.record, run.estimates
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError([InputFault(str(place), "there is no such file")], hint=_HINT) from None
    except (OSError, ValueError, RecursionError) as error:
        told = f"cannot be read: {error}"
        raise InputError([InputFault(str(place), told)], hint=_HINT) from error
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind not in ("calibration", "agreement") or not isinstance(content.get("estimates"), list):
        told = f"must be a calibration's figures, got {kind or 'other JSON'}"
        raise InputError([InputFault(str(place), told)], hint=_HINT)
    return place, content, frame_of(content["estimates"])


@takes_options(CalibrateConfig)
@shows_progress
def calibrate(
    run: Run | JudgmentReading | str | Path,
    human: HumanReading | HumanTable | str | Path,
    *,
    responses: Any = None,
    inferred: Inferred | None = None,
    scale: Scale | None = None,
    **options: Any,
) -> Calibration:
    """Returns what people's ratings say about a panel.

    Args:
        run: a run or its folder; or stored judgments of any tool, or their file.
        human: people's ratings: a reading, a table, or a file in any layout.
        responses: the responses that were judged, as for scoring: adds lengths, sources and
            domains, and hashes of the texts for a later test of drift. Without them lengths and
            hashes are those of the texts that the run's folder keeps, if it does.
        inferred: scores that a panel inferred from raters' written justifications: a run over the
            table of `areopagus humans comments`, or ratings in any layout; compared with people's
            ratings, labelled inferred.
        scale: lowest and highest score that people could give, where the reading does not say;
            or that by criterion, "rest" for all others.
        options: as below; `on_progress` is that of `Panel.score_many`.

    Raises:
        InputError: unreadable input, with all faults; nobody rated a judged response; people agree
            less than chance would have them on every criterion (one of several is left out and
            named); or an option that is none or out of range.
    """
    config = CalibrateConfig.checked(**options)
    cuts = cuts_of(config.cut)
    doing(READING)
    texts = texts_of(responses, run)
    dataset, reading, identity = panel_dataset(run, human, texts=texts, scale=scale)
    of_comments = None
    if inferred is not None:
        of_comments, told = inferred_ratings(inferred, dataset)
        dataset = replace(dataset, notices=(*dataset.notices, *told))
    targets = targets_of(dataset)
    chance: dict[str, Any] = {"level": config.level, "seed": config.seed}
    out = Estimates()
    doing("comparing people with people")
    add_people(out, dataset, target=targets[0] if targets else None, level=config.level)
    add_label_people(out, dataset, level=config.level)
    add_preferences(out, dataset, level=config.level)
    everybody, had_composite = dataset, any(map(_is_composite, targets))
    if refused := contradictions(out.frame()):
        dataset = dataset.without(frozenset((one.criterion, one.kind) for one in refused))
        cuts = {k: v for k, v in cuts.items() if (k, "label") not in dataset.refused}
        targets = targets_of(dataset)
        if not (targets or dataset.preferences or dataset.labels.people):
            raise none_left(refused)
    copies = [] if dataset.has_unnamed_raters else copied_raters(dataset, targets)
    if copies:
        dataset = dataset.without_raters({one.rater for one in copies})
        targets = targets_of(dataset)
    target, levels = targets[0] if targets else None, with_levels(targets)
    matched = add_matched(out, everybody, reading, target)
    doing("comparing the panel with people")
    add_panel(out, dataset, targets, **chance)
    add_labels(out, dataset, cuts=cuts, rated=config.rated, epsilon=config.epsilon, **chance)
    doing("comparing judges")
    if target is not None:
        add_judges(out, dataset, target, level=config.level)
    if config.ruler:
        doing("fitting the many-facet model")
        add_many_facets(out, dataset, **chance)
    doing("comparing sizes of the panel")
    add_decision_study(out, dataset, target, **chance)
    doing("fitting corrections")
    note = add_corrections(out, dataset, target, levels=levels, **chance)
    doing("comparing the panel with one person")
    if dataset.ratings:
        add_alt_test(out, dataset, target, epsilon=config.epsilon, seed=config.seed)
    doing("computing the paper's figures")
    add_calibration_items(out, dataset)
    add_paper(out, dataset, target=target, inferred=of_comments, level=config.level)
    record = _record("calibration", config, dataset, matched) | {
        "run": run_named(run),
        "composite_refused": had_composite and not any(map(_is_composite, targets)),
        "copies": [one._asdict() for one in copies],
        "n_raters_left": target.ratings.n_raters if target is not None else 0,
        "panel": identity,
        "target": _described(target),
        "levels": _described(levels),
        "stand_ins": list(stand_ins_of(dataset)),
        "map_note": note,
    }
    return Calibration(
        record, out.frame(), _judge_scores(dataset, target, texts),
        _people_scores(dataset, levels, texts),
    )  # fmt: skip


@takes_options(AgreementConfig)
@shows_progress
def agreement(
    human: HumanReading | HumanTable | str | Path,
    *,
    scale: Scale | None = None,
    **options: Any,
) -> Agreement:
    """Returns how far people agree with each other.

    Args:
        human: people's ratings: a reading, a table, or a file in any layout.
        scale: lowest and highest score, where the reading does not say; or that by criterion,
            "rest" for all others.
        options: as below; `on_progress` is that of `Panel.score_many`.

    Raises:
        InputError: unreadable input, with all faults, or an option that is none or out of range.
    """
    config = AgreementConfig.checked(**options)
    doing(READING)
    dataset, reading = people_dataset(human, scale=scale)
    doing("comparing people with people")
    out = Estimates()
    matched = add_matched(out, dataset, reading, None)
    add_people(out, dataset, level=config.level)
    add_label_people(out, dataset, level=config.level)
    add_preferences(out, dataset, level=config.level)
    if config.ruler:
        add_many_facets(out, dataset, level=config.level, seed=config.seed)
    add_calibration_items(out, dataset)
    add_paper(out, dataset, level=config.level)
    return Agreement(_record("agreement", config, dataset, matched), out.frame())


def _record(
    kind: str, config: AgreementConfig, dataset: Dataset, matched: dict[str, Any]
) -> dict[str, Any]:
    return {
        "format": RUN_FORMAT,
        "kind": kind,
        "state": "complete",
        "versions": versions(),
        "config": config.model_dump(mode="json"),
        "scale": _scale_json(dataset.scale),
        "matched": matched,
        "limitations": [list(one) for one in limitations(dataset)],
    }


def _scale_json(scale: Scale | None) -> list[float] | dict[str, list[float]] | None:
    """People's scale: [lowest, highest], or that by criterion ("rest" for all others)."""
    if isinstance(scale, Mapping):
        return {name: list(ends) for name, ends in scale.items()}
    return list(scale) if scale is not None else None


def _is_composite(target: Target) -> bool:
    return target.ratings.criterion == COMPOSITE


def _described(target: Target | None) -> dict[str, str | None] | None:
    """A target's criterion and kind as in the keys; of_panel is null for the panel's composite."""
    if target is None:
        return None
    one = target.ratings
    return {"criterion": one.criterion, "kind": one.kind, "of_panel": target.criterion}


def _judge_scores(dataset: Dataset, target: Target | None, texts: Texts) -> pd.DataFrame:
    import pandas as pd

    columns = ["response_id", "prompt_id", "text_sha256", "judge", "score"]
    panel, responses = dataset.panel, dataset.responses
    if panel is None or target is None:
        return pd.DataFrame(columns=columns)
    rows = np.flatnonzero(target.both)
    order = rows[np.argsort(responses.prompt[rows], kind="stable")][:MOST_KEPT]
    table = panel.by_judge(target.criterion).reshape(len(responses), -1)[order]
    judges = np.array(panel.judge_names(), dtype=object)
    place, judge = np.nonzero(np.isfinite(table))
    ids = [responses.ids[r] for r in order.tolist()]
    prompts = [responses.prompt_ids[responses.prompt[r]] for r in order.tolist()]
    hashes = [texts.sha256.get(name) for name in ids]
    columns_of = {"response_id": ids, "prompt_id": prompts, "text_sha256": hashes}
    made = {name: np.array(given, dtype=object)[place] for name, given in columns_of.items()}
    made |= {"judge": judges[judge], "score": np.round(table[place, judge], 6)}
    return pd.DataFrame(made, columns=columns)


def _people_scores(dataset: Dataset, levels: Target | None, texts: Texts) -> pd.DataFrame:
    import pandas as pd

    columns = ["response_id", "respondent", "text_sha256", "rater", "score"]
    if levels is None:
        return pd.DataFrame(columns=columns)
    ids, ratings = dataset.responses.ids, levels.ratings
    is_rated = np.zeros(len(ids), dtype=bool)
    is_rated[ratings.response] = True
    others = np.flatnonzero(~is_rated).tolist()
    rows = [*ratings.response.tolist(), *others]
    raters = [dataset.rater_ids[code] for code in ratings.rater.tolist()]
    return pd.DataFrame(
        {
            "response_id": [ids[row] for row in rows],
            "respondent": [dataset.responses.respondent[row] for row in rows],
            "text_sha256": [texts.sha256.get(ids[row]) for row in rows],
            "rater": [*raters, *([None] * len(others))],
            "score": [*ratings.value.tolist(), *([math.nan] * len(others))],
        },
        columns=columns,
    )
