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
ENFORCED_FORMATS: tuple[ResponseFormat, ...] = ("json_schema", "json_object_schema")
"""Those in which an endpoint lets the model write nothing but the schema."""

Purpose = Literal["judge", "repair", "respond", "rewrite", "review", "generate", "classify"]


class JsonSchema(dict[str, Any]):
    """A JSON schema; nobody changes it once it is made."""

    @cached_property
    def text(self) -> str:
        """As in the ledger's key: the order of the properties is part of what is asked."""
        return json.dumps(self)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of its shortest text."""
        return hashlib.sha256(json.dumps(self, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True)
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
        mark: the mark before every word of a text in them, "" where there is none.
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
    schema: JsonSchema | None = None
    structured: ResponseFormat = "prompt"
    nonce: str = ""
    mark: str = ""
    repeat: int = 0
    template: str = ""
    order: str = ""
    purpose: Purpose = "judge"
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: int = 0

    def key(self) -> str:
        """SHA-256 (hex) of the canonical request: same key, same question, same reply.

        The nonce and the mark depend on the ledger's secret, so they are taken out, by cutting
        the text where they stand, not by writing a placeholder: a placeholder could be forged by
        a judged text that contains it, and two different requests would then share a reply.
        """
        said = (
            _message(each["role"], each["content"], self.nonce, self.mark) for each in self.messages
        )
        first = next(said, "")
        digest = _begun(self.backend, self.endpoint, first).copy()
        for one in said:
            digest.update(b"," + one.encode("ascii"))
        ending = self.order, self._params_text, self.repeat, self._schema_text
        digest.update(_ending(*ending, self.structured, self.template))
        key: str = digest.hexdigest()
        return key

    def description(self) -> dict[str, Any]:
        """What the ledger keeps about the request: everything but the texts."""
        return {
            "backend": self.backend,
            "endpoint": self.endpoint,
            "purpose": self.purpose,
            "params": dict(self.params),
            "structured": self.structured,
            "schema_sha256": self.schema.sha256 if self.schema else None,
            "order": self.order,
            "template": self.template,
            "repeat": self.repeat,
            **self.labels,
        }

    def size_bytes(self) -> int:
        """Bytes of the texts and the schema: no tokenizer makes more tokens than bytes of them."""
        texts = sum(_bytes_in(message["content"]) for message in self.messages)
        return texts + len(self._schema_text or "")

    @property
    def form(self) -> tuple[str, str, str]:
        """What it has in common with requests that differ in their texts only."""
        return self._params_text, self.structured, self._schema_text or ""

    @cached_property
    def _params_text(self) -> str:
        return _canonical(dict(self.params))

    @property
    def _schema_text(self) -> str | None:
        return self.schema.text if self.schema else None


# One writer for all: `json.dumps` with settings makes a new one at every call.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


# What follows writes the canonical request, a JSON object with its names in order, piece by piece:
# nearly all of it is the same in many calls, the system message above all.
@lru_cache(maxsize=64)
def _begun(backend: str, endpoint: str, first_message: str) -> Any:
    """The digest of its beginning, up to the first message."""
    before = _canonical({"backend": backend, "endpoint": endpoint})
    return hashlib.sha256(f'{before[:-1]},"messages":[{first_message}'.encode("ascii"))


@lru_cache(maxsize=64)
def _message(role: str, content: str, nonce: str, mark: str) -> str:
    """A message in it: its text cut where the nonce stands, and each piece where the mark does."""
    pieces = content.split(nonce) if nonce else [content]
    return _canonical([role, [piece.split(mark) for piece in pieces] if mark else pieces])


@lru_cache(maxsize=64)
def _ending(
    order: str, params: str, repeat: int, schema: str | None, structured: str, template: str
) -> bytes:
    """What stands in it behind the messages."""
    behind = {"repeat": repeat, "schema": schema, "structured": structured, "template": template}
    ending = f'],"order":{_canonical(order)},"params":{params},{_canonical(behind)[1:]}'
    return ending.encode("ascii")


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
