"""What one run of a served graph may choose (its `context_schema`), and the panel that comes of it.

A run names models, personas and a rubric; what it leaves out is that of the `panel.yaml` which
`$AREOPAGUS_PANEL` names, else of the embedded stand-ins. Names only: an address or a file named by
a client would make the server send its keys there, or read it. The file may hold both.

Panels are kept by their content, with the client through which their runs ask, so that the limits
of a backend hold over all runs. A run with a cost cap has a client of its own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from ..async_runner import run_sync
from ..errors import InputError
from ..experiment.config import Track, faults_of
from ..experiment.single import CheckedClient
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..records.types import Mode
from ..yaml_files import Slug

if TYPE_CHECKING:
    from ..experiment.backends import Model
    from ..graphs.panel_spec import PanelSpec
    from ..panel import Panel
    from ..records.ledger import Ledger
    from ..settings import PanelSettings
    from ..stress_test.design import StressDesign

PANEL_VARIABLE = "AREOPAGUS_PANEL"

_making = threading.Lock()

_MOST_PANELS = 32
"""Panels kept at a time; one that is asked for again later is put together anew."""


class RefusedInputError(InputError, ValueError):
    """An InputError whose text a LangGraph server shows its client: it hides those of classes that
    it does not know."""


def _no_address(name: str) -> str:
    if "://" in name:
        raise ValueError("must be a model's name; an address stands in the server's panel.yaml")
    return name


ModelName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_no_address)]


class RunContext(BaseModel):
    """Whom a run asks. What is left out is as in the server's panel.yaml."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False
    )

    models: list[ModelName] | None = Field(
        default=None,
        min_length=1,
        description="Models as provider/model, or by their names in the server's panel.yaml.",
    )
    max_cost: float | None = Field(
        default=None, ge=0, description="US dollars that a run does not pass."
    )

    of_panel: ClassVar[tuple[str, ...]] = ("models",)
    """The fields that are settings of the panel."""

    _asking: CheckedClient | None = PrivateAttr(default=None)

    def __init__(self, **given: Any) -> None:
        """Checks what a client chose.

        Raises:
            InputError: everything wrong with it.
        """
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise RefusedInputError(faults_of(error, "context")) from error

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Self:
        """The context among the values that a server hands over, which hold others too."""
        values = given or {}
        return cls(**{name: values[name] for name in cls.model_fields if name in values})

    @property
    def opened(self) -> OpenPanel:
        """The panel that was chosen."""
        return opened_panel(self.model_dump_json(include=set(self.of_panel), exclude_none=True))

    @property
    def spec(self) -> PanelSpec:
        """Who judges and how."""
        return self.opened.spec

    @property
    def asking(self) -> CheckedClient:
        """Where the run's calls go: under its cap, or through the panel's own client."""
        if self.max_cost is None:
            return self.opened.asking
        if self._asking is None:
            budget = Budget(cap=self.max_cost)
            self._asking = CheckedClient(Client(self.spec.ledger, budget=budget))
        return self._asking


class JudgingContext(RunContext):
    """Who judges, and how. What is left out is as in the server's panel.yaml."""

    personas: list[Slug] | None = Field(
        default=None, min_length=1, description="Personas by their names; all when left out."
    )
    rubric: Slug | None = Field(default=None, description="Rubric by its name.")
    mode: Mode | None = Field(
        default=None,
        description="A score on each dimension, one integer with the rubric shown, or without it.",
    )
    repeats: int | None = Field(default=None, ge=1, le=100, description="Askings of each judge.")
    precision: float | None = Field(
        default=None,
        gt=0,
        description="Ask judges in random order until the panel's mean is known to within so many "
        "points.",
    )
    judges_per_response: int | None = Field(
        default=None, ge=1, description="Ask at most so many judges a response, drawn at random."
    )

    of_panel: ClassVar[tuple[str, ...]] = (
        "models", "personas", "rubric", "mode", "repeats", "precision", "judges_per_response",
    )  # fmt: skip


class ReframingContext(RunContext):
    """Who rewrites, and into what. What is left out is as in the server's panel.yaml."""

    rewriters: list[ModelName] | None = Field(
        default=None, min_length=1, description="Models that rewrite; the panel's if left out."
    )
    framings: list[Slug] | None = Field(
        default=None, min_length=1, description="Only these of the four framings."
    )


