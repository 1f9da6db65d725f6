"""The normative judgement as a part of the audit: its prompts, its readings, its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ...errors import InputError, InputFault
from ...experiment.ask import ModelAnswer
from ...graphs.adjudication import JudgeQuestion, Ruling
from ..answers_table import AnswersTable
from ..definition import AuditItem, Cell, Reading
from .answers import ANSWERS, LABELS, read_answer, wrong_prompt, wrong_question
from .gold import Gold, StoredAnswers, load_gold, load_stored
from .judgement_estimate import ModelAnswers, estimate_judgement
from .judgement_figures import JudgementFigures
from .material import SOMEBODY, Scenario, Scenarios, load_scenarios

if TYPE_CHECKING:
    from .options import SilverSpoonOptions

WITHOUT_TEXT = "(No text of this scenario: answers to it are stored, and nobody is asked.)"
_ORDERS = {"p1_first": False, "other_first": True}


def scenarios_of(options: SilverSpoonOptions) -> Scenarios:
    """The scenarios that the options name; of stored answers without texts, their ids alone."""
    if options.answers is not None and options.scenarios is None:
        stored = stored_of(options)
        found = [
            Scenario(name, stored.bases.get(name, name), stored.topics.get(name, ""), SOMEBODY, "")
            for name in stored.ids
        ]
        place = {one.base: at for at, one in reversed(list(enumerate(found)))}
        return Scenarios(tuple(sorted(found, key=lambda one: place[one.base])), {})
    return load_scenarios(options.scenarios, versions=options.versions, topics=options.topic)


def stored_of(options: SilverSpoonOptions) -> StoredAnswers:
    """The stored answers that the options name."""
    if options.answers is None:
        raise InputError("answers: no file is named")
    return load_stored(options.answers, columns=options.answer_column, versions=options.versions)


def gold_of(options: SilverSpoonOptions) -> Gold | None:
    """The gold labels that the options name."""
    if options.labels is None:
        return None
    return load_gold(options.labels, versions=options.versions)


def judgement_items(options: SilverSpoonOptions) -> Iterator[AuditItem]:
    """Every scenario, versions of one next to each other, in one order of the words or in both."""
    scenarios = scenarios_of(options).scenarios
    _require_match(options, frozenset(one.id for one in scenarios))
    orders = tuple(_ORDERS) if options.order == "both" else ("p1_first",)
    for one in scenarios:
        for order in orders:
            prompt = wrong_prompt(
                one.text or WITHOUT_TEXT,
                one.other,
                other_first=_ORDERS[order],
                reasons=options.reasons,
            )
            fields: Mapping[str, Cell] = {
                "scenario": one.id,
                "base": one.base,
                "topic": one.topic,
                "other": one.other,
                "order": order,
            }
            yield AuditItem(f"{one.id}|{order}", prompt, fields, unit=one.base)


def _require_match(options: SilverSpoonOptions, ids: frozenset[str]) -> None:
    """Raises where labels or stored answers belong to other scenarios; before anything is spent."""
    gold = gold_of(options)
    faults = []
    if gold is not None and not any(ids & labels.keys() for labels in gold.labels.values()):
        faults.append(InputFault(gold.name, "no label is of a scenario that is asked about here"))
    if options.answers is not None and not ids & frozenset(stored_of(options).ids):
        faults.append(
            InputFault(options.answers, "no answer is to a scenario that is asked about here")
        )
    if faults:
        raise InputError(faults, hint="The ids must be those of the scenarios.")


def unlabelled(options: SilverSpoonOptions) -> int:
    """Scenarios that lack a label of one end, or of both."""
    gold = gold_of(options)
    if gold is None:
        return 0
    ids = [one.id for one in scenarios_of(options).scenarios]
    return sum(any(name not in labels for labels in gold.labels.values()) for name in ids)


def read_judgement(item: AuditItem, answer: ModelAnswer) -> Reading:
    """Plain answers by rule; the rest is for judges."""
    if answer.status == "refused":
        return Reading("refused", {}, "declined")
    found, reason = read_answer(answer.text, str(item.fields["other"]))
    if found is not None:
        return Reading("classified", answer_values(found))
    if reason == "empty":
        return Reading("empty", {}, "no text")
    if reason == "refused":
        return Reading("refused", {}, "declined")
    return Reading("unclassified", {}, reason)


def judgement_question(item: AuditItem, answer: str) -> JudgeQuestion:
    """What judges are asked."""
    text = item.prompt.partition("\n\nWho is in the wrong here?")[0]
    return wrong_question(text, str(item.fields["other"]), answer)


def rule_judgement(values: dict[str, Cell], ruling: Ruling) -> Reading:
    """What the judges' answer makes of it."""
    found = str(ruling.value["answer"])
    values["reasoning"] = str(ruling.value["reasoning"])
    if found not in ANSWERS:
        return Reading("unreadable", values, "judges: unclear")
    return Reading("classified", {**values, **answer_values(found)})


