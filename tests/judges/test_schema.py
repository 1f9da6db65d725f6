from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, model_validator

from areopagus.errors import InputError
from areopagus.judges.schema import (
    FLAG,
    MAX_HIGH,
    PROBLEMS,
    TEXT,
    Value,
    form_repair,
    judgment_schema,
    model_schema,
    object_schema,
)

FIVE = judgment_schema(("clarity", "grounding"), 1, 10, abstained=True, rationale=True)
ONE = judgment_schema(("overall",), 1, 10, abstained=False, rationale=False)


def test_the_schema_is_flat_strict_and_in_the_order_of_the_reply() -> None:
    schema = FIVE.json_schema
    assert list(schema["properties"]) == ["rationale", "clarity", "grounding", "abstained"]
    assert schema["required"] == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["clarity"] == {"type": "integer", "minimum": 1, "maximum": 10}
    assert schema["properties"]["abstained"] == {"type": "boolean"}
    assert all("default" not in value for value in schema["properties"].values())
    assert all(value["type"] != "object" for value in schema["properties"].values())


def test_the_single_integer_schema_asks_for_one_integer() -> None:
    assert ONE.json_schema == {
        "type": "object",
        "properties": {"overall": {"type": "integer", "minimum": 1, "maximum": 10}},
        "required": ["overall"],
        "additionalProperties": False,
    }


def test_a_bare_integer_suffices_only_where_nothing_else_is_asked() -> None:
    for contract, is_single in (
        (ONE, True),
        (FIVE, False),
        (judgment_schema(("overall",), 1, 10, abstained=True, rationale=False), False),
        (judgment_schema(("overall",), 1, 10, abstained=False, rationale=True), False),
        (judgment_schema(("clarity",), 1, 10, abstained=False, rationale=False), False),
    ):
        assert contract.is_single_integer is is_single


def test_an_impossible_contract_is_bad_input() -> None:
    for criteria, low, high, field in (
        ((), 1, 10, "criteria"),
        ("overall", 1, 10, "criteria"),
        (("a", "a"), 1, 10, "criteria"),
        (("abstained",), 1, 10, "criteria"),
        (("rationale",), 1, 10, "criteria"),
        (("",), 1, 10, "criteria"),
        (("a",), -1, 10, "low"),
        (("a",), 5, 5, "high"),
        (("a",), 6, 5, "high"),
        (("a",), True, 5, "low"),
        (("a",), 1, 5.0, "high"),
        (("a",), 1, MAX_HIGH + 1, "high"),
        (("a",), 1, 10**5000, "high"),
    ):
        with pytest.raises(InputError) as caught:
            judgment_schema(criteria, low, high, abstained=False, rationale=False)
        assert [fault.field for fault in caught.value.faults] == [field]


def test_all_faults_of_a_contract_come_together() -> None:
    with pytest.raises(InputError) as caught:
        judgment_schema((), -1, 1.5, abstained=False, rationale=False)  # type: ignore[arg-type]
    assert [fault.field for fault in caught.value.faults] == ["criteria", "low", "high"]


OBJECT = object_schema({"why": TEXT, "is_fit": FLAG})


def test_an_object_is_flat_strict_and_in_order() -> None:
    assert OBJECT.json_schema == {
        "type": "object",
        "properties": {"why": {"type": "string"}, "is_fit": {"type": "boolean"}},
        "required": ["why", "is_fit"],
        "additionalProperties": False,
    }
    assert OBJECT.shape() == '{"why": "<text>", "is_fit": <true or false>}'
    assert '"why", "is_fit"' in OBJECT.described()
    assert OBJECT.json_schema is OBJECT.json_schema  # written down once for all requests


def test_every_departure_is_named_and_nothing_is_coerced() -> None:
    assert [fault[:2] for fault in OBJECT.faults({"why": 7, "extra": 1})] == [
        ("is_fit", "missing_key"),
        ("extra", "extra_key"),
        ("why", "wrong_type"),
    ]
    for value in ("true", 1, 0, None, [True]):
        faults = OBJECT.faults({"why": "so", "is_fit": value})
        assert [fault[:2] for fault in faults] == [("is_fit", "wrong_type")]


def test_a_text_of_a_list_must_be_one_of_them() -> None:
    schema = object_schema({"class": Value("string", choices=("biased", "neutral"))})
    assert schema.json_schema["properties"]["class"] == {
        "type": "string",
        "enum": ["biased", "neutral"],
    }
    assert schema.faults({"class": "neutral"}) == []
    assert schema.faults({"class": "other"})[0].sentence == "must be one of biased, neutral"


class Finding(BaseModel):
    why: str
    kind: Literal["a", "b"]
    sure: Annotated[int, Field(ge=0, le=10)]
    is_fit: bool

    @model_validator(mode="after")
    def _agrees(self) -> "Finding":
        if self.is_fit and self.kind == "b":
            raise ValueError("kind b cannot be fit")
        return self


def test_a_pydantic_model_is_a_schema_of_the_same_flat_form() -> None:
    schema = model_schema(Finding)
    assert schema.json_schema["properties"] == {
        "why": {"type": "string"},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "sure": {"type": "integer", "minimum": 0, "maximum": 10},
        "is_fit": {"type": "boolean"},
    }
    given = {"why": "so", "kind": "a", "sure": 3, "is_fit": True}
    assert schema.build(given) == Finding(why="so", kind="a", sure=3, is_fit=True)
    with pytest.raises(ValueError, match="kind b cannot be fit"):
        schema.build({**given, "kind": "b"})


def test_a_model_that_is_not_flat_is_refused() -> None:
    class Nested(BaseModel):
        inner: list[str]

    with pytest.raises(TypeError, match=r"Nested\.inner"):
        model_schema(Nested)


def test_the_common_request_to_repair_says_what_was_wrong_and_restates_the_shape() -> None:
    for problem in PROBLEMS:
        text = form_repair(problem, OBJECT)
        assert text.startswith("Your last reply ")
        assert OBJECT.shape() in text
        assert "planted" not in form_repair("planted", OBJECT)
