"""The built-in rubric, and rubrics of other shapes from files."""

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import ValidationError

from areopagus.errors import InputError
from areopagus.records.tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS, SCORE_COLUMNS
from areopagus.records.types import Judgment
from areopagus.rubrics import RESERVED_IDS, Rubric, Scale, list_rubrics, load_rubric
from areopagus.rubrics.rubric import RESERVED_STARTS

CIVIC = """\
id: civic
label: Civic discussion
version: "1"
provenance: written for this test
purpose: Scores how well a reply serves a public discussion.
scale: {low: 0, high: 4}
anchors:
  0: absent
  4: exemplary
dimensions:
  - id: civility
    label: Civility
    definition: Treats those who disagree as partners.
    question: Would someone on the other side keep talking?
    anchors: {0: insults, 2: neutral, 4: generous}
  - id: sources
    label: Sources
    definition: Says where its facts come from.
    question: Can each fact be looked up?
    offline: evidence
  - id: openness
    label: Openness
    definition: Says what would change its mind.
    question: Is there anything that would count against it?
    standard: intellectual humility
"""


@pytest.fixture
def civic(tmp_path):
    def _civic(*changes: tuple[str, str]) -> Path:
        text = CIVIC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "civic.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return _civic


def faults_of(path: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_rubric(path)
    return [str(fault).removeprefix(f"{path.parent}{os.sep}") for fault in caught.value.faults]


def test_the_built_in_rubric_has_five_dimensions_from_one_to_ten():
    rubric = load_rubric()
    assert rubric.dimension_ids == (
        "conceptual_clarity",
        "evidential_grounding",
        "contextual_relevance",
        "pluralistic_engagement",
        "argumentative_soundness",
    )
    assert rubric.scale.values == range(1, 11)
    assert load_rubric("critical_thinking") == rubric
    families = [dimension.offline for dimension in rubric.dimensions]
    assert families == ["clarity", "evidence", "relevance", "plurality", "soundness"]
    for dimension in rubric.dimensions:
        assert dimension.standard
        assert dimension.question.endswith("?")
        assert sorted(dimension.anchors) == [2, 4, 6, 8, 10]


def test_a_rubric_of_three_dimensions_on_a_scale_from_zero_to_four_is_read(civic):
    rubric = load_rubric(civic())
    assert rubric.dimension_ids == ("civility", "sources", "openness")
    assert list(rubric.scale.values) == [0, 1, 2, 3, 4]
    assert rubric.anchors == {0: "absent", 4: "exemplary"}
    assert rubric.dimensions[0].anchors == {0: "insults", 2: "neutral", 4: "generous"}
    assert rubric.dimensions[0].offline is None
    assert rubric.dimensions[1].offline == "evidence"
    assert load_rubric(rubric) is rubric


def test_a_rubric_is_found_by_name_in_a_folder(civic):
    path = civic()
    assert load_rubric("civic", [path.parent]).id == "civic"
    assert [found.name for found in list_rubrics([path.parent])] == ["critical_thinking", "civic"]
    with pytest.raises(InputError, match="there is no rubric 'civics'; did you mean civic"):
        load_rubric("civics", [path.parent])


def test_a_rubric_may_have_one_dimension_and_a_scale_below_zero(civic):
    path = civic(("{low: 0, high: 4}", "{low: -2, high: 4}"), ("  0: absent", "  -2: absent"))
    assert load_rubric(path).anchors == {-2: "absent", 4: "exemplary"}
    path.write_text(CIVIC[: CIVIC.index("  - id: sources")], encoding="utf-8")
    assert load_rubric(path).dimension_ids == ("civility",)


FAULTS = {
    ("high: 4}", "high: 0}"): "6: scale.high: must be greater than low (0), got 0",
    ("high: 4}", "high: 101}"): "6: scale.high: must be at most 100 above low, got 101",
    ("high: 4}", "high: 4.5}"): "6: scale.high: must be a whole number, got 4.5",
    ("low: 0", "low: 'no'"): "6: scale.low: must be a whole number, got 'no'",
    ("  4: exemplary", "  5: exemplary"): "9: anchors.5: must be a score from 0 to 4, got 5",
    ("2: neutral", "7: neutral"): (
        "15: dimensions[0].anchors.7: must be a score from 0 to 4, got 7"
    ),
    ("  4: exemplary", "  04: exemplary"): "9: anchors.04: must be a whole number, got '04'",
    ("  4: exemplary", "  top: exemplary"): "9: anchors.top: must be a whole number, got 'top'",
    ("id: openness", "id: overall"): (
        "21: dimensions[2].id: must not be a name that the results use themselves, got 'overall'"
    ),
    ("id: openness", "id: civility"): (
        "21: dimensions[2].id: must differ from the id of dimensions[0], got 'civility'"
    ),
    ("offline: evidence", "offline: evidense"): (
        "20: dimensions[1].offline: must be 'clarity', 'evidence', 'relevance', 'plurality' or "
        "'soundness', got 'evidense'"
    ),
    ("    question: Can each fact be looked up?\n", ""): (
        "16: dimensions[1].question: must be given"
    ),
    (CIVIC[CIVIC.index("dimensions:") :], "dimensions: []\n"): (
        "10: dimensions: must hold at least 1 entries, got a list of 0"
    ),
}


def test_a_fault_is_said_with_its_line_and_field(civic):
    found = {change: faults_of(civic(change)) for change in FAULTS}
    assert found == {change: [f"civic.yaml:{fault}"] for change, fault in FAULTS.items()}


def test_all_faults_that_concern_several_parts_come_together(civic):
    path = civic(
        ("  4: exemplary", "  9: exemplary"),
        ("2: neutral", "8: neutral"),
        ("id: sources", "id: cost_usd"),
        ("id: openness", "id: civility"),
    )
    assert [fault.split(":")[1] for fault in faults_of(path)] == ["9", "15", "16", "21"]


def test_no_dimension_can_take_the_name_of_a_judgment_field():
    assert {field.name for field in fields(Judgment)} <= RESERVED_IDS
    columns = {*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS, *SCORE_COLUMNS}
    assert {name for name in columns if not name.startswith(RESERVED_STARTS)} <= RESERVED_IDS


def test_a_rubric_written_in_python_is_held_to_the_same_rules(civic):
    content = load_rubric(civic()).model_dump()
    assert Rubric.model_validate(content) == load_rubric(civic())
    content["anchors"] = {9: "beyond the scale"}
    with pytest.raises(ValidationError, match="must be a score from 0 to 4"):
        Rubric.model_validate(content)
    with pytest.raises(ValidationError, match="must be greater than low"):
        Scale(low=3, high=3)


def test_the_hash_follows_scale_texts_and_order(civic):
    before = load_rubric(civic()).sha256
    assert load_rubric(civic()).sha256 == before
    assert load_rubric(civic(("{low: 0, high: 4}", "{low: 0, high: 5}"))).sha256 != before
    assert load_rubric(civic(("insults", "mockery"))).sha256 != before
    assert load_rubric(civic(("id: sources", "id: references"))).sha256 != before


def test_the_complete_file_in_the_docs_is_a_rubric(tmp_path):
    page = Path(__file__).parents[2] / "docs" / "guides" / "rubrics.md"
    (block,) = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "civic.yaml").write_text(block, encoding="utf-8")
    rubric = load_rubric("civic", [tmp_path])
    assert len(rubric.dimensions) == 3
    assert rubric.scale.values == range(5)
