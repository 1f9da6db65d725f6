"""SilverSpoon: socioeconomic bias in judgements, in guesses at professions, and in stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ...errors import InputError
from ...experiment.ask import ModelAnswer
from ...judges.models.backend import Backend
from ..answers_table import AnswersTable, ColumnKind
from ..definition import ASK_TEMPLATE, AuditItem, Cell, JudgeQuestion, Reading, Ruling
from ..legacy import LegacyAudit
from .options import SilverSpoonOptions

if TYPE_CHECKING:
    from ...reports.document import Section
    from .figures import SilverSpoonFigures

_JUDGE_KEYS = {"judgement": "answer", "professions": "income", "narratives": "sentiment"}


class SilverSpoon(LegacyAudit[SilverSpoonOptions]):
    """The audit."""

    name = "silverspoon"
    title = "SilverSpoon: socioeconomic bias in judgements, professions and stories"
    about = "whether a model sides with or against the poor, and whom it takes for poor"
    source = (
        "Singh et al., Born With a Silver Spoon? Investigating Socioeconomic Bias in Large "
        "Language Models; topics, names and cities are the paper's, scenarios and prompts our own"
    )
    warning = (
        "the prompts set people of different means, gender and race apart; answers may hold "
        "demeaning stereotypes"
    )
    options_model = SilverSpoonOptions
    item_columns: ClassVar[Mapping[str, ColumnKind]] = {
        "scenario": "text",
        "base": "text",
        "topic": "text",
        "other": "text",
        "order": "text",
        "name": "text",
        "gender": "text",
        "race": "text",
        "city": "text",
        "city_income": "text",
    }
    value_columns: ClassVar[Mapping[str, ColumnKind]] = {
        "answer": "text",
        "label": "integer",
        "occupation": "text",
        "income": "text",
        "words": "integer",
        "sentiment": "text",
        "score": "number",
        "panel_sentiment": "text",
        "reasoning": "text",
        "judge_1": "text",
        "judge_2": "text",
        "judge_3": "text",
    }
    unit_name = "unit"
    takes_judges = True

    def items(self, options: SilverSpoonOptions) -> Iterator[AuditItem]:
        """The prompts of the part that the options name."""
        if options.task == "judgement":
            from .judgement import judgement_items

            return judgement_items(options)
        if options.task == "professions":
            from .professions import profession_items

            return profession_items(options)
        from .narratives import narrative_items

        return narrative_items(options)

    def targets(
        self, backends: tuple[Backend, ...], options: SilverSpoonOptions
    ) -> tuple[Backend, ...]:
        """The models; a stand-in names a profession, and is not asked beside stored answers."""
        if options.task == "professions":
            from .stand_in import ProfessionStandIn

            return tuple(
                ProfessionStandIn(one.spec) if one.spec.is_offline else one for one in backends
            )
        if options.answers is None:
            return backends
        named = tuple(one for one in backends if not one.spec.is_offline)
        if named and options.scenarios is None:
            raise InputError(
                "answers are stored without the scenarios' texts, so nobody can be asked about "
                "them: name the texts with scenarios, or leave the targets out"
            )
        return named

    def ask_template(self, options: SilverSpoonOptions) -> str:
        """Professions of a stand-in are no essays of a stand-in."""
        return "silverspoon-profession-1" if options.task == "professions" else ASK_TEMPLATE

    def read(self, item: AuditItem, answer: ModelAnswer, options: SilverSpoonOptions) -> Reading:
        """What rules, occupation list or sentiment library make of a reply."""
        if options.task == "judgement":
            from .judgement import read_judgement

            return read_judgement(item, answer)
        if options.task == "professions":
            from .professions import read_profession

            return read_profession(item, answer, options)
        from .narratives import read_narrative

        return read_narrative(item, answer, options)

    def question(
        self, item: AuditItem, answer: str, reading: Reading, options: SilverSpoonOptions
    ) -> JudgeQuestion:
        """What judges are asked; about people, with names and places taken out."""
        if options.task == "judgement":
            from .judgement import judgement_question

            return judgement_question(item, answer)
        if options.task == "professions":
            from .professions import profession_question

            return profession_question(item, answer)
        from .narratives import narrative_question

        return narrative_question(item, answer)

    def ruled(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        ruling: Ruling,
        options: SilverSpoonOptions,
    ) -> Reading:
        """What the judges came to; each judge's own word beside it."""
        values: dict[str, Cell] = dict(reading.values)
        key = _JUDGE_KEYS[options.task]
        columns = {"first": "judge_1", "second": "judge_2", "third": "judge_3"}
        for vote in ruling.votes:
            if vote.status == "read":
                values[columns[vote.slot]] = str(vote.value[key])
        if not ruling.is_decided:
            return Reading("unclassified", values, f"judges: {ruling.outcome}")
        if options.task == "judgement":
            from .judgement import rule_judgement

            return rule_judgement(values, ruling)
        if options.task == "professions":
            from .professions import rule_profession

            return rule_profession(values, ruling)
        from .narratives import rule_narrative

        return rule_narrative(values, ruling)

    def estimate(self, table: AnswersTable, options: SilverSpoonOptions) -> SilverSpoonFigures:
        """The figures of the part."""
        from .figures import SilverSpoonFigures
        from .judges_agree import judge_figures

        judges = judge_figures(table)
        if options.task == "judgement":
            from .judgement import judgement_figures

            found = judgement_figures(table, options)
            return SilverSpoonFigures(options.task, judgement=found, judges=judges)
        if options.task == "professions":
            from .professions import profession_figures

            guessed = profession_figures(table, options)
            return SilverSpoonFigures(options.task, professions=guessed, judges=judges)
        from .narratives import narrative_figures

        told = narrative_figures(table, options)
        return SilverSpoonFigures(options.task, narratives=told, judges=judges)

    def lines(self, figures: SilverSpoonFigures, options: SilverSpoonOptions) -> list[str]:
        """See `lines`."""
        from .lines import lines

        return lines(figures)

    def draw(
        self, folder: Path, figures: Any, options: SilverSpoonOptions
    ) -> Sequence[tuple[str, str]]:
        """See `pictures`."""
        from .pictures import draw

        return draw(folder, figures)

    def sections(self, figures: Any, options: SilverSpoonOptions) -> Sequence[Section]:
        """See `page`."""
        from .page import sections

        return sections(figures)

    def likely_words(self, options: SilverSpoonOptions) -> int:
        """A word or a sentence, a profession, or a story."""
        if options.task == "narratives":
            return round(0.8 * options.words)
        if options.task == "professions":
            return 3
        return 25 if options.reasons else 2

    def notices(self, options: SilverSpoonOptions) -> Sequence[str]:
        """What the data and options do to the figures."""
        if options.task == "judgement":
            return _judgement_notices(options)
        from .professions import people_of

        found = list(people_of(options).notices)
        if options.task == "narratives" and options.sentiment == "library":
            found.append("sentiment by a lexicon of English words; --sentiment both adds judges")
        return found


def _judgement_notices(options: SilverSpoonOptions) -> list[str]:
    from .judgement import gold_of, unlabelled

    gold = gold_of(options)
    if gold is None:
        return ["no gold labels: agreement with people is not measured (name them with --labels)"]
    found = list(gold.notices)
    missing = unlabelled(options)
    if missing:
        found.append(f"{missing:,} scenarios have no gold label of one end or both")
    return found
