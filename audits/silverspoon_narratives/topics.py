"""Topics that are found in the stories, and whether groups differ in their shares.

Topics are found in the stories of half of the names and tested on the stories of the other half:
what finds a topic then has no part in the test of it. Needs scikit-learn (`areopagus[topics]`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, util
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from ...aggregation.estimate import Estimate, undefined
from ...aggregation.intervals import t_interval
from ...aggregation.jackknife import cut_to_range
from ...errors import InputError
from ...formats import units
from ...records.estimates import Estimates, select
from ..decisions import decided, is_shown
from ..silverspoon_professions.groups import (
    CITIES,
    UNIT,
    Design,
    gaps_over_all,
    group_name,
    name_table,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

NUMBERS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15)
"""Numbers of topics that are tried."""
FITS: Final = 5
"""Fits of each number: one to all stories, and others that say which of its topics come back."""
PART: Final = 0.8
"""Share of the names whose stories each of the others is fitted to."""
TOP_WORDS: Final = 10
ALIKE: Final = 5
"""A topic comes back in another fit where its match there has so many of its top words."""
STABLE: Final = 0.75
"""Share of the other fits in which a stable topic comes back."""

FEWEST_STORIES: Final = 100
"""To find topics in; below it, none are looked for."""
MOST_STORIES: Final = 500
"""To find topics in; of more, so many are drawn."""
FEWEST_NAMES: Final = 6
"""Of every gender and race, to test on; and names whose stories must use a word of a topic."""
FEWEST_WORDS: Final = 20
MOST_WORDS: Final = 2_000
MOST_COMMON: Final = 0.5
"""A word of more than this share of stories tells no topics apart."""

SHOWN: Final = "shown"


@dataclass(frozen=True, slots=True)
class Story:
    """A story, without the name and the city that its prompt gave.

    Attributes:
        target: whose it is.
        unit: the name that it is about.
        gender, race, city_income: of name and city.
        words: with how often it uses each.
    """

    target: str
    unit: str
    gender: str
    race: str
    city_income: str
    words: Counter[str]


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics that were found.

    Attributes:
        labels: what each is called: its place by share, and its first words.
        words: the words that topics are made of.
        weights: shape (topics, words), adding up to 1 by topic.
        comes_back: by topic, the share of other fits in which it comes back.
        by_number: number of topics to the share of first words that other fits have in common.
        shares_of: the shares of the topics in stories, shape (stories, topics); nan for a story
            without any of the words.
    """

    labels: tuple[str, ...]
    words: tuple[str, ...]
    weights: Floats
    comes_back: Floats
    by_number: Mapping[int, float]
    shares_of: Callable[[Sequence[Counter[str]]], Floats]

    @property
    def is_stable(self) -> npt.NDArray[np.bool_]:
        """Which of them come back often enough to be tested."""
        return np.asarray(self.comes_back >= STABLE)


def require_scikit_learn() -> None:
    """Raises where scikit-learn is not installed.

    Raises:
        InputError: with how to install it.
    """
    if util.find_spec("sklearn") is None:
        raise InputError(
            "finding topics needs scikit-learn: pip install 'areopagus[topics]'",
            hint="Or leave out `topics`: sentiment and words need nothing of it.",
        )


