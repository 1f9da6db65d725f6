"""What one judge is: wording, backend, reading of replies, limits, budget."""

from .backend import Backend
from .brief import Brief
from .budget import Budget, BudgetSpentError
from .contract import Contract
from .desk import Answer, CallCounts, Desk
from .judge import Judge, Matter
from .llm import LitellmBackend
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
    "Judge",
    "LitellmBackend",
    "Matter",
    "Message",
    "Prices",
    "Request",
    "Vote",
    "read_vote",
]
