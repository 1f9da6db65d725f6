"""The page that compares runs: pairing, differences with prompts as the unit, what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from report_runs import CRITERIA, make_run, panel_votes, record, verdict, write_texts

from areopagus.errors import InputError
from areopagus.reports import write_comparison
from areopagus.reports.comparison import comparison_document, differences, pairs_of

COLUMNS = ("composite", "clarity")


def row(response: str, prompt: str, who: str, composite: Any, clarity: Any = "") -> dict[str, str]:
    return {
        "response_id": response,
        "prompt_id": prompt,
        "respondent_id": who,
        "composite": str(composite),
        "clarity": str(clarity),
    }


def run_of(path: Path, shift: float, *, name: str = "r", n: int = 8, **changes: Any) -> Path:
    verdicts = [
        verdict(panel_votes(f"{name}{k}", f"p{k}", "model-a", 4 + k % 3 + shift)) for k in range(n)
    ]
    return make_run(path, verdicts, **changes)


def test_differences_are_means_over_prompts() -> None:
    # Prompt p1: differences 1 and 3, mean 2. Prompt p2: difference 5. Over prompts 3.5, while over
    # responses it would be 3. SD of 1, 3, 5 is 2. Orders: first 1 2 3, second 2 5 8: tau-b 1.
    first = [row("a", "p1", "m", 1), row("b", "p1", "m", 2), row("c", "p2", "m", 3)]
    second = [row("c", "p2", "m", 8), row("b", "p1", "m", 5), row("a", "p1", "m", 2)]
    pairs = pairs_of(first, second, COLUMNS, different=set())
    assert pairs.unit == "response"
    composite, clarity = differences(pairs)
    assert composite.interval.value == 3.5
    assert (composite.interval.n, composite.n_pairs) == (2, 3)
    assert composite.interval.reason is not None  # two prompts give no interval
    assert composite.sd == 2.0
    assert composite.tau == 1.0
    assert clarity.n_pairs == 0
    assert math.isnan(clarity.interval.value)


def test_pairs_need_the_same_prompt_respondent_and_text() -> None:
    first = [row("a", "p", "m", 1), row("b", "p", "m", 1), row("c", "p", "m", 1)]
    second = [row("a", "p", "m", 2), row("b", "other", "m", 2), row("c", "p", "m", 2)]
    pairs = pairs_of(first, second, COLUMNS, different={"c"})
    assert [key[0] for key in pairs.keys] == ["a"]


def test_without_common_responses_respondents_are_paired_on_prompts() -> None:
    first = [row("a1", "p", "m", 2), row("a2", "p", "m", 4), row("a3", "q", "m", 5)]
    second = [row("b1", "p", "m", 6), row("b2", "q", "other", 5), row("b3", "q", "m", "")]
    pairs = pairs_of(first, second, COLUMNS, different=set())
    assert pairs.unit == "respondent on a prompt"
    assert pairs.keys == (("", "p", "m"),)
    assert pairs.first[0, 0] == 3.0  # the mean of 2 and 4
    assert pairs.second[0, 0] == 6.0


def test_a_run_and_itself_do_not_differ(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 0)
    path = write_comparison([one, two], tmp_path / "out" / "page.html")
    source = path.read_text(encoding="utf-8")
    assert "Comparison of 2 runs" in source
    assert source.count('data-v="0.0">0.00') == 1 + len(CRITERIA) * 2 + 1
    assert "the prompt" in source.lower()


def test_a_shift_is_found_and_named(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 1.5)
    source = write_comparison([one, two], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "two minus one" in source
    assert source.count('data-v="1.5">+1.50') == 1 + len(CRITERIA)
    assert "No such" not in source
    assert 'href="#compared' not in source  # rows are in the script's data
    table = re.search(r'id="compared-table">([^<]*)<', source)
    assert table is not None
    pairs = json.loads(gzip.decompress(base64.b64decode(table[1])))
    heads = ["pair", "one", "two", "two minus one", "prompt", "respondent"]
    assert [column["title"] for column in pairs["columns"]] == heads


def headline(tmp_path: Path, *shifts: float, **settings: Any) -> str:
    """Of a comparison of runs that are apart by so much on each prompt in turn."""
    one = run_of(tmp_path / "one", 0, **settings)
    votes = [
        verdict(panel_votes(f"r{k}", f"p{k}", "model-a", 4 + k % 3 + shifts[k % len(shifts)]))
        for k in range(settings.get("n", 8))
    ]
    (told,) = comparison_document([one, make_run(tmp_path / "two", votes)]).headline
    return told


def test_the_answer_is_whether_two_runs_differ(tmp_path: Path) -> None:
    assert headline(tmp_path / "a", 1, 2) == (
        "two scores higher than one on the composite: +1.50 [+1.05, +1.95] points over 8 prompts."
    )
    assert headline(tmp_path / "b", -1, 1) == (
        "one and two are not told apart on the composite: 0.00 [−0.89, +0.89] points over 8 "
        "prompts."
    ).replace("one and two", "two and one")
    assert headline(tmp_path / "c", 1, n=4) == (
        "two minus one on the composite: +1.00 points over 4 prompts. Cannot tell whether they "
        "differ (4 prompts: an interval needs at least 6)."
    )


def test_a_setting_that_differs_is_named_first(tmp_path: Path) -> None:
    one, two = run_of(tmp_path / "one", 0), run_of(tmp_path / "two", 0)
    settings = json.loads((two / "run.json").read_text())
    settings["panel"]["models"][0]["name"] = "another"
    (two / "run.json").write_text(json.dumps(settings))
    trust = dict(comparison_document([one, two]).trust)
    assert trust["settings"] == "that differ: models"
    assert dict(comparison_document([one, one]).trust)["settings"] == "the same"


def test_other_texts_under_the_same_ids_are_not_paired(tmp_path: Path) -> None:
    ids = {"responses_sha256": "aa"}
    one = run_of(tmp_path / "one", 0, identity=record({})["identity"] | ids)
    two = run_of(tmp_path / "two", 0, identity=record({})["identity"] | {"responses_sha256": "bb"})
    write_texts(one, {f"r{k}": ("p", "same") for k in range(8)})
    write_texts(two, {f"r{k}": ("p", "same" if k else "another") for k in range(8)})
    source = write_comparison([one, two], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "the same id and another text in two, which are not paired: 1." in source
    assert '<td class="n" data-v="7">7</td>' in source


def test_runs_without_anything_in_common_stand_side_by_side(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", 0)
    other = [verdict(panel_votes(f"x{k}", f"q{k}", "model-b", 5)) for k in range(3)]
    two = make_run(tmp_path / "two", other)
    source = write_comparison([one, two], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "there is nothing to pair" in source
    assert 'id="differences"' not in source
    assert 'id="pairs"' not in source
    assert "is undefined" not in source
    assert "nothing could be paired" in source


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", 0)
    with pytest.raises(InputError, match="needs 2 to 12 runs, got 1"):
        write_comparison([one], tmp_path / "page.html")
    scale = record({})["identity"] | {"scale": [1, 5]}
    two = run_of(tmp_path / "two", 0, identity=scale)
    with pytest.raises(InputError, match="different scales: 1 to 5, 1 to 10"):
        write_comparison([one, two], tmp_path / "page.html")
    three = run_of(tmp_path / "three", 0, kind="stress")
    with pytest.raises(InputError, match="must be 'panel', got 'stress'"):
        write_comparison([one, three], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