class StressContext(ReframingContext, JudgingContext):
    """Who is under test, who rewrites and who judges."""

    targets: list[ModelName] | None = Field(
        default=None, min_length=1, description="Models under test; an embedded one if left out."
    )
    track: Track | None = Field(default=None, description="How targets are asked.")
    response_repeats: int = Field(
        default=1, ge=1, le=100, description="Responses asked for a prompt; scores are averaged."
    )
    margin: float = Field(
        default=0.5, gt=0, description="Points within which a change counts as none."
    )
    seed: int = Field(default=0, description="Of every random choice.")

    _design: tuple[str, StressDesign] | None = PrivateAttr(default=None)

    def design(self, prompts: list[dict[str, Any]]) -> StressDesign:
        """The stress test on these prompts, checked as `areopagus stress` checks it.

        Raises:
            InputError: everything wrong with the prompts or the models.
        """
        from ..stress_test.config import StressConfig
        from ..stress_test.design import design_of

        key = repr(prompts)
        if self._design is None or self._design[0] != key:
            config = StressConfig.checked(
                framings=self.framings,
                track=self.track,
                response_repeats=self.response_repeats,
                margin=self.margin,
                seed=self.seed,
                retest_share=0.0,
            )
            made = design_of(
                self.spec,
                prompts,
                config,
                targets=self.opened.settings_of(self.targets),
                rewriters=self.opened.settings_of(self.rewriters),
                responses=None,
            )
            self._design = key, made
        return self._design[1]


class OpenPanel:
    """A panel, and the client that its runs share.

    Attributes:
        panel: as it was chosen.
        spec: with the rule that says when fewer judges are enough, where one was chosen.
    """

    def __init__(self, chosen: Mapping[str, Any], settings: PanelSettings | None) -> None:
        """Puts the panel together.

        Args:
            chosen: the settings that a client gave.
            settings: those of the server's panel.yaml.

        Raises:
            InputError: everything wrong with them.
        """
        from ..graphs.stopping import StoppingRule
        from ..panel import Panel
        from ..precision import panel_with_rule
        from ..settings import PanelSettings

        self._settings = settings
        arguments: dict[str, Any] = {}
        if settings is not None:
            arguments = {name: getattr(settings, name) for name in PanelSettings.model_fields}
        arguments |= {name: chosen[name] for name in chosen if name in PanelSettings.model_fields}
        if "models" in chosen:
            arguments["models"] = self.settings_of(chosen["models"])
        if settings is not None:  # names may be those of its files
            own = {Path(name).stem: name for name in settings.personas or ()}
            if "personas" in chosen:
                arguments["personas"] = [own.get(name, name) for name in chosen["personas"]]
            if chosen.get("rubric") == Path(settings.rubric).stem:
                arguments["rubric"] = settings.rubric
        self.panel: Panel = Panel(**arguments, ledger=_ledger())
        self.spec: PanelSpec = self.panel.spec
        width, most = chosen.get("precision"), chosen.get("judges_per_response")
        if width is not None or most is not None:
            self.spec, _ = panel_with_rule(self.spec, StoppingRule(width, most))
        self._asking: CheckedClient | None = None

    @property
    def asking(self) -> CheckedClient:
        """Where the calls of runs without a cap go; made with the first."""
        if self._asking is None:
            self._asking = CheckedClient(Client(self.spec.ledger))
        return self._asking

    def settings_of(self, names: Iterable[str] | None) -> list[Model] | None:
        """The settings behind the names: those of the server's panel.yaml where it has them."""
        if names is None:
            return None
        known: dict[str, Any] = {}
        for spec in self._settings.models if self._settings is not None else ():
            known.setdefault(spec.model, spec)
        for spec in self._settings.models if self._settings is not None else ():
            known[spec.name] = spec
        return [known.get(name, name) for name in names]


def opened_panel(chosen: str) -> OpenPanel:
    """The panel of these settings, kept by them and by what the server's panel.yaml holds.

    Args:
        chosen: JSON of what a client gave.

    Raises:
        InputError: everything wrong with it, or with the server's file.
    """
    path = os.environ.get(PANEL_VARIABLE) or None
    changed = None if path is None else _stamp(Path(path))
    # Asked for from several threads: two at once would be two ledgers, and two sets of limits.
    with _making:
        return _opened(chosen, path, changed)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None  # reading it says what is wrong
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=_MOST_PANELS)
def _opened(chosen: str, path: str | None, changed: tuple[int, int] | None) -> OpenPanel:
    import json

    from ..settings import read_settings

    return OpenPanel(json.loads(chosen), None if path is None else read_settings(path))


@lru_cache(maxsize=1)
def _ledger() -> Ledger:
    from ..records.ledger import Ledger

    return Ledger.open(None)


def close_all() -> None:
    """Lets all panels go, and closes the ledger that they share."""

    async def close() -> None:
        _ledger().close()

    _opened.cache_clear()
    if _ledger.cache_info().currsize:
        run_sync(close())
    _ledger.cache_clear()