def find_topics(
    stories: Sequence[Counter[str]],
    names: Sequence[str],
    *,
    ignored: frozenset[str] = frozenset(),
    numbers: Sequence[int] = NUMBERS,
    fits: int = FITS,
) -> Topics | None:
    """The topics of stories by latent Dirichlet allocation; None where they have too few words.

    Every number of topics is fitted to all stories, and again from other seeds to the stories of
    .8 of the names, drawn anew. Topics of the first fit are matched with those of each other so
    that matched ones have as many of their ten first words in common as can be. The number with
    the largest mean share of common words is taken, the larger of equal ones. A topic comes back
    in a fit where its match has five of its ten words; in .75 of the fits, it is stable.

    Args:
        stories: their words.
        names: whom each is about.
        ignored: words that are left out.
        numbers: numbers of topics that are tried.
        fits: of each.

    Source: Blei, Ng & Jordan (2003), Journal of Machine Learning Research 3, 993–1022; Greene,
    O'Callaghan & Cunningham (2014), ECML PKDD, 498–513, for the number by stability.
    """
    words = _vocabulary(stories, names, ignored)
    if len(words) < FEWEST_WORDS:
        return None
    places = {word: at for at, word in enumerate(words)}
    counts = _counted(stories, places)
    has_words = counts.sum(axis=1) > 0
    counts, of = counts[has_words], np.asarray(names, dtype=object)[has_words]
    units = np.asarray(list(dict.fromkeys(of.tolist())), dtype=object)
    rng = np.random.default_rng(0)
    parts = [
        np.isin(of, rng.permutation(units)[: max(1, round(PART * len(units)))])
        for _ in range(fits - 1)
    ]
    best: dict[int, tuple[Any, Floats]] = {}
    by_number: dict[int, float] = {}
    for number in numbers:
        whole = _fitted(counts, number, 0)
        others = [_fitted(counts[part], number, seed + 1) for seed, part in enumerate(parts)]
        common = _common_words(whole.components_, [one.components_ for one in others])
        best[number] = whole, (common >= ALIKE).mean(axis=0)
        by_number[number] = float(common.mean()) / TOP_WORDS
    taken = max(by_number, key=lambda one: (round(by_number[one], 9), one))
    model, back = best[taken]
    order = np.argsort(-model.transform(counts).mean(axis=0), kind="stable")
    weights = model.components_[order] / model.components_[order].sum(axis=1, keepdims=True)

    def shares_of(given: Sequence[Counter[str]]) -> Floats:
        counts = _counted(given, places)
        found = np.full((len(given), len(order)), np.nan)
        has_words = counts.any(axis=1)
        if has_words.any():
            found[has_words] = model.transform(counts[has_words])[:, order]
        return found

    labels = tuple(
        f"{at + 1}: {', '.join(words[one] for one in top[:4])}"
        for at, top in enumerate(_first(weights))
    )
    return Topics(labels, words, weights, back[order], by_number, shares_of)


def estimate_topics(
    stories: Sequence[Story],
    genders: Sequence[str],
    races: Sequence[str],
    *,
    models: Sequence[str],
    ignored: frozenset[str] = frozenset(),
    numbers: Sequence[int] = NUMBERS,
    fits: int = FITS,
    seed: int = 0,
) -> Estimates:
    """The topics of all models' stories, their shares by group, and differences of groups.

    topics         comes_back, share of every topic; an unstable one has this verdict
    topic_words    weight of a topic's first words
    topic_numbers  common words of every number of topics tried, "taken" at the one that was
    topic_shares   share by group, over the names of the half that is tested
    topic_gaps     difference of groups in a stable topic, `detail` "shown" where it is
    topic_split    names and stories of both halves, and stories `without` a word of the topics,
                   which are in no share; `refused`, with the reason, if too few

    Args:
        stories: of all models.
        genders, races: in the order of the report.
        models: in the order of the report.
        ignored: words that are left out.
        numbers, fits: see `find_topics`.
        seed: of the halves.
    """
    found = Estimates()
    fitted, tested = halves(stories, seed)
    if reason := _too_few(fitted, tested, genders, races):
        found.add("topic_split", "refused", undefined(reason, unit=UNIT, method="topics"))
        return found
    drawn = np.random.default_rng(seed).permutation(len(fitted))[:MOST_STORIES]
    fitted = [fitted[at] for at in sorted(drawn.tolist())]
    topics = find_topics(
        [one.words for one in fitted], [one.unit for one in fitted], ignored=ignored,
        numbers=numbers, fits=fits,
    )  # fmt: skip
    if topics is None:
        reason = f"fewer than {FEWEST_WORDS} words that {FEWEST_NAMES} names' stories use"
        found.add("topic_split", "refused", undefined(reason, unit=UNIT, method="topics"))
        return found
    for half, given in (("found in", fitted), ("tested on", tested)):
        found.add("topic_split", "names", len({one.unit for one in given}), group=half)
        found.add("topic_split", "stories", len(given), group=half)
        shares = topics.shares_of([one.words for one in given])
        n_without = int(np.isnan(shares).any(axis=1).sum())
        found.add("topic_split", "without", n_without, group=half)
    _add_topics(found, topics, fits)
    add_shares(found, topics, tested, Design(genders, races, (), "share of the topic"), models)
    return found


