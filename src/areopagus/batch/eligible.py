"""Which backends and judgments can go into batches.

The requests and their keys are those that the panel would send online.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ProviderError
from ..graphs.screening import screen
from ..judges.judge import Judge
from ..judges.models.budget import BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.prices import TokenPrices
from ..judges.models.request import Request, ResponseFormat
from ..judges.structured import ask, known_format
from ..records.types import Sample
from .providers import BatchProvider, batch_prices, provider_kind, provider_of

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


_ID_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Planned:
    """One judgment that a batch may answer.

    Attributes:
        row: place of its response in the source, from 0.
        judge: who judges.
        request: what is asked.
    """

    row: int
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
    if screen(sample.response_text, most_characters=panel.most_characters).gate:
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
            question = judge.question(
                sample, secret=panel.ledger.secret, repeat=repeat, shares=shares
            )
            request = question.request(judge.backend, response_formats[model])
            found.append(Planned(number, judge, request))
    return found


@dataclass(frozen=True, slots=True)
class Member:
    """A backend that takes batches.

    Attributes:
        backend: who.
        response_format: the form in which structured output is asked for.
        provider: its batch endpoint.
        prices: what calls cost there; None = unknown.
    """

    backend: LitellmBackend
    response_format: ResponseFormat
    provider: BatchProvider
    prices: TokenPrices | None


async def eligible_backends(
    panel: PanelSpec,
    rows: Callable[[], Iterable[Sample]],
    client: Client,
    known: Mapping[str, ResponseFormat],
    *,
    discount: float | None,
    on_notice: Callable[[str], None],
) -> tuple[dict[str, Member], dict[str, ProviderError]]:
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
    members: dict[str, Member] = {}
    refused: dict[str, ProviderError] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if provider_kind(backend) is None or not isinstance(backend, LitellmBackend):
            on_notice(f"{name}: has no batch endpoint that is known here; it is asked online.")
            continue
        try:
            response_format = await known_format(client, backend) or known.get(name)
            if response_format is None:
                response_format = await _learned_response_format(panel, rows, client, backend)
                if response_format is not None:
                    on_notice(f"{name}: one call went online, to learn the form of its replies.")
            # What is under way is looked at even where nothing further would be asked.
            example = response_format and _example(
                panel, rows, name, response_format, whole=name in known
            )
            if response_format is None or example is None:
                continue  # there is nothing to ask it
            provider = provider_of(backend, example.request)
            # Tried once here, so that a model that is asked elsewhere is known of at once.
            provider.line(example.custom_id, backend.translate_request(example.request).body)
        except (ProviderError, BudgetSpentError) as error:
            refused[name] = (
                error if isinstance(error, ProviderError) else ProviderError("quota", str(error))
            )
            continue
        prices = batch_prices(backend, discount=discount)
        if prices is None:
            on_notice(
                f"{name}: nobody says what it costs in a batch; its cost stays unknown. "
                "State it with --batch-discount, such as 0.5 for half the price."
            )
        members[name] = Member(backend, response_format, provider, prices)
    return members, refused


def _example(
    panel: PanelSpec,
    rows: Callable[[], Iterable[Sample]],
    name: str,
    response_format: ResponseFormat,
    *,
    whole: bool = False,
) -> Planned | None:
    """The first judgment planned for a backend; None where the screen closes every response.

    Args:
        panel, rows: as there.
        name: of the backend.
        response_format: the form in which it is asked.
        whole: of the whole panel, whatever its rule draws.
    """
    planned = planned_judgments(panel, rows(), {name: response_format}, whole=whole)
    return next((each[0] for each in planned), None)


async def _learned_response_format(
    panel: PanelSpec,
    rows: Callable[[], Iterable[Sample]],
    client: Client,
    backend: LitellmBackend,
) -> ResponseFormat | None:
    """The form of structured output, by one ordinary call, which is stored like any other.

    Raises:
        ProviderError, BudgetSpentError, StoppedError: there was no answer.
    """
    name = backend.spec.name
    first = _example(panel, rows, name, "json_schema")
    if first is None:
        return None
    row = next(row for number, row in enumerate(rows()) if number == first.row)

    def build(response_format: ResponseFormat) -> Request:
        return judgments_on(panel, first.row, row, {name: response_format})[0].request

    reservation = client.reservation()
    try:
        _, request = await ask(client, backend, build, reservation)
    finally:
        reservation.close()
    return request.structured
