"""What one judge is: wording, backend, reading of replies, limits, budget."""

from .factory import EmbeddedBackend, backend_of
from .judge import Judge, Matter
from .models.backend import Backend, BackendSpec, Prices
from .models.budget import Budget, BudgetSpentError
from .models.client import Answer, Desk
from .models.litellm_backend import LitellmBackend
from .models.request import Message, Request
from .models.usage import CallCounts
from .parse import Vote, read_vote
from .prompt import Brief
from .schema import Contract

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
