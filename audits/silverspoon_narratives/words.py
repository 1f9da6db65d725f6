"""Which words tell the stories of one group from those of the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ...aggregation.estimate import Estimate
from ...aggregation.log_odds import WordContrasts, word_contrasts
from ...records.estimates import Estimates
from ..silverspoon_professions.groups import CITIES, group_name

FACTORS: Final[tuple[tuple[str, ...], ...]] = (
    ("race",), ("gender",), ("city",), ("gender", "race"), ("gender", "race", "city"),
)  # fmt: skip

FEWEST_NAMES: Final = 5
"""A word that fewer names' stories use is not compared."""
MOST_WORDS: Final = 20
MOST_DRAWN: Final = 5
"""Words of a group in the drawing."""
LEAST_Z: Final = 1.0
"""A word below is not called distinctive, whatever else there is."""
RESAMPLES: Final = 999

SHOWN: Final = "shown to mark the group"
NOT_SHOWN: Final = "not shown"

_WORD = re.compile(r"[^\W\d_]{3,40}(?:['’][^\W\d_]{1,3})?")

Place = tuple[str, str, str, str]
"""unit, gender, race, income of the city"""


def words_of(text: str) -> set[str]:
    """The different words of a text of three letters or more, in small letters."""
    return set(_words(text))


def told_words(text: str, name: str, city: str) -> Counter[str]:
    """The words of a story with their counts, without the name and the city that its prompt gave.

    They are taken out and nothing is put in their place, which would count as a word of those
    groups whose stories name the person more often.
    """
    for part in (name, city, *city.split(", ")):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", " ", text, flags=re.IGNORECASE)
    return Counter(_words(text))


def _words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        yield match[0].casefold().replace("’", "'")


@dataclass(frozen=True, slots=True)
class _Rows:
    """The words of names, or of names in cities of one income, that are compared.

    Attributes:
        used: shape (rows, words), whether the row's stories use the word.
        words: those that enough rows use.
        unit: shape (rows,), the number of the row's name.
        city: the number of the income of its city; 0 where cities are not told apart.
        people: (gender, race) of every name.
    """

    used: npt.NDArray[np.bool_]
    words: tuple[str, ...]
    unit: npt.NDArray[np.int64]
    city: npt.NDArray[np.int64]
    people: tuple[tuple[str, str], ...]


def estimate_words(
    respondent: str,
    vocabulary: Mapping[Place, set[str]],
    genders: Sequence[str],
    races: Sequence[str],
    *,
    not_listed: Collection[str] = (),
    resamples: int = RESAMPLES,
) -> Estimates:
    """The words of every race, gender, income of city, and of the cells between them.

    A word counts once for each name, however often its stories use it: stories of one name, and
    the words of one story, are no independent draws. Each group is compared with everybody else,
    as the paper's clouds are of such cells; where incomes of cities are told apart, so are a name's
    stories from rich and from poor cities.

    words          log_odds, names_here, names_there of the words that mark a group most
    word_chart     log_odds of the first of them, "word (group)" by whether it is shown
    word_groups    names_here, names_there, words
    common_words   names of the commonest words

    Args:
        respondent: whose stories.
        vocabulary: words used in the stories of a name in cities of one income.
        genders, races: in the order of the report.
        not_listed: function words, which are left out of the commonest ones.
        resamples: exchanges of labels.
    """
    found = Estimates()
    rows = {by_city: _rows(vocabulary, by_city=by_city) for by_city in (False, True)}
    for kinds in FACTORS:
        groups = [
            (gender, race, city)
            for race in (races if "race" in kinds else ("",))
            for gender in (genders if "gender" in kinds else ("",))
            for city in (CITIES if "city" in kinds else ("",))
        ]
        _contrast(found, respondent, kinds, groups, rows["city" in kinds], resamples, not_listed)
    return found


def _rows(vocabulary: Mapping[Place, set[str]], *, by_city: bool) -> _Rows:
    sets: dict[tuple[str, str], set[str]] = {}
    people: dict[str, tuple[str, str]] = {}
    for (unit, gender, race, city), words in vocabulary.items():
        key = (unit, city if by_city else "")
        sets[key] = sets.get(key, set()) | words
        people[unit] = (gender, race)
    places: dict[str, int] = {}
    for words in sets.values():
        for word in sorted(words):
            places.setdefault(word, len(places))
    used = np.zeros((len(sets), len(places)), dtype=bool)
    for row, words in zip(used, sets.values(), strict=True):
        row[[places[word] for word in words]] = True
    is_kept = used.sum(axis=0) >= FEWEST_NAMES
    numbers = {unit: at for at, unit in enumerate(people)}
    return _Rows(
        used[:, is_kept], tuple(word for word, kept in zip(places, is_kept, strict=True) if kept),
        np.asarray([numbers[unit] for unit, _ in sets], dtype=np.int64),
        np.asarray([CITIES.index(city) if city else 0 for _, city in sets], dtype=np.int64),
        tuple(people.values()),
    )  # fmt: skip


