"""`Request`: one call as it will be sent, and the key under which its reply is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""

ResponseFormat = Literal["json_schema", "json_object_schema", "json_object", "prompt"]
"""How structured output is asked for, from the strongest form to the weakest.

`json_object_schema` is `{"type": "json_object", "schema": …}`, which llama-cpp-python, Together and
Fireworks take.
"""

RESPONSE_FORMATS: tuple[ResponseFormat, ...] = get_args(ResponseFormat)

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
    structured: ResponseFormat = "prompt"
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
            "schema_sha256": _written(self.schema).sha256 if self.schema else None,
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
        # One object with its keys in order, put together: a writer that walks all of it takes
        # longer than the hash, and most of it is what other calls say too.
        said = [_said(message, self.nonce) for message in self.messages]
        to_all = ""
        if said and self.messages[0]["role"] == "system":
            first = said.pop(0)
            to_all = f"{first}," if said else first
        hashed = _hashed_until(self.backend, self.endpoint, to_all).copy()
        schema = _written(self.schema).quoted if self.schema else "null"
        rest = (
            f'{",".join(said)}],"order":{_quoted(self.order)},'
            f'"params":{_CANONICAL(dict(self.params))},"repeat":{self.repeat:d},'
            f'"schema":{schema},"structured":{_quoted(self.structured)},'
            f'"template":{_quoted(self.template)}}}'
        )
        hashed.update(rest.encode("ascii"))
        digest: str = hashed.hexdigest()
        return digest

    @cached_property
    def form(self) -> tuple[str, str, str]:
        """What it has in common with requests that differ in their texts only."""
        schema = _written(self.schema).sha256 if self.schema else ""
        return _CANONICAL(dict(self.params)), self.structured, schema

    @cached_property
    def _size(self) -> int:
        texts = sum(_bytes_in(message["content"]) for message in self.messages)
        return texts + (len(_written(self.schema).text) if self.schema else 0)


# One writer for all: `json.dumps` with settings makes a new one at every call.
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def _said(message: Message, nonce: str) -> str:
    """A message as it stands in the canonical request."""
    role, content = message["role"], message["content"]
    if role == "system" and not (nonce and nonce in content):
        return _said_to_all(content)
    parts = content.split(nonce) if nonce else [content]
    return f"[{_CANONICAL(role)},[{','.join(map(_CANONICAL, parts))}]]"


@lru_cache(maxsize=64)
def _said_to_all(content: str) -> str:
    return _CANONICAL(["system", [content]])


@lru_cache(maxsize=64)
def _hashed_until(backend: str, endpoint: str, said: str) -> Any:
    """The hash up to the end of what is said to all: with a persona's text most of a request."""
    text = f'{{"backend":{_quoted(backend)},"endpoint":{_quoted(endpoint)},"messages":[{said}'
    return hashlib.sha256(text.encode("ascii"))


@lru_cache(maxsize=256)
def _quoted(word: str) -> str:
    return _CANONICAL(word)


@dataclass(frozen=True, slots=True)
class _Schema:
    """A schema as JSON text, that text as a JSON string, and the hash of its compact form.

    As text: the order of the properties is part of what is asked.
    """

    schema: Mapping[str, Any]
    text: str
    quoted: str
    sha256: str


_MOST_SCHEMAS = 64
_schemas: dict[int, _Schema] = {}


def _written(schema: Mapping[str, Any]) -> _Schema:
    """What is known of a schema: a panel sends one and the same some thousand times."""
    known = _schemas.get(id(schema))
    if known is None or known.schema is not schema:
        text, compact = json.dumps(schema), json.dumps(schema, separators=(",", ":"))
        known = _Schema(
            schema, text, _CANONICAL(text), hashlib.sha256(compact.encode()).hexdigest()
        )
        if len(_schemas) >= _MOST_SCHEMAS:
            _schemas.clear()
        _schemas[id(schema)] = known  # which holds it, so that its id is not used again
    return known


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
