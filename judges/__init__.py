"""Judges: their wording, the models behind them, and the parsing of their replies."""

from .factory import EmbeddedBackend, backend_of
from .judge import Judge
from .models.backend import Backend, BackendSpec
from .models.budget import Budget, BudgetSpentError
from .models.client import Answer, Client
from .models.litellm_backend import LitellmBackend
from .models.prices import Prices
from .models.request import Message, Request
from .models.usage import CallCounts
from .parse import Parsed, parse
from .prompt import JudgePrompt
from .schema import OutputSchema, ParsedScore
from .structured import Completion, Question, complete

__all__ = [
    "Answer",
    "Backend",
    "BackendSpec",
    "Budget",
    "BudgetSpentError",
    "CallCounts",
    "Client",
    "Completion",
    "EmbeddedBackend",
    "Judge",
    "JudgePrompt",
    "LitellmBackend",
    "Message",
    "OutputSchema",
    "Parsed",
    "ParsedScore",
    "Prices",
    "Question",
    "Request",
    "backend_of",
    "complete",
    "parse",
]
