"""The figures that every method gives are those that it gave when they were frozen.

Code that makes figures may be moved, merged and replaced as long as this passes. A figure that
changes on purpose is declared in differences.yaml, with its reason.

    pytest tests/frozen -m long -n 0 -k stress -s                  one slice, with its counts
    (cd tests && python -m frozen.record --compare 'stress*')      the same, without pytest
    (cd tests && python -m frozen.record 'new-run')                records a run that is new
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from areopagus import Run

from .figures import (
    Declared,
    chosen,
    compare,
    keyed,
    read_declared,
    read_frozen,
)
from .runs import RUNS, Workbench
from .simulated import write_judgments

MOST_LISTED = 40


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """Where runs are made, each once in a session."""
    return Workbench(tmp_path_factory.mktemp("frozen"))


@pytest.fixture(scope="session")
def frozen() -> pd.DataFrame:
    """All frozen figures."""
    return read_frozen()


@pytest.mark.long
@pytest.mark.parametrize("run", RUNS)
def test_the_figures_of_a_run_are_the_frozen_ones(
    run: str, bench: Workbench, frozen: pd.DataFrame
) -> None:
    outcome = compare(run, bench.figures(run), frozen, read_declared())
    print(f"\n{outcome.line()}")
    lines = [str(one) for one in outcome.undeclared]
    if len(lines) > MOST_LISTED:
        lines[MOST_LISTED:] = [f"… and {len(lines) - MOST_LISTED} more"]
    assert not lines, "not as frozen, and not declared in differences.yaml:\n" + "\n".join(lines)
    assert not outcome.unused, "declared in differences.yaml:\n" + "\n".join(outcome.unused)


def test_every_run_is_frozen_and_every_declaration_speaks_of_a_frozen_figure(
    frozen: pd.DataFrame,
) -> None:
    assert set(frozen["run"]) == set(RUNS)
    declared = read_declared()
    names = frozen[["run", "table", "measure"]].drop_duplicates()
    places = list(names.itertuples(index=False, name=None))
    for one in declared.differences:
        assert any(one.fits(*place) for place in places), f"no frozen figure is of {one}"
    rows = frozen.to_dict("records")
    for renaming in declared.renamed:
        assert any(renaming.renamed(row["run"], row) for row in rows), f"no figure: {renaming}"


# What holds the figures against each other


@pytest.fixture
def figures(tmp_path: Path) -> pd.DataFrame:
    """A small run of two respondents."""
    file = write_judgments(
        tmp_path / "judgments.csv", models=["m"], personas=["p", "q"],
        respondents={"a": 0.0, "b": 1.0}, prompts=6, seed=1,
    )  # fmt: skip
    return Run.from_judgments(file, tmp_path / "run", scale=(1, 5)).estimates


def stored(figures: pd.DataFrame) -> pd.DataFrame:
    table = chosen(keyed(figures))
    table.insert(0, "run", "small")
    return table


def declaration(**entry: object) -> Declared:
    whole = {"run": "*", "table": "comparison", "measure": "difference", **entry}
    return Declared.model_validate({"differences": [{"why": "Because of a test of it.", **whole}]})


def test_a_number_that_moves_by_a_millionth_is_a_difference_until_it_is_declared(
    figures: pd.DataFrame,
) -> None:
    frozen = stored(figures)
    same = compare("small", figures, frozen, Declared())
    assert (same.n_equal, list(same.deviations)) == (len(frozen), [])

    moved = figures.copy()
    place = int(np.flatnonzero((moved["table"] == "comparison") & moved["p"].notna())[0])
    moved.loc[place, "p"] += 1e-6
    outcome = compare("small", moved, frozen, Declared())
    assert [one.column for one in outcome.undeclared] == ["p"]
    assert (outcome.n_equal, outcome.n_changed) == (len(frozen) - 1, 1)

    assert compare("small", moved, frozen, declaration(columns=["p"])).undeclared == []
    of_another = declaration(columns=["value"])
    assert len(compare("small", moved, frozen, of_another).undeclared) == 1


def test_a_declaration_of_which_nothing_differs_is_unused(figures: pd.DataFrame) -> None:
    outcome = compare("small", figures, stored(figures), declaration(columns=["p", "row"]))
    assert len(outcome.unused) == 2
    elsewhere = declaration(columns=["p"], run="other")
    assert compare("small", figures, stored(figures), elsewhere).unused == []


def test_a_row_that_is_gone_differs_and_a_renamed_one_does_not(figures: pd.DataFrame) -> None:
    frozen = stored(figures)
    renamed = figures.copy()
    is_mean = renamed["measure"] == "difference"
    renamed.loc[is_mean, "measure"] = "effect of difference"
    gone = compare("small", renamed, frozen, Declared())
    assert {one.column for one in gone.undeclared} == {"row"}
    assert gone.n_gone == int(is_mean.sum())
    rule = {"from": {"measure": "diff*"}, "to": {"measure": "effect of diff*"}}
    told = compare("small", renamed, frozen, Declared.model_validate({"renamed": [rule]}))
    assert told.n_equal == len(frozen)
    with pytest.raises(ValueError, match="no column is called"):
        Declared.model_validate({"renamed": [{"from": {"measures": "a"}, "to": {"measure": "b"}}]})
