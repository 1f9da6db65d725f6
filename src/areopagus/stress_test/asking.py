"""What targets are asked in a stress test, and what is asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..experiment.ask import ModelAnswer, Question
from ..experiment.respond import COLUMNS, answer_cells
from ..judges.models.backend import Backend
from .config import StressConfig
from .design import StressDesign
from .responses import NO_RESPONSE, StressResponse, chosen, repeat_of

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.variants import VariantSet

FEWEST_RETESTED = 10
"""Responses whose judges are asked again at the least: fewer give no noise floor to speak of."""

RESPONSE_COLUMNS = (*COLUMNS[:2], "condition", *COLUMNS[2:])
"""Columns of responses.csv, which is read back as supplied responses are."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One prompt as it is put under one condition."""

    prompt_id: str
    condition: str
    text: str


def questions(
    askings: Iterable[Asking],
    targets: Sequence[Backend],
    repeats: int,
    again: frozenset[str],
) -> Iterator[Question[Asking]]:
    """Every asking of every target, with its repeats.

    Args:
        askings: prompts under conditions.
        targets: whom to ask.
        repeats: how often.
        again: cells (see `cell_name`) whose response is generated once more.
    """
    for asking in askings:
        for target in targets:
            more = cell_name(asking, target.spec.name) in again
            for repeat in range(repeats + more):
                yield Question(asking, asking.text, target, repeat)


def cell_name(asking: Asking, target: str) -> str:
    """A name for one prompt under one condition before one target."""
    return f"{asking.prompt_id}\x1f{asking.condition}\x1f{target}"


def response_id(question: Question[Asking]) -> str:
    """The id of a response: prompt, condition, target, and the repeat where it is not the first."""
    asking = question.item
    suffix = f"#{question.repeat}" if question.repeat else ""
    return f"{asking.prompt_id}|{asking.condition}|{question.backend.spec.name}{suffix}"


def response_cells(question: Question[Asking], answer: ModelAnswer) -> list[Any]:
    """A row of responses.csv."""
    asking = question.item
    head = [response_id(question), asking.prompt_id, asking.condition, asking.text, answer.text]
    return [*head, question.backend.spec.name, question.repeat, *answer_cells(answer)]


def askings_of(design: StressDesign, variants: VariantSet) -> list[Asking]:
    """The baseline of every prompt and its usable variants, prompt by prompt.

    A prompt without any usable variant is left out whole: its baseline has nothing to be compared
    with.
    """
    texts = variants.usable()
    found: list[Asking] = []
    for row in design.prompts:
        mine = [
            Asking(row.prompt_id, name, text)
            for name in design.conditions[1:]
            if (text := texts[row.prompt_id].get(name)) is not None
        ]
        if mine:
            found += [Asking(row.prompt_id, design.config.baseline, row.prompt_text), *mine]
    return found


def asked_again(design: StressDesign, askings: Sequence[Asking]) -> frozenset[str]:
    """The cells whose response is generated once more."""
    config = design.config
    if config.response_repeats > 1 or not config.regenerate_share:
        return frozenset()
    cells = [cell_name(asking, name) for asking in askings for name in design.target_names]
    share = config.regenerate_share
    return chosen(cells, share, config.seed, "regenerate", at_least=FEWEST_RETESTED)


def retested(config: StressConfig, responses: Iterable[StressResponse]) -> frozenset[str]:
    """The responses whose judges are asked a second time."""
    names = [
        row.response_id
        for row in responses
        if row.extra.get("status") not in NO_RESPONSE and repeat_of(row) == 0
    ]
    return chosen(names, config.retest_share, config.seed, "retest", at_least=FEWEST_RETESTED)


def twice(panel: PanelSpec) -> PanelSpec:
    """The panel whose every judge is asked as often again; the first askings are paid."""
    return replace(panel, repeats=2 * panel.repeats)


def baseline_prompts(design: StressDesign, responses: Iterable[StressResponse]) -> dict[str, str]:
    """Prompt id to the text of its baseline."""
    if design.prompts:
        return {row.prompt_id: row.prompt_text for row in design.prompts}
    name = design.config.baseline
    return {row.prompt_id: row.prompt_text for row in responses if row.condition == name}
