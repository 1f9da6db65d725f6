"""Which words tell the stories of one group from those of the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ...aggregation.effect_size import log_odds_with_prior
from ...aggregation.estimate import Estimate
from ...aggregation.multiplicity import holm
from ...records.estimates import Estimates
from ..silverspoon_professions.groups import CITIES, group_name

_KINDS: Final = ("gender", "race", "city")

FEWEST_NAMES: Final = 5
"""A word that fewer names' stories use is not compared."""
MOST_WORDS: Final = 20
PRIOR_SIZE: Final = 500.0
LEAST_Z: Final = 1.0
"""A word below is not called distinctive, whatever else there is."""

_WORD = re.compile(r"[^\W\d_]{3,40}(?:['’][^\W\d_]{1,3})?")

Place = tuple[str, str, str, str]
"""unit, gender, race, income of the city"""


def words_of(text: str) -> set[str]:
    """The different words of a text of three letters or more, in small letters."""
    return {match[0].casefold().replace("’", "'") for match in _WORD.finditer(text)}


def told_words(text: str, name: str, city: str) -> set[str]:
    """The different words of a story, without the name and the city that its prompt gave.

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
) -> Estimates:
    """The words of every race, gender, income of city, and of the cells between them.

    A word counts once for each name, however often its stories use it: stories of one name, and
    the words of one story, are no independent draws.

    Args:
        respondent: whose stories.
        vocabulary: words used in the stories of a name in cities of one income.
        genders, races: in the order of the report.
        not_listed: function words, which are left out of the commonest ones.
    """
    found = Estimates()
    groups: list[tuple[str, str, str]] = [("", race, "") for race in races]
    groups += [(gender, "", "") for gender in genders]
    groups += [("", "", city) for city in CITIES]
    groups += [(gender, race, "") for race in races for gender in genders]
    groups += [(g, r, c) for r in races for g in genders for c in CITIES]
    for group in groups:
        here, there = _split(vocabulary, group)
        if here and there:
            _contrast(found, respondent, group, here, there, frozenset(not_listed))
    return found


def _split(
    vocabulary: Mapping[Place, set[str]], group: tuple[str, str, str]
) -> tuple[list[set[str]], list[set[str]]]:
    """Words by name, in the group and outside; a name's cities together unless they are compared.

    A cell of gender, race and income is compared with everything else, as the paper's clouds are
    of such cells; there a name's rich and poor cities stand apart.
    """
    by_city = bool(group[2])
    sets: dict[tuple[str, str, bool], set[str]] = {}
    for (unit, gender, race, city), words in vocabulary.items():
        place = (gender, race, city)
        is_here = all(w in ("", p) for w, p in zip(group, place, strict=True))
        key = (unit, city if by_city else "", is_here)
        sets[key] = sets.get(key, set()) | words
    return (
        [words for (_, _, is_here), words in sets.items() if is_here],
        [words for (_, _, is_here), words in sets.items() if not is_here],
    )


def _contrast(
    found: Estimates,
    respondent: str,
    group: tuple[str, str, str],
    here: Sequence[set[str]],
    there: Sequence[set[str]],
    not_listed: frozenset[str],
) -> None:
    """The words that mark a group, by z falling, and its commonest ones."""
    kinds = [kind for kind, value in zip(_KINDS, group, strict=True) if value]
    keys = {
        "respondent": respondent, "factor": " x ".join(kinds), "group": group_name(*group),
        "detail": _against(kinds),
    }  # fmt: skip
    counts, others = _counted(here), _counted(there)
    kept = {word for word in {*counts, *others} if counts[word] + others[word] >= FEWEST_NAMES}
    contrasts = log_odds_with_prior(
        {word: counts[word] for word in kept},
        {word: others[word] for word in kept},
        prior_size=PRIOR_SIZE,
    )
    found.add("word_groups", "names_here", len(here), **keys)
    found.add("word_groups", "names_there", len(there), **keys)
    found.add("word_groups", "words", len(contrasts), **keys)
    adjusted = holm([one.p for one in contrasts])
    distinct = [pair for pair in zip(contrasts, adjusted, strict=True) if pair[0].z >= LEAST_Z]
    for one, p in distinct[:MOST_WORDS]:
        odds = Estimate(
            one.log_odds, n=one.count_a + one.count_b, unit="name", se=one.log_odds / one.z,
            method="log-odds with an informative prior", p=one.p, p_adjusted=float(p),
            p_method="normal", family=f"{len(contrasts)} words (Holm)",
            verdict="distinctive" if p <= 0.05 else None,
        )  # fmt: skip
        found.add("words", "log_odds", odds, item=one.word, **keys)
        found.add("words", "names_here", one.count_a, item=one.word, **keys)
        found.add("words", "names_there", one.count_b, item=one.word, **keys)
    common = [
        (word, count)
        for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if word not in not_listed
    ]
    for word, count in common[:MOST_WORDS]:
        found.add("common_words", "names", count, item=word, **keys)


def _counted(sets: Iterable[set[str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for words in sets:
        found.update(words)
    return found


def _against(kinds: Sequence[str]) -> str:
    if kinds == ["race"]:
        return "the other races"
    if kinds == ["gender"]:
        return "the other gender"
    return "cities of the other income" if kinds == ["city"] else "everybody else"