def _contrast(
    found: Estimates,
    respondent: str,
    kinds: tuple[str, ...],
    groups: Sequence[tuple[str, str, str]],
    rows: _Rows,
    resamples: int,
    not_listed: Collection[str],
) -> None:
    """The words that mark each group, by z falling, and its commonest ones."""
    # What is exchanged between names is who they are; in a name, its rich and poor cities.
    who = [
        (gender if "gender" in kinds else "", race if "race" in kinds else "")
        for gender, race in rows.people
    ]
    n_cities = 2 if "city" in kinds else 1
    persons = list(dict.fromkeys(group[:2] for group in groups))
    # People of a list that the report has no group for are compared with, and have none.
    number = {person: at for at, person in enumerate(persons)}
    of_unit = np.asarray([number.get(one, len(persons)) for one in who], dtype=np.int64)
    labels = of_unit[rows.unit] * n_cities + rows.city
    sizes = np.bincount(labels, minlength=(len(persons) + 1) * n_cities)
    if not rows.words or (sizes > 0).sum() < 2:
        return
    # Names of one gender are exchanged between races, and those of one race between genders.
    alike: dict[tuple[str, ...], int] = {("race",): 0, ("gender",): 1}
    strata = [one[alike[kinds]] if kinds in alike else "" for one in rows.people]
    contrasts = word_contrasts(
        rows.used, labels, _relabelled(rows, of_unit, strata, n_cities, resamples)
    )
    family = f"{int((sizes > 0).sum())} groups x {len(rows.words)} words"
    low, high = contrasts.limits()
    against, factor = _against(kinds), " x ".join(kinds)
    for gender, race, city in groups:
        at = number[gender, race] * n_cities + (CITIES.index(city) if city else 0)
        n_here = int(sizes[at])
        if not n_here:
            continue
        name = group_name(gender, race, city)
        keys = {"respondent": respondent, "factor": factor, "group": name, "detail": against}
        found.add("word_groups", "names_here", n_here, **keys)
        found.add("word_groups", "names_there", len(labels) - n_here, **keys)
        found.add("word_groups", "words", len(rows.words), **keys)
        for place, word in enumerate(_marking(contrasts, at, rows.words)):
            odds = Estimate(
                float(contrasts.log_odds[at, word]), float(low[at, word]), float(high[at, word]),
                n=int(contrasts.here[at, word] + contrasts.there[at, word]),
                unit="name" if n_cities == 1 else "name and income of cities",
                method="log-odds with an informative prior; 95% normal over names",
                se=float(contrasts.se[at, word]), p=float(contrasts.p[at, word]),
                p_adjusted=float(contrasts.p_adjusted[at, word]),
                p_method=f"{contrasts.resamples:,} exchanges of names",
                family=f"largest of {family}",
            )  # fmt: skip
            is_shown = odds.p_adjusted <= 0.05 and not odds.covers(0.0)
            odds = replace(odds, verdict="distinctive" if is_shown else NOT_SHOWN)
            said = rows.words[word]
            found.add("words", "log_odds", odds, item=said, **keys)
            found.add("words", "names_here", int(contrasts.here[at, word]), item=said, **keys)
            found.add("words", "names_there", int(contrasts.there[at, word]), item=said, **keys)
            if place < MOST_DRAWN and len(kinds) == 1:
                found.add(
                    "word_chart", "log_odds", odds, respondent=respondent, factor=factor,
                    item=f"{said} ({name})", detail=SHOWN if is_shown else NOT_SHOWN,
                )  # fmt: skip
        counts = contrasts.here[at]
        common = sorted(range(len(rows.words)), key=lambda one: (-counts[one], rows.words[one]))
        common = [one for one in common if counts[one] and rows.words[one] not in not_listed]
        for one in common[:MOST_WORDS]:
            found.add("common_words", "names", int(counts[one]), item=rows.words[one], **keys)


def _marking(contrasts: WordContrasts, at: int, words: Sequence[str]) -> list[int]:
    """The words that mark a group most, by z falling."""
    z = contrasts.z[at]
    order = sorted(range(len(words)), key=lambda one: (-z[one], words[one]))
    return [one for one in order[:MOST_WORDS] if z[one] >= LEAST_Z]


def _relabelled(
    rows: _Rows,
    of_unit: npt.NDArray[np.int64],
    strata: Sequence[str],
    n_cities: int,
    resamples: int,
) -> Iterator[npt.NDArray[np.int64]]:
    """Labels of the rows after exchanges: names within strata, the cities of a name in turn."""
    rng = np.random.default_rng(0)
    per_unit = np.bincount(rows.unit, minlength=len(of_unit))
    # A name with stories from one kind of cities alone is no match for one with both.
    alike: dict[tuple[str, int, int], list[int]] = {}
    for unit, stratum in enumerate(strata):
        only = int(rows.city[rows.unit == unit][0]) if per_unit[unit] == 1 else -1
        alike.setdefault((stratum, int(per_unit[unit]), only), []).append(unit)
    parts = [np.asarray(units) for units in alike.values()]
    has_both = (per_unit > 1) & (n_cities > 1)
    for _ in range(resamples):
        drawn = of_unit.copy()
        for units in parts:
            drawn[units] = of_unit[rng.permutation(units)]
        turned = (rng.random(len(of_unit)) < 0.5) & has_both
        yield drawn[rows.unit] * n_cities + (rows.city ^ turned[rows.unit])


def _against(kinds: Sequence[str]) -> str:
    if kinds == ("race",):
        return "the other races"
    if kinds == ("gender",):
        return "the other gender"
    return "cities of the other income" if kinds == ("city",) else "everybody else"
