"""Where personas depart from people: by criterion, by respondent, and on what texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregation.departures import adjusted, gap_departure, order_departure, places
from ..aggregation.estimate import Estimate, undefined
from ..calibration.dataset import Dataset, Target, keys_of
from ..calibration.panel_scores import PanelScores, mean_over_judges
from ..records.estimates import Estimates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LESS, HARSH, LENIENT = "agrees less", "harsh", "lenient"
MARKS_UP, MARKS_DOWN = "marks up", "marks down"

MOST_RESPONDENTS = 50
"""Respondents up to which each is tested by himself."""
MOST_RESPONSES = 10
"""Responses of a persona with the largest departures that are kept."""

NO_LEVEL = "people gave ranks, and ranks hold an order and no level"


@dataclass(frozen=True, slots=True)
class Departing:
    """The responses that people rated and personas scored, on one criterion.

    Attributes:
        target: what people rated.
        scores: shape (R, personas), the mean of each persona over its models.
        human: shape (R,), people's mean; nan where nobody rated.
        prompt: shape (R,).
        n_prompts: codes of prompts.
        has_level: whether people gave scores; of ranks, differences are of places within prompts.
    """

    target: Target
    scores: Floats
    human: Floats
    prompt: Integers
    n_prompts: int
    has_level: bool

    @property
    def keys(self) -> dict[str, str]:
        """The keys of its figures."""
        return keys_of(self.target.ratings)

    def others(self, persona: int) -> Floats:
        """The mean of the other personas, freed from who is missing; shape (R,)."""
        rest = np.delete(self.scores, persona, axis=1)
        if not rest.shape[1]:
            return np.full(len(rest), np.nan)
        return mean_over_judges(rest).score

    def comparable(self, persona: int) -> tuple[Floats, Floats, Floats]:
        """Scores of the persona, of the others, and of people, in one unit: points, or places."""
        mine, others, human = self.scores[:, persona], self.others(persona), self.human
        if self.has_level:
            return mine, others, human
        has_others = bool(np.isfinite(others).any())
        known = np.isfinite(mine) & np.isfinite(human)
        known = known & np.isfinite(others) if has_others else known
        mine, others, human = (
            places(np.where(known, one, np.nan), self.prompt) for one in (mine, others, human)
        )
        return mine, others, human


def departing(dataset: Dataset, targets: Sequence[Target]) -> list[Departing]:
    """Returns what is compared on each criterion, the main one first.

    Args:
        dataset: with a panel.
        targets: of the dataset; of a criterion with ranks and scores, both.
    """
    panel, responses = dataset.panel, dataset.responses
    if panel is None:
        return []
    found = []
    for target in targets:
        human = np.where(np.isfinite(target.human), target.human, np.nan)
        found.append(
            Departing(
                target,
                persona_scores(panel, target.criterion),
                human,
                responses.prompt,
                len(responses.prompt_ids),
                target.ratings.kind == "score",
            )
        )
    return found


def persona_scores(panel: PanelScores, criterion: str | None) -> Floats:
    """Returns the mean of each persona over its models, freed from who is missing.

    Shape (R, personas).
    """
    table = panel.by_judge(criterion)
    each = [mean_over_judges(table[:, p]).score for p in range(table.shape[1])]
    return np.stack(each, axis=1)


def add_departures(
    out: Estimates,
    found: Sequence[Departing],
    names: Sequence[str],
    chosen: Iterable[str],
    respondents: Sequence[str | None],
    *,
    level: float = 0.95,
) -> None:
    """Adds the tables "departures" and "respondents".

    departures, by persona and criterion:
        accuracy, accuracy_others  pair accuracy with people, ties one half: the persona's, and
                                   that of the other personas, each alone
        order                      their difference; the verdict is "agrees less"
        level, level_others        score less people's mean, in points
        severity                   score less the others' mean; the verdict is "harsh" or "lenient"
    respondents, on the main criterion, by persona and respondent:
        gap, gap_others            score less people's mean on its responses, less the same on the
                                   other responses of the prompt: no severity is in it
        preference                 gap of the persona less that of the others; the verdict is
                                   "marks up" or "marks down"

    Verdicts are Holm's at .05 over the personas reviewed and the criteria (or respondents), order,
    level and preference each for itself. See `aggregation.departures` for what p stands for.
    Measured with ten personas on three models, five criteria, three raters, at 9 and 26 prompts of
    six (benchmarks/simulate_personas.py, 300 worlds): anybody named for order where nobody departs
    in .003 to .010 and .000 to .010 (Monte Carlo error .006), for level in .010 and .007, for a
    respondent in .000 and .007; a persona blind to one criterion named on it in .483 and 1.000
    (error .029), anything else then in .003. Coverage of a difference in order .960 and .960.

    Args:
        out: takes the figures.
        found: of `departing`.
        names: the panel's personas.
        chosen: those that are reviewed.
        respondents: of each response.
        level: of the intervals.
    """
    wanted = [names.index(name) for name in chosen]
    rows: list[tuple[dict[str, str], dict[str, Estimate]]] = []
    for one in found:
        n = one.n_prompts
        for p in wanted:
            order = order_departure(one.scores, p, one.human, one.prompt, n_prompts=n, level=level)
            figures = {
                "accuracy": order.own, "accuracy_others": order.others, "order": order.difference,
            }  # fmt: skip
            if one.has_level:
                mine, others, human = one.comparable(p)
                gap = gap_departure(mine, others, human, one.prompt, n_prompts=n, level=level)
                figures |= {
                    "level": gap.own, "level_others": gap.others, "severity": gap.difference,
                }  # fmt: skip
            else:
                figures["severity"] = undefined(NO_LEVEL)
            rows.append(({"persona": names[p], **one.keys}, figures))
    for measure, what, below, above in (
        ("order", "order", LESS, ""),
        ("severity", "level", HARSH, LENIENT),
    ):
        tested = [figures for _, figures in rows if measure in figures]
        family = f"{what}: personas and criteria, Holm"
        for figures, made in zip(
            tested, adjusted([f[measure] for f in tested], family, below, above), strict=True
        ):
            figures[measure] = made
    for keys, figures in rows:
        out.add_all("departures", figures, **keys)
    if found:
        _add_respondents(out, found[0], [(p, names[p]) for p in wanted], respondents, level)


def _add_respondents(
    out: Estimates,
    main: Departing,
    wanted: Sequence[tuple[int, str]],
    respondents: Sequence[str | None],
    level: float,
) -> None:
    of_response = np.array([who or "" for who in respondents], dtype=object)
    rated = np.isfinite(main.human)
    known = sorted({who for who in of_response[rated].tolist() if who})
    if len(known) < 2 or len(known) > MOST_RESPONDENTS:
        reason = f"more than {MOST_RESPONDENTS} respondents: none is tested by itself"
        if len(known) < 2:
            reason = "who wrote the responses is not known, or it was one respondent"
        out.add("respondents", "preference", undefined(reason), **main.keys)
        return
    rows = []
    for p, name in wanted:
        mine, others, human = main.comparable(p)
        for who in known:
            gap = gap_departure(
                mine, others, human, main.prompt, n_prompts=main.n_prompts, level=level,
                part=of_response == who,
            )  # fmt: skip
            rows.append(({"persona": name, "respondent": who, **main.keys}, gap))
    family = "preference: personas and respondents, Holm"
    made = adjusted([gap.difference for _, gap in rows], family, MARKS_DOWN, MARKS_UP)
    for (keys, gap), preference in zip(rows, made, strict=True):
        figures = {"gap": gap.own, "gap_others": gap.others, "preference": preference}
        out.add_all("respondents", figures, **keys)


@dataclass(frozen=True, slots=True)
class DepartingResponse:
    """A response on which a persona stands far from people, and the others less far.

    Attributes:
        persona: whose departure.
        response: place of the response.
        keys: criterion and kind of people's ratings.
        criterion: the panel's criterion, None for the composite.
        score, others, people: means; of ranks, places within the prompt, 1 the lowest.
        gap: score less people's mean, freed from the persona's mean gap over all responses.
        excess: size of it beyond that of the others.
    """

    persona: str
    response: int
    keys: dict[str, str]
    criterion: str | None
    score: float
    others: float
    people: float
    gap: float
    excess: float


def largest(
    found: Sequence[Departing], names: Sequence[str], persona: str, most: int = MOST_RESPONSES
) -> list[DepartingResponse]:
    """Returns the responses on which a persona is farthest from people beyond the others.

    Each response stands once, with the criterion on which it is farthest. They are chosen because
    they are the largest, so part of each is chance.
    """
    p = names.index(persona)
    best: dict[int, DepartingResponse] = {}
    for one in found:
        mine, others, human = one.comparable(p)
        gap, apart = _centred(mine - human), _centred(others - human)
        excess = np.abs(gap) - np.where(np.isfinite(apart), np.abs(apart), 0.0)
        excess[~np.isfinite(excess)] = -math.inf
        for r in np.argsort(-excess, kind="stable")[: 3 * most].tolist():
            if not excess[r] > 0 or (r in best and best[r].excess >= excess[r]):
                continue
            best[r] = DepartingResponse(
                persona, r, one.keys, one.target.criterion,
                *(float(x[r]) for x in (mine, others, human, gap, excess)),
            )  # fmt: skip
    return sorted(best.values(), key=lambda one: (-one.excess, one.response))[:most]


def _centred(values: Floats) -> Floats:
    known = np.isfinite(values)
    found: Floats = values - values[known].mean() if known.any() else values
    return found
