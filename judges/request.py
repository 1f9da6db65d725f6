"""One call as it will be sent, and the key under which its reply is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal

from .spec import Rung

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""

Purpose = Literal["judge", "repair", "respond", "rewrite", "review", "generate", "classify"]


@dataclass(frozen=True)
class Request:
    """A call to a backend.

    What is worked out of it is worked out once: a call asks for its key and size several times.

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
        shared: characters of the first user message that other calls begin with too, 0 where
            nobody is to know; not in the key, for it changes nothing in what is asked.
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
    shared: int = 0

    def key(self) -> str:
        """SHA-256 (hex) of the canonical request: same key, same question, same reply.

        The nonce depends on the ledger's secret, so it is taken out. It is taken out by cutting
        the text where it stands, not by writing a placeholder: a placeholder could be forged by
        a judged text that contains it, and two different requests would then share a reply.
        """
        return self._key

    def description(self) -> dict[str, Any]:
        """What the ledger keeps about the request: everything but the texts."""
        return {
            "backend": self.backend,
            "endpoint": self.endpoint,
            "purpose": self.purpose,
            "params": dict(self.params),
            "structured": self.structured,
            "schema_sha256": _schema_sha256(self.schema) if self.schema else None,
            "order": self.order,
            "template": self.template,
            "repeat": self.repeat,
            **self.labels,
        }

    def size_bytes(self) -> int:
        """Bytes of the texts and the schema: no tokenizer makes more tokens than bytes of them."""
        return self._size

    @cached_property
    def _key(self) -> str:
        said = ",".join(_said(message, self.nonce) for message in self.messages)
        before = {"backend": self.backend, "endpoint": self.endpoint}
        after = {
            "order": self.order,
            "params": dict(self.params),
            "repeat": self.repeat,
            # As text: the order of the properties is part of what is asked.
            "schema": _schema_text(self.schema) if self.schema else None,
            "structured": self.structured,
            "template": self.template,
        }
        # One object with its keys in order, put together: most of it is what other calls say too.
        text = f'{_CANONICAL(before)[:-1]},"messages":[{said}],{_CANONICAL(after)[1:]}'
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def _size(self) -> int:
        texts = sum(_bytes_in(message["content"]) for message in self.messages)
        return texts + (len(_schema_text(self.schema)) if self.schema else 0)


# One writer for all: `json.dumps` with settings makes a new one at every call.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _said(message: Message, nonce: str) -> str:
    """A message as it stands in the canonical request."""
    role, content = message["role"], message["content"]
    if role == "system" and not (nonce and nonce in content):
        return _said_to_all(content)
    return _CANONICAL([role, content.split(nonce) if nonce else [content]])


@lru_cache(maxsize=64)
def _said_to_all(content: str) -> str:
    return _CANONICAL(["system", [content]])


_MOST_SCHEMAS = 64
_texts: dict[int, tuple[Mapping[str, Any], str, str]] = {}


def _schema_text(schema: Mapping[str, Any]) -> str:
    return _written(schema)[1]


def _schema_sha256(schema: Mapping[str, Any]) -> str:
    return _written(schema)[2]


def _written(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, str]:
    """A schema, as JSON, and the hash of it: a panel sends one and the same some thousand times."""
    known = _texts.get(id(schema))
    if known is None or known[0] is not schema:
        compact = json.dumps(schema, separators=(",", ":"))
        known = (schema, json.dumps(schema), hashlib.sha256(compact.encode()).hexdigest())
        if len(_texts) >= _MOST_SCHEMAS:
            _texts.clear()
        _texts[id(schema)] = known  # which holds it, so that its id is not used again
    return known


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
