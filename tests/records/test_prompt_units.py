"""Prompts with the same text are one unit, whatever their ids."""

from __future__ import annotations

from areopagus.records.prompt_units import (
    prompt_text_id,
    prompt_units,
    shared_texts_told,
    units_of_runs,
)


def rows(*prompts: tuple[str, str]) -> list[dict[str, str]]:
    """(id, text) of prompts, as rows of scores.csv; "" for a text that is not known."""
    return [
        {"prompt_id": name, "prompt_text_id": prompt_text_id(text) if text else ""}
        for name, text in prompts
    ]


def test_ids_of_one_text_are_named_by_the_first() -> None:
    found = prompt_units(rows(("b", "Why?"), ("c", "How?"), ("a", "Why?")))
    assert found == {"b": "b", "c": "c", "a": "b"}
    assert shared_texts_told(found) == (
        "3 prompt ids, of which 2 share a text with another: they are analysed as 2 prompts."
    )


def test_ids_without_a_known_text_stay_apart() -> None:
    assert prompt_units(rows(("a", ""), ("b", ""))) == {"a": "a", "b": "b"}
    assert prompt_units([{"prompt_id": "a"}, {"prompt_id": "b"}]) == {"a": "a", "b": "b"}
    assert shared_texts_told({"a": "a", "b": "b"}) is None


def test_an_id_with_several_texts_is_one_unit_and_ties_those_of_its_texts() -> None:
    found = prompt_units(rows(("a", "1"), ("b", "2"), ("c", "3"), ("c", "1"), ("c", "2")))
    assert found == {"a": "a", "b": "a", "c": "a"}


def test_runs_share_a_prompt_by_its_text_and_else_by_its_id() -> None:
    first, second = units_of_runs(
        [
            rows(("1", "Why?"), ("2", "How?"), ("3", "When?")),
            rows(("1", "How?"), ("2", "Why?"), ("3", "When exactly?"), ("4", "Who?")),
        ]
    )
    assert first == {"1": "1", "2": "2", "3": "3"}
    assert second == {"1": "2", "2": "1", "3": "3", "4": "4"}


def test_another_text_under_an_id_whose_text_moved_is_a_prompt_of_its_own() -> None:
    _, second = units_of_runs([rows(("1", "Why?")), rows(("1", "Who?"), ("5", "Why?"))])
    assert second == {"1": "1 (2)", "5": "1"}


def test_a_run_without_texts_is_paired_by_id() -> None:
    _, second = units_of_runs([[{"prompt_id": "1"}], rows(("1", "Why?"), ("2", "Why?"))])
    assert second == {"1": "1", "2": "1"}
