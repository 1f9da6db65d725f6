"""Which backends and judgments can go into batches.

The requests and their keys are those that the panel would send online.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ProviderError
from ..judges.judge import Judge
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.request import Request, ResponseFormat
from ..judges.structured import ask, known_format
from ..records.types import Sample
from .providers import BatchProvider, provider_of, takes_batches

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


Rows = Callable[[], Iterable[Sample]]
"""Reads the responses again from the first."""
_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Planned:
    """One judgment that a batch may answer.

    Attributes:
        row: place of its response in the source, from 0.
        sample: the response.
        judge: who judges.
        request: what is asked.
    """

    row: int
    sample: Sample
    judge: Judge
    request: Request

    @property
    def key(self) -> str:
        """The ledger's key."""
        return self.request.key()

    @property
    def custom_id(self) -> str:
        """What the provider gives back with the answer: 128 bits of the key, nothing of a text."""
        return self.key[:_ID_DIGITS]


def planned_judgments(
    panel: PanelSpec,
    rows: Iterable[Sample],
    response_formats: Mapping[str, ResponseFormat],
    *,
    first_row: int = 0,
    last_row: int | None = None,
    whole: bool = False,
) -> Iterator[list[Planned]]:
    """What the panel would ask about each response; those that the screen closes are left out.

    Args:
        panel: who judges.
        rows: the responses, all of them.
        response_formats: backend name to its response format; other backends are left out.
        first_row, last_row: only the responses between these places, both included.
        whole: also what a rule would not have asked yet, as an earlier run may have done.
    """
    for number, row in enumerate(rows):
        if number < first_row:
            continue
        if last_row is not None and number > last_row:
            return
        found = judgments_on(panel, number, row, response_formats, whole=whole)
        if found:
            yield found


def judgments_on(
    panel: PanelSpec,
    number: int,
    sample: Sample,
    response_formats: Mapping[str, ResponseFormat],
    *,
    whole: bool = False,
) -> list[Planned]:
    """What the panel would ask about one response, in the order of the plan.

    Where a rule says when enough are asked, those that are asked whatever the answers, unless
    `whole` is set: the rest is up to the ordinary run.
    """
    if panel.gate(sample):
        return []
    assignments: dict[str, list[tuple[Judge, int]]] = {}
    keys: dict[str, list[str]] = {}
    for key in panel.planned() if whole else panel.first_calls(sample.response_id):
        judge, repeat = panel.assignment(key)
        if judge.model in response_formats:
            assignments.setdefault(judge.model, []).append((judge, repeat))
            keys.setdefault(judge.model, []).append(key)
    found: list[Planned] = []
    for model, taken in assignments.items():
        # Marks for the provider's cache, where the ordinary run would set them.
        shares = taken[0][0].goes_first(sample, calls=panel.calls_that_share(keys[model]))
        for judge, repeat in taken:
            secret = panel.ledger.secret
            for question in judge.questions(sample, secret=secret, repeat=repeat, shares=shares):
                request = question.request(judge.backend, response_formats[model])
                found.append(Planned(number, sample, judge, request))
    return found


async def eligible_backends(
    panel: PanelSpec,
    rows: Rows,
    client: Client,
    known: Mapping[str, ResponseFormat],
    *,
    discount: float | None,
    on_notice: Callable[[str], None],
) -> tuple[dict[str, BatchProvider], dict[str, ProviderError]]:
    """Who takes part, and why others do not whose provider has batches; both by backend name.

    The form of replies is learned where it is not known yet.

    Args:
        panel: whose backends.
        rows: reads the responses again from the first.
        client: makes the one call that learning takes.
        known: backend name to a form in which batches of it are under way.
        discount: see `BatchSettings`.
        on_notice: called with what a person should know.

    Raises:
        StoppedError: the run is stopping.
    """
    providers: dict[str, BatchProvider] = {}
    refused: dict[str, ProviderError] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if not takes_batches(backend):
            on_notice(f"{name}: has no batch endpoint that is known here; it is asked online.")
            continue
        try:
            response_format = await known_format(client, backend) or known.get(name)
            # What is under way is looked at even where nothing further would be asked.
            planned = planned_judgments(
                panel, rows(), {name: response_format or "json_schema"}, whole=name in known
            )
            example = next((judgments[0] for judgments in planned), None)
            if example is None:
                continue  # there is nothing to ask it
            request = example.request
            if response_format is None:
                request = await _answered(panel, client, backend, example)
                on_notice(f"{name}: one call went online, to learn the form of its replies.")
            provider = provider_of(backend, request, discount=discount)
            # Tried once here, so that a model that is asked elsewhere is known of at once.
            provider.line(example.custom_id, backend.translate_request(request).body)
        except ProviderError as error:
            refused[name] = error
            continue
        except BudgetSpentError as error:
            refused[name] = ProviderError("quota", str(error))
            continue
        if provider.prices is None:
            on_notice(
                f"{name}: nobody says what it costs in a batch; its cost stays unknown. "
                "State it as `discount`, such as 0.5 for half the price."
            )
        providers[name] = provider
    return providers, refused


async def _answered(
    panel: PanelSpec, client: Client, backend: LitellmBackend, example: Planned
) -> Request:
    """A planned request in the form in which it was answered online; the reply is stored.

    Raises:
        ProviderError, BudgetSpentError, StoppedError: there was no answer.
    """

    def build(response_format: ResponseFormat) -> Request:
        formats: dict[str, ResponseFormat] = {backend.spec.name: response_format}
        return judgments_on(panel, example.row, example.sample, formats)[0].request

    reservation = client.reservation()
    try:
        _, request = await ask(client, backend, build, reservation)
    finally:
        reservation.close()
    return request
