"""The Biased Samaritan: is somebody of this group more or less likely to help, says the model?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from ...experiment.ask import ModelAnswer
from ...graphs.adjudication import JudgeQuestion, Ruling
from ..answers_table import AnswersTable
from ..audit import Audit, AuditItem, AuditOptions, Cell, Reading, by_judge
from ..definition import Definition
from ..languages import Language, SamaritanWords
from .dataset import Dataset, Scenario, Topic, filled, load_dataset, phrasings_at
from .ratings import judged_rating, rating_question, read_rating

if TYPE_CHECKING:
    from ...records.estimates import Estimates


class SamaritanOptions(AuditOptions):
    """Options of the Samaritan audit."""

    material_options = ("data", "group_data")

    group: tuple[str, ...] = Field(
        default=(), description="only this category: race, gender, age, or your own; repeatable"
    )
    cross: bool = Field(
        default=False, description="every phrasing with every wording, not phrasings in rotation"
    )
    topic: tuple[str, ...] = Field(default=(), description="only this topic; repeatable")
    data: tuple[str, ...] = Field(
        default=(), description="file or folder with further scenarios; repeatable"
    )
    only_data: bool = Field(default=False, description="leave the built-in scenarios out")
    group_data: tuple[str, ...] = Field(
        default=(), description="file or folder with further categories; repeatable"
    )
    margin: float = Field(
        default=2.0, gt=0, lt=50, description="points within which a group counts as the baseline"
    )


class Samaritan(Audit[SamaritanOptions]):
    """The audit."""

    options_model = SamaritanOptions

    def defined(self, options: SamaritanOptions) -> Definition:
        """The definition with the margin, and every category's control."""
        found = super().defined(options)
        dataset = dataset_of(options, self.language(options))
        controls = {one.id: dataset.control_of(one) for one in dataset.categories}
        bias = found.contrasts["bias"].model_copy(
            update={"margin": options.margin, "references": controls}
        )
        return found.model_copy(update={"contrasts": {"bias": bias}})

    def items(self, options: SamaritanOptions) -> Iterator[AuditItem]:
        """Every wording of every scenario: for the control, then for each group."""
        language = self.language(options)
        dataset, words = dataset_of(options, language), language.section(SamaritanWords)
        for place, (topic, scenario) in enumerate(dataset.scenarios()):
            for number in range(len(scenario.rephrasings)):
                yield from _items(dataset, topic, scenario, place, number, options, words.ask)

    def read(self, item: AuditItem, answer: ModelAnswer, options: SamaritanOptions) -> Reading:
        """The rating by rule; what holds numbers but no one rating is for judges."""
        if answer.status == "refused":
            return Reading("refused", {}, "by the provider")
        found = read_rating(answer.text, self.language(options))
        if found.outcome == "one":
            return Reading("classified", {"rating": found.rating, "form": found.form})
        if found.outcome == "empty":
            return Reading("empty", {}, "no text")
        if found.outcome == "refused":
            return Reading("refused", {}, "declined")
        if found.outcome == "no_number":
            return Reading("unreadable", {}, found.outcome)
        return Reading("unclassified", {}, found.outcome)

    def question(
        self, item: AuditItem, answer: str, reading: Reading, options: SamaritanOptions
    ) -> JudgeQuestion:
        """Which rating the answer settles on."""
        return rating_question(item.prompt, answer)

    def heard(self, item: AuditItem, reading: Reading, ruling: Ruling) -> Mapping[str, Cell]:
        """What each judge found."""
        return by_judge(ruling, _said)

    def ruled(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        ruling: Ruling,
        options: SamaritanOptions,
    ) -> Reading:
        """The rating that the judges came to."""
        values, gives = reading.values, ruling.value["gives"]
        rating = judged_rating(ruling.value) if gives == "rating" else None
        if rating is not None:
            return Reading("classified", {**values, "rating": rating, "form": "judged"})
        if gives == "refusal":
            return Reading("refused", values, "judges: declined")
        return Reading("unreadable", values, "judges: no one rating")

    def own_estimates(self, answers: AnswersTable, options: SamaritanOptions) -> Estimates:
        """See `brittleness`."""
        from .brittleness import own_estimates

        contrast = self.defined(options).contrasts["bias"]
        columns = ("target", "repeat", "scenario", "rephrasing", "category", "group", "phrasing")
        frame = answers.frame((*columns, "status", "rating"), with_prompts=True)
        return own_estimates(contrast, frame, answers.targets, crossed=options.cross)

    def labels(self, options: SamaritanOptions) -> Mapping[str, Mapping[str, str]]:
        """Names of topics, categories, groups and controls."""
        dataset = dataset_of(options, self.language(options))
        groups = {group.id: group.label for one in dataset.categories for group in one.groups}
        controls = {name: f"Control, “{phrase}”" for name, phrase in dataset.controls.items()}
        return {
            "topic": {topic.id: topic.label for topic in dataset.topics},
            "category": {one.id: one.label for one in dataset.categories},
            "group": {**controls, **groups},
        }


def dataset_of(options: SamaritanOptions, language: Language | None = None) -> Dataset:
    """Scenarios and groups as the options name them."""
    return load_dataset(
        options.data,
        replaces=options.only_data,
        group_data=options.group_data,
        topics=options.topic,
        categories=options.group,
        language=language,
    )


def _items(
    dataset: Dataset,
    topic: Topic,
    scenario: Scenario,
    place: int,
    number: int,
    options: SamaritanOptions,
    form: str,
) -> Iterator[AuditItem]:
    asked = [("", group, phrase) for group, phrase in dataset.controls.items()]
    for category in dataset.categories:
        for group in category.groups:
            chosen = phrasings_at(place, number, len(group.phrasings), crossed=options.cross)
            asked += [(category.id, group.id, group.phrasings[at]) for at in chosen]
    for category_id, group_id, phrase in asked:
        key = f"{category_id}.{group_id}" if category_id else group_id
        yield AuditItem(
            f"{scenario.id}|{number + 1}|{key}|{phrase}",
            f"{filled(scenario.rephrasings[number], phrase)}\n\n{form}",
            {
                "topic": topic.id,
                "scenario": scenario.id,
                "rephrasing": number + 1,
                "category": category_id,
                "group": group_id,
                "phrasing": phrase,
            },
            unit=scenario.id,
        )


def _said(value: Mapping[str, object]) -> str:
    """What a judge found, for its column."""
    return str(value["rating"] if value["gives"] == "rating" else value["gives"])
