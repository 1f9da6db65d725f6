"""What was matched and what was not, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..records.humans import HumanReading, misfits
from ..records.humans.match import OtherPrompt, OutOfRange, Places, Repeated
from ..records.humans.misfits import Misfit
from ..records.types import STATUSES
from .material import Material, Target

SHOWN = 1000


@dataclass(frozen=True, slots=True)
class PanelMatched:
    """The panel's side.

    Attributes:
        judges, personas, models, repeats: the panel.
        by_status: judgments by status; planned is their sum.
        n_responses: responses of the run.
        n_without_score: those below the quorum, or that nobody scored.
        n_rated, n_calibrated: those that people rated; those rated and scored.
        n_prompts_calibrated: prompts of the latter.
    """

    judges: int
    personas: int
    models: int
    repeats: int
    by_status: Mapping[str, int]
    n_responses: int
    n_without_score: int
    n_rated: int
    n_calibrated: int
    n_prompts_calibrated: int


@dataclass(frozen=True, slots=True)
class Matched:
    """What a report rests on, and what was left out of it.

    Attributes:
        n_raters, n_prompts, n_responses, n_ratings: of the ratings that count.
        ratings_by_criterion: "overall, rank" and the like to the number of ratings.
        n_calibration_ratings: ratings of calibration items, kept apart.
        n_missing: empty rating cells in the file.
        exclusions: reason to rows or ratings left out on reading.
        exclusion_rows: reason to the first hundred of those rows.
        n_repeated: ratings beyond a rater's first of a response, left out.
        repeated: (rater, response, criterion, kind, values, rows) of the first thousand of those;
            the first value is the one that stands.
        n_without_match: ratings of responses that the run does not have, left out.
        unmatched: (id, number of ratings, rows) of those; a thousand rows an id at most.
        unrated: ids of the run's responses that nobody rated (the first thousand).
        n_unrated: all of them.
        n_out_of_range: ratings off the scale, left out.
        out_of_range: (rater, response, criterion, value, row) of the first thousand.
        unknown_raters: (rater, number of ratings) that the roster does not know; they count.
        unknown_rater_rows: (rater, rows) of those.
        other_prompts: (response, prompt in the file, prompt in the run, number of ratings); the
            run's prompt holds.
        other_prompt_rows: the rows of each of those.
        panel: the panel's side, None without one.
        notices: what was assumed.
    """

    n_raters: int
    n_prompts: int
    n_responses: int
    n_ratings: int
    ratings_by_criterion: Mapping[str, int]
    n_calibration_ratings: int
    n_missing: int
    exclusions: Mapping[str, int]
    n_repeated: int
    n_without_match: int
    unmatched: tuple[Places, ...]
    unrated: tuple[str, ...]
    n_unrated: int
    n_out_of_range: int
    out_of_range: tuple[OutOfRange, ...]
    unknown_raters: tuple[tuple[str, int], ...]
    other_prompts: tuple[tuple[str, str, str, int], ...]
    panel: PanelMatched | None
    notices: tuple[str, ...]
    exclusion_rows: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    repeated: tuple[Repeated, ...] = ()
    unknown_rater_rows: tuple[tuple[str, tuple[int, ...]], ...] = ()
    other_prompt_rows: tuple[tuple[int, ...], ...] = ()

    def misfits(self) -> tuple[Misfit, ...]:
        """Returns what does not fit, with its rows, for print."""
        rows = dict(self.unknown_rater_rows)
        of_prompts = self.other_prompt_rows or ((),) * len(self.other_prompts)
        found = (
            misfits.unmatched(self.n_without_match, self.unmatched),
            misfits.repeated(self.n_repeated, self.repeated),
            misfits.off_scale(self.n_out_of_range, self.out_of_range),
            misfits.unknown_raters([Places(n, k, rows.get(n, ())) for n, k in self.unknown_raters]),
            misfits.other_prompts(
                [
                    OtherPrompt(*one, at)
                    for one, at in zip(self.other_prompts, of_prompts, strict=True)
                ]
            ),
        )
        return tuple(one for one in found if one.n)


def what_was_matched(
    material: Material, reading: HumanReading | None, target: Target | None
) -> Matched:
    """Returns the counts of a material, with what its file left out."""
    report = material.match
    strangers = misfits.joined(report.unknown_raters) if report else ()
    gone = {one.id for one in report.unmatched_ratings} if report else set()
    codes = [(one.rater, one.prompt, one.response) for one in material.ratings]
    raters, prompts, rated = (
        np.unique(np.concatenate([parts[k] for parts in codes])) if codes else np.zeros(0)
        for k in range(3)
    )
    calibration = material.calibration
    return Matched(
        n_raters=len(raters),
        n_prompts=len(prompts),
        n_responses=len(rated),
        n_ratings=sum(len(one) for one in material.ratings),
        ratings_by_criterion={one.name: len(one) for one in material.ratings},
        n_calibration_ratings=sum(len(one) for one in calibration.ratings) if calibration else 0,
        n_missing=reading.n_missing if reading else 0,
        exclusions={one.reason: one.n for one in reading.exclusions} if reading else {},
        n_repeated=material.n_repeated,
        n_without_match=material.n_without_match,
        panel=_panel(material, target, len(rated)),
        notices=(*(reading.notices if reading else ()), *material.notices),
        unmatched=report.unmatched_ratings if report else (),
        unrated=report.unrated_responses[:SHOWN] if report else (),
        n_unrated=len(report.unrated_responses) if report else 0,
        n_out_of_range=report.n_out_of_range if report else 0,
        out_of_range=report.out_of_range if report else (),
        unknown_raters=tuple((name, n) for name, n, _ in strangers),
        unknown_rater_rows=tuple((name, rows) for name, _, rows in strangers),
        other_prompts=tuple(
            (one.response_id, one.prompt_id, one.expected, one.n)
            for one in (report.other_prompts if report else ())
        ),
        other_prompt_rows=tuple(one.lines for one in (report.other_prompts if report else ())),
        repeated=tuple(
            # those of responses that the run does not have are among the unmatched already
            one for one in (report.repeated if report else ()) if one.response_id not in gone
        ),
        exclusion_rows={one.reason: one.lines for one in reading.exclusions} if reading else {},
    )  # fmt: skip


def _panel(material: Material, target: Target | None, n_rated: int) -> PanelMatched | None:
    panel = material.panel
    if panel is None:
        return None
    P, M, T = panel.shape
    score = target.panel if target is not None else panel.ensemble()
    both = target.both if target is not None else np.zeros(len(score), dtype=bool)
    there = np.isfinite(panel.scores).any(axis=(0, 3, 4))
    asked = sum(panel.status.values(), np.zeros_like(there, dtype=np.int64)) > 0
    known = [name for name in (*STATUSES, *panel.status) if name in panel.status]
    return PanelMatched(
        judges=int((there | asked).sum()),
        personas=P,
        models=M,
        repeats=T,
        by_status={name: int(panel.status[name].sum()) for name in dict.fromkeys(known)},
        n_responses=len(score),
        n_without_score=int((~np.isfinite(score)).sum()),
        n_rated=n_rated,
        n_calibrated=int(both.sum()),
        n_prompts_calibrated=len(np.unique(material.responses.prompt[both])),
    )
