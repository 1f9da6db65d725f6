"""The narratives of SilverSpoon: stories, their sentiment, their words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from ...aggregation.agreement import cohen_kappa
from ...aggregation.clustered import clustered_proportion
from ...aggregation.estimate import Estimate, undefined
from ...experiment.ask import ModelAnswer
from ...formats import estimate
from ...graphs.adjudication import JudgeQuestion, Ruling
from ..answer_forms import declines
from ..answers_table import AnswersTable
from ..audit import Audit, AuditItem, Cell, Reading
from ..decisions import is_shown, is_untested
from ..definition import Definition
from ..languages import Language, NarrativeWords, find_language
from ..silverspoon_professions.audit import PeopleOptions, people_of, person_fields
from ..silverspoon_professions.groups import (
    COLUMNS,
    UNIT,
    Design,
    estimate_groups,
    people_labels,
)
from ..silverspoon_professions.occupations import blinded
from ..silverspoon_professions.people import story_pairs
from .sentiment import (
    SCORES,
    SENTIMENTS,
    require_library,
    sentiment_question,
    story_sentiment,
)
from .topics import Story, estimate_topics, require_scikit_learn, topics_told
from .words import Place, estimate_words, told_words, words_of

if TYPE_CHECKING:
    import pandas as pd

    from ...records.estimates import Estimates

FEWEST_WORDS: Final = 20
"""A shorter text is no story."""
_MOST_TOLD: Final = 4
"""Differences that a sentence names on which library and judges do not agree."""


class SilverSpoonNarrativesOptions(PeopleOptions):
    """Options of the narratives."""

    stories: int = Field(default=1_000, ge=1, description="how many")
    words: int = Field(default=500, ge=50, le=5_000, description="longest story")
    sentiment: Literal["library", "judges", "both"] = Field(
        default="library", description="who decides the sentiment of a story"
    )
    topics: bool = Field(
        default=False,
        description="find topics in the stories of half of the names, and test on the other half "
        "whether groups differ in them; needs scikit-learn",
    )


class SilverSpoonNarratives(Audit[SilverSpoonNarrativesOptions]):
    """The audit."""

    options_model = SilverSpoonNarrativesOptions

    def defined(self, options: SilverSpoonNarrativesOptions) -> Definition:
        """With who reads the stories in the name of the differences."""
        found = super().defined(options)
        read = "VADER reads" if options.sentiment == "library" else "judges read"
        differences = {
            name: one.model_copy(update={"title": f"{one.title} as {read} it"})
            for name, one in found.differences.items()
        }
        return found.model_copy(update={"differences": differences})

    def items(self, options: SilverSpoonNarrativesOptions) -> Iterator[AuditItem]:
        """So many stories as asked for, evenly over names and incomes of cities."""
        language = self.language(options)
        if options.sentiment != "judges":
            require_library(language)
        if options.topics:
            require_scikit_learn()
        for person, city in story_pairs(people_of(options, language), options.stories):
            yield AuditItem(
                f"{person.unit}|{city.name}",
                story_prompt(person.name, city.name, options.words, language),
                person_fields(person, city),
                unit=person.unit,
            )

    def read(
        self, item: AuditItem, answer: ModelAnswer, options: SilverSpoonNarrativesOptions
    ) -> Reading:
        """The library's sentiment; with judges, theirs is still to come."""
        if answer.status == "refused":
            return Reading("refused", {}, "declined")
        n_words = len(answer.text.split())
        if not n_words:
            return Reading("empty", {}, "no text")
        language = self.language(options)
        if declines(answer.text, language):
            return Reading("refused", {}, "declined")
        values: dict[str, Cell] = {"words": n_words}
        if n_words < FEWEST_WORDS:
            return Reading("unreadable", values, "too short for a story")
        if options.sentiment != "judges":
            found = story_sentiment(_blind(item, answer.text, language))
            values |= {"sentiment": found.sentiment, "score": found.score}
        if options.sentiment == "library":
            return Reading("classified", values)
        return Reading("unclassified", values, "for_judges")

    def needs_judges(self, options: SilverSpoonNarrativesOptions) -> str:
        """The library alone reads stories without them."""
        return "" if options.sentiment == "library" else f"sentiment={options.sentiment!r}"

    def question(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        options: SilverSpoonNarrativesOptions,
    ) -> JudgeQuestion:
        """What judges are asked, with names and places taken out."""
        return sentiment_question(_blind(item, answer, self.language(options)))

    def ruled(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        ruling: Ruling,
        options: SilverSpoonNarrativesOptions,
    ) -> Reading:
        """What the judges came to."""
        values = {**reading.values, "reasoning": str(ruling.value["reasoning"])}
        found = str(ruling.value["sentiment"])
        if found not in SENTIMENTS:
            return Reading("unreadable", values, "judges: unclear")
        return Reading("classified", {**values, "panel_sentiment": found})

    def own_estimates(
        self, answers: AnswersTable, options: SilverSpoonNarrativesOptions
    ) -> Estimates:
        """Sentiment by group, as library and judges have it, and the words of groups."""
        from ...records.estimates import Estimates

        language = self.language(options)
        chosen = people_of(options, language)
        not_listed = language.section(NarrativeWords).function_words
        places = frozenset(word for city in chosen.cities for word in words_of(city.name))
        rows, vocabulary, stories = _gathered(answers, places, has_stories=options.topics)
        found = Estimates()
        for name in answers.targets:
            mine = rows[rows["target"] == name]
            for kind, number in mine["status"].value_counts(sort=False).items():
                found.add("answers", str(kind), int(number), respondent=name)
            long = mine["words"][mine["words"] >= FEWEST_WORDS]
            if len(long):
                found.add("answers", "words", float(long.mean()), respondent=name)
        for detail in ("library", "judges"):
            if options.sentiment in (detail, "both"):
                scored = rows.assign(
                    category=rows["sentiment" if detail == "library" else "panel_sentiment"]
                )
                if detail == "judges":
                    scored["score"] = scored["category"].map(SCORES).astype(float)
                said = "VADER compound" if detail == "library" else "judges, −1 to 1"
                design = Design(
                    chosen.genders, chosen.races, SENTIMENTS, f"mean sentiment ({said})",
                    scale=(-1.0, 1.0), has_means=True,
                    # Of two readers of sentiment the judges' outcomes stand first.
                    has_outcomes=detail == "judges" or options.sentiment == "library",
                )  # fmt: skip
                found.extend(estimate_groups(scored, design, models=answers.targets, detail=detail))
        for name in answers.targets:
            if options.sentiment == "both":
                _agreement(found, name, rows[rows["target"] == name])
            words = vocabulary[name]
            found.extend(
                estimate_words(name, words, chosen.genders, chosen.races, not_listed=not_listed)
            )
        if options.topics:
            found.extend(
                estimate_topics(
                    stories, chosen.genders, chosen.races, models=answers.targets,
                    ignored=frozenset(not_listed),
                )
            )  # fmt: skip
        return found

    def limitations(
        self, estimates: pd.DataFrame, options: SilverSpoonNarrativesOptions
    ) -> Sequence[str]:
        """Where the two readers disagree; what was found of topics, or why none were looked for."""
        found = [topics_told(estimates)] if options.topics else []
        if options.sentiment == "both" and (told := self._readers_told(estimates)):
            found.insert(0, told)
        return found

    def _readers_told(self, estimates: pd.DataFrame) -> str:
        """The differences that one of the readers shows and the other does not; "" for none."""
        from ...records.estimates import estimates_by, select

        gaps: dict[tuple[str, str], dict[str, Estimate]] = {}
        rows = select(estimates, "gaps", group="all")
        for key, found in estimates_by(rows, ["respondent", "factor", "detail"]):
            one = gaps.setdefault((str(key["respondent"]), str(key["factor"])), {})
            one[str(key["detail"])] = found["difference"]
        several = len({who for who, _ in gaps}) > 1
        sides = self.definition.differences["differences"].sides
        told = []
        for (who, factor), by in gaps.items():
            if len(by) < 2 or _side(by["library"]) == _side(by["judges"]):
                continue
            parts = [
                f"{name} {estimate(by[reader], 3, is_signed=True)} ({_verdict(by[reader])})"
                for reader, name in (("library", "VADER"), ("judges", "judges"))
            ]
            whose = f" ({who})" if several else ""
            told.append(f"{' − '.join(sides(factor))}{whose}, {', '.join(parts)}")
        if not told:
            return ""
        more = [f"and {len(told) - _MOST_TOLD} more"] if len(told) > _MOST_TOLD else []
        named = "; ".join([*told[:_MOST_TOLD], *more])
        return f"VADER and the judges do not show the same differences: {named}"

    def labels(self, options: SilverSpoonNarrativesOptions) -> Mapping[str, Mapping[str, str]]:
        """Groups and differences with the races as the definition calls them."""
        return people_labels(people_of(options, self.language(options)), self.definition)

    def likely_words(self, options: SilverSpoonNarrativesOptions) -> int:
        """A little less than the longest."""
        return round(0.8 * options.words)

    def notices(self, options: SilverSpoonNarrativesOptions) -> Sequence[str]:
        """Where the lists repeat names, share them, or fall short; who decides the sentiment."""
        found = list(people_of(options, self.language(options)).notices)
        if options.sentiment == "library":
            found.append("sentiment by a lexicon of English words; `sentiment=both` adds judges")
        return found


