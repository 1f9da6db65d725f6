"""What one judge is: wording, backend, reading of replies, limits, budget."""

from .backend import Backend
from .brief import Brief
from .budget import Budget, BudgetSpentError
from .contract import Contract
from .desk import Answer, CallCounts, Desk
from .embedded import EmbeddedBackend
from .judge import Judge, Matter
from .llm import LitellmBackend
from .made import backend_of
from .reading import Vote, read_vote
from .request import Message, Request
from .spec import BackendSpec, Prices

__all__ = [
    "Answer",
    "Backend",
    "BackendSpec",
    "Brief",
    "Budget",
    "BudgetSpentError",
    "CallCounts",
    "Contract",
    "Desk",
    "EmbeddedBackend",
    "Judge",
    "LitellmBackend",
    "Matter",
    "Message",
    "Prices",
    "Request",
    "Vote",
    "backend_of",
    "read_vote",
]
