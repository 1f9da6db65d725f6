"""A draft of a persona's next version, by a model, from where it departs on half of the prompts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError

from ..aggregation.estimate import Estimate
from ..aggregation.jackknife import ratio, ratio_difference, verdict_limits
from ..aggregation.pair_counting import pair_sums
from ..calibration.panel_scores import PanelScores, mean_over_judges
from ..formats import number
from ..graphs.prompt_template import load_prompt_template
from ..judges.schema import TEXT, OutputSchema
from ..judges.structured import Question
from ..personas import Persona
from ..records.estimates import Estimates, estimates_by
from ..rubrics import Rubric
from .departures import Departing, DepartingResponse, Floats, Mask, add_departures, largest

TEMPLATE = "persona_draft"
MOST_SHOWN = 6
"""Responses that the drafting model is shown."""
MOST_CHARACTERS = 2_500
"""Characters of each text that it is shown."""
OUTPUT_TOKENS = 400
"""About how long a reply is, for estimates."""

BETTER, NOT_BETTER, WORSE = "better", "not shown to be better", "worse"


@dataclass(frozen=True, slots=True)
class Halves:
    """The prompts to draft from, and those held out; shape (prompts,) each."""

    training: Mask
    held_out: Mask


def halves_of(main: Departing, persona: int, seed: int) -> Halves:
    """Returns two halves of the prompts that people rated and the persona scored, drawn by seed.

    The held-out half has the one more of an odd number: a verdict is made there.
    """
    both = np.isfinite(main.human) & np.isfinite(main.scores[:, persona])
    codes = np.random.default_rng(seed).permutation(np.unique(main.prompt[both]))
    training, held_out = np.zeros((2, main.n_prompts), dtype=bool)
    training[codes[: len(codes) // 2]] = True
    held_out[codes[len(codes) // 2 :]] = True
    return Halves(training, held_out)


@dataclass(frozen=True, slots=True)
class Said:
    """What there is beside the scores of one response.

    Attributes:
        prompt, response: the texts; "" where the run keeps none.
        reasons: model and reason of the persona's judges.
        comments: rater and comment.
    """

    prompt: str = ""
    response: str = ""
    reasons: tuple[tuple[str, str], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()


def next_version(version: str) -> str:
    """The version with its last number raised by one; with ".1" after it where there is none."""
    found = re.search(r"\d+(?!.*\d)", version)
    if found is None:
        return f"{version}.1"
    return f"{version[: found.start()]}{int(found[0]) + 1}{version[found.end() :]}"


def drafted(persona: Persona, description: str, *, provenance: str) -> Persona:
    """The persona with another description: id, label, axis and the rest kept, version raised.

    Raises:
        ValidationError: the description cannot be a persona's.
    """
    given = persona.model_dump(mode="json", exclude_defaults=True)
    return Persona.model_validate(
        {
            **given,
            "description": " ".join(description.split()),
            "version": next_version(persona.version),
            "provenance": provenance,
        }
    )


def persona_yaml(persona: Persona) -> str:
    """The persona as a file that the loader reads."""
    given = persona.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=90)


def difference(old: Persona, new: Persona) -> str:
    """A unified diff of both as files, a sentence of the description a line."""

    def lines(persona: Persona) -> list[str]:
        # One folded paragraph would differ as a whole wherever a word moves its line breaks.
        sentences = "\n".join(re.split(r"(?<=[.!?])\s+", persona.description))
        rest = persona.model_dump(mode="json", exclude={"description", "lexicon", "examples"})
        head = [f"{name}: {value}" for name, value in rest.items()]
        return [*head, "description:", *(f"  {line}" for line in sentences.splitlines())]

    before, after = (f"{one.id}, version {one.version}" for one in (old, new))
    made = difflib.unified_diff(lines(old), lines(new), before, after, lineterm="", n=1)
    return "\n".join(made) + "\n"


def draft_question(
    persona: Persona,
    rubric: Rubric,
    departures: str,
    examples: Sequence[tuple[DepartingResponse, Said]],
    *,
    provenance: str,
    secret: bytes,
) -> Question[dict[str, Any]]:
    """What the drafting model is asked.

    A description that the loader would refuse makes the reply unreadable, so that it is asked for
    once more.

    Args:
        persona: the present version.
        rubric: what is judged by.
        departures: of `departures_told`, on the training prompts.
        examples: responses to training prompts.
        provenance: of the draft.
        secret: the ledger's.
    """
    template = load_prompt_template(TEMPLATE)

    def build(value: dict[str, Any]) -> dict[str, Any]:
        try:
            made = drafted(persona, value["description"], provenance=provenance)
        except ValidationError as error:
            raise ValueError(error.errors()[0]["msg"]) from error
        if made.description == " ".join(persona.description.split()):
            raise ValueError("the description is the present one")
        return {**value, "description": made.description}

    texts = {
        "PERSPECTIVE": f"label: {persona.label}\ndescription: {persona.description}",
        "DEPARTURES": departures,
    }
    for place, (row, said) in enumerate(examples, start=1):
        texts[f"ANSWER {place}"] = _example(row, said)
    return template.question(
        texts,
        OutputSchema(dict.fromkeys(template.questions, TEXT), build),
        secret=secret,
        purpose="generate",
        values={
            "criteria": [
                template.text("criterion", label=d.label, id=d.id, definition=d.definition)
                for d in rubric.dimensions
            ],
            "keys": template.asked(),
        },
        labels={"persona": persona.id},
    )


def _example(row: DepartingResponse, said: Said) -> str:
    criterion, kind = row.keys["criterion"], row.keys["detail"]
    unit = " (place within its question, 1 the lowest)" if kind == "rank" else ""
    lines = [
        f"criterion: {criterion}",
        f"this judge: {number(row.score)}",
        f"the other judges: {number(row.others)}",
        f"people: {number(row.people)}{unit}",
        f"question: {said.prompt[:MOST_CHARACTERS]}",
        f"answer: {said.response[:MOST_CHARACTERS]}",
    ]
    lines += [f"reason of this judge: {text[:MOST_CHARACTERS]}" for _, text in said.reasons]
    lines += [f"comment of a person: {text[:MOST_CHARACTERS]}" for _, text in said.comments]
    return "\n".join(lines)


def departures_told(
    found: Sequence[Departing], names: Sequence[str], persona: str, level: float
) -> str:
    """Where the persona departs on the prompts of `found`, a line a criterion, for the model."""
    out = Estimates()
    add_departures(out, found, names, [persona], [None] * len(found[0].human), level=level)
    frame = out.frame()
    frame = frame[frame["table"] == "departures"]
    return "\n".join(
        f"{keys['criterion']}: {_told(figures)}"
        for keys, figures in estimates_by(frame, ["criterion", "detail"])
    )


def _told(figures: Mapping[str, Estimate]) -> str:
    def of(name: str, *, is_signed: bool = False) -> str:
        one = figures.get(name)
        return number(None if one is None else one.value, is_signed=is_signed)

    told = (
        f"orders {of('accuracy')} of the pairs of answers as people do, "
        f"the other judges {of('accuracy_others')}"
    )
    if "level" in figures:
        told += (
            f"; scores {of('level', is_signed=True)} points from people, "
            f"the other judges {of('level_others', is_signed=True)}"
        )
    return told


def shown_examples(
    found: Sequence[Departing], names: Sequence[str], persona: str
) -> list[DepartingResponse]:
    """The responses that the drafting model is shown, of the prompts of `found`."""
    return largest(found, names, persona, MOST_SHOWN)


def add_check(
    out: Estimates,
    found: Sequence[Departing],
    panel: PanelScores,
    new: PanelScores,
    persona: str,
    *,
    level: float,
) -> Estimate | None:
    """Adds the table "draft", and returns the difference that the verdict is made of.

    Measured at 6, 13 and 30 prompts held out (benchmarks/simulate_personas.py --draft, 1,000
    worlds): a draft as good as the present version called better in .028, .023, .038, worse in
    .025, .023, .016 (Monte Carlo error .006); one that errs half as much called better in .111,
    .279, .638 (error .015).

    old, new, others   pair accuracy with people on the held-out prompts: the version of the run,
                       the draft, and the other personas, each alone
    difference         new less old, over the responses and models that both scored; on the main
                       criterion its verdict is "better", "worse" or "not shown to be better"

    Args:
        out: takes the figures.
        found: of `departing`, on the held-out prompts.
        panel: the run's judgments.
        new: those of the draft, of the same responses.
        persona: its id.
        level: of the intervals.
    """
    p = panel.personas.index(persona)
    main: Estimate | None = None
    for one in found:
        criterion = one.target.criterion
        old_scores, new_scores = _paired(panel, p, new, criterion)

        def sums(judge: Floats, one: Departing = one) -> tuple[Floats, Floats]:
            return pair_sums(judge, one.human, one.prompt, n_prompts=one.n_prompts).accuracy

        method = "pair accuracy with people, ties one half"
        before, after = sums(old_scores), sums(new_scores)
        figures: dict[str, Estimate] = {
            "old": ratio(*before, method=method, level=level),
            "new": ratio(*after, method=method, level=level),
        }
        apart = ratio_difference(
            after, before, method=f"{method}, draft less present version", level=level
        )
        if main is None:
            apart = main = _with_verdict(apart)
        figures["difference"] = apart
        rest = [sums(one.scores[:, q]) for q in range(one.scores.shape[1]) if q != p]
        if rest:
            top, bottom = np.sum(rest, axis=0)
            figures["others"] = ratio(top, bottom, method=f"{method}: each alone", level=level)
        out.add_all("draft", figures, persona=persona, **one.keys)
    return main


def _with_verdict(found: Estimate) -> Estimate:
    low, high = verdict_limits(found)
    verdict = BETTER if low > 0 else WORSE if high < 0 else NOT_BETTER
    return replace(found, verdict=verdict)


def _paired(
    panel: PanelScores, p: int, new: PanelScores, criterion: str | None
) -> tuple[Floats, Floats]:
    """Scores of the present version and of the draft over the models that scored with both."""
    before, after = panel.by_judge(criterion)[:, p], new.by_judge(criterion)[:, 0]
    shared = [name for name in panel.models if name in new.models]
    before = before[:, [panel.models.index(name) for name in shared]]
    after = after[:, [new.models.index(name) for name in shared]]
    both = np.isfinite(before) & np.isfinite(after)
    found = tuple(mean_over_judges(np.where(both, one, np.nan)).score for one in (before, after))
    return found[0], found[1]
