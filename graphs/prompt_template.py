"""`PromptTemplate`: what a model is told, as a file of `templates/`, and the question made of it.

A text that a model is shown is data: it stands in the user message between markers that carry a
nonce. A repair names faults by the template's own sentences and quotes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from pydantic import BaseModel, ConfigDict

from ..judges.models.request import Purpose
from ..judges.prompt import NONCE_LINE, delimited, nonce_for
from ..judges.schema import OutputSchema, what_was_wrong
from ..judges.structured import Question, continued
from ..judges.templates import fill
from ..yaml_files import read_document

ECHO_CHARACTERS = 6_000
"""Most characters of an unreadable reply of many texts that its writer is shown again."""

Values = Mapping[str, str | Sequence[str]]


class PromptTemplate(BaseModel):
    """The wording of one question; see `judges.templates.fill` for its placeholders.

    Attributes:
        version: is part of the ledger's key: another wording is another question.
        system: the system message; {form} is the form of the reply.
        closing: what follows the marked texts.
        repair: the request to write parts of a reply anew: {faults}, {parts}, {shape}.
        texts: pieces that are put in where they are needed, by name.
        questions: key of the reply to what it answers.
        faults: code of a fault to what is said of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    system: str
    closing: str = ""
    repair: str = ""
    texts: Mapping[str, str] = {}
    questions: Mapping[str, str] = {}
    faults: Mapping[str, str] = {}

    def text(self, name: str, **values: str) -> str:
        """One of the pieces, filled in."""
        return fill(self.texts[name], values)

    def asked(self) -> list[str]:
        """A line for each key of the reply that answers a question."""
        return [
            self.text("question", key=key, question=question)
            for key, question in self.questions.items()
        ]

    def fault(self, code: str) -> str:
        """What is said of a fault."""
        return self.faults.get(code, "cannot be used")

    def question(
        self,
        texts: Mapping[str, str],
        schema: OutputSchema[dict[str, Any]],
        *,
        secret: bytes,
        purpose: Purpose,
        values: Values | None = None,
        nonce: str | None = None,
        **settings: Any,
    ) -> Question[dict[str, Any]]:
        """The question about these texts.

        Args:
            texts: name of the block to text; each stands between markers with the nonce.
            schema: the form of the reply.
            secret: the ledger's, for the nonce.
            purpose: what the call is for.
            values: of the placeholders, beside {form}.
            nonce: of the markers, where it is known already.
            **settings: of the `Question`.
        """
        nonce = nonce or nonce_for(secret, *texts.values())
        values = {"form": schema.described(), **(values or {})}
        closing = fill(self.closing, values)
        blocks = [f"{NONCE_LINE}{nonce}"]
        blocks += [delimited(name, text, nonce) for name, text in texts.items()]
        user = "\n\n".join([*blocks, closing] if closing else blocks)
        return Question(
            messages=(
                {"role": "system", "content": fill(self.system, values)},
                {"role": "user", "content": user},
            ),
            schema=schema,
            template=self.version,
            purpose=purpose,
            nonce=nonce,
            **settings,
        )

    def asked_anew(
        self,
        first: Question[dict[str, Any]],
        schema: OutputSchema[dict[str, Any]],
        *,
        reply: str,
        problem: str | None,
        faults: Sequence[tuple[str, str]],
        parts: Sequence[str],
        **settings: Any,
    ) -> Question[dict[str, Any]]:
        """The one request to write some of it anew, after the first reply.

        Args:
            first: what was asked.
            schema: the form of what is written anew.
            reply: what was answered.
            problem: what was wrong with the reply's form, where nothing could be read at all; it
                is told instead of the faults.
            faults: what begins the line of a fault, and its code.
            parts: names of what is to be written anew.
            **settings: of the `Question`.
        """
        told = [f"Your last reply {what_was_wrong(problem)}."] if problem is not None else [
            self.texts["faulty"],
            *(f"- {begin}{self.fault(code)}" for begin, code in dict.fromkeys(faults)),
        ]  # fmt: skip
        text = fill(
            self.repair, {"faults": told, "parts": ", ".join(parts), "shape": schema.shape()}
        )
        return replace(
            first,
            messages=continued(first.messages, reply, text, first.echo_characters),
            schema=schema,
            is_longer=problem == "truncated",
            is_repair=True,
            **settings,
        )


@cache
def load_prompt_template(name: str) -> PromptTemplate:
    """A template of the project, read once a process."""
    path = resources.files(__package__) / "templates" / f"{name}.yaml"
    return read_document(path, PromptTemplate, kind="prompt template")
