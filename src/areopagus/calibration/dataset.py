"""`Dataset`: the responses, people's ratings and the panel's judgments of one calibration."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.pair_counting import round_ties
from ..aggregation.preferences import Preferences, make_preferences
from ..aggregation.ratings import Ratings, make_ratings, ranked_among_all
from ..records.humans import Coded, HumanTable, LabelTable, MatchReport, PreferenceTable
from ..records.humans.match import Scale, scale_of
from ..records.types import OVERALL
from .label_sets import NO_LABELS, LabelSet
from .panel_scores import PanelScores
from .responses import Responses, make_responses

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

COMPOSITE = "composite"
"""The criterion of a rater's mean over all dimensions, made where nobody was asked for overall."""

ONE_PROMPT = "(one prompt)"

_STAND_IN = re.compile(r"(?<![\w/])offline/[\w.:-]+")
"""How the package's own stand-ins are called, alone or within the name of a judge."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What people and panel said, as arrays.

    Attributes:
        responses: all responses: the run's, or, without a panel, those rated.
        ratings: people's ratings by criterion and kind, of responses that are known.
        rater_ids: names of the raters' codes.
        calibration: ratings of calibration items, with their own responses.
        panel: the panel's judgments, or None.
        match: how the ratings fit the run, or None without one.
        scale: lowest and highest score that people could give, where known; may be by criterion.
        panel_scale: that of the panel, where known.
        has_unnamed_raters: whether a rater's code is a place: another person on each response.
        refused: criterion and kind of what `without` left out.
        n_repeated: ratings left out because the same rater had rated the same response before.
        n_without_match: ratings left out because the run has no such response.
        notices: what was assumed, one sentence each.
        preferences: people's preferences between two responses, by criterion.
        n_preferences_left_out: of them those with a response that the run does not have, or of two
            prompts.
        labels: people's labels, and a panel's where it gave any.
    """

    responses: Responses
    ratings: tuple[Ratings, ...]
    rater_ids: tuple[str, ...]
    calibration: CalibrationRatings | None
    panel: PanelScores | None
    match: MatchReport | None
    scale: Scale | None
    n_repeated: int
    n_without_match: int
    notices: tuple[str, ...]
    preferences: tuple[Preferences, ...] = ()
    n_preferences_left_out: int = 0
    labels: LabelSet = NO_LABELS
    panel_scale: tuple[float, float] | None = None
    has_unnamed_raters: bool = False
    refused: frozenset[tuple[str, str]] = frozenset()

    def without(self, refused: frozenset[tuple[str, str]]) -> Dataset:
        """Returns the dataset without these criteria of people.

        Args:
            refused: criterion, and what people gave: score, rank, label or preference.
        """
        kept = tuple(one for one in self.ratings if (one.criterion, one.kind) not in refused)
        labels = tuple(one for one in self.labels.people if (one.criterion, "label") not in refused)
        compared = tuple(
            one for one in self.preferences if (one.criterion, "preference") not in refused
        )
        return replace(
            self, ratings=kept, labels=replace(self.labels, people=labels), preferences=compared,
            refused=refused,
        )  # fmt: skip

    def without_raters(self, names: Collection[str]) -> Dataset:
        """Returns the dataset without the ratings of these raters."""
        codes = [code for code, name in enumerate(self.rater_ids) if name in names]
        left = [one.select(~np.isin(one.rater, codes)) for one in self.ratings]
        return replace(self, ratings=tuple(one for one in left if len(one)))

    def scale_of(self, criterion: str) -> tuple[float, float] | None:
        """Returns the lowest and highest score that people could give on a criterion.

        That of the composite is the scale which all criteria share, or the unit (`on_one_scale`).
        """
        if criterion != COMPOSITE:
            return scale_of(self.scale, criterion)
        parts = [one for one in self.ratings if one.kind == "score" and one.criterion != OVERALL]
        found = on_one_scale(parts, self.scale)
        return found[1] if found is not None else None


