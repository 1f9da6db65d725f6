"""A scripted judge and a provider on loopback, for the tests of whoever uses the panel."""

from .exchange import (
    ScriptedJudge,
    ServedReply,
    ServedRequest,
    Structured,
    WireProtocol,
    request_key,
)
from .faults import (
    ENVELOPE_FAULTS,
    HTTP_FAULTS,
    TEXT_FAULTS,
    TRANSIENT_FAULTS,
    TRANSPORT_FAULTS,
    Fault,
)
from .judge import Answer, by_hash, constant, flaky, per_model, respondent, sequence
from .mangling import mangled
from .prefix_cache import prefix_cached
from .provider import ProviderServer
from .scripted import ScriptedAnswer, ScriptedBackend
from .tally import Counts

__all__ = [
    "ENVELOPE_FAULTS",
    "HTTP_FAULTS",
    "TEXT_FAULTS",
    "TRANSIENT_FAULTS",
    "TRANSPORT_FAULTS",
    "Answer",
    "Counts",
    "Fault",
    "ProviderServer",
    "ScriptedAnswer",
    "ScriptedBackend",
    "ScriptedJudge",
    "ServedReply",
    "ServedRequest",
    "Structured",
    "WireProtocol",
    "by_hash",
    "constant",
    "flaky",
    "mangled",
    "per_model",
    "prefix_cached",
    "request_key",
    "respondent",
    "sequence",
]
