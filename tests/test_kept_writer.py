"""Settings written once and kept."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from areopagus.kept_writer import kept_writer


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0, "max_tokens": 512, "stop": ["a", None], "extra": {"é": "\ud800"}},
        {"temperature": 1},
        {"temperature": 1.0},
        {"temperature": True},
        {"b": 1, "a": 2},
        {"a": 2, "b": 1},
        {"nested": MappingProxyType({})},
        {"long": "x" * 10_000},
        {"n": 10**30},
    ],
    ids=lambda settings: str(settings)[:40],
)
def test_the_text_is_the_writers(settings: dict[str, Any]) -> None:
    def write(values: Any) -> str:
        return json.dumps(values, default=dict)

    kept = kept_writer(write, most=8)
    assert [kept(settings), kept(dict(settings))] == [write(settings)] * 2


def test_what_is_equal_and_written_otherwise_is_told_apart() -> None:
    kept = kept_writer(json.dumps, most=8)
    assert [kept({"a": value}) for value in (1, 1.0, True)] == [
        '{"a": 1}',
        '{"a": 1.0}',
        '{"a": true}',
    ]


def test_a_text_is_written_once_until_others_take_its_place() -> None:
    written: list[str] = []

    def write(values: Any) -> str:
        written.append(json.dumps(values))
        return written[-1]

    kept = kept_writer(write, most=2)
    for name in ("a", "a", "b", "a", "c", "b"):
        kept({name: 1})
    assert written == ['{"a": 1}', '{"b": 1}', '{"c": 1}', '{"b": 1}']


def test_settings_that_change_in_place_are_written_anew() -> None:
    kept, settings = kept_writer(json.dumps, most=8), {"a": [1]}
    before = kept(settings)
    settings["a"].append(2)
    assert (before, kept(settings)) == ('{"a": [1]}', '{"a": [1, 2]}')


def test_what_the_writer_refuses_is_refused() -> None:
    with pytest.raises(TypeError):
        kept_writer(json.dumps, most=8)({"a": {1, 2}})
