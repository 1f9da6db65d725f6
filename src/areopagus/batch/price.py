"""What a call costs in a batch: by what the user states, else by the installed litellm's list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.pricing import TokenPrices
from ..records.types import Usage
from .providers import provider_kind

if TYPE_CHECKING:
    from ..experiment.dry_run import Estimate
    from ..judges.models.backend import Backend
    from ..panel import Panel


def batch_prices(backend: Backend, *, discount: float | None) -> TokenPrices | None:
    """The batch prices of a backend; None where nobody says what they are: unknown is not 0.

    Args:
        backend: whose.
        discount: share taken off the usual price, as the user states it; goes before the list.
    """
    if not isinstance(backend, LitellmBackend):
        return None
    return backend.pricing.in_batches(discount)


def batch_costs(
    panel: Panel, found: Estimate, *, discount: float | None = None
) -> dict[str, float | None]:
    """Backend to the likely cost of its calls in a batch, in US dollars; None = price unknown.

    Backends without a batch endpoint are left out.

    Args:
        panel: whose backends.
        found: what `Panel.estimate` says of the job.
        discount: see `BatchSettings`.
    """
    tokens = {item.name: (item.input_tokens, item.output_tokens) for item in found.backends}
    costs: dict[str, float | None] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if provider_kind(backend) is None or name not in tokens:
            continue
        prices = batch_prices(backend, discount=discount)
        costs[name] = None if prices is None else prices.cost(Usage(*tokens[name]))
    return costs
