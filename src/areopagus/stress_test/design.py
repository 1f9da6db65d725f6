"""What a stress test is made of, checked whole before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..experiment.ask import Wording, protocol_from, targets_from
from ..experiment.backends import settings_of
from ..graphs.framings import Framing, load_framings
from ..judges.models.backend import OFFLINE_RESPONDENT, Backend
from ..records.readers.responses import PromptRow, PromptSource
from ..records.variants import VariantSet, read_variants
from .config import StressConfig
from .responses import Supplied, read_supplied
from .rewriting import require_stand_ins, rewriters_from

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


@dataclass(frozen=True, slots=True)
class StressDesign:
    """A stress test before it is run.

    Attributes:
        config: what was chosen; its repeats are those of supplied responses.
        wording: how targets are asked.
        name, fingerprint, notices: of the file of prompts or of responses.
        prompts: those to ask, in their order; empty where responses are supplied.
        supplied: responses that are there already, or None.
        variants: variants that are there already, or None.
        framings: those to rewrite into; empty where nothing is rewritten.
        targets, rewriters, reviewers: who is asked.
    """

    config: StressConfig
    wording: Wording
    name: str
    fingerprint: str
    notices: tuple[str, ...]
    prompts: tuple[PromptRow, ...] = ()
    supplied: Supplied | None = None
    variants: VariantSet | None = None
    framings: tuple[Framing, ...] = ()
    targets: tuple[Backend, ...] = ()
    rewriters: tuple[Backend, ...] = ()
    reviewers: tuple[Backend, ...] = ()

    @property
    def stages(self) -> tuple[str, ...]:
        """What is done, in order."""
        first = [] if self.supplied or self.variants else ["rewrite"]
        if self.config.rewrite_only:
            return tuple(first)
        second = [] if self.supplied else ["respond"]
        last = ["retest"] if self.config.retest_share else []
        return (*first, *second, "score", *last)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The baseline first, then the others."""
        if self.supplied is not None:
            return self.supplied.conditions
        if self.variants is not None:
            return (self.config.baseline, *self.variants.conditions)
        return (self.config.baseline, *(framing.id for framing in self.framings))

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
        return tuple(row.prompt_id for row in self.prompts)

    @property
    def others(self) -> tuple[Backend, ...]:
        """Who takes part beside the judges."""
        asked = () if self.config.rewrite_only else self.targets
        return (*self.rewriters, *self.reviewers, *asked)

    def identity(self) -> dict[str, Any]:
        """What of it makes another study where it changes; the panel's part apart."""
        found: dict[str, Any] = {"plan": self.config.plan}
        if self.supplied is not None:
            return found | {"responses_sha256": self.fingerprint}
        protocol = self.wording.protocol
        found["prompts_sha256"] = self.fingerprint
        found["targets"] = settings_of(self.targets)
        found["asked"] = {"words": protocol.words, "most_words": protocol.most_words}
        if self.variants is not None:
            return found | {"variants_sha256": self.variants.fingerprint()}
        found["framings"] = {item.id: item.sha256 for item in self.framings}
        return found | {"rewriters": settings_of(self.rewriters)}


def design_of(
    panel: PanelSpec,
    prompts: Any,
    config: StressConfig,
    *,
    targets: Any,
    rewriters: Any,
    responses: Any,
) -> StressDesign:
    """Reads and checks everything; the arguments are those of `stress`.

    Raises:
        InputError: what is wrong with it.
    """
    named = {"targets": targets, "rewriters": rewriters}
    _require_one_source(prompts, responses, config, {k for k, v in named.items() if v})
    wording = Wording(
        protocol_from(config.track, effort=config.effort, words=config.words),
        labels={"track": config.track or "none", "job": "stress"},
    )
    if responses is not None:
        supplied = read_supplied(
            responses,
            baseline=config.baseline,
            planned_repeats=config.response_repeats,
            condition=config.condition,
            columns=config.columns,
            limit=config.limit,
        )
        config = config.model_copy(update={"response_repeats": supplied.repeats})
        return StressDesign(
            config, wording, supplied.name, supplied.fingerprint, supplied.notices,
            supplied=supplied,
        )  # fmt: skip
    with PromptSource(prompts, columns=config.columns, limit=config.limit) as opened:
        summary = opened.check()
        rows = tuple(opened.rows())
    head = (config, wording, summary.name, summary.fingerprint, summary.notices, rows)
    asked = targets_from(targets or [OFFLINE_RESPONDENT], wording.protocol)
    if config.variants is not None:
        given = read_variants(config.variants, {row.prompt_id: row.prompt_text for row in rows})
        _require_no_baseline(given.conditions, config.baseline)
        return StressDesign(*head, variants=given, targets=asked)
    framings = load_framings(config.framings, config.framing_folders)
    _require_no_baseline([framing.id for framing in framings], config.baseline)
    writers, reviewers = rewriters_from(rewriters, panel)
    require_stand_ins(framings, writers)
    return StressDesign(
        *head, framings=framings, targets=asked, rewriters=writers, reviewers=reviewers
    )


def _require_no_baseline(names: Any, baseline: str) -> None:
    if baseline in names:
        raise InputError(f"a framing is called {baseline!r} like the baseline; rename one")


def _require_one_source(
    prompts: Any, responses: Any, config: StressConfig, named: set[str]
) -> None:
    """Refuses what asks for two things at once, for nothing, or what nothing would use.

    Args:
        prompts, responses: as they were given.
        config: the options.
        named: which of targets and rewriters were named.

    Raises:
        InputError: what contradicts what, all of it.
    """
    chosen = {
        "framings": config.framings or config.framing_folders,
        "track": config.track,
        "effort": config.effort,
        "words": config.words,
        "regenerate": config.regenerate_share,
        "condition": config.condition,
        "variants": config.variants,
        "rewrite-only": config.rewrite_only,
    }
    given = named | {name for name, value in chosen.items() if value}
    faults: list[str] = []

    def refuse(unused: set[str], why: str) -> None:
        if found := unused & given:
            faults.append(f"{why}: leave out {', '.join(sorted(found))}")

    if (prompts is None) == (responses is None):
        faults.append("give either prompts to ask, or responses that are there already")
    elif responses is not None:
        asking = {"targets", "track", "effort", "words", "regenerate"}
        refuse(asking, "responses are supplied, so nobody is asked")
        rewriting = {"rewriters", "framings", "variants", "rewrite-only"}
        refuse(rewriting, "responses are supplied, so nothing is rewritten")
    else:
        refuse({"condition"}, "condition says where supplied responses carry theirs")
    if config.variants is not None and responses is None:
        rewriting = {"rewriters", "framings", "rewrite-only"}
        refuse(rewriting, "variants are supplied, so nothing is rewritten")
    if faults:
        raise InputError(faults)
