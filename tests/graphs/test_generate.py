"""The generate graph, by itself and within others; every task of it has tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from areopagus.graphs.generate import (
    Checked,
    Fault,
    Generated,
    WritingTask,
    generate,
    independent,
)
from areopagus.graphs.prompt_template import load_prompt_template
from areopagus.judges.models.client import Client
from areopagus.judges.schema import TEXT, object_schema
from areopagus.judges.structured import Question
from areopagus.records.ledger import Ledger
from areopagus.testing import ScriptedBackend


@dataclass(frozen=True)
class TwoWords(WritingTask):
    """Two words in lower case; one in capitals is a soft fault."""

    soft = frozenset({"capitals"})

    @property
    def parts(self) -> tuple[str, ...]:
        return ("a", "b")

    def write(self, secret: bytes) -> Question[dict[str, Any]]:
        return self._question(["a", "b"], secret, repairs=False)

    def check(self, written: Mapping[str, Any]) -> Checked:
        found = []
        for part in self.parts:
            word = str(written.get(part, ""))
            if not word.isalpha():
                found.append(Fault(part, "no_word"))
            elif word != word.lower():
                found.append(Fault(part, "capitals"))
        return Checked(tuple(found))

    def repair(
        self, parts: Sequence[str], faults: Sequence[Fault], before: Generated, secret: bytes
    ) -> Question[dict[str, Any]]:
        assert before.problem is None or not before.written
        return self._question(list(parts), secret, repairs=False, repeat=1)

    def _question(self, keys: list[str], secret: bytes, **more: Any) -> Question[dict[str, Any]]:
        return load_prompt_template("wordings").question(
            {"SCENARIO": "two words"},
            object_schema(dict.fromkeys(keys, TEXT)),
            secret=secret,
            purpose="generate",
            **more,
        )


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        yield Client(ledger)


async def made(client: Client, *answers: Any) -> tuple[Generated, ScriptedBackend]:
    writer = ScriptedBackend(list(answers), name="scripted/writer")
    return await generate(client, TwoWords(), writer), writer


async def test_what_is_sound_is_asked_for_once(client: Client) -> None:
    found, writer = await made(client, {"a": "one", "b": "two"})
    assert (found.status, found.written, found.faults) == ("read", {"a": "one", "b": "two"}, ())
    assert (found.repaired, found.n_calls, len(writer.requests)) == (None, 1, 1)


async def test_a_repair_asks_for_the_faulty_parts_alone_and_once(client: Client) -> None:
    found, writer = await made(client, {"a": "one", "b": "2"}, {"b": "3"})
    assert list((writer.requests[1].schema or {})["properties"]) == ["b"]
    assert found.written == {"a": "one", "b": "3"}
    assert found.faults == found.repaired == (Fault("b", "no_word"),)
    assert len(writer.requests) == 2


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("ONE", "one", "one"), ("ONE", "1", "ONE"), ("ONE", "EINS", "EINS"), ("1", "ONE", "ONE")],
)
async def test_a_part_with_a_soft_fault_stands_where_its_repair_is_worse(
    client: Client, first: str, second: str, kept: str
) -> None:
    found, _ = await made(client, {"a": first, "b": "two"}, {"a": second})
    assert found.written == {"a": kept, "b": "two"}


async def test_a_defect_is_a_failure_of_its_own_run(client: Client) -> None:
    def broken(_: Any) -> Any:
        raise KeyError("oops")

    answer: Callable[[Any], Any] = broken
    writer = ScriptedBackend(answer, name="scripted/writer")
    found = await generate(client, TwoWords(), writer)
    assert (found.status, found.cost_usd) == ("failed", None)
    assert found.whole[0].detail.startswith("internal: KeyError")


def test_who_is_independent_is_another_model_and_no_stand_in() -> None:
    one, two, three = (ScriptedBackend("", name=f"scripted/{name}") for name in "abc")
    twin = ScriptedBackend("", name="scripted/b", temperature=1.0)
    stand_in = ScriptedBackend("", name="offline/generator")
    assert independent([one, two, twin, three, stand_in], [one]) == [two, three]
