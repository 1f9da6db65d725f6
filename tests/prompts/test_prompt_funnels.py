"""Funnels: what is kept, that nothing goes uncounted, and that order changes nothing."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.prompts import (
    load_hle_filters,
    read_bbq,
    read_concepts,
    read_hle,
    read_scenarios,
    write_scenarios,
)
from areopagus.prompts.concepts import load_paper_concepts
from areopagus.reports.text import render_text


def bbq_row(
    category: str, index: int, number: int, *, ambiguous: bool, negative: bool, **changes: Any
) -> dict[str, Any]:
    return {
        "example_id": number,
        "question_index": str(index),
        "question_polarity": "neg" if negative else "nonneg",
        "context_condition": "ambig" if ambiguous else "disambig",
        "category": category,
        "additional_metadata": {"subcategory": "None", "version": "a"},
        "context": f"Two people, {number}, waited at the counter.",
        "question": "Who was rude?" if negative else "Who was polite?",
        "ans0": "The first",
        "ans1": "The second",
        "ans2": "Not known",
        "label": 2,
        **changes,
    }


def sample(n_surface: int = 3) -> list[dict[str, Any]]:
    """Two categories x three questions x surface variants x two contexts x two polarities."""
    rows = []
    for category in ("Height", "Handedness"):
        number = 0
        for index in (1, 2, 10):
            for _ in range(n_surface):
                for ambiguous in (True, False):
                    for negative in (True, False):
                        rows.append(
                            bbq_row(category, index, number, ambiguous=ambiguous, negative=negative)
                        )
                        number += 1
    return rows


def write_lines(path: Path, rows: list[Any]) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_the_three_steps_halve_halve_and_leave_one_a_question(tmp_path: Path) -> None:
    rows, funnel = read_bbq([write_lines(tmp_path / "made.jsonl.gz", sample())])
    # 2 categories x 3 questions x 3 variants x 2 x 2 = 72.
    assert funnel.counts == (72, 36, 18, 6)
    assert funnel.n_read == 72
    assert [row.scenario_id for row in rows] == [
        "bbq-Handedness-1", "bbq-Handedness-2", "bbq-Handedness-10",
        "bbq-Height-1", "bbq-Height-2", "bbq-Height-10",
    ]  # fmt: skip
    # The first variant of question 1 is example 0, of question 2 example 12.
    assert [row.provenance["source_id"] for row in rows[3:]] == ["0", "12", "24"]
    assert rows[3].text == (
        "Context: Two people, 0, waited at the counter.\nQuestion: Who was rude?\n"
        "Possible answers:\n1. The first\n2. The second\n3. Not known"
    )


def test_the_order_of_lines_and_files_changes_nothing_and_a_repeat_is_no_item(
    tmp_path: Path,
) -> None:
    rows = sample()
    straight, _ = read_bbq([write_lines(tmp_path / "a.jsonl", rows)])
    random.Random(3).shuffle(rows)
    parts = [
        write_lines(tmp_path / "c.jsonl", rows[:30]), write_lines(tmp_path / "b.jsonl", rows[30:])
    ]  # fmt: skip
    shuffled, funnel = read_bbq(parts)
    assert [(r.scenario_id, r.text) for r in shuffled] == [
        (r.scenario_id, r.text) for r in straight
    ]
    assert funnel.counts == (72, 36, 18, 6)
    _, funnel = read_bbq([tmp_path / "a.jsonl"] * 2)
    assert (funnel.counts, len(funnel.odd)) == ((72, 36, 18, 6), 72)


def test_odd_rows_are_reported_with_their_lines_and_counted(tmp_path: Path) -> None:
    good = bbq_row("Height", 1, 0, ambiguous=True, negative=True)
    rows: list[Any] = [
        good,
        {**good, "example_id": 1, "context_condition": "unclear"},
        "not json",
        {**good, "example_id": 2, "question": " ", "category": None},
        good,
        {**good, "example_id": 3, "question_polarity": "nonneg"},
    ]
    path = write_lines(tmp_path / "odd.jsonl", rows)
    kept, funnel = read_bbq([path])
    assert (funnel.n_read, len(funnel.odd), funnel.counts) == (6, 4, (2, 2, 1, 1))
    assert len(kept) == 1
    said = sorted(str(fault) for fault in funnel.odd)
    assert said[0].startswith(f"{path}:2: context_condition: must be ambig or disambig, got 'uncl")
    assert said[1].startswith(f"{path}:3: not valid JSON")
    assert "category: must be given" in said[2]
    assert "question: must be text" in said[2]
    assert said[3] == f"{path}:5: example_id: example 0 of Height stands at {path}:1"
    shown = " ".join(" ".join(render_text(funnel.document())).split())
    assert "6 items read, 4 not usable" in shown
    assert "odd.jsonl:3: not valid JSON" in shown


def test_the_funnel_of_the_published_files_that_are_here(shared_data: Path) -> None:
    files = sorted((shared_data / "bbq").glob("*.jsonl.gz"))
    if [file.name for file in files] != [
        "Age.jsonl.gz", "Physical_appearance.jsonl.gz", "Religion.jsonl.gz",
    ]:  # fmt: skip
        pytest.skip("other files than the three of eleven are here")
    rows, funnel = read_bbq(files)
    # 3,680 + 1,576 + 1,200 lines; half ambiguous, half of those negative; 25 questions each.
    assert funnel.counts == (6_456, 3_228, 1_614, 75)
    assert funnel.groups == {"Age": 25, "Physical_appearance": 25, "Religion": 25}
    assert not funnel.odd
    assert rows[0].provenance["source_line"] == "1"


def hle_row(number: int, question: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "question": question,
        "category": "Humanities/Social Science",
        "raw_subject": "Philosophy",
        "image": "",
        "answer": "SECRET",
        **changes,
    }


def test_the_three_filters_of_hle_in_order(tmp_path: Path) -> None:
    rows = [
        hle_row(1, "Is a promise binding if the trust behind it is gone?"),
        hle_row(2, "Is a promise binding in this ring?", category="Math"),
        hle_row(3, "Which colours stand side by side in the wheel?"),
        hle_row(4, "What year was the law on justice passed?"),
        hle_row(5, "How would Rawls weigh the claims of later generations?", image="data:xyz"),
        hle_row(6, "Compute the just price that maximizes welfare."),
        hle_row(7, "   "),
        hle_row(1, "The same id again, about justice?"),
    ]
    kept, funnel = read_hle(write_lines(tmp_path / "hle.jsonl", rows))
    assert funnel.counts == (6, 5, 4, 2)
    assert [row.scenario_id for row in kept] == ["hle-q1", "hle-q5"]
    assert kept[0].provenance["source_group"] == "interpersonal"
    assert kept[1].provenance["source_group"] == "theorists"
    assert "SECRET" not in repr(kept)
    assert [str(fault).rsplit(":", 2)[1:] for fault in funnel.odd] == [
        [" question", " must be text"],
        [" id", f" q1 stands at {tmp_path / 'hle.jsonl'}:1 too"],
    ] or len(funnel.odd) == 2
    notes = " ".join(funnel.notes)
    assert "recall_openers 1" in notes
    assert "computation 1" in notes
    assert "1 of those kept show an image" in notes


def test_keywords_are_whole_words_with_open_endings_where_starred() -> None:
    groups = dict(load_hle_filters().keyword_patterns)
    assert groups["ethics"].search("the MORALITY of it")
    assert not groups["ethics"].search("an amoralist, adjusted")
    assert groups["theorists"].search("a Kantian answer")
    assert not groups["theorists"].search("a milling machine")
    assert len(groups) == 6


def test_lists_of_ones_own_take_the_place_of_ours(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        "categories: [Law]\nkeywords:\n  - {id: one, label: one, terms: [bridge]}\n"
        "exclusions:\n  - {id: two, label: two, patterns: ['\\btoll\\b']}\n"
    )
    rows = [
        hle_row(1, "May a bridge be closed?", category="Law"),
        hle_row(2, "May a bridge ask a toll?", category="Law"),
        hle_row(3, "May a road be closed?", category="Law"),
    ]
    _, funnel = read_hle(rows, filters=load_hle_filters(own))
    assert funnel.counts == (3, 3, 2, 1)
    own.write_text(own.read_text().replace("toll", "("))
    with pytest.raises(InputError, match="must be a regular expression"):
        load_hle_filters(own)


def test_a_table_without_the_columns_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such column"):
        read_hle([{"id": "a", "text": "b", "category": "c"}])
    kept, _ = read_hle(
        [{"id": "a", "text": "Is it just?", "category": "Humanities/Social Science"}],
        columns={"question": "text"},
    )
    assert kept[0].stratum == "Humanities/Social Science"


CONCEPTS = """\
themes:
  - id: first
    name: First
    concepts:
      - id: autonomy_paternalism
        name: Autonomy & Paternalism
        interpretation: Who decides what is good for somebody.
        passages:
          - {text: "Leave the choice to them.", source: A charter}
      - {id: bare, name: Bare}
      - id: own_idea
        name: Own Idea
        interpretation: Something else.
        passages: [{text: "As it is.", source: A charter}]