@dataclass(frozen=True, slots=True)
class CalibrationRatings:
    """Ratings of calibration items.

    Attributes:
        responses: their responses.
        item_type: the item type of each of those responses.
        ratings: by criterion and kind.
        item_role: what the file says each response is there for ("weak"), None where it does not.
    """

    responses: Responses
    item_type: tuple[str, ...]
    ratings: tuple[Ratings, ...]
    item_role: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that people rated and the panel scored.

    Attributes:
        name: "overall, rank", "clarity, score", …
        ratings: people's.
        panel: shape (R,), the panel's score of each response; see `PanelScores.mean`.
        plain: shape (R,), the plain mean of the judges that are there.
        human: shape (R,), the mean over raters, higher is better; nan where nobody rated.
        n_raters: shape (R,).
        criterion: the panel's criterion, None for its composite.
        scale: the scale of people's scores and the panel's, where known. People's are carried to
            the panel's scale where they are on another, so that levels can be compared.
    """

    name: str
    ratings: Ratings
    panel: Floats
    plain: Floats
    human: Floats
    n_raters: Integers
    criterion: str | None
    scale: tuple[float, float] | None = None

    @property
    def both(self) -> npt.NDArray[np.bool_]:
        """Shape (R,): rated by people and scored by the panel."""
        return np.isfinite(self.panel) & np.isfinite(self.human)

    def is_across(self, prompt: Integers) -> bool:
        """Whether every prompt has one such response, so that order is that across prompts.

        Args:
            prompt: shape (R,), codes of the responses' prompts.
        """
        codes = prompt[self.both]
        return len(codes) > 1 and len(np.unique(codes)) == len(codes)

    @property
    def moved(self) -> Floats:
        """Points by which the additive fit moves rated responses; 0 where no judge is missing."""
        found: Floats = (self.panel - self.plain)[self.both]
        return found


def keys_of(ratings: Ratings) -> dict[str, str]:
    """The keys of the estimates of these ratings: the criterion, and "score" or "rank"."""
    return {"criterion": ratings.criterion, "detail": ratings.kind}


def with_unique_ids(*tables: HumanTable | LabelTable | PreferenceTable) -> tuple[Any, ...]:
    """Returns the tables with "prompt/response" as response ids where ids recur under prompts.

    Files often call the responses of every prompt A, B, C; one id then names several responses.
    """
    if not any(_recurs(table) for table in tables):
        return tables
    return tuple(_composed(table) for table in tables)


def _names_of(table: HumanTable | LabelTable | PreferenceTable) -> tuple[str, ...]:
    """The columns that name responses."""
    if isinstance(table, PreferenceTable):
        return ("response_a", "response_b")
    return ("response_id",)


def _recurs(table: HumanTable | LabelTable | PreferenceTable) -> bool:
    known = table.prompt_id.codes >= 0
    prompts: dict[str, set[int]] = {}
    for column in _names_of(table):
        coded: Coded = getattr(table, column)
        pairs = np.unique(np.stack([coded.codes[known], table.prompt_id.codes[known]]), axis=1)
        for name, prompt in pairs.T.tolist():
            prompts.setdefault(coded.names[name], set()).add(prompt)
    return any(len(mine) > 1 for mine in prompts.values())


def _composed(
    table: HumanTable | LabelTable | PreferenceTable,
) -> HumanTable | LabelTable | PreferenceTable:
    made: dict[str, Any] = {}
    for column in _names_of(table):
        coded: Coded = getattr(table, column)
        width = len(coded.names)
        key = table.prompt_id.codes.astype(np.int64) * width + coded.codes
        found, codes = np.unique(key, return_inverse=True)
        names = tuple(
            _named_under(
                None if k < 0 else table.prompt_id.names[int(k) // width],
                coded.names[int(k) % width],
            )
            for k in found
        )
        made[column] = Coded(codes.reshape(-1).astype(np.int32), names)
    return replace(table, **made)


def _named_under(prompt: str | None, name: str) -> str:
    """ "prompt/response", which some readers of files have made already."""
    return name if prompt is None or name.startswith(f"{prompt}/") else f"{prompt}/{name}"


def texts_by_response(table: HumanTable | LabelTable, column: str) -> dict[str, str]:
    """Returns what a text column says of each response: the first text, where there is one."""
    coded: Coded | None = getattr(table, column, None)  # labels have few columns
    if coded is None:
        return {}
    known = np.flatnonzero(coded.codes >= 0)
    responses, first = np.unique(table.response_id.codes[known], return_index=True)
    return {
        table.response_id.names[response]: coded.names[coded.codes[known[at]]]
        for response, at in zip(responses.tolist(), first.tolist(), strict=True)
    }


def responses_of(
    table: HumanTable,
    preferences: PreferenceTable | None = None,
    labels: LabelTable | None = None,
) -> tuple[Responses, tuple[str, ...]]:
    """Returns the responses of a table of ratings, of labels and of preferences.

    Args:
        table: the ratings.
        preferences, labels: of the same people; their responses follow those of the ratings.
    """
    ids = [table.response_id.names[code] for code in np.unique(table.response_id.codes).tolist()]
    prompts = texts_by_response(table, "prompt_id")
    others: dict[str, str | None] = {}
    if labels is not None:
        others |= dict.fromkeys(labels.response_id.used())
        others |= texts_by_response(labels, "prompt_id")
    if preferences is not None:
        others |= prompts_of_preferences(preferences)
    known = set(ids)
    ids += [name for name in others if name not in known]
    prompts |= {k: v for k, v in others.items() if v is not None and k not in prompts}
    notices: tuple[str, ...] = ()
    if missing := sum(name not in prompts for name in ids):
        notices = (
            f"{missing} responses have no prompt_id: they are taken as answers to one prompt",
        )
    said = {c: texts_by_response(table, c) for c in ("source", "model", "domain")}
    made = make_responses(
        ids,
        [prompts.get(name, ONE_PROMPT) for name in ids],
        respondent=[None] * len(ids),
        source=[said["source"].get(name) for name in ids],
        model=[said["model"].get(name) for name in ids],
        domain=[said["domain"].get(name) for name in ids],
    )
    return made, notices


def ratings_of(table: HumanTable, responses: Responses) -> tuple[tuple[Ratings, ...], int, int]:
    """Returns ratings by criterion and kind, the number repeated, and the number without a match.

    Args:
        table: the ratings; those of responses that are not known are left out and counted.
        responses: the responses; their prompts hold, whatever the table says.
    """
    index = {name: place for place, name in enumerate(responses.ids)}
    place = np.array([index.get(name, -1) for name in table.response_id.names], dtype=np.int64)
    where = place[table.response_id.codes] if len(table) else np.zeros(0, dtype=np.int64)
    known = where >= 0
    made: list[Ratings] = []
    n_repeated = 0
    for code, criterion in enumerate(table.criterion.names):
        for is_rank in (True, False):
            mine = known & (table.criterion.codes == code) & (table.is_rank == is_rank)
            if not mine.any():
                continue
            value = -table.value[mine] if is_rank else table.value[mine]
            ratings, repeated = make_ratings(
                criterion,
                "rank" if is_rank else "score",
                table.rater_id.codes[mine].astype(np.int64),
                where[mine],
                responses.prompt[where[mine]],
                value,
            )
            made.append(ranked_among_all(ratings))
            n_repeated += repeated
    made.sort(key=lambda one: (one.criterion != OVERALL, one.kind != "rank"))
    return tuple(made), n_repeated, int((~known).sum())


def prompts_of_preferences(table: PreferenceTable) -> dict[str, str | None]:
    """Returns each response that was compared, and its prompt, None where the file has none."""
    found: dict[str, str | None] = {}
    columns = (table.response_a.texts(), table.response_b.texts(), table.prompt_id.texts())
    for a, b, prompt in zip(*(column.tolist() for column in columns), strict=True):
        for name in (a, b):
            found[name] = found.get(name) or prompt
    return found


def preferences_of(
    table: PreferenceTable, responses: Responses, rater_ids: tuple[str, ...]
) -> tuple[tuple[Preferences, ...], tuple[str, ...], int]:
    """Returns preferences by criterion, the raters with those who compared, and how many are out.

    Left out are those with a response that is not known, or of responses to two prompts.

    Args:
        table: the preferences, one a rater and pair.
        responses: the responses; their prompts hold, whatever the table says.
        rater_ids: names of the raters' codes so far.
    """
    raters = {name: code for code, name in enumerate(rater_ids)}
    who = np.array(
        [raters.setdefault(name, len(raters)) for name in table.rater_id.names], dtype=np.int64
    )
    index = {name: place for place, name in enumerate(responses.ids)}
    a, b = (
        np.array([index.get(name, -1) for name in column.names] or [-1], dtype=np.int64)[
            column.codes
        ]
        for column in (table.response_a, table.response_b)
    )
    known = (a >= 0) & (b >= 0)
    if len(responses):
        known &= responses.prompt[a] == responses.prompt[b]
    made = []
    for code, criterion in enumerate(table.criterion.names):
        mine = known & (table.criterion.codes == code)
        if mine.any():
            made.append(
                make_preferences(
                    criterion, who[table.rater_id.codes[mine]], responses.prompt[a[mine]], a[mine],
                    b[mine], table.won_a[mine],
                )[0]
            )  # fmt: skip
    made.sort(key=lambda one: one.criterion != OVERALL)
    return tuple(made), tuple(raters), int((~known).sum())


UNIT = (0.0, 1.0)


def on_one_scale(
    ratings: Sequence[Ratings], scale: Scale | None
) -> tuple[list[Ratings], tuple[float, float] | None] | None:
    """Returns scores of several criteria so that they may be averaged or pooled, and their scale.

    They stay as they are where all criteria have one scale, or none is known. Where scales differ,
    each is carried to the unit, lowest score 0 and highest 1; None where one of them is not known.
    """
    ends = [scale_of(scale, one.criterion) for one in ratings]
    if len(set(ends)) < 2:
        return list(ratings), next(iter(ends), None)
    known = [one for one in ends if one is not None]
    if len(known) < len(ends):
        return None
    return [carried(r, own, UNIT) for r, own in zip(ratings, known, strict=True)], UNIT


def carried(ratings: Ratings, own: tuple[float, float], to: tuple[float, float]) -> Ratings:
    """Returns scores in a straight line from their own scale to another."""
    slope = (to[1] - to[0]) / (own[1] - own[0])
    return replace(ratings, value=to[0] + slope * (ratings.value - own[0]))


def composite_of(ratings: Sequence[Ratings], scale: Scale | None = None) -> Ratings | None:
    """Returns each rater's mean over the scored dimensions, of responses rated on all of them.

    None with fewer than two dimensions, where an overall score was asked for, or where dimensions
    are on different scales and one of these is not known (`on_one_scale`).
    """
    scored = [one for one in ratings if one.kind == "score"]
    parts = [one for one in scored if one.criterion != OVERALL]
    if len(parts) < 2 or len(parts) < len(scored):
        return None
    alike = on_one_scale(parts, scale)
    if alike is None:
        return None
    parts = alike[0]
    width = max(int(one.response.max()) for one in parts) + 1
    key = np.concatenate([one.rater * width + one.response for one in parts])
    value = np.concatenate([one.value for one in parts])
    prompt = np.concatenate([one.prompt for one in parts])
    found, first, inverse, counts = np.unique(
        key, return_index=True, return_inverse=True, return_counts=True
    )
    whole = counts == len(parts)
    # Sums in another order differ in the last digit: that is no order of responses.
    mean = np.round(np.bincount(inverse.reshape(-1), weights=value) / counts, 12)
    if not whole.any():
        return None
    rater, response = np.divmod(found[whole], width)
    return make_ratings(COMPOSITE, "score", rater, response, prompt[first][whole], mean[whole])[0]


def targets_of(dataset: Dataset) -> tuple[Target, ...]:
    """Returns what people and panel both judged, the main one first.

    People's `overall` and composite stand against the panel's composite, a dimension against the
    same dimension. There is no composite where scores of a criterion were refused: the panel's
    holds that criterion. The main target is the overall ranking, else the overall score, else the
    mean over the dimensions, else the first dimension.
    """
    panel = dataset.panel
    if panel is None:
        return ()
    ratings = list(dataset.ratings)
    composite = composite_of(dataset.ratings, dataset.scale)
    if composite is not None and not any(kind == "score" for _, kind in dataset.refused):
        ratings.append(composite)
    found: list[Target] = []
    for one in ratings:
        is_judged, criterion = panel_criterion(one.criterion, panel)
        if not is_judged:
            continue
        own, to = dataset.scale_of(one.criterion), dataset.panel_scale
        if one.kind == "score" and own is not None and to is not None and own != to:
            one, own = carried(one, own, to), to  # noqa: PLW2901
        elif own is None and to is not None and _is_within(one.value, to):
            own = to
        human, counts = one.mean_by_response(len(dataset.responses))
        human = round_ties(human)
        score, plain, _ = panel.mean(criterion)
        found.append(Target(one.name, one, score, plain, human, counts, criterion, own))
    found.sort(
        key=lambda t: (
            t.ratings.criterion != OVERALL,
            t.ratings.criterion != COMPOSITE,
            t.ratings.kind != "rank",
        )
    )
    return tuple(found)


def panel_criterion(criterion: str, panel: PanelScores) -> tuple[bool, str | None]:
    """Returns whether the panel judged what people did, and by which criterion (None: all)."""
    if criterion in panel.criteria and criterion != OVERALL:
        return True, criterion
    return criterion in (OVERALL, COMPOSITE), None


def _is_within(values: Floats, ends: tuple[float, float]) -> bool:
    return bool((values >= ends[0]).all() and (values <= ends[1]).all())


def is_stand_in(name: str) -> bool:
    """Whether a model, or the name of a judge, is one of the package's own stand-ins."""
    return _STAND_IN.search(name) is not None


def stand_ins_of(dataset: Dataset) -> tuple[str, ...]:
    """Returns the embedded stand-ins among judges and respondents: no findings come of those."""
    names = [who for who in dataset.responses.respondent if who]
    names += dataset.labels.judge_ids
    if dataset.panel is not None:
        names += [*dataset.panel.models, *dataset.panel.personas]
    found = {part for name in names for part in _STAND_IN.findall(name)}
    return tuple(sorted(found))


def with_levels(targets: tuple[Target, ...]) -> Target | None:
    """Returns the target that figures of levels are taken from: the first that people scored.

    Ranks hold an order and no level. Where people gave both, the order of the main target says
    how far they agree, and their scores say how high. A target that the panel judged by the same
    criterion as the main one goes before others; None where people gave ranks only.
    """
    scored = [one for one in targets if one.ratings.kind == "score"]
    alike = [one for one in scored if one.criterion == targets[0].criterion]
    return next(iter(alike or scored), None)
