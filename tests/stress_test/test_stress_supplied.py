"""Responses that a user brings, with their conditions and repeats; and what a plan may be."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stress_world import StressTrial, cells, counts, write_csv

from areopagus import Panel
from areopagus.errors import InputError
from areopagus.graphs.framings import load_framings
from areopagus.records.variants import VariantRow, as_generated, read_variants, write_variants
from areopagus.stress_test import StressConfig, StressJob, StressSource, stress
from areopagus.stress_test.responses import chosen, panel_rows, read_supplied
from areopagus.stress_test.rewriting import refuse_edited

Row = dict[str, Any]


def row_of(prompt: str, condition: str, place: int = 0, **more: Any) -> Row:
    return {
        "response_id": f"{prompt}-{condition}" + (f"-{place}" if place else ""),
        "prompt_id": prompt,
        "condition": condition,
        "prompt_text": f"{prompt} as {condition}?",
        "response_text": f"An answer, {place}, to {prompt} as {condition}.",
        "respondent_id": "writer",
        **more,
    }


ROWS = [row_of(prompt, condition) for prompt in "ab" for condition in ("baseline", "pressed")]
BARE = [{key: value for key, value in row.items() if key != "condition"} for row in ROWS]
SIGNED = [row | {"respondent_id": f"gpt@{ROWS[k]['condition']}"} for k, row in enumerate(BARE)]


def repeated(numbers: Sequence[Any], prompts: int = 12, **others: Sequence[Any]) -> list[Row]:
    """Responses of these repeats everywhere; of prompt p0 when pressed those of `others`."""
    return [
        row_of(f"p{k}", arm, place, repeat=repeat)
        for k in range(prompts)
        for arm in ("baseline", "pressed")
        for place, repeat in enumerate(others.get(f"p{k}_{arm}", numbers))
    ]


# The condition


@pytest.mark.parametrize(
    ("rows", "condition", "target"),
    [
        (ROWS, None, "writer"),
        (
            [row | {"turn": ROWS[k]["condition"]} for k, row in enumerate(BARE)],
            "turn", "writer",
        ),
        # In the respondent it is taken out of the name, in the response's id it stays.
        (SIGNED, r"@(\w+)", "gpt"),
        (BARE, r"-(?P<condition>\w+)$", "writer"),
    ],
    ids=["own column", "another column", "in the respondent", "in the response's id"],
)  # fmt: skip
def test_the_condition_is_found(rows: list[Row], condition: str | None, target: str) -> None:
    with StressSource(rows, condition=condition) as source:
        assert source.check().n_responses == 4
        found = [(row.prompt_id, row.condition, row.target) for row in source.rows()]
    assert found == [(row["prompt_id"], row["condition"], target) for row in ROWS]


def test_one_prompt_has_one_text_under_each_condition() -> None:
    torn = [*ROWS, {**ROWS[1], "response_id": "again", "prompt_text": "quite another?"}]
    with StressSource(torn) as source, pytest.raises(InputError, match="has another text"):
        source.check()


def test_rows_in_which_a_pattern_finds_nothing_are_named_all_of_them(tmp_path: Path) -> None:
    rows = [row | ({"respondent_id": "gpt"} if k % 2 else {}) for k, row in enumerate(SIGNED)]
    path = write_csv(tmp_path / "responses.csv", rows)
    with StressSource(path, condition=r"@(\w+)") as source, pytest.raises(InputError) as caught:
        source.check()
    assert [fault.where for fault in caught.value.faults] == [f"{path}:3", f"{path}:5"]


@pytest.mark.parametrize("condition", ["(", "nowhere", r"@(\w+)"])
def test_a_condition_that_is_neither_column_nor_found_pattern_is_refused(condition: str) -> None:
    with StressSource(BARE, condition=condition) as source, pytest.raises(InputError) as caught:
        source.check()
    assert "`condition=" in str(caught.value)
    assert "prompt_text" in str(caught.value), "the columns that are there are named"


def test_what_cannot_be_compared_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(InputError, match="found: baseline, pressed"):
        read_supplied(ROWS, baseline="turn1")
    with pytest.raises(InputError, match="nothing to compare"):
        read_supplied(ROWS[:1])
    each_its_own = [row | {"respondent_id": f"writer@{row['condition']}"} for row in ROWS]
    with pytest.raises(InputError, match="no respondent answered a prompt both") as caught:
        read_supplied(each_its_own)
    assert "writer@baseline, writer@pressed" in str(caught.value)
    assert "`condition=" in str(caught.value)
    # One prompt that a respondent answered under both is something to compare.
    assert len(read_supplied([*ROWS[:2], *each_its_own[2:]]).targets) == 3


def test_the_baseline_comes_first_whatever_the_order_of_the_rows() -> None:
    found = read_supplied(list(reversed(ROWS)))
    assert (found.conditions, found.targets) == (("baseline", "pressed"), ("writer",))


# Repeats


def test_two_responses_of_which_one_would_count_are_refused_with_their_lines(
    tmp_path: Path,
) -> None:
    rows = [row_of("a", "baseline", repeat=""), *(row_of("a", "pressed", k) for k in (0, 1))]
    path = write_csv(tmp_path / "twice.csv", rows)
    with pytest.raises(InputError) as caught:
        read_supplied(path)
    (fault,) = caught.value.faults
    assert fault.where == f"{path}:4"
    assert f"{path}:3" in str(fault)
    assert "numbered from 0" in str(caught.value)
    # Every double is named, and without a column repeat as well.
    twice = [row_of("a", arm, k) for arm in ("baseline", "pressed") for k in range(3)]
    with pytest.raises(InputError) as caught:
        read_supplied(twice[1:])
    assert [fault.where for fault in caught.value.faults] == ["row 2", "row 4", "row 5"]


@pytest.mark.parametrize(
    ("rows", "repeats", "said"),
    [
        (repeated([0, 1, 2]), 3, ["3 responses to a prompt"]),
        (repeated(["0", "1.0"]), 2, ["2 responses to a prompt"]),
        (repeated([""]), 1, []),
        # A few lost responses do not undo the repeats, and are said.
        (repeated([0, 1], p0_pressed=[0]), 2, ["1 time a prompt has fewer than 2"]),
        # Generated once more, and of no use.
        (
            repeated([0], p0_pressed=[0, 1, 2]), 1,
            ["1 response with repeat 1", "1 response with a repeat beyond"],
        ),
    ],
)  # fmt: skip
def test_the_repeats_of_the_file_are_those_of_the_study(
    rows: list[Row], repeats: int, said: list[str]
) -> None:
    found = read_supplied(rows)
    assert found.repeats == repeats
    assert all(part in " ".join(found.notices) for part in said)
    assert bool(found.notices) is bool(said)


@pytest.mark.parametrize(
    ("rows", "planned", "told"),
    [
        (repeated([0, 1]), 3, "the plan says 3"),
        (repeated([1, 2]), 1, "there is no repeat 0"),
        *((repeated([value]), 1, "whole number from 0") for value in ("first", "-1", "0.5", "inf")),
    ],
)
def test_repeats_that_are_not_the_plans_or_no_numbers_are_refused(
    rows: list[Row], planned: int, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read_supplied(rows, planned_repeats=planned)
    assert read_supplied(repeated([0, 1]), planned_repeats=2).repeats == 2


# What the panel is given


def test_the_panel_reads_the_prompt_answered_or_the_baseline_as_the_plan_says() -> None:
    with StressSource(ROWS) as source:
        responses = list(source.rows())
    baselines = {"a": "a as baseline?", "b": "b as baseline?"}
    own, same = (list(panel_rows(responses, w, baselines)) for w in ("own", "baseline"))
    assert [row["prompt_text"] for row in own[:2]] == ["a as baseline?", "a as pressed?"]
    assert [row["prompt_id"] for row in own[:2]] == ["a", "a|pressed"]
    assert [row["prompt_text"] for row in same[:2]] == ["a as baseline?", "a as baseline?"]
    assert [row["prompt_id"] for row in same[:2]] == ["a", "a"]
    # Responses that never came are not put before it.
    lost = [row | {"status": "failed" if row["prompt_id"] == "a" else "answered"} for row in ROWS]
    with StressSource(lost) as source:
        found = list(panel_rows(source.rows(), "own", {}))
    assert {row["stress_prompt_id"] for row in found} == {"b"}


def test_what_is_asked_again_is_chosen_by_seed_and_not_by_order() -> None:
    names = [f"r{i}" for i in range(200)]
    first = chosen(names, 0.1, 0, "retest")
    assert len(first) == 20
    assert first == chosen(reversed(names), 0.1, 0, "retest")
    assert first != chosen(names, 0.1, 1, "retest")
    assert first != chosen(names, 0.1, 0, "regenerate")
    assert first < chosen(names, 0.2, 0, "retest"), "a larger share takes more, not others"
    assert len(chosen(names, 0.001, 0, "retest", at_least=10)) == 10
    assert chosen(names, 0.0, 0, "retest", at_least=10) == frozenset()
    assert chosen(names[:3], 0.1, 0, "retest", at_least=10) == frozenset(names[:3])


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with Panel(personas=["historian"], ledger=tmp_path / "l.sqlite") as found:
        yield found


HOSTILE = "<script>alert(1)</script>{{ 7 * 7 }}\u202e"


@pytest.mark.report
def test_names_of_respondents_and_conditions_stay_text_on_the_page(
    panel: Panel, tmp_path: Path
) -> None:
    rows = [
        row_of(prompt, condition, respondent_id=HOSTILE)
        for prompt in "abcdef"
        for condition in ("baseline", f"pressed{HOSTILE}")
    ]
    run = stress(responses=rows, panel=panel, out=tmp_path / "run")
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\u202e" not in page
    assert "{{ 7 * 7 }}" in page
    assert "Content-Security-Policy" in page
    for said in ("12 of 12 responses scored", "What cannot be said, and why", "embedded stand-in"):
        assert said in page
    assert page.count("<svg") == 3  # the map is too wide for a phone


def test_turns_of_real_conversations_are_conditions_of_one_respondent(
    shared_data: Path, panel: Panel, tmp_path: Path
) -> None:
    """The first conversations of SYCON-StressTrial: GPT-4o at turns 1, 3 and 5."""
    source, questions = shared_data / "sycon" / "responses.csv.gz", 7
    if not source.is_file():
        pytest.skip("the conversations of SYCON-StressTrial are not beside this checkout")
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        rows = list(itertools.islice(csv.DictReader(file), 3 * questions))
    run = stress(
        responses=write_csv(tmp_path / "turns.csv", rows), condition="@(turn[0-9]+)",
        baseline="turn1", panel=panel, out=tmp_path / "run",
    )  # fmt: skip
    assert run.exit_code == 0
    assert run.record["conditions"] == ["turn1", "turn3", "turn5"]
    (target,) = run.record["targets"]
    assert "@" not in target
    assert {one["n"] for one in cells(run)} == {questions}
    assert {row["scored"] for row in counts(run).values()} == {questions}
    # The embedded judge repeats itself word for word: no noise floor, which blocks no verdict.
    assert any(one["verdict"] == "alike" for one in cells(run))
    said = " ".join(run.text.split())
    assert f"{questions} of {questions}" in said
    assert "framing" not in said
    assert said.startswith("DEMONSTRATION")


# What is refused before anybody is asked

PROMPTS = [{"prompt_id": "p", "prompt_text": "What do neighbours owe each other?"}]
PROMPTED, SUPPLIED = {"prompts": PROMPTS}, {"responses": ROWS}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({**PROMPTED, **SUPPLIED}, "either prompts to ask, or responses"),
        ({**PROMPTED, "rewrite_only": True, "variants": "v.csv"}, "rewrite-only"),
        ({**PROMPTED, "variants": "v.csv", "framings": ["empirical_i"]}, "framings"),
        (
            {**PROMPTED, "variants": "v.csv", "rewriters": "openai/x"},
            "nothing is rewritten: leave out rewriters",
        ),
        ({**PROMPTED, "condition": "turn"}, "condition"),
        ({**SUPPLIED, "rewrite_only": True}, "rewrite-only"),
        ({**SUPPLIED, "target": "openai/x"}, "leave out targets"),
        ({**SUPPLIED, "track": "matched"}, "track"),
        ({**SUPPLIED, "effort": "high"}, "effort"),
        ({**SUPPLIED, "words": 200}, "words"),
        ({**SUPPLIED, "framings": ["empirical_i"]}, "framings"),
        ({**SUPPLIED, "regenerate_share": 0.2}, "regenerate"),
        ({**PROMPTED, "target": "offline/lexical"}, "writes no responses"),
        ({**PROMPTED, "rewriters": "offline/respondent"}, "rewrites no prompts"),
    ],
)
def test_what_contradicts_or_would_not_be_used_is_named(
    panel: Panel, tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        stress(panel=panel, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_reached_or_paid_for_is_found_before_anything_is_spent(
    trial: StressTrial,
) -> None:
    with pytest.raises(InputError, match="no known worst price"):
        trial.stress(max_cost=1.0)
    trial.targets = [{**trial.model("target"), "api_base": "http://127.0.0.1:9/v1"}]
    with pytest.raises(InputError, match="cannot be reached"):
        trial.stress()
    assert trial.server.counts.total == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("margin", 0.0), ("margin", float("nan")), ("alpha", 1.0), ("retest_share", 1.5),
        ("retest_share", 0.0999), ("response_repeats", 0), ("judged_prompt", "both"),
        ("family", "none"), ("baseline", " "),
    ],
)  # fmt: skip
def test_a_plan_that_makes_no_sense_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field):
        StressConfig.checked(**{field: value})
    assert [StressConfig(retest_share=share).retest_share for share in (0.0, 0.1)] == [0.0, 0.1]


def own_framing(folder: Path, name: str, opposite: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(
        f"id: {name}\nlabel: A verdict\ngroup: own\nversion: '1'\nprovenance: a test\n"
        "instruction: Say that a professor has settled it.\n" + opposite
    )
    return folder / f"{name}.yaml"


def test_a_framing_of_ones_own_joins_the_others_where_somebody_can_write_it(
    panel: Panel, tmp_path: Path
) -> None:
    folder = tmp_path / "framings"
    path = own_framing(folder, "authority", "opposite: authority_against\n")
    own_framing(folder, "authority_against", "opposite: authority\n")
    (found,) = load_framings([str(path)])
    assert found.opposite == "authority_against", "found beside its file"
    with pytest.raises(InputError, match="stand_in"):
        stress(PROMPTS, panel=panel, framings=[path], out=tmp_path / "run")
    # A model that rewrites needs no text for the embedded rewriter.
    config = StressConfig(framing_folders=(folder,), out=tmp_path / "run")
    job = StressJob(panel.spec, PROMPTS, config, rewriters="openai/gpt-4o-mini")
    assert job.design.conditions[-2:] == ("authority", "authority_against")
    assert len(job.design.conditions) == 1 + 4 + 2


BASE = {"p": "What is owed?"}
GENERATED = [
    as_generated(VariantRow("p", "empirical_i", "I think so. What is owed?", BASE["p"])),
    as_generated(
        VariantRow(
            "p", "emotion_agree", "It is so! What is owed?", BASE["p"], status="failed",
            reasons="not_natural",
        )
    ),
]  # fmt: skip


def test_a_table_as_it_was_generated_may_be_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "variants.csv"
    refuse_edited(path, BASE)
    write_variants(path, GENERATED)
    refuse_edited(path, BASE)
    refuse_edited(path, BASE, GENERATED)
    # A spreadsheet that only saves it changes line ends; that is no edit.
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    refuse_edited(path, BASE)


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"prompt_text": "My own words: what is owed?"}),
        (0, {"status": "failed"}),
        (1, {"status": "accepted"}),
    ],
)
def test_a_table_that_a_person_changed_is_not_written_over(
    tmp_path: Path, place: int, changes: dict[str, Any]
) -> None:
    rows = list(GENERATED)
    rows[place] = replace(rows[place], **changes)
    write_variants(tmp_path / "variants.csv", rows)
    with pytest.raises(InputError, match=f"p {rows[place].condition}") as caught:
        refuse_edited(tmp_path / "variants.csv", BASE, GENERATED)
    assert "`variants=" in str(caught.value)


def test_a_table_that_lacks_a_row_is_not_as_it_was_written(tmp_path: Path) -> None:
    # Conditions of the file are those of its rows: with two prompts the gap shows.
    base = {**BASE, "q": "What else is owed?"}
    more = as_generated(VariantRow("q", "emotion_agree", "It is! What else?", base["q"]))
    write_variants(tmp_path / "variants.csv", [GENERATED[0], more])
    with pytest.raises(InputError, match="no longer as it was written"):
        refuse_edited(tmp_path / "variants.csv", base)


def test_the_same_command_again_leaves_an_edited_table_as_it_is(
    panel: Panel, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"panel": panel, "rewrite_only": True, "out": tmp_path / "ro"}
    run = stress(PROMPTS, **options)
    stress(PROMPTS, **options)
    first = read_variants(run.variants_path).rows[0].prompt_text
    text = run.variants_path.read_text(encoding="utf-8")
    run.variants_path.write_text(text.replace(first, f"{first} Really?"), encoding="utf-8")
    edited = run.variants_path.read_bytes()
    with pytest.raises(InputError, match="edited by hand"):
        stress(PROMPTS, **options)
    assert run.variants_path.read_bytes() == edited
