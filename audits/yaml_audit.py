"""`YamlAudit`: an audit that `audit.yaml` says all of.

Every case of the material is asked with every combination of the factors, and with its options in
both orders. Rules read the option or the number that an answer gives; judges, where there are any,
say which one the others settle on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from ..experiment.ask import ModelAnswer
from ..graphs.adjudication import JudgeQuestion, Ruling
from ..yaml_files import read_document
from .answer_forms import one_of, read_number, read_option, whole_number
from .audit import Audit, AuditItem, AuditOptions, Cell, Reading
from .definition import DEFINITION_FILE, Agreement, Definition, People, Read
from .languages import Language

_JUDGE = """\
You see a question that a model was asked, and its answer. Say what the answer settles on; whether
that is right or fair is not your concern. answer is {choices}; it is "none" where the answer
declines, or settles on nothing."""


class YamlAudit(Audit[AuditOptions]):
    """An audit made of its definition alone."""

    def __init__(self, definition: Definition) -> None:
        """Completes the definition with the columns that its prompts and readings fill."""
        read = definition.read
        if not definition.ask or read is None:
            raise ValueError("the definition says nothing of asking and reading")
        self._read = read
        items = {"case": "text", **dict.fromkeys(definition.factors, "text")}
        items |= dict.fromkeys(definition.case_columns, "text")
        items |= {"order": "text"} if read.options else {}
        alike = [*definition.factors, *(["order"] if read.options else [])]
        contrasts = {
            name: one
            if one.match
            else one.model_copy(update={"match": tuple(c for c in alike if c not in one.factor)})
            for name, one in definition.contrasts.items()
        }
        levels = (*read.options, "none") if read.options else ()
        agreement = {"answer": Agreement(title="answer", of="answer", levels=levels)}
        self.definition = definition.model_copy(
            update={
                "item_columns": items,
                "value_columns": {"answer": "text" if read.options else "number"},
                "unit_name": definition.unit_name or "case",
                "asked_together": "case",
                "takes_judges": True,
                "people": People(of="answer", categories=dict.fromkeys(read.options, "")),
                "contrasts": contrasts,
                "agreement": definition.agreement or (agreement if read.options else {}),
            }
        )  # fmt: skip

    def items(self, options: AuditOptions) -> Iterator[AuditItem]:
        """Every case with every combination of the factors, its options in both orders."""
        found, language = self.definition, self.language(options)
        for case in found.material:
            for levels in product(*(values.items() for values in found.factors.values())):
                texts = dict(zip(found.factors, (text for _, text in levels), strict=True))
                ids = dict(zip(found.factors, (level for level, _ in levels), strict=True))
                prompt = _filled(found.ask.replace("{text}", case.text), texts).strip()
                for order, form in _forms(self._read, language):
                    key = "|".join((case.id, *ids.values(), *([order] if order else [])))
                    fields: dict[str, Cell] = {"case": case.id, **case.columns, **ids}
                    fields |= {"order": order} if order else {}
                    yield AuditItem(key, f"{prompt}\n\n{form}", fields, unit=case.id)

    def read(self, item: AuditItem, answer: ModelAnswer, options: AuditOptions) -> Reading:
        """The option, or the number, that an answer gives."""
        if answer.status == "refused":
            return Reading("refused", {}, "by the provider")
        language = self.language(options)
        if self._read.options:
            found = read_option(answer.text, self._read.options, language=language)
            return found.as_reading("answer")
        low, high = self._scale
        reading, number = read_number(answer.text, low, high, language)
        if number is None:
            return reading
        return Reading("classified", {"answer": number})

    def question(
        self, item: AuditItem, answer: str, reading: Reading, options: AuditOptions
    ) -> JudgeQuestion:
        """Which option, or number, the answer settles on."""
        read = self._read
        choices = ", ".join(f'"{one}"' for one in read.options)
        if not read.options:
            low, high = self._scale
            choices = f"the number in digits, from {low} to {high}"
        task = read.judge or _JUDGE.format(choices=choices)
        short = sha256(json.dumps([task, read.options]).encode()).hexdigest()[:8]
        return JudgeQuestion(
            template=f"audit-yaml-1-{short}",
            task=task,
            texts={"QUESTION": item.prompt, "ANSWER": answer},
            fields={"reasoning": "string", "answer": "string"},
            decides=("answer",),
            choices={"answer": (*read.options, "none")} if read.options else {},
            consistent=None if read.options else self._wrong_number,
            output_tokens=60,
        )

    def ruled(
        self,
        item: AuditItem,
        answer: str,
        reading: Reading,
        ruling: Ruling,
        options: AuditOptions,
    ) -> Reading:
        """What the judges came to; that there is none is no value."""
        said = str(ruling.value["answer"])
        if said == "none":
            return Reading("refused", {}, "judges: settles on nothing")
        return Reading("classified", {"answer": said if self._read.options else float(said)})

    def labels(self, options: AuditOptions) -> Mapping[str, Mapping[str, str]]:
        """The texts of the factors' values."""
        return {name: dict(values) for name, values in self.definition.factors.items()}

    @property
    def _scale(self) -> tuple[int, int]:
        assert self._read.number is not None  # noqa: S101 - options, or a number
        return self._read.number

    def _wrong_number(self, value: Mapping[str, Any]) -> str | None:
        low, high = self._scale
        if value["answer"] == "none":
            return None
        try:
            is_inside = low <= float(str(value["answer"])) <= high
        except ValueError:
            is_inside = False
        return None if is_inside else f"answer must be a number from {low} to {high}, or none"


def read_yaml_audit(folder: Path) -> YamlAudit:
    """The audit of a folder that holds an `audit.yaml` and no code.

    Raises:
        InputError: with every fault of the file, its line and field.
    """
    return YamlAudit(read_document(folder / DEFINITION_FILE, Definition, kind="audit"))


def _filled(text: str, texts: Mapping[str, str]) -> str:
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _forms(read: Read, language: Language) -> list[tuple[str, str]]:
    """Name of the order, and the sentence that asks for the answer."""
    if read.number is not None:
        return [("", f"{whole_number(*read.number, language)}.")]
    forms = [("given", one_of(*read.options, language=language))]
    if read.orders == "both":
        forms.append(("turned", one_of(*reversed(read.options), language=language)))
    return forms
