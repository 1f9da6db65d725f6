"""Dataclasses come back from the plain data they were written as; what does not fit is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from areopagus.rebuilt import rebuilt


@dataclass(frozen=True)
class Part:
    name: str
    value: float


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    pair: tuple[str, int]
    by_name: Mapping[str, Part]
    kind: Literal["a", "b"]
    perhaps: Part | None
    share: float | None
    data: Any
    is_true: bool = True


PLAIN: dict[str, Any] = {
    "parts": [{"name": "x", "value": None, "a later field": 1}],
    "pair": ["y", 2],
    "by_name": {"z": {"name": "z", "value": 3}},
    "kind": "b",
    "perhaps": None,
    "share": None,
    "data": [1, {"two": 3}],
}


def test_fields_of_every_kind_come_back() -> None:
    found = rebuilt(Whole, PLAIN)
    assert math.isnan(found.parts[0].value)  # a null where a float has to be
    assert found.pair == ("y", 2)
    assert found.by_name == {"z": Part("z", 3.0)}
    assert (found.perhaps, found.share, found.data) == (None, None, [1, {"two": 3}])
    assert found.is_true
    assert rebuilt(Whole, PLAIN, given={"data": "mine"}).data == "mine"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parts": {}}, "parts: must be a list"),
        ({"parts": [{"name": "x"}]}, r"parts\[0\].value: must be a value, got 'nothing'"),
        ({"parts": [{"name": 1, "value": 2}]}, r"parts\[0\].name: must be a value of type str"),
        ({"pair": ["y"]}, "pair: must be 2 items"),
        ({"kind": "c"}, "kind: must be one of"),
        ({"by_name": []}, "by_name: must be an object"),
        ({"perhaps": {"name": "p", "value": True}}, "perhaps.value: must be a number"),
        ({"is_true": 1}, "is_true: must be a value of type bool"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rebuilt(Whole, PLAIN | changed)
    with pytest.raises(ValueError, match="the whole: must be an object for Whole"):
        rebuilt(Whole, [])
