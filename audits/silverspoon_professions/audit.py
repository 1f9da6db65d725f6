"""Profession prediction of SilverSpoon: its prompts, its readings, what judges are asked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import Field

from ...experiment.ask import ModelAnswer
from ...graphs.adjudication import JudgeQuestion, Ruling
from ...judges.factory import EmbeddedBackend
from ...judges.models.backend import Backend
from ...judges.models.request import Request
from ...records.types import Reply
from ..answer_forms import declines
from ..answers_table import AnswersTable
from ..audit import Audit, AuditItem, AuditOptions, Cell, Reading
from ..languages import Language, ProfessionWords, find_language
from .groups import COLUMNS, Design, estimate_groups, people_labels
from .occupations import income_question, load_occupations, profession_of, read_occupation
from .people import Chosen, City, Person, load_people

if TYPE_CHECKING:
    from ...records.estimates import Estimates

INCOMES: Final = ("high", "low")
_MOST_SHOWN: Final = 40
"""Professions of a model in the table of rulings."""
PROFESSIONS: Final = (
    "Surgeon", "Airline pilot", "Psychiatrist", "Orthodontist", "Chief executive", "Radiologist",
    "Cashier", "Dishwasher", "Lifeguard", "Parking attendant", "Childcare worker", "Barista",
)  # fmt: skip
"""Half of the best paid, half of the worst paid."""


class PeopleOptions(AuditOptions):
    """Options of audits that ask about people by their names and cities."""

    material_options: ClassVar[tuple[str, ...]] = ("people",)

    people: str | None = Field(default=None, description="YAML with other names and cities")
    names: Literal["distinct", "first"] = Field(
        default="distinct",
        description="names that stand in no other group's list, or the first of each list",
    )
    names_per_group: int | None = Field(
        default=None, ge=1, le=10_000, description="50 by the built-in file"
    )


class SilverSpoonProfessionsOptions(PeopleOptions):
    """Options of profession prediction."""

    material_options = ("people", "occupations")

    occupations: str | None = Field(
        default=None, description="YAML with other best and worst paid occupations"
    )


class SilverSpoonProfessions(Audit[SilverSpoonProfessionsOptions]):
    """The audit."""

    options_model = SilverSpoonProfessionsOptions

    def items(self, options: SilverSpoonProfessionsOptions) -> Iterator[AuditItem]:
        """Every name in every city: the first name of each group, then the second of each, …"""
        language = self.language(options)
        load_occupations(options.occupations, language)
        for person, city in people_of(options, language).pairs():
            yield AuditItem(
                f"{person.unit}|{city.name}",
                profession_prompt(person.name, city.name, language),
                person_fields(person, city),
                unit=person.unit,
            )

    def targets(
        self, backends: tuple[Backend, ...], options: SilverSpoonProfessionsOptions
    ) -> tuple[Backend, ...]:
        """The models; the stand-in names a profession."""
        return tuple(
            ProfessionStandIn(one.spec) if one.spec.is_offline else one for one in backends
        )

    def ask_template(self, options: SilverSpoonProfessionsOptions) -> str:
        """Professions of a stand-in are no essays of a stand-in."""
        return "silverspoon-profession-1"

    def read(
        self, item: AuditItem, answer: ModelAnswer, options: SilverSpoonProfessionsOptions
    ) -> Reading:
        """What the occupation list decides; the rest is for judges."""
        if answer.status == "refused":
            return Reading("refused", {}, "declined")
        language = self.language(options)
        known = load_occupations(options.occupations, language)
        found = read_occupation(answer.text, str(item.fields["name"]), known, language)
        if found.income is not None:
            return Reading("classified", {"occupation": found.occupation, "income": found.income})
        if found.reason == "no_occupation":
            return Reading("empty", {}, "no text")
        if declines(answer.text, language):
            return Reading("refused", {}, "declined")
        values: dict[str, Cell] = {"occupation": found.occupation} if found.occupation else {}
        return Reading("unclassified", values, found.reason)

    def question(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        options: SilverSpoonProfessionsOptions,
    ) -> JudgeQuestion:
        """What judges are asked, with name and city taken out."""
        name, city = str(item.fields["name"]), str(item.fields["city"])
        return income_question(answer, name, city, self.language(options))

    def ruled(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        ruling: Ruling,
        options: SilverSpoonProfessionsOptions,
    ) -> Reading:
        """What the judges came to."""
        values = {**reading.values, "reasoning": str(ruling.value["reasoning"])}
        named = " ".join(str(ruling.value["occupation"]).casefold().split())[:80]
        if named:
            values["occupation"] = named
        income = str(ruling.value["income"])
        if income not in INCOMES:
            return Reading("unreadable", values, "judges: unclear")
        return Reading("classified", {**values, "income": income})

    def own_estimates(
        self, answers: AnswersTable, options: SilverSpoonProfessionsOptions
    ) -> Estimates:
        """Shares of high income by group, their differences, and what professions were called."""
        rows = answers.frame((*COLUMNS, "income", "occupation"))
        rows = rows.assign(category=rows["income"], score=(rows["income"] == "high") * 1.0)
        chosen = people_of(options, self.language(options))
        design = Design(chosen.genders, chosen.races, INCOMES[:1], "share of high income")
        found = estimate_groups(rows, design, models=answers.targets)
        language = self.language(options)
        known = load_occupations(options.occupations, language)
        rows = rows[rows["income"].notna() & (rows["occupation"].fillna("") != "")]
        professions = [profession_of(str(one), language) for one in rows["occupation"]]
        for target, mine in rows.assign(profession=professions).groupby("target", sort=False):
            high = mine["score"].groupby(mine["profession"]).agg(["size", "mean"])
            high["is_both"] = (high["mean"] > 0) & (high["mean"] < 1)
            order = high.sort_values(["is_both", "size"], ascending=False, kind="stable")
            for profession, counts in order.head(_MOST_SHOWN).iterrows():
                keys = {
                    "respondent": str(target), "item": str(profession),
                    "detail": known.get(str(profession), "not on it"),
                }  # fmt: skip
                found.add("rulings", "high", float(counts["mean"]), **keys)
                found.add("rulings", "named", int(counts["size"]), **keys)
        return found

    def labels(self, options: SilverSpoonProfessionsOptions) -> Mapping[str, Mapping[str, str]]:
        """Groups and differences with the races as the definition calls them."""
        return people_labels(people_of(options, self.language(options)), self.definition)

    def notices(self, options: SilverSpoonProfessionsOptions) -> Sequence[str]:
        """Where the lists repeat names, share them, or fall short."""
        return people_of(options, self.language(options)).notices


def people_of(options: PeopleOptions, language: Language) -> Chosen:
    """Names and cities as the options name them."""
    return load_people(
        options.people, rule=options.names, most=options.names_per_group, language=language
    )


def profession_prompt(name: str, city: str, language: Language | None = None) -> str:
    """The question; it names neither gender nor race."""
    ask = (language or find_language()).section(ProfessionWords).ask
    return ask.replace("{city}", city).replace("{name}", name)


def person_fields(person: Person, city: City) -> Mapping[str, Cell]:
    """The columns that say whom an item is about."""
    return {
        "name": person.name,
        "gender": person.group.gender,
        "race": person.group.race,
        "city": city.name,
        "city_income": city.income,
    }


class ProfessionStandIn(EmbeddedBackend):
    """An embedded respondent that names a profession; it stays headed DEMONSTRATION."""

    async def send(self, request: Request) -> Reply:
        """A profession of the list."""
        reply = await super().send(request)
        prompt = str(request.messages[-1]["content"])
        number = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
        return replace(reply, text=PROFESSIONS[number % len(PROFESSIONS)])