def topics_told(estimates: pd.DataFrame) -> str:
    """What was found of topics, in a sentence; or why none were looked for."""
    figures = select(estimates, "topic_split")
    refused = figures[figures["measure"] == "refused"]
    if len(refused):
        return f"no topics were looked for: {refused['reason'].iloc[0]}"
    names = figures[figures["measure"] == "names"].set_index("group")["value"]
    topics = select(estimates, "topics")
    gaps = select(estimates, "topic_gaps")
    n_stable, n_shown = (topics["verdict"] == "stable").sum(), (gaps["detail"] == SHOWN).sum()
    of = units(len(gaps), "difference")
    return (
        f"topics: {units(len(topics), 'topic')} found in the stories of {names['found in']:.0f} "
        f"names, {n_stable} of which come back in further fits; in those of "
        f"{names['tested on']:.0f} other names {n_shown} of {of} of groups "
        f"{'is' if n_shown == 1 else 'are'} shown"
    )


def halves(stories: Sequence[Story], seed: int = 0) -> tuple[list[Story], list[Story]]:
    """The stories of half of the names of every gender and race, and those of the other half."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for one in stories:
        groups.setdefault((one.gender, one.race), {})[one.unit] = None
    rng = np.random.default_rng([seed, 1])
    first: set[str] = set()
    for group in sorted(groups):
        names = sorted(groups[group])  # whatever the order of the rows
        first |= {names[at] for at in rng.permutation(len(names))[: len(names) // 2]}
    return (
        [one for one in stories if one.unit in first],
        [one for one in stories if one.unit not in first],
    )


def _too_few(
    fitted: Sequence[Story], tested: Sequence[Story], genders: Sequence[str], races: Sequence[str]
) -> str:
    """Why no topics are looked for; empty where they are."""
    if len(fitted) < FEWEST_STORIES:
        return f"{len(fitted)} stories to find topics in: {FEWEST_STORIES} are needed"
    names = {(g, r): len({one.unit for one in tested if (one.gender, one.race) == (g, r)})
             for g in genders for r in races}  # fmt: skip
    fewest = min(names, key=lambda one: names[one])
    if names[fewest] < FEWEST_NAMES:
        group = group_name(*fewest, "")
        return f"{names[fewest]} names of {group} to test on: {FEWEST_NAMES} are needed"
    return ""


def _add_topics(found: Estimates, topics: Topics, fits: int) -> None:
    for number, share in topics.by_number.items():
        of = Estimate(
            share, n=fits - 1, unit="fit", method="mean share of common first words",
            verdict="taken" if number == len(topics.labels) else None,
        )  # fmt: skip
        found.add("topic_numbers", "common", of, item=str(number))
    for at, label in enumerate(topics.labels):
        back = Estimate(
            float(topics.comes_back[at]), n=fits - 1, unit="fit",
            method="share of fits from other seeds to four fifths of the names",
            verdict="stable" if topics.is_stable[at] else "unstable",
        )  # fmt: skip
        found.add("topics", "comes_back", back, item=label)
        for word in _first(topics.weights)[at]:
            weight = float(topics.weights[at, word])
            found.add("topic_words", "weight", weight, group=label, item=topics.words[word])


def add_shares(
    found: Estimates, topics: Topics, tested: Sequence[Story], design: Design, models: Sequence[str]
) -> None:
    """Adds the shares of every topic by group, and differences of groups in the stable ones.

    Args:
        found: to what they are added.
        topics: found in other stories.
        tested: the stories of all models.
        design: genders and races.
        models: in the order of the report.
    """
    import pandas as pd

    rows = pd.DataFrame(
        [(one.target, one.unit, one.gender, one.race, one.city_income) for one in tested],
        columns=["target", "unit", "gender", "race", "city_income"],
    )
    shares = topics.shares_of([one.words for one in tested])
    places: list[dict[str, str]] = []
    gaps: list[Estimate] = []
    for model in models:
        is_mine = (rows["target"] == model).to_numpy()
        for at, label in enumerate(topics.labels):
            mine = rows[is_mine].assign(score=shares[is_mine, at]).dropna(subset="score")
            if mine.empty:
                continue
            _add_groups(found, mine, design, {"respondent": model, "item": label})
            if not topics.is_stable[at]:
                continue
            for factor, gap in gaps_over_all(name_table(mine, design), design):
                places.append({"respondent": model, "item": label, "factor": factor})
                gaps.append(gap)
    family = f"Holm over {units(len(gaps), 'difference')} of topics"
    for keys, gap in zip(places, decided(gaps, [family] * len(gaps)), strict=True):
        detail = SHOWN if is_shown(gap) else "not shown"
        found.add("topic_gaps", "difference", gap, detail=detail, **keys)


def _add_groups(
    found: Estimates, mine: pd.DataFrame, design: Design, keys: Mapping[str, str]
) -> None:
    """The share of a topic in the stories of all, of each gender, race, and income of cities."""
    groups = [("all", "", "", "")]
    groups += [("gender", gender, "", "") for gender in design.genders]
    groups += [("race", "", race, "") for race in design.races]
    groups += [("city", "", "", city) for city in CITIES]
    for factor, gender, race, city in groups:
        here = mine
        for column, value in (("gender", gender), ("race", race), ("city_income", city)):
            here = here[here[column] == value] if value else here
        means = here.groupby("unit", sort=False)["score"].mean().to_numpy()
        mean = cut_to_range(t_interval(means, unit=UNIT).of("mean of names"), design.scale)
        found.add(
            "topic_shares", "share", mean, factor=factor, group=group_name(gender, race, city),
            **keys,
        )  # fmt: skip


def _vocabulary(
    stories: Sequence[Counter[str]], names: Sequence[str], ignored: frozenset[str]
) -> tuple[str, ...]:
    """The commonest words that enough names' stories use, and not most of the stories."""
    n_stories: Counter[str] = Counter()
    n_names: Counter[str] = Counter()
    seen: set[tuple[str, str]] = set()
    for story, name in zip(stories, names, strict=True):
        n_stories.update(story.keys())
        new = {(name, word) for word in story} - seen
        n_names.update(word for _, word in new)
        seen |= new
    most = MOST_COMMON * len(stories)
    kept = [
        word
        for word, count in n_stories.items()
        if n_names[word] >= FEWEST_NAMES and count <= most and word not in ignored
    ]
    return tuple(sorted(kept, key=lambda word: (-n_stories[word], word))[:MOST_WORDS])