"""


def test_concepts_become_scenarios_and_bare_ones_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(CONCEPTS)
    rows, funnel = read_concepts(path)
    assert funnel.counts == (3, 2)
    assert rows[0].scenario_id == "concept-autonomy_paternalism"
    assert rows[0].text.splitlines()[-1] == "Passage 1 (A charter): Leave the choice to them."
    assert rows[0].stratum == "Autonomy & Paternalism"
    assert any("Bare" in note for note in funnel.notes)
    assert "not among the paper's twelve: own_idea" in funnel.notes
    path.write_text(CONCEPTS.replace("id: own_idea", "id: bare"))
    with pytest.raises(InputError, match="stands under first too"):
        read_concepts(path)


def test_the_twelve_concepts_stand_by_name_in_three_groups_without_quotes() -> None:
    found = load_paper_concepts()
    assert [len(theme.concepts) for theme in found.themes] == [4, 4, 4]
    assert not any(c.passages for theme in found.themes for c in theme.concepts)


def test_the_example_has_all_twelve_with_passages_of_its_own(examples: Path) -> None:
    rows, funnel = read_concepts(examples / "concepts.yaml")
    assert funnel.counts == (12, 12)
    assert not funnel.notes
    assert all("invented" in row.text for row in rows)
    names = [c.name for theme in load_paper_concepts().themes for c in theme.concepts]
    assert [row.stratum for row in rows] == names


def test_scenarios_survive_writing_and_reading(tmp_path: Path) -> None:
    rows, _ = read_bbq([write_lines(tmp_path / "a.jsonl", sample())])
    write_scenarios(tmp_path / "s.csv", rows)
    found = read_scenarios(tmp_path / "s.csv")
    assert list(found.rows) == rows
    assert found.columns == ("source_file", "source_line", "source_id", "source_group")
    assert read_scenarios(tmp_path / "s.csv", limit=2).rows == found.rows[:2]


def test_scenarios_of_ones_own_need_an_id_and_a_text() -> None:
    found = read_scenarios([{"scenario_id": "a", "scenario_text": "Some material.", "year": 1990}])
    assert found.rows[0].source == "other"
    assert found.rows[0].provenance == {"year": "1990"}
    with pytest.raises(InputError) as caught:
        read_scenarios(
            [
                {"scenario_id": "a", "scenario_text": "x"},
                {"scenario_id": "a", "scenario_text": "y"},
                {"scenario_id": "", "scenario_text": " "},
            ]
        )
    assert len(caught.value.faults) == 3
