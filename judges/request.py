"""One call as it will be sent, and the key under which its reply is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .spec import Rung

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""

Purpose = Literal["judge", "repair", "respond", "rewrite", "review", "generate", "classify"]


@dataclass(frozen=True, slots=True)
class Request:
    """A call to a backend.

    Attributes:
        backend: the model string.
        endpoint: the address, "" for the provider's own.
        messages: what is said, in order.
        params: parameters that shape the reply.
        schema: JSON schema of the reply, where structured output is asked for.
        structured: in which form it is asked for.
        nonce: the marker's nonce in the messages, "" where there is none.
        repeat: 0 for the first asking of this very request.
        template: version of the wording.
        order: where the persona stands (messages carry it too; named for the record).
        purpose: what the call is for.
        labels: what the record says beside the request (persona, rubric hash); not in the key.
    """

    backend: str
    endpoint: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    structured: Rung = "prompt"
    nonce: str = ""
    repeat: int = 0
    template: str = ""
    order: str = ""
    purpose: Purpose = "judge"
    labels: Mapping[str, str] = field(default_factory=dict)

    def key(self) -> str:
        """SHA-256 (hex) of the canonical request: same key, same question, same reply.

        The nonce depends on the ledger's secret, so it is taken out. It is taken out by cutting
        the text where it stands, not by writing a placeholder: a placeholder could be forged by
        a judged text that contains it, and two different requests would then share a reply.
        """
        canonical = {
            "backend": self.backend,
            "endpoint": self.endpoint,
            "messages": [
                [message["role"], message["content"].split(self.nonce)]
                if self.nonce
                else [message["role"], [message["content"]]]
                for message in self.messages
            ],
            "order": self.order,
            "params": dict(self.params),
            "repeat": self.repeat,
            # As text: the order of the properties is part of what is asked.
            "schema": json.dumps(self.schema) if self.schema else None,
            "structured": self.structured,
            "template": self.template,
        }
        text = json.dumps(canonical, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def description(self) -> dict[str, Any]:
        """What the ledger keeps about the request: everything but the texts."""
        schema = json.dumps(self.schema, separators=(",", ":")) if self.schema else ""
        return {
            "backend": self.backend,
            "endpoint": self.endpoint,
            "purpose": self.purpose,
            "params": dict(self.params),
            "structured": self.structured,
            "schema_sha256": hashlib.sha256(schema.encode()).hexdigest() if schema else None,
            "order": self.order,
            "template": self.template,
            "repeat": self.repeat,
            **self.labels,
        }

    def size_bytes(self) -> int:
        """Bytes of the texts and the schema: no tokenizer makes more tokens than bytes of them."""
        texts = sum(len(m["content"].encode("utf-8", "surrogatepass")) for m in self.messages)
        return texts + (len(json.dumps(self.schema)) if self.schema else 0)