def _counted(stories: Sequence[Counter[str]], places: Mapping[str, int]) -> Floats:
    found = np.zeros((len(stories), len(places)))
    for row, story in zip(found, stories, strict=True):
        for word, count in story.items():
            if word in places:
                row[places[word]] = count
    return found


def _fitted(counts: Floats, number: int, seed: int) -> Any:
    """The model of scikit-learn, by batch variational Bayes."""
    require_scikit_learn()
    # By name: the package is optional and carries no types.
    allocation = import_module("sklearn.decomposition").LatentDirichletAllocation
    model = allocation(
        number, learning_method="batch", max_iter=20, max_doc_update_iter=20, random_state=seed
    )
    return model.fit(counts)


def _common_words(weights: Floats, others: Sequence[Floats]) -> npt.NDArray[np.int64]:
    """How many first words each topic has in common with its match in every other fit.

    Args:
        weights: shape (topics, words).
        others: the same of the other fits.

    Returns:
        Shape (other fits, topics).
    """
    top, *rest = ([set(row) for row in _first(one)] for one in (weights, *others))
    found = np.zeros((len(rest), len(top)), dtype=np.int64)
    for at, other in enumerate(rest):
        common = np.asarray([[len(a & b) for b in other] for a in top])
        rows, columns = linear_sum_assignment(-common)
        found[at, rows] = common[rows, columns]
    return found


def _first(weights: Floats) -> list[list[int]]:
    """The places of the first words of every topic."""
    order = np.argsort(-weights, axis=1, kind="stable")[:, :TOP_WORDS]
    found: list[list[int]] = order.tolist()
    return found
