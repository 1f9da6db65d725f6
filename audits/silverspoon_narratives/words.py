"""Which words tell the stories of one group from those of the others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ...aggregation.estimate import Estimate
from ...aggregation.log_odds import word_contrasts
from ...records.estimates import Estimates
from ..silverspoon_professions.groups import CITIES, group_name

FEWEST_NAMES: Final = 5
"""A word that fewer names' stories use is not compared."""
MOST_WORDS: Final = 10
"""Words of a group that are listed."""
RESAMPLES: Final = 999

_WORD = re.compile(r"[^\W\d_]{3,40}(?:['’][^\W\d_]{1,3})?")

Place = tuple[str, str, str, str]
"""unit, gender, race, income of the city"""


def words_of(text: str) -> set[str]:
    """The different words of a text of three letters or more, in small letters."""
    return {match[0].casefold().replace("’", "'") for match in _WORD.finditer(text)}


def told_words(text: str, name: str, city: str) -> set[str]:
    """The words of a story, without the name and the city that its prompt gave.

    They are taken out and nothing is put in their place, which would count as a word of those
    groups whose stories name the person more often.
    """
    for part in (name, city, *city.split(", ")):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return words_of(text)


def estimate_words(
    respondent: str,
    vocabulary: Mapping[Place, set[str]],
    genders: Sequence[str],
    races: Sequence[str],
    *,
    not_listed: Collection[str] = (),
    resamples: int = RESAMPLES,
) -> Estimates:
    """The words of every race, gender and income of city, each against the others.

    A word counts once for each name, however often its stories use it: stories of one name, and
    the words of one story, are no independent draws. By income of the city it counts once in each
    kind, and names with stories in both kinds are compared with themselves.

    words          log_odds, names_here, names_there of the words that mark a group most
    common_words   names of the commonest words, which the paper's word clouds show

    Args:
        respondent: whose stories.
        vocabulary: words used in the stories of a name in cities of one income.
        genders, races: in the order of the report.
        not_listed: function words, which are left out of the commonest ones.
        resamples: exchanges of labels.
    """
    found = Estimates()
    for column, groups in (("race", races), ("gender", genders), ("city", CITIES)):
        bags: dict[tuple[str, str], set[str]] = {}
        stratum_of: dict[str, str] = {}
        for (unit, gender, race, city), words in vocabulary.items():
            label = {"race": race, "gender": gender, "city": city}[column]
            bags.setdefault((unit, label), set()).update(words)
            # Names of one gender are exchanged between races, those of one race between genders.
            stratum_of[unit] = {"race": gender, "gender": race, "city": unit}[column]
        if column == "city":
            bags = {
                key: bag for key, bag in bags.items() if all((key[0], c) in bags for c in CITIES)
            }
        bags = {key: bag for key, bag in bags.items() if key[1] in groups}
        strata = [stratum_of[unit] for unit, _ in bags]
        _contrast(found, respondent, column, groups, bags, strata, not_listed, resamples)
    return found


def _contrast(
    found: Estimates,
    respondent: str,
    column: str,
    groups: Sequence[str],
    bags: Mapping[tuple[str, str], set[str]],
    strata: Sequence[str],
    not_listed: Collection[str],
    resamples: int,
) -> None:
    labels = np.array([groups.index(label) for _, label in bags], dtype=np.int64)
    places: dict[str, int] = {}
    for bag in bags.values():
        for word in sorted(bag):
            places.setdefault(word, len(places))
    used = np.zeros((len(bags), len(places)), dtype=bool)
    for row, bag in zip(used, bags.values(), strict=True):
        row[[places[word] for word in bag]] = True
    is_kept = used.sum(axis=0) >= FEWEST_NAMES
    words = [word for word, kept in zip(places, is_kept, strict=True) if kept]
    numbers = np.unique(labels)
    if not words or len(numbers) < 2:
        return
    contrasts = word_contrasts(used[:, is_kept], labels, _exchanged(labels, strata, resamples))
    for at, number in enumerate(numbers):
        label = groups[number]
        place = {"gender": "", "race": "", "city": "", column: label}
        keys = {
            "respondent": respondent, "factor": column,
            "group": group_name(place["gender"], place["race"], place["city"]),
        }  # fmt: skip
        z = contrasts.log_odds[at] / contrasts.se[at]
        for k in sorted(range(len(words)), key=lambda one: (-z[one], words[one]))[:MOST_WORDS]:
            is_higher = contrasts.low[at, k] > 0
            odds = Estimate(
                float(contrasts.log_odds[at, k]),
                n=int(contrasts.here[at, k] + contrasts.there[at, k]), unit="name",
                method="log-odds with an informative prior",
                low=float(contrasts.low[at, k]), high=float(contrasts.high[at, k]),
                low_family=float(contrasts.low[at, k]),
                high_family=float(contrasts.high[at, k]), se=float(contrasts.se[at, k]),
                p=float(contrasts.p[at, k]), verdict="higher" if is_higher else "open",
                p_method=f"largest by {contrasts.resamples:,} exchanges of names",
                family=f"{len(numbers) * len(words)} words and groups",
            )  # fmt: skip
            found.add("words", "log_odds", odds, item=words[k], **keys)
            for measure, names in (
                ("names_here", contrasts.here),
                ("names_there", contrasts.there),
            ):
                found.add("words", measure, int(names[at, k]), item=words[k], **keys)
        counts = contrasts.here[at]
        common = sorted(range(len(words)), key=lambda one: (-counts[one], words[one]))
        common = [one for one in common if counts[one] and words[one] not in not_listed]
        for k in common[: 2 * MOST_WORDS]:
            found.add("common_words", "names", int(counts[k]), item=words[k], **keys)


def _exchanged(
    labels: npt.NDArray[np.int64], strata: Sequence[str], resamples: int
) -> Iterator[npt.NDArray[np.int64]]:
    """The labels after exchanges within strata."""
    rng = np.random.default_rng(0)
    of_stratum: dict[str, list[int]] = {}
    for row, stratum in enumerate(strata):
        of_stratum.setdefault(stratum, []).append(row)
    for _ in range(resamples):
        drawn = labels.copy()
        for rows in of_stratum.values():
            drawn[rows] = labels[rng.permutation(rows)]
        yield drawn
