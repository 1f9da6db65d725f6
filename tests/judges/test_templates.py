"""The wording of judges as a file: what it must hold, and what is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.errors import InputError
from areopagus.judges import JudgePrompt
from areopagus.judges.templates import DEFAULT, fill, list_templates, load_template, without
from areopagus.personas import load_persona
from areopagus.records.types import Sample
from areopagus.rubrics import load_rubric
from areopagus.schemas import schema_files
from areopagus.testing import ScriptedBackend

SAMPLE = Sample("r1", "p1", "m1", "Is privacy a right?", "It is, since without it no one is free.")
ROWS = [
    {"response_id": "r1", "prompt_text": SAMPLE.prompt_text, "response_text": SAMPLE.response_text}
]
VOTE = json.dumps(
    {**dict.fromkeys(load_rubric("critical_thinking").dimension_ids, 7), "abstained": False}
)


def test_a_result_records_the_template_by_its_hash(tmp_path: Path) -> None:
    with Panel(ScriptedBackend(VOTE), ledger=tmp_path / "l.sqlite", personas=["historian"]) as p:
        record = p.score_many(ROWS, tmp_path / "run").record
    template = load_template()
    assert record["identity"]["template"] == {
        "id": DEFAULT,
        "version": "2",
        "sha256": template.sha256,
    }


def test_the_closing_block_of_the_default_carries_the_marker() -> None:
    judge_prompt = JudgePrompt(load_rubric("critical_thinking"))
    closing = judge_prompt.closing(load_persona("historian"), "0123456789abcdef")
    assert "<<<END PANEL 0123456789abcdef>>>" in closing
    opening = judge_prompt.opening("Why?", "Because.", "0123456789abcdef")
    assert opening.index("<<<PANEL 0123456789abcdef>>>") > opening.index("<<<END RESPONSE")


def own(folder: Path, **changes: Any) -> Path:
    """A template of a user's: the default one with other texts."""
    import yaml

    content = load_template().model_dump() | {"id": "mine"} | changes
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return path


def test_a_template_of_ones_own_is_what_judges_read(tmp_path: Path) -> None:
    path = own(tmp_path, persona="You are {label}. {description}", version="mine-3")
    panel = Panel(template=path, personas=["historian"])
    user = panel.messages("historian", "Why?", "Because.")[1]["content"]
    assert f"You are {panel.personas[0].label}." in user
    assert panel.spec.identity()["template"]["version"] == "mine-3"


def test_all_faults_of_a_template_come_together(tmp_path: Path) -> None:
    path = own(
        tmp_path,
        system="{criteria} {form} {nonce}",
        user="{nonce} {persona} {prompt} {response}",
        scale="From {low}.",
        repair="{problem}",
        criteria={"dimensions": "x", "holistic": "{rubric}", "no_rubric": "{scale}"},
    )
    with pytest.raises(InputError) as caught:
        load_template(path)
    found = {(fault.field, fault.message.split(",")[0]) for fault in caught.value.faults}
    assert ("system", "must hold {persona}") in found
    assert any(name == "system" and "no placeholder but" in rule for name, rule in found)
    assert ("scale", "must hold {high}") in found
    assert ("repair", "must hold {shape}") in found
    assert ("criteria.dimensions", "must hold {rubric}") in found
    assert any(name == "user" and "after the last" in rule for name, rule in found)
    assert any(name == "user" and "must hold {persona} after" in rule for name, rule in found)
    assert all(fault.where.startswith(f"{path}:") for fault in caught.value.faults)


def test_a_user_message_keeps_the_judged_texts_marked_and_unaltered(tmp_path: Path) -> None:
    for user, rule in [
        ("{nonce}\n{prompt}\n{prompt}\n{response}\n{nonce}\n{persona}", "must hold {prompt} once"),
        ("{nonce}\n  {prompt}\n{response}\n{nonce}\n{persona}", "must not indent {prompt}"),
        ("{prompt}\n{response}\n{nonce}\n{persona}", "before the first judged text"),
    ]:
        with pytest.raises(InputError, match="user: ") as caught:
            load_template(own(tmp_path, user=user))
        assert rule in str(caught.value)


def test_the_embedded_baseline_refuses_markers_that_it_cannot_read(tmp_path: Path) -> None:
    path = own(tmp_path, user="{nonce}\n{prompt}\n--\n{response}\n{nonce}\n{persona}")
    with pytest.raises(InputError, match="other markers"):
        Panel(template=path)
    assert Panel(ScriptedBackend(VOTE), template=path).spec.judge_prompt.template.id == "mine"


def test_what_is_put_in_is_not_looked_at_again() -> None:
    assert fill("{prompt} {nonce}", {"prompt": "{nonce}", "nonce": "7"}) == "{nonce} 7"
    assert fill('{"a": 1} {shape}', {"shape": '{"b": 2}'}) == '{"a": 1} {"b": 2}'
    assert fill("x\n  {anchors}", {"anchors": ["1: a", "2: b"]}) == "x\n  1: a\n  2: b"


def test_a_placeholder_with_nothing_to_say_takes_its_line_with_it() -> None:
    for text, left in [
        ("a\n\n{x}\n\nb", "a\n\nb"),
        ("{x}\n\nb", "b"),
        ("a\n\n{x}", "a"),
        ("a\n  {x}\nb", "a\nb"),
        ("a{x} b", "a b"),
    ]:
        assert without(text, "x") == left
        assert fill("<\n{response}\n>", {"response": ""}) == "<\n\n>"


def test_the_built_in_templates_are_listed_and_their_schema_is_current() -> None:
    assert {item.name for item in list_templates() if item.is_builtin} == {DEFAULT}
    path, text = next(
        (path, text) for path, text in schema_files().items() if "judge_template" in path.name
    )
    assert path.read_text(encoding="utf-8") == text


def test_an_unknown_template_is_bad_input() -> None:
    with pytest.raises(InputError, match="did you mean areopagus_v2"):
        load_template("areopagus_v22")
