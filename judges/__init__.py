"""What one judge is: wording, backend, reading of replies, limits, budget."""

from .factory import EmbeddedBackend, backend_of
from .judge import Judge, Matter
from .models.backend import Backend, BackendSpec, Prices
from .models.budget import Budget, BudgetSpentError
from .models.client import Answer, Desk
from .models.litellm_backend import LitellmBackend
from .models.request import Message, Request
from .models.usage import CallCounts
from .parse import Parsed, parse
from .prompt import Brief
from .schema import OutputSchema, Vote
from .structured import Completion, Question, complete

__all__ = [
    "Answer",
    "Backend",
    "BackendSpec",
    "Brief",
    "Budget",
    "BudgetSpentError",
    "CallCounts",
    "Completion",
    "Desk",
    "EmbeddedBackend",
    "Judge",
    "LitellmBackend",
    "Matter",
    "Message",
    "OutputSchema",
    "Parsed",
    "Prices",
    "Question",
    "Request",
    "Vote",
    "backend_of",
    "complete",
    "parse",
]
