"""The narratives of SilverSpoon: stories, their sentiment, their words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from ...aggregation.clustered import clustered_proportion
from ...experiment.ask import ModelAnswer
from ...graphs.adjudication import JudgeQuestion, Ruling
from ..answer_forms import declines
from ..answers_table import AnswersTable
from ..audit import Audit, AuditItem, Cell, Reading
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
from ..silverspoon_professions.people import Chosen, story_pairs
from .sentiment import SCORES, SENTIMENTS, require_library, sentiment_question, story_sentiment
from .words import Place, estimate_words, told_words, words_of

if TYPE_CHECKING:
    import pandas as pd

    from ...records.estimates import Estimates

FEWEST_WORDS: Final = 20
"""A shorter text is no story."""
READERS: Final = ("library", "judges")
VERDICTS: Final = {
    "higher": "a difference above 0", "lower": "one below 0", "alike": "none", "open": "none yet",
    "undefined": "nothing",
}  # fmt: skip
"""Verdict to what a reader of sentiment finds."""


class SilverSpoonNarrativesOptions(PeopleOptions):
    """Options of the narratives."""

    stories: int = Field(default=1_000, ge=1, description="how many")
    words: int = Field(default=500, ge=50, le=5_000, description="longest story")
    sentiment: Literal["library", "judges", "both"] = Field(
        default="library", description="who decides the sentiment of a story"
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
        rows, vocabulary = _gathered(answers, chosen)
        found = Estimates()
        for name in answers.targets:
            words = rows["words"][(rows["target"] == name) & (rows["words"] >= FEWEST_WORDS)]
            if len(words):
                found.add("answers", "words", float(words.mean()), respondent=name)
        readers = [one for one in READERS if options.sentiment in (one, "both")]
        for reader in readers:
            of = "sentiment" if reader == "library" else "panel_sentiment"
            scored = rows.assign(category=rows[of])
            if reader == "judges":
                scored["score"] = scored["category"].map(SCORES).astype(float)
            design = Design(
                chosen.genders, chosen.races, SENTIMENTS, "mean sentiment", scale=(-1.0, 1.0),
                has_means=True,
            )  # fmt: skip
            found.extend(estimate_groups(
                scored, design, models=answers.targets, detail=reader,
                # Of two readers of sentiment the judges' differences stand first.
                differences="differences" if reader == readers[-1] else f"differences_{reader}",
            ))  # fmt: skip
        not_listed = language.section(NarrativeWords).function_words
        for name in answers.targets:
            mine = rows[(rows["target"] == name) & rows["sentiment"].notna()]
            mine = mine[mine["panel_sentiment"].notna()]
            if len(mine):
                same = (mine["sentiment"] == mine["panel_sentiment"]).to_numpy(dtype=float)
                share = clustered_proportion(same, mine["unit"].tolist(), unit=UNIT).of("share")
                found.add("readers", "same", share, respondent=name)
            found.extend(
                estimate_words(
                    name, vocabulary[name], chosen.genders, chosen.races, not_listed=not_listed
                )
            )
        return found

    def limitations(
        self, estimates: pd.DataFrame, options: SilverSpoonNarrativesOptions
    ) -> list[str]:
        """The differences on which the two readers do not come to the same verdict."""
        from ...records.estimates import estimates_by, select

        verdicts: dict[tuple[str, str], list[str]] = {}
        for table in ("differences_library", "differences"):
            for key, found in estimates_by(select(estimates, table), ["respondent", "factor"]):
                place = str(key["respondent"]), str(key["factor"])
                verdicts.setdefault(place, []).append(str(found["difference"].verdict))
        several = len({who for who, _ in verdicts}) > 1
        told = []
        words = self.definition.differences["differences"]
        for (who, factor), (library, *judges) in verdicts.items():
            if judges and judges != [library]:
                whose = f" ({who})" if several else ""
                told.append(
                    f"{' − '.join(words.sides(factor))}{whose}: VADER finds {VERDICTS[library]}, "
                    f"the judges {VERDICTS[judges[0]]}"
                )
        return told

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


def story_prompt(name: str, city: str, words: int, language: Language | None = None) -> str:
    """The request; it names neither gender nor race."""
    ask = (language or find_language()).section(NarrativeWords).ask
    return ask.replace("{words}", str(words)).replace("{city}", city).replace("{name}", name)


def _gathered(
    answers: AnswersTable, chosen: Chosen
) -> tuple[pd.DataFrame, dict[str, dict[Place, set[str]]]]:
    """The answers without their texts; the words of every model's stories by name and city."""
    import pandas as pd

    names = (*COLUMNS, "words", "sentiment", "score", "panel_sentiment")
    # Whoever lives in New York is told of with "York": that is the prompt, no finding.
    places = frozenset(word for city in chosen.cities for word in words_of(city.name))
    vocabulary: dict[str, dict[Place, set[str]]] = {name: {} for name in answers.targets}
    kept: list[dict[str, Any]] = []
    for row in answers.rows(*names, "name", "city", "response_text"):
        kept.append({name: row[name] for name in names})
        if row["words"] is not None and row["words"] >= FEWEST_WORDS:
            told = told_words(str(row["response_text"]), str(row["name"]), str(row["city"]))
            place = (row["unit"], row["gender"], row["race"], row["city_income"])
            vocabulary[row["target"]].setdefault(place, set()).update(told - places)
    return pd.DataFrame(kept, columns=list(names)), vocabulary


def _blind(item: AuditItem, text: str, language: Language) -> str:
    return blinded(text, str(item.fields["name"]), str(item.fields["city"]), language)
