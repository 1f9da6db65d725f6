"""What a stress test is made of, checked whole before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiment.ask import Wording, protocol_from, targets_from
from ..experiment.backends import settings_of
from ..experiment.config import Track
from ..graphs.framings import Framing
from ..judges.models.backend import OFFLINE_RESPONDENT, Backend
from .material import (
    Prompts,
    framings_from,
    read_plan_variants,
    read_prompts,
    require_one_source,
    require_stand_ins,
    rewriters_from,
)
from .plan import StressPlan
from .supplied import Supplied, read_supplied

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.variants import VariantSet


@dataclass(frozen=True, slots=True)
class StressDesign:
    """A stress test before it is run.

    Attributes:
        plan: what was decided beforehand; its repeats are those of supplied responses.
        wording: how targets are asked.
        prompts: those to ask; None where responses are supplied.
        supplied: responses that are there already, or None.
        variants: variants that are there already, or None.
        framings: those to rewrite into; empty where nothing is rewritten.
        targets, rewriters, reviewers: who is asked.
        rewrite_only: whether it ends when the variants are written.
    """

    plan: StressPlan
    wording: Wording
    prompts: Prompts | None
    supplied: Supplied | None
    variants: VariantSet | None
    framings: tuple[Framing, ...]
    targets: tuple[Backend, ...]
    rewriters: tuple[Backend, ...]
    reviewers: tuple[Backend, ...]
    rewrite_only: bool

    @property
    def given(self) -> Prompts | Supplied:
        """The prompts, or the responses supplied in their place."""
        given = self.prompts or self.supplied
        assert given is not None  # noqa: S101 - one of the two is there
        return given

    @property
    def stages(self) -> tuple[str, ...]:
        """What is done, in order."""
        first = [] if self.supplied or self.variants else ["rewrite"]
        if self.rewrite_only:
            return tuple(first)
        second = [] if self.supplied else ["respond"]
        last = ["retest"] if self.plan.retest_share else []
        return (*first, *second, "score", *last)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The baseline first, then the others."""
        if self.supplied is not None:
            return self.supplied.conditions
        if self.variants is not None:
            return (self.plan.baseline, *self.variants.conditions)
        return (self.plan.baseline, *(framing.id for framing in self.framings))

    @property
    def target_names(self) -> tuple[str, ...]:
        """The models under test, or the respondents of supplied responses."""
        if self.supplied is not None:
            return self.supplied.targets
        return tuple(backend.spec.name for backend in self.targets)

    @property
    def prompt_ids(self) -> tuple[str, ...]:
        """The prompts, which are the units of every figure."""
        if self.supplied is not None:
            return self.supplied.prompts
        assert self.prompts is not None  # noqa: S101 - one of the two is there
        return tuple(row.prompt_id for row in self.prompts.rows)

    @property
    def others(self) -> tuple[Backend, ...]:
        """Who takes part beside the judges."""
        return (*self.rewriters, *self.reviewers, *(() if self.rewrite_only else self.targets))

    def identity(self) -> dict[str, Any]:
        """What of it makes another study where it changes; the panel's part apart."""
        found: dict[str, Any] = {"plan": self.plan.to_json()}
        if self.supplied is not None:
            return found | {"responses_sha256": self.supplied.fingerprint}
        assert self.prompts is not None  # noqa: S101 - one of the two is there
        found["prompts_sha256"] = self.prompts.fingerprint
        found["targets"] = settings_of(self.targets)
        found["asked"] = {
            "words": self.wording.protocol.words,
            "most_words": self.wording.protocol.most_words,
        }
        if self.variants is not None:
            return found | {"variants_sha256": self.variants.fingerprint()}
        found["framings"] = {item.id: item.sha256 for item in self.framings}
        return found | {"rewriters": settings_of(self.rewriters)}


def design_of(
    panel: PanelSpec,
    prompts: Any,
    *,
    targets: Any,
    rewriters: Any,
    framings: Sequence[str | Path | Framing] | None,
    framing_folders: Sequence[str | Path],
    variants: str | Path | None,
    responses: Any,
    condition: str | None,
    plan: StressPlan,
    track: Track | None,
    effort: str | None,
    words: int | None,
    columns: Mapping[str, str] | None,
    limit: int | None,
    rewrite_only: bool,
) -> StressDesign:
    """Reads and checks everything; the options are those of `stress`.

    Raises:
        InputError: what is wrong with it.
    """
    require_one_source(
        prompts,
        responses,
        variants,
        rewrite_only=rewrite_only,
        others={
            "targets": targets,
            "rewriters": rewriters,
            "framings": framings or framing_folders,
            "track": track,
            "effort": effort,
            "words": words,
            "regenerate": plan.regenerate_share,
            "condition": condition,
        },
    )
    wording = Wording(
        protocol_from(track, effort=effort, words=words),
        labels={"track": track or "none", "job": "stress"},
    )
    if responses is not None:
        supplied = read_supplied(responses, plan, condition=condition, columns=columns, limit=limit)
        plan = replace(plan, response_repeats=supplied.repeats)
        return StressDesign(plan, wording, None, supplied, None, (), (), (), (), rewrite_only)
    read = read_prompts(prompts, columns=columns, limit=limit)
    asked = targets_from(targets or [OFFLINE_RESPONDENT], wording.protocol)
    if variants is not None:
        given = read_plan_variants(variants, read, plan)
        return StressDesign(plan, wording, read, None, given, (), asked, (), (), rewrite_only)
    wanted = framings_from(framings, framing_folders, plan.baseline)
    writers, reviewers = rewriters_from(rewriters, panel)
    require_stand_ins(wanted, writers)
    return StressDesign(
        plan, wording, read, None, None, wanted, asked, writers, reviewers, rewrite_only
    )
