"""What one judge is: wording, backend, reading of replies, limits, budget."""

from .backend import Backend
from .embedded import EmbeddedBackend
from .judge import Judge, Matter
from .llm import LitellmBackend
from .made import backend_of
from .models.budget import Budget, BudgetSpentError
from .models.client import Answer, Desk
from .models.usage import CallCounts
from .parse import Vote, read_vote
from .prompt import Brief
from .request import Message, Request
from .schema import Contract
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