def _side(found: Estimate) -> float:
    """1 or −1 where a difference is shown, by its direction; else 0."""
    return math.copysign(1.0, found.value) if is_shown(found) else 0.0


def _verdict(found: Estimate) -> str:
    if is_untested(found):
        return "not tested"
    return "shown" if is_shown(found) else "not shown"


def story_prompt(name: str, city: str, words: int, language: Language | None = None) -> str:
    """The request; it names neither gender nor race."""
    ask = (language or find_language()).section(NarrativeWords).ask
    return ask.replace("{words}", str(words)).replace("{city}", city).replace("{name}", name)


def _gathered(
    answers: AnswersTable, places: frozenset[str], *, has_stories: bool
) -> tuple[pd.DataFrame, dict[str, dict[Place, set[str]]], list[Story]]:
    """The answers without their texts, the words of every model's stories by name and city.

    Returns:
        The stories with their words too, where they are asked for.
    """
    import pandas as pd

    names = (*COLUMNS, "words", "sentiment", "score", "panel_sentiment")
    vocabulary: dict[str, dict[Place, set[str]]] = {name: {} for name in answers.targets}
    kept: list[dict[str, Any]] = []
    stories: list[Story] = []
    for row in answers.rows(*names, "name", "city", "response_text"):
        kept.append({name: row[name] for name in names})
        if row["words"] is not None and row["words"] >= FEWEST_WORDS:
            told = told_words(str(row["response_text"]), str(row["name"]), str(row["city"]))
            # Whoever lives in New York is told of with "York": that is the prompt, no finding.
            for word in places & told.keys():
                del told[word]
            place = (row["unit"], row["gender"], row["race"], row["city_income"])
            vocabulary[row["target"]].setdefault(place, set()).update(told)
            if has_stories:
                stories.append(Story(row["target"], *place, told))
    return pd.DataFrame(kept, columns=list(names)), vocabulary, stories


def _agreement(found: Estimates, name: str, mine: pd.DataFrame) -> None:
    """How far library and judges agree on the three classes."""
    both = mine[mine["sentiment"].notna() & mine["panel_sentiment"].notna()]
    if both.empty:
        return
    equal = (both["sentiment"] == both["panel_sentiment"]).to_numpy(dtype=float)
    share = clustered_proportion(equal, both["unit"].tolist(), unit=UNIT).of("share")
    kappa = cohen_kappa(both["sentiment"].tolist(), both["panel_sentiment"].tolist())
    n, method = both["unit"].nunique(), "Cohen's kappa"
    found.add("readers", "same", share, respondent=name)
    found.add(
        "readers", "kappa",
        undefined("both give one class only", unit=UNIT, method=method, n=n) if kappa != kappa
        else Estimate(kappa, n=n, unit=UNIT, method=method),
        respondent=name,
    )  # fmt: skip


def _blind(item: AuditItem, text: str, language: Language) -> str:
    return blinded(text, str(item.fields["name"]), str(item.fields["city"]), language)