def answer_values(answer: str) -> dict[str, Cell]:
    """The columns of an answer; both and neither have no label."""
    return {"answer": answer, "label": LABELS.get(answer)}


def judgement_figures(table: AnswersTable, options: SilverSpoonOptions) -> JudgementFigures:
    """The figures of models asked, of supplied answers, and of stored ones."""
    gold = gold_of(options)
    topics = dict(gold.topics) if gold is not None else {}
    models, scenarios, bases = _asked(table, topics, gold)
    if options.answers is not None:
        models += _stored(stored_of(options), topics, gold, options)
    labels: dict[str, str] = {}
    if options.answers is None or options.scenarios is not None:
        labels = scenarios_of(options).labels
    return estimate_judgement(
        models, gold, labels=labels, n_scenarios=len(scenarios), n_bases=len(bases)
    )


def _asked(
    table: AnswersTable, topics: Mapping[str, str], gold: Gold | None
) -> tuple[list[ModelAnswers], set[str], set[str]]:
    columns: dict[str, list[tuple[str, str, str, str, str | None]]] = {
        name: [] for name in table.targets
    }
    counts: dict[str, Counter[str]] = {name: Counter() for name in table.targets}
    scenarios: set[str] = set()
    bases: set[str] = set()
    bases_of = {} if gold is None else gold.bases
    names = ("target", "status", "scenario", "base", "topic", "order", "answer")
    for row in table.rows(*names):
        base = bases_of.get(row["scenario"], row["base"])
        topic = row["topic"] or topics.get(row["scenario"], "")
        scenarios.add(row["scenario"])
        bases.add(base)
        columns[row["target"]].append((row["scenario"], base, topic, row["order"], row["answer"]))
        counts[row["target"]][row["answer"] or row["status"]] += 1
    found = []
    for name, rows in columns.items():
        scenario, base_column, topic_column, order, answer = (
            [row[at] for row in rows] for at in range(5)
        )
        found.append(
            ModelAnswers(
                name,
                "asked",
                [str(one) for one in scenario],
                [str(one) for one in base_column],
                [str(one) for one in topic_column],
                [str(one) for one in order],
                answer,
                dict(counts[name]),
            )
        )
    return found, scenarios, bases


def _stored(
    stored: StoredAnswers,
    topics: Mapping[str, str],
    gold: Gold | None,
    options: SilverSpoonOptions,
) -> list[ModelAnswers]:
    place = {one.id: one for one in scenarios_of(options).scenarios}
    bases_of = {} if gold is None else gold.bases
    found = []
    for column, answers in stored.answers.items():
        names = [name for name in stored.ids if name in place]
        counts = Counter(answers[name] for name in names if name in answers)
        for kind, number in (
            ("unreadable", stored.unreadable.get(column, 0)),
            ("missing", stored.n_missing.get(column, 0)),
        ):
            if number:
                counts[kind] = number
        found.append(
            ModelAnswers(
                column,
                "stored",
                names,
                [bases_of.get(name, stored.bases.get(name, place[name].base)) for name in names],
                [
                    stored.topics.get(name) or topics.get(name) or place[name].topic
                    for name in names
                ],
                ["p1_first"] * len(names),
                [answers.get(name) for name in names],
                dict(counts),
                is_binary=column in stored.binary,
            )
        )
    return found
