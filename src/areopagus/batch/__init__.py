"""Batch endpoints: a stage before the ordinary run that asks at the providers' lower price."""

from .engine import BatchEngine
from .providers import batch_costs
from .settings import BatchProgress, BatchSettings, batch_sentence
from .store import BatchRecord, open_batches

__all__ = [
    "BatchEngine",
    "BatchProgress",
    "BatchRecord",
    "BatchSettings",
    "batch_costs",
    "batch_sentence",
    "open_batches",
]
