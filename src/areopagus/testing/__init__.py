"""A scripted judge and a provider on loopback, for the tests of whoever uses the panel."""

from .answers import mangled
from .exchange import (
    ENVELOPE_FAULTS,
    HTTP_FAULTS,
    TEXT_FAULTS,
    TRANSIENT_FAULTS,
    TRANSPORT_FAULTS,
    Fault,
    ScriptedJudge,
    ServedReply,
    ServedRequest,
    Structured,
    WireProtocol,
    request_key,
)
from .provider import Counts, ProviderServer, reserved_port
from .scripted import (
    Answer,
    ScriptedAnswer,
    ScriptedBackend,
    by_hash,
    constant,
    flaky,
    per_model,
    respondent,
    sequence,
)

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
    "request_key",
    "reserved_port",
    "respondent",
    "sequence",
]
