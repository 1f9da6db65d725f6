"""Where personas depart from people: by criterion, by respondent, and on what texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..aggregation.departures import GapDeparture, gap_departure, order_departure, places
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from ..aggregation.rules import decided
from ..calibration.dataset import Dataset, Target, keys_of
from ..calibration.panel_scores import PanelScores, mean_over_judges
from ..records.estimates import Estimates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

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
        order                      their difference
        level, level_others        score minus people's mean, in points
        severity                   score minus the others' mean
    respondents, on the main criterion, by persona and respondent:
        gap, gap_others            score minus people's mean on its responses, minus the same on
                                   the other responses of the prompt: no severity is in it
        preference                 gap of the persona minus that of the others

    Verdicts are those of the one rule over the personas reviewed and the criteria (or respondents);
    order, and each of the two differences in level, for itself. Level and preference depart where
    both differences do (`aggregation.departures.departs`). Measured in
    benchmarks/simulate_personas.py.

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
    orders: list[Floats] = []
    gaps: dict[int, GapDeparture] = {}
    for one in found:
        n = one.n_prompts
        for p in wanted:
            order = order_departure(one.scores, p, one.human, one.prompt, n_prompts=n, level=level)
            orders.append(order.by_prompt)
            figures = {
                "accuracy": order.own, "accuracy_others": order.others, "order": order.difference,
            }  # fmt: skip
            if one.has_level:
                mine, others, human = one.comparable(p)
                gaps[len(rows)] = gap_departure(mine, others, human, one.prompt, n_prompts=n)
            else:
                figures["severity"] = undefined(NO_LEVEL)
            rows.append(({"persona": names[p], **one.keys}, figures))
    if rows:
        family = ["differences in order"] * len(orders)
        of_order = decided(np.stack(orders, axis=1), families=family, bounds=(-1, 1), level=level)
        for (_, figures), row in zip(rows, of_order, strict=True):
            plain = figures["order"]
            has_values = row.is_defined and plain.is_defined
            figures["order"] = (
                replace(row, method=plain.method, n=plain.n, n_planned=None)
                if has_values else replace(plain, verdict="undefined")
            )  # fmt: skip
    decided_gaps = _decided_gaps(list(gaps.values()), "levels", level)
    for k, (own, apart, difference) in zip(gaps, decided_gaps, strict=True):
        rows[k][1].update(level=own, level_others=apart, severity=difference)
    for keys, figures in rows:
        out.add_all("departures", figures, **keys)
    if found:
        _add_respondents(out, found[0], [(p, names[p]) for p in wanted], respondents, level)


def _decided_gaps(
    gaps: Sequence[GapDeparture], what: str, level: float
) -> list[tuple[Estimate, Estimate, Estimate]]:
    """Of each the difference to people, that of the others, and the difference between them.

    The first and the last are decided, all of a kind together.
    """
    if not gaps:
        return []
    sides = [
        decided(
            np.stack([getattr(gap, name) for gap in gaps], axis=1),
            families=[f"{what} against {whom}"] * len(gaps), of=of, level=level,
        )
        for name, whom, of in (
            ("own", "people", "score minus people's mean"),
            ("difference", "the others", "minus the others' mean"),
        )
    ]  # fmt: skip
    rows = []
    for gap, own, apart in zip(gaps, *sides, strict=True):
        others = t_interval(gap.others, level=level).of("the others' mean minus people's")
        difference = replace(apart, n_planned=None)
        if gap.reason is not None:
            others = difference = replace(undefined(gap.reason), verdict="undefined")
        rows.append((replace(own, n_planned=None), others, difference))
    return rows


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
    keys, gaps = [], []
    for p, name in wanted:
        mine, others, human = main.comparable(p)
        for who in known:
            keys.append({"persona": name, "respondent": who, **main.keys})
            gaps.append(
                gap_departure(
                    mine, others, human, main.prompt, n_prompts=main.n_prompts,
                    part=of_response == who,
                )
            )  # fmt: skip
    for at, (own, apart, difference) in zip(
        keys, _decided_gaps(gaps, "respondents", level), strict=True
    ):
        figures = {"gap": own, "gap_others": apart, "preference": difference}
        out.add_all("respondents", figures, **at)


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
